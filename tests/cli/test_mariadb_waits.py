"""--waits on MariaDB."""

import harness
import kernel_waits
import waits


class MariadbWaits(waits.Waits, harness.Mariadb):
    LOCK = "select get_lock('append_waits', 60), sleep(0.05), release_lock('append_waits')"
    LOCK_DURATION = "28s"
    LOCK_EVENT = "User lock"
    SLEEP_EVENT = "User sleep"

    def lock_for_3_s(self):
        self.sql("lock tables syslog_table write; select sleep(3); unlock tables")

    def test_sessions_that_compute(self):
        """The server names a stage; the kernel says of each of the sessions that it computes, or waits for a CPU."""
        script = self.folder / "compute.lua"
        script.write_text(self.WORKLOAD % "select benchmark(1000000, md5('a'))")
        _, run = self.run_append("6", self.url, "--workload", script, "--duration", "4s", "--waits")
        self.check_waits(run)
        self.assertGreater(self.shares(run, "statement.work")["cpu"]["share_percent"], 90)


class MariadbKernel(kernel_waits.KernelWaits, harness.Mariadb):
    pass


if __name__ == "__main__":
    harness.main()
