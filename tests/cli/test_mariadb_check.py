"""append check against MariaDB."""

import re

import harness


class Check(harness.Mariadb):
    def test_a_small_server(self):
        server = harness.PrivateMariadb(self, max_connections=12)
        ended = self.append("check", "20", server.url, code=4)
        self.assertRegex(ended.out, r"(?m)^FAIL  max_connections +20 +12 +12 ")
        self.assertRegex(ended.out, r"-> SET GLOBAL max_connections = 20;")
        self.assertRegex(ended.out, r"my\.cnf")
        self.refused("20", "2000", server.url, code=4,
                     pattern=r"only 12 of \d+ sessions fit; the first limit is max_connections "
                             r"\(database, MariaDB\)")
        self.run_append("12", "1200", server.url)

    def test_it_makes_no_database(self):
        server = harness.PrivateMariadb(self)
        harness.mariadb(server.superuser_url, "drop database append")
        nameless = re.sub(r"/append$", "", server.superuser_url)
        self.append("check", "2", nameless)
        self.assertNotIn("append", harness.mariadb(server.superuser_url.replace("/append", "/mysql"),
                                                   "show databases").split())


if __name__ == "__main__":
    harness.main()
