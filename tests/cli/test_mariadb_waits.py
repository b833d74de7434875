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


class MariadbKernel(kernel_waits.KernelWaits, harness.Mariadb):
    pass


if __name__ == "__main__":
    harness.main()
