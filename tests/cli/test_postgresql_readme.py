"""The statements by which README makes a role and a database, as they are printed."""

import re

import harness

README = (harness.ROOT / "README.md").read_text()


def statements(name):
    """The indented lines after the paragraph that names the database."""
    block = re.search(rf"\nOn {name}[^\n]*\n\n((?:    .+\n)+)", README).group(1)
    return [line.strip() for line in block.splitlines()]


class Readme(harness.Case):
    def run_as_printed(self, server):
        command = re.search(r"`(APPEND_PASSWORD=(\S+) \./append (\d+) (\d+) )postgresql://(\w+)@localhost/(\w+)`", README)
        url = f"{server.NAME}://{command[5]}@" + server.url.split("@")[1].split("/")[0] + "/" + command[6]
        _, run = self.run_append(command[3], 2000, url, env={"APPEND_PASSWORD": command[2]}, code=(0, 6))
        self.assertEqual(run.rows["acknowledged"], 2000)

    def run_append(self, *arguments, code=0, **options):
        out = self.out()
        ended = self.append(*arguments, "--out", out, code=None, **options)
        self.assertIn(ended.code, code, ended)
        return ended, harness.Run(out)

    def test_postgresql(self):
        server = harness.PrivateServer(self)
        administrator = server.superuser_url.replace("/append", "/postgres")
        harness.psql(administrator, "drop database append", "drop role append")
        for statement in statements("PostgreSQL"):
            harness.psql(administrator, statement)
        self.run_as_printed(server)

    def test_mariadb(self):
        server = harness.PrivateMariadb(self)
        harness.mariadb(server.superuser_url, "drop database append")
        administrator = server.superuser_url.replace("/append", "/mysql")
        users = harness.mariadb(administrator, "select host from mysql.user where user = 'append'").split()
        harness.mariadb(administrator, *(f"drop user append@'{host}'" for host in users))
        harness.mariadb(administrator, *(one.rstrip(";") for one in statements("MariaDB")))
        self.run_as_printed(server)


if __name__ == "__main__":
    harness.main()
