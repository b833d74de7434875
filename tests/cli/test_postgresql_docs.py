"""The commands of README.md and docs for PostgreSQL, on the role and database of the quick start."""

import docs
import harness

QUICK_START = harness.ROOT / "docs" / "quick-start.md"


class Pages(docs.Runner):
    def make_database(self, server):
        """Runs the statements of the quick start one by one."""
        administrator = server.superuser_url.replace("/append", "/postgres")
        harness.psql(administrator, "drop database if exists append with (force)", "drop role if exists append")
        for block in docs.blocks(QUICK_START):
            if block.language == "sql" and block.how == "postgresql":
                for statement in block.text.strip().split("\n"):
                    harness.psql(administrator, statement)

    def test_commands_run(self):
        server = harness.PrivateServer(self)
        port = server.url.split(":")[2].split("/")[0]
        for page, wanted in docs.pages_with("postgresql"):
            self.make_database(server)
            self.begin_page(page)
            for block in wanted:
                with self.subTest(repr(block)):
                    self.run_block(block, "postgresql", port, APPEND_PASSWORD="secret", PGUSER="append",
                                   PGDATABASE="append")


if __name__ == "__main__":
    harness.main()
