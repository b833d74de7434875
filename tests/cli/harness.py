"""Runs the real program and reads its output files.

Environment: APPEND_BINARY (the program), APPEND_SOURCE (root of the repository),
APPEND_TEST_SLOW_FACTOR (multiplies time limits, divides numbers of rows), APPEND_TEST_SANITIZED (ON:
built with sanitizers), APPEND_TEST_POSTGRESQL and APPEND_TEST_MARIADB, also with the suffix
_PASSWORD_URL (see scripts/test.sh).
"""

import collections
import csv
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(os.environ.get("APPEND_SOURCE", pathlib.Path(__file__).parents[2]))
BINARY = os.environ.get("APPEND_BINARY", str(ROOT / "build" / "append"))
SLOW = int(os.environ.get("APPEND_TEST_SLOW_FACTOR", "1"))
IS_SANITIZED = os.environ.get("APPEND_TEST_SANITIZED") == "ON"
GUARD_S = 150 * SLOW  # detects hangs only, because machines are shared
SECRET = "append secret"
SANITIZER_EXIT = 99


def fewer(rows):
    """Returns a number of rows, reduced for sanitizers."""
    return rows // SLOW


def wait_until(claim, what, timeout_s=GUARD_S):
    """Polls until claim() is true and returns its value."""
    end = time.monotonic() + timeout_s
    while True:
        value = claim()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"still waiting after {timeout_s} s: {what}")
        time.sleep(0.02)


def count_lines(path):
    """Returns the number of lines of a file; 0 if the file does not exist yet."""
    return path.read_text().count("\n") if path.is_file() else 0


