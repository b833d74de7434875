"""--stage and --rate-stage: sessions and the rate change with time."""

import harness


class Stages(harness.Case):
    def check_stages(self, run, targets, ends_s):
        """Checks that the stages follow each other and add up to the run. ends_s: when they end, in s after the gate
        opened."""
        stages = run.table("stages.csv")
        start_s = float(stages[0]["start_s"])
        self.assertEqual([int(stage["target"]) for stage in stages], targets)
        self.assertEqual(sum(int(stage["rows"]) for stage in stages), run.rows["acknowledged"])
        for stage in stages[:-1]:
            self.assertGreaterEqual(float(stage["end_s"]) - start_s + 0.002, ends_s[int(stage["stage"]) - 1])
        for before, after in zip(stages, stages[1:]):
            self.assertEqual(before["end_s"], after["start_s"])
            self.assertLess(int(before["stage"]), int(after["stage"]))
        self.assertEqual([stage["stage"] for stage in run.json["stages"]],
                         [int(stage["stage"]) for stage in stages])
        marked = [int(interval["stage"] or 0) for interval in run.table("intervals.csv")]
        self.assertEqual(marked, sorted(marked))
        self.assertEqual(marked[-1], int(stages[-1]["stage"]))
        return stages

    def test_sessions(self):
        ended, run = self.run_append(
            "null:", "--stage", "500ms:4,1s:4", "--stage", "0s:1,2500ms:1,500ms:0", "--read=none",
            "--report", "--expect", "stage2.errors==0, stage4.append.p99<=1h, stage5.rows_per_s>0")
        self.assertIn("Run       4 sessions at most, in 5 stages for 4.50 s in batches", ended.out)
        self.assertIn("Expected  all 3 met", ended.out)
        # a jump takes no time, so it has no row
        stages = self.check_stages(run, [4, 4, 1, 0], [0.5, 1.5, 1.5, 4, 4.5])
        self.assertEqual([int(stage["stage"]) for stage in stages], [1, 2, 4, 5])
        self.assertEqual(int(stages[2]["sessions_working"]), 1)
        self.assertEqual(int(run.table("intervals.csv")[0]["sessions_working"]), 4)
        # session 3 works for less time than session 0, and its longest gap does not include its waiting time
        sessions = run.table("sessions.csv")
        waited_s = 3
        self.assertLess(float(sessions[3]["worked_s"]), waited_s)
        self.assertLess(float(sessions[3]["longest_gap_ms"]), waited_s * 1000 - 100)
        self.assertGreater(float(sessions[0]["worked_s"]), waited_s)
        self.assertEqual(run.json["outcome"]["stop_reason"], "duration")
        page = (run.folder / "report.html").read_text()
        self.assertIn("stage 2, to 4", page)
        self.assertIn("Stages", page)

    def test_rate(self):
        """The work that is due is the area below the ramp."""
        for arrivals, tolerance in (("fixed", 2), ("poisson", 200)):
            with self.subTest(arrivals):
                _, run = self.run_append(
                    "2", "null:", "--rate-stage", "1s:1000,500ms:1000,0s:200,500ms:200",
                    f"--arrivals={arrivals}", "--batch=1", "--read=none")
                self.check_stages(run, [1000, 1000, 200], [1, 1.5, 1.5, 2])
                batches = run.json["batches"]
                self.assertAlmostEqual(batches["due"], 500 + 500 + 100, delta=tolerance)
                self.assertEqual(batches["due"], batches["sent"] + batches["not_sent"])

    def test_script(self):
        _, run = self.run_append(
            "sqlite:", "--workload", "tpcb", "--set", "mode=select-only", "--stage",
            "200ms:2,800ms:2,200ms:0", "--expect", "stage2.transactions>0")
        stages = run.table("stages.csv")
        self.assertEqual(sum(int(stage["transactions"]) for stage in stages),
                         run.json["transactions"]["committed"])

    def test_warm_up(self):
        """The counts of the warm-up are kept apart, so its time does not count either."""
        _, run = self.run_append(
            "sqlite:", "--workload", "tpcb", "--set", "mode=select-only", "--stage",
            "200ms:2,600ms:2,600ms:2", "--warm-up", "500ms")
        stages = run.table("stages.csv")
        self.assertEqual([stage["stage"] for stage in stages], ["2", "3"])
        self.assertLess(float(stages[0]["end_s"]) - float(stages[0]["start_s"]), 0.5)
        self.assertEqual(stages[1]["sessions_alive"], "2")

    def test_early_end(self):
        """Stages that the run does not reach have no rows, and miss their expectations."""
        ended, run = self.run_append(
            "null:", "--stage", "200ms:2,1h:2,1s:0", "--read=none", "--stop-when", "rows_per_s>0",
            "--expect", "stage3.errors==0", code=5)
        self.check_stages(run, [2, 2], [0.2, 3600])
        self.assertIn("stage3.errors==0: not known", ended.out)

    def test_refused(self):
        for arguments, pattern in (
                (("null:", "--stage", "5s"), "'5s' is not a stage"),
                (("null:", "--stage", "1s:2", "--rate", "10"), "contradict each other"),
                (("null:", "--stage", "1s:2", "--rate-stage", "1s:10"), "contradict each other"),
                (("2", "null:", "--rate", "5", "--rate-stage", "1s:10"), "contradict each other"),
                (("null:", "--stage", "1s:0"), "every stage has the target 0"),
                (("null:", "--stage", "0s:5"), "every stage has the duration 0"),
                (("null:", "--stage", "1s:2", "--duration", "3s"), "leave --duration out"),
                (("null:", "--stage", "1s:2", "--sessions", "3"), "leave --sessions out"),
                (("null:", "--sessions", "2", "--stage", "1s:2"), "leave --sessions out"),
                (("null:", "--duration", "1s", "--stage", "1s:2"), "leave --duration out"),
                (("2", "null:", "--stage", "1s:2"), "leave SESSIONS and RECORDS out"),
                (("2", "2", "null:", "--stage", "1s:2"), r"use append \[TARGET\] --stage"),
                (("2", "9", "null:", "--stage-disconnect"), "needs --stage"),
                (("null:", "--stage", "1s:2", "--expect", "stage2.errors==0"), "the run has 1 stage"),
                (("2", "9", "null:", "--expect", "stage1.errors==0"), "no stages: give --stage"),
                (("null:", "--stage", "0s:2,1s:2", "--expect", "stage1.errors==0"), "stage 1 takes no time and has no figures"),
                (("null:", "--stage", "1s:2", "--expect", "stage1.foo==0"), "'foo' is not a figure"),
                (("null:", "--stage", "1s:2", "--expect", "stage1.read.max<1"), "the unit|a unit|no unit"),
                (("null:", "--stage", ",".join(["1s:1"] * 101)), "more than 100 stages")):
            with self.subTest(arguments):
                self.refused(*arguments, code=2, pattern=pattern)


if __name__ == "__main__":
    harness.main()
