"""Tests that several databases share: mixins for harness.Case. The test of a database adds its tables of cases.

The stand-ins can be imported after this module.
"""

import contextlib
import datetime
import re
import signal
import sqlite3
import struct
import sys
import urllib.parse

import harness

sys.path.insert(0, str(harness.ROOT / "tests" / "standin"))

NAMES = ("n1", "n2", "n3", "n5", "host", "msg", "ip4", "ip6", "n4", "tm")


def nanoseconds(text):
    """Returns a time in UTC as nanoseconds since 1970."""
    seconds, _, fraction = text.replace("T", " ").rstrip("Z").partition(".")
    return (int(datetime.datetime.fromisoformat(seconds + "+00:00").timestamp()) * 10**9
            + int(fraction.ljust(9, "0")))


def comparable(row):
    """Returns the values of a row, a dictionary: n4 as a float32, tm in nanoseconds."""
    values = [row[name] for name in NAMES]
    values[8] = struct.unpack("f", struct.pack("f", values[8]))[0]
    values[9] = values[9] if isinstance(values[9], int) else nanoseconds(values[9])
    return values


class Loads:
    """Loads of a database. Subclasses have self.url and count(table)."""

    SEED = 77
    OPTIONS = ()  # of each command

    def stand_in(self, *rules, **settings):
        """Starts a stand-in with rules and settings. Does nothing for a real server, which already runs."""

    def load(self, sessions, rows, *options, target=None, **more):
        return self.run_append(sessions, rows, target or self.url, *self.OPTIONS, "--seed", self.SEED,
                               *options, **more)

    @property
    def place(self):
        return re.search(r"127\.0\.0\.1:\d+", self.url)[0]

    def load_by_port(self, adapter, *options, **more):
        """Performs a run that names only the server's port: append recognises the database."""
        ended, run = self.run_append(2, 200, self.place.split(":")[1], *options, **more)
        self.assertEqual((run.rows["acknowledged"], run.json["plan"]["adapter"]), (200, adapter))
        return ended, run

    def check_bounds(self, run, before=0):
        """Checks that no row is invented or lost: the table has at least the acknowledged rows, and at most the
        acknowledged rows and the rows in doubt."""
        there = self.count() - before
        self.assertLessEqual(run.rows["acknowledged"], there)
        self.assertLessEqual(there, run.rows["acknowledged"] + run.rows["in_doubt"])
        self.check_verification(run)

    def check_verification(self, run):
        self.assertEqual((run.verification["lost"] or 0, run.json["row_verification"]["lost"] or 0), (0, 0))

    def script(self, text):
        path = self.folder / "own.lua"
        path.write_text(text)
        return path


class EveryRow(Loads):
    """Subclasses have stored(), the rows of the table as dictionaries."""

    LOADS = ((3, 1001, ("--batch", 7), {}),)  # sessions, rows, options, settings of the stand-in
    NEAR = {}  # columns that the server keeps or shows with fewer digits: decimal places that are right

    def check_load(self, ended, run):
        """Checks what else is true for each load."""

    def test_every_row_once_and_right(self):
        """The table has the same rows as SQLite's: a row is a function of seed, session and number."""
        for sessions, rows, options, settings in self.LOADS:
            with self.subTest(sessions=sessions, rows=rows, options=options, settings=settings):
                self.stand_in(**settings)
                ended, run = self.load(sessions, rows, "--verify", "rows", *options)
                self.assertEqual(run.rows["acknowledged"], rows)
                self.assertEqual(run.sessions["finished"], sessions)
                self.assertEqual((run.verification["lost"], run.json["row_verification"]["lost"]), (0, 0))
                self.check_load(ended, run)
                found = sorted(map(comparable, self.stored()))
                self.assertEqual(len(found), rows)
                for row, wanted in zip(found, self.rows_of_sqlite(sessions, rows)):
                    for i, name in enumerate(NAMES):
                        if name in self.NEAR:
                            self.assertAlmostEqual(row[i], wanted[i], self.NEAR[name], (name, row))
                            row[i] = wanted[i]
                    self.assertEqual(row, wanted)

    def rows_of_sqlite(self, sessions, rows):
        path = self.folder / "same.db"
        path.unlink(missing_ok=True)
        self.append(sessions, rows, f"sqlite:{path}", "--seed", self.SEED, "--out", self.out())
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.row_factory = sqlite3.Row
            return sorted(map(comparable, database.execute("select * from syslog_table")))


