"""Partitions and foreign keys of a script's tables, and those of tpcb: a mixin for harness.Case.

Subclasses have self.url, self.sql(*statements) -> text, COUNT, a query for the number of tables, and NAME, the
column with their names.
"""

import signal

import harness

# A table with partitions, a table to which it refers, and a table that refers to both tables.
SCRIPT = """
local count, by = param("count", 4), param("by", "range", "", {"range", "hash"})
local rows, keys = param("rows", 25000), param("keys", true)
local function to(columns) return keys and columns or {} end
local groups = dataset("groups", 25, {{"g", "int32", row(), key = true}})
local members = dataset("members", rows, {
    {"m", "int32", row(-3), key = true},
    {"g", "int32", uniform(1, 25)},
}, {partitions = {by = by, column = "m", count = count}, foreign_keys = to({g = groups})})
dataset("notes", 30, {{"m", "int32", uniform(-3, 5)}, {"g", "int32", uniform(1, 25)}},
    {foreign_keys = to({m = members, g = groups})})
local get = statement("get", "SELECT g FROM members WHERE m = ?", {"int32"})
local put = statement("put", "INSERT INTO notes (m, g) VALUES (?, ?)", {"int32", "int32"})
local m = uniform(-3, rows - 4)
transaction("look", function() check(get:one(m) ~= nil, "each member is there") end, {autocommit = true})
transaction("note", function() put:run(m, 26) end, {weight = 0})
"""


class Structure:
    def script(self, text=SCRIPT):
        """Writes the script below a path that is too long for a message: the message keeps its end."""
        path = self.folder / ("long" * 20) / "parts.lua"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return "--workload", path

    def tables(self):
        return int(self.sql(self.COUNT))

    def prepare(self, *words, **options):
        return self.append("prepare", 3, self.url, *words, **options)

    def check_tpcb(self, settings, tables):
        """Prepares the tables, runs tpcb on them and prepares them again. Leaves the tables for cleanup_tpcb."""
        words = ("--workload", "tpcb", "--set", settings)
        self.assertRegex(self.prepare(*words).out, "^4 tables created, 100,011 rows loaded")
        self.assertEqual(self.tables(), tables)
        ended, run = self.run_append(4, self.url, *words, "--transactions", 200)
        self.assertEqual(run.json["transactions"]["committed"], 200)
        self.assertRegex(ended.out, "(?m)^Invariants +holds: the balances of tellers and of branches have the same sum$")
        self.assertRegex(self.prepare(*words, "--recreate").out, "^4 tables created, 100,011 rows loaded")
        self.assertEqual(self.sql("select count(*) from pgbench_history"), "0")

    def cleanup_tpcb(self):
        """Drops the tables without the parameters of the load, and checks that all of them are dropped."""
        ended = self.append("cleanup", self.url, "--workload", "tpcb")
        self.assertEqual(ended.out, "dropped 4 tables: pgbench_branches, pgbench_tellers, pgbench_accounts, "
                                    "pgbench_history\n")
        self.assertEqual(self.tables(), 0)

    def check_kept(self, words, other, message):
        """Checks that a table is refused if its partitions or foreign keys differ from the script's, and that a
        script without a number of partitions uses the table."""
        self.prepare(*words)
        for command in (("prepare", 1), (2,)):
            more = () if command[0] == "prepare" else ("--transactions", 1, "--out", self.out())
            self.refused(*command, self.url, *words, "--set", other, *more, code=2,
                         pattern=message + ": 'append cleanup' drops the table, --recreate replaces it$")
        self.run_append(2, self.url, *words, "--set", "count=0,keys=false", "--transactions", 5, code=None)

    SLOW = """
local busy = derive(row(0), function(i)
   local s = 0
   for k = 1, 10000 do s = s + k end
   return i % 25 + 1
end)
"""

    def check_goes_on(self, *settings):
        """After Ctrl-C the same command loads the rest, in the order of the foreign keys."""
        words = (*self.script(self.SLOW + SCRIPT.replace("uniform(1, 25)}", "busy}", 1)), *settings)
        process = self.start("prepare", 2, self.url, *words)
        tables = f"{self.COUNT} and {self.NAME} = 'notes'"
        harness.wait_until(lambda: self.sql(tables) == "1" and self.sql("select count(*) from members") != "0",
                           "the first rows")
        process.send_signal(signal.SIGINT)
        self.assertRegex(self.end(process, 130).reason, "the same command loads the rest$")
        if "keys=false" not in settings:
            self.assertEqual(self.sql("select count(*) from notes"), "0")
        self.prepare(*words)
        self.assertEqual([self.sql(f"select count(*) from {table}") for table in ("groups", "members", "notes")],
                         ["25", "25000", "30"])
        self.assertEqual(self.sql("select count(*) from members where g <> mod(m + 3, 25) + 1"), "0")
        self.append("cleanup", self.url, *words)
        self.assertEqual(self.tables(), 0)

    def check_foreign_key(self, script):
        """The transaction `note` refers to a group that does not exist."""
        broken = script.replace("{autocommit = true})\ntransaction", "{weight = 0})\ntransaction").replace(
            "end, {weight = 0})\n", "end, {autocommit = true})\n").replace(
            'nil, "each member is there") end, {autocommit = true})', 'nil, "each member is there") end, {weight = 0})')
        self.assertNotEqual(broken, script)
        ended = self.append(1, self.url, *self.script(broken), "--transactions", 3, "--max-failed", 3, code=None)
        self.assertRegex(ended.out, r"(?im)foreign key")
        self.assertRegex(ended.out, r"(?m)^Transactions +3 = 0 committed")

    def refused_structure(self, words, message):
        for command in (("prepare", 1), (1,)):
            more = () if command[0] == "prepare" else ("--transactions", 1, "--out", self.out())
            ended = self.append(*command, self.url, *words, *more, code=2)
            self.assertEqual(len(ended.error_lines), 1, ended)
            self.assertRegex(ended.reason, message)
            self.assertEqual(self.tables(), 0)

