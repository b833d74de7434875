"""append dry-run on MariaDB: what a rollback would not undo is not run, or is refused."""

import harness

SCRIPT = """
local items = dataset("items", 10, {{"id", "int32", row(), key = true}})
local put = statement("put", "INSERT INTO items (id) VALUES (?)", {"int32"})
local make = statement("make", "CREATE TABLE made (a INTEGER)")
local note = statement("note", "INSERT INTO notes VALUES (1)", {}, {prepared = false})
transaction("good", function() put:run(50) check(items:count() == 11) end, {isolation = "serializable"})
transaction("ddl", function() put:run(51) make:run() end, {autocommit = true})
"""


class DryRun(harness.Mariadb):
    def test_nothing_stays(self):
        script = self.folder / "s.lua"
        script.write_text(SCRIPT.replace("local note", "-- local note"))
        self.append("prepare", self.url, "--workload", script)
        ended = self.append("dry-run", self.url, "--workload", script)
        self.assertIn("make: CREATE TABLE made (a INTEGER)\n        not run: the database might commit",
                      ended.out)
        self.assertEqual(ended.out.count("ended, rolled back"), 2)
        self.assertEqual(self.count("items"), 10)
        self.assertEqual(self.sql("SHOW TABLES LIKE 'made'").strip(), "")

    def test_statements_that_commit(self):
        """append finds such statements in the text for this database, alone or after another statement."""
        script = self.folder / "s.lua"
        script.write_text(SCRIPT.replace("local note", "-- local note") + """
local both = statement("both", {default = "SELECT 1", mariadb = "CREATE TABLE stays (a int)"}, {}, {prepared = false})
local two = statement("two", "INSERT INTO items VALUES (98); CREATE TABLE stays (a int)", {}, {prepared = false})
local hidden = statement("hidden", "SELECT 1 # '\\n; COMMIT", {}, {prepared = false})
transaction("try-both", function() put:run(60) both:run() end)
transaction("try-two", function() put:run(61) two:run() end)
transaction("try-hidden", function() put:run(62) hidden:run() end)
""")
        self.append("prepare", self.url, "--workload", script)
        ended = self.append("dry-run", self.url, "--workload", script)
        self.assertEqual(ended.out.count("ended, rolled back"), 5)
        self.assertEqual(self.count("items"), 10)
        self.assertEqual(self.sql("SHOW TABLES LIKE 'stays'").strip(), "")

    def test_engine_that_cannot_roll_back(self):
        script = self.folder / "s.lua"
        script.write_text(SCRIPT.replace("make:run()", "make:run() note:run()"))
        self.sql("CREATE TABLE notes (a INTEGER) ENGINE=MyISAM")
        self.append("prepare", self.url, "--workload", script)
        self.refused("dry-run", self.url, "--workload", script, code=2,
                     pattern="may write to table 'notes', whose engine MyISAM cannot roll back")
        self.assertEqual(self.count("notes"), 0)
        self.assertEqual(self.count("items"), 10)


if __name__ == "__main__":
    harness.main()
