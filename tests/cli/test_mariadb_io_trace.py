"""--io-trace of a MariaDB server: one process, a thread for each session."""

import harness
import io_trace


class OfThreads(io_trace.Traced):
    def test_as_many_as_the_server_counts(self):
        server = harness.PrivateMariadb(self, is_on_disk=True, innodb_flush_log_at_trx_commit="1")
        out = self.folder / "run"
        self.append("4", "1000", server.url, "--batch", "1", "--read", "none", "--recreate",
                    "--io-trace", "--out", out)
        run = harness.Run(out)
        rows = self.rows(run)
        self.assert_sums(run, rows)
        counted = {entry["name"]: entry for entry in run.json["io_trace"]["server"]}
        syncs = counted["Innodb_data_fsyncs"]
        self.assertGreater(syncs["counted"], 200)
        self.assertEqual(syncs["traced"], syncs["counted"])
        own = [row for row in rows if row["source"] == "own"]
        self.assertEqual(len({row["pid"] for row in own}), 1)
        self.assertGreaterEqual(len({row["tid"] for row in own if row["mode"] == "S"}), 2)


if __name__ == "__main__":
    harness.main()
