"""Limits on sessions that MariaDB reports, and limits that it enforces."""

import harness
from odbc_strings import parts, string
from session_limits import SessionLimits


class Limits(SessionLimits):
    OPTIONS = {"max_connections": "12"}

    def setUp(self):
        super().setUp()
        self.server = harness.PrivateMariadb(self, **self.OPTIONS)
        self.url = self.server.url

    def at(self, user):
        return self.url.replace("append@", user + "@")

    def root(self, *statements):
        harness.mariadb(self.server.superuser_url, *statements)

    def user(self, name, privilege="usage", **limits):
        options = " ".join(f"{key} {value}" for key, value in limits.items())
        self.root(f"create user {name}@'%' {'with ' + options if options else ''}",
                  f"grant all on `append%`.* to {name}@'%'", f"grant {privilege} on *.* to {name}@'%'")


class Connections(Limits):
    def test_max_connections(self):
        limits = self.check(self.url, "max_connections", 12)
        self.assertIsNone(limits["max_connections"]["note"])

    def test_through_odbc(self):
        self.check(string(parts(self.url)), "max_connections", 12)

    def test_one_more_for_those_who_administrate(self):
        for name, privilege in (("super", "super"), ("admin", "connection admin"),
                                ("everything", "all")):
            with self.subTest(privilege=privilege):
                self.user(name, privilege)
                limits = self.check(self.at(name), "max_connections", 13)
                self.assertIn("12 plus one for users", limits["max_connections"]["note"])

    def test_limit_of_an_account(self):
        self.user("few", max_user_connections=4)
        for url in (self.at("few"), string(parts(self.at("few")))):
            limits = self.check(url, "max_user_connections", 4)
            self.assertEqual(limits["max_user_connections"]["note"], "for account 'few'@'%'")
            self.assertEqual(limits["max_user_connections"]["fix"],
                             "ALTER USER 'few'@'%' WITH MAX_USER_CONNECTIONS N")


class Accounts(Limits):
    OPTIONS = {"max_connections": "12", "max_user_connections": "5"}

    def test_limit_of_every_account(self):
        self.user("other", max_user_connections=6)
        self.user("admin", "connection admin")
        limits = self.check(self.url, "max_user_connections", 5)
        self.assertEqual(limits["max_user_connections"]["note"],
                         "for every account, here 'append'@'%'")
        self.check(self.at("other"), "max_user_connections", 6)
        limits = self.check(self.at("admin"), "max_connections", 13)
        self.assertNotIn("max_user_connections", limits)


class Statements(Limits):
    OPTIONS = {"max_connections": "200", "max_prepared_stmt_count": "9"}

    def check_statements(self, url, *options):
        """All sessions connect, but sessions without a prepared statement append nothing."""
        _, run = self.run_append(self.SESSIONS, self.SESSIONS * 50, url, "--recreate", "--no-check",
                                 *options, code=1)
        limit = self.limits(run)["max_prepared_stmt_count"]
        self.assertEqual((limit["allowed"], limit["used"]), (9, 1))
        self.assertEqual(run.sessions["connected"], self.SESSIONS)
        self.assertEqual(run.rows["acknowledged"], 9 * 50, run.causes)

    def test_prepared_statements(self):
        self.check_statements(self.url)

    def test_without_prepared_statements(self):
        _, run = self.run_append(self.SESSIONS, self.SESSIONS * 50, self.url, "--recreate",
                                 "--method", "insert")
        self.assertEqual(list(self.limits(run)), ["max_connections"])


if __name__ == "__main__":
    harness.main()
