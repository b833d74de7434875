"""Scripted workloads on SQLite: a script's options, its ledger, and the rows in the tables."""

import contextlib
import json
import re
import sqlite3
import time

import harness


class Workloads(harness.Case):
    def setUp(self):
        super().setUp()
        self.database = self.folder / "w.db"

    def query(self, sql):
        with contextlib.closing(sqlite3.connect(self.database)) as database:
            return database.execute(sql).fetchall()

    def script(self, text, name="own.lua"):
        path = self.folder / name
        path.write_text(text)
        return path

    def test_print(self):
        """Each line has its place in the script and its session. Lines beyond 100 a second are only counted."""
        text = ("transaction('t', function()\n   print('a\\tb', 7, nil, true)\nend)\n")
        ended, _ = self.run_script(text, "--transactions", 4, sessions="2")
        for session in (0, 1):
            self.assertEqual(ended.err.count(f"append: own.lua:2: session {session}: a b 7 nil true\n"), 2)
        ended, _ = self.run_script("transaction('t', function()\n   for i = 1, 1000 do print(i) end\nend)\n",
                                   "--transactions", 3, sessions="1")
        lines = ended.err.count("append: own.lua:2: session 0: ")
        left_out = sum(map(int, re.findall(r"append: (\d+) lines? of print left out", ended.err)))
        self.assertEqual(lines + left_out, 3000)
        self.assertGreater(left_out, 0)

    def run_script(self, text, *arguments, code=0, sessions="4", **options):
        ended, run = self.run_append(sessions, f"sqlite:{self.database}", "--workload",
                                     self.script(text), "--log-transactions", *arguments, code=code,
                                     **options)
        self.check_transactions(run)
        return ended, run

    def check_transactions(self, run):
        """Checks the sums of the ledger, in all and by name."""
        ledger = run.json["transactions"]
        self.assertTrue(ledger["balances"])
        self.assertEqual(ledger["begun"], ledger["committed"] + ledger["rolled_back"]
                         + ledger["failed"] + ledger["in_doubt"] + ledger["unfinished"])
        self.assertEqual(ledger["tries"], ledger["begun"] + ledger["retries"])
        rows = run.table("operations.csv")
        begun = 0
        for row in rows:
            if row["kind"] == "transaction":
                begun += int(row["begun"])
                self.assertEqual(int(row["begun"]), sum(int(row[key]) for key in (
                    "committed", "rolled_back", "failed", "in_doubt", "unfinished")), row)
            else:
                self.assertEqual(int(row["sent"]), sum(int(row[key]) for key in (
                    "answered", "refused", "unanswered")), row)
        self.assertEqual(begun, ledger["begun"])
        self.assertEqual({row["operation"] for row in rows},
                         {entry["name"] for entry in run.json["operations"]})

    def operation(self, run, name):
        return next(entry for entry in run.json["operations"] if entry["name"] == name)

    def test_select_insert(self):
        # --rate, because the key of the log is a time in ms: without --rate, two rows could have the same key
        _, run = self.run_append("4", f"sqlite:{self.database}", "--workload", "select-insert",
                                 "--set", "rows=20000", "--transactions", "402", "--rate", "500")
        self.check_transactions(run)
        ledger = run.json["transactions"]
        self.assertEqual((ledger["begun"], ledger["committed"]), (402, 402))
        self.assertEqual(ledger["rows_added"], 402)
        self.assertEqual(self.query("select count(*) from colemp"), [(20000,)])
        self.assertEqual(self.query("select count(*) from colemp_logging"), [(402,)])
        self.assertEqual(self.query("select count(*) from colemp_logging l join colemp c"
                                    " on c.empno = l.empno and c.ename = l.ename"), [(402,)])
        # one row for each select, also in tries that were repeated because the database was busy
        select = self.operation(run, "select")
        self.assertEqual(select["rows"], select["answered"])
        self.assertGreaterEqual(select["answered"], 402)
        self.assertLessEqual(select["answered"], ledger["tries"])
        self.assertEqual(run.json["counters"]["checks"], select["answered"])
        self.assertEqual(run.json["transactions"]["checks_failed"], 0)
        self.assertEqual(sorted(int(row["batches"]) for row in run.table("sessions.csv")),
                         [100, 100, 101, 101], "transactions are spread evenly")

    def test_a_seed_repeats_the_draws(self):
        text = """
            local t = dataset("t", 0, {{"k", "int32", row()}, {"v", "int32", uniform(1, 9)}})
            local id = uniform(1, 1000000)
            local add = statement("add", "INSERT INTO t VALUES (?, ?)", {"int32", "int32"}, {adds_to = t})
            transaction("one", function() add:run(id, id) end, {autocommit = true})"""
        found = []
        for _ in range(2):
            self.run_script(text, "--transactions", "60", "--seed", "7")
            found.append(self.query("select * from t order by k, v"))
            self.query("select 1")
            self.database.unlink()
        self.assertEqual(found[0], found[1])
        self.assertEqual(len(set(found[0])), 60)

    def test_rollback_on_purpose(self):
        _, run = self.run_script("""
            local t = dataset("t", 0, {{"k", "int32", row()}})
            local add = statement("add", "INSERT INTO t VALUES (?)", {"int32"}, {adds_to = t})
            local n = 0
            transaction("half", function()
                n = n + 1
                add:run(n)
                if n % 2 == 0 then rollback("even") end
            end)""", "--transactions", "80")
        ledger = run.json["transactions"]
        self.assertEqual((ledger["begun"], ledger["committed"], ledger["rolled_back"]), (80, 40, 40))
        self.assertEqual(self.query("select count(*), sum(k % 2) from t"), [(40, 40)])
        self.assertEqual(ledger["rows_added"], 40)
        self.assertEqual(run.json["outcome"]["verdict"], "VALID")

    def test_rows_that_vary(self):
        """A run takes a loaded table of append's own with any number of rows except 0."""
        text = """
            local t = dataset("t", 50, {{"k", "int32", row(), key = true}}, {varies = true})
            local add = statement("add", "INSERT INTO t VALUES (?)", {"int32"}, {adds_to = t})
            local n = counter("n", %d)
            transaction("one", function() add:run(n:next()) end)"""
        self.run_script(text % 51, "--transactions", "20")
        _, run = self.run_script(text % 101, "--transactions", "20")
        table = run.json["datasets"][0]
        self.assertEqual((table["rows_before"], table["rows_after"]), (70, 90))

        def refuse(pattern):
            ended = self.append(2, f"sqlite:{self.database}", "--workload", self.script(text % 201),
                                "--transactions", 5, code=2)
            self.assertRegex(ended.reason, pattern)

        with contextlib.closing(sqlite3.connect(self.database)) as database, database:
            database.execute("delete from t")
        refuse("table 't' has 0 rows, but own.lua declares 50: ")
        self.database.unlink()
        with contextlib.closing(sqlite3.connect(self.database)) as database, database:
            database.execute("create table t (k int primary key)")
            database.execute("insert into t values (1)")
        refuse("append did not make table .t. .* and leaves it as it is: own.lua declares 50 rows")
        self.assertEqual(self.query("select * from t"), [(1,)])

    def test_a_pause_before_a_transaction(self):
        """A session pauses before each transaction. With a rate it does not pause. A run can end during a pause."""
        text = """
            dataset("t", 1, {{"k", "int32", row(), key = true}, {"n", "int32", 0}})
            local add = statement("add", "UPDATE t SET n = n + 1 WHERE k = 1")
            transaction("one", function() add:run() end, {pause = %s})"""
        pause = "derive(uniform(1, 2), function(i) return i / 10 end)"
        _, run = self.run_script(text % pause, "--duration", "1s")
        begun = run.json["transactions"]["begun"]
        self.assertGreater(begun, 0)
        self.assertLessEqual(begun, 4 * 10)
        self.assertEqual(self.query("select n from t"), [(begun,)])
        ended, run = self.run_script(text % "3600", "--duration", "1s", code=1)
        self.assertEqual(run.json["transactions"]["begun"], 0)
        self.assertIn("no transaction was committed", ended.reason)
        _, run = self.run_script(text % "3600", "--transactions", "8", "--rate", "100")
        self.assertEqual(run.json["transactions"]["committed"], 8)
        ended, run = self.run_script(text % "derive(row(), function() return -1 end)", "--duration", "5s",
                                     code=2)
        self.assertIn("transaction 'one': the pause must be a number of seconds from 0 to 86400", ended.reason)
        self.assertEqual(run.json["transactions"]["begun"], 0)
        endless = "derive(uniform(1, 2), function() while true do end end)"
        ended, run = self.run_script(text % endless, "--duration", "1s", code=1, sessions="2")
        self.assertIn("own.lua:4: this code was still running after the run had ended", ended.reason)
        self.assertEqual((run.sessions["dropped"], run.json["transactions"]["begun"]), (2, 0))

    def test_a_refused_statement_fails_its_transaction(self):
        text = """
            local t = dataset("t", 0, {{"k", "int32", row(), key = true}})
            local add = statement("add", "INSERT INTO t VALUES (?)", {"int32"}, {adds_to = t})
            local n = 0
            transaction("twice", function()
                n = n + 1
                add:run(session.id * 1000 + n)
                if n % 4 == 0 then add:run(session.id * 1000 + n) end
            end)"""
        ended, run = self.run_script(text, "--transactions", "80", code=1)
        ledger = run.json["transactions"]
        self.assertEqual((ledger["committed"], ledger["failed"], ledger["partial"]), (60, 20, 0))
        self.assertEqual((ledger["exhausted"], ledger["refused"], ledger["lost"]), (0, 20, 0))
        self.assertEqual(self.query("select count(*) from t"), [(60,)])
        self.assertEqual(self.operation(run, "add")["refused"], 20)
        self.assertIn("20 of 80 transactions failed", ended.err)
        cause = run.causes[0]
        self.assertEqual((cause["phase"], cause["name"], cause["kind"], cause["count"]),
                         ("statement", "add", "duplicate", 20))
        for excuse in ("20", "25%"):
            self.database.unlink()
            _, run = self.run_script(text, "--transactions", "80", "--max-failed", excuse)
            self.assertEqual(run.json["outcome"]["verdict"], "DEGRADED")

    def test_autocommit_that_fails_in_part(self):
        _, run = self.run_script("""
            local t = dataset("t", 0, {{"k", "int32", row(), key = true}})
            local add = statement("add", "INSERT INTO t VALUES (?)", {"int32"}, {adds_to = t})
            local n = 0
            transaction("twice", function()
                n = n + 1
                add:run(session.id * 1000 + n)
                if n % 4 == 0 then add:run(session.id * 1000 + n) end
            end, {autocommit = true})""", "--transactions", "80", code=1)
        ledger = run.json["transactions"]
        self.assertEqual((ledger["committed"], ledger["failed"], ledger["partial"]), (60, 20, 20))
        self.assertEqual(ledger["rows_added"], 80, "acknowledged rows are missing")
        self.assertEqual(self.query("select count(*) from t"), [(80,)])

    def test_autocommit_that_has_written_is_not_tried_again(self):
        _, run = self.run_script("""
            local t = dataset("t", 0, {{"k", "int32", row(), key = true}})
            local add = statement("add", "INSERT INTO t VALUES (?)", {"int32"}, {adds_to = t})
            local n = 0
            transaction("twice", function()
                n = n + 1
                add:run(session.id * 1000 + n)
                add:run(session.id * 1000 + n)
            end, {autocommit = true, retry_duplicate = true, tries = 3})""", "--transactions", "8",
                                 code=1)
        ledger = run.json["transactions"]
        self.assertEqual((ledger["failed"], ledger["partial"], ledger["tries"], ledger["retries"]),
                         (8, 8, 8, 0))
        self.assertEqual(self.query("select count(*) from t"), [(8,)])

    def test_busy_is_tried_again_with_the_same_draws(self):
        _, run = self.run_script("""
            local t = dataset("t", 10, {{"k", "int32", row(1), key = true}, {"n", "int32", uniform(0, 0)}})
            local id, many = uniform(1, 10), uniform(1, 1000000)
            local log = dataset("log", 0, {{"a", "int32", row()}, {"b", "int32", row()}})
            local read = statement("read", "SELECT n FROM t WHERE k = ?", {"int32"})
            local add = statement("add", "UPDATE t SET n = n + 1 WHERE k = ?", {"int32"})
            local note = statement("note", "INSERT INTO log VALUES (?, ?)", {"int32", "int32"}, {adds_to = log})
            transaction("count", function()
                local k = id()
                read:run(k); add:run(k); note:run(session.id, many)
            end, {tries = 0})""", "--transactions", "200", "--seed", "3", sessions="8")
        ledger = run.json["transactions"]
        self.assertEqual(ledger["committed"], 200)
        self.assertGreater(ledger["retries"], 0)
        self.assertEqual(self.query("select sum(n) from t"), [(200,)])
        drawn = self.query("select * from log order by a, b")
        self.database.unlink()
        self.run_append("8", f"sqlite:{self.database}", "--workload", self.folder / "own.lua",
                        "--transactions", "200", "--seed", "3")
        self.assertEqual(self.query("select * from log order by a, b"), drawn)

    def test_tries_run_out(self):
        text = """
            local t = dataset("t", 1, {{"k", "int32", row(1), key = true}, {"n", "int32", uniform(0, 0)}})
            local add = statement("add", "UPDATE t SET n = n + 1", {})
            transaction("count", function() add:run() end, {tries = 3})"""
        self.run_append("1", f"sqlite:{self.database}", "--workload", self.script(text),
                        "--transactions", "1")
        other = sqlite3.connect(self.database, isolation_level=None)
        other.execute("begin immediate")
        _, run = self.run_script(text, "--transactions", "2", code=1, sessions="1")
        other.execute("rollback")
        other.close()
        ledger = run.json["transactions"]
        self.assertEqual((ledger["begun"], ledger["failed"], ledger["tries"], ledger["retries_busy"]),
                         (2, 2, 6, 4))
        self.assertEqual((ledger["exhausted"], ledger["refused"], ledger["lost"]), (2, 0, 0))
        self.assertEqual(self.query("select n from t"), [(1,)])

    def test_rate_late_and_skipped(self):
        _, run = self.run_script("""
            local q = statement("q", "SELECT 1", {})
            transaction("slow", function() q:run(); think(0.05) end, {autocommit = true})""",
                                 "--rate", "100", "--duration", "2s", "--late", "200ms",
                                 sessions="2", code=None)
        ledger = run.json["transactions"]
        self.assertEqual(ledger["due"], ledger["begun"] + ledger["skipped"] + ledger["not_begun"])
        self.assertAlmostEqual(ledger["due"], 200, delta=4)
        self.assertGreater(ledger["skipped"], 50)
        self.assertGreater(run.json["latencies"]["response"]["p50_ms"], 50)
        self.assertLess(run.json["latencies"]["transaction"]["p50_ms"], 20, "no latency may include think time")

    def test_warm_up_is_in_no_figure_but_in_the_tables(self):
        _, run = self.run_script("""
            local t = dataset("t", 0, {{"k", "int32", row()}})
            local add = statement("add", "INSERT INTO t VALUES (?)", {"int32"}, {adds_to = t})
            transaction("one", function() add:run(1); think(0.01) end, {autocommit = true})""",
                                 "--warm-up", "500ms", "--duration", "1s", sessions="2")
        ledger = run.json["transactions"]
        rows = self.query("select count(*) from t")[0][0]
        self.assertEqual(ledger["rows_added"], rows)
        self.assertLess(ledger["begun"], 0.75 * rows)
        self.assertGreater(ledger["begun"], 0.25 * rows)
        self.assertEqual(self.operation(run, "add")["sent"], ledger["begun"])
        self.assertEqual(run.json["latencies"]["transaction"]["count"], ledger["committed"])

    def test_rows_end_a_run_that_appends(self):
        _, run = self.run_append("3", "1000", f"sqlite:{self.database}", "--workload",
                                 "append-then-count", "--set", "batch=30")
        self.check_transactions(run)
        self.assertEqual(run.rows["acknowledged"], 1000)
        self.assertEqual(self.query("select count(*), count(distinct n2 || '/' || n3)"
                                    " from syslog_table"), [(1000, 1000)])
        self.assertEqual(run.json["freshness"]["checks"], run.json["transactions"]["committed"])
        self.assertEqual(run.json["freshness"]["behind"], 0)

    def test_appends_to_a_declared_table(self):
        self.run_script("""
            local t = dataset("t", 50, {{"k", "int64", row(1), key = true}, {"v", "text(20)", text(20)}})
            transaction("append", function() t:append(7) end, {autocommit = true})""",
                        "--transactions", "40", sessions="4")
        self.assertEqual(self.query("select count(*), min(k), max(k) from t"), [(330, 1, 330)])

    def test_a_check_that_fails(self):
        _, run = self.run_script("""
            local q = statement("q", "SELECT 1", {})
            transaction("one", function() check(q:run() == 2, "two rows"); found(true) end,
                        {autocommit = true})""", "--transactions", "12")
        self.assertEqual(run.json["transactions"]["checks_failed"], 12)
        self.assertEqual(run.json["transactions"]["found_percent"], 100)
        self.assertEqual(run.json["outcome"]["verdict"], "DEGRADED")
        self.assertIn("two rows", run.causes[0]["text"])

    def test_a_mistake_in_a_body_ends_the_run(self):
        ended, run = self.run_script("""
            local q = statement("q", "SELECT 1", {})
            transaction("one", function() q:run(); local x = nil; x.y = 1 end)""",
                                     "--transactions", "12", code=2)
        self.assertRegex(ended.err, r"own\.lua:3:")
        self.assertEqual(run.json["outcome"]["stop_reason"], "script")

    def test_appending_needs_autocommit(self):
        ended, _ = self.run_script("""
            local t = dataset("t", 0, {{"k", "int32", row()}})
            transaction("one", function() t:append(1) end)""", "--transactions", "12", code=2)
        self.assertIn("autocommit = true", ended.err)

    def test_interrupted(self):
        out = self.folder / "out"
        process = self.start("2", f"sqlite:{self.database}", "--workload", self.script("""
            local t = dataset("t", 0, {{"k", "int32", row()}})
            local add = statement("add", "INSERT INTO t VALUES (?)", {"int32"}, {adds_to = t})
            transaction("one", function() add:run(1); think(0.001) end)"""),
                             "--duration", "60s", "--out", out)
        time.sleep(2)
        process.send_signal(2)
        ended = self.end(process, 130)
        self.assertIn("interrupted", ended.err)
        run = json.loads((out / "run.json").read_text())
        self.assertEqual(run["transactions"]["rows_added"],
                         self.query("select count(*) from t")[0][0])


if __name__ == "__main__":
    harness.main()
