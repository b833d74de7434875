"""--waits on PostgreSQL."""

import contextlib
import pathlib
import time

import harness
import io_trace
import kernel_waits
import waits


class PostgresqlWaits(waits.OfPostgresql, harness.Postgresql):
    pass


class Kernel(kernel_waits.KernelWaits):
    def test_kernel(self):
        """The mean number of threads is that of the server's processes, each of which has one."""
        server = harness.PrivateServer(self, is_on_disk=True, fsync="on", wal_sync_method="fdatasync",
                                       autovacuum="off")
        self.url = server.url
        # the count includes psql's own session but not the postmaster, which has a thread too
        others = int(harness.psql(server.superuser_url, "select count(*) from pg_stat_activity"))
        classes = super().test_kernel()
        self.assertAlmostEqual(sum(row["threads"] for row in classes.values()), others + 4 + 1, delta=0.3,
                               msg="append measures the table on one more connection")
        self.assertIn("fdatasync", classes["disk"]["calls"])
        self.assertIn("futex", classes["thread"]["calls"])
        self.assertIn("epoll_wait", classes["client"]["calls"])

    def test_one_cpu(self):
        """Four sessions that compute on one CPU: one computes, and three wait for it."""
        server = harness.PrivateServer(self, prefix=("taskset", "--cpu-list", "0"), autovacuum="off")
        script = self.folder / "compute.lua"
        script.write_text(waits.Waits.WORKLOAD % "select sum(i) from generate_series(1, 300000) i")
        _, run = self.run_append("4", server.url, "--workload", script, "--duration", "4s", "--waits=kernel")
        classes = self.check_kernel(run)
        self.assertLessEqual(classes["cpu"]["threads"], 1.001)
        self.assertAlmostEqual(classes["cpu"]["threads"] + classes["run_queue"]["threads"], 4, delta=0.4)

    def test_schedstat(self):
        """The sums are those that the kernel itself keeps for each process, /proc/PID/schedstat. Each call is
        woken on a CPU that other sessions use."""
        server = harness.PrivateServer(self, prefix=("taskset", "--cpu-list", "0"), autovacuum="off")
        script = self.folder / "short.lua"
        script.write_text(waits.Waits.WORKLOAD % "select 1")
        out = self.out()
        process = self.start("8", server.url, "--workload", script, "--duration", "6s", "--waits=kernel", "--out", out)

        def pids():
            return harness.psql(server.superuser_url, "select pid from pg_stat_activity where query = 'select 1'"
                                " and application_name = 'append'").split()

        harness.wait_until(lambda: len(pids()) == 8, "the sessions to work")
        latest = dict.fromkeys(pids())
        while process.poll() is None:
            for pid in latest:
                path = pathlib.Path(f"/proc/{pid}/schedstat")
                with contextlib.suppress(OSError):  # until the session ends
                    latest[pid] = [int(ns) / 1e9 for ns in path.read_text().split()[:2]]
            time.sleep(0.05)
        self.end(process, 0)
        classes = self.check_kernel(self.check_run(out, 0))
        for i, name in enumerate(("cpu", "run_queue")):
            own_s = sum(times[i] for times in latest.values())
            self.assertGreater(own_s, 0.5, name)
            self.assertAlmostEqual(classes[name]["seconds"] / own_s, 1, delta=0.1, msg=name)

    def test_with_the_trace_of_io(self):
        """Both look at the syncs of the server's log: the disk's part is not longer than the syncs."""
        server = harness.PrivateServer(self, is_on_disk=True, fsync="on", wal_sync_method="fdatasync",
                                       autovacuum="off")
        _, run = self.run_append("2", server.url, "--duration", "3s", "--batch", "1", "--read", "none",
                                 "--waits=kernel", "--io-trace")
        classes = self.check_kernel(run)
        histograms = run.json["histograms"]
        syncs_s = sum(histograms[f"io.{mode}.total"]["sum_ns"] for mode in ("read", "write", "fsync")) / 1e9
        device_s = histograms["io.fsync.device"]["sum_ns"] / 1e9
        self.assertLess(classes["disk"]["seconds"], syncs_s)
        self.assertGreater(classes["disk"]["seconds"], 0.5 * device_s)

    def test_bad_input(self):
        server = harness.PrivateServer(self)
        words = io_trace.without_privileges()
        if words is not None:
            command = [*words, harness.BINARY, "2", "100", server.url, "--waits=kernel"]
            self.refused(*command[1:], program=command[0], code=3,
                         pattern="--waits=kernel: not allowed: run append as root")
            self.assertEqual(harness.psql(server.url, "select to_regclass('syslog_table') is null"), "t")
        self.refused("find-max", server.url, "--waits=kernel", code=2,
                     pattern="--waits=kernel does not apply to find-max")
        self.refused("2", "100", "sqlite:" + str(self.folder / "test.db"), "--waits=kernel", code=2,
                     pattern="--waits=kernel does not apply to sqlite, which is part of append")


if __name__ == "__main__":
    harness.main()