class Ended:
    """Exit code and output of a program that has ended."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err
        self.error_lines = [line for line in err.splitlines() if line.startswith("append: ")]

    @property
    def reason(self):
        return self.error_lines[-1] if self.error_lines else ""

    def __repr__(self):
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Run:
    """The files of a run."""

    FILES = ("summary.csv", "samples.csv", "intervals.csv", "sessions.csv", "run.json")

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.json = json.loads((self.folder / "run.json").read_text())

    def table(self, name):
        """Rows of a CSV file as dictionaries; every row must have every field."""
        text = (self.folder / name).read_bytes().decode()
        if not text.endswith("\n"):
            raise AssertionError(f"{name} does not end with a line break")
        rows = list(csv.reader(text.splitlines(keepends=True), strict=True))
        head = rows[0]
        if len(set(head)) != len(head) or "" in head:
            raise AssertionError(f"{name}: bad header {head}")
        for row in rows[1:]:
            if len(row) != len(head):
                raise AssertionError(f"{name}: {len(row)} fields under {len(head)} names: {row}")
        return [dict(zip(head, row)) for row in rows[1:]]

    @property
    def sessions(self):
        return self.json["sessions"]

    @property
    def rows(self):
        return self.json["rows"]

    @property
    def verification(self):
        return self.json["verification"]

    @property
    def causes(self):
        return self.json["causes"]


class Case(unittest.TestCase):
    """A test with a separate folder."""

    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="append-cli-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.outs = 0

    def environment(self, **more):
        env = {name: value for name, value in os.environ.items()
               if not name.startswith(("PG", "MYSQL", "MARIADB", "APPEND_PASSWORD"))}
        env.update(LC_ALL="C", **more)
        return env

    def start(self, *arguments, env=None, **options):
        """Starts the program; the caller ends it with self.end(process)."""
        process = subprocess.Popen(
            [options.pop("program", BINARY), *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, cwd=options.pop("cwd", self.folder), text=True,
            env=self.environment(**(env or {})), **options)
        self.addCleanup(self.reap, process)
        return process

    def reap(self, process):
        if process.poll() is None:
            process.kill()
            process.wait()
        for stream in (process.stdout, process.stderr):
            stream.close()

    def end(self, process, code, timeout_s=GUARD_S):
        """Waits for the end of the program, and checks what must hold after every end."""
        try:
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self.fail(f"still running after {timeout_s} s: {Ended(None, out, err)!r}")
        ended = Ended(process.returncode, out, err)
        self.assertNotEqual(ended.code, SANITIZER_EXIT, ended)
        self.assertNotIn(SECRET, out + err)
        # With a sanitizer the program may be the bottleneck: then the verdict INVALID is right.
        is_slow = SLOW > 1 and code == 0 and ended.code == 6
        if code is not None and not is_slow:
            self.assertEqual(ended.code, code, ended)
        if ended.code != 0:
            self.assertEqual(len(ended.error_lines), 1, ended)
            self.assertEqual(err.splitlines()[-1], ended.reason, ended)
            self.assertRegex(ended.reason, r"^append: \S")
        return ended

    def append(self, *arguments, code=0, env=None, timeout_s=GUARD_S, **options):
        return self.end(self.start(*arguments, env=env, **options), code, timeout_s)

    def refused(self, *arguments, code, pattern, **options):
        """Checks that a run is refused before it begins: it prints the reason in one line, and leaves no folder."""
        before = set(self.folder.rglob("*"))
        ended = self.append(*arguments, code=code, **options)
        self.assertRegex(ended.reason, pattern)
        self.assertEqual(ended.out, "", ended)
        if code == 2:
            # on a busy machine, append may also say what it waits for
            lines = [line for line in ended.err.splitlines() if not re.fullmatch(r"waiting for .* \.\.\.", line)]
            self.assertEqual(len(lines), 1, ended)
        if "cwd" not in options:
            left = {path for path in set(self.folder.rglob("*")) - before
                    if path.name != "append-runs"}
            self.assertEqual(left, set(), f"files of a run that never began: {left}")
        return ended

    def out(self):
        """Returns an unused path for the folder of a run."""
        self.outs += 1
        return self.folder / f"run-{self.outs}"

    def run_append(self, *arguments, code=0, **options):
        """Performs a run and checks its files. Returns (Ended, Run)."""
        out = self.out()
        ended = self.append(*arguments, "--out", out, code=code, **options)
        return ended, self.check_run(out, ended.code)

    def check_run(self, folder, code):
        """Checks what must hold for the files of every run, interrupted or not. Returns the Run."""
        run = Run(folder)
        for name in Run.FILES:
            self.assertTrue((run.folder / name).is_file(), name)
        self.assertGreaterEqual(len(list(run.folder.glob("*.hgrm"))), 1)
        for path in run.folder.iterdir():
            if path.suffix in (".csv", ".json", ".hgrm"):
                self.assertNotIn(SECRET.encode(), path.read_bytes(), path)
        self.assertEqual(run.json["outcome"]["exit_code"], code)
        self.check_ledgers(run)
        self.check_tables(run)
        self.check_times(run)
        self.check_log(run)
        return run

    def check_log(self, run):
        """Checks that the log of transactions has the rows that run.json counts. If the log has all transactions,
        also checks that they add up to the ledgers, and their latencies to the histograms."""
        log = run.json["transaction_log"]
        if log is None:
            self.assertFalse((run.folder / "transactions.csv").exists())
            return
        rows = run.table("transactions.csv")
        self.assertEqual(len(rows), log["rows"])
        self.assertEqual(len({(row["session"], row["turn"], row["transaction"]) for row in rows}), len(rows))
        if log["share"] < 1 or log["rows_missing"] > 0:
            return
        outcomes = collections.Counter((row["transaction"] if run.json["workload"] is None else "", row["outcome"])
                                       for row in rows)
        counters, histograms = run.json["counters"], run.json["histograms"]
        if run.json["workload"] is None:
            expected = {"append": counters["appends"] + counters["appends_lost"],
                        "read": counters["reads"] + counters["reads_failed"]}
            for name, count in expected.items():
                self.assertEqual(sum(n for (kind, _), n in outcomes.items() if kind == name), count, name)
            self.assertEqual(outcomes["read", "answered"], counters["reads"])
            timed = {"append": "acknowledged", "read": "answered"}
        else:
            ledger = run.json["transactions"]
            expected = {name: ledger[name] or 0 for name in (
                "committed", "rolled_back", "failed", "in_doubt", "unfinished", "skipped")}
            self.assertEqual({name: outcomes["", name] for name in expected}, expected)
            self.assertEqual(len(rows), sum(expected.values()))
            self.assertEqual(sum(int(row["tries"]) for row in rows), ledger["tries"])
            timed = {"transaction": "committed"}
        for name, outcome in timed.items():
            self.assertEqual(sum(int(row["latency_ns"]) for row in rows if row["outcome"] == outcome),
                             histograms[name]["sum_ns"], name)

    def check_times(self, run):
        """Checks that the parts of a run add up to its whole time."""
        times = run.json["times"]
        parts = [times[name] for name in ("connect_s", "append_s", "disconnect_s")]
        if not (run.folder / "ranks.csv").exists():
            self.assertAlmostEqual(times["elapsed_s"], sum(part or 0 for part in parts), 6, times)
        figures = run.json["figures"]
        if figures["throughput_rows_per_s"] is not None:
            self.assertAlmostEqual(figures["throughput_rows_per_s"] * times["elapsed_s"],
                                   run.rows["acknowledged"], delta=1e-6 * run.rows["acknowledged"] + 1e-6)

    def check_ledgers(self, run):
        sessions, rows = run.sessions, run.rows
        self.assertEqual(sessions["requested"], sessions["connected"] + sessions["refused"]
                         + sessions["timed_out"] + sessions["not_started"], sessions)
        self.assertEqual(sessions["connected"], sessions["finished"] + sessions["stopped"]
                         + sessions["dropped"], sessions)
        self.assertEqual(rows["planned"], rows["acknowledged"] + rows["rejected"]
                         + rows["in_doubt"] + rows["not_sent"], rows)
        batches = run.json["batches"]
        if batches["due"] is not None:
            self.assertEqual(batches["due"], batches["sent"] + batches["not_sent"], batches)
            self.assertLessEqual(run.json["latencies"]["response"]["count"], batches["due"])

    def check_tables(self, run):
        summary = run.table("summary.csv")
        self.assertEqual(len(summary), 1)
        intervals = run.table("intervals.csv")
        samples = run.table("samples.csv")
        self.assertGreaterEqual(len(samples), 1)
        self.assertGreaterEqual(len(intervals), 1)
        for column, name in (("rows", "acknowledged"), ("rows_rejected", "rejected"),
                             ("rows_in_doubt", "in_doubt")):
            total = run.rows[name]
            self.assertEqual(sum(int(row[column]) for row in intervals), total, column)
            self.assertEqual(int(summary[0]["rows_" + name]), total, column)
        self.check_sessions(run, intervals)
        # Each interval begins at the end of the previous interval.
        for earlier, later in zip(intervals, intervals[1:]):
            self.assertAlmostEqual(float(earlier["end_s"]), float(later["start_s"]), places=3)

    def check_sessions(self, run, intervals):
        """Checks that each session has a row, and that the rows add up to the ledgers and counters."""
        table = run.table("sessions.csv")
        self.assertEqual([int(row["session"]) for row in table],
                         list(range(run.sessions["requested"])))
        for outcome in ("refused", "timed_out", "not_started", "finished", "stopped", "dropped"):
            self.assertEqual(sum(row["outcome"] == outcome for row in table),
                             run.sessions[outcome], outcome)
        for name in ("planned", "acknowledged", "rejected", "in_doubt", "not_sent"):
            self.assertEqual(sum(int(row["rows_" + name]) for row in table), run.rows[name], name)
        counters = run.json["counters"]
        for name in ("connections_lost", "reconnects", "churns"):
            self.assertEqual(sum(int(row[name]) for row in table), counters[name], name)
            self.assertEqual(sum(int(row[name]) for row in intervals), counters[name], name)
        if "recover" in run.json["latencies"]:
            # An idle session never reconnects; an active session always tries to reconnect.
            self.assertEqual(run.json["latencies"]["recover"]["count"], counters["reconnects"])
        self.assertEqual(counters["connections_opened"], counters["connections_closed"])

    def interrupt_when_busy(self, process, out, name="intervals.csv"):
        """Sends SIGINT as soon as the run has written its first interval."""
        self.wait_for_rows(process, out, name)
        process.send_signal(signal.SIGINT)

    def wait_for_rows(self, process, out, name="intervals.csv"):
        path = pathlib.Path(out) / name

        def has_rows():
            if process.poll() is not None:
                raise AssertionError(f"ended too early: {process.communicate()}")
            return count_lines(path) >= 2

        wait_until(has_rows, f"the first row of {name}")

    def wait_for_interval(self, process, out, claim, what):
        """Waits for a row of intervals.csv, a dictionary of texts, for which claim(row) is true."""
        def has_row():
            if process.poll() is not None:
                raise AssertionError(f"ended too early: {process.communicate()}")
            path = pathlib.Path(out) / "intervals.csv"
            lines = path.read_bytes().decode().split("\r\n")[:-1] if path.is_file() else []
            head = lines[0].split(",") if lines else []
            return any(claim(dict(zip(head, line.split(",")))) for line in lines[1:])

        wait_until(has_row, what)


class Link:
    """A TCP link to a server on this machine. cut() silently kills the connections that are open: they pass
    no more data and stay open. A request that contains the bytes `swallowed` does the same to its
    connection."""

    def __init__(self, case, url):
        self.port_of_server = int(re.search(r":(\d+)/", url).group(1))
        self.swallowed = None
        self.cuts = 0
        self.sockets = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.threads = []
        self.begin(self.accept)
        self.url = re.sub(r":\d+/", f":{self.listener.getsockname()[1]}/", url)
        case.addCleanup(self.close)

    def begin(self, *work):
        self.threads.append(threading.Thread(target=work[0], args=work[1:]))
        self.threads[-1].start()

    def close(self):
        self.sockets.insert(0, self.listener)
        self.end_all()
        for thread in self.threads:
            thread.join()
        for one in self.sockets:
            one.close()

    def cut(self):
        self.cuts += 1

    def end_all(self):
        """Closes all connections: a server keeps a dead connection's locks until it notices the close."""
        for one in self.sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.port_of_server))
            self.sockets += [client, server]
            dead = threading.Event()
            self.begin(self.pump, client, server, dead, self.cuts)
            self.begin(self.pump, server, client, dead, self.cuts)

    def pump(self, source, sink, dead, cuts):
        try:
            while data := source.recv(1 << 16):
                if cuts != self.cuts or self.swallowed and self.swallowed in data:
                    dead.set()
                if not dead.is_set():
                    sink.sendall(data)
            if not dead.is_set():
                sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class OnServer(Case):
    """A test with a separate database on a shared server, which the subclass names."""

    URL = PASSWORD_URL = None
    VARIABLE = None

    @staticmethod
    def client(url, *statements):
        """Runs statements and returns their output without decoration."""
        raise NotImplementedError

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if cls.VARIABLE and (not cls.URL or not cls.PASSWORD_URL):
            raise unittest.SkipTest(f"{cls.VARIABLE} names no server (scripts/test.sh)")

    def setUp(self):
        super().setUp()
        self.database = f"cli_{os.getpid()}_{time.monotonic_ns()}"
        self.client(self.URL, f"create database {self.database}")
        self.addCleanup(self.drop_database)
        self.url = self.in_database(self.URL)

    def drop_database(self):
        self.client(self.URL, f"drop database {self.database}")

    def in_database(self, url):
        return re.sub(r"/[^/]*$", "/" + self.database, url)

    def sql(self, *statements):
        return self.client(self.url, *statements)

    def count(self, table="syslog_table", where="true"):
        return int(self.sql(f"select count(*) from {table} where {where}"))


