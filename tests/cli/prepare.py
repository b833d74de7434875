"""append prepare and cleanup, and the tables that a run makes before its first session: mixins for harness.Case.

Subclasses have self.url, self.sql(*statements) -> text and self.tables() -> set of names.
"""

import re
import signal

import harness

OLTP = ("--workload", "oltp", "--set", "tables=2,table_size=12000")

# A row takes some 50 µs, so a signal arrives in the middle of the load. With `numbered`, the key is
# the number of the row.
SLOW_SCRIPT = """
local rows, numbered = param("rows", 60000), param("numbered", true)
local loops, varies = param("loops", 3000), param("varies", false)
local busy = derive(row(0), function(i)
   local s = 0
   for k = 1, loops do s = s + k end
   return "v" .. i
end)
local id, name = row(5), format("n%07d", row())
dataset("slow", rows, {{"id", "int32", id, key = numbered}, {"name", "text(20)", name, key = not numbered},
   {"v", "text(40)", busy}}, {index = {"v", "name, v"}, varies = varies})
local get = statement("get", "SELECT v FROM slow WHERE id = ?", {"int32"})
transaction("t", function() get:run(5) end, {autocommit = true})
"""

# The script takes more than 2 s for its rows, and fails at one of the last rows.
LATE_SCRIPT = """
local late = derive(row(0), function(i)
   local s = 0
   for k = 1, 1500000 do s = s + k end
   if i == 240 then error("there is no row " .. i) end
   return "v" .. i
end)
dataset("late", 250, {{"id", "int32", row(), key = true}, {"v", "text(40)", late}})
transaction("t", function() end)
"""

# A script without a mistake; the tests replace a part of it.
BAD_SCRIPT = """
dataset("bad1", 50, {{"id", "int32", row(), key = true}})
dataset("bad2", 50, {{"id", "int16", row(), key = true}, {"t", "text(3)", text(3)}}, {index = {"t"}})
local s = statement("get", "SELECT id FROM bad1 WHERE id = ?", {"int32"})
transaction("t", function() s:run(3) end, {autocommit = true})
"""


OTHERS = """
dataset("log1", param("rows", 100), {{"id", "int32", row(), key = true}, {"msg", "text(40)", text(10)}})
local get = statement("get", "SELECT msg FROM log1 WHERE id = ?", {"int32"})
local id = uniform(0, 49)
transaction("look", function() check(get:one(id) ~= nil) end, {autocommit = true})
"""


TRIGGERS = {
    "sqlite": ("create trigger watch after delete on log1 for each row begin delete from log2; end",),
    "mariadb": ("create trigger watch after delete on log1 for each row delete from log2",),
    "postgresql": ("create function told() returns trigger language plpgsql as 'begin return old; end'",
                   "create trigger watch after delete on log1 for each row execute function told()"),
    "clickhouse": ("create materialized view watch engine = MergeTree() order by id as select id, msg from log1",)}


