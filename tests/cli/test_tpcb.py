"""Foreign keys on SQLite, and what is refused without a database."""

import contextlib
import re
import sqlite3

import harness
from tpcb import SCRIPT, Structure


class Tpcb(Structure, harness.Case):
    COUNT = "select count(*) from sqlite_schema where type = 'table' and name not like 'sqlite%'"

    def setUp(self):
        super().setUp()
        self.path = self.folder / "tables.db"
        self.path.touch()
        self.url = f"sqlite:{self.path}"

    def sql(self, *statements):
        with contextlib.closing(sqlite3.connect(self.path, timeout=harness.GUARD_S)) as connection:
            for statement in statements:
                row = connection.execute(statement).fetchone()
            connection.commit()
        return str(row[0]) if row else ""

    def test_foreign_keys(self):
        self.check_tpcb("foreign_keys=true", 4)
        branch, teller, account = "bid pgbench_branches.bid", "tid pgbench_tellers.tid", "aid pgbench_accounts.aid"
        for table, keys in (("tellers", (branch,)), ("accounts", (branch,)), ("history", (account, branch, teller))):
            self.assertEqual(self.sql("select group_concat(k, ', ') from (select \"from\" || ' ' || \"table\" || '.' || \"to\""
                                      f" as k from pragma_foreign_key_list('pgbench_{table}') order by k)"), ", ".join(keys))
        self.assertEqual(self.sql("select count(*) from pragma_foreign_key_check"), "0")
        self.cleanup_tpcb()

    def test_sessions_check_foreign_keys(self):
        """The script of tpcb switches the checks of foreign keys on: a row of history whose branch does not exist is
        refused."""
        words = ("--workload", "tpcb", "--set", "foreign_keys=true")
        self.prepare(*words)
        self.sql("update pgbench_branches set bid = 2")  # Python's session does not check
        ended = self.append(1, self.url, *words, "--transactions", 2, "--max-failed", 2, "--out", self.out(), code=None)
        self.assertRegex(ended.out, r"(?m)^Transactions +2 = 0 committed")
        self.assertRegex(ended.out, "(?i)foreign key")

    def test_what_a_table_has(self):
        self.check_kept((*self.script(), "--set", "count=0,keys=false"), "keys=true",
                        "table 'members' has 0 foreign keys, but parts.lua declares 1")

    def test_no_partitions(self):
        self.refused_structure((*self.script(), "--set", "keys=false"),
                               r"parts\.lua:\d+: dataset 'members': append cannot create partitions in sqlite: "
                               "remove partitions$")
        self.refused_structure(("--workload", "tpcb", "--set", "partitions=2"), "append cannot create partitions in sqlite")

    def test_a_table_of_somebody_else_that_refers(self):
        words = (*self.script(), "--set", "count=0")
        self.prepare(*words)
        self.sql("create table mine (m int references members (m))", "insert into mine values (5)")
        told = "append made table 'members' .*mine refers to it"
        self.refused("cleanup", self.url, *words, code=2, pattern=told)
        self.refused("prepare", 1, self.url, *words, "--recreate", code=2, pattern=told)
        self.assertEqual(self.tables(), 4)
        self.sql("drop table mine")
        self.append("cleanup", self.url, *words)
        self.assertEqual(self.tables(), 0)

    def test_null_has_no_tables(self):
        self.append(1, "null:", "--workload", "tpcb", "--set", "partitions=2,foreign_keys=true", "--transactions", 5,
                    "--out", self.out(), code=None)

    def test_mistakes(self):
        for old, new, message in (
            ("count = count", "count = -1", "the count of partitions must be 0 to 8192"),
            ("count = count", "count = 8193", "the count of partitions must be 0 to 8192"),
            ("by = by, ", "", 'partitions must have by = "range" or by = "hash"'),
            ('by = by, column = "m"', 'by = "list", column = "m"', 'partitions must have by = "range"'),
            ('column = "m"', 'column = "x"', "partitions names an unknown column 'x'"),
            ('column = "m"', 'column = "g"', "the primary key must contain column 'g', which divides the table into partitions"),
            ('row(-3), key', 'uniform(1, 9), key', "partitions by range need the generator row() in column 'm'"),
            ('count = count', 'number = count', "partitions has no option 'number'; use by, column, count"),
            ("to({g = groups})", "to({x = groups})", "foreign_keys names an unknown column 'x'"),
            ("to({g = groups})", "5", "foreign_keys must be a table, {column = dataset}"),
            ("to({g = groups})", "{groups}", "foreign_keys must be a table, {column = dataset}"),
            ("to({g = groups})", 'to({g = "groups"})', "a dataset is needed here, not a string"),
            ("key = true}})", "}})", "'g' cannot refer to dataset 'groups', which has no primary key of one column"),
            ("to({g = groups})", 'to({g = groups}), create = "CREATE TABLE members (m int)"',
             "create replaces the whole CREATE TABLE statement: write the partitions and foreign keys in the text of create"),
        ):
            with self.subTest(message):
                self.assertIn(old, SCRIPT)
                self.refused_structure(self.script(SCRIPT.replace(old, new, 1)),
                                       r"parts\.lua:\d+: .*" + re.escape(message))


if __name__ == "__main__":
    harness.main()
