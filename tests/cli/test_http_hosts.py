"""Several hosts with HTTP, and hosts with an IPv6 address: stand-ins for ClickHouse."""

import re
import socket
import unittest

import harness
from hosts import HostsCase
from http_faults import Fault, Server

TSV = ("--method", "tsv")


class Hosts(HostsCase):
    def servers(self, count):
        return [Server(self) for _ in range(count)]

    @staticmethod
    def place(server):
        return server.place

    @staticmethod
    def url(*places):
        return f"clickhouse://{','.join(places)}/default"

    @staticmethod
    def count(server):
        return server.rows

    @staticmethod
    def stop(server):
        server.stop()

    def test_spread(self):
        servers = self.servers(2)
        places = [server.place for server in servers]
        _, run = self.run_append(6, 600, self.url(*places), *TSV)
        self.assertEqual([int(self.hosts(run)[place]["sessions"]) for place in places], [3, 3])
        self.assertEqual([server.rows for server in servers], [300, 300])
        servers[0].stop()
        ended, run = self.run_append(6, 600, self.url(*places), *TSV)
        self.assertEqual([int(self.hosts(run)[place]["sessions"]) for place in places], [0, 6])
        self.assertIn(f"host {places[0]} is not set up", ended.err)
        servers[1].stop()
        self.refused(6, 600, self.url(*places), *TSV, code=4,
                     pattern=re.escape(f"nothing listens on {places[1]}"))

    def test_an_outage_of_one(self):
        self.run_with_outages(*TSV)

    def test_in_doubt_at_one(self):
        """Rows that one host accepted without an answer are in doubt there, and not sent to the other host."""
        one, two = Server(self, lambda request: Fault(b"", "close")
                          if (request["kind"], request["number"]) == ("insert", 3) else None), Server(self)
        _, run = self.run_append(2, 400, self.url(one.place, two.place), *TSV, "--batch", 20, "--on-drop",
                                 "reconnect", code=1)
        hosts = self.hosts(run)
        self.assertEqual([hosts[server.place]["rows_in_doubt"] for server in (one, two)], ["20", "0"])
        self.assertEqual(one.rows + two.rows, 400)
        self.assertEqual(run.verification["in_doubt_arrived"], 20)


@unittest.skipUnless(socket.has_ipv6, "Python has no IPv6")
class Ipv6(harness.Case):
    def server(self):
        try:
            return Server(self, host="::1")
        except OSError as error:
            self.skipTest(f"no address ::1 here: {error}")

    def test_an_address_in_brackets(self):
        server = self.server()
        for target in (server.url, server.place):
            ended, run = self.run_append(2, 200, target, *TSV)
            self.assertEqual(run.rows["acknowledged"], 200)
            self.assertIn(f"@{server.place}/default (ClickHouse", ended.out)
        self.assertEqual(server.rows, 400)
        self.assertEqual({re.search(r"\r\nHost: (\S+)", head)[1] for head in server.heads}, {server.place})

    def test_in_a_list(self):
        servers = [self.server(), Server(self)]
        _, run = self.run_append(2, 200, f"clickhouse://{servers[0].place},{servers[1].place}/default", *TSV)
        self.assertEqual([(row["host"], row["rows_acknowledged"]) for row in run.table("hosts.csv")],
                         [(server.place, "100") for server in servers])
        self.assertEqual([server.rows for server in servers], [100, 100])


if __name__ == "__main__":
    harness.main()
