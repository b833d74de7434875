"""Partitions and foreign keys on PostgreSQL."""

import harness
from tpcb import SCRIPT, Structure


class Tpcb(Structure, harness.Postgresql):
    COUNT = "select count(*) from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')"
    NAME = "relname"
    PARTS = ("select string_agg(relname || ' ' || pg_get_expr(relpartbound, oid), '; ' order by relname)"
             " from pg_class where relispartition and relkind = 'r'")
    KEYS = ("select string_agg(conname, ' ' order by conname) from pg_constraint where contype = 'f'"
            " and conparentid = 0")

    def test_ranges_and_foreign_keys(self):
        self.check_tpcb("partitions=3,foreign_keys=true", 7)
        self.assertEqual(self.sql(self.PARTS),
                         "pgbench_accounts_1 FOR VALUES FROM (MINVALUE) TO (33335); "
                         "pgbench_accounts_2 FOR VALUES FROM (33335) TO (66669); "
                         "pgbench_accounts_3 FOR VALUES FROM (66669) TO (MAXVALUE)")
        self.assertEqual(self.sql(self.KEYS), "pgbench_accounts_bid_fkey pgbench_history_aid_fkey "
                         "pgbench_history_bid_fkey pgbench_history_tid_fkey pgbench_tellers_bid_fkey")
        self.cleanup_tpcb()

    def test_hash(self):
        self.check_tpcb("partitions=2,partition_method=hash", 6)
        self.assertEqual(self.sql(self.PARTS),
                         "pgbench_accounts_1 FOR VALUES WITH (modulus 2, remainder 0); "
                         "pgbench_accounts_2 FOR VALUES WITH (modulus 2, remainder 1)")
        self.assertEqual(self.sql(self.KEYS), "")
        self.cleanup_tpcb()

    def test_one_part(self):
        self.prepare(*self.script(), "--set", "count=1,rows=10")
        self.assertEqual(self.sql(self.PARTS), "members_1 FOR VALUES FROM (MINVALUE) TO (MAXVALUE)")

    def test_more_parts_than_rows(self):
        words = (*self.script(), "--set", "count=5,rows=2,keys=false")
        self.prepare(*words)
        self.assertEqual(self.sql("select string_agg(tableoid::regclass || ' ' || m, ', ' order by m) from members"),
                         "members_1 -3, members_2 -2")
        self.run_append(1, self.url, *words, "--transactions", 5)

    def test_a_load_goes_on(self):
        self.check_goes_on()

    def test_what_a_table_has(self):
        self.check_kept(self.script(), "count=5", "table 'members' has 4 partitions, but parts.lua declares 5")
        self.append("cleanup", self.url, *self.script())
        self.check_kept((*self.script(), "--set", "count=0,keys=false"), "keys=true",
                        "table 'members' has 0 foreign keys, but parts.lua declares 1")

    def test_foreign_keys_are_checked(self):
        self.prepare(*self.script())
        self.check_foreign_key(SCRIPT)

    def check_refused(self, words, why, rows=1):
        tables = self.tables()
        told = rf"append made table '\w+' .*, but .*{why}.* leaves it as it is"
        self.refused("cleanup", self.url, *words, code=2, pattern=told)
        self.refused("prepare", 1, self.url, *words, "--recreate", code=2, pattern=told)
        self.assertEqual(self.tables(), tables)
        self.assertEqual(self.sql("select count(*) from mine"), str(rows))

    def test_a_part_of_somebody_else(self):
        """A user's table takes the place of a part, or is for the rows of no other part."""
        words = self.script()
        detach = "alter table members detach partition "
        row = " insert into mine select m, 1 from generate_series(20000, 30000) m"
        attach = "alter table members attach partition mine "
        for settings, statements, rows in (
            ("by=range", (attach + "default",), 0),
            ("by=range", (detach + "members_2", "drop table members_2", row + " where m = 20000",
                          attach + "for values from (12497) to (maxvalue)"), 1),
            ("by=hash", (detach + "members_1", "drop table members_1", row + " where satisfies_hash_partition("
                         "'members'::regclass, 2, 0, m) limit 1",
                         attach + "for values with (modulus 2, remainder 0)"), 1),
        ):
            with self.subTest(statements[-1]):
                self.prepare(*words, "--set", "count=2,keys=false," + settings)
                self.sql("create table mine (m int not null, g int)", *statements)
                self.check_refused(words, "mine is a part of it", rows)
                self.sql(detach + "mine")
                self.append("cleanup", self.url, *words)
                self.assertEqual(self.sql("select count(*) from mine"), str(rows))
                self.assertEqual(self.tables(), 1)
                self.sql("drop table mine")

    def test_a_table_of_somebody_else_that_refers(self):
        words = self.script()
        self.prepare(*words)
        self.sql("create table mine (m int references members)", "insert into mine values (5)")
        self.check_refused(words, "mine refers to it")
        self.sql("drop table mine", "create table mine (g int references groups)", "insert into mine values (5)")
        self.check_refused(words, "mine refers to it")
        self.sql("drop table mine")
        self.append("cleanup", self.url, *words)
        self.assertEqual(self.tables(), 0)

    def test_a_table_of_somebody_else_that_refers_to_a_part(self):
        """append refuses to empty or to drop its tables, because that would cascade into a table of the user."""
        words = self.script()
        self.prepare(*words, "--set", "count=2")
        self.sql("alter table members_1 add unique (m)",
                 "create table mine (m int references members_1 (m) on delete cascade)",
                 "insert into mine select m from members_1 limit 1")
        self.check_refused(words, "mine refers to it")

    def test_marks_that_are_not_valid(self):
        """A renamed table of append is the user's, and so is a table whose comment only looks like a mark."""
        words = self.script()
        self.prepare(*words, "--set", "count=2,keys=false")
        self.sql("create table mine (m int references members)", "insert into mine select m from members limit 1",
                 "do $$ begin execute format('comment on table mine is %L', "
                 "obj_description('members'::regclass, 'pg_class')); end $$")
        self.check_refused(words, "mine refers to it")
        self.sql("drop table mine")
        bound = self.sql("select pg_get_expr(relpartbound, oid) from pg_class where relname = 'members_1'")
        self.sql("alter table members detach partition members_1", "alter table members_1 rename to mine",
                 f"alter table members attach partition mine {bound}")
        self.check_refused(words, "mine is a part of it", int(self.sql("select count(*) from mine")))

    def test_the_name_of_a_part_is_taken(self):
        """Nothing is made, and the user's table stays."""
        self.sql("create table members_3 (x int)", "insert into members_3 values (7)")
        ended = self.prepare(*self.script(), code=None)
        self.assertNotEqual(ended.code, 0)
        self.assertIn("members_3", ended.reason)
        self.assertEqual(self.sql("select x from members_3"), "7")
        self.assertEqual(self.tables(), 1)


if __name__ == "__main__":
    harness.main()
