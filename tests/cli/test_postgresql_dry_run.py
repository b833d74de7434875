"""append dry-run on PostgreSQL, which also rolls back statements that create tables."""

import harness

SCRIPT = """
local items = dataset("items", 10, {{"id", "int32", row(), key = true}})
local put = statement("put", "INSERT INTO items (id) VALUES (?) RETURNING id", {"int32"})
local make = statement("make", "CREATE TABLE made (a INTEGER)")
local drop = statement("drop", "DROP TABLE items")
local get = statement("get", "SELECT 1 / ?", {"int32"})
on_session(function() make:run() end)
transaction("drops", function() drop:run() end, {isolation = "serializable"})
transaction("fails", function() put:run(50) pcall(function() get:run(0) end) put:run(51) end)
transaction("good", function() put:run(50) check(items:count() == 11) end)
"""


class DryRun(harness.Postgresql):
    def test_nothing_stays(self):
        script = self.folder / "s.lua"
        script.write_text(SCRIPT)
        self.append("prepare", self.url, "--workload", script)
        ended = self.append("dry-run", self.url, "--workload", script, code=1)
        parts = ended.out.split("transaction '")
        self.assertIn("drop: DROP TABLE items", parts[1])
        self.assertIn("ended, rolled back", parts[1])
        self.assertIn("FAILED: ERROR: division by zero", parts[2])
        self.assertNotIn("values: 51", parts[2])
        self.assertIn("FAILED, rolled back", parts[2])
        self.assertIn("(50)", parts[3])
        self.assertIn("ended, rolled back", parts[3])
        self.assertEqual(ended.reason, "append: 1 of 3 transactions failed, and 0 checks failed")
        self.assertEqual(self.count("items"), 10)
        self.assertEqual(self.sql("SELECT count(*) FROM pg_class WHERE relname = 'made'").strip(), "0")

    def test_statements_that_commit(self):
        script = self.folder / "s.lua"
        script.write_text(SCRIPT + """
local hidden = statement("hidden", "/* /* */ */ COMMIT", {}, {prepared = false})
local dollar = statement("dollar", "SELECT 1 AS e$$; COMMIT; SELECT '$$'", {}, {prepared = false})
local kept = statement("kept", "PREPARE TRANSACTION 'left'", {}, {prepared = false})
transaction("try-hidden", function() put:run(60) hidden:run() end)
transaction("try-dollar", function() put:run(61) dollar:run() end)
transaction("try-kept", function() put:run(62) kept:run() end)
""")
        self.append("prepare", self.url, "--workload", script)
        ended = self.append("dry-run", self.url, "--workload", script, code=1)
        self.assertEqual(ended.out.count("rolled back"), 6)
        self.assertEqual(self.count("items"), 10)
        self.assertEqual(self.sql("SELECT count(*) FROM pg_prepared_xacts").strip(), "0")

    def test_a_parameter_without_a_type(self):
        """append tries the declared type when the server cannot find out one. In a transaction it could not try."""
        script = self.folder / "s.lua"
        script.write_text('local get = statement("get", "SELECT ? IS NULL", {"text"})\n'
                          'transaction("t", function() get:run("x") end)\n')
        ended = self.append("dry-run", self.url, "--workload", script)
        self.assertIn("ended, rolled back", ended.out)

    def test_killed_session(self):
        script = self.folder / "s.lua"
        script.write_text('local die = statement("die", "SELECT pg_terminate_backend(pg_backend_pid())")\n'
                          'transaction("dies", function() die:run() end)\n')
        ended = self.append("dry-run", self.url, "--workload", script, code=4)
        self.assertIn("die: SELECT pg_terminate_backend", ended.out)
        self.assertIn("the connection was lost", ended.reason)


if __name__ == "__main__":
    harness.main()
