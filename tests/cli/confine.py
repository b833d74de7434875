"""Runs the program and its server with low limits: as other users, in cgroups and network namespaces.

All of this needs root. Where something is not possible, the test is skipped with the reason.
"""

import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import time

import harness

CGROUPS = pathlib.Path("/sys/fs/cgroup")
RAISE_LO = ("import fcntl, socket, struct;"
            "fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sh22x', b'lo', 0x49))")


class Cgroup:
    """A new cgroup for one controller, of version 1 or 2; removed after the test."""

    def __init__(self, case, controller):
        self.is_v2 = not (CGROUPS / controller).is_dir()
        root = CGROUPS if self.is_v2 else CGROUPS / controller
        self.path = root / f"append-test-{os.getpid()}-{time.monotonic_ns()}"
        try:
            if self.is_v2:
                (root / "cgroup.subtree_control").write_text(f"+{controller}")
            self.path.mkdir()
        except OSError as error:
            case.skipTest(f"no cgroup can be made here: {error}")
        case.addCleanup(self.remove)

    def remove(self):
        """Removes the cgroup, as soon as the kernel notices that its last process has left."""
        def is_removed():
            try:
                self.path.rmdir()
                return True
            except OSError:
                return False

        harness.wait_until(is_removed, f"{self.path} to be empty")

    def write(self, v1, v2, value):
        (self.path / (v2 if self.is_v2 else v1)).write_text(str(value))

    def number(self, file, name):
        for line in (self.path / file).read_text().splitlines():
            if line.split()[0] == name:
                return int(line.split()[1])
        raise AssertionError(f"no {name} in {self.path / file}")

    @property
    def enter(self):
        """Returns words to put before a command to run it in the cgroup."""
        return ("sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(self.path))


class Network:
    """A network namespace with a loopback interface; settings are named as below /proc/sys/net/."""

    def __init__(self, case, **settings):
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "3600"],
                                       stdin=subprocess.DEVNULL)
        case.addCleanup(self.remove)
        own = os.readlink("/proc/self/ns/net")

        def is_apart():
            if self.holder.poll() is not None:
                case.skipTest("no network namespace can be made here")
            return os.readlink(f"/proc/{self.holder.pid}/ns/net") != own

        harness.wait_until(is_apart, "a network namespace")
        self.enter = ("nsenter", f"--net=/proc/{self.holder.pid}/ns/net")
        self.run(sys.executable, "-c", RAISE_LO)
        for name, value in settings.items():
            path = f"/proc/sys/net/{name.replace('__', '/')}"
            self.run("sh", "-c", 'echo "$1" > "$0"', path, str(value))

    def remove(self):
        self.holder.kill()
        self.holder.wait()

    def run(self, *command):
        return subprocess.run([*self.enter, *command], check=True, capture_output=True, text=True,
                              timeout=harness.GUARD_S, stdin=subprocess.DEVNULL).stdout

    def count(self, name):
        """Returns a counter of TcpExt."""
        lines = [line.split() for line in self.run("cat", "/proc/net/netstat").splitlines()
                 if line.startswith("TcpExt:")]
        return int(dict(zip(lines[0], lines[1]))[name])