class Users(Loads):
    """USERS: a URL, the password in the environment, exit code, pattern of the reason. A URL may contain
    {place}, {database}, {secret} and {quoted}, which is the secret as part of a URL."""

    USERS, USER_SETTINGS, database = (), {}, ""

    def test_users(self):
        self.stand_in(**self.USER_SETTINGS)
        accepted = 0
        for url, password, code, pattern in self.USERS:
            with self.subTest(url=url, password=password):
                url = url.format(place=self.place, database=self.database, secret=harness.SECRET,
                                 quoted=urllib.parse.quote(harness.SECRET))
                env = {"APPEND_PASSWORD": password} if password else {}
                if code == 0:
                    self.run_append(1, 10, url, *self.OPTIONS, env=env)
                    accepted += 1
                else:
                    self.refused(1, 10, url, *self.OPTIONS, code=code, pattern=pattern, env=env)
        self.assertGreater(accepted, 0)
        self.assertEqual(self.count(), 10 * accepted)


class OnStandin(Loads, harness.Case):
    """A test against a stand-in."""

    SERVER, SETTINGS, URL = None, {}, ""  # the class, its usual settings, its URL with {port}

    def stand_in(self, *rules, **settings):
        self.standin = self.SERVER(*rules, **{**self.SETTINGS, **settings})
        self.addCleanup(self.standin.kill)
        self.url = self.URL.format(port=self.standin.port)


class StandinRuns(EveryRow):
    """A mixin for OnStandin."""

    def test_a_table_that_is_there(self):
        self.stand_in()
        for rows in (100, 200):
            _, run = self.load(2, 100)
            self.assertEqual(run.verification["rows_after"], rows)
        _, run = self.load(2, 100, "--recreate=syslog_table", "--verify", "rows")
        self.assertEqual((self.count(), run.verification["rows_after"]), (100, 100))


class StandinEnds(Loads):
    """A mixin for OnStandin. SLOW: a rule that stretches the run; SENT: the step that sends rows; GONE: the
    reason of a run without a server."""

    SLOW, SENT, GONE = "", "", "nothing listens on"

    def test_a_server_that_is_gone(self):
        self.stand_in(self.SLOW)
        out = self.out()
        process = self.start(4, 1000000, self.url, *self.OPTIONS, "--out", out)
        harness.wait_until(lambda: self.standin.rules.counts[self.SENT] > 20, "20 appends")
        self.standin.kill()
        self.end(process, 1)
        run = self.check_run(out, 1)
        self.assertEqual(run.sessions["dropped"], 4)
        self.assertGreater(run.rows["acknowledged"], 1000)
        self.check_bounds(run)
        self.refused(1, 1, self.url, *self.OPTIONS, code=4, pattern=self.GONE)


class Killed(Loads):
    """A mixin for a test with a server of its own, self.server."""

    SESSIONS, KILLED = 4, ("--on-drop", "reconnect")

    def test_a_killed_server(self):
        """SIGKILL and a restart during the run: the load goes on, and no acknowledged row is lost."""
        out = self.out()
        process = self.start(self.SESSIONS, self.url, "--duration", "60s", "--verify", "rows", *self.KILLED,
                             "--sample-interval", "0.2s", "--out", out)
        self.wait_for_interval(process, out, lambda row: int(row["rows"]) > 0, "acknowledged rows")
        self.server.kill()
        self.server.restart()
        self.wait_for_interval(process, out, lambda row: int(row["reconnects"]) > 0, "a reconnect")
        process.send_signal(signal.SIGINT)
        self.end(process, 130)
        run = self.check_run(out, 130)
        self.assertGreaterEqual(run.json["counters"]["connections_lost"], 1)
        self.assertGreater(run.rows["acknowledged"], 0)
        self.check_bounds(run)


class Workloads(Loads):
    """LACKS: a workload with its options, and the pattern of its refusal."""

    LACKS = ()

    def test_append_then_count(self):
        _, run = self.run_append(4, 4000, self.url, "--workload", "append-then-count")
        self.assertEqual((run.rows["acknowledged"], run.json["transactions"]["committed"]), (4000, 40))
        self.assertEqual(self.count(), 4000)

    def test_what_it_does_not_have_is_refused(self):
        for workload, pattern in self.LACKS:
            for command, ends in ((("prepare",), ()), ((), ("--transactions", 10))):
                if command and "--prepared" in workload:
                    continue  # an option of runs
                with self.subTest(workload=workload, command=command):
                    self.refused(*command, 2, self.url, "--workload", *workload, *ends, code=2,
                                 pattern=pattern)
