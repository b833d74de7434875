"""The commands of README.md and docs for MariaDB, on the user and database of the quick start."""

import docs
import harness

QUICK_START = harness.ROOT / "docs" / "quick-start.md"


class Pages(docs.Runner):
    def make_database(self, server):
        """Runs the statements of the quick start one by one."""
        administrator = server.superuser_url.replace("/append", "/mysql")
        harness.mariadb(administrator, "drop database if exists append")
        users = harness.mariadb(administrator, "select host from mysql.user where user = 'append'").split()
        harness.mariadb(administrator, *(f"drop user append@'{host}'" for host in users), "select 1")
        for block in docs.blocks(QUICK_START):
            if block.language == "sql" and block.how == "mariadb":
                harness.mariadb(administrator, *block.text.strip().rstrip(";").split(";\n"))

    def test_commands_run(self):
        server = harness.PrivateMariadb(self)
        port = server.url.split(":")[2].split("/")[0]
        for page, wanted in docs.pages_with("mariadb"):
            self.make_database(server)
            self.begin_page(page)
            for block in wanted:
                with self.subTest(repr(block)):
                    self.run_block(block, "mariadb", port, APPEND_PASSWORD="secret")


if __name__ == "__main__":
    harness.main()
