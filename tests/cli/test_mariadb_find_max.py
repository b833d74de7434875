"""find-max on MariaDB, including a limit that is not a setting of the database."""

import harness
from confine import Confined
from find_max import Searching
from harness import PrivateMariadb


class Limits(Confined, Searching):
    def test_threads_of_the_server(self):
        server = PrivateMariadb(self, prefix=self.as_other_user(100), max_connections=10000)
        ended, search = self.find_max(server.url, "--hold", "500ms", "--batch", 10, "--first", 40)
        held = search.search["held"]
        self.assertTrue(50 < held < 100, search.search)
        self.assertEqual(search.search["failed"], held + 1)
        self.assertEqual(search.level(held + 1)["causes"][0]["native_code"], 1135)
        finding = self.check_named(ended, search, "user_tasks", "server", "RLIMIT_NPROC")
        self.assertRegex(finding["evidence"], r"create a new thread.*(9\d|100) of 100 threads")
        self.assertEqual(search.verification["lost"], 0)

    def test_max_connections(self):
        """MariaDB reserves one more connection for administrators; this user cannot use it."""
        server = PrivateMariadb(self, max_connections=30)
        ended, search = self.find_max(server.url, "--hold", "500ms", "--batch", 10, "--first", 20)
        self.assertEqual((search.search["held"], search.search["failed"]), (30, 31))
        self.check_named(ended, search, "sessions", "database", "max_connections")


if __name__ == "__main__":
    harness.main()
