"""--expect: exit code 5, the names of the bounds, the JUnit file."""

import json
import os
import re
import xml.etree.ElementTree as ElementTree

import harness


class Expect(harness.Case):
    def test_all_met(self):
        ended, run = self.run_append(
            "2", "1000", "null:", "--expect", "throughput>0, append_p99<=1h, acknowledged==1k",
            "--expect", "max_memory<=100GiB")
        self.assertIn("Expected  all 4 met", ended.out)
        self.assertEqual(len(run.json["expectations"]), 4)
        for entry in run.json["expectations"]:
            self.assertTrue(entry["is_met"], entry)
        self.assertEqual(run.json["expectations"][1],
                         {"bound": "append_p99<=1h", "figure": "append_p99_ms", "relation": "<=",
                          "limit": 3.6e6, "is_met": True,
                          "value": run.json["expectations"][1]["value"]})
        # The figures are those of summary.csv.
        self.assertEqual(run.json["expectations"][1]["value"],
                         float(run.table("summary.csv")[0]["append_p99_ms"]))

    def test_every_missed_bound_is_named(self):
        ended, run = self.run_append(
            "2", "1000", "null:", "--expect",
            "elapsed>=1h,sessions_finished==2 , rows_acknowledged>=2k,dropped==0", code=5)
        self.assertIn("2 of 4 expectations not met", ended.reason)
        self.assertIn("elapsed>=1h: ", ended.reason)
        self.assertIn("rows_acknowledged>=2k: 1,000", ended.reason)
        self.assertNotIn("dropped==0", ended.reason)
        self.assertIn("2 of 4 NOT MET", ended.out)
        self.assertEqual([entry["is_met"] for entry in run.json["expectations"]],
                         [False, True, False, True])
        self.assertEqual(run.table("summary.csv")[0]["exit_code"], "5")
        self.assertEqual(run.json["outcome"]["exit_code"], 5)
        self.assertEqual(run.json["outcome"]["verdict"], "VALID")

    def test_any_percentile(self):
        """Text, page, CSV and run.json have the same percentiles, also those that only a bound names."""
        ended, run = self.run_append(
            "2", "1000", "null:", "--percentiles", "99.99,75", "--expect",
            "append.p97.5<=1h, append_p5<=1h, read.mean<=1h, append.p99.9<=1h", "--report")
        self.assertIn("Expected  all 4 met", ended.out)
        self.assertRegex(ended.out, r"\nLatency +mean +p75 +p99\.99 +max +measured\n")
        summary, latency = run.table("summary.csv")[0], run.json["latencies"]["append"]
        points = ["mean", "p5", "p50", "p75", "p90", "p95", "p975", "p99", "p999", "p9999", "max"]
        self.assertEqual([key[len("append_"):-len("_ms")] for key in summary
                          if key.startswith("append_") and key.endswith("_ms")], points)
        self.assertEqual([key for key in latency if key != "count"], [f"{point}_ms" for point in points])
        values = [latency[f"{point}_ms"] for point in points[1:]]
        self.assertEqual(values, sorted(values))
        self.assertEqual([entry["figure"] for entry in run.json["expectations"]],
                         ["append_p975_ms", "append_p5_ms", "read_mean_ms", "append_p999_ms"])
        self.assertIn("".join(f'<th scope="col">{name}</th>' for name in ("p75", "p99.99", "max")),
                      re.sub(r'<th[^>]*>', '<th scope="col">', (run.folder / "report.html").read_text()))

    def test_wrong_percentiles(self):
        for wrong, shown in (("50,,90", ""), ("5.5", "5.5"), ("100", "100"), ("p50", "p50"), ("", "")):
            with self.subTest(wrong):
                self.refused(2, 1000, "null:", "--percentiles", wrong, code=2,
                             pattern=f"--percentiles: '{shown}' is not a percentile from 1 to 99.9999")

    def test_what_is_not_known_is_not_met(self):
        # null: keeps no rows to count, and has no response time without a rate.
        ended, run = self.run_append("2", "1000", "null:", "--expect", "lost==0",
                                     "--expect", "response_p99<1h", code=5)
        self.assertIn("lost==0: not known, response_p99<1h: not known", ended.reason)
        self.assertEqual([entry["value"] for entry in run.json["expectations"]], [None, None])

    def test_verdict_and_rate(self):
        """A run far below its rate ends with 0 unless a bound makes it fail. Each row is a batch, so the
        run cannot reach its rate."""
        ended, run = self.run_append(
            "1", "null:", "--duration", "1.5s", "--rate", "1G", "--batch", "1", "--expect",
            "verdict==VALID, rate_achieved>=95%, verdict!=INVALID", code=None)
        self.assertIn(ended.code, (5, 6), ended)
        self.assertRegex(ended.reason, "verdict==VALID: (DEGRADED|INVALID), "
                                       r"rate_achieved>=95%: [0-9.]+ %")
        figures = run.json["figures"]
        self.assertAlmostEqual(figures["rate_achieved_percent"],
                               run.rows["acknowledged"] / run.json["times"]["append_s"] / 1e7,
                               delta=0.01)
        self.assertEqual(run.json["expectations"][0]["limit"], "VALID")
        self.assertEqual(run.json["expectations"][0]["value"], run.json["outcome"]["verdict"])
        self.assertEqual(run.json["expectations"][0]["figure"], "verdict")
        self.assertAlmostEqual(float(run.table("summary.csv")[0]["rate_achieved_percent"]),
                               figures["rate_achieved_percent"], delta=0.006)

    def test_nothing_expected(self):
        ended, run = self.run_append("2", "10", "null:")
        self.assertIsNone(run.json["expectations"])
        self.assertNotIn("Expected", ended.out)

    def test_json_on_stdout(self):
        ended, run = self.run_append("2", "10", "null:", "--json", "--expect", "elapsed>1h", code=5)
        self.assertEqual(json.loads(ended.out)["expectations"], run.json["expectations"])

    def test_wrong_bounds_are_refused_before_the_run(self):
        for text, pattern in (
                ("thruput>=1", "no figure is called 'thruput'.*throughput_rows_per_s"),
                ("verdit==VALID", "no figure is called 'verdit': did you mean 'verdict'\\?$"),
                ("xyzzyxyzzy>=1", "use the name of a numeric column of summary.csv, such as throughput"),
                ("throughput>=5ms", "wrong unit: throughput is a number of rows/s"),
                ("append_p99<=20", r"no unit: append_p99 is a time.*20ms"),
                ("max_memory<=2GB", "wrong unit.*2GiB"),
                ("throughput=5", "no comparison.*>="),
                ("throughput>=x", "no number"),
                ("throughput>=50,000", "'000'"),
                ("verdict==1", "verdict is VALID, DEGRADED or INVALID"),
                ("verdict==GOOD", "wrong value: verdict is VALID, DEGRADED or INVALID"),
                ("throughput==VALID", "throughput is a number of rows/s"),
                ("exit_code==0", "depends on the bounds"),
                ("lost==0,", "empty"),
                ("", "empty")):
            with self.subTest(text=text):
                self.refused("2", "10", "null:", "--expect", text, code=2,
                             pattern="append: --expect: .*" + pattern)


