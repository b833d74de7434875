"""Compares scripted workloads with sysbench and pgbench: the same statements on the same tables.

append creates the tables; then the tools run in turn for some seconds each. The comparison is about
statements/s while the sessions work and the client's CPU time per statement; at 1,000 sessions, where
the memory of the program itself hardly counts, also about memory. select-insert and batch are not
compared with another tool: their figures are append's alone.
"""

import json
import statistics

from measure import Excluded, Measured

TABLES, SIZE = 4, 100_000
SCALE = 10
OLTP = {"read_only": 14, "read_write": 18}


class Run:
    """Statements/s, transactions/s, microseconds of client CPU per statement, KiB per session."""

    def __init__(self, measured, statements, seconds, transactions, sessions):
        self.rate = statements / seconds
        self.tps = transactions / seconds
        self.cpu_us = measured.cpu_s / statements * 1e6
        self.kib = measured.rss_kib / sessions


class Workloads:
    def __init__(self, append, folder, seconds, rounds):
        self.append, self.folder = append, folder
        self.seconds, self.rounds = seconds, rounds
        self.number = 0

    def run(self, sessions, target, workload, *options, statements=1, prefix=()):
        self.number += 1
        out = self.folder / f"workload-{self.number}"
        measured = Measured([*prefix, self.append.binary, str(sessions), target, "--workload",
                             workload, "--quiet", "--out", str(out), *options], self.folder)
        if measured.code not in (0, 6):
            raise Excluded(measured.stderr.strip() or f"exit {measured.code}")
        if measured.code == 6:
            print(f"  NOTE {measured.stderr.strip()}")
        found = json.loads((out / "run.json").read_text())
        committed = found["transactions"]["committed"]
        # Counts only the statements of the script, without BEGIN and COMMIT, as for the other tool.
        return Run(measured, committed * statements, committed / found["figures"]["transactions_per_s"],
                   committed, sessions)

    def prepare(self, target, workload, *options):
        measured = Measured([self.append.binary, "prepare", "4", target, "--workload", workload,
                             "--quiet", *options], self.folder)
        if measured.code != 0:
            raise SystemExit(f"bench: prepare {workload}: {measured.stderr.strip()}")

    def cleanup(self, target, workload, *options):
        Measured([self.append.binary, "cleanup", target, "--workload", workload, "--quiet",
                  *options], self.folder)

    def sysbench(self, mode, sessions, connection):
        measured = Measured(
            ["sysbench", f"oltp_{mode}", *connection, f"--tables={TABLES}", f"--table-size={SIZE}",
             "--rand-type=uniform", f"--threads={sessions}", f"--time={self.seconds}",
             "--histogram=off", "run"], self.folder)
        transactions = measured.find(r"transactions:\s+(\d+)")
        seconds = measured.find(r"total time:\s+([\d.]+)s")
        return Run(measured, transactions * OLTP[mode], seconds, transactions, sessions)

    def pgbench(self, sessions, port, statements, *options):
        measured = Measured(
            ["pgbench", "--no-vacuum", "--protocol=prepared", f"--client={sessions}",
             f"--jobs={sessions}", f"--time={self.seconds}", "--host=127.0.0.1", f"--port={port}",
             "--username=append", *options, "append"], self.folder)
        transactions = measured.find(r"transactions actually processed: (\d+)")
        tps = measured.find(r"tps = ([\d.]+)")
        return Run(measured, transactions * statements, transactions / tps, transactions, sessions)

    def compare(self, title, sessions, own, peer_name, peer, targets):
        """targets: the least ratio of statements/s, the greatest of CPU and of memory; None: no target."""
        results = {"append": [], peer_name: []}
        print(f"\n{title}: {sessions:,} sessions")
        for turn in range(1, self.rounds + 1):
            for name, run in (("append", own), (peer_name, peer)):
                try:
                    results[name].append(run())
                except Excluded as reason:
                    print(f"  EXCLUDED {name}, round {turn}: {reason}")
        print(f"  {'':18}{'statements/s':>14}{'transactions/s':>16}{'client CPU':>12}"
              f"{'client RSS':>13}{'runs':>6}")
        medians = {}
        for name, runs in results.items():
            if runs:
                medians[name] = {key: statistics.median(vars(run)[key] for run in runs)
                                 for key in ("rate", "tps", "cpu_us", "kib")}
                m = medians[name]
                print(f"  {name:18}{m['rate']:14,.0f}{m['tps']:16,.0f}{m['cpu_us']:9.2f} us"
                      f"{m['kib']:9,.0f} KiB{len(runs):6}")
        if len(medians) == 2:
            a, b = medians["append"], medians[peer_name]
            words = []
            for key, what, is_least, target in (("rate", "statements/s", True, targets[0]),
                                                ("cpu_us", "CPU", False, targets[1]),
                                                ("kib", "memory", False, targets[2])):
                ratio = a[key] / b[key]
                said = ""
                if target is not None:
                    is_met = ratio >= target if is_least else ratio <= target
                    said = (f" (target {'>=' if is_least else '<='} {target:g}: "
                            f"{'met' if is_met else 'MISSED'})")
                words.append(f"{what} {ratio:.2f} x{said}")
            print(f"  append / {peer_name}: {', '.join(words)}", flush=True)

    def compare_oltp(self, name, url, connection):
        options = ("--set", f"tables={TABLES},table_size={SIZE}")
        self.prepare(url, "oltp", *options)
        for mode in OLTP:
            for sessions in (10, 100, 1000):
                self.compare(
                    f"oltp {mode}, {name}", sessions,
                    lambda: self.run(sessions, url, "oltp", *options, "--set", f"mode={mode}",
                                     "--duration", f"{self.seconds}s",
                                     statements=OLTP[mode]),
                    "sysbench", lambda: self.sysbench(mode, sessions, connection), (1, 0.8, 0.4 if sessions == 1000 else None))
        self.cleanup(url, "oltp", *options)

    def compare_tpcb(self, url, port):
        options = ("--set", f"scale={SCALE}")
        self.prepare(url, "tpcb", *options)
        for kind, own, peer, statements in (("tpcb", (), (), 5),
                                            ("select-only", ("--set", "mode=select-only"),
                                             ("--select-only",), 1)):
            for sessions in (10, 100, 1000):
                self.compare(
                    f"{kind}, PostgreSQL, scale {SCALE}", sessions,
                    lambda: self.run(sessions, url, "tpcb", *options, *own, "--duration",
                                     f"{self.seconds}s", statements=statements),
                    "pgbench -M prepared",
                    lambda: self.pgbench(sessions, port, statements, *peer), (1, 1.3, None))
        self.cleanup(url, "tpcb", *options)

    def show(self, title, url, workload, settings, sizes):
        """Prints append's transactions/s, a row for each number of sessions."""
        names = [name for name, _ in settings]
        print(f"\n{title}, transactions/s\n  {'sessions':>10}"
              + "".join(f"{name:>22}" for name in names))
        for sessions in sizes:
            cells = []
            for _, options in settings:
                try:
                    run = self.run(sessions, url, workload, *options, "--duration",
                                   f"{self.seconds}s")
                    cells.append(f"{run.tps:,.0f}")
                except Excluded as reason:
                    cells.append("failed")
                    print(f"  EXCLUDED: {reason}")
            print(f"  {sessions:>10,}" + "".join(f"{cell:>22}" for cell in cells), flush=True)


