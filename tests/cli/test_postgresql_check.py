"""append check against PostgreSQL, and the same check before a run."""

import json

import harness
import postgresql_proxy


class Check(harness.Postgresql):
    def check(self, *arguments, code=0, **options):
        return json.loads(self.append("check", *arguments, "--json", code=code, **options).out)

    def test_all_sides(self):
        ended = self.append("check", "2", self.url)
        self.assertEqual(len([line for line in ended.out.splitlines() if len(line) > 80]), 0)
        for title in ("Client", "Server", "Database"):
            self.assertRegex(ended.out, rf"(?m)^{title} +needed +free +sessions +set in$")
        self.assertRegex(ended.out, r"(?m)^PASS  max_connections ")
        self.assertRegex(ended.out, r"in use now")
        self.assertEqual(self.sql("select count(*) from pg_tables where schemaname = 'public'"),
                         "0", "a check makes no table")

    def test_too_many_for_the_database(self):
        report = self.check("999999", self.url, code=4)
        failed = {limit["name"]: limit for limit in report["limits"] if limit["grade"] == "FAIL"}
        self.assertIn("max_connections", failed)
        self.assertIn("postgresql.conf", failed["max_connections"]["fix"])

    def test_a_wrong_role(self):
        url = self.url.replace("append@", "nobody_like_that@")
        ended = self.append("check", "2", url, code=4)
        self.assertRegex(ended.out, r"(?m)^PASS  RLIMIT_NOFILE")
        self.assertRegex(ended.out, r"(?m)^WARN  database's limits")
        self.assertRegex(ended.reason, "could not query the database: .*nobody_like_that")

    def test_a_server_that_does_not_answer(self):
        """The server accepts the session, and then answers no query: each answer has a limit."""
        accepted = []

        def to_client(data):
            if accepted:
                return b""
            accepted.extend([data] if data.endswith(b"Z\0\0\0\5I") else [])
            return data

        proxy = postgresql_proxy.Proxy(self, self.url, to_client=to_client)
        ended = self.append("check", "2", proxy.url, code=4)
        self.assertRegex(ended.reason, r"gave up waiting for the server's limits: no answer in 10\.0 s$")


class Small(harness.Case):
    def test_a_small_server(self):
        server = harness.PrivateServer(self, max_connections=12, superuser_reserved_connections=2)
        ended = self.append("check", "20", server.url, code=4)
        self.assertRegex(ended.out, r"(?m)^FAIL  max_connections +20 +10 +10 ")
        self.assertRegex(ended.out, r"(?m)^   -> max_connections = 22 in postgresql.conf, ")
        self.assertRegex(ended.reason, r"^append: only 10 of \d+ sessions fit; the first limit is "
                                       r"max_connections \(database, PostgreSQL\)$")
        self.refused("20", "2000", server.url, code=4,
                     pattern=r"only 10 of \d+ sessions fit; the first limit is max_connections")
        self.run_append("10", "1000", server.url)
        # the sessions of the previous run may not have ended yet
        for _ in range(3):
            self.run_append("10", "1000", server.url)
        # Sessions connect one after the other: a refused session holds a place until it is closed.
        _, run = self.run_append("20", "2000", server.url, "--min-sessions", "10",
                                 "--connect-concurrency", "1", code=4)
        self.assertEqual(run.sessions["connected"], 10)

    def test_a_full_server(self):
        server = harness.PrivateServer(self, max_connections=8, superuser_reserved_connections=2)
        out = self.out()
        process = self.start("6", "10000000", server.url, "--rate", "100", "--out", out)
        self.wait_for_rows(process, out)
        ended = self.append("check", "1", server.url, code=4)
        self.assertRegex(ended.out, r"(?m)^FAIL  session limits")
        self.assertRegex(ended.out, r"could not be queried: ")
        self.assertRegex(ended.out, r"(?m)^PASS  RLIMIT_NOFILE")
        self.assertRegex(ended.reason, "no session fits")
        process.send_signal(2)
        self.end(process, 130)


if __name__ == "__main__":
    harness.main()