class StopWhen(harness.Case):
    """--stop-when ends a run cleanly."""

    def test_a_slow_phase(self):
        script = self.folder / "slow.lua"
        script.write_text("local n = 0\ntransaction('t', function()\nn = n + 1\n"
                          "think(n > 300 and 30 or 0.001)\nend)\n")
        ended, run = self.run_append(2, "null:", "--workload", script, "--duration", "1000s", "--stop-when",
                                     "transactions_per_s<=0 for 2s", code=5)
        self.assertRegex(ended.reason, r"stopped by --stop-when: transactions_per_s<=0 for 2s: 0 /s$")
        outcome = run.json["outcome"]
        self.assertEqual((outcome["stop_reason"], outcome["verdict"]), ("condition", "DEGRADED"))
        self.assertEqual(run.sessions["stopped"], 2)
        self.assertIn("Ended         a condition of --stop-when held\n", ended.out)
        self.assertEqual(run.json["transactions"]["committed"], 600)

    def test_rows_that_were_not_sent(self):
        ended, run = self.run_append(2, 1_000_000, "null:", "--rate", 1000, "--stop-when",
                                     "append.p99>1h, throughput<5000", code=5)
        self.assertRegex(ended.reason, r"throughput<5000: [\d.]+")
        self.assertGreater(run.rows["not_sent"], 900_000)

    def test_a_run_that_ends_by_itself(self):
        for case, reason in (((20, "null:", "--duration", "2s"), "duration"),
                             ((20, 1000, "null:", "--rate", "500"), "completed")):
            with self.subTest(case):
                ended, run = self.run_append(*case, "--stop-when", "throughput<1, errors>0", "--batch", 5,
                                             code=None)
                self.assertIn(ended.code, (0, 6), ended)
                self.assertEqual(run.json["outcome"]["stop_reason"], reason)

    def test_wrong(self):
        self.refused(2, 1000, "null:", "--stop-when", "append.p77>1s", code=2,
                     pattern="'append_p77' is not a figure of an interval of this run: use a column of intervals.csv")
        self.refused("find-max", "null:", "--stop-when", "errors>1", code=2,
                     pattern="--stop-when is not an option of")


