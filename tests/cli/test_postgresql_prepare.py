"""append prepare and cleanup on PostgreSQL."""

import signal
import subprocess

import harness
from prepare import OTHERS, Prepare


class Tables(Prepare, harness.Postgresql):
    def names(self, catalogue, column):
        names = self.sql(f"select {column} from {catalogue} where schemaname = 'public'")
        return set(names.split())

    def tables(self):
        return self.names("pg_tables", "tablename")

    def indexes(self):
        return self.names("pg_indexes", "indexname")

    def test_cleanup_is_interrupted(self):
        """Somebody reads a table while it is to be dropped."""
        script = ("--workload", "oltp", "--set", "tables=2,table_size=10")
        self.prepare(*script)
        reader = subprocess.Popen(["psql", "-X", "-q", self.url], stdin=subprocess.PIPE, text=True)
        self.addCleanup(reader.communicate)
        reader.stdin.write("begin; lock table sbtest2 in access share mode;\n")
        reader.stdin.flush()
        held = "select count(*) from pg_locks where relation = 'sbtest2'::regclass and {}granted"
        harness.wait_until(lambda: self.sql(held.format("")).strip() == "1", "the lock of the reader")
        process = self.start("cleanup", self.url, *script)
        harness.wait_until(lambda: self.sql(held.format("not ")).strip() == "1", "the drop")
        process.send_signal(signal.SIGINT)
        ended = self.end(process, 130)
        self.assertEqual(ended.reason, "append: interrupted after 1 table had been dropped")
        self.assertEqual(self.tables(), {"sbtest2"})
        reader.stdin.write("rollback;\n")
        reader.stdin.flush()
        self.append("cleanup", self.url, *script)
        self.assertEqual(self.tables(), set())

    def test_in_another_schema(self):
        """The search path leads to a table of somebody else's."""
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