class Confined(harness.Case):
    """Runs the program as an unused user without root privileges, so that every limit applies."""

    # An unused number, because RLIMIT_NPROC counts all tasks of a user.
    UID = 1_900_000_000 + os.getpid()

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("needs root")
        self.folder.chmod(0o777)
        self.program = self.folder / "append"
        shutil.copy(harness.BINARY, self.program)
        self.program.chmod(0o755)

    def command(self, *rlimits, enter=()):
        """Returns the words before the program's arguments; rlimits are texts such as "nproc=100"."""
        limits = ("prlimit", *(f"--{rlimit}:{rlimit.split('=')[1]}" for rlimit in rlimits))
        return (*enter, *(limits if rlimits else ()), "setpriv", f"--reuid={self.UID}",
                f"--regid={self.UID}", "--clear-groups", str(self.program))

    def start(self, *arguments, program=None, **options):
        """Starts `program`, the result of self.command; without it the program itself, unconfined."""
        command = program or (harness.BINARY,)
        return super().start(*command[1:], *arguments, program=command[0], **options)

    def as_other_user(self, tasks):
        """Returns words to put before "scripts/mariadb.sh start FOLDER": another user, with few tasks."""
        user = other_user(self)
        return ("sh", "-c", 'chown "$0" "$4" && exec prlimit --nproc="$1:$1" '
                'setpriv --reuid="$0" --regid="$0" --clear-groups "$2" "$3" "$4"', user, str(tasks))

    def check(self, command, sessions, *arguments):
        """Returns the JSON of `append check`."""
        process = self.start("check", sessions, *arguments, "--json", program=command)
        ended = self.end(process, None)
        self.assertIn(ended.code, (0, 3, 4), ended)
        return harness.json.loads(ended.out)

    def predict(self, command, sessions, *arguments):
        """Returns the number of sessions at which a run stops according to `append check`, and the limit."""
        outcome = self.check(command, sessions, *arguments)["outcome"]
        self.assertIsNotNone(outcome["max_sessions"], outcome)
        return outcome["max_sessions"], outcome["first_limit"]

    def stop_run(self, command, sessions, *arguments, code):
        """Performs a run that is certain to hit a limit. Returns (Ended, Run)."""
        return self.run_append(sessions, sessions * 10, *arguments, "--no-check", "--read", "none",
                               program=command, code=code)

    def check_stop(self, run, ended, predicted, limit, side):
        """Checks that the run stopped within 1 % of the prediction, and names the limit everywhere.

        For a limit on the server's threads the prediction may differ by 4 more sessions, because the server also
        starts and ends threads of its own.
        """
        connected = run.sessions["connected"]
        self.assertGreaterEqual(connected, 100, "1 % must be at least one session")
        spare = 4 if side == "server" and limit.endswith("_tasks") else 0
        self.assertLessEqual(abs(predicted - connected), connected / 100 + spare, run.sessions)
        return self.check_finding(run, ended, limit, side, run.sessions["requested"] - connected)

    def check_limit(self, command, sessions, *arguments, first, code, limit):
        """Checks that the first limit that `check` predicts stops a run at the predicted number, and that the
        run names the limit.

        `limit`: the id and side in run.json. Returns the finding.
        """
        predicted, named = self.predict(command, sessions, *arguments)
        self.assertEqual(named, first)
        ended, run = self.stop_run(command, sessions, *arguments, code=code)
        finding = self.check_stop(run, ended, predicted, *limit)
        self.assertEqual(finding["name"], first)
        return finding

    def check_finding(self, run, ended, limit, side, sessions=None):
        findings = run.json["findings"]
        self.assertGreaterEqual(len(findings), 1, ended)
        first = findings[0]
        self.assertEqual((first["limit"], first["side"]), (limit, side), findings)
        if sessions is not None:
            self.assertEqual(first["sessions"], sessions, findings)
        self.assertIn(first["name"], ended.reason)
        self.assertIn(first["name"], ended.out)
        summary = run.table("summary.csv")[0]
        self.assertEqual(summary["first_limit"], first["name"])
        self.assertEqual(summary["first_limit_side"], side)
        self.assertEqual(summary["first_limit_sessions"], str(first["sessions"]))
        return first


def other_user(case):
    """Returns a user without tasks to run a server; Debian has all of these users."""
    busy = set()
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            busy.update(int(line.split()[1]) for line in status.read_text().splitlines()
                        if line.startswith("Uid:"))
        except OSError:
            pass  # the process has ended
    for name in ("irc", "news", "uucp", "list", "lp", "games"):
        try:
            if pwd.getpwnam(name).pw_uid not in busy:
                return name
        except KeyError:
            pass
    case.skipTest("every user that could run a server already has tasks")