class OwnExitCode(harness.Case):
    """The run's own exit code wins: the figures of an incomplete run say nothing about the bounds."""

    def test_a_short_run(self):
        out = self.out()
        process = self.start("2", "null:", "--duration", "1h", "--rate", "100", "--out", out,
                             "--expect", "elapsed>=1h, throughput>1G")
        self.interrupt_when_busy(process, out)
        ended = self.end(process, 130)
        self.assertRegex(ended.reason, "interrupted.*; also 2 of 2 expectations not met: "
                                       "elapsed>=1h: .*throughput>1G: ")
        run = self.check_run(out, 130)
        self.assertEqual([entry["is_met"] for entry in run.json["expectations"]], [False, False])


class Junit(harness.Case):
    def read(self, path):
        """Returns the test cases by name, after checking the attributes that CI systems read."""
        root = ElementTree.parse(path).getroot()
        self.assertEqual(root.tag, "testsuites")
        suites = list(root)
        self.assertEqual([suite.tag for suite in suites], ["testsuite"])
        cases = suites[0].findall("testcase")
        for element in (root, suites[0]):
            self.assertEqual(int(element.get("tests")), len(cases))
            for kind in ("failure", "error"):
                self.assertEqual(int(element.get(kind + "s")),
                                 sum(case.find(kind) is not None for case in cases))
            float(element.get("time"))
        for case in cases:
            self.assertTrue(case.get("name") and case.get("classname"))
            self.assertLessEqual(len(list(case)), 1)
        names = [case.get("classname") + "/" + case.get("name") for case in cases]
        self.assertEqual(len(set(names)), len(names))
        return {case.get("name"): case for case in cases}

    def test_a_case_for_each_bound(self):
        junit = self.folder / "junit.xml"
        junit.write_text("of an earlier run")
        self.run_append("2", "1000", "null:", "--junit", junit, "--expect",
                        "elapsed>=1h, rows_acknowledged==1000", code=5)
        cases = self.read(junit)
        self.assertEqual(list(cases), ["sessions", "rows", "outcome", "elapsed>=1h",
                                       "rows_acknowledged==1000"])
        self.assertRegex(cases["elapsed>=1h"].find("failure").get("message"),
                         r"^elapsed>=1h: [0-9.]+ s$")
        for name in ("sessions", "rows", "outcome", "rows_acknowledged==1000"):
            self.assertIsNone(cases[name].find("failure"), name)

    def test_in_the_folder_of_the_run(self):
        out = self.out()
        self.append("2", "10", "null:", "--out", out, "--junit", out / "junit.xml")
        self.assertEqual(list(self.read(out / "junit.xml")), ["sessions", "rows", "outcome"])

    def test_a_run_that_cannot_begin(self):
        junit = self.folder / "junit.xml"
        out = self.out()
        out.mkdir()
        ended = self.append("2", "10", "null:", "--out", out, "--junit", junit, code=2)
        error = self.read(junit)["outcome"].find("error")
        self.assertEqual(error.get("type"), "exit-code-2")
        self.assertEqual("append: " + error.get("message"), ended.reason)

    def test_a_server_that_is_not_recognised(self):
        junit = self.folder / "junit.xml"
        junit.write_text("of an earlier run")
        ended = self.append("2", "10", "1", "--junit", junit, code=4)
        error = self.read(junit)["outcome"].find("error")
        self.assertEqual("append: " + error.get("message"), ended.reason)

    def test_an_interrupted_run(self):
        out, junit = self.out(), self.folder / "junit.xml"
        process = self.start("2", "null:", "--duration", "1h", "--rate", "100", "--out", out,
                             "--junit", junit)
        self.interrupt_when_busy(process, out)
        self.end(process, 130)
        cases = self.read(junit)
        self.assertIn("interrupted", cases["outcome"].find("failure").get("message"))
        self.assertIsNotNone(cases["sessions"].find("failure"))

    def test_a_file_that_cannot_be_written(self):
        self.refused("2", "10", "null:", "--junit", self.folder / "no" / "junit.xml", code=2,
                     pattern="--junit .* cannot be written: No such file")
        self.refused("2", "10", "null:", "--junit", self.folder, code=2,
                     pattern="--junit .* cannot be written: Is a directory")
        os.mkfifo(self.folder / "pipe")
        self.refused("2", "10", "null:", "--junit", self.folder / "pipe", code=2,
                     pattern="--junit .* cannot be written: it is a pipe")
        theirs = self.folder / "theirs"
        theirs.write_text("precious")
        (self.folder / "link.xml").symlink_to(theirs)
        self.refused("1", "1", "null:", "--junit", self.folder / "link.xml", code=2,
                     pattern="--junit .* cannot be written: it is a link: name the file itself")
        self.assertEqual(theirs.read_text(), "precious")
        ended = self.append("2", "10", "null:", "--junit", "/dev/full", code=3)
        self.assertIn("'/dev/full' could not be written: No space left", ended.reason)


if __name__ == "__main__":
    harness.main()