def measure(append, postgresql, mariadb, folder, number):
    seconds = number("BENCH_SECONDS", 10, 2)
    workloads = Workloads(append, folder, seconds, number("BENCH_ROUNDS", 3, 1))
    my = f"mariadb://append@127.0.0.1:{mariadb.port}/append"
    pg = f"postgresql://append@127.0.0.1:{postgresql.port}/append"
    workloads.compare_oltp("MariaDB", my, [
        "--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={mariadb.port}",
        "--mysql-user=append", "--mysql-db=append"])
    workloads.compare_oltp("PostgreSQL", pg, [
        "--db-driver=pgsql", "--pgsql-host=127.0.0.1", f"--pgsql-port={postgresql.port}",
        "--pgsql-user=append", "--pgsql-db=append"])
    workloads.compare_tpcb(pg, postgresql.port)
    point = ("--set", f"tables={TABLES},table_size={SIZE},mode=point_select")
    workloads.prepare(my, "oltp", *point)
    workloads.show("oltp point_select, MariaDB", my, "oltp",
                   [("prepared", point), ("text", (*point, "--prepared", "no"))], (2000,))
    workloads.cleanup(my, "oltp", *point)
    rows = ("--set", "rows=100k")
    workloads.prepare(my, "select-insert", *rows)
    workloads.show("select-insert, MariaDB", my, "select-insert",
                   [("select", (*rows, "--set", "select_only=true")), ("select + insert", rows)],
                   (10, 20, 30))
    workloads.cleanup(my, "select-insert", *rows)
    workloads.prepare(my, "batch", *rows)
    ways = ("in_select", "temp_select", "row_update", "temp_update")
    workloads.show("batch, MariaDB", my, "batch",
                   [(way, (*rows, "--set", f"how={way}")) for way in ways], (5, 10, 50, 100, 200))
    workloads.cleanup(my, "batch", *rows)
    try:
        run = workloads.run(1, "null:", "oltp", "--set", "mode=read_only", "--duration",
                            f"{seconds}s", statements=OLTP["read_only"], prefix=("taskset", "-c", "0"))
        print(f"\noltp read_only into nothing, 1 session, one core: {run.rate / 1e6:.2f} M "
              "statements/s (target 3)")
    except Excluded as reason:
        print(f"  EXCLUDED: {reason}")
