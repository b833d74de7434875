"""MariaDB dies and returns; sessions reconnect on purpose."""

import faults
import harness


class Restarts(faults.Faults, harness.Case):
    SERVER = harness.PrivateMariadb

    @staticmethod
    def ask(url, statement):
        return harness.mariadb(url, statement)

    @staticmethod
    def read_only(is_on):
        return [f"set global read_only = {int(is_on)}"]


class Cut(faults.CutCalls, harness.Mariadb):
    SLEEP = "select sleep({})"
    SLEEP_WITH_ROWS = "select sleep(if(exists (select 1 from syslog_table), 600, 0))"
    GOING_ON = "select count(*) from information_schema.processlist where info like 'select sleep(%'"

    def end_sleep(self):
        self.sql("kill " + self.sql(self.GOING_ON.replace("count(*)", "max(id)")))


class Shapes(harness.Mariadb):
    def connections(self):
        return int(self.sql("show global status like 'Connections'").split()[-1])

    def test_churn(self):
        before = self.connections()
        _, run = self.run_append("5", "5000", self.url, "--churn", "2", code=None)
        # Each session has ten batches, and reconnects after the second, fourth, sixth and eighth batch.
        self.assertEqual(run.json["counters"]["churns"], 20)
        self.assertEqual(run.json["latencies"]["reconnect"]["count"], 20)
        self.assertEqual(run.json["latencies"]["connect"]["count"], 5)
        self.assertGreaterEqual(self.connections() - before, 25)
        self.assertEqual(self.count(), 5000)

    def test_idle_sessions(self):
        _, run = self.run_append("2", "2000", self.url, "--idle", "30", code=None)
        self.assertEqual(run.sessions["finished"], 32)
        self.assertEqual(max(int(row["sessions_alive"]) for row in run.table("intervals.csv"))
                         <= 32, True)
        self.assertEqual(self.count(), 2000)


if __name__ == "__main__":
    harness.main()
