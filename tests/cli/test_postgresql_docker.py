"""PostgreSQL in a container of a real Docker daemon: found, measured, restarted under load."""

import json
import os
import re
import resource
import shlex
import signal
import xml.etree.ElementTree

import containers
import harness

PORT = containers.PORT
URL = containers.URL


def parse_compose():
    """Returns the service postgresql of compose.yaml as arguments of docker run."""
    import yaml
    service = yaml.safe_load((harness.ROOT / "compose.yaml").read_text())["services"]["postgresql"]
    health = service.pop("healthcheck")
    if health["test"][0] != "CMD":
        raise AssertionError(health)
    words = ["--health-cmd", shlex.join(health.pop("test")[1:])]
    for name, value in health.items():
        words += [f"--health-{name.replace('_', '-')}", str(value)]
    image, command = service.pop("image"), service.pop("command")
    words += ["--name", service.pop("container_name"), "--shm-size", service.pop("shm_size")]
    for name, value in service.pop("environment").items():
        words += ["--env", f"{name}={value}"]
    for port in service.pop("ports"):
        words += ["--publish", port]
    for place in service.pop("tmpfs"):
        words += ["--tmpfs", f"{place}:mode=1777"]
    for name, value in service.pop("ulimits").items():
        bounds = list(value.values()) if isinstance(value, dict) else [value, value]
        # even root may be unable to raise the limits of this machine, for example in a container
        most = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))[1]
        soft, hard = (bound if most < 0 else min(bound, most) for bound in bounds)
        words += ["--ulimit", f"{name}={soft}:{hard}"]
    if service:
        raise AssertionError(f"compose.yaml has more than this test knows: {service}")
    return words, image, command


