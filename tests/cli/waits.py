"""--waits on any database, and on any PostgreSQL: mixins for test_NAME_waits.py.

Subclasses of Waits have self.url, self.sql(*statements) -> text, and LOCK, a statement that waits for one lock
of the whole database, keeps it for 50 ms and releases it. Passing the lock on takes little time compared with 50 ms.
"""

import csv
import json
import socket
import threading
import time
import urllib.request


class Checked:
    """Helpers, without tests."""

    WORKLOAD = """
local work = statement("work", "%s")
transaction("round", function() work:run() end, {autocommit = true})
"""

    def shares(self, run, kind):
        """Returns {class of waits: its share, with the share's lower and upper bound in percent} of a kind of call."""
        return {share["class"]: share for share in run.json["waits"]["shares"] if share["kind"] == kind}

    def check_waits(self, run):
        """Checks what must hold in every run: the shares of a kind add up, and waits.csv agrees with run.json."""
        waits = run.json["waits"]
        kinds = {share["kind"] for share in waits["shares"]}
        for kind in kinds:
            shares = self.shares(run, kind).values()
            self.assertAlmostEqual(sum(share["share_percent"] for share in shares), 100, delta=0.01)
            for share in shares:
                if share["lower_percent"] is not None:
                    self.assertLessEqual(share["lower_percent"], share["share_percent"] + 1e-9, share)
                    self.assertGreaterEqual(share["upper_percent"], share["share_percent"] - 1e-9, share)
        seconds = {}
        with open(run.folder / "waits.csv", newline="") as lines:
            for row in csv.DictReader(lines):
                key = row["start_s"], row["kind"]
                waiting, in_flight, polls = seconds.get(key, (0, None, None))
                self.assertIn(in_flight, (None, row["in_flight"]))
                seconds[key] = waiting + float(row["waiting"]), row["in_flight"], int(row["polls"])
        self.assertEqual({kind for _, kind in seconds}, kinds)
        for key, (waiting, in_flight, _) in seconds.items():
            self.assertAlmostEqual(waiting, float(in_flight), delta=0.02, msg=key)
        polls = {second: polls for (second, _), (_, _, polls) in seconds.items()}
        self.assertLessEqual(sum(polls.values()), waits["polls"])
        return waits


class Waits(Checked):
    def test_one_lock(self):
        """Ten sessions around one lock: nine always wait for it, and one sleeps."""
        script = self.folder / "lock.lua"
        script.write_text(self.WORKLOAD % self.LOCK)
        ended, run = self.run_append("10", self.url, "--workload", script, "--duration",
                                     self.LOCK_DURATION, "--waits")
        waits = self.check_waits(run)
        shares = self.shares(run, "statement.work")
        # while the lock passes from one session to the next, neither has it: this takes longer on a busy machine
        handed_over = sum(share["share_percent"] for name, share in shares.items() if name not in ("lock", "other"))
        self.assertLess(handed_over, 10)
        self.assertAlmostEqual(shares["lock"]["share_percent"], 90, delta=2 + handed_over)
        self.assertAlmostEqual(shares["other"]["share_percent"], 10, delta=2 + handed_over)
        self.assertIn(self.LOCK_EVENT, shares["lock"]["events"])
        self.assertIn(self.SLEEP_EVENT, shares["other"]["events"])
        # Little's law: calls in flight are their rate times their mean latency
        statement = next(row for row in run.table("operations.csv") if row["operation"] == "work"
                         and row["kind"] != "transaction")
        in_flight = float(statement["answered"]) * float(statement["mean_ms"]) / 1000 / run.json["times"]["append_s"]
        self.assertAlmostEqual(shares["lock"]["in_flight"] / in_flight, 1, delta=0.03)
        self.assertEqual(waits["polls_failed"], 0)
        # a session that leaves between the two halves of the last poll is not at the server any more
        self.assertLess(waits["unseen_percent"], 0.5)
        self.assertRegex(waits["answer"], r"^(8\d|9[0-2]) % ± \d of the time in statement.work was spent on locks that")
        self.assertIn("Why       ", ended.out)

    def test_table_locked_by_another(self):
        """A table that another session locks for 3 of 10 s: 30 % of the append time is that lock, more if the
        other session was slow."""
        self.sql("drop table if exists syslog_table")
        self.append("4", "100", self.url, "--out", self.folder / "first")
        locked = threading.Event()
        out = self.out()
        took_s = []

        def lock():
            locked.wait()
            begun = time.monotonic()
            self.lock_for_3_s()
            took_s.append(time.monotonic() - begun)

        other = threading.Thread(target=lock)
        other.start()
        process = self.start("4", self.url, "--duration", "10s", "--read", "none", "--waits", "--out", out)
        self.wait_for_rows(process, out)
        locked.set()
        self.end(process, 0)
        other.join()
        run = self.check_run(out, 0)
        self.check_waits(run)
        percent = self.shares(run, "append")["lock"]["share_percent"]
        per_s = 100 / run.json["times"]["append_s"]
        self.assertTrue(3 * per_s - 3 < percent < took_s[0] * per_s + 3, (percent, took_s, per_s))
        return run

    def test_find_max(self):
        """Each level names the class of waits with the largest part of the time in calls."""
        script = self.folder / "lock.lua"
        script.write_text(self.WORKLOAD % self.LOCK)
        out = self.out()
        ended = self.append("find-max", self.url, "--workload", script, "--first", "10", "--max-sessions",
                            "10", "--hold", "3s", "--waits", "--out", out)
        with open(out / "levels.csv", newline="") as lines:
            levels = list(csv.DictReader(lines))
        self.assertEqual([level["largest_wait"] for level in levels], ["statement.work: row or table lock"])
        self.assertAlmostEqual(float(levels[0]["largest_wait_percent"]), 90, delta=12)
        self.assertIn("largest part of the time in calls was row or table lock", " ".join(ended.out.split()))

    def test_compare(self):
        """Two runs are also compared by the shares of their waits."""
        folders = []
        for _ in range(2):
            _, run = self.run_append("2", self.url, "--duration", "1s", "--waits", "--recreate")
            folders.append(run.folder)
        ended = self.append("compare", *folders)
        self.assertRegex(ended.out, r"append waits cpu +[\d.]+ % +[\d.]+ %")

    def test_bounds(self):
        """A bound may name the share of a class of waits; an unknown one is refused before the run."""
        script = self.folder / "lock.lua"
        script.write_text(self.WORKLOAD % self.LOCK)
        bounds = "waits.work.lock>=80%, waits.statement.work.lock<50%, waits.commit.lock<=10%"
        ended, run = self.run_append("10", self.url, "--workload", script, "--duration", "3s", "--waits",
                                     "--expect", bounds, code=5)
        self.assertEqual([entry["is_met"] for entry in run.json["expectations"]], [True, False, False])
        self.assertIn("waits.commit.lock<=10%: not known", ended.err)
        self.refused("10", self.url, "--duration", "1s", "--waits", "--expect", "waits.append.locks<1", code=2,
                     pattern="waits.append.log; the classes are cpu, log")
        self.refused("10", self.url, "--duration", "1s", "--expect", "waits.append.lock<1", code=2,
                     pattern="only with --waits")
        self.refused("10", self.url, "--duration", "1s", "--waits=now", code=2, pattern="--waits")


