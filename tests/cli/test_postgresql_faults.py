"""PostgreSQL dies and comes back; single sessions are lost; too few are left."""

import faults
import harness


class Restarts(faults.Faults, harness.Case):
    SERVER = harness.PrivateServer

    @staticmethod
    def ask(url, statement):
        return harness.psql(url, statement)

    @staticmethod
    def read_only(is_on):
        return [f"alter system set default_transaction_read_only = {'on' if is_on else 'off'}",
                "select pg_reload_conf()"]

    def end_backends(self, server, where="true"):
        """Returns the number of sessions of the run that were ended."""
        return int(harness.psql(
            server.superuser_url, "select count(pg_terminate_backend(pid)) from pg_stat_activity"
            f" where usename = 'append' and application_name <> 'psql' and "
            f"{harness.OF_SESSIONS} and {where}"))

    def end_one_session(self, server):
        """Ends a session that appends, and waits until its backend has ended."""
        harness.wait_until(lambda: harness.psql(
            server.superuser_url, "select count(pg_terminate_backend(pid, 60000)) from (select pid"
            " from pg_stat_activity where usename = 'append' and query ~* '^copy' limit 1) as one")
            == "1", "a session to copy")

    def test_a_role_that_may_no_longer_log_in(self):
        server = self.SERVER(self)
        process, out = self.begin(server, "--on-drop", "reconnect", rows=10_000_000)
        harness.psql(server.superuser_url, "alter role append nologin")
        self.assertEqual(self.end_backends(server), 20)
        self.end(process, 1)
        run = self.check_run(out, 1)
        self.assertEqual(run.sessions["dropped"], 20)
        self.assertEqual(run.json["counters"]["reconnects_failed"], 20)
        self.assertEqual({cause["status"] for cause in run.causes
                          if cause["phase"] == "reconnect"}, {"fatal"})

    def test_lost_sessions_one_after_another(self):
        server = self.SERVER(self)
        process, out = self.begin(server, "--on-drop", "reconnect", "--min-sessions", "100%")
        for _ in range(3):
            self.end_one_session(server)
        ended = self.end(process, None)
        run = self.check_run(out, ended.code)
        self.assertEqual(run.sessions["finished"], 20, ended)
        self.assertEqual(run.json["counters"]["reconnects"], 3)
        self.assertEqual(run.rows["not_sent"], 0)
        self.check_rows(server, run)

    def test_too_few_are_left(self):
        server = self.SERVER(self)
        process, out = self.begin(server, "--min-sessions", "20", rows=10_000_000)
        self.end_one_session(server)
        ended = self.end(process, 1)
        run = self.check_run(out, 1)
        self.assertEqual(run.json["outcome"]["stop_reason"], "too_few_sessions")
        self.assertEqual((run.sessions["dropped"], run.sessions["stopped"]), (1, 19))
        self.assertRegex(ended.reason, r"only 19 of 20 sessions were up, but --min-sessions requires 20")

    def test_idle_sessions_that_are_lost(self):
        server = self.SERVER(self)
        process, out = self.begin(server, "--idle", "5", rows=harness.fewer(32_000))
        # an idle session has never run a statement
        lost = self.end_backends(server, "query !~* '(copy|count|begin)'")
        self.assertEqual(lost, 5)
        ended = self.end(process, 1)
        run = self.check_run(out, 1)
        self.assertEqual((run.sessions["finished"], run.sessions["dropped"]), (20, 5))
        self.assertEqual([(cause["phase"], cause["count"]) for cause in run.causes], [("idle", 5)])
        self.assertRegex(ended.reason, r"\b5 sessions dropped")
        kinds = {row["kind"] for row in run.table("sessions.csv") if row["outcome"] == "dropped"}
        self.assertEqual(kinds, {"idle"})

    def test_too_few_are_let_in(self):
        server = self.SERVER(self, max_connections=15, superuser_reserved_connections=3)
        ended, run = self.run_append("20", "20000", server.url, "--min-sessions", "18",
                                     "--no-check", code=4)
        self.assertEqual(run.json["outcome"]["stop_reason"], "too_few_sessions")
        self.assertEqual(run.rows["not_sent"], 20000)
        self.assertEqual(run.sessions["stopped"], run.sessions["connected"])
        self.assertRegex(ended.reason, r"only \d+ of 20 sessions were up, but --min-sessions requires 18")
        self.assertRegex(ended.reason, r"too many clients|remaining connection slots")
        self.assertEqual(harness.psql(server.url, "select count(*) from syslog_table"), "0")

    def test_idle_sessions_and_churn(self):
        server = self.SERVER(self)
        _, run = self.run_append("5", "5000", server.url, "--idle", "30", "--churn", "2", code=None)
        self.assertEqual(run.sessions["finished"], 35)
        self.assertEqual(run.json["counters"]["churns"], 20)
        self.assertEqual(run.json["latencies"]["reconnect"]["count"], 20)
        self.check_rows(server, run)


class Cut(faults.CutCalls, harness.Postgresql):
    SLEEP = "select pg_sleep({})"
    SLEEP_WITH_ROWS = ("select pg_sleep(case when exists (select from syslog_table) then 600 else 0"
                       " end)")
    GOING_ON = ("select count(*) from pg_stat_activity where state = 'active' and"
                " query like 'select pg_sleep(%'")

    def end_sleep(self):
        self.sql(self.GOING_ON.replace("count(*)", "pg_terminate_backend(pid)"))


if __name__ == "__main__":
    harness.main()