def run_client(command, env):
    result = subprocess.run(command, capture_output=True, text=True, env=env, timeout=GUARD_S,
                            stdin=subprocess.DEVNULL)
    if result.returncode != 0:
        raise AssertionError(f"{command[0]}: {result.stderr}")
    return result.stdout.strip()


def psql(url, *statements):
    """Runs statements and returns their output without decoration."""
    command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", url]
    for statement in statements:
        command += ["-c", statement]
    return run_client(command, dict(os.environ, PGOPTIONS="-c client_min_messages=warning",
                                    PGPASSWORD=SECRET))


# A condition for pg_stat_activity that excludes the connection with which append measures the table.
OF_SESSIONS = "query !~ 'pg_total_relation_size'"


class Postgresql(OnServer):
    URL = os.environ.get("APPEND_TEST_POSTGRESQL")
    PASSWORD_URL = os.environ.get("APPEND_TEST_POSTGRESQL_PASSWORD_URL")
    VARIABLE = "APPEND_TEST_POSTGRESQL"
    client = staticmethod(psql)

    def drop_database(self):
        """An ordinary role may not use FORCE while autovacuum works; DROP without FORCE waits."""
        try:
            psql(self.URL, f"drop database {self.database} with (force)")
        except AssertionError:
            psql(self.URL, f"drop database {self.database}")


