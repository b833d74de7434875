"""--io-trace of the embedded database, and its refusal where it is not possible."""

import re
import subprocess

import harness
import io_trace


class Embedded(io_trace.Traced):
    def test_threads_of_the_sessions_alone(self):
        """The trace includes neither the sampler's files nor io.csv itself."""
        out = self.folder / "run"
        # the run is long enough for append to write samples and rows of io.csv
        ended = self.append("2", "--duration", "2500ms", "--rate", "200", "--batch", "1", "--read",
                            "none", "--sample-interval", "100ms", "--io-trace", "--out", out)
        run = harness.Run(out)
        rows = self.rows(run)
        self.assert_sums(run, rows)
        self.assertEqual(len({row["tid"] for row in rows if row["row"] == "operation"}), 2)
        self.assertEqual(len({row["pid"] for row in rows if row["source"] == "own"}), 1)
        # SQLite commits one transaction at a time, and syncs a commit before it acknowledges the commit
        self.assertGreater(run.rows["acknowledged"], 100)
        self.assertGreaterEqual(run.json["io_trace"]["wal_fsyncs"], run.rows["acknowledged"])
        self.assertLess(rows[0]["time_ns"], 0)
        # the last rows: SQLite moves its log into the table as the sessions leave
        self.assertGreater(len(rows), len(self.worked(run, rows)))
        self.assertLess(self.worked(run, rows)[-1]["time_ns"], rows[-1]["time_ns"])
        self.assertIn("; I/O was traced (full)", run.json["outcome"]["verdict_reason"])
        self.assertRegex(ended.out, r"(?m)^  fsync, wal +mean +[\d,]+ .*\n +p99 ")
        self.assertRegex(ended.out, r"(?m)^Trace .* s of CPU time to read the records")
        summary = run.table("summary.csv")[0]
        self.assertEqual(int(summary["trace_fsyncs"]), run.json["io_trace"]["fsyncs"])
        self.assertAlmostEqual(
            float(summary["trace_fsync_mean_ms"]),
            sum(float(summary[f"trace_fsync_{layer}_ms"]) for layer in ("vfs", "queue", "device")),
            delta=1e-5)
        # the summary line
        syncs_ms = int(summary["trace_fsyncs"]) * float(summary["trace_fsync_mean_ms"])
        appends_ms = int(summary["appends"]) * float(summary["append_mean_ms"])
        found = re.search(r"Syncs fsync took ([\d.]+) s, (\d+) % of the run's time and (\d+) % of the time of all appends; "
                         r"(\d+) % of this time at the device, (\d+) % in its queue, (\d+) % in the file system or",
                         " ".join(ended.out.split()))
        took_s, of_run, of_appends, *layers = map(float, found.groups())
        self.assertAlmostEqual(took_s, syncs_ms / 1000, delta=0.006)
        self.assertAlmostEqual(of_run, 100 * syncs_ms / 1000 / float(summary["append_s"]), delta=1)
        self.assertAlmostEqual(of_appends, 100 * syncs_ms / appends_ms, delta=1)
        self.assertAlmostEqual(sum(layers), 100, delta=1.5)

    def test_page_and_expectations(self):
        out = self.folder / "run"
        ended = self.append("2", "--duration", "2500ms", "--batch", "1", "--read", "none",
                            "--io-trace", "--report", "--out", out,
                            "--expect", "trace_wal_fsyncs>0, trace_fsync_p99_ms<0.000001", code=5)
        self.assertRegex(ended.reason, r"1 of 2 expectations not met: trace_fsync_p99_ms")
        page = (out / "report.html").read_text()
        self.assertIn("Where the time of I/O goes", page)
        self.assertIn(">write</", page)
        self.assertNotIn(">write, <", page, "a call that names no file")
        self.assertIn("stacked by layer", page)
        self.assertIn("The mean number in flight; each line includes the lines below it.", page)
        # a chart of these times would have no lines left for the waits of the sessions
        self.assertNotIn("io.fsync.vfs", page)

    def test_requests_alone(self):
        out = self.folder / "run"
        self.append("2", "--duration", "2500ms", "--batch", "1", "--read", "none",
                    "--io-trace=requests", "--report", "--out", out)
        run = harness.Run(out)
        rows = self.rows(run)
        self.assertEqual({row["row"] for row in rows}, {"request"})
        own = [row for row in self.worked(run, rows) if row["source"] == "own"]
        trace = run.json["io_trace"]
        self.assertEqual(trace["level"], "requests")
        self.assertEqual(trace["requests"], len(own))
        self.assertEqual(trace["reads"] + trace["writes"] + trace["fsyncs"], len(own))
        self.assertIsNone(trace["wal_fsyncs"])
        self.assertFalse((out / "io.fsync.vfs.hgrm").exists())
        self.assertTrue((out / "request.write.device.hgrm").exists())
        page = (out / "report.html").read_text()
        self.assertIn("Requests in flight at the server, stacked by layer", page)
        self.assertNotIn("queue and vfs", page)

    def test_check(self):
        ended = self.append("check", "2", "sqlite:a.db", "--io-trace")
        self.assertRegex(ended.out, r"(?m)^I/O +can be traced on this machine$")


class Refused(harness.Case):
    """Refusals on every machine."""

    def setUp(self):
        super().setUp()
        self.words = io_trace.without_privileges()
        if self.words is None:
            self.skipTest("setpriv cannot drop capabilities here")

    def run_without(self, *arguments):
        return subprocess.run([*self.words, harness.BINARY, *map(str, arguments)],
                              capture_output=True, text=True, cwd=self.folder,
                              env=self.environment(), stdin=subprocess.DEVNULL)

    def test_before_anything_is_made(self):
        for arguments in (["2", "100", "--out", "run"], ["check", "2"],
                          ["check", "2", "postgresql://a@127.0.0.1:1/a"]):
            result = self.run_without(*arguments, "--io-trace")
            self.assertEqual(result.returncode, 3, result)
            self.assertRegex(result.stderr, r"^append: --io-trace: (not allowed: run append as root, or "
                                            r"with CAP_BPF and CAP_PERFMON|append was built without)")
            self.assertEqual(result.stderr.count("\n"), 1)
            self.assertEqual(list(self.folder.iterdir()), [])

    def test_tried(self):
        result = self.run_without("2", "100", "--out", "run", "--io-trace=try")
        self.assertEqual(result.returncode, 0, result)
        self.assertRegex(result.stdout, r"(?m)^Untraced +--io-trace: ")
        run = harness.Run(self.folder / "run")
        self.assertEqual(run.json["io_trace"]["level"], "off")
        self.assertRegex(run.json["io_trace"]["note"], "--io-trace: ")
        self.assertNotIn("traced", run.json["outcome"]["verdict_reason"])
        self.assertEqual([path.name for path in run.folder.glob("io.*")], [])

    def test_words(self):
        ended = self.append("2", "100", "--io-trace=all", code=2)
        self.assertRegex(ended.reason, r"--io-trace 'all' is not off or full or requests or try")


if __name__ == "__main__":
    harness.main()
