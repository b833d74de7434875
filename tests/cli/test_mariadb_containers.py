"""A server in a container: found through docker or podman, measured by its cgroup.

The tests need neither program: fake programs print the same as the real ones. The cgroups are real,
and the server's process is moved into them.
"""

import json
import os
import pathlib
import secrets
import shutil
import signal
import stat
import subprocess

import harness

CGROUPS = pathlib.Path("/sys/fs/cgroup")
NO_SUCH = {"docker": (1, "Error response from daemon: No such container: {}"),
           "podman": (125, 'Error: inspecting object: no such container "{}"')}


def inspected(identity, pid, status="running", **more):
    """Returns the output of inspect (Docker 28, Podman 4), without the parts that append ignores."""
    return json.dumps([{"Id": identity, "Created": "2026-01-31T12:00:00.123456789Z",
                        "Path": "docker-entrypoint.sh", "Args": ["mariadbd"],
                        "State": {"Status": status, "Running": status == "running",
                                  "Paused": False, "Restarting": False, "OOMKilled": False,
                                  "Dead": False, "Pid": pid, "ExitCode": 0, "Error": "", **more},
                        "Name": "/db"}], indent=4)


def has_ended(pid):
    try:
        return ") Z " in pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True


class Containers(harness.Mariadb):
    def setUp(self):
        super().setUp()
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        self.identity = secrets.token_hex(32)

    def program(self, name, script):
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def knows(self, name, text):
        """Makes a program that only knows the container db."""
        code, error = NO_SUCH[name]
        (self.bin / f"{name}.json").write_text(text + "\n")
        self.program(name, '[ "$1 $2" = "inspect --type=container" ] || exit 99\n'
                     f'[ "$3" != db ] || exec /bin/cat {self.bin}/{name}.json\n'
                     f"echo '[]'; echo '{error.format('other')}' >&2; exit {code}")

    def with_path(self, *arguments, code=0, **options):
        return self.append(*arguments, code=code, env={"PATH": str(self.bin)}, **options)

    def says(self, pattern, *arguments):
        before = set(self.folder.rglob("*"))
        ended = self.with_path("2", "100", self.url, "--container", "db", *arguments, code=2)
        self.assertRegex(ended.reason, pattern)
        self.assertEqual(set(self.folder.rglob("*")), before, "a run that never began left files")

    def server_in_cgroup(self, root, *parts):
        """Starts a private server in a new cgroup. Returns it, its pid, and the first part's cgroup."""
        if os.geteuid() != 0 or not root.is_dir():
            self.skipTest(f"needs root and cgroups at {root}")
        server = harness.PrivateMariadb(self)
        folders = [root.joinpath(*parts[:i]) for i in range(1, len(parts) + 1)]
        pid = int((server.home / "pid").read_text())
        for folder in folders:
            folder.mkdir()
            self.addCleanup(folder.rmdir)
        (folders[-1] / "cgroup.procs").write_text(str(pid))
        home = root / pathlib.Path("/proc/self/cgroup").read_text().split(
            ":memory:" if root.name == "memory" else "0::")[1].splitlines()[0].lstrip("/")
        self.addCleanup(lambda: (home / "cgroup.procs").write_text(str(pid)))
        return server, pid, folders[0]

    def check_resources(self, run, pid, folder):
        self.assertEqual(run.json["plan"]["container"], "db")
        self.assertEqual(run.json["plan"]["server_pid"], pid)
        self.assertEqual(run.json["plan"]["server_cgroup"], folder)
        resources = run.json["resources"]
        self.assertEqual(resources["memory_source"], "pss" if folder is None else "cgroup")
        self.assertGreater(run.json["figures"]["max_memory_mib"], 0)
        self.assertGreater(resources["max_server_cpu_percent"], 0)
        return resources

    def test_version_1(self):
        server, pid, folder = self.server_in_cgroup(CGROUPS / "memory",
                                                    f"append-test-{self.identity}", "inner")
        self.knows("docker", inspected(self.identity, pid))
        _, run = self.run_append("4", "4000", server.url, "--container", "db",
                                 env={"PATH": str(self.bin)})
        resources = self.check_resources(run, pid, str(folder))
        self.assertEqual(resources["server_name"], "mariadbd")
        process = self.start("check", "4", server.url, "--container", "db", "--json",
                             env={"PATH": str(self.bin)})
        limits = json.loads(self.end(process, 0).out)["limits"]
        self.assertIn("server", {limit["side"] for limit in limits})

    def test_version_2(self):
        """The files of memory are mounted over the cgroup, because here version 1 has the controller."""
        root = next((path for path in (CGROUPS / "unified", CGROUPS)
                     if (path / "cgroup.controllers").is_file()), CGROUPS / "unified")
        name = f"libpod-{self.identity}.scope"
        server, pid, folder = self.server_in_cgroup(root, name, "container")
        laid_over = self.folder / "files"
        laid_over.mkdir()
        shutil.copy(harness.ROOT / "tests/unit/data/memory_stat_v2", laid_over / "memory.stat")
        (laid_over / "cgroup.procs").write_text(f"{pid}\n")
        (laid_over / "cpu.stat").write_text("usage_usec 5000000\nuser_usec 1\nsystem_usec 1\n")
        self.knows("podman", inspected(self.identity, pid, ConmonPid=1,
                                       CgroupPath=f"/machine.slice/{name}"))
        out = self.out()
        process = self.start(
            "--mount", "/bin/sh", "-c", '/bin/mount --bind "$0" "$1" && shift && exec "$@"',
            laid_over, folder, harness.BINARY, "4", "4000", server.url, "--container", "db",
            "--out", out, program="/usr/bin/unshare", env={"PATH": str(self.bin)})
        self.end(process, 0)
        run = self.check_run(out, 0)
        self.assertEqual(run.json["plan"]["server_cgroup"], str(folder))
        lines = dict(line.split() for line in (laid_over / "memory.stat").read_text().splitlines())
        self.assertEqual(run.json["resources"]["memory_source"], "cgroup")
        self.assertAlmostEqual(run.json["figures"]["max_memory_mib"],
                               (int(lines["anon"]) + int(lines["shmem"])) / 2**20, places=1)

    def test_without_a_cgroup_of_its_own(self):
        """Podman without cgroups: the process is a descendant of conmon."""
        shutil.copy("/bin/sh", self.folder / "conmon")
        conmon = subprocess.Popen([self.folder / "conmon", "-c", "sleep 600 & echo $!; wait"],
                                  stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        self.addCleanup(conmon.stdout.close)
        self.addCleanup(conmon.wait)
        self.addCleanup(conmon.kill)
        pid = int(conmon.stdout.readline())
        self.addCleanup(os.kill, pid, 9)
        self.knows("podman", inspected(self.identity, pid, CgroupPath=""))
        _, run = self.run_append("2", "100", self.url, "--container", "db",
                                 env={"PATH": str(self.bin)})
        self.assertEqual(run.json["plan"]["server_pid"], pid)
        self.assertIsNone(run.json["plan"]["server_cgroup"])
        self.assertEqual(run.json["resources"]["server_name"], "sleep")

    def test_podman_is_asked_where_docker_does_not_know(self):
        self.knows("docker", "[]")
        self.program("docker", "echo '[]'; echo 'Error response from daemon: No such container: db'"
                     " >&2; exit 1")
        self.knows("podman", inspected(self.identity, 0, "exited"))
        self.says("podman reports that the container is not running .exited.")

    def test_not_there(self):
        self.says("neither docker nor podman is installed")
        self.program("docker", "echo '[]'; echo 'Error response from daemon: No such container: db'"
                     " >&2; exit 1")
        self.says("--container db: docker: Error response from daemon: No such container: db$")
        self.program("podman", "echo '[]'; echo 'Error: inspecting object: no such container \"db\"'"
                     " >&2; exit 125")
        self.says("docker: .*No such container: db; podman: Error: .*no such container \"db\"$")
        self.program("docker", "echo 'Cannot connect to the Docker daemon at unix:///var/run/docker"
                     ".sock. Is the docker daemon running?' >&2; exit 1")
        (self.bin / "podman").unlink()
        self.says("Cannot connect to the Docker daemon")

    def test_not_usable(self):
        self.knows("docker", inspected(self.identity, 0, "exited"))
        self.says("docker reports that the container is not running .exited.")
        self.knows("docker", "Emulate Docker CLI using podman.")
        self.says("the output of docker inspect cannot be parsed")
        self.program("docker", "exit 1")
        self.says("docker: inspect failed without an error message")
        self.program("docker", "kill -9 $$")
        self.says("docker: inspect failed without an error message")
        self.knows("docker", inspected(self.identity, os.getpid()))
        self.says(r"process \d+, which docker reports, is not in the container on this machine: it may "
                  "run on another machine")

    def test_no_answer(self):
        self.program("docker", "exec /bin/sleep 600")
        self.says("docker inspect did not answer within 10 s")

    def test_interrupted(self):
        """Ctrl-C while docker does not answer: docker and its children end."""
        pids = self.folder / "pids"
        self.program("docker", f'/bin/sleep 600 & echo $$ $! > "{pids}.new"; '
                     f'/bin/mv "{pids}.new" "{pids}"; wait')
        process = self.start("2", "100", self.url, "--container", "db", env={"PATH": str(self.bin)})
        harness.wait_until(pids.exists, "docker to be asked")
        process.send_signal(signal.SIGINT)
        ended = self.end(process, 130)
        self.assertIn("interrupted before the first session", ended.reason)
        for pid in pids.read_text().split():
            harness.wait_until(lambda pid=pid: has_ended(pid), f"{pid} to end")

    def test_bad_usage(self):
        for name in ("", "-x", "a b", "a/b", "../x", "a" * 101):
            self.refused("2", "100", self.url, "--container", name, code=2,
                         pattern="--container .* is not (the name|allowed)")
        self.refused("2", "100", self.url, "--container", "db", "--server-pid", os.getpid(), code=2,
                     pattern="leave out --server-pid")
        self.refused("2", "100", self.url, "--container", "db", "--server-cgroup", "/tmp", code=2,
                     pattern="leave out --server-cgroup")
        self.refused("2", "100", "null:", "--container", "db", code=2,
                     pattern="--container does not apply to null")
        self.refused("check", "2", "--container", "db", code=2, pattern="--container needs a TARGET")

    def test_plan_asks_nobody(self):
        self.program("docker", "exit 1")
        self.with_path("2", "100", self.url, "--container", "db", "--plan")


class NamedCgroup(harness.Mariadb):
    def test_relative_to_the_mount(self):
        """--server-cgroup takes a path below /sys/fs/cgroup."""
        path = pathlib.Path("/proc/self/cgroup").read_text().split(":memory:")
        if len(path) != 2 or not (CGROUPS / "memory").is_dir():
            self.skipTest("no memory controller of version 1")
        relative = "memory" + path[1].splitlines()[0].rstrip("/")
        _, run = self.run_append("2", "100", self.url, "--server-cgroup", relative)
        self.assertEqual(run.json["resources"]["memory_source"], "cgroup")
        self.refused("2", "100", self.url, "--server-cgroup", "memory/append-none", code=2,
                     pattern="/sys/fs/cgroup/memory/append-none: No such file")


if __name__ == "__main__":
    harness.main()
