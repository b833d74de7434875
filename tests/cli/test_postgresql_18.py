"""What differs in PostgreSQL 18: names and views of waits, the server's counts of its I/O."""

import unittest

import harness
import io_trace
import waits


class OnPostgresql18(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not harness.PrivatePostgresql18.ENVIRONMENT["APPEND_POSTGRESQL_BIN"]:
            raise unittest.SkipTest("APPEND_TEST_POSTGRESQL_18 does not name the folder of PostgreSQL 18's "
                                    "programs (scripts/postgresql_18.sh)")


class Waits(waits.OfPostgresql, OnPostgresql18):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.url = harness.PrivatePostgresql18(cls).url

    def sql(self, *statements):
        return harness.psql(self.url, *statements)

    def test_version(self):
        self.assertEqual(self.sql("show server_version_num")[:2], "18")

    def test_data_files(self):
        """Reads of data files wait for asynchronous I/O. This time counts as waits for data files."""
        server = harness.PrivatePostgresql18(self, is_on_disk=True, shared_buffers="128kB", io_method="worker")
        harness.psql(server.url, "create table big as select i, repeat('x', 500) t from"
                     " generate_series(1, 60000) i", "alter table big set (parallel_workers = 0)")
        script = self.folder / "scan.lua"
        script.write_text(self.WORKLOAD % "select count(*) from big")
        _, run = self.run_append("4", server.url, "--workload", script, "--duration", "4s", "--waits")
        self.check_waits(run)
        counts = {count["name"]: count["growth"] for count in run.json["waits"]["counters"]}
        self.assertGreater(counts["pg_stat_io.relation.bulkread.reads"], 100)
        self.assertIn("data_io", self.shares(run, "statement.work"))
        events = self.shares(run, "statement.work")["data_io"]["events"]
        self.assertRegex(events, "(?i)IO:Aio|IO:DataFileRead")


class Trace(io_trace.Traced, OnPostgresql18):
    def test_as_many_as_the_server_counts(self):
        """pg_stat_wal no longer counts writes and syncs; the counts of pg_stat_io agree with the trace."""
        server = harness.PrivatePostgresql18(self, is_on_disk=True, autovacuum="off", fsync="on",
                                             synchronous_commit="on", wal_sync_method="fdatasync")
        self.check_postgresql(server)


if __name__ == "__main__":
    harness.main()
