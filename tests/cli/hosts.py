"""Several hosts in a URL that are separate databases; one host is down for a while."""

import harness


class HostsCase(harness.Case):
    """Subclasses have servers(count), place(server) as in a URL, url(*places), count(server) for the
    rows, and stop(server) and restart() for one server."""

    def hosts(self, run):
        """Returns the rows of hosts.csv by host, after checking that they add up to the run's figures and match
        run.json."""
        table = run.table("hosts.csv")
        for column, total in (("rows_acknowledged", run.rows["acknowledged"]),
                              ("rows_rejected", run.rows["rejected"]),
                              ("rows_in_doubt", run.rows["in_doubt"]),
                              ("sessions", run.sessions["connected"]),
                              *((name, run.json["counters"][name]) for name in (
                                  "reconnects", "connections_lost", "connects_failed", "appends",
                                  "reads"))):
            self.assertEqual(sum(int(row[column]) for row in table), total, column)
        for row, entry in zip(table, run.json["hosts"], strict=True):
            self.assertEqual({key for key in entry} - {"not_counted"}, set(row))
            self.assertEqual(entry["host"], row["host"])
            self.assertEqual(entry["rows_acknowledged"], int(row["rows_acknowledged"]))
        intervals = run.table("hosts_intervals.csv")
        for row in table:
            mine = [other for other in intervals if other["host"] == row["host"]]
            for column, there in (("rows_acknowledged", "rows"), ("errors", "errors"),
                                  ("reconnects", "reconnects")):
                self.assertEqual(sum(int(other[there]) for other in mine), int(row[column]), column)
        return {row["host"]: row for row in table}

    def seconds_of(self, out, host):
        """Returns the rows of each second at a host that the run has written so far."""
        path = out / "hosts_intervals.csv"
        lines = path.read_bytes().decode().split("\r\n")[1:] if path.is_file() else []
        cells = [line.split(",") for line in lines[:-1]]
        return {row[0]: int(row[3]) for row in cells if row[2] == host}

    def wait_for_outage(self, out, idle, busy):
        """Waits for a second with rows at the busy host and without rows at the idle one."""
        def is_seen():
            rows = self.seconds_of(out, busy)
            return [start for start, count in self.seconds_of(out, idle).items()
                    if count == 0 and rows.get(start, 0) > 0]

        harness.wait_until(is_seen, f"an outage of {idle}")

    def wait_for_rows_at(self, process, out, host, rows):
        """Waits until `rows` more rows were acknowledged at the host."""
        def there():
            return sum(self.seconds_of(out, host).values())

        before = there()
        harness.wait_until(lambda: process.poll() is not None or there() >= before + rows,
                           f"{rows} more rows at {host}")
        self.assertIsNone(process.poll(), "the run ended too early")

    def run_with_outages(self, *options):
        """Performs a run in which first one host is down for a while, then the other. Returns the Run."""
        one, two = self.servers(2)
        a, b = self.place(one), self.place(two)
        out = self.out()
        process = self.start(6, self.url(a, b), "--rate", 3000, "--batch", 20, "--duration",
                             40 * harness.SLOW, "--on-drop", "reconnect:1000", "--mark", "2=outage",
                             *options, "--out", out)
        self.wait_for_rows_at(process, out, a, 500)
        self.wait_for_rows_at(process, out, b, 500)
        self.stop(one)
        self.wait_for_rows_at(process, out, b, 3000)  # also from sessions that were at a
        self.wait_for_outage(out, a, b)
        one.restart()
        self.stop(two)  # all sessions move back to the first host
        self.wait_for_rows_at(process, out, a, 3000)
        self.wait_for_outage(out, b, a)
        two.restart()
        self.wait_for_rows_at(process, out, a, 500)
        process.send_signal(harness.signal.SIGINT)
        self.end(process, 130)
        run = self.check_run(out, 130)
        hosts = self.hosts(run)
        self.assertGreaterEqual(int(hosts[a]["connections_lost"]), 3)
        self.assertGreaterEqual(int(hosts[b]["connections_lost"]), 6)
        self.assertGreaterEqual(int(hosts[b]["reconnects"]), 3)
        self.assertGreaterEqual(int(hosts[a]["reconnects"]), 6)
        for server, host in ((one, a), (two, b)):
            row = hosts[host]
            acknowledged, doubt = int(row["rows_acknowledged"]), int(row["rows_in_doubt"])
            self.assertGreaterEqual(acknowledged, 3000)
            counted = self.count(server)
            self.assertEqual(counted, int(row["rows_after"]))
            self.assertTrue(acknowledged <= counted <= acknowledged + doubt, (counted, row))
        self.assertEqual(run.verification["lost"], 0)
        self.assertEqual(run.sessions["dropped"], 0)
        return run
