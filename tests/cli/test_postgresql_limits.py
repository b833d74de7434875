"""Limits around a PostgreSQL server, each set low in turn, and a killed server."""

import os
import pathlib
import re
import signal
import subprocess
import time

import harness
from confine import Confined, Network
from harness import PrivateServer


class PostgresqlLimits(Confined):
    def test_open_files(self):
        server = PrivateServer(self)
        command = self.command("nofile=150")
        finding = self.check_limit(command, 300, server.url, code=3,
                                   first="RLIMIT_NOFILE", limit=("open_files", "client"))
        self.assertRegex(finding["evidence"], r"socket: Too many open files; .*150")

    def test_max_connections(self):
        server = PrivateServer(self, max_connections=153)
        command = self.command()
        finding = self.check_limit(command, 300, server.url, code=4,
                                   first="max_connections", limit=("sessions", "database"))
        self.assertRegex(finding["evidence"], r"slots|too many clients")
        self.assertRegex(finding["evidence"], r"150 allowed")
        self.assertRegex(finding["fix"], r"max_connections")

    def test_connection_limit_of_the_role(self):
        server = PrivateServer(self)
        harness.psql(server.superuser_url, "alter role append connection limit 120")
        command = self.command()
        finding = self.check_limit(command, 200, server.url, code=4,
                                   first="rolconnlimit", limit=("sessions", "database"))
        self.assertIn("120 allowed", finding["evidence"])

    def test_ephemeral_ports(self):
        network = Network(self, ipv4__ip_local_port_range="40000 40149")
        server = PrivateServer(self, prefix=network.enter)
        command = self.command(enter=network.enter)
        predicted, first = self.predict(command, 300, server.url)
        self.assertEqual(first, "ip_local_port_range")
        time.sleep(1.5)  # the kernel reuses the port of a closed connection after 1 s
        ended, run = self.stop_run(command, 300, server.url, code=3)
        finding = self.check_stop(run, ended, predicted, "ports", "client")
        self.assertRegex(finding["evidence"], r"connect: Cannot assign requested address; 1\d\d of")

    def postmaster(self, server):
        return int((server.home / "data" / "postmaster.pid").read_text().splitlines()[0])

    def lock_table(self, url):
        """Returns a psql that holds the table until it reads a commit."""
        client = subprocess.Popen(["psql", "-X", "-q", "-A", "-t", url], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.reap_client, client)
        client.stdin.write("begin; lock table syslog_table; select 'locked';\n")
        client.stdin.flush()
        self.assertEqual(client.stdout.readline(), "locked\n")
        return client

    def reap_client(self, client):
        client.kill()
        client.wait()
        client.stdin.close()
        client.stdout.close()

    def test_listen_backlog(self):
        """A server that does not accept for a while: its backlog holds a few waiting connections.

        The first SYN of the others is dropped, and so are the SYNs repeated after 1 s and 3 s. Then the
        server goes on; the next SYN would be sent after 7 s, but connects end after 6 s.
        """
        sessions, backlog = 400, 150
        network = Network(self, core__somaxconn=backlog)
        linear = pathlib.Path("/proc/sys/net/ipv4/tcp_syn_linear_timeouts")
        if linear.exists():
            network.run("sh", "-c", f"echo 0 > {linear}")
        server = PrivateServer(self, prefix=network.enter)
        command = self.command(enter=network.enter)
        options = ["--connect-concurrency", sessions, "--connect-timeout", 6]
        waiting = backlog + 1  # the kernel refuses connections above this number
        # The set-up waits for a lock while the postmaster is stopped, so no session has begun yet.
        port = re.search(r":(\d+)/", server.url).group(1)
        socket_url = f"postgresql://postgres@/append?host={server.home}&port={port}"
        self.run_append(1, 10, server.url, program=command)
        lock = self.lock_table(socket_url)
        out = self.out()
        process = self.start(sessions, sessions * 10, server.url, "--no-check", "--read", "none",
                             *options, "--out", out, program=command)
        harness.wait_until(
            lambda: harness.psql(socket_url, "select count(*) from pg_locks where not granted") == "1",
            "the set-up to wait for the table")
        pid = self.postmaster(server)
        os.kill(pid, signal.SIGSTOP)
        self.addCleanup(os.kill, pid, signal.SIGCONT)
        before = network.count("ListenDrops")
        lock.communicate("commit;\n", timeout=harness.GUARD_S)
        dropped = 3 * (sessions - waiting)
        harness.wait_until(lambda: network.count("ListenDrops") - before >= dropped,
                           "connections to be dropped three times")
        os.kill(pid, signal.SIGCONT)
        ended = self.end(process, 4)
        run = self.check_run(out, ended.code)
        finding = self.check_stop(run, ended, waiting, "backlog", "server")
        self.assertEqual(run.sessions["timed_out"], sessions - run.sessions["connected"])
        self.assertRegex(finding["evidence"], r"ListenOverflows grew by \d{3}")
        self.assertRegex(finding["fix"], r"net\.core\.somaxconn.*--connect-concurrency")

    def kill(self, server, program, *options):
        """Returns the findings of a run whose server is killed while 20 sessions append."""
        out = self.out()
        process = self.start(20, 20_000_000, server.url, "--out", out, "--read", "none", *options,
                             program=program)
        self.wait_for_rows(process, out)
        server.kill()
        ended = self.end(process, 1)
        return self.check_finding(self.check_run(out, ended.code), ended, "gone", "server", 20)

    def test_a_killed_server(self):
        server = PrivateServer(self)
        pid = self.postmaster(server)
        finding = self.kill(server, self.command(), "--server-pid", pid)
        self.assertRegex(finding["evidence"], rf"\(pid {pid}\) ended; .* into the run$")

    def test_a_killed_server_of_another_user(self):
        """The server's process is not visible."""
        finding = self.kill(PrivateServer(self), self.command())
        self.assertRegex(finding["evidence"], r"^nothing listens on port \d+ any more; .* the run$")


if __name__ == "__main__":
    harness.main()
