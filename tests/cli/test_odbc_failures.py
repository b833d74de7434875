"""ODBC drivers when connections are lost, or when the server does not answer."""

import os
import signal
import socket
import threading

import harness
from odbc_strings import parts, string


class Proxy:
    """Forwards the first connections to a server; later connections are accepted and never answered."""

    def __init__(self, case, host, port, passed):
        self.server, self.left, self.sockets = (host, int(port)), passed, []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self.listener.getsockname()[1]
        case.addCleanup(self.close)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.sockets.append(client)
            if self.left > 0:
                self.left -= 1
                server = socket.create_connection(self.server)
                self.sockets.append(server)
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=self.copy, args=ends, daemon=True).start()

    @staticmethod
    def copy(source, to):
        try:
            while data := source.recv(65536):
                to.sendall(data)
            to.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        for each in (self.listener, *self.sockets):
            each.close()


class Failures:
    """Tests for both servers."""

    SERVER = None  # a class of private servers
    BLOCKS_WITH_ROWS = None  # a query that does not end once the table has rows

    def setUp(self):
        super().setUp()
        self.keys = parts(self.url)
        self.target = string(self.keys)

    def begin(self, *options, sessions=10, rows=100_000, rate=10_000):
        out = self.out()
        process = self.start(sessions, rows, self.target, "--rate", rate, "--out", out, *options)
        self.wait_for_rows(process, out)
        return process, out

    def kill(self, number):
        """Ends sessions that append, all at once: not the first, and not the last, which asks for sizes."""
        sessions = harness.wait_until(lambda: len(found := self.sessions()) >= 10 and found,
                                      "ten sessions")
        self.kill_sessions(sorted(sessions, key=int)[10 - number:10])

    def test_three_of_ten_are_killed(self):
        process, out = self.begin()
        self.kill(3)
        ended = self.end(process, 1)
        run = self.check_run(out, 1)
        self.assertEqual(run.sessions["dropped"], 3)
        self.assertEqual(run.sessions["finished"], 7)
        self.assertEqual(run.verification["lost"], 0)
        self.assertEqual(self.count(), run.rows["acknowledged"]
                         + run.verification["in_doubt_arrived"])
        self.assertRegex(ended.reason, r"\b3\b")

    def test_ctrl_c(self):
        process, out = self.begin(rows=10_000_000)
        process.send_signal(signal.SIGINT)
        self.end(process, 130)
        run = self.check_run(out, 130)
        self.assertEqual(run.sessions["stopped"], 10)
        self.assertEqual(self.count(), run.rows["acknowledged"])

    def test_ctrl_c_while_every_read_blocks(self):
        """Only shutting down the driver's sockets ends these calls."""
        out = self.out()
        process = self.start("3", "3000", self.target, "--read", self.BLOCKS_WITH_ROWS, "--out",
                             out, "--recreate")
        harness.wait_until(lambda: len(self.blocked()) == 3, "three blocked sessions")
        process.send_signal(signal.SIGINT)
        # A blocked call may take another 10 s; the guard only detects a call that never ends.
        self.end(process, 130, timeout_s=harness.GUARD_S)
        run = self.check_run(out, 130)
        self.assertEqual(run.rows["acknowledged"], 300)
        for session in self.blocked():
            self.kill_sessions([session])

    def test_a_server_that_never_speaks(self):
        """The first connection reaches the server; the connections of the sessions do not."""
        proxy = Proxy(self, self.keys["Server"], self.keys["Port"], 1)
        target = string(self.keys, Port=proxy.port)
        _, run = self.run_append("3", "300", target, "--connect-timeout", "5s", code=4)
        self.assertEqual(run.sessions["timed_out"], 3)
        self.assertEqual(run.sessions["connected"], 0)

    def test_the_server_hangs(self):
        """Stopped processes do not answer; Ctrl-C must still end the run."""
        server = self.SERVER(self)
        out = self.out()
        process = self.start("3", "10000000", string(parts(server.url)), "--rate", "3000", "--out",
                             out)
        self.wait_for_rows(process, out)
        pids = self.pids(server)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            process.send_signal(signal.SIGINT)
            self.end(process, 130, timeout_s=harness.GUARD_S)
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
        self.check_run(out, 130)

    def test_nobody_ever_spoke(self):
        proxy = Proxy(self, self.keys["Server"], self.keys["Port"], 0)
        self.refused("3", "300", string(self.keys, Port=proxy.port), "--connect-timeout", "2s",
                     code=4, pattern=r"\S")

    def test_ctrl_c_while_nobody_speaks(self):
        """The drivers have no call to end another thread's connect."""
        proxy = Proxy(self, self.keys["Server"], self.keys["Port"], 0)
        target = string(self.keys, Port=proxy.port)
        for command in (("3", "300", target), ("check", "3", target),
                        ("find-max", target)):
            with self.subTest(command[0]):
                before = len(proxy.sockets)
                process = self.start(*command, "--connect-timeout", "1h")
                harness.wait_until(lambda: len(proxy.sockets) > before, "the connection")
                process.send_signal(signal.SIGINT)
                ended = self.end(process, 130)
                self.assertRegex(ended.reason, "interrupted")


class Postgresql(Failures, harness.Postgresql):
    SERVER = harness.PrivateServer
    BLOCKS_WITH_ROWS = ("select pg_sleep(case when (select count(*) from syslog_table) > 0"
                        " then 600 else 0 end)")

    def sessions(self, where="true"):
        return harness.psql(
            self.URL, f"select pid from pg_stat_activity where datname = '{self.database}' and"
            f" pid <> pg_backend_pid() and {where}").split()

    @staticmethod
    def pids(server):
        return [int(pid) for pid in harness.psql(
            server.superuser_url, "select pid from pg_stat_activity where usename = 'append'"
        ).split()]

    def blocked(self):
        return self.sessions("wait_event = 'PgSleep'")

    def kill_sessions(self, sessions):
        harness.psql(self.URL, ";".join(f"select pg_terminate_backend({one})" for one in sessions))


class Mariadb(Failures, harness.Mariadb):
    SERVER = harness.PrivateMariadb
    BLOCKS_WITH_ROWS = ("select sleep(case when (select count(*) from syslog_table) > 0"
                        " then 600 else 0 end)")

    def sessions(self, where="true"):
        return harness.mariadb(
            self.URL, "select id from information_schema.processlist where"
            f" db = '{self.database}' and ({where})").split()

    @staticmethod
    def pids(server):
        return [int((server.home / "pid").read_text())]

    def blocked(self):
        return self.sessions("info like '%sleep(%'")

    def kill_sessions(self, sessions):
        harness.mariadb(self.URL, *(f"kill {one}" for one in sessions))


if __name__ == "__main__":
    harness.main()
