"""append dry-run: each transaction once, every statement shown, nothing kept."""

import pathlib
import signal
import sqlite3
import subprocess

import harness

SCRIPT = """
local items = dataset("items", 10, {{"id", "int32", row(), key = true}, {"name", "text(20)"}})
local put = statement("put", "INSERT INTO items (id, name) VALUES (?, ?)", {"int32", "text"})
local get = statement("get", "SELECT id, name FROM items ORDER BY id")
local make = statement("make", "CREATE TABLE made (a INTEGER)")
local cells = statement("cells", "SELECT 7, NULL, name FROM items WHERE id = ?", {"int32"})
local keep = statement("keep", "COMMIT", {}, {prepared = false})
local missing = statement("missing", "SELECT 1 FROM missing", {}, {prepared = false})
on_session(function() get:run() end)
transaction("good", function()
    put:run(50, "it's\\na row")
    make:run()
    cells:run(50)
    check(#get:all() == 11, "the new row is there")
    check(items:count() == 11)
    think(3600)
end)
transaction("autocommit", function()
    put:run(51, "x")
    items:append(1000)
    keep:run()
end, {autocommit = true})
transaction("undone", function() rollback("on purpose") end)
"""


class DryRun(harness.Case):
    def setUp(self):
        super().setUp()
        self.script = self.folder / "s.lua"
        self.script.write_text(SCRIPT)
        self.database = self.folder / "test.db"

    def prepare(self):
        self.append("prepare", f"sqlite:{self.database}", "--workload", self.script)
        return self.dump()

    def dump(self):
        with sqlite3.connect(self.database) as database:
            return list(database.iterdump())

    def dry_run(self, *more, code=0):
        return self.append("dry-run", f"sqlite:{self.database}", "--workload", self.script, *more,
                           code=code)

    def test_shows_and_keeps_nothing(self):
        before = self.prepare()
        ended = self.dry_run()
        self.assertEqual(self.dump(), before)
        parts = ended.out.split("transaction '")
        self.assertEqual([part.split("'")[0] for part in parts], ["", "good", "autocommit", "undone"])
        for text in ("put: INSERT INTO items (id, name) VALUES (?, ?)\n        values: 50, 'it's a row'\n",
                     "        10 rows in ", "        11 rows in ", "        ...\n", "make: CREATE TABLE",
                     "        (7, NULL, 'it's a row')\n", "check the new row is there: holds", "check: holds", "items:count: ",
                     "think: 3600 s, left out", "    ended, rolled back\n"):
            self.assertIn(text, parts[1])
        self.assertEqual(parts[1].count("\n        ("), 3 + 1 + 3)
        for text in ("; in a real run each statement is committed by itself", "items:append of 1,000 rows\n        not run: ",
                     "keep: COMMIT\n        not run: the statement has its own BEGIN, COMMIT or ROLLBACK"):
            self.assertIn(text, parts[2])
        self.assertIn("rollback: on purpose\n", parts[3])

    def test_repeatable(self):
        self.script.write_text("local key, name = uniform(1000, 1000000), text(9)\n"
                               + SCRIPT.replace('put:run(51, "x")', "put:run(key, name)"))
        self.prepare()
        values = [[line for line in self.dry_run("--seed", seed).out.splitlines() if "values" in line]
                  for seed in ("7", "7", "8")]
        self.assertEqual(values[0], values[1])
        self.assertNotEqual(values[0], values[2])

    def test_failures(self):
        """A failed transaction or check is shown, and the other transactions go on."""
        self.script.write_text(SCRIPT + """
transaction("fails", function() put:run(60, "y") missing:run() end)
transaction("checks", function() check(false, "never") end)
""")
        before = self.prepare()
        ended = self.dry_run(code=1)
        self.assertEqual(ended.reason, "append: 1 of 5 transactions failed, and 1 check failed")
        self.assertIn("FAILED: no such table: missing\n    FAILED, rolled back\n", ended.out)
        self.assertIn("check never: FAILED\n    ended, rolled back\n", ended.out)
        self.assertEqual(self.dump(), before)

    def test_many_statements(self):
        self.script.write_text(SCRIPT + 'transaction("endless", function() while true do get:run() end end)')
        self.prepare()
        ended = self.dry_run(code=1)
        self.assertIn("stops a transaction after 1000 statements", ended.out)

    def test_mistake_in_the_script(self):
        self.script.write_text(SCRIPT + 'transaction("wrong", function() local x = nil; x.y = 1 end)')
        before = self.prepare()
        ended = self.dry_run(code=2)
        self.assertRegex(ended.reason, r"s\.lua:\d+: attempt to index a nil value")
        self.assertIn("transaction 'wrong'", ended.out)
        self.assertEqual(self.dump(), before)

    def test_interrupt(self):
        self.script.write_text(SCRIPT + 'transaction("endless", function() while true do end end)')
        before = self.prepare()
        process = self.start("dry-run", f"sqlite:{self.database}", "--workload", self.script)
        stat = pathlib.Path(f"/proc/{process.pid}/stat")
        harness.wait_until(lambda: int(stat.read_text().split()[13]) > 30, "the loop")
        process.send_signal(signal.SIGINT)
        ended = self.end(process, 130)
        self.assertIn("transaction 'endless'", ended.out)
        self.assertIn("interrupted", ended.reason)
        self.assertEqual(self.dump(), before)

    def test_statements_that_commit(self):
        self.script.write_text(SCRIPT + """
local attach = statement("attach", "ATTACH 'other.db' AS x", {}, {prepared = false})
local mark = statement("mark", "\\u{FEFF}COMMIT", {}, {prepared = false})
local pragma = statement("pragma", "PRAGMA user_version = 5", {}, {prepared = false})
transaction("others", function() put:run(70, "x") attach:run() mark:run() pragma:run() end)
""")
        before = self.prepare()
        ended = self.dry_run()
        self.assertEqual(ended.out.count("not run: the database might commit"), 3)
        self.assertEqual(self.dump(), before)
        self.assertFalse((self.folder / "other.db").exists())

    def test_two_statements(self):
        """A second statement in a text might commit."""
        self.script.write_text(SCRIPT + """
local two = statement("two", "DELETE FROM items; CREATE TABLE t (a)", {}, {prepared = false})
transaction("try-two", function() two:run() end)
""")
        before = self.prepare()
        self.assertIn("not run: the text has more than one statement", self.dry_run().out)
        self.assertEqual(self.dump(), before)

    def test_refused(self):
        self.refused("dry-run", f"sqlite:{self.database}", "--workload", self.script, code=2,
                     pattern="No such file or directory: append prepare creates")
        self.assertFalse(self.database.exists())
        self.refused("dry-run", "null:", code=2, pattern="append dry-run needs --workload NAME")
        self.refused("dry-run", "--adapter", "sqlite", "--workload", self.script, code=2,
                     pattern="TARGET is missing")
        single = self.folder / "single.lua"
        single.write_text('local s = statement("s", "SELECT 1")\n'
                          'transaction("x", function() s:run() end, {autocommit = true})\n')
        self.refused("dry-run", "clickhouse://127.0.0.1:1/x", "--workload", single, code=2,
                     pattern="clickhouse has no transactions")
        self.refused("dry-run", "5", "null:", "--workload", self.script, code=2, pattern="too many operands")

    def test_full_output(self):
        self.prepare()
        with open("/dev/full", "w") as full:
            ended = subprocess.run([harness.BINARY, "dry-run", f"sqlite:{self.database}", "--workload",
                                    self.script], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(ended.returncode, 3)
        self.assertIn("No space left", ended.stderr)


if __name__ == "__main__":
    harness.main()
