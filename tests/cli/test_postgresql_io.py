"""Disk and I/O of a real server, compared with PostgreSQL's own counts."""

import os

import harness


class Io(harness.Case):
    """A private server: its counters belong to this run alone."""

    def setUp(self):
        super().setUp()
        self.server = harness.PrivateServer(self, is_on_disk=True, fsync="on", max_connections=100)

    def ask(self, *statements):
        return harness.psql(self.server.superuser_url, *statements)

    def test_against_the_servers_counters(self):
        rows = harness.fewer(200000)
        before = int(self.ask("select wal_bytes from pg_stat_wal"))
        _, run = self.run_append("4", rows, self.server.url, "--read", "none",
                                 "--sample-interval", "0.5")
        wal = int(self.ask("select wal_bytes from pg_stat_wal")) - before
        size = int(self.ask("select pg_total_relation_size('syslog_table')"))
        io = run.json["io"]
        mib = 1 << 20
        self.assertAlmostEqual(io["table_mib_after"] * mib, size, delta=1)
        self.assertAlmostEqual(io["disk_bytes_per_row"], size / rows, delta=0.1)
        self.assertEqual(io["data_directory"], str((self.server.home / "data").resolve()))
        if os.geteuid() == 0:
            # the server's processes write the whole log, in write() calls of at least 8 KiB
            self.assertGreaterEqual(io["server_written_mib"] * mib, 0.9 * wal)
            self.assertGreater(io["server_write_calls"], rows / 100 / 2)
        else:
            self.assertIsNone(io["server_written_mib"])
            self.assertIn("root", io["note"])
        if io["device"] is None:
            self.assertIn("without a disk", io["note"])
        else:
            self.assertGreaterEqual(io["device_written_mib"] * mib, 0.9 * wal)
            self.assertGreater(io["device_flushes"] + io["device_writes"], rows / 100 / 8)
            # a row also has a header in the table and a header in the log
            self.assertGreater(io["write_amplification"], 1)
        samples = run.table("samples.csv")
        self.assertEqual(int(samples[-1]["rows_held"]), rows)
        held = [int(row["rows_held"]) for row in samples]
        self.assertEqual(held, sorted(held))
        sizes = [float(row["table_mib"]) for row in samples if row["table_mib"]]
        self.assertTrue(sizes)
        self.assertEqual(sizes, sorted(sizes))
        self.assertEqual(int(run.table("intervals.csv")[-1]["rows_held"]), rows)

    def test_partitions_and_several_tables(self):
        self.ask("create table parted (n1 smallint, n2 int, n3 bigint) partition by hash (n3)")
        for number in range(3):
            self.ask(f"create table parted_{number} partition of parted for values with "
                     f"(modulus 3, remainder {number})")
        self.ask("grant all on all tables in schema public to public")
        _, run = self.run_append("2", "20000", self.server.url, "--table", "parted")
        size = int(self.ask("select sum(pg_total_relation_size(relid)) from "
                            "pg_partition_tree('parted')"))
        self.assertAlmostEqual(run.json["io"]["table_mib_after"] * (1 << 20), size, delta=1)
        # a table that is not empty is also measured
        _, run = self.run_append("2", "20000", self.server.url, "--table", "parted")
        self.assertAlmostEqual(run.json["io"]["table_mib_before"] * (1 << 20), size, delta=1)
        self.assertGreater(run.json["io"]["table_mib_after"], run.json["io"]["table_mib_before"])

    def test_the_directory_can_be_given(self):
        _, run = self.run_append("1", "100", self.server.url, "--data-directory", "/nowhere")
        self.assertIsNone(run.json["io"]["device"])
        self.assertIn("/nowhere", run.json["io"]["note"])
        self.assertIn("No such file", run.json["io"]["note"])

    def test_full_server_is_not_made_fuller(self):
        """The size of the table is queried on a separate connection, which must not take the place of a session."""
        free = int(self.ask("select current_setting('max_connections')::int - "
                            "current_setting('superuser_reserved_connections')::int"))
        _, run = self.run_append(free, harness.fewer(100000), self.server.url, "--read", "none",
                                 "--no-check", "--sample-interval", "0.2")
        self.assertEqual(run.sessions["finished"], free)
        self.assertIsNotNone(run.json["io"]["table_mib_after"])


if __name__ == "__main__":
    harness.main()