class OfPostgresql(Waits):
    LOCK = "do $$ begin perform pg_advisory_xact_lock(7); perform pg_sleep(0.05); end $$"
    LOCK_DURATION = "12s"
    LOCK_EVENT = "Lock:advisory"
    SLEEP_EVENT = "Timeout:PgSleep"

    def lock_for_3_s(self):
        self.sql("begin; lock table syslog_table; select pg_sleep(3); commit")

    def test_table_locked_by_another(self):
        run = super().test_table_locked_by_another()
        blocker = run.json["waits"]["blockers"][0]
        self.assertEqual((blocker["of"], blocker["who"], blocker["state"], blocker["statement"]),
                         ("another program", "psql", "active", None))

    def test_statements_of_blockers(self):
        """--waits=sql shows the statement of the session that has the lock; one of this run's is called append."""
        script = self.folder / "lock.lua"
        script.write_text(self.WORKLOAD % self.LOCK)
        _, run = self.run_append("10", self.url, "--workload", script, "--duration", "4s", "--waits=sql")
        blocker = run.json["waits"]["blockers"][0]
        self.assertEqual((blocker["of"], blocker["statement"]), ("append", self.LOCK))

    def test_counts_of_the_server(self):
        """The server's counts grow by the work of the run."""
        self.sql("drop table if exists syslog_table")
        _, run = self.run_append("4", "20000", self.url, "--waits")
        growth = {count["name"]: count["growth"] for count in run.json["waits"]["counters"]}
        # The counts are those of the whole database: autovacuum also inserts a few rows, and the first rows of the
        # run may be missing.
        self.assertGreater(growth["pg_stat_database.tup_inserted"], 18000)
        self.assertLess(growth["pg_stat_database.tup_inserted"], 22000)
        self.assertGreaterEqual(growth["pg_stat_database.xact_commit"], 200)

    def test_on_the_live_page(self):
        """The live page shows the shares so far."""
        out = self.out()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        process = self.start("4", self.url, "--duration", "5s", "--waits", "--live", str(port), "--out", out)
        self.wait_for_rows(process, out, "waits.csv")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/live.json?after=0") as answer:
            body = json.load(answer)["body"]
        self.end(process, 0)
        self.assertRegex(body, r"<h3>Waits</h3>(.|\n)*<th scope=\"row\">append</th>")
        self.check_waits(self.check_run(out, 0))

    def test_a_killed_session(self):
        """A poll whose session the server ends is counted, and the next one connects again."""
        out = self.out()
        process = self.start("4", self.url, "--duration", "6s", "--waits", "--out", out)
        self.wait_for_rows(process, out)
        self.assertEqual("t", self.sql("select pg_terminate_backend(pid) from pg_stat_activity where"
                                       " query like '%pg_stat_get_activity(null)%' and pid <> pg_backend_pid()"
                                       " and datname = current_database()"))
        self.end(process, 0)
        waits = self.check_run(out, 0).json["waits"]
        self.assertEqual(waits["polls_failed"], 1)
        # the second text appears if the connection was reset before the server's reason was read
        self.assertRegex(waits["failure"], "terminating connection|server closed the connection unexpectedly")
        self.assertGreater(waits["polls"], 10)