class Docker(containers.Contained):
    ENGINE = containers.Daemon

    def published(self, *words):
        self.server("--publish", f"127.0.0.1:{PORT}:5432", *words)

    def test_limits_of_the_container(self):
        """`check` names the first limit, and the command that it names raises the limit."""
        self.published("--memory", "512m", "--pids-limit", "150")
        ended = self.append("check", 200, URL, "--container", "db", code=4)
        text = " ".join(ended.out.split())
        self.assertRegex(text, r"FAIL pids\.max 200 1\d\d 1\d\d /sys/fs/cgroup/\S*/pids\.max ->")
        self.assertIn("the first limit is pids.max (server", ended.reason)
        self.assertRegex(text, r"memory\.(limit_in_bytes|max) \S+ MiB \S+ MiB")
        cure = re.search(r"-> docker (update --pids-limit \d+) CONTAINER", text)[1]
        self.engine.run(*cure.split(), "db")
        # the server may have started another process in between
        self.assertNotIn("pids.max", self.append("check", 190, URL, "--container", "db",
                                                 code=None).reason)
        _, run = self.run_append(20, harness.fewer(20000), URL, "--container", "db")
        self.check_measured(run)

    def test_without_its_name(self):
        """The process that listens on the port only forwards, and is not measured."""
        self.published()
        _, run = self.run_append(2, 1000, URL)
        self.assertIsNone(run.json["resources"]["server_pid"])
        self.assertIsNone(run.json["resources"]["max_server_memory_bytes"])
        self.assertRegex(run.json["resources"]["server_note"],
                         "port belongs to docker-proxy: .* use --container NAME")

    def test_where_the_data_is(self):
        """The data directory in the container's own overlay layer, in a volume, and in memory."""
        volume = self.folder / "volume"
        volume.mkdir()
        volume.chmod(0o1777)
        self.folder.chmod(0o755)
        # Files in an overlay are on the disk of the daemon's files; os.major is 0 if these are not on a disk.
        disk = os.major(os.stat(self.engine.home).st_dev)
        for words, is_on_disk in (((), disk != 0),
                                  (("--volume", f"{volume}:{containers.DATA}"), disk != 0),
                                  (("--tmpfs", f"{containers.DATA}:mode=1777"), False)):
            with self.subTest(words=words):
                self.engine.run("rm", "--force", "--volumes", "db", check=False)
                self.published(*words)
                _, run = self.run_append(4, harness.fewer(20000), URL, "--container", "db",
                                         *self.tracing)
                self.check_measured(run)
                io = run.json["io"]
                self.assertEqual(io["data_directory"], f"{containers.DATA}/files")
                self.assertEqual(io["device"] is not None, is_on_disk, io)
                if is_on_disk:
                    self.assertGreater(io["device_written_mib"], 0)
                    number = os.stat(self.engine.home).st_dev
                    block = f"/sys/dev/block/{os.major(number)}:{os.minor(number)}"
                    self.assertIn(f"/{io['device']}", os.path.realpath(block))
                else:
                    self.assertIn("without a disk", io["note"])
                if self.tracing:
                    self.assertGreater(run.json["io_trace"]["fsyncs"], 0)
                    self.assertEqual(run.json["io_trace"]["requests"] > 0, is_on_disk)

    def test_restart_under_load(self):
        """After a restart the container's new process is found, in its new cgroup."""
        self.published()
        before = self.first_process()
        out = self.out()
        process = self.start(4, URL, "--duration", "1h", "--rate", 400, "--batch", 10, "--read", "none",
                             "--on-drop", "reconnect", "--container", "db", "--sample-interval",
                             "0.2", "--out", out, *self.tracing)
        self.wait_for_rows(process, out)
        self.engine.run("restart", "--time", "1", "db")
        self.assertNotEqual(self.first_process(), before)
        harness.wait_until(lambda: self.is_up("db"), "the server")
        start = harness.count_lines(out / "intervals.csv")
        harness.wait_until(lambda: harness.count_lines(out / "intervals.csv") > start + 3
                           or process.poll() is not None, "three intervals more")
        sessions = set(re.findall(r"(?m)^(\d+)", self.engine.ask("top", "db", "-eo", "pid")))
        process.send_signal(signal.SIGINT)
        self.end(process, 130)
        run = self.check_run(out, 130)
        self.check_measured(run)
        self.assertIn("restarted", run.json["resources"]["server_note"])
        last = run.table("samples.csv")[-2]
        self.assertGreater(int(last["server_processes"]), 4, last)
        self.assertGreater(float(last["server_memory_mib"]), 0, last)
        self.assertNotEqual(last["server_cpu_percent"], "", last)
        if self.tracing:
            self.assertTrue(sessions & {row["pid"] for row in run.table("io.csv")
                                        if row["mode"] == "S"}, "no sync of the new server was traced")

    def test_compose_and_the_smoke_script(self):
        """PostgreSQL from compose.yaml, with the command in docs/ci.md."""
        words, image, command = parse_compose()
        name = words[words.index("--name") + 1]
        del words[words.index("--name"):words.index("--name") + 2]
        self.engine.run("tag", "append-test", image)
        self.server(*words, image=image, command=command, name=name)
        line = next(line for line in (harness.ROOT / "docs/ci.md").read_text().splitlines()
                    if line.startswith("scripts/ci-smoke.sh postgresql:"))
        script, *arguments = shlex.split(line)
        ended = self.append(*arguments, program=harness.ROOT / script,
                            env={"APPEND": harness.BINARY, "RECORDS": str(harness.fewer(20000))})
        self.assertIn("Throughput", ended.out)
        kept = self.folder / "append-smoke"
        run = self.check_run(kept / "run", 0)
        self.assertEqual(run.json["resources"]["server_name"], "postgres")
        self.assertEqual(run.json["resources"]["memory_source"], "cgroup")
        suite = xml.etree.ElementTree.parse(kept / "junit.xml").getroot()
        self.assertEqual(len(list(suite.iter("failure"))), 0)
        ended = self.append("check", 2000, *arguments, code=None)
        self.assertNotIn("max_connections", ended.reason)


if __name__ == "__main__":
    harness.main()
