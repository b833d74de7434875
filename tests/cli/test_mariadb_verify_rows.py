"""--verify rows on MariaDB."""

import harness
from odbc_strings import parts, string
from verify_rows import VerifyRows


class Rows(VerifyRows, harness.Mariadb):
    def spoil(self):
        self.sql("create trigger spoil before insert on syslog_table for each row"
                 " set new.n2 = if(new.n3 % 1000 = 500, 9999, new.n2),"
                 " new.n1 = if(new.n3 % 1000 = 600, -1, new.n1),"
                 " new.n3 = if(new.n3 % 1000 = 7, new.n3 - 1, new.n3)")

    def fill_tags(self, where):
        self.sql("insert into syslog_table (n1, n2, n3) select n1, 0, 0"
                 f" from (select seq n1 from seq_1_to_32767) s where {where}")

    def test_rows_that_stay_although_rejected(self):
        """An engine without transactions keeps the rows before the one that fails."""
        self.run_append(1, 1, self.url, "--engine", "MyISAM")
        self.sql("create unique index one on syslog_table (n2, n3)", "delete from syslog_table",
                 "insert into syslog_table (n1, n2, n3) values (-1, 0, 50)")
        _, run = self.verify("--method", "insert", sessions=1, rows=300, code=1)
        verified = run.json["row_verification"]
        there = self.identities(run)
        self.assertGreater(run.rows["rejected"], 0)
        self.assertEqual(verified["present"], run.rows["acknowledged"])
        self.assertEqual(verified["present"] + verified["rejected_present"], there)
        self.assertEqual(verified["lost"], 0)
        row = run.table("sessions.csv")[0]
        self.assertEqual(int(row["verified_unacknowledged_present"]), verified["rejected_present"])

    def test_rejected_rows_are_nobody_elses(self):
        """A trigger refuses one row of each batch, and the rows before it stay."""
        self.run_append(1, 1, self.url, "--engine", "MyISAM")
        self.sql("create trigger refuse before insert on syslog_table for each row"
                 " set new.n1 = if(new.n3 % 100 = 70, 100000, new.n1)")
        for verify, pattern in (("count", "0 lost, 140 REJECTED found"),
                                ("rows", r"\nRows read .*, 140 REJECTED found")):
            ended, run = self.run_append(1, 200, self.url, "--method", "insert", "--verify", verify,
                                         code=1)
            self.assertEqual(run.rows["rejected"], 200, ended)
            self.assertEqual(run.verification["rejected_arrived"], 140)
            self.assertEqual(run.verification["surplus"], 0)
            self.assertRegex(ended.out, pattern)
            self.assertNotIn("can have written", ended.out)


class ThroughOdbc(VerifyRows, harness.Mariadb):
    spoil = Rows.spoil
    fill_tags = Rows.fill_tags

    def setUp(self):
        super().setUp()
        self.database_url = self.url
        self.url = string(parts(self.database_url))

    def sql(self, *statements):
        return self.client(self.database_url, *statements)


if __name__ == "__main__":
    harness.main()
