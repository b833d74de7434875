"""Whole runs on the null adapter: files, ledgers and options that need no database."""

import json
import re
import signal
import time

import harness


class Null(harness.Case):
    def test_7_sessions_100_rows(self):
        ended, run = self.run_append("7", "100", "null:", "--batch", "4")
        self.assertEqual(ended.code, 0)
        self.assertEqual(run.rows["planned"], 100)
        self.assertEqual(run.rows["acknowledged"], 100)
        self.assertEqual(run.sessions["finished"], 7)
        self.assertIn("(2 x 15 + 5 x 14)", ended.out)
        for word in ("CPU", "emory", "lapsed", "hroughput"):
            self.assertIn(word, ended.out)
        for line in ended.out.splitlines():
            self.assertLessEqual(len(line), 80, line)
        # Both 15 rows and 14 rows are 4 batches: 7 x 4 appends and as many counts.
        self.assertEqual(run.table("summary.csv")[0]["appends"], "28")
        self.assertEqual(run.table("summary.csv")[0]["reads"], "28")

    def test_a_program_that_is_stopped_for_a_time(self):
        """append was stopped while the machine went on: its figures say nothing about the server."""
        out = self.out()
        process = self.start("3", "null:", "--duration", "5", "--rate", "1000", "--out", out)
        self.wait_for_rows(process, out)
        time.sleep(0.5)  # between two intervals, while all threads wait
        process.send_signal(signal.SIGSTOP)
        time.sleep(2)  # the test is about the time itself
        process.send_signal(signal.SIGCONT)
        ended = self.end(process, 6)
        run = self.check_run(out, 6)
        self.assertEqual(run.json["outcome"]["verdict"], "INVALID")
        self.assertRegex(ended.reason, r"INVALID: append itself stood still for \d\.\d s")
        suspended_s = run.json["resources"]["suspended_s"]
        self.assertGreater(suspended_s, 1)
        self.assertLess(suspended_s, run.json["figures"]["elapsed_s"])

    def test_the_rate_while_appending(self):
        """The throughput includes the time to connect and disconnect; the rate after it does not."""
        for work in (["3", "100", "null:"], ["3", "null:", "--duration", "1.2"]):
            ended, run = self.run_append(*work, "--rate", "1000")
            summary = run.table("summary.csv")[0]
            rate = run.json["figures"]["append_rows_per_s"]
            self.assertAlmostEqual(rate * run.json["times"]["append_s"],
                                   run.rows["acknowledged"], places=3)
            self.assertAlmostEqual(rate, float(summary["append_rows_per_s"]), places=1)
            self.assertRegex(ended.out, r"\nThroughput +[\d,.]+ rows/s  by elapsed time; "
                                        r"[\d,.]+ rows/s while\s+appending")
            self.assertEqual("the run was too short" in re.sub(r"\s+", " ", ended.out),
                             run.json["times"]["append_s"] < 1)
            figures, end = ended.out.index("\nMaximum CPU"), ended.out.index("\nFiles ")
            self.assertLess(figures, ended.out.index(f"\n{summary['verdict']} "))
            self.assertLessEqual(ended.out.count("\n", figures, end), 22)

    def test_the_default_folder(self):
        self.append("2", "10", "null:")
        folders = list((self.folder / "append-runs").iterdir())
        self.assertEqual(len(folders), 1)
        self.assertRegex(folders[0].name, r"^\d{8}T\d{6,9}Z-null-2x10$")
        self.check_run(folders[0], 0)

    def test_two_runs_do_not_meet(self):
        first = self.start("2", "10", "null:")
        second = self.start("2", "10", "null:")
        codes = sorted(self.end(process, None).code for process in (first, second))
        # Both runs may begin in the same millisecond: then the second run is refused, and no files are mixed.
        self.assertIn(codes, ([0, 0], [0, 2]))

    def test_hgrm_files(self):
        _, run = self.run_append("2", "1000", "null:")
        names = {path.stem for path in run.folder.glob("*.hgrm")}
        self.assertLessEqual({"append", "read", "connect"}, names)
        for path in run.folder.glob("*.hgrm"):
            lines = path.read_text().splitlines()
            self.assertRegex(lines[0], r"^\s*Value\s+Percentile\s+TotalCount\s+1/\(1-Percentile\)")
            rows = [line.split() for line in lines[1:] if line and not line.startswith("#")]
            if rows:
                self.assertEqual(float(rows[-1][1]), 1.0, path)
                values = [float(row[0]) for row in rows]
                self.assertEqual(values, sorted(values), path)

    def test_json_on_stdout(self):
        ended, run = self.run_append("3", "100", "null:", "--json")
        self.assertEqual(json.loads(ended.out), run.json)

    def test_quiet(self):
        ended, _ = self.run_append("3", "100", "null:", "--quiet")
        self.assertEqual(ended.err, "")

    def test_read_none(self):
        _, run = self.run_append("3", "100", "null:", "--read", "none")
        self.assertEqual(run.table("summary.csv")[0]["reads"], "0")

    def test_read_every(self):
        _, run = self.run_append("1", "100", "null:", "--batch", "10", "--read-every", "5")
        self.assertEqual(run.table("summary.csv")[0]["reads"], "2")

    def test_more_rows_than_an_adapter_takes_at_once(self):
        _, run = self.run_append("1", "1000", "null:", "--batch", "1000")
        self.assertEqual(run.rows["acknowledged"], 1000)
        self.assertEqual(run.table("summary.csv")[0]["appends"], "1")

    def test_many_sessions(self):
        _, run = self.run_append("1000", "20000", "null:", timeout_s=2 * harness.GUARD_S)
        self.assertEqual(run.sessions["finished"], 1000)
        self.assertEqual(run.rows["acknowledged"], 20000)

    def test_units_in_numbers(self):
        _, run = self.run_append("2", "20k", "null:")
        self.assertEqual(run.rows["planned"], 20000)

    def test_the_seed_is_kept(self):
        _, run = self.run_append("2", "100", "null:", "--seed", "42")
        self.assertEqual(run.json["plan"]["seed"], "42")


