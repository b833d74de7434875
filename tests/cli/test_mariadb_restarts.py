"""MariaDB is killed and restarted in the middle of a run."""

import harness
from restarts import Restarts


class Killed(Restarts):
    SERVER = harness.PrivateMariadb
    client = staticmethod(harness.mariadb)
    SESSIONS_SQL = "select count(*) from information_schema.processlist where user = 'append'"

    def test_durable(self):
        self.check_killed_often()

    def test_commits_that_are_not_waited_for(self):
        self.check_losing(innodb_flush_log_at_trx_commit="0", innodb_flush_log_at_timeout="2700")


if __name__ == "__main__":
    harness.main()
