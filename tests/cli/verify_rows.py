"""--verify rows against a database that secretly loses, doubles and moves rows."""

import harness

SESSIONS = 4
ROWS = 10_000  # 2,500 for each session

# The tables of these tests change some rows: of each thousand rows of a session, row 7 gets the identity of
# row 6, row 500 gets an unknown session, and row 600 gets another run.
LOST = {7: 3, 500: 2, 600: 2}  # row of a thousand: number of such rows in a session


class VerifyRows:
    """A mixin for harness.Case; subclasses have self.url, self.sql(*statements) and self.spoil()."""

    def verify(self, *options, sessions=SESSIONS, rows=ROWS, code=0):
        return self.run_append(sessions, rows, self.url, "--verify", "rows", *options, code=code)

    def identities(self, run, where="true"):
        tag = run.json["plan"]["run_tag"]
        return int(self.sql(f"select count(*) from syslog_table where n1 = {tag} and {where}"))

    def check_all_there(self, run, ended):
        verified = run.json["row_verification"]
        self.assertEqual(verified["state"], "done")
        self.assertEqual(verified["present"], run.rows["acknowledged"])
        self.assertEqual(verified["read"], self.identities(run))
        for name in ("lost", "duplicates", "foreign", "rejected_present"):
            self.assertEqual(verified[name], 0, name)
        self.assertRegex(ended.out, r"Rows read [\d,]+ acknowledged found, 0 lost")

    def test_all_there(self):
        for options in ((), ("--batch", "7"), ("--data", "constant")):
            ended, run = self.verify(*options)
            self.assertEqual(run.json["row_verification"]["present"], ROWS)
            self.check_all_there(run, ended)
            self.assertEqual(run.verification["state"], "done")
            for row in run.table("sessions.csv"):
                self.assertEqual(int(row["verified_present"]), ROWS // SESSIONS)
                self.assertEqual(int(row["verified_lost"]), 0)

    def test_count_is_the_default(self):
        ended, run = self.run_append(1, 100, self.url)
        self.assertEqual(run.json["row_verification"]["state"], "none")
        self.assertEqual(run.table("sessions.csv")[0]["verified_present"], "")
        self.assertNotIn("Rows read", ended.out)

    def test_lost_doubled_and_moved(self):
        self.run_append(1, 100, self.url)
        self.spoil()
        ended, run = self.verify(code=1)
        lost = sum(LOST.values())
        verified = run.json["row_verification"]
        self.assertEqual(verified["lost"], SESSIONS * lost)
        self.assertEqual(verified["present"], ROWS - SESSIONS * lost)
        self.assertEqual(verified["duplicates"], SESSIONS * LOST[7])
        self.assertEqual(verified["foreign"], SESSIONS * LOST[500])
        self.assertEqual(verified["sessions_lost"], SESSIONS)
        self.assertEqual(run.rows["acknowledged"], ROWS)
        # the number of rows is right, so a count does not notice the loss
        self.assertEqual(run.verification["lost"], 0)
        for row in run.table("sessions.csv"):
            self.assertEqual(int(row["verified_lost"]), lost)
            self.assertEqual(int(row["verified_present"]), ROWS // SESSIONS - lost)
            self.assertEqual(int(row["verified_duplicates"]), LOST[7])
            self.assertEqual(int(row["verified_unacknowledged_present"]), 0)
        summary = run.table("summary.csv")[0]
        self.assertEqual(int(summary["verified_lost"]), SESSIONS * lost)
        self.assertEqual(int(summary["verified_duplicates"]), SESSIONS * LOST[7])
        self.assertEqual(int(summary["verified_foreign"]), SESSIONS * LOST[500])
        self.assertEqual(run.json["outcome"]["verdict"], "DEGRADED")
        self.assertEqual(ended.reason, f"append: {SESSIONS * lost:,} acknowledged rows are lost")
        self.assertRegex(ended.out, r"28 acknowledged LOST, of 4 sessions")
        self.assertRegex(ended.out, r"12\s+DUPLICATES")

    def test_seed_of_an_earlier_run(self):
        _, first = self.verify("--seed", "5", rows=100)
        ended = self.refused(SESSIONS, 100, self.url, "--verify", "rows", "--seed", "5", code=2,
                             pattern=r"of --seed 5 \(n1 = \d+\): use another --seed, or --recreate")
        self.assertIn(f"n1 = {first.json['plan']['run_tag']}", ended.reason)
        ended, run = self.verify("--seed", "6", rows=100)
        self.check_all_there(run, ended)
        ended, run = self.verify("--seed", "5", "--recreate", rows=100)
        self.check_all_there(run, ended)

    def test_tag_that_is_free(self):
        self.run_append(1, 1, self.url)
        self.fill_tags("n1 <> 4242")
        ended, run = self.verify(rows=100)
        self.assertEqual(run.json["plan"]["run_tag"], 4242)
        self.check_all_there(run, ended)
        self.refused(1, 1, self.url, "--verify", "rows", code=2,
                     pattern="rows of every run tag .n1., .*: use --recreate")

    def test_table_without_identities(self):
        self.sql("create table other (n1 int, n2 int, n3 int)")
        self.refused(1, 1, self.url, "--table", "other", "--verify", "rows", code=2,
                     pattern="the columns n1 smallint, n2 int and n3 bigint; table 'other' does not have them")