class Pace(harness.Case):
    def test_random_arrivals(self):
        """The seed decides when batches are due, and how many are due within a given time."""
        work = ("4", "null:", "--duration", "1.5s", "--rate", "4000", "--batch", "10")
        def due(*options):
            _, run = self.run_append(*work, *options, code=None)
            self.assertEqual(run.json["batches"]["due"],
                             run.json["batches"]["sent"] + run.json["batches"]["not_sent"])
            return run.json["batches"]["due"]

        self.assertEqual(due(), 600)
        first = due("--arrivals", "poisson", "--seed", "1")
        self.assertEqual(due("--arrivals", "poisson", "--seed", "1"), first)
        many = {due("--arrivals", "poisson", "--seed", seed) for seed in range(2, 7)}
        self.assertGreater(len(many), 1)
        for number in (first, *many):
            self.assertLess(abs(number - 600), 5 * 600 ** 0.5)
        self.refused("4", "1000", "null:", "--arrivals", "poisson", code=2, pattern="--arrivals needs --rate or --rate-stage")
        self.refused(*work, "--arrivals", "normal", code=2, pattern="is not fixed or poisson")

    def test_rate(self):
        ended, run = self.run_append("2", "1000", "null:", "--batch", "10", "--rate", "1000")
        self.assertEqual(run.rows["acknowledged"], 1000)
        # 1,000 rows at 1,000 rows/s: the last batch is due just before the first second ends.
        self.assertGreater(float(run.table("summary.csv")[0]["append_s"]), 0.9)
        self.assertTrue((run.folder / "response.hgrm").is_file())

    def test_rows_or_a_duration(self):
        """RECORDS or --duration ends a run, whichever comes first; rows after the duration are not missing."""
        _, run = self.run_append("-c", "2", "40", "null:", "-T", "1h", "--batch", "10")
        self.assertEqual(run.rows["acknowledged"], 40)
        self.assertEqual(run.json["outcome"]["stop_reason"], "completed")
        ended, run = self.run_append("2", "100G", "null:", "--duration", "1s", "--rate", "1000")
        self.assertEqual(run.json["outcome"]["stop_reason"], "duration")
        self.assertEqual(run.json["plan"]["records"], 100_000_000_000)
        self.assertEqual(run.json["plan"]["duration_s"], 1)
        self.assertEqual(run.rows["planned"], run.rows["acknowledged"])
        self.assertEqual(run.sessions["finished"], 2)
        self.assertRegex(ended.out, r"(?m)^Run +2 sessions, 100,000,000,000 rows")

    def test_duration(self):
        _, run = self.run_append("2", "null:", "--duration", "1.2s", "--rate", "5000")
        append_s = float(run.table("summary.csv")[0]["append_s"])
        self.assertGreaterEqual(append_s, 1.1)
        self.assertLess(append_s, harness.GUARD_S)
        self.assertGreater(run.rows["acknowledged"], 0)
        self.assertEqual(run.sessions["finished"], 2)
        self.assertGreaterEqual(len(run.table("intervals.csv")), 2)

    def test_a_folder_that_is_removed_meanwhile(self):
        """Every file that the report names exists and is whole, or the report says that it is incomplete."""
        for removed, why in ((".", "the folder was removed or renamed during the run"),
                             ("samples.csv", "samples.csv: No such file")):
            out = self.out()
            process = self.start("1", "null:", "--duration", "2", "--rate", "1000", "--out", out)
            self.wait_for_rows(process, out)
            if removed == ".":
                out.rename(self.folder / "elsewhere")
            else:
                (out / removed).unlink()
            ended = self.end(process, 3)
            self.assertIn(why, ended.reason)
            self.assertIn(f"Problem   {why}", ended.out)
            gone = "gone: " if removed == "." else ""
            self.assertIn(f"\nFiles     {gone}{out}\n", ended.out)

    def test_samples_follow_the_interval(self):
        _, run = self.run_append("1", "null:", "--duration", "1s", "--rate", "1000",
                                 "--sample-interval", "200ms")
        self.assertGreaterEqual(len(run.table("samples.csv")), 4)


class Progress(harness.Case):
    def test_plain_lines_elsewhere(self):
        ended, _ = self.run_append("1", "null:", "--duration", "1.5s", "--rate", "1000",
                                   "--sample-interval", "500ms")
        self.assertGreaterEqual(len(ended.err.splitlines()), 1)
        self.assertNotIn("\r", ended.err)
        self.assertIsNone(re.search("\x1b", ended.err))


if __name__ == "__main__":
    harness.main()
