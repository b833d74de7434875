"""Ctrl-C (or SIGTERM) in every phase while the server is frozen: mixins of test cases.

Each run ends soon, with exit code 130 and complete files. The kernel still accepts connections for a
frozen server, but the server does not answer.
"""

import os
import re
import signal
import socket

import harness
from find_max import Searching

# After the signal, a blocked call may take 10 s, and counting the rows of the interrupted run another
# 10 s. The guard only detects a hang.
SOON_S = 60 * harness.SLOW


class CtrlC(Searching):
    """Subclasses name the server and the settings that make its connects slow, and list its processes."""

    SERVER = None
    SLOW_CONNECTS = {}

    def pids(self, server):
        raise NotImplementedError

    def serve(self, **settings):
        return self.SERVER(self, **settings)

    def freeze(self, server):
        """Stops every process of the server until the test ends."""
        pids = self.pids(server)
        for pid in pids:
            self.send(pid, signal.SIGSTOP)
        self.addCleanup(lambda: [self.send(pid, signal.SIGCONT) for pid in pids])

    @staticmethod
    def send(pid, number):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def wait_for_sockets(self, process, number):
        """Waits until the program has `number` sockets open."""
        def has_them():
            if process.poll() is not None:
                raise AssertionError(f"ended too early: {process.communicate()}")
            return self.count_sockets(process) >= number

        harness.wait_until(has_them, f"{number} sockets")

    @staticmethod
    def count_sockets(process):
        sockets = 0
        folder = f"/proc/{process.pid}/fd"
        for name in os.listdir(folder):
            try:
                sockets += os.readlink(f"{folder}/{name}").startswith("socket:")
            except FileNotFoundError:
                pass  # closed meanwhile
        return sockets

    def begin(self, server, *options, sessions=10, rows=10_000_000):
        out = self.out()
        process = self.start(sessions, rows, server.url, "--out", out, *options)
        self.wait_for_rows(process, out)
        return process, out

    def interrupted(self, process, out, number=signal.SIGINT):
        process.send_signal(number)
        ended = self.end(process, 130, timeout_s=SOON_S)
        self.assertIn("interrupted", ended.reason)
        return ended, self.check_run(out, 130)


class OfRuns(CtrlC):
    def test_before_the_first_session(self):
        server = self.serve()
        self.freeze(server)
        process = self.start(10, 1000, server.url, "--out", self.out())
        self.wait_for_sockets(process, 1)
        process.send_signal(signal.SIGTERM)
        ended = self.end(process, 130, timeout_s=SOON_S)
        self.assertRegex(ended.reason, "interrupted before the first session")
        self.assertFalse((self.folder / "run-1").exists())

    def test_connect_storm(self):
        server = self.serve(**self.SLOW_CONNECTS)
        out = self.out()
        process = self.start(200, 1_000_000, server.url, "--connect-concurrency", 3, "--idle", 5,
                             "--on-drop", "reconnect", "--verify", "rows", "--out", out)
        self.wait_for_sockets(process, 8)
        self.freeze(server)
        _, run = self.interrupted(process, out)
        self.assertGreater(run.sessions["not_started"], 0)
        self.assertEqual(run.rows["not_sent"], 1_000_000)

    def test_run(self):
        server = self.serve()
        process, out = self.begin(server, "--on-drop", "reconnect", "--idle", 5, "--verify", "rows",
                                  "--churn", 20)
        self.freeze(server)
        _, run = self.interrupted(process, out, signal.SIGTERM)
        self.assertGreater(run.rows["acknowledged"], 0)
        self.assertEqual(run.json["row_verification"]["state"], "failed")

    def test_reconnect_storm(self):
        """The server was killed, and a silent listener has its port."""
        server = self.serve()
        process, out = self.begin(server, "--on-drop", "reconnect:1000", "--verify", "rows")
        server.kill()
        port = int(re.search(r":(\d+)/", server.url).group(1))
        with socket.create_server(("127.0.0.1", port), backlog=100):
            self.wait_for_sockets(process, 10)
            _, run = self.interrupted(process, out)
        self.assertEqual(run.sessions["stopped"], 10)


class OfSearches(CtrlC):
    def test_check(self):
        server = self.serve()
        self.freeze(server)
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start("check", 10, server.url)
            self.wait_for_sockets(process, 1)
            process.send_signal(number)
            ended = self.end(process, 130, timeout_s=SOON_S)
            self.assertRegex(ended.reason, "interrupted before the server had answered")

    def test_find_max_hold(self):
        server = self.serve()
        out = self.out()
        process = self.start("find-max", server.url, "--hold", "600s", "--max-time", "1h", "--first",
                             5, "--out", out)
        self.wait_for_rows(process, out)
        self.freeze(server)
        process.send_signal(signal.SIGINT)
        ended = self.end(process, 130, timeout_s=SOON_S)
        search = self.check_search(out, ended)
        self.assertEqual(search.search["end"], "interrupted")

    def test_find_max_connect_storm(self):
        server = self.serve(**self.SLOW_CONNECTS)
        out = self.out()
        process = self.start("find-max", server.url, "--connect-concurrency", 2, "--first", 200,
                             "--max-sessions", 200, "--out", out)
        self.wait_for_sockets(process, 5)
        self.freeze(server)
        process.send_signal(signal.SIGTERM)
        ended = self.end(process, 130, timeout_s=SOON_S)
        search = self.check_search(out, ended)
        self.assertEqual(search.search["end"], "interrupted")
        self.assertEqual(search.levels[0]["outcome"], "unfinished")
