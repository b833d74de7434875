"""The limits on sessions that PostgreSQL reports, compared with the limits that it enforces."""

import harness
from odbc_strings import parts, string
from session_limits import SessionLimits


class Limits(SessionLimits):
    def setUp(self):
        super().setUp()
        self.server = harness.PrivateServer(
            self, max_connections="20", superuser_reserved_connections="4")
        harness.psql(self.server.superuser_url, "create role few login connection limit 7",
                     "create role watcher login", "grant pg_monitor to watcher",
                     "create schema authorization few", "create schema authorization watcher",
                     "create database small owner append connection limit 5")
        self.url = self.server.url

    def at(self, user, database="append"):
        return self.url.rsplit("/", 1)[0].replace("append@", user + "@") + "/" + database

    def test_max_connections(self):
        limits = self.check(self.url, "max_connections", 16)
        self.assertEqual(limits["max_connections"]["note"],
                         "20 less 4 of superuser_reserved_connections")

    def test_those_who_see_everything(self):
        self.check(self.at("watcher"), "max_connections", 16)

    def test_superuser(self):
        limits = self.check(self.at("postgres"), "max_connections", 20)
        self.assertIsNone(limits["max_connections"]["note"])

    def test_role(self):
        limits = self.check(self.at("few"), "rolconnlimit", 7)
        self.assertEqual(limits["rolconnlimit"]["fix"], "ALTER ROLE few CONNECTION LIMIT N")

    def test_database(self):
        limits = self.check(self.at("append", "small"), "datconnlimit", 5)
        self.assertEqual(limits["datconnlimit"]["fix"], "ALTER DATABASE small CONNECTION LIMIT N")

    def test_superusers_have_no_limit_of_their_own(self):
        harness.psql(self.server.superuser_url, "alter role postgres connection limit 3")
        limits = self.check(self.at("postgres", "small"), "max_connections", 20)
        self.assertEqual(list(limits), ["max_connections"])

    def test_through_odbc(self):
        limits = self.check(string(parts(self.at("few"))), "rolconnlimit", 7)
        self.assertEqual(limits["max_connections"]["allowed"], 16)
        self.assertIn("CONNECTION LIMIT", limits["rolconnlimit"]["fix"])


if __name__ == "__main__":
    harness.main()
