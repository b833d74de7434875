"""Several hosts in a URL: two PostgreSQL servers with separate databases."""

import re
import socket
import threading

import harness
from hosts import HostsCase


class Targets(harness.Case):
    def test_bad_lists(self):
        for hosts, what in (("a,,b", "host 2 of the list has no name"),
                            ("a:0,b", "'a:0' in the list is not HOST, HOST:PORT"),
                            ("a,b:x", "'b:x' in the list is not HOST, HOST:PORT"),
                            ("a:1,b#c", "a '#' is not allowed"),
                            ("a:1,A:1", "the list of hosts has A twice, with port 1")):
            for scheme in ("postgresql", "mariadb"):
                self.refused(1, 1, f"{scheme}://{hosts}/db", code=2, pattern=re.escape(what))

    def test_a_host_twice_by_its_port(self):
        for arguments in (("mariadb://a,a:3306/db",), ("mariadb://a:1,b:2,a:3/db", "--port", 4)):
            self.refused(1, 1, *arguments, code=2, pattern="the list of hosts has a twice")

    def test_no_host_answers(self):
        self.refused(1, 1, "postgresql://127.0.0.1:1,127.0.0.1:2/db", code=4,
                     pattern="none of 2 hosts accepts a session; last error: .*127.0.0.1.*2")

    def test_policy(self):
        self.refused(1, 1, "postgresql://a,b/db", "--host-policy", "last", code=2,
                     pattern="--host-policy 'last' is not spread or first or random")
        for policy in ("spread", "first", "random"):
            self.refused(1, 1, "postgresql://a/db", "--host-policy", policy, code=2,
                         pattern="--host-policy needs several hosts")

    def test_plan(self):
        ended = self.append(1, 1, "mariadb://u@a,[::1]:99/db", "--plan")
        self.assertIn("host 1: a:3306\nhost 2: [::1]:99\n", ended.out)


