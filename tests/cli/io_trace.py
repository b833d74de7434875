"""Helpers of the tests of --io-trace."""

import os
import pathlib
import subprocess

import harness


class Traced(harness.Case):
    """A test that is skipped, with append's reason, where this machine, user or build cannot trace."""

    def setUp(self):
        super().setUp()
        result = subprocess.run([harness.BINARY, "check", "1", "--io-trace"], capture_output=True,
                                text=True, cwd=self.folder, stdin=subprocess.DEVNULL)
        if result.returncode == 3:
            self.skipTest(result.stderr.strip())

    def rows(self, run):
        """Returns the rows of io.csv with numbers converted, after checking each row."""
        rows = run.table("io.csv")
        for row in rows:
            for name in row:
                if name.endswith("_ns") or name in ("size_bytes", "pid", "tid", "is_open"):
                    row[name] = int(row[name])
            self.assertEqual(row["total_ns"], row["vfs_ns"] + row["queue_ns"] + row["device_ns"], row)
            self.assertGreaterEqual(min(row["vfs_ns"], row["queue_ns"], row["device_ns"]), 0, row)
            self.assertGreater(row["total_ns"], 0, row)
            self.assertIn(row["row"], ("operation", "request"))
            self.assertIn(row["mode"], "RWS")
            self.assertIn(row["source"], ("own", "writeback", "journal"))
            self.assertTrue(row["row"] == "request" or row["source"] == "own", row)
        return rows

    def worked(self, run, rows):
        """Returns the rows from the opening of the gate to the last answer."""
        end = round(run.json["times"]["append_s"] * 1e9)
        return [row for row in rows if 0 <= row["time_ns"] <= end]

    def check_postgresql(self, server):
        """Compares the trace of a run with the server's own counts. Returns the rows of io.csv."""
        out = self.folder / "run"
        ended = self.append("4", "2000", server.url, "--batch", "1", "--read", "none",
                            "--recreate", "--io-trace", "--out", out)
        run = harness.Run(out)
        rows = self.rows(run)
        self.assert_sums(run, rows)
        counts = {entry["name"]: entry for entry in run.json["io_trace"]["server"]}
        self.assertEqual(set(counts), {"wal_write", "wal_sync"})
        for entry in counts.values():
            self.assertGreater(entry["counted"], 500)
            self.assertEqual(entry["traced"], entry["counted"], entry)
        self.assertRegex(ended.out, r"wal_sync:\s+server\s+([\d,]+),\s+traced\s+\1")
        return rows

    def assert_sums(self, run, rows):
        """Checks that the sums in run.json match the rows of io.csv during the work."""
        trace = run.json["io_trace"]
        rows = self.worked(run, rows)
        self.assertEqual(trace["lost"], 0)
        calls = [row for row in rows if row["row"] == "operation"]
        for key, mode in (("reads", "R"), ("writes", "W"), ("fsyncs", "S")):
            self.assertEqual(trace[key], sum(row["mode"] == mode for row in calls), key)
        self.assertEqual(trace["wal_fsyncs"],
                         sum(row["mode"] == "S" and row["file"] == "wal" for row in calls))
        requests = [row for row in rows if row["row"] == "request"]
        for key, source in (("requests", "own"), ("writeback_requests", "writeback"),
                            ("journal_requests", "journal")):
            self.assertEqual(trace[key], sum(row["source"] == source for row in requests), key)
        self.assertEqual(trace["open"], sum(row["is_open"] for row in calls))
        for layer in ("total", "vfs", "queue", "device"):
            histogram = run.json["histograms"][f"io.fsync.{layer}"]
            self.assertEqual(histogram["total"], trace["fsyncs"])
            self.assertEqual(histogram["sum_ns"],
                             sum(row[f"{layer}_ns"] for row in calls if row["mode"] == "S"))
            self.assertTrue((run.folder / f"io.fsync.{layer}.hgrm").stat().st_size > 0)
        for i, layer in enumerate(("vfs", "queue", "device")):
            self.assertEqual(sum(slot[i] for slot in trace["slots_ns"]),
                             sum(run.json["histograms"][f"io.{mode}.{layer}"]["sum_ns"]
                                 for mode in ("read", "write", "fsync")), layer)
        times = run.json["times"]
        self.assertEqual(trace["slots_from_s"], times["connect_s"])
        self.assertGreaterEqual(round(trace["slots_to_s"] - times["connect_s"], 9),
                                times["append_s"])


def without_privileges():
    """Returns words before a command that drop the privileges for tracing; None: not possible."""
    if os.geteuid() != 0:
        return []
    words = ["setpriv", "--bounding-set=-bpf,-perfmon,-sys_admin", "--"]
    is_there = subprocess.run([*words, "true"], capture_output=True).returncode == 0
    return words if is_there else None


def is_disk(folder):
    """Returns whether files in the folder allow direct I/O."""
    probe = pathlib.Path(folder, "probe")
    result = subprocess.run(["dd", "if=/dev/zero", f"of={probe}", "bs=4096", "count=1",
                             "oflag=direct"], capture_output=True)
    probe.unlink(missing_ok=True)
    return result.returncode == 0
