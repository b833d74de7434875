"""Claims that scripts make about their tables, on SQLite: checked once, after the sessions have ended."""

import contextlib
import signal
import sqlite3

import find_max
import harness

# The first claim holds. Rows 3 and 4 break the second claim when a transaction has changed row 3.
SCRIPT = """
dataset("t", 4, {{"id", "int32", row(), key = true}, {"n", "int32", row()},
    {"note", "text(5)", derive(row(), function(i) return i > 3 and "four" or null end)}})
local add = statement("change", "UPDATE t SET n = n + 1 WHERE id = 3")
transaction("add", function() %s end)
invariant("ids are below 5", "SELECT id FROM t WHERE id > 4")
invariant("n is below 4", "SELECT id, n, note FROM t WHERE n >= 4 ORDER BY id")
%s
"""
HOLDS = SCRIPT.replace("n >= 4", "n > 4") % ("", "")
BREAKS = SCRIPT % ("add:run()", "")
# never ends; SQLite prepares it at once
ENDLESS = SCRIPT.replace("n >= 4", "n > 4") % ("", """invariant("it ends", [[
    WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s) SELECT i FROM s WHERE i < 0]])""")
CHECKING = "checking the invariants of the script ..."


class Invariants(find_max.Searching, harness.Case):
    def setUp(self):
        super().setUp()
        self.database = self.folder / "w.db"
        self.url = f"sqlite:{self.database}"

    def query(self, sql):
        with contextlib.closing(sqlite3.connect(self.database)) as database, database:
            return database.execute(sql).fetchall()

    def words(self, text):
        script = self.folder / "own.lua"
        script.write_text(text)
        return "--workload", script

    def claims(self, run):
        return [(entry["state"], entry["rows"]) for entry in run.json["invariants"]]

    def test_held(self):
        ended, run = self.run_append(2, self.url, *self.words(HOLDS), "--transactions", 10)
        self.assertEqual(self.claims(run), [("done", 0), ("done", 0)])
        self.assertIn("Invariants    holds: ids are below 5\n              holds: n is below 4\n", ended.out)
        self.assertEqual(run.json["outcome"]["verdict"], "VALID")

    def test_broken(self):
        ended, run = self.run_append(1, self.url, *self.words(BREAKS), "--transactions", 1, code=1)
        self.assertEqual(self.claims(run), [("done", 0), ("done", 2)])
        self.assertEqual(run.json["invariants"][1]["first"], "3, 4, NULL")
        self.assertIn("BROKEN by 2 rows: n is below 4; the first: 3, 4, NULL", ended.out)
        self.assertEqual(ended.reason, "append: 1 of 2 invariants is broken: n is below 4 (2 rows)")
        self.assertEqual(run.json["outcome"]["verdict"], "DEGRADED")
        summary, = run.table("summary.csv")
        self.assertEqual((summary["invariants_checked"], summary["invariants_broken"]), ("2", "1"))
        page = self.folder / "page.html"
        self.append("report", run.folder, "--out", page)
        self.assertIn("3, 4, NULL", page.read_text())
        # the exit code of --expect is for figures; a broken claim weighs more
        self.run_append(1, self.url, *self.words(BREAKS), "--transactions", 1, "--expect",
                        "invariants_broken==1", code=1)

    def test_a_database_that_keeps_nothing(self):
        ended, run = self.run_append(1, "null:", *self.words(BREAKS), "--transactions", 5)
        self.assertEqual({entry["state"] for entry in run.json["invariants"]}, {"none"})
        self.assertNotIn("Invariants", ended.out)

    def test_mistakes(self):
        """The queries are tried before the first session."""
        for line, pattern in (
                ('invariant("x", "SELECT nosuch FROM t")', r"own\.lua:8: invariant 'x': .*nosuch"),
                ('invariant("x", {mariadb = "SELECT 1"})',
                 r"own\.lua:8: invariant 'x' has no text for sqlite and no default")):
            with self.subTest(line):
                ended = self.append(1, self.url, *self.words(SCRIPT % ("", line)), "--transactions", 1,
                                    code=2)
                self.assertRegex(ended.reason, pattern)
                self.assertEqual(self.query("select name from sqlite_master"), [])

    def test_a_query_that_changes_rows(self):
        """append rolls back what the query of a claim does."""
        deletes = HOLDS.replace("SELECT id FROM t WHERE id > 4",
                                "WITH n(i) AS (SELECT 4) DELETE FROM t WHERE id IN (SELECT i FROM n) RETURNING id")
        _, run = self.run_append(1, self.url, *self.words(deletes), "--transactions", 1, code=1)
        self.assertEqual(self.claims(run), [("done", 1), ("done", 0)])
        self.assertEqual(self.query("SELECT id FROM t"), [(1,), (2,), (3,), (4,)])

    def test_a_table_that_is_gone(self):
        """The other queries still run after a query is refused."""
        ended, run = self.run_append(1, self.url, *self.words("""
            dataset("u", 1, {{"a", "int32", row(), key = true}})
            local drop = statement("drop", "DROP TABLE u", {}, {prepared = false})
            transaction("once", function() drop:run() end)
            invariant("u is empty", "SELECT a FROM u")
            invariant("nothing is wrong", "SELECT 1 WHERE 1 = 0")"""), "--transactions", 1, code=1)
        self.assertEqual(self.claims(run), [("failed", None), ("done", 0)])
        self.assertRegex(run.json["invariants"][0]["reason"], "no such table: u")
        self.assertIn("NOT CHECKED: u is empty (no such table: u)", ended.out)
        self.assertRegex(ended.reason, "1 of 2 invariants could not be checked: no such table: u")

    def test_no_answer_in_time(self):
        ended, run = self.run_append(1, self.url, *self.words(ENDLESS), "--transactions", 1,
                                     "--timeout", "1s", code=1)
        self.assertEqual(self.claims(run), [("done", 0), ("done", 0), ("failed", None)])
        self.assertRegex(run.json["invariants"][2]["reason"],
                         r"gave up waiting for the check of the invariants: no answer in 1.*--timeout")
        self.assertIn("DEGRADED", ended.out)

    def test_interrupted(self):
        process = self.start(1, self.url, *self.words(ENDLESS), "--transactions", 1, "--out", "out")
        line = ""
        while CHECKING not in line:
            line = process.stderr.readline()
            self.assertNotEqual(line, "", "the run ended")
        process.send_signal(signal.SIGINT)
        self.end(process, 130)
        run = self.check_run(self.folder / "out", 130)
        self.assertEqual(run.json["invariants"][2]["state"], "failed")
        self.assertRegex(run.json["invariants"][2]["reason"], "gave up waiting")

    def test_a_search(self):
        words = (*self.words(BREAKS), "--first", 1, "--max-sessions", 1, "--hold", "1s")
        ended, search = self.find_max(self.url, *words, code=1)
        self.assertRegex(ended.reason, r"1 of 2 invariants is broken: n is below 4 \(2 rows\)")
        self.assertEqual(self.claims(search), [("done", 0), ("done", 2)])




if __name__ == "__main__":
    harness.main()