class Hosts(HostsCase):
    """Runs with PostgreSQL servers that each test starts."""

    def servers(self, count=2):
        return [harness.PrivateServer(self) for _ in range(count)]

    @staticmethod
    def place(server):
        return re.search(r"@(.*)/", server.url).group(1)

    def url(self, *places):
        return f"postgresql://append@{','.join(places)}/append"

    @staticmethod
    def count(server):
        return int(harness.psql(server.url, "select count(*) from syslog_table"))

    @staticmethod
    def stop(server):
        server.stop("fast")

    def test_one_host_is_as_before(self):
        server, = self.servers(1)
        _, run = self.run_append(2, 200, server.url)
        self.assertFalse((run.folder / "hosts.csv").exists())
        self.assertFalse((run.folder / "hosts_intervals.csv").exists())
        self.assertNotIn("hosts", run.json)
        # A list in a parameter belongs to the client library.
        self.assertIsNone(run.json["plan"]["host_policy"])

    def test_spread_first_random_and_refusing(self):
        one, two = self.servers()
        a, b = self.place(one), self.place(two)
        ended, run = self.run_append(6, 600, self.url(a, b), "--verify", "rows", "--report")
        hosts = self.hosts(run)
        self.assertEqual({host: int(row["sessions"]) for host, row in hosts.items()}, {a: 3, b: 3})
        self.assertEqual([self.count(one), self.count(two)], [300, 300])
        self.assertEqual((hosts[a]["rows_after"], hosts[b]["rows_after"]), ("300", "300"))
        self.assertIn("600 after at all hosts together", " ".join(ended.out.split()))
        self.assertEqual(run.verification["rows_after"], 600)
        self.assertEqual(run.verification["lost"], 0)
        self.assertEqual(run.json["row_verification"]["present"], 600)
        self.assertFalse(run.json["are_hosts_one"])
        # Both servers are on this machine: both are measured.
        self.assertEqual(run.json["servers_measured"], 2)
        self.assertRegex(ended.out, r"2\s+servers\s+together\s+on\s+this\s+machine")
        page = (run.folder / "report.html").read_text()
        self.assertIn("Hosts", page)
        self.assertIn(b, page)

        # Each host has its own settings.
        self.assertNotIn("Durable", ended.out)
        harness.psql(two.url, "alter database append set synchronous_commit = off")
        ended, run = self.run_append(4, 400, self.url(a, b), "--host-policy", "first")
        self.assertEqual({host: settings["synchronous_commit"] for host, settings
                          in run.json["server"]["host_settings"].items()}, {a: "on", b: "off"})
        self.assertIn(f"weakened: at {b} synchronous_commit=off", " ".join(ended.out.split()))
        self.assertEqual([int(row["sessions"]) for row in self.hosts(run).values()], [4, 0])
        self.assertEqual([self.count(one), self.count(two)], [700, 300])

        drawn = []
        for _ in range(2):
            _, run = self.run_append(40, 40, self.url(a, b), "--host-policy", "random", "--seed", 7)
            drawn.append([int(row["sessions"]) for row in self.hosts(run).values()])
        self.assertEqual(drawn[0], drawn[1])
        self.assertGreater(min(drawn[0]), 0)

        # --recreate recreates the table in each database.
        _, run = self.run_append(2, 200, self.url(a, b), "--recreate")
        self.assertEqual([self.count(one), self.count(two)], [100, 100])

        # Each session that begins at a host that refuses from the start has one failed connect there.
        ended, run = self.run_append(4, 400, self.url("127.0.0.1:1", b))
        hosts = self.hosts(run)
        self.assertEqual(hosts["127.0.0.1:1"]["connects_failed"], "2")
        self.assertEqual(hosts["127.0.0.1:1"]["errors"], "2")
        self.assertEqual(hosts["127.0.0.1:1"]["rows_after"], "")
        self.assertIn("after at each host that answers", " ".join(ended.out.split()))
        self.assertEqual(hosts[b]["sessions"], "4")
        self.assertEqual(self.count(two), 500)
        self.assertEqual(run.verification["lost"], 0)
        self.assertEqual([(cause["phase"], cause["count"]) for cause in run.causes], [("host", 2)])
        self.assertIn("host 127.0.0.1:1 is not set up", ended.err)

        # All hosts refuse.
        self.refused(1, 1, self.url("127.0.0.1:1", "127.0.0.1:2"), code=4, pattern="Connection refused")

    def test_a_host_that_is_not_there_is_not_waited_for(self):
        """Sessions retry a lost connection; set-up and verification connect only once to a host that is down."""
        server, = self.servers(1)
        listener = socket.create_server(("127.0.0.1", 0))
        tries = []

        def hang_up():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                tries.append(connection.getsockname())
                connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(listener.close)
        self.addCleanup(listener.shutdown, socket.SHUT_RDWR)
        dead = f"127.0.0.1:{listener.getsockname()[1]}"
        _, run = self.run_append(4, 400, self.url(self.place(server), dead) + "?sslmode=disable",
                                 "--on-drop", "reconnect")
        self.assertEqual(self.hosts(run)[dead]["connects_failed"], "2")
        self.assertEqual(len(tries), 4, "two sessions, and one connect before and after the run")

    def test_one_database_behind_two_hosts(self):
        """Two addresses of one server stand for a cluster: each shows all rows."""
        server, = self.servers(1)
        port = self.place(server).split(":")[1]
        _, run = self.run_append(4, 400, self.url(f"127.0.0.1:{port}", f"localhost:{port}"),
                                 "--verify", "rows")
        self.hosts(run)
        self.assertTrue(run.json["are_hosts_one"])
        self.assertEqual(run.verification["rows_after"], 400)
        self.assertEqual(run.json["row_verification"]["duplicates"], 0)
        self.assertEqual(run.json["row_verification"]["present"], 400)
        self.assertEqual(run.json["servers_measured"], 1)

    def test_an_outage_of_one(self):
        run = self.run_with_outages("--verify", "rows")
        self.assertEqual(run.json["row_verification"]["lost"], 0)
        found, = [one for one in run.json["findings"] if one["limit"] == "gone"]
        for row in run.table("hosts.csv"):
            port = row["host"].split(":")[1]
            self.assertRegex(found["evidence"], rf"postgres \(pid \d+\) on port {port} ended")
        text = self.append("report", run.folder, "--text").out
        self.assertIn("Rows acknowledged each second by host", text)
        self.assertIn("outage", text)


if __name__ == "__main__":
    harness.main()
