"""Ctrl-C in a check, in a search and while rows are verified, on PostgreSQL."""

import pathlib
import signal

import harness
from ctrl_c import SOON_S, OfSearches


class Postgresql(harness.Case, OfSearches):
    SERVER = harness.PrivateServer
    SLOW_CONNECTS = {"pre_auth_delay": 1, "max_connections": 250}

    def pids(self, server):
        pid = (server.home / "data" / "postmaster.pid").read_text().split()[0]
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        # the first process is stopped first, so that it does not see the others stop
        return [int(pid), *map(int, children)]

    def sleepy(self, server, reads):
        """Makes a table whose rows take a minute to read, for queries that are like `reads`.

        COPY cannot write to it.
        """
        harness.psql(server.url, (harness.ROOT / "schemas/syslog/postgresql.sql").read_text())
        harness.psql(server.superuser_url,
                     "alter table syslog_table enable row level security",
                     "alter table syslog_table force row level security",
                     "create policy writing on syslog_table for insert with check (true)",
                     "create policy reading on syslog_table for select using"
                     f" (current_query() not like '{reads}' or pg_sleep(60) is null)")

    def sleeps(self, server):
        return harness.psql(server.superuser_url, "select count(*) from pg_stat_activity where"
                            " wait_event = 'PgSleep'") == "1"

    def verification(self, reads, *options):
        server = self.serve()
        self.sleepy(server, reads)
        out = self.out()
        process = self.start(2, 200, server.url, "--method", "insert", "--read", "none", "--out",
                             out, *options)
        harness.wait_until(lambda: self.sleeps(server), "the verification")
        ended, run = self.interrupted(process, out, signal.SIGTERM)
        self.assertEqual(run.sessions["finished"], 2, ended)
        self.assertEqual(run.rows["acknowledged"], 200)
        return run

    def test_verification_by_count(self):
        run = self.verification("select count%")
        self.assertEqual(run.verification["state"], "failed")

    def test_verification_by_rows(self):
        run = self.verification("copy (select coalesce%", "--verify", "rows")
        self.assertEqual(run.verification["state"], "done")
        self.assertEqual(run.json["row_verification"]["state"], "failed")

    def test_verification_of_find_max(self):
        server = self.serve()
        self.sleepy(server, "select count%")
        out = self.out()
        process = self.start("find-max", server.url, "--method", "insert", "--hold", "200ms",
                             "--first", 1, "--max-sessions", 2, "--out", out)
        harness.wait_until(lambda: self.sleeps(server), "the verification")
        process.send_signal(signal.SIGINT)
        ended = self.end(process, 130, timeout_s=SOON_S)
        search = self.check_search(out, ended)
        self.assertEqual(search.verification["state"], "failed")


if __name__ == "__main__":
    harness.main()
