"""--verify rows on SQLite."""

import sqlite3

import harness
from verify_rows import VerifyRows


class Rows(VerifyRows, harness.Case):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "rows.db"
        self.url = f"sqlite:{self.path}"

    def sql(self, *statements):
        with sqlite3.connect(self.path, timeout=harness.GUARD_S) as connection:
            for statement in statements:
                row = connection.execute(statement).fetchone()
        connection.close()
        return row[0] if row else ""

    def spoil(self):
        for name, condition, change in (("one", "= 7", "n3 = n3 - 1"), ("two", "= 500", "n2 = 9999"),
                                        ("three", "= 600", "n1 = -1")):
            self.sql(f"create trigger {name} after insert on syslog_table when new.n3 % 1000"
                     f" {condition} begin update syslog_table set {change}"
                     " where rowid = new.rowid; end")

    def fill_tags(self, where):
        self.sql("with recursive tags(n1) as (select 1 union all select n1 + 1 from tags"
                 " where n1 < 32767) insert into syslog_table (n1, n2, n3)"
                 f" select n1, 0, 0 from tags where {where}")

    def test_table_without_identities(self):
        self.sql("create table other (n1 int, n2 int)")
        self.refused(1, 1, self.url, "--table", "other", "--verify", "rows", code=2,
                     pattern="the columns n1 smallint, n2 int and n3 bigint; table 'other' does not have them")

    def test_table_with_a_column_n0(self):
        self.sql("create table other (n0 int, n1 smallint, n2 int, n3 bigint)",
                 "insert into other values (0, 4242, 0, 0)")
        ended, run = self.run_append(2, 100, self.url, "--table", "other", "--verify", "rows")
        self.assertEqual(run.verification["lost"], 0, ended.err)
        self.assertIn("every row was acknowledged", ended.out)


if __name__ == "__main__":
    harness.main()
