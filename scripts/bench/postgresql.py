"""Compares append and pgbench with the same rows on PostgreSQL."""

import pathlib
import re
import subprocess

import compare
from measure import BATCH, Measured, insert_of, run_text

# The targets for (--read, number of sessions): append's rows/s, divided by the rows/s of pgbench with
# the simple protocol
TARGETS = {("none", 10): 3.0, ("none", 100): 3.0, ("none", 1000): 2.2,
           ("count", 100): 1.3, ("count", 1000): 1.8}


class Postgresql:
    def __init__(self, append, port, folder):
        self.append = append
        self.port = port
        self.url = f"postgresql://append@127.0.0.1:{port}/append"
        self.superuser_url = f"postgresql://postgres@127.0.0.1:{port}/append"
        self.folder = folder
        self.pgbench = next((str(path) for path in (
            pathlib.Path(subprocess.run(["pg_config", "--bindir"], capture_output=True,
                                        text=True).stdout.strip() or "/") / "pgbench",
            pathlib.Path("/usr/bin/pgbench")) if path.exists()), "pgbench")

    def sql(self, *statements):
        command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", self.superuser_url]
        for statement in statements:
            command += ["-c", statement]
        return run_text(command).strip()

    def version(self):
        return self.sql("select version()")

    def empty(self):
        self.sql("truncate syslog_table", "checkpoint")

    def count(self):
        return int(self.sql("select count(*) from syslog_table"))

    def runner(self, read):
        return lambda sessions, rows: self.append.run(sessions, rows, self.url, "--read", read)

    def pgbench_runner(self, protocol, read):
        script = self.folder / f"{protocol}-{read}.sql"

        def run(sessions, rows):
            measured = Measured([self.pgbench, "-n", "-M", protocol, "-c", str(sessions), "-j",
                                 "2", "-t", str(rows // BATCH // sessions), "-f", str(script),
                                 self.url], self.folder)
            rate = measured.find(r"tps = ([\d.]+) \(without initial connection time\)")
            measured.phase_rate = rate * BATCH
            return measured

        return run

    def make_table(self):
        """Creates the table again, with one batch that append wrote."""
        self.append.run(1, BATCH, self.url, "--read", "none", "--recreate")

    def write_scripts(self):
        """Writes pgbench's scripts: one INSERT of 100 rows that append itself wrote."""
        self.make_table()
        simple = insert_of(run_text(
            ["pg_dump", "--data-only", "--inserts", f"--rows-per-insert={BATCH}", "-t",
             "syslog_table", self.url])) + "\n"
        # Replaces the colon of each :name inside a string, because pgbench with prepared statements would
        # take the name for a variable.
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
        shape = (sessions, compare.whole_batches(rows, sessions))
        target = TARGETS.get((read, sessions))
        peers = [compare.Peer(f"pgbench {protocol}", self.pgbench_runner(protocol, read),
                              target=compare.at_least(target)
                              if target and protocol == "simple" else None)
                 for protocol in ("simple", "prepared")]
        compare.compare(f"PostgreSQL, {'with' if read == 'count' else 'without'} count(*)", shape,
                        ("append", self.runner(read)), peers, self, rounds)

    def measure(self, number):
        print(f"\n{self.version()}")
        self.write_scripts()
        rounds = number("BENCH_ROUNDS", 3, 1)
        rows = {10: number("BENCH_ROWS_10", 1_000_000, 200_000),
                100: number("BENCH_ROWS_100", 1_000_000, 200_000),
                1000: number("BENCH_ROWS_1000", 1_000_000, 100_000)}
        for sessions in rows:
            self.compare(sessions, rows[sessions], "none", rounds)
        for sessions in rows:
            self.compare(sessions, number("BENCH_COUNT_ROWS", 100_000, 20_000), "count", rounds)
