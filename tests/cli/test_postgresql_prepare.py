"""append prepare and cleanup on PostgreSQL."""

import signal
import subprocess

import harness
from prepare import OTHERS, TRIGGERS, BesideOthers, Prepare

# Each transaction adds a row, which the database numbers.
VARIED = """
dataset("log1", 100, {{"id", "int64", row(), key = "auto"}, {"msg", "text(40)", text(10)}}, {varies = true})
local add = statement("add", "INSERT INTO log1 (msg) VALUES ('x')")
transaction("grow", function() add:run() end, {autocommit = true})
"""


class Tables(BesideOthers, Prepare, harness.Postgresql):
    def names(self, catalogue, column):
        names = self.sql(f"select {column} from {catalogue} where schemaname = 'public'")
        return set(names.split())

    def tables(self):
        return self.names("pg_tables", "tablename")

    def indexes(self):
        return self.names("pg_indexes", "indexname")

    def test_cleanup_is_interrupted(self):
        """Another session reads a table that append wants to drop."""
        script = ("--workload", "oltp", "--set", "tables=2,table_size=10")
        self.prepare(*script)
        reader = subprocess.Popen(["psql", "-X", "-q", self.url], stdin=subprocess.PIPE, text=True)
        self.addCleanup(reader.communicate)
        reader.stdin.write("begin; lock table sbtest1 in access share mode;\n")
        reader.stdin.flush()
        held = "select count(*) from pg_locks where relation = 'sbtest1'::regclass and {}granted"
        harness.wait_until(lambda: self.sql(held.format("")).strip() == "1", "the lock of the reader")
        process = self.start("cleanup", self.url, *script)
        harness.wait_until(lambda: self.sql(held.format("not ")).strip() == "1", "the drop")
        process.send_signal(signal.SIGINT)
        ended = self.end(process, 130)
        self.assertEqual(ended.reason, "append: interrupted after 1 table had been dropped")
        self.assertEqual(self.tables(), {"sbtest1"})
        reader.stdin.write("rollback;\n")
        reader.stdin.flush()
        self.append("cleanup", self.url, *script)
        self.assertEqual(self.tables(), set())

    def test_in_another_schema(self):
        """The search path leads to a table of another user."""
        self.sql("create schema theirs")
        self.others_table("theirs.log1")
        self.sql(f"alter role current_user in database {self.database} set search_path = public, theirs")
        self.addCleanup(self.sql, f"alter role current_user in database {self.database} reset search_path")
        self.refused_others("--workload", self.script(OTHERS, "others.lua"))

    def test_views_and_comments_of_others(self):
        script = ("--workload", self.script(OTHERS, "others.lua"))
        self.others_table("kept")
        self.sql("create view log1 as select * from kept")
        for command in (("prepare", 1), ("cleanup",)):
            self.refused(*command, self.url, *script, code=2, pattern="\"log1\" is a view")
        self.sql("drop view log1", "alter table kept rename to log1", "comment on table log1 is 'made by append: loaded, mine, 0123456789abcdef-0123456789abcdef'")
        self.refused_others(*script)
        self.assertIn("0123456789abcdef", self.sql("select obj_description('log1'::regclass)"))

    TRIGGER = TRIGGERS["postgresql"]

    def test_parts_that_are_somebody_elses(self):
        """An attached partition and an inheriting table would also lose their rows."""
        script = ("--workload", self.script(OTHERS.replace("}})\n", """}}, {create = {postgresql = [[
            create table log1 (id int, msg varchar(40)) partition by range (id);
            create table first partition of log1 for values from (0) to (1000)]]}})\n""", 1), "parts.lua"))
        self.prepare(*script)
        self.prepare(*script, "--recreate")  # the partition that append made is dropped with its table
        self.others_table("mine")
        self.sql("update mine set id = id + 1000", "alter table log1 attach partition mine for values from (1000) to (2000)")
        told = r"append made table 'log1' .*, but mine is a part of it"
        self.refused("cleanup", self.url, *script, code=2, pattern=told)
        self.refused_prepare(*script, "--recreate", pattern=told)
        self.assertEqual(self.counts("mine"), [50])

    def test_a_part_of_what_is_somebody_elses(self):
        """append's table is a part of a user's partitioned or inherited table: the user's rows would also be
        dropped."""
        script = ("--workload", self.script(OTHERS, "others.lua"))
        for whole, attach, detach in (
                ("create table mine (like log1) partition by range (id)",
                 "alter table mine attach partition log1 for values from (0) to (1000)",
                 "alter table mine detach partition log1"),
                ("create table mine (id int not null, msg varchar(40))", "alter table log1 inherit mine",
                 "alter table log1 no inherit mine")):
            self.prepare(*script)
            self.sql(whole, attach)
            told = r"append made table 'log1' .*, but mine has it as a part"
            self.refused("cleanup", self.url, *script, code=2, pattern=told)
            self.refused_prepare(*script, "--recreate", pattern=told)
            self.assertEqual(self.counts("mine"), [100])
            self.sql(detach, "drop table mine")
            self.append("cleanup", self.url, *script)

    def test_what_somebody_hung_on_a_table(self):
        """A policy of the table and a publication with the table would be dropped with it."""
        script = ("--workload", self.script(OTHERS, "others.lua"))
        for make, told, drop in (("create policy only_low on log1 using (id < 50)", "only_low is a policy of it",
                                  "drop policy only_low on log1"),
                                 ("create publication copies for table log1", "copies publishes it",
                                  "drop publication copies")):
            self.prepare(*script)
            self.sql(make)
            self.refused("cleanup", self.url, *script, code=2, pattern=told)
            self.sql(drop)
            self.append("cleanup", self.url, *script)

    def test_how_to_undo_names_the_table_of_the_run(self):
        """Without quotes and schema the statement would drop a user's table."""
        ddl = self.folder / "ddl.sql"
        ddl.write_text('create table "Mine" (n1 smallint, n2 int, n3 bigint)')
        self.sql("create schema archive", "create table mine (id int)", "create table syslog_table (id int)")
        for options, there in ((("--table", "Mine", "--schema-file", ddl), '"Mine"'),
                               (("--schema", "archive"), "archive.syslog_table")):
            _, run = self.run_append(1, 100, self.url, *options)
            self.assertEqual(run.json["removal"], f"drop table {there} /* made by this run */")
            _, run = self.run_append(1, 100, self.url, *options, "--verify", "rows")
            self.assertEqual(self.counts(there), [200])
            self.sql(run.json["removal"])
            self.assertEqual(self.counts(there), [100])

    def test_a_server_that_does_not_say_what_hangs_on_a_table(self):
        """When the role may not read the catalogue, append does not know the dependents, and keeps the table."""
        server = harness.PrivateServer(self)
        script = ("--workload", self.script(OTHERS, "others.lua"))
        self.append("prepare", 1, server.url, *script)
        harness.psql(server.superuser_url, "revoke select on pg_catalog.pg_trigger from public")
        self.refused("cleanup", server.url, *script, code=2,
                     pattern="append made table 'log1' .* but the server does not report which objects depend on the table")
        self.assertEqual(harness.psql(server.url, "select count(*) from log1"), "100")
        self.append("cleanup", server.url, *script, "--drop=log1")

    def test_a_copy_in_another_schema(self):
        script = ("--workload", self.script(OTHERS, "others.lua"))
        self.prepare(*script)
        self.sql("create schema archive", "alter table log1 set schema archive")
        self.refused("cleanup", self.url + "?options=-csearch_path%3Darchive", *script, code=2,
                     pattern="append did not make table 'log1'")
        self.assertEqual(self.counts("archive.log1"), [100])

    def test_a_comment_that_was_changed(self):
        script = ("--workload", self.script(OTHERS, "others.lua"))
        self.prepare(*script)
        mark = self.sql("select obj_description('log1'::regclass)")
        for comment in (f"mine now. Was {mark}", f"{mark}\" - ours", f"{mark}'' do not drop", f"{mark} "):
            self.sql(f"comment on table log1 is '{comment}'")
            self.refused("cleanup", self.url, *script, code=2, pattern="append did not make table 'log1'")
        self.sql(f"comment on table log1 is '{mark}'")
        self.append("cleanup", self.url, *script)

    def test_a_long_comment(self):
        """A comment that leaves no room for the mark stays whole."""
        comment = "of the user " * 60
        script = ("--workload", self.script(OTHERS.replace("}})\n", """}}, {create = {postgresql = [[
            create table log1 (id int primary key, msg text); comment on table log1 is '%s']]}})
            """ % comment, 1), "others.lua"))
        self.prepare(*script)
        self.assertEqual(self.sql("select obj_description('log1'::regclass)"), comment.strip())
        self.refused("cleanup", self.url, *script, code=2, pattern="append did not make table 'log1'")

    def test_a_load_that_was_interrupted_after_its_last_row(self):
        """The same command does what was left: the database numbers further rows, and their number may vary."""
        script = ("--workload", self.script(VARIED))
        self.prepare(*script)
        mark = self.sql("select obj_description('log1'::regclass)")
        self.sql(f"comment on table log1 is '{mark.replace('loaded', 'loading', 1)}'",
                 "select setval(pg_get_serial_sequence('log1', 'id'), 1)")
        self.append(1, self.url, *script, "--transactions", 1, "--out", self.out(), code=None)
        self.assertIn("loading", self.sql("select obj_description('log1'::regclass)"))  # a run does not finish it
        self.assertRegex(self.prepare(*script).out, "^0 rows loaded in")
        self.assertEqual(self.sql("select obj_description('log1'::regclass)"), mark)
        for rows in (120, 140):
            self.run_script(*script)
            self.assertEqual(self.counts("log1"), [rows])

    def test_a_load_that_fails_beside_another_table_of_its_name(self):
        """After the failure append drops its own table, and no other."""
        script = ("--workload", self.script(OTHERS, "others.lua"), "--set", "rows=5000000")
        process = self.start("prepare", 1, self.url, *script)
        there = "select count(*) from pg_class where relname = 'log1' and relpages > 0"
        harness.wait_until(lambda: self.sql(there) == "1" and self.counts("log1")[0] > 0, "rows")
        self.sql("begin; alter table log1 rename to loaded; create table log1 (id int primary key, msg varchar(40)"
                 " check (id < 0)); insert into log1 values (-1, 'mine'); commit")
        self.end(process, None)
        self.assertEqual(self.sql("select msg from log1"), "mine")

    def test_a_table_that_cannot_be_dropped(self):
        script = ("--workload", self.script(OTHERS, "others.lua"))
        self.prepare(*script)
        self.sql("create view seen as select * from log1")
        ended = self.append("cleanup", self.url, *script, code=4)
        self.assertEqual(ended.out, "")
        self.assertRegex(ended.reason, "other objects depend on it")
        self.assertEqual(self.counts("log1"), [100])


if __name__ == "__main__":
    harness.main()
