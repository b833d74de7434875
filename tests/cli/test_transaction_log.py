"""--log-transactions without a server. harness.Case.check_log compares each log with the ledgers."""

import collections
import resource
import signal

import harness
import test_disk
from test_exit_reason import OutcomeCase

SLEEPY = """
local q = statement("q", "SELECT 1", {})
transaction("one", function() q:run() think(0.001) end, {autocommit = true, weight = 1})
transaction("two", function() q:run() think(0.001) end, {autocommit = true, weight = 3})
"""


class Log(harness.Case):
    def turns(self, run):
        return {(int(row["session"]), int(row["turn"])) for row in run.table("transactions.csv")}

    def sample(self, *options, **more):
        _, run = self.run_append(4, 8000, "null:", "--batch", 10, *options, **more)
        return run

    def test_without_the_option(self):
        self.assertIsNone(self.sample().json["transaction_log"])

    def test_batches_and_reads(self):
        run = self.sample("--log-transactions", "--read-every", 2)
        self.assertEqual(run.json["transaction_log"], {"share": 1.0, "rows": 1200, "rows_missing": 0})
        self.assertEqual(self.turns(run), {(session, turn) for session in range(4) for turn in range(200)})
        rows = run.table("transactions.csv")
        self.assertEqual(collections.Counter((row["transaction"], row["outcome"], row["tries"]) for row in rows),
                         {("append", "acknowledged", "1"): 800, ("read", "answered", "1"): 400})
        self.assertEqual({row["response_ns"] for row in rows}, {""})
        for session in range(4):  # the rows of a session are in the order of time
            ends = [int(row["end_ns"]) for row in rows if int(row["session"]) == session]
            self.assertEqual(ends, sorted(ends))
            self.assertGreater(ends[0], 0)
        self.assertLessEqual(max(int(row["end_ns"]) for row in rows), 1e9 * run.json["times"]["append_s"])

    def test_the_seed_chooses_the_sample(self):
        chosen = [self.turns(self.sample(f"--log-transactions={share}", "--seed", seed)) for share, seed in
                  (("10%", 7), ("0.1", 7), ("10%", 8), ("20%", 7))]
        self.assertEqual(chosen[0], chosen[1])
        self.assertNotEqual(chosen[0], chosen[2])
        self.assertLess(chosen[0], chosen[3], "a larger share has all turns of a smaller one")
        for turns, share in zip(chosen, (0.1, 0.1, 0.1, 0.2)):
            self.assertAlmostEqual(len(turns) / 800, share, delta=0.06)

    def test_the_sample_of_a_script(self):
        script = self.folder / "s.lua"
        script.write_text(SLEEPY)
        chosen = []
        for _ in range(2):
            _, run = self.run_append(4, "--workload", script, "--transactions", 2000, "--seed", 5,
                                     "--log-transactions=5%", code=None)
            chosen.append([(row["session"], row["turn"], row["transaction"]) for row in run.table("transactions.csv")])
        self.assertEqual(sorted(chosen[0]), sorted(chosen[1]))
        self.assertAlmostEqual(len(chosen[0]), 100, delta=40)

    def test_a_rate(self):
        run = self.sample("--log-transactions", "--rate", "8000")
        rows = [row for row in run.table("transactions.csv") if row["transaction"] == "append"]
        for row in rows:
            self.assertGreaterEqual(int(row["response_ns"]), int(row["latency_ns"]))
        self.assertEqual(sum(int(row["response_ns"]) for row in rows), run.json["histograms"]["response"]["sum_ns"])

    def test_late_transactions_and_a_warm_up(self):
        script = self.folder / "s.lua"
        script.write_text(SLEEPY.replace("0.001", "0.05"))
        _, run = self.run_append(2, "--workload", script, "--rate", 100, "--duration", "2s", "--late", "200ms",
                                 "--warm-up", "1s", "--log-transactions", code=None)
        self.assertGreater(run.json["transactions"]["skipped"], 0)
        rows = run.table("transactions.csv")
        self.assertEqual({(row["tries"], row["latency_ns"], row["response_ns"]) for row in rows
                          if row["outcome"] == "skipped"}, {("0", "", "")})
        self.assertGreaterEqual(min(int(row["end_ns"]) for row in rows), 1e9, "no row is about the warm-up")

    def test_interrupted(self):
        out = self.out()
        process = self.start(4, "null:", "--duration", "10m", "--rate", 10000, "--log-transactions", "--out", out)
        self.interrupt_when_busy(process, out, "transactions.csv")
        self.end(process, 130)
        run = self.check_run(out, 130)
        self.assertEqual(run.json["transaction_log"]["rows_missing"], 0)

    def test_killed(self):
        """The file has whole rows, because rows are written while the run goes on."""
        out = self.out()
        process = self.start(4, "null:", "--duration", "10m", "--rate", 10000, "--log-transactions", "--out", out)
        self.wait_for_rows(process, out, "transactions.csv")
        process.send_signal(signal.SIGKILL)
        process.wait()
        text = (out / "transactions.csv").read_text()
        self.assertTrue(text.endswith("\n"))
        self.assertEqual({line.count(",") for line in text.splitlines()}, {7})

    def test_faster_than_the_log(self):
        """Rows for which the log has no room are counted, and the run says so."""
        ended, run = self.run_append(100, "null:", "--duration", "1s", "--batch", 1, "--log-transactions", code=None)
        log, counters = run.json["transaction_log"], run.json["counters"]
        self.assertEqual(log["rows"] + log["rows_missing"], counters["appends"] + counters["reads"])
        self.assertEqual("transactions.csv: " in ended.reason, log["rows_missing"] > 0, ended)

    def test_a_sweep_logs_each_run(self):
        self.append("sweep", "--sessions", "1,2", "--records", 200, "null:", "--log-transactions", "--out",
                    self.folder / "sweep")
        logs = sorted((self.folder / "sweep").rglob("transactions.csv"))
        self.assertEqual([harness.count_lines(log) for log in logs], [5, 5])

    def test_refused(self):
        for share in ("0", "0%", "101%", "1.5", "-1", "1e-3", "x", ""):
            self.refused(1, 10, "null:", f"--log-transactions={share}", code=2,
                         pattern=f"--log-transactions '{share}' is not a share above 0 and up to 1 ")
        self.refused("find-max", "null:", "--log-transactions", code=2, pattern="--log-transactions is not an option")


