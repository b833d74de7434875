"""PostgreSQL killed and started again in the middle of a run."""

import harness
from restarts import Restarts


class Killed(Restarts):
    SERVER = harness.PrivateServer
    client = staticmethod(harness.psql)
    SESSIONS_SQL = "select count(*) from pg_stat_activity where usename = 'append' and " \
        + harness.OF_SESSIONS

    def test_durable(self):
        self.check_killed_often()

    def test_commits_that_are_not_waited_for(self):
        self.check_losing(synchronous_commit="off", wal_writer_delay="10s",
                          wal_writer_flush_after="1GB", wal_buffers="64MB")


if __name__ == "__main__":
    harness.main()