def mariadb_command(url):
    """Returns the client's command line for a URL of the tests; only append_pw has a password."""
    user, host, port, database = re.fullmatch(
        r"mariadb://([^@]*)@([^:]*):(\d+)/(\w*)", url).groups()
    password = [f"--password={SECRET}"] if user == "append_pw" else []
    return ["mariadb", "--no-defaults", "--default-character-set=utf8mb4",
            f"--host={host}", f"--port={port}", f"--user={user}",
            *password, "--batch", "--skip-column-names", "--unbuffered", database]


def mariadb(url, *statements):
    """Runs statements. Returns their output with columns separated by tabs."""
    return run_client(mariadb_command(url) + ["--execute", ";".join(statements)],
                      dict(os.environ))


class Mariadb(OnServer):
    URL = os.environ.get("APPEND_TEST_MARIADB")
    PASSWORD_URL = os.environ.get("APPEND_TEST_MARIADB_PASSWORD_URL")
    VARIABLE = "APPEND_TEST_MARIADB"
    client = staticmethod(mariadb)

    def root(self, *statements):
        return mariadb(self.url.replace("append@", "root@"), *statements)


class PrivateServer:
    """A PostgreSQL server for one test, or for all tests of a class. stop(mode) or kill() ends it,
    restart() starts it again. Its files are in test.sh's folder, in memory if possible, unless
    `is_on_disk`."""

    NAME = "postgresql"
    SUPERUSER = "postgres"
    ENVIRONMENT = {}  # for the script that starts it

    def __init__(self, case, prefix=(), is_on_disk=False, **settings):
        add_cleanup = case.addClassCleanup if isinstance(case, type) else case.addCleanup
        self.folder = tempfile.mkdtemp(
            prefix="append-db-", dir=None if is_on_disk else os.environ.get("APPEND_TEST_SERVERS"))
        add_cleanup(shutil.rmtree, self.folder, ignore_errors=True)
        add_cleanup(self.stop)
        self.home = pathlib.Path(self.folder, self.NAME)
        self.script = str(ROOT / "scripts" / f"{self.NAME}.sh")
        subprocess.run([*prefix, self.script, "start", self.folder,
                        *(f"{name}={value}" for name, value in settings.items())],
                       check=True, timeout=120, stdin=subprocess.DEVNULL,
                       env={**os.environ, **self.ENVIRONMENT})
        port = (self.home / "port").read_text().strip()
        self.url = f"{self.NAME}://append@127.0.0.1:{port}/append"
        self.superuser_url = f"{self.NAME}://{self.SUPERUSER}@127.0.0.1:{port}/append"

    def run_script(self, command, *arguments):
        subprocess.run([self.script, command, self.folder, *arguments], check=True, timeout=120,
                       stdin=subprocess.DEVNULL, env={**os.environ, **self.ENVIRONMENT})

    def stop(self, mode="immediate"):
        self.run_script("stop", mode)

    def kill(self):
        """Ends the server with SIGKILL, as in a crash."""
        self.run_script("kill")

    def restart(self):
        """Restarts the stopped or killed server on the same port; returns when it is up."""
        self.run_script("restart")


class PrivatePostgresql18(PrivateServer):
    """A server of PostgreSQL 18 (scripts/postgresql_18.sh)."""

    ENVIRONMENT = {"APPEND_POSTGRESQL_BIN": os.environ.get("APPEND_TEST_POSTGRESQL_18", "")}


class PrivateMariadb(PrivateServer):
    """A MariaDB server for one test; settings are mariadbd's options with _ for -."""

    NAME = "mariadb"
    SUPERUSER = "root"


def main():
    """Runs unittest.main; exit status 77 reports skipped tests to ctest."""
    program = unittest.main(module="__main__", exit=False, verbosity=2)
    if not program.result.wasSuccessful():
        sys.exit(1)
    if program.result.testsRun == 0 and not program.result.skipped:
        sys.exit("no tests in this file")
    sys.exit(77 if program.result.skipped else 0)
