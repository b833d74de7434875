"""find-max on PostgreSQL: the limit of the server, and a server that dies during the search."""

import time

import harness
from find_max import Searching
from harness import PrivateServer
from postgresql_proxy import Proxy

HOLD = ("--hold", "500ms", "--read", "none")


class Limits(harness.Case, Searching):
    def test_max_connections(self):
        """97 of 100 sessions: three are reserved for superusers."""
        server = PrivateServer(self, max_connections=100)
        # Sessions connect one after the other: a refused session holds a place until it is closed, and would
        # mislead the search.
        ended, search = self.find_max(server.url, *HOLD, "--batch", 10, "--first", 50,
                                      "--connect-concurrency", 1)
        self.assertEqual((search.search["held"], search.search["failed"]), (97, 98))
        self.assertEqual(search.search["end"], "found")
        failed = search.level(98)
        self.assertEqual((failed["reason"], failed["refused"], failed["up"]), ("refused", 1, 97))
        self.assertEqual(failed["causes"][0]["sqlstate"], "53300")
        finding = self.check_named(ended, search, "sessions", "database", "max_connections")
        self.assertRegex(finding["fix"], "max_connections")
        self.assertRegex(ended.out, r"(?m)^Held +97 sessions")
        self.assertRegex(ended.out, r"(?m)^Not held +98: 1 session was refused, .*53300")
        # few levels: the search uses the number of connected sessions, and no session was refused
        self.assertLessEqual(len(search.levels), 10)
        self.assertEqual(search.sessions["connected"], 97)
        self.assertEqual(search.verification["lost"], 0)
        count = harness.psql(server.superuser_url, "select count(*) from syslog_table")
        self.assertEqual(int(count), search.rows["acknowledged"])
        for key in ("server_memory_bytes", "server_cpu_percent", "client_memory_bytes"):
            self.assertTrue(any(level[key] is not None for level in search.levels), key)

    def test_level_that_holds_on_its_second_try(self):
        """9 sessions are refused once, and then held; 16 were refused before, and not tried again: the
        result has the limit that refused the 16."""
        server = PrivateServer(self)
        harness.psql(server.superuser_url, "create role few login connection limit 8",
                     "grant all on schema public to few")
        out = self.out()
        levels = out / "levels.csv"

        def has_level(text):
            return levels.is_file() and text in levels.read_text()

        def to_client(data):
            if b"53300" in data and has_level("\n16,failed"):
                harness.psql(server.superuser_url, "alter role few connection limit 20")
            return data

        proxy = Proxy(self, server.url.replace("append@", "few@"), to_client=to_client)
        process = self.start("find-max", proxy.url, "--hold", "2s", "--first", 8, "--batch", 10,
                             "--connect-concurrency", 1, "--out", out)
        harness.wait_until(lambda: has_level("\n9,held"), "9 sessions to be held")
        process.send_signal(harness.signal.SIGINT)
        ended = self.end(process, 130)
        search = self.check_search(out, ended)
        self.assertEqual([(level["sessions"], level["outcome"]) for level in search.levels[:4]],
                         [(8, "held"), (16, "failed"), (9, "failed"), (9, "held")])
        self.assertEqual(search.search["failed"], 16)
        self.check_named(ended, search, "sessions", "database", "rolconnlimit")
        self.assertRegex(ended.out, r"(?m)^Not held +16: .* refused, .*53300")

    def test_how_to_be_rid_of_the_rows(self):
        """The command that the report gives removes append's rows, and no others."""
        server = PrivateServer(self)
        options = (*HOLD, "--first", 2, "--max-sessions", 2)
        left = []
        for kept in (0, 100):
            if kept > 0:
                self.run_append(2, kept, server.url)
            _, search = self.find_max(server.url, *options)
            harness.psql(server.superuser_url, search.search["removal"])
            left.append(harness.psql(server.superuser_url,
                                     "select to_regclass('syslog_table') is not null"))
        self.assertEqual(left, ["f", "t"])
        count = harness.psql(server.superuser_url, "select count(*) from syslog_table")
        self.assertEqual(int(count), 100)

    def test_limit_below_the_first_level(self):
        server = PrivateServer(self, max_connections=12)
        ended, search = self.find_max(server.url, *HOLD, "--first", 100)
        self.assertEqual((search.search["held"], search.search["failed"]), (9, 10))

    def test_no_room_at_all(self):
        """A role with one session: the set-up connects, the first session does not."""
        server = PrivateServer(self)
        harness.psql(server.superuser_url, "create role lonely login connection limit 1",
                     "grant all on schema public to lonely")
        holder = harness.subprocess.Popen(
            ["psql", "-X", server.url.replace("append@", "lonely@")],
            stdin=harness.subprocess.PIPE, stdout=harness.subprocess.PIPE,
            stderr=harness.subprocess.STDOUT)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.kill)
        self.addCleanup(holder.stdout.close)
        self.addCleanup(holder.stdin.close)
        holder.stdin.write(b"select 'in';\n")
        holder.stdin.flush()
        harness.wait_until(lambda: b"in" in holder.stdout.readline(), "the session of psql")
        self.refused("find-max", server.url.replace("append@", "lonely@"), code=4,
                     pattern="too many connections for role")


class Deaths(harness.Case, Searching):
    def begin(self, *arguments):
        self.server = PrivateServer(self)
        self.search_out = self.out()
        process = self.start("find-max", self.server.url, "--batch", 10, *arguments, "--out",
                             self.search_out)
        self.wait_for_interval(process, self.search_out, lambda row: row["sessions_alive"] == "5"
                               and int(row["rows"]) > 0, "the first level")
        return process

    def test_server_comes_back(self):
        process = self.begin("--hold", "3s", "--first", 5, "--max-sessions", 10)
        self.server.kill()
        time.sleep(1)
        self.server.restart()
        ended = self.end(process, 0)
        search = self.check_search(self.search_out, ended)
        self.assertEqual(search.search["end"], "bound")
        self.assertEqual(search.search["held"], 10)
        dropped = [level for level in search.levels if level["reason"] == "dropped"]
        self.assertEqual(len(dropped), 1, search.levels)
        self.assertEqual(dropped[0]["up"], 0)
        self.assertEqual(search.sessions["dropped"], dropped[0]["dropped"])
        self.assertEqual(search.verification["lost"], 0)

    def test_server_does_not_come_back(self):
        """The search waits for the server up to a minute; a signal ends the wait."""
        process = self.begin("--hold", "3s", "--first", 5)
        self.server.kill()
        harness.wait_until(
            lambda: ",failed,dropped," in (self.search_out / "levels.csv").read_text(),
            "the level to fail")
        process.send_signal(harness.signal.SIGINT)
        ended = self.end(process, 130)
        search = self.check_search(self.search_out, ended)
        self.assertEqual(search.search["end"], "interrupted")
        self.assertEqual(search.levels[-1]["reason"], "dropped")
        self.assertEqual(search.verification["state"], "failed")


if __name__ == "__main__":
    harness.main()
