"""Partitions and foreign keys on MariaDB."""

import harness
from tpcb import SCRIPT, Structure


class Tpcb(Structure, harness.Mariadb):
    COUNT = "select count(*) from information_schema.tables where table_schema = database()"
    NAME = "table_name"
    PARTS = ("select group_concat(partition_name, ' ', partition_method, ' ', coalesce(partition_description, '')"
             " order by partition_ordinal_position separator '; ') from information_schema.partitions"
             " where table_schema = database() and table_name = 'pgbench_accounts'")
    KEYS = ("select group_concat(table_name, ' ', referenced_table_name order by 1 separator ', ')"
            " from information_schema.referential_constraints where constraint_schema = database()")

    def test_ranges(self):
        self.check_tpcb("partitions=3", 4)
        self.assertEqual(self.sql(self.PARTS), "p1 RANGE 33335; p2 RANGE 66669; p3 RANGE MAXVALUE")
        self.cleanup_tpcb()

    def test_hash(self):
        self.check_tpcb("partitions=2,partition_method=hash", 4)
        self.assertEqual(self.sql(self.PARTS).rstrip(), "p0 HASH ; p1 HASH")
        self.cleanup_tpcb()

    def test_foreign_keys(self):
        self.check_tpcb("foreign_keys=true", 4)
        self.assertEqual(len(self.sql(self.KEYS).split(", ")), 5)
        self.cleanup_tpcb()

    def test_a_load_goes_on(self):
        self.check_goes_on("--set", "count=0")
        self.check_goes_on("--set", "keys=false")

    def test_what_a_table_has(self):
        self.check_kept((*self.script(), "--set", "keys=false"), "count=5",
                        "table 'members' has 4 partitions, but parts.lua declares 5")
        self.append("cleanup", self.url, *self.script())
        self.check_kept((*self.script(), "--set", "count=0,keys=false"), "keys=true",
                        "table 'members' has 0 foreign keys, but parts.lua declares 1")

    def test_foreign_keys_are_checked(self):
        self.prepare(*self.script(), "--set", "count=0")
        self.check_foreign_key(SCRIPT.replace('"count", 4', '"count", 0'))

    def test_not_both(self):
        self.refused_structure(self.script(), r"parts\.lua:\d+: dataset 'members': in mariadb a table with partitions can "
                               "neither have foreign keys nor be the target of foreign keys: remove partitions or "
                               "foreign_keys$")
        self.refused_structure(("--workload", "tpcb", "--set", "partitions=2,foreign_keys=true"),
                               "dataset 'pgbench_accounts': in mariadb a table with partitions")

    def test_an_engine_without_foreign_keys(self):
        """MyISAM reads FOREIGN KEY and forgets it."""
        words = self.script(SCRIPT.replace("{foreign_keys = to({m", '{options = "ENGINE=MyISAM", foreign_keys = to({m'))
        self.refused_structure((*words, "--set", "count=0"),
                               "the storage engine MyISAM of table 'notes' does not support foreign keys: use InnoDB, "
                               "or remove foreign_keys$")

    def test_a_table_of_somebody_else_that_refers(self):
        words = (*self.script(), "--set", "count=0")
        self.prepare(*words)
        self.sql("create table mine (g int, foreign key (g) references groups (g) on delete cascade)",
                 "insert into mine values (5)")
        told = "append made table 'groups' .*mine refers to it"
        self.refused("cleanup", self.url, *words, code=2, pattern=told)
        self.refused("prepare", 1, self.url, *words, "--recreate", code=2, pattern=told)
        self.assertEqual(self.sql("select count(*) from mine"), "1")
        self.assertEqual(self.tables(), 4)
        self.sql("drop table mine")
        self.append("cleanup", self.url, *words)
        self.assertEqual(self.tables(), 0)


if __name__ == "__main__":
    harness.main()
