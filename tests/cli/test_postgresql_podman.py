"""PostgreSQL in a Podman container: found after docker was asked first, measured, restarted."""

import json
import signal

import containers
import harness


class Podman(containers.Contained):
    ENGINE = containers.Podman
    INNER_PORT = containers.PORT

    def begin(self, *words):
        self.server("--cgroup-parent", f"/{self.engine.name}", *words,
                    command=("postgres", "-c", "max_connections=300", "-c", f"port={self.INNER_PORT}"))

    def test_limits_of_the_container(self):
        """`check` reads the limits from the container's cgroup, and names podman's commands."""
        self.begin("--memory", "512m", "--pids-limit", "150")
        ended = self.append("check", 200, containers.URL, "--container", "db", code=4)
        text = " ".join(ended.out.split())
        self.assertRegex(text, r"FAIL pids\.max 200 1\d\d 1\d\d /sys/fs/cgroup/\S*/libpod-\S*/pids\.max "
                               r"-> podman run --pids-limit \d+ \.\.\.")
        self.assertIn("the first limit is pids.max (server", ended.reason)
        self.assertRegex(text, r"memory\.(limit_in_bytes|max) \S+ MiB \S+ MiB")

    def test_measured(self):
        self.begin()
        _, run = self.run_append(10, harness.fewer(20000), containers.URL, "--container", "db",
                                 *self.tracing)
        self.check_measured(run)
        state = json.loads(self.engine.ask("inspect", "--format={{json .State}}", "db"))
        self.assertTrue(run.json["plan"]["server_cgroup"].endswith(state["CgroupPath"]),
                        (run.json["plan"]["server_cgroup"], state["CgroupPath"]))
        self.assertEqual(run.json["io"]["data_directory"], f"{containers.DATA}/files")
        if self.tracing:
            self.assertGreater(run.json["io_trace"]["fsyncs"], 0)

    def test_restart_under_load(self):
        """After a restart the container's new process is found, in its new cgroup."""
        self.begin()
        before = self.first_process()
        out = self.out()
        process = self.start(4, containers.URL, "--duration", "1h", "--rate", 400, "--batch", 10,
                             "--read", "none", "--on-drop", "reconnect", "--container", "db",
                             "--sample-interval", "0.2", "--out", out)
        self.wait_for_rows(process, out)
        self.engine.run("restart", "--time", "1", "db")
        self.assertNotEqual(self.first_process(), before)
        harness.wait_until(lambda: self.is_up("db"), "the server")
        start = harness.count_lines(out / "intervals.csv")
        harness.wait_until(lambda: harness.count_lines(out / "intervals.csv") > start + 3
                           or process.poll() is not None, "three intervals more")
        process.send_signal(signal.SIGINT)
        self.end(process, 130)
        run = self.check_run(out, 130)
        self.check_measured(run)
        self.assertIn("restarted", run.json["resources"]["server_note"])

    def test_not_running(self):
        self.begin()
        self.engine.run("stop", "--time", "1", "db")
        self.refused(2, 100, containers.URL, "--container", "db", code=2,
                     pattern="podman reports that the container is not running .exited.")


if __name__ == "__main__":
    harness.main()