class Others:
    """append does not change tables of other users. Subclasses as for Prepare."""

    CREATE = "create table {} (id int primary key, msg varchar(40))"
    RENAME = "alter table {} rename to {}"

    def prepare(self, *options, sessions=3, **more):
        return self.append("prepare", sessions, self.url, *options, **more)

    def script(self, text, name="mine.lua"):
        path = self.folder / name
        path.write_text(text)
        return path

    def counts(self, *tables):
        return [int(self.sql(f"select count(*) from {table}")) for table in tables]

    def run_script(self, *options, code=(0, 6)):
        """Makes a short run; it may be client-bound."""
        ended = self.append(2, self.url, *options, "--transactions", 20, "--out", self.out(),
                            code=None)
        self.assertIn(ended.code, code, ended)
        return ended

    def refused_run(self, *options, pattern, code=2):
        return self.refused(2, self.url, *options, "--transactions", 20, "--out", self.out(),
                            code=code, pattern=pattern)

    def refused_prepare(self, *options, pattern):
        ended = self.prepare(*options, code=2)
        self.assertRegex(ended.reason, pattern)
        self.assertEqual(ended.out, "")

    def others_table(self, name="log1"):
        """Makes another user's table, as similar to the table of OTHERS as possible."""
        self.sql(self.CREATE.format(name),
                 *(f"insert into {name} values ({i}, 'precious {i}')" for i in range(50)))

    def refused_others(self, *script, table="log1", rows=50, columns="id, msg"):
        """Checks that no command of append drops, empties or fills the table unless the table is named."""
        told = fr"append did not make table '{table}' \({rows} rows?; columns {columns}\) and leaves it as it is: "
        self.refused_prepare(*script, pattern=told)
        self.refused_prepare(*script, "--recreate", pattern=told + f"--recreate={table} drops it")
        for name in ("other", table[:-1], table + "1"):
            self.refused_prepare(*script, f"--recreate={name}", pattern=told)
        self.refused_run(*script, pattern=told)
        self.refused_run(*script, "--recreate", pattern=told)
        ended = self.append("cleanup", self.url, *script, code=2)
        self.assertRegex(ended.reason, told + f"--drop={table} drops it")
        self.assertEqual(ended.out, "")
        self.refused("find-max", self.url, *script, "--recreate", "--max-sessions", 2,
                     "--hold", "1s", "--out", self.out(), code=2, pattern=told)
        self.append("sweep", "--sessions", 1, "--transactions", 5, "--recreate", *script, self.url,
                    "--out", self.out(), code=None)
        self.assertEqual(self.counts(table), [rows])

    def test_killed_before_the_mark(self):
        """A table that the user made counts as the user's; the commands in the messages work for it."""
        script = ("--workload", self.script(OTHERS, "others.lua"))
        self.sql(self.CREATE.format("log1"))
        told = r"append did not make table 'log1' \(0 rows; columns id, msg\) and leaves it as it is: "
        self.refused_prepare(*script, pattern=told + r"\S*others\.lua declares 100 rows; --recreate=log1 makes "
                             "the table again, 'append cleanup --drop=log1' drops it$")
        self.refused_run(*script, pattern=told)
        self.assertRegex(self.append("cleanup", self.url, *script, code=2).reason,
                         told + "--drop=log1 drops it")
        self.append("cleanup", self.url, *script, "--drop=log1")
        self.assertNotIn("log1", self.tables())
        self.sql(self.CREATE.format("log1"))
        self.assertRegex(self.prepare(*script, "--recreate=log1").out, "100 rows loaded")

    def test_tables_of_others_are_left(self):
        script = ("--workload", self.script(OTHERS, "others.lua"))
        self.others_table()
        self.refused_others(*script)
        self.assertEqual(self.sql("select count(*) from log1 where msg like 'precious%'"), "50")
        self.append("cleanup", self.url, *script, "--drop=log1")
        self.assertNotIn("log1", self.tables())
        self.others_table()
        self.assertRegex(self.prepare(*script, "--recreate=log1").out, "100 rows loaded")
        # now the table is append's
        self.prepare(*script, "--recreate")
        ended = self.append("cleanup", self.url, *script)
        self.assertRegex(ended.err, "dropping table log1 with 100 rows")
        self.assertEqual(ended.out, "dropped 1 table: log1\n")

    def test_an_empty_table_of_others(self):
        script = ("--workload", self.script(OTHERS, "others.lua"))
        self.sql(self.CREATE.format("log1"))
        self.refused_others(*script, rows=0)

    def test_a_table_of_others_that_fits_is_used(self):
        """Tables as pgbench -i makes them: transactions run on them, and they are never dropped."""
        script = ("--workload", self.script(OTHERS, "others.lua"), "--set", "rows=50")
        self.others_table()
        self.run_script(*script)
        self.assertRegex(self.prepare(*script).out, "already exists?$")
        self.assertEqual(self.append("cleanup", self.url, *script, code=2).out, "")
        self.assertEqual(self.sql("select count(*) from log1 where msg like 'precious%'"), "50")

    def test_a_table_that_was_made_again_by_hand(self):
        script = ("--workload", self.script(OTHERS, "others.lua"))
        self.prepare(*script)
        self.sql("drop table log1")
        self.others_table()
        self.refused_others(*script)

    def test_a_table_that_was_renamed(self):
        """append made the table and a user renamed it: now the user keeps it."""
        self.prepare("--workload", self.script(OTHERS.replace("log1", "log2"), "two.lua"))
        self.sql(self.RENAME.format("log2", "log1"))
        self.refused_others("--workload", self.script(OTHERS, "others.lua"), "--set", "rows=200", rows=100)

    REFERRED = ("create table orders (o int, acc int, foreign key (acc) references log1 (id) on delete cascade)",)
    TRIGGER, TRIGGERED = TRIGGERS["sqlite"], "watch is a trigger of it"

    def test_what_hangs_on_a_table(self):
        """append made the table, but a drop would also remove a user's rows, or run a user's statements."""
        script = ("--workload", self.script(OTHERS, "others.lua"))
        for statements, why, undo in ((self.REFERRED, "orders refers to it", "drop table orders"),
                                      (self.TRIGGER, self.TRIGGERED, None)):
            if statements is None:  # this database does not have that
                continue
            with self.subTest(why):
                self.prepare(*script)
                self.sql(*statements)
                told = r"append made table 'log1' \(100 rows; columns id, msg\), but .*" + why
                self.refused_prepare(*script, "--recreate", pattern=told)
                self.refused_run(*script, "--recreate", pattern=told)
                self.refused("cleanup", self.url, *script, code=2, pattern=told)
                self.refused_prepare(*script, "--set", "rows=200", pattern=why)
                self.assertEqual(self.counts("log1"), [100])
                if undo:
                    self.sql(undo)

    def test_names_have_a_case(self):
        script = ("--workload", self.script(OTHERS, "others.lua"))
        self.others_table()
        for option in ("--drop=LOG1", "--drop=log", "--drop=log1x"):
            self.refused("cleanup", self.url, *script, option, code=2, pattern="append did not make table 'log1'")
        self.assertEqual(self.counts("log1"), [50])

    def test_the_table_of_a_sweep_is_replaced_meanwhile(self):
        out = self.out()
        process = self.start("sweep", "--sessions", "1,2", "--records", "3k", "--rate", 1000, self.url,
                             "--out", out)
        self.wait_for_rows(process, out / "1x3000")
        self.sql(self.RENAME.format("syslog_table", "kept"), self.CREATE.format("syslog_table"),
                 "insert into syslog_table values (7, 'mine')")
        self.end(process, None)
        self.assertEqual(self.sql("select msg from syslog_table"), "mine")

    def test_the_default_table(self):
        """syslog_table: rows are added, and --recreate drops the table only if append made it."""
        def undo(*options):
            return " ".join(re.search(r"(?m)^To undo +((?:.*\n?)(?: {10}.*\n)*)", self.append(
                2, 100, self.url, *options, "--out", self.out(), code=None).out).group(1).split())

        self.assertEqual(undo(), "drop table syslog_table /* made by this run */")
        self.assertRegex(undo(), r"^delete from syslog_table where n1 = \d+ /\* also deletes rows that had this n1 before the run \*/$")
        self.assertRegex(undo("--verify", "rows"), r"^delete from syslog_table where n1 = \d+$")
        self.assertEqual(undo("--recreate"), "drop table syslog_table /* made by this run */")
        self.assertEqual(self.counts("syslog_table"), [100])
        self.sql(self.RENAME.format("syslog_table", "kept"), self.CREATE.format("syslog_table"),
                 "insert into syslog_table values (7, 'mine')")
        self.refused(2, 100, self.url, "--recreate", "--out", self.out(), code=2, pattern=r"append did not make "
                     r"table 'syslog_table' \(1 row; columns id, msg\).*--recreate=syslog_table drops it")
        self.assertEqual(self.counts("kept", "syslog_table"), [100, 1])
        self.append(2, 100, self.url, "--recreate=syslog_table", "--out", self.out(), code=None)
        self.assertEqual(self.counts("kept", "syslog_table"), [100, 100])