class FullDisk(OutcomeCase):
    mount, fill = test_disk.Disk.mount, test_disk.Disk.fill

    def check_short(self, run, ended, reason):
        rows = run.table("transactions.csv")  # whole up to its end
        log, counters = run.json["transaction_log"], run.json["counters"]
        self.assertEqual(log["rows"], len(rows))
        self.assertGreater(log["rows_missing"], 0)
        self.assertEqual(log["rows"] + log["rows_missing"], counters["appends"] + counters["reads"])
        self.assertRegex(ended.reason, rf"transactions\.csv: {reason}")
        self.assertRegex(ended.reason, rf"transactions\.csv: {log['rows_missing']:,} rows are missing")

    def test_full_during_the_run(self):
        place = self.mount("4m")
        out = place / "run"
        process = self.start(2, 6000, "null:", "--batch", 10, "--rate", 1000, "--log-transactions", "--out", out)
        self.wait_for_rows(process, out, "transactions.csv")
        self.fill(place)
        ended = self.end(process, 3)
        self.check_short(harness.Run(out), ended, "No space left on device")

    def test_a_limit_on_the_size_of_files(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 21, 1 << 21))

        out = self.out()
        ended = self.append(2, 800000, "null:", "--batch", 10, "--rate", 400000, "--log-transactions", "--out", out, code=3,
                            preexec_fn=limit)
        self.check_short(self.check_run(out, 3), ended, "File too large")


if __name__ == "__main__":
    harness.main()
