"""Poolers, and other servers with PostgreSQL's protocol."""

import os
import shutil
import socket
import subprocess
import unittest

import harness
from postgresql_proxy import Proxy


class Pgbouncer(harness.Postgresql):
    """pgbouncer with three sessions of the server, reached through its socket."""

    CLIENTS = 30
    MODE = "transaction"

    WAIT_S = 60  # for a session of the server: a busy machine starts it slowly

    def setUp(self):
        super().setUp()
        program = shutil.which("pgbouncer", path=os.environ["PATH"] + ":/usr/sbin")
        if program is None:
            raise unittest.SkipTest("pgbouncer is not installed (scripts/setup.sh test)")
        self.port = self.url.split(":")[-1].split("/")[0]
        settings = self.folder / "pgbouncer.ini"
        settings.write_text(
            f"[databases]\n* = host=127.0.0.1 port={self.port} user=append\n"
            f"[pgbouncer]\nlisten_addr =\nunix_socket_dir = {self.folder}\n"
            f"listen_port = {self.port}\nauth_type = any\npool_mode = {self.MODE}\n"
            f"default_pool_size = 3\nquery_wait_timeout = {self.WAIT_S}\nmax_client_conn = {self.CLIENTS}\n")
        # pgbouncer does not run as root
        other = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 \
            else {}
        self.folder.chmod(0o777)
        settings.chmod(0o644)
        process = subprocess.Popen([program, str(settings)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **other)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        harness.wait_until(self.listens, "the pooler")

    def listens(self):
        """Returns whether the pooler accepts connections: it makes its socket before it listens."""
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(str(self.folder / f".s.PGSQL.{self.port}")) == 0

    def pooled(self, *arguments, **options):
        return self.run_append(*arguments, self.url, "--host", self.folder, **options)


class Pooler(Pgbouncer):
    """A client gets any session of the server, for one transaction."""

    def test_nothing_is_prepared(self):
        for method in ("copy", "insert"):
            with self.subTest(method):
                ended, run = self.pooled(20, 8000, "--method", method, "--recreate")
                self.assertEqual(run.rows["acknowledged"], 8000)
                self.assertEqual(self.count(), 8000)
                self.assertIn("pooler", run.json["connection"]["note"])
                self.assertIn("pooler", ended.out)

    def test_nothing_of_a_workload_stays_prepared(self):
        """The next client would find statements that were prepared before the sessions."""
        for workload, sets in (("ycsb", "records=100"), ("oltp", "table_size=100"), ("ycsb", "records=100")):
            _, run = self.pooled(8, "--workload", workload, "--set", sets, "--transactions", 80)
            self.assertEqual(run.json["transactions"]["committed"], 80)

    def test_nothing_of_a_dry_run_stays_prepared(self):
        self.pooled(2, "--workload", "oltp", "--set", "table_size=100", "--transactions", 2)
        for _ in range(4):
            ended = self.append("dry-run", self.url, "--host", self.folder, "--workload", "oltp", "--set", "table_size=100")
            self.assertIn("ended, rolled back", ended.out)

    def test_a_schema(self):
        self.refused(1, 1, self.url, "--host", self.folder, "--schema", "public", code=2,
                     pattern="unsupported startup parameter: options: .* search_path instead of using --schema")

    def test_its_limits_are_not_the_servers(self):
        ended = self.append("check", 5000, self.url, "--host", self.folder, code=None)
        self.assertRegex(ended.out, r"(?m)^WARN +limits of the pooler +- +not known +-")
        self.assertRegex(" ".join(ended.out.split()), 
                         r"the first known limit is .*\); the limits of the pooler are not known$")
        self.assertNotIn("max_connections", ended.out)

    def test_its_sessions_do_not_show_waits(self):
        pattern = "through a pooler the server does not show which of its sessions are append's: connect to the server itself"
        self.refused(2, 100, self.url, "--host", self.folder, "--waits", code=2, pattern=f"--waits: {pattern}")
        self.assertEqual(self.sql("select to_regclass('syslog_table') is null").strip(), "t")
        _, run = self.pooled(2, 100, "--waits=try")
        self.assertEqual(run.rows["acknowledged"], 100)
        self.assertIn(pattern, run.json["waits"]["note"])

    def test_it_has_no_room(self):
        ended, run = self.pooled(self.CLIENTS + 5, 3500, "--no-check", code=4)
        self.assertGreaterEqual(run.sessions["refused"], 5)
        self.assertEqual({cause["kind"] for cause in run.causes}, {"limit"})
        self.assertIn("max_client_conn", ended.reason)


class SessionPooler(Pgbouncer):
    """A client keeps its session of the server until it disconnects; append's sessions do so at the end."""

    MODE = "session"

    def test_as_many_as_it_has(self):
        _, run = self.pooled(3, "--workload", "oltp", "--set", "table_size=100", "--transactions", 30)
        self.assertEqual(run.json["transactions"]["committed"], 30)
        # asking for the size of the tables would take a fourth session of the server
        self.assertEqual({sample["table_mib"] for sample in run.table("samples.csv")}, {""})
        self.assertGreater(run.json["io"]["table_mib_after"], 0)


class FullSessionPooler(Pgbouncer):
    """More clients than pgbouncer has sessions."""

    MODE = "session"
    WAIT_S = 5

    def test_more(self):
        ended, run = self.pooled(5, 500, code=1)
        self.assertEqual((run.sessions["finished"], run.sessions["dropped"]), (3, 2))
        self.assertRegex(ended.reason, "query_wait_timeout: with pool_mode = session, pgbouncer's default_pool_size must cover all")


class StatementPooler(Pgbouncer):
    """Statement pooling has no transactions."""

    MODE = "statement"

    def test_rows_and_transactions(self):
        _, run = self.pooled(5, 1000)
        self.assertEqual(run.rows["acknowledged"], 1000)
        ended, _ = self.pooled(2, "--workload", "tpcb", "--transactions", 10, code=None)
        self.assertRegex(ended.reason, "statement pooling mode: pgbouncer needs pool_mode = transaction$")


class OtherServers(harness.Postgresql):
    """A real server gets a query that it does not know."""

    def proxy(self, known, unknown):
        return Proxy(self, self.url, to_server=lambda data: data.replace(known, unknown))

    def test_no_copy(self):
        proxy = self.proxy(b'copy "', b'kopy "')
        ended, run = self.run_append(4, 4000, proxy.url)
        self.assertEqual(run.json["connection"]["method"], "insert")
        self.assertIn("does not know COPY", run.json["connection"]["note"])
        self.assertIn("does not know COPY", " ".join(ended.out.split()))
        self.assertEqual(self.count(), 4000)

    def test_no_copy_but_asked_for(self):
        proxy = self.proxy(b'copy "', b'kopy "')
        self.refused(4, 4000, proxy.url, "--method", "copy", code=2,
                     pattern="does not know COPY.* use --method insert")

    def test_no_catalogue(self):
        pattern = "does not have PostgreSQL's catalogue: the query for the .* failed: .*does not exist"
        for known, unknown in ((b"pg_backend_pid", b"no_backend_pid"),
                               (b"pg_attribute", b"no_attribute")):
            with self.subTest(known):
                self.sql("create table if not exists syslog_table (n2 int)")
                self.refused(4, 4000, self.proxy(known, unknown).url, code=2, pattern=pattern)
        ended = self.append("check", 4, self.proxy(b"pg_backend_pid", b"no_backend_pid").url,
                            code=None)
        self.assertRegex(ended.reason, pattern)

    def test_garbage_instead_of_rows(self):
        """The first message of COPY TO STDOUT is longer than allowed."""
        self.run_append(2, 400, self.url)

        def spoil(data):
            return data.replace(b"d\0\0\0", b"d\xff\xff\xff") if data[:4] == b"H\0\0\0" else data

        ended = self.append(2, 400, Proxy(self, self.url, to_client=spoil).url, "--verify", "rows",
                            code=4)
        self.assertIn("lost synchronization", ended.reason)


if __name__ == "__main__":
    harness.main()
