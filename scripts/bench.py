"""The rounds and the arithmetic of scripts/bench.sh.

Every comparison runs its tools in turn (A B C A B C …), each on an empty table after a checkpoint,
and prints the medians. A run after which the table does not hold exactly the rows asked for is
left out, and said so.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

BATCH = 100
# What append is to reach: its rows/s against pgbench's with the simple protocol
TARGETS = {("none", 10): 3.0, ("none", 100): 3.0, ("none", 1000): 2.2,
           ("count", 100): 1.3, ("count", 1000): 1.8}


class Measured:
    """One run of one program: wall time, CPU, highest RSS, output."""

    def __init__(self, command, folder):
        begin = time.monotonic()
        out, err = folder / "stdout", folder / "stderr"
        with open(out, "wb") as stdout, open(err, "wb") as stderr:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout,
                                       stderr=stderr)
            # The rusage of a child starts with this interpreter's own RSS; VmHWM does not.
            self.rss_kib = 0
            while True:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    break
                try:
                    text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
                    found = re.search(r"VmHWM:\s+(\d+)", text)
                    self.rss_kib = int(found.group(1)) if found else self.rss_kib
                except OSError:
                    pass
                time.sleep(0.01)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.wall_s = time.monotonic() - begin
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.code = process.returncode
        self.stdout = out.read_text(errors="replace")
        self.stderr = err.read_text(errors="replace")


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.folder = pathlib.Path(arguments.folder)
        self.folder.mkdir()
        self.pgbench = next((str(path) for path in (
            pathlib.Path(subprocess.run(["pg_config", "--bindir"], capture_output=True,
                                        text=True).stdout.strip() or "/") / "pgbench",
            pathlib.Path("/usr/bin/pgbench")) if path.exists()), "pgbench")
        self.number = 0

    def sql(self, *statements):
        command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1",
                   self.arguments.superuser_url]
        for statement in statements:
            command += ["-c", statement]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def append(self, sessions, rows, target, *options):
        self.number += 1
        out = self.folder / f"run-{self.number}"
        measured = Measured([self.arguments.append, str(sessions), str(rows), target, "--batch",
                             str(BATCH), "--quiet", "--out", str(out), *options], self.folder)
        if measured.code != 0:
            raise RuntimeError(measured.stderr.strip() or f"append: exit {measured.code}")
        measured.run = json.loads((out / "run.json").read_text())
        return measured

    def run_append(self, sessions, rows, read):
        measured = self.append(sessions, rows, self.arguments.url, "--read", read)
        measured.rate = rows / append_seconds(measured.run)
        return measured

    def run_pgbench(self, protocol, sessions, rows, read):
        script = self.folder / f"{protocol}-{read}.sql"
        measured = Measured([self.pgbench, "-n", "-M", protocol, "-c", str(sessions), "-j", "2",
                             "-t", str(rows // BATCH // sessions), "-f", str(script),
                             self.arguments.url], self.folder)
        found = re.search(r"tps = ([\d.]+) \(without initial connection time\)", measured.stdout)
        if measured.code != 0 or not found:
            raise RuntimeError(measured.stderr.strip()[-200:] or f"pgbench: exit {measured.code}")
        measured.rate = float(found.group(1)) * BATCH
        return measured

    def write_scripts(self):
        """pgbench's scripts: one INSERT of 100 rows that append itself wrote."""
        self.append(1, BATCH, self.arguments.url, "--read", "none")
        dump = subprocess.run(
            ["pg_dump", "--data-only", "--inserts", f"--rows-per-insert={BATCH}", "-t",
             "syslog_table", self.arguments.url], check=True, capture_output=True, text=True).stdout
        inserts = re.findall(r"^INSERT INTO .*?;$", dump, flags=re.S | re.M)
        if len(inserts) != 1:
            raise RuntimeError(f"expected one INSERT of {BATCH} rows, found {len(inserts)}")
        simple = inserts[0] + "\n"
        # pgbench takes :name for a variable, in prepared statements even where there is none.
        prepared = re.sub(r"'((?:[^']|'')*)'", lambda match: match.group(0)
                          if not re.search(r":[A-Za-z_]", match.group(1)) else
                          "E'" + re.sub(r":(?=[A-Za-z_])", r"\\x3a",
                                        match.group(1).replace("\\", "\\\\")) + "'", simple)
        for protocol, insert in (("simple", simple), ("prepared", prepared)):
            (self.folder / f"{protocol}-none.sql").write_text(insert)
            (self.folder / f"{protocol}-count.sql").write_text(
                insert + "select count(*) from syslog_table;\n")
        print(f"pgbench statement: {len(simple):,} bytes for {BATCH} rows")

    def compare(self, sessions, rows, read, rounds):
        rows = -(-rows // (sessions * BATCH)) * sessions * BATCH
        tools = {
            "append": lambda: self.run_append(sessions, rows, read),
            "pgbench simple": lambda: self.run_pgbench("simple", sessions, rows, read),
            "pgbench prepared": lambda: self.run_pgbench("prepared", sessions, rows, read),
        }
        results = {name: [] for name in tools}
        for turn in range(1, rounds + 1):
            for name, run in tools.items():
                self.sql("truncate syslog_table", "checkpoint")
                try:
                    measured = run()
                except RuntimeError as error:
                    print(f"  EXCLUDED {name}, round {turn}: {error}")
                    continue
                counted = int(self.sql("select count(*) from syslog_table"))
                if counted != rows:
                    print(f"  EXCLUDED {name}, round {turn}: {counted:,} rows, not {rows:,}")
                    continue
                results[name].append(measured)
        print_comparison(sessions, rows, read, results)

    def generator(self, rows):
        rates = []
        for _ in range(3):
            command_prefix = ["taskset", "-c", "0"]
            self.number += 1
            out = self.folder / f"run-{self.number}"
            measured = Measured(command_prefix + [
                self.arguments.append, "1", str(rows), "null:", "--read", "none", "--quiet",
                "--out", str(out)], self.folder)
            if measured.code != 0:
                print(f"  EXCLUDED: {measured.stderr.strip()}")
                continue
            run = json.loads((out / "run.json").read_text())
            rates.append(rows / append_seconds(run))
        if rates:
            print(f"\ngenerator and null adapter, 1 session, {rows:,} rows, one core: "
                  f"{statistics.median(rates) / 1e6:.1f} M rows/s (target 15; runs: "
                  + ", ".join(f"{rate / 1e6:.1f}" for rate in rates) + ")")


def append_seconds(run):
    return run["times"]["append_s"]


def print_comparison(sessions, rows, read, results):
    what = "with count(*)" if read == "count" else "without count(*)"
    print(f"\n{sessions:,} sessions, {rows:,} rows, {what}")
    print(f"  {'':17}{'rows/s':>12}{'rows/s':>12}{'client CPU':>13}{'client RSS':>13}{'runs':>6}")
    print(f"  {'':17}{'append phase':>12}{'whole run':>12}{'us/row':>13}{'KiB/session':>13}")
    medians = {}
    for name, runs in results.items():
        if not runs:
            print(f"  {name:17}{'no valid run':>12}")
            continue
        medians[name] = [statistics.median(values) for values in (
            [run.rate for run in runs], [rows / run.wall_s for run in runs],
            [run.cpu_s / rows * 1e6 for run in runs], [run.rss_kib / sessions for run in runs])]
        rate, whole, cpu, rss = medians[name]
        print(f"  {name:17}{rate:12,.0f}{whole:12,.0f}{cpu:13.2f}{rss:13,.0f}{len(runs):6}")
    for name in list(results)[1:]:
        if name in medians and "append" in medians:
            ratio, whole = (medians["append"][i] / medians[name][i] for i in (0, 1))
            target = TARGETS.get((read, sessions)) if name == "pgbench simple" else None
            print(f"  append / {name}: {ratio:.2f} x (whole run {whole:.2f} x)"
                  + (f", target {target:g}: {'met' if ratio >= target else 'MISSED'}"
                     if target else ""))
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["quick", "full"])
    for name in ("--append", "--folder", "--url", "--superuser-url"):
        parser.add_argument(name, required=True)
    arguments = parser.parse_args()
    is_quick = arguments.mode == "quick"

    def number(name, full, quick):
        return int(os.environ.get(name, quick if is_quick else full))

    rounds = number("BENCH_ROUNDS", 3, 1)
    rows = {10: number("BENCH_ROWS_10", 1_000_000, 200_000),
            100: number("BENCH_ROWS_100", 1_000_000, 200_000),
            1000: number("BENCH_ROWS_1000", 1_000_000, 100_000)}
    count_rows = number("BENCH_COUNT_ROWS", 100_000, 20_000)
    begin = time.monotonic()
    bench = Bench(arguments)
    print(bench.sql("select version()"))
    print(f"{os.cpu_count()} CPUs, medians of {rounds} interleaved rounds")
    bench.write_scripts()
    for sessions in rows:
        bench.compare(sessions, rows[sessions], "none", rounds)
    for sessions in rows:
        bench.compare(sessions, count_rows, "count", rounds)
    bench.generator(number("BENCH_NULL_ROWS", 20_000_000, 5_000_000))
    print(f"\nbench: {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
