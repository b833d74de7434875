"""append certify with PostgreSQL: interrupted, killed, and without root."""

import os
import pathlib
import signal

import certify
import harness

OTHER_USER = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")


class Interrupted(certify.Power):
    """Ctrl-C, and SIGKILL of append, in every phase of a run."""

    def setUp(self):
        super().setUp()
        self.started = {}

    def log_has(self, out, text, times):
        log = out / "server.log"
        return log.is_file() and log.read_text().count(text) >= times

    def runs(self, folder, text):
        """Returns whether a process with this text in its command line works for this run."""
        for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = entry.read_bytes().decode(errors="replace")
                where = os.readlink(entry.parent / "cwd")
                if text in words and (str(folder) in words or where.startswith(str(folder))):
                    return True
            except OSError:
                continue
        return False

    def begin_all(self):
        """Starts a run for each phase. Returns {phase: a function that returns whether the run has reached it}."""
        phases = {
            "disk": lambda out, temp: any(temp.iterdir()),
            "initdb": lambda out, temp: self.runs(temp, "initdb"),
            "load": lambda out, temp: self.runs(temp, "postgres: append"),
            "recovery": lambda out, temp: self.log_has(out, "starting PostgreSQL", 2),
            "reading back": lambda out, temp: self.log_has(out, "ready to accept connections", 2),
        }
        for name in phases:
            temp = self.temp / name.replace(" ", "-")
            temp.mkdir()
            temp.chmod(0o1777)
            run = self.begin("--server", "postgresql", "--faults", "power:20", env={"TMPDIR": str(temp)})
            self.started[name] = (*run, temp)
        return phases

    def signal_all(self, number):
        waiting = self.begin_all()

        def are_signalled():
            for name, has_reached in list(waiting.items()):
                process, out, temp = self.started[name]
                self.assertIsNone(process.poll(), f"{name}: ended too early")
                if has_reached(out, temp):
                    process.send_signal(number)
                    del waiting[name]
            return not waiting

        harness.wait_until(are_signalled, f"phases {list(waiting)}")

    def test_ctrl_c(self):
        self.signal_all(signal.SIGINT)
        for name, (process, out, temp) in self.started.items():
            with self.subTest(phase=name):
                ended = self.end(process, 130)
                self.assertEqual(certify.Certificate(out).json["verdict"], "unfinished", ended)
                self.assertEqual(list(temp.iterdir()), [])
                temp.rmdir()
        self.check_nothing_left()

    def test_sigkill(self):
        self.signal_all(signal.SIGKILL)
        for process, _, _ in self.started.values():
            self.assertEqual(process.wait(), -signal.SIGKILL)
        harness.wait_until(lambda: not self.processes() and not self.mounts(), "the servers to end")
        self.check_nothing_runs()
        for name, (_, out, temp) in self.started.items():
            for left in temp.iterdir():
                self.assertRegex(left.name, "^append-certify-", name)
            if name != "disk":  # whose image may still have its name
                self.assertFalse((out / "disk.img").exists(), name)


class NotRoot(certify.Certifying):
    def setUp(self):
        super().setUp()
        if os.geteuid() == 0:
            self.prefix = OTHER_USER
            self.folder.chmod(0o777)
        else:
            self.prefix = ()

    def start(self, *arguments, **options):
        options["program"] = self.prefix[0] if self.prefix else harness.BINARY
        return super().start(*self.prefix[1:], *([harness.BINARY] if self.prefix else []), *arguments, **options)

    def test_power(self):
        self.refused("certify", 2, "--server", "postgresql", "--faults", "power:1", "--out", self.out(), code=3,
                     pattern="Operation not permitted: .*needs root")
        self.check_nothing_left()

    def test_kill(self):
        ended, certificate = self.certify("--server", "postgresql", "--faults", "kill:2", code=0)
        self.check_clean(ended, certificate, {"kill": 2})
        self.assertIn("No power loss was tested", ended.out)

    def test_proof_by_kills(self):
        ended, certificate = self.certify("--server", "postgresql", "--prove", "--faults", "kill:2", code=0)
        self.check_clean(ended, certificate, {"kill": 2})
        self.assertGreater(certificate.json["proof"]["found"]["lost"], 0)

    def test_a_server_of_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("only root starts a server as another user")
        server = harness.PrivateServer(self)
        pid = (server.home / "data/postmaster.pid").read_text().split()[0]
        ended = self.end(self.begin(server.url, "--faults", "kill:1", "--server-start", "true", "--yes",
                                    "--server-pid", pid)[0], 2)
        self.assertRegex(ended.reason,
                         "cannot send signals to the server's process.*as root or as the server's user")
        self.assertEqual(harness.psql(server.url, "select 1"), "1")


if __name__ == "__main__":
    harness.main()