class Prepare(Others):
    def test_prepared_once(self):
        ended = self.prepare(*OLTP)
        self.assertRegex(ended.out, r"^2 tables created, 24,000 rows loaded in .*, [\d,]+ rows/s, "
                                    r"2 indexes created; 2 tables with 24,000 rows in total\n$")
        self.assertEqual(self.counts("sbtest1", "sbtest2"), [12000, 12000])
        self.assertEqual(self.sql("select min(id) from sbtest1"), "1")
        self.assertEqual(self.sql("select max(id) from sbtest1"), "12000")
        self.assertLessEqual({"sbtest1_k", "sbtest2_k"}, self.indexes())
        # the numbers that the database assigns begin after the loaded numbers
        self.sql("insert into sbtest1 (k, c, pad) values (1, 'c', 'pad')")
        self.assertEqual(self.sql("select max(id) from sbtest1"), "12001")
        self.sql("delete from sbtest1 where id = 12001")
        self.assertEqual(self.prepare(*OLTP).out, "nothing to do: 2 tables with 24,000 rows already exist\n")

    def test_without_a_number_of_sessions(self):
        ended = self.append("prepare", self.url, "--workload", "oltp", "--set", "table_size=100")
        self.assertRegex(ended.out, "100 rows loaded")

    def test_run_on_missing_tables(self):
        ended = self.run_script(*OLTP)
        self.assertRegex(ended.err, r"(?m)^2 tables created, 24,000 rows loaded")
        self.assertEqual(self.counts("sbtest1", "sbtest2"), [12000, 12000])
        ended = self.run_script(*OLTP, "--quiet")
        self.assertNotIn("loaded", ended.err)

    def test_same_rows_by_the_same_seed(self):
        digest = "select sum(k) from sbtest1 where id % 7 = 3"
        one = ("--workload", "oltp", "--set", "table_size=21000")
        self.prepare(*one, "--seed", 7)
        first = self.sql(digest)
        self.prepare(*one, "--seed", 7, "--recreate", sessions=1)
        self.assertEqual(self.sql(digest), first)
        self.prepare(*one, "--seed", 8, "--recreate")
        self.assertNotEqual(self.sql(digest), first)

    def test_other_number_of_rows(self):
        self.prepare(*OLTP)
        self.sql("delete from sbtest2 where id = 11000")
        # the load was complete: the rows are now the result of runs, or a user's work
        for refuse in (self.refused_run, self.refused_prepare):
            refuse(*OLTP, pattern="table 'sbtest2' has 11,999 rows, but oltp declares 12,000: 'append "
                   "cleanup' drops the table, --recreate replaces it")
            self.assertEqual(self.counts("sbtest1", "sbtest2"), [12000, 11999])
        self.run_script(*OLTP, "--recreate")
        self.assertEqual(self.counts("sbtest1", "sbtest2"), [12000, 12000])
        self.run_script(*OLTP)
        more = (*OLTP[:3], "tables=2,table_size=11000")
        for refuse in (self.refused_run, self.refused_prepare):
            refuse(*more, pattern="'sbtest1' has 12,000 rows, but oltp declares 11,000: 'append "
                   "cleanup' drops the table, --recreate replaces it")
        self.run_script(*more, "--recreate")
        self.assertEqual(self.counts("sbtest1", "sbtest2"), [11000, 11000])

    def test_other_columns(self):
        cases = (("(id int primary key, k int, c char(120))", "no column 'pad', which oltp declares"),
                 ("(id int primary key, k int, c char(120), pad char(60), more int)",
                  "has a column 'more', which oltp does not declare"),
                 ("(id int primary key, k char(9), c char(120), pad char(60))",
                  r"column 'k' of table 'sbtest2' is .*char.*, but oltp declares another type"))
        for columns, pattern in cases:
            self.sql(f"create table sbtest2 {columns}")
            for refuse in (self.refused_run, self.refused_prepare):
                refuse(*OLTP, pattern=pattern)
            self.assertEqual(self.tables(), {"sbtest2"}, "no table may be made when another one is wrong")
            self.sql("drop table sbtest2")

    def test_cleanup_looks_at_all_tables_first(self):
        self.prepare(*OLTP)
        self.sql("drop table sbtest2", "create table sbtest2 (mine text)")
        ended = self.append("cleanup", self.url, *OLTP, code=2)
        self.assertRegex(ended.reason, "did not make table 'sbtest2' .0 rows; columns mine.")
        self.assertEqual(ended.out, "")
        self.assertEqual(self.counts("sbtest1"), [12000])

    def test_another_load_is_not_taken_up(self):
        """An interrupted load resumes only with the same options for its rows."""
        script = ("--workload", self.script(SLOW_SCRIPT))
        self.interrupted(*script, "--seed", 1)
        there = self.counts("slow")
        for seed in (("--seed", 2), ()):
            self.refused_prepare(*script, *seed, pattern=r"'slow' has [\d,]+ rows, .* different script or options "
                                 r"\(--set, --seed\)")
        self.refused_prepare(*script, "--set", "rows=70000", pattern="'slow' has [\\d,]+ rows, .* declares "
                             "70,000: its load was interrupted and used a different script or options "
                             r"\(--set, --seed\); 'append cleanup' drops the table, --recreate replaces it")
        self.assertEqual(self.counts("slow"), there)
        self.prepare(*script, "--recreate", "--set", "rows=100")
        self.assertEqual(self.counts("slow"), [100])

    def test_rows_of_the_run_are_left(self):
        """A table declared without rows may have any number of rows."""
        options = ("--workload", "select-insert", "--set", "rows=500")
        for _ in range(2):
            self.run_script(*options)
        self.assertEqual(self.counts("colemp", "colemp_logging"), [500, 40])

    def interrupted(self, *options):
        """Interrupts the load when at least one chunk is loaded. Returns the number of rows."""
        process = self.start("prepare", 2, self.url, *options)

        def has_rows():
            self.assertIsNone(process.poll(), "the load ended before the signal")
            return "slow" in self.tables() and self.counts("slow")[0] > 0

        harness.wait_until(has_rows, "the first rows")
        process.send_signal(signal.SIGINT)
        return self.end(process, 130)

    def test_interrupted_and_taken_up(self):
        script = ("--workload", self.script(SLOW_SCRIPT))
        ended = self.interrupted(*script)
        told = re.fullmatch(r"append: interrupted: ([\d,]+) of 60,000 rows are loaded; the same "
                            r"command loads the rest", ended.reason)
        self.assertTrue(told, ended)
        there = int(told.group(1).replace(",", ""))
        self.assertGreater(there, 0)
        self.assertEqual(self.counts("slow"), [there])
        self.refused_run(*script, pattern=f"'slow' has {there:,} rows, .* declares 60,000: 'append "
                         "prepare' loads the missing rows")
        ended = self.prepare(*script)
        loaded = int(re.search(r"^([\d,]+) rows loaded in", ended.out).group(1).replace(",", ""))
        self.assertLess(loaded, 60000, ended)
        self.assertEqual(self.sql("select count(*) from slow where id between 5 and 60004"), "60000")
        self.assertEqual(self.sql("select count(distinct v) from slow"), "60000")
        self.assertEqual(self.sql("select v from slow where id = 14005"), "v14000")
        self.assertLessEqual({"slow_v", "slow_name_v"}, self.indexes())

    def test_rows_of_others_after_an_interrupted_load(self):
        """A row that another program stored where the load is to go on, and a row that it removed."""
        script = ("--workload", self.script(SLOW_SCRIPT))
        self.interrupted(*script)
        there = self.counts("slow")[0]
        for harm, left in (("insert into slow (id, v) values (55005, 'mine')", there + 1),
                           ("delete from slow where id in (6, 55005)", there - 1)):
            self.sql(harm)
            self.refused_prepare(*script, pattern="'slow' has rows that an interrupted load of .* would not leave; "
                                 "another program may have written them: .*--recreate replaces it")
            self.assertEqual(self.counts("slow"), [left])
        self.prepare(*script, "--recreate")
        self.assertEqual(self.counts("slow"), [60000])

    def test_interrupted_without_a_number(self):
        """It is unknown which rows were loaded: the table has to be made again."""
        script = ("--workload", self.script(SLOW_SCRIPT), "--set", "numbered=false")
        ended = self.interrupted(*script)
        self.assertRegex(ended.reason, "rows are loaded; --recreate loads all rows again")
        self.refused_prepare(*script, pattern="'slow' has [\\d,]+ rows, .* --recreate replaces it")
        self.prepare(*script, "--recreate")
        self.assertEqual(self.counts("slow"), [60000])

    def test_an_emptied_table(self):
        """The mark describes the load that goes on, not the load before the table was emptied."""
        script = ("--workload", self.script(SLOW_SCRIPT), "--set")
        fast, slow = (*script, "loops=1,varies=true"), (*script, "varies=true")
        self.prepare(*fast)
        self.sql("delete from slow")
        self.interrupted(*slow)
        self.refused_run(*slow, pattern="'slow' has [\\d,]+ rows, .* 'append prepare' loads the missing rows")
        self.refused_prepare(*fast, pattern="'slow' has [\\d,]+ rows, .* its load was interrupted")
        self.prepare(*slow)
        self.assertEqual(self.counts("slow"), [60000])

    def test_cleanup(self):
        self.sql("create table sbtest3 (id int)", "create table other (id int)")
        self.prepare(*OLTP)
        ended = self.append("cleanup", self.url, *OLTP)
        self.assertEqual(ended.out, "dropped 2 tables: sbtest1, sbtest2\n")
        self.assertEqual(self.tables(), {"sbtest3", "other"})
        ended = self.append("cleanup", self.url, *OLTP)
        self.assertRegex(ended.out, "nothing was dropped")
        self.run_script("--workload", "append-then-count", "--set", "batch=2")
        self.append("cleanup", self.url, "--workload", "append-then-count")
        self.assertEqual(self.tables(), {"sbtest3", "other", "syslog_table"})

    def test_nothing_is_half_made(self):
        """Mistakes in the script: one line, exit code 2, no table."""
        cases = (
            ("SELECT id FROM bad1", "SELECT nix FROM bad1", r"mine.lua:4: statement 'get': .*nix"),
            ("SELECT id FROM bad1", "SELEC id FROM bad1", r"mine.lua:4: statement 'get': .*SELEC"),
            ("SELECT id FROM bad1", "SELECT id FROM nowhere", r"statement 'get': .*nowhere"),
            ('"SELECT id FROM bad1 WHERE id = ?"', '{nosql = "SELECT ?"}', r"'get'.* dialect|'get'"),
            ('index = {"t"}', 'index = {"nope"}', "index on unknown column 'nope' of 'bad2'"),
            ('index = {"t"}', 'create = {default = "create table bad2 (id"}',
             "cannot create table 'bad2'"),
            ('index = {"t"}', 'create = {default = "create table bad2 (id int)"}',
             "table 'bad2' has no column 't'"),
            ('"int16", row()', '"int16", row(32767)', "'bad2': row 49: 32816 does not fit"),
            ("text(3)}}", "text(4)}}", "'bad2': row 0: the text .* does not fit column 't'"),
            ("text(3)}}", 'derive(row(), function(i) error("boom " .. i) end)}}',
             "boom 1"),
            ('"int16", row()', '"int16", uniform(1, 9)', "table 'bad2': .*(50|100) .* dropped"),
        )
        for old, new, pattern in cases:
            self.assertIn(old, BAD_SCRIPT)
            script = ("--workload", self.script(BAD_SCRIPT.replace(old, new)))
            with self.subTest(new):
                self.refused_prepare(*script, pattern=pattern)
                self.assertEqual(self.tables(), set())
                self.refused_run(*script, pattern=pattern)
                self.assertEqual(self.tables(), set())
        self.run_script("--workload", self.script(BAD_SCRIPT))
        self.assertEqual(self.counts("bad1", "bad2"), [50, 50])

    def test_time_of_a_script_is_not_the_server_s(self):
        """Between two calls no call can be overdue."""
        self.refused_run("--workload", self.script(LATE_SCRIPT), "--timeout", harness.SLOW, "--quiet",
                         pattern=r"there is no row 240")
        appending = self.script("""local late = derive(row(0), function(i)
            local s = 0
            for k = 1, 1500000 do s = s + k end
            return i
        end)
        local slow = dataset("slow", 0, {{"id", "int32", late}})
        transaction("t", function() slow:append(200) end, {autocommit = true})""", "appending.lua")
        _, run = self.run_append(1, self.url, "--workload", appending, "--transactions", 1, "--timeout", "1s",
                                 code=None)
        self.assertEqual((run.json["counters"]["timeouts"], run.json["rows"]["acknowledged"]), (0, 200))

    def test_two_tables_without_columns(self):
        script = self.script('dataset("one") dataset("two")\n'
                             'transaction("t", function() end, {autocommit = true})')
        self.refused_run("--workload", script, pattern=":1: datasets 'one' and 'two' have no columns")


class BesideOthers:
    """With Prepare, of a server on which another program can write during a load."""

    def test_a_row_of_others_during_a_load(self):
        """The load reaches a key that another program has stored, and fails: that row stays."""
        script = ("--workload", self.script(SLOW_SCRIPT))
        process = self.start("prepare", 1, self.url, *script)
        harness.wait_until(lambda: "slow" in self.tables() and self.counts("slow")[0] > 0, "the first rows")
        self.sql("insert into slow (id, v) values (60004, 'mine')")
        ended = self.end(process, 2)
        self.assertRegex(ended.reason, "table 'slow': .*the new tables stay: another program may have written to them; "
                         "--recreate replaces the tables")
        self.assertEqual(self.sql("select v from slow where id = 60004"), "mine")
