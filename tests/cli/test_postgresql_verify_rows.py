"""--verify rows on PostgreSQL."""

import harness
from odbc_strings import parts, string
from verify_rows import VerifyRows


class Rows(VerifyRows, harness.Postgresql):
    def spoil(self):
        self.sql("create function spoil() returns trigger language plpgsql as $$ begin"
                 " if new.n3 % 1000 = 7 then new.n3 = new.n3 - 1;"
                 " elsif new.n3 % 1000 = 500 then new.n2 = 9999;"
                 " else new.n1 = -1; end if; return new; end $$",
                 "create trigger spoil before insert on syslog_table for each row"
                 " when (new.n3 % 1000 in (7, 500, 600)) execute function spoil()")

    def fill_tags(self, where):
        self.sql("insert into syslog_table (n1, n2, n3) select n1, 0, 0"
                 f" from generate_series(1, 32767) n1 where {where}")

    def test_rows_that_the_server_leaves_out(self):
        """The server reports how many rows it kept, but not which: no row is lost."""
        self.run_append(1, 1, self.url)
        self.sql("create function leave_out() returns trigger language plpgsql as"
                 " $$ begin return null; end $$",
                 "create trigger leave_out before insert on syslog_table for each row"
                 " when (new.n3 % 1000 = 7) execute function leave_out()")
        _, run = self.verify(code=1)
        verified = run.json["row_verification"]
        self.assertEqual(run.rows["rejected"], SESSIONS_TIMES_THREE)
        self.assertEqual(verified["present"], run.rows["acknowledged"])
        self.assertEqual((verified["lost"], verified["rejected_present"]), (0, 0))

    def test_a_table_that_is_truncated(self):
        """A count shows a range for the loss; reading the rows shows the number."""
        self.run_append(1, 1000, self.url)
        out = self.out()
        process = self.start(4, harness.fewer(40_000), self.url, "--rate", 10_000 // harness.SLOW,
                             "--read", "none", "--verify", "rows", "--out", out)
        self.wait_for_rows(process, out)
        self.sql("truncate syslog_table")
        ended = self.end(process, 1)
        run = self.check_run(out, 1)
        lost = run.json["row_verification"]["lost"]
        counted = run.verification
        self.assertGreater(lost, 0)
        self.assertLessEqual(counted["lost"], lost, counted)
        self.assertGreaterEqual(counted["lost_at_most"], lost, counted)
        self.assertRegex(ended.out, r"(?m)^Verified +count\(\*\) 1,000 before, [\d,]+ after$")
        self.assertEqual(ended.reason, f"append: {lost:,} acknowledged rows are lost")

    def test_rows_of_nobody(self):
        """Rows with NULL as session or number, in a table with another writer."""
        self.run_append(1, 1, self.url)
        self.sql("create function more() returns trigger language plpgsql as $$ begin"
                 " insert into syslog_table (n1, n2, n3) values (new.n1, null, 1), (new.n1, 0, null),"
                 " (new.n1, 0, 2500), (new.n1, 0, -5); return null; end $$",
                 "create trigger more after insert on syslog_table for each row"
                 " when (new.n3 = 2499) execute function more()")
        _, run = self.verify(code=None)
        self.assertEqual(run.json["row_verification"]["foreign"], 16)
        self.assertEqual(run.json["row_verification"]["lost"], 0)
        self.assertEqual(run.json["outcome"]["verdict_reason"],
                         "16 rows carry this run's tag, but this run did not send them")


SESSIONS_TIMES_THREE = 12


class ThroughOdbc(Rows):
    def setUp(self):
        super().setUp()
        self.database_url = self.url
        self.url = string(parts(self.database_url))

    def sql(self, *statements):
        return self.client(self.database_url, *statements)


if __name__ == "__main__":
    harness.main()
