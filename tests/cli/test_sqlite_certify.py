"""append certify with SQLite, whose writers are killed in place of a server."""

import os
import pathlib
import signal

import certify
import harness


class Own(certify.Power):
    def test_default(self):
        self.check_safe("--server", "sqlite")

    def test_synchronous_off(self):
        self.check_loses("--server", "sqlite", "--server-option", "synchronous=off", "--faults", "power:5")

    def test_proof(self):
        ended, certificate = self.certify("--server", "sqlite", "--prove", "--faults", "power:1", code=0)
        self.check_clean(ended, certificate, {"power": 1})
        self.assertGreater(certificate.json["proof"]["found"]["lost"], 0)


class Kills(certify.Certifying):
    def test_clean_and_repeated(self):
        ended, certificate = self.certify("--server", "sqlite", "--faults", "kill:3", code=0)
        self.check_clean(ended, certificate, {"kill": 3})
        self.check_repeats(certificate)

    def test_sessions_that_end_before_the_fault(self):
        """A fault that strikes while no session writes would show nothing."""
        process, out = self.begin("--server", "sqlite", "--faults", "kill:1")

        def find_writers():
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            return [pid for pid in children if len(list(pathlib.Path(f"/proc/{pid}/task").glob("*"))) > 1]

        os.kill(int(*harness.wait_until(find_writers, "the sessions to start")), signal.SIGKILL)
        ended, certificate = self.finish(process, out, 3)
        self.assertIn("append's process that runs the sessions ended unexpectedly", ended.reason)
        self.assertEqual(certificate.faults, [])


if __name__ == "__main__":
    harness.main()
