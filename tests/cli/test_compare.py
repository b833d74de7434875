"""Comparisons of two runs and of two sweeps.

The runs are artificial: the folder of a real run with given figures in its files. Real runs on a busy
machine would differ by chance.
"""

import csv
import json
import random
import re
import shutil

import harness

SECONDS = 24


class Compare(harness.Case):
    def setUp(self):
        super().setUp()
        _, run = self.run_append("2", "100", "null:", "-q")
        self.model = run.folder

    def rewrite(self, path, change):
        with open(path, newline="") as file:
            rows = list(csv.reader(file))
        change(rows)
        with open(path, "w", newline="") as file:
            csv.writer(file).writerows(rows)

    def made_up(self, name, pace, others=0.0, own=50, **plan):
        """Returns the folder of a run that appended for SECONDS at `pace` rows/s."""
        folder = self.folder / name
        shutil.copytree(self.model, folder)

        def set_summary(table):
            for column, value in (("append_s", SECONDS), ("elapsed_s", SECONDS + 0.75),
                                  ("rows_acknowledged", pace * SECONDS), ("verdict", "VALID"),
                                  ("append_rows_per_s", pace),
                                  ("throughput_rows_per_s", pace * SECONDS / (SECONDS + 0.75))):
                table[1][table[0].index(column)] = str(value)

        self.rewrite(folder / "summary.csv", set_summary)
        path = folder / "run.json"
        value = json.loads(path.read_text())
        value["plan"].update(plan, out_folder=name)
        value["outcome"].update(verdict="VALID", exit_code=0)
        value["resources"].update(mean_host_cpu_percent=own + others, mean_client_cpu_percent=own,
                                  mean_server_cpu_percent=None)
        path.write_text(json.dumps(value))
        return folder

    def compare(self, a, b, *options, code=0):
        ended = self.append("compare", a, b, "--json", *options, code=code)
        return json.loads(ended.out)

    def figures(self, compared):
        return {figure["figure"]: figure for figure in compared["cells"][0]["figures"]}

    def test_ratios_and_no_verdict(self):
        """With one run each, even a large difference cannot be distinguished from noise."""
        a, b = self.made_up("a", 20000), self.made_up("b", 5000)
        compared = self.compare(a, b)
        figures = self.figures(compared)
        for name in ("pace_rows_per_s", "throughput_rows_per_s", "rows_acknowledged"):
            self.assertEqual(figures[name]["ratio"], 0.25, name)
        self.assertEqual(figures["pace_rows_per_s"]["a"], 20000)
        self.assertEqual({(figure["finding"], figure["is_regression"], figure["low"])
                          for figure in figures.values()}, {("not tested", False, None)})
        self.assertEqual(compared["differences"], [])
        for column in next(csv.reader(open(a / "summary.csv", newline=""))):
            if column.endswith(("_ms", "_s", "_percent", "_mib")) or column.startswith("rows_"):
                self.assertIn(column, figures)
        ended = self.append("compare", a, b)
        lines = ended.out.splitlines()
        self.assertIn("one run of A and one of B do not show whether a difference is noise", lines[4])
        self.assertIn("append sweep --repeat", " ".join(ended.out.split()))
        self.assertRegex(ended.out, r"(?m)^Throughput +19,394 rows/s +4,848 rows/s +0.250$")
        self.assertRegex(ended.out, r"(?m)^rows_acknowledged +480,000 +120,000 +0.250$")
        self.assertRegex(ended.out, r"(?m)^append p99 +\S+ ms +\S+ ms +1.000$")
        for word in ("REGRESSION", "interval", "rows_lost", "slowest_session"):
            self.assertNotIn(word, ended.out)
        self.refused("compare", a, b, "--threshold", "20%", code=2,
                     pattern="--threshold applies to sweeps with --repeat, not to single runs")

    def test_figures_below_0(self):
        """A figure may shrink, for example a table that the server has compacted."""
        for value, shown in ((-999, "-999"), (-999.6, "-999.6"), (-1000, "-1,000"), (-1500.4, "-1,500"),
                             (-2.5e6, "-2,500,000"), (-1e18, r"-1e\+18")):
            with self.subTest(value=value):
                folders = [self.made_up(f"{name}{value}", 20000) for name in "ab"]
                self.rewrite(folders[1] / "summary.csv", lambda table, value=value: table[1].__setitem__(
                    table[0].index("max_memory_mib"), str(value)))
                self.rewrite(folders[0] / "summary.csv", lambda table: table[1].__setitem__(
                    table[0].index("max_memory_mib"), "1000"))
                ended = self.append("compare", *folders)
                self.assertRegex(ended.out, rf"(?m)^Maximum memory +1,000 MiB +{shown} MiB +\S+$")

    def test_a_run_and_itself(self):
        a = self.made_up("a", 20000)
        compared = self.compare(a, a, "--fail-if", "throughput!=1, elapsed!=1")
        for figure in compared["cells"][0]["figures"]:
            self.assertIn(figure["ratio"], (1, None), figure)

    def test_a_folder_is_no_difference(self):
        """A database in the run's own folder counts as the same in both runs; other words that contain
        the folder's name do not."""
        target = {"display": "sqlite:{}/append.db", "path": "{}/append.db", "host": "a"}
        folders = [self.made_up(name, 20000, data_mode="varied",
                                target={key: value.format(name) for key, value in target.items()})
                   for name in ("a", "b")]
        self.assertEqual(self.compare(*folders)["differences"], [])
        c = self.made_up("c", 20000, data_mode="varied", target=dict(
            display="sqlite:x/c/append.db", path="cc/append.db", host="c"))
        differences = {entry["name"]: (entry["a"], entry["b"])
                       for entry in self.compare(folders[0], c)["differences"]}
        self.assertEqual(differences, {
            "plan.target.display": ("sqlite:DIR/append.db", "sqlite:x/c/append.db"),
            "plan.target.path": ("DIR/append.db", "cc/append.db"), "plan.target.host": ("a", "c")})

    def table_of(self, folder, rows_before=0, reads=240, columns=()):
        """Writes the given figures of the table into the files of a run."""
        for column, value in (("rows_before", rows_before), ("reads", reads)):
            self.rewrite(folder / "summary.csv", lambda table: table[1].__setitem__(
                table[0].index(column), str(value)))
        path = folder / "run.json"
        value = json.loads(path.read_text())
        value["table"]["columns"] = [dict(column) for column in columns]
        path.write_text(json.dumps(value))

    def test_reads_of_rows_that_were_there(self):
        """The second of two equal runs also reads the rows of the first."""
        a, b = self.made_up("a", 20000), self.made_up("b", 10000)
        self.table_of(a)
        self.table_of(b, rows_before=480000)
        compared = self.compare(a, b)
        self.assertRegex(compared["other_rows"],
                         r"the table had 0 rows before A and 480,000 before B.*--recreate")
        self.assertIn(compared["other_rows"], compared["cautions"])
        self.assertIn("CAUTION   the table had 0 rows before A", self.append("compare", a, b).out)
        ended = self.append("compare", a, b, "--fail-if", "pace<0.9", code=5)
        self.assertRegex(ended.reason, r"crossed: pace<0\.9: .*480,000 before B.*--recreate")
        for before, reads in ((480000, 0), (0, 240)):  # no reads; the same rows
            with self.subTest(before=before, reads=reads):
                self.table_of(a, reads=reads)
                self.table_of(b, rows_before=before, reads=reads)
                self.assertIsNone(self.compare(a, b)["other_rows"])

    def test_columns_that_differ(self):
        """Columns that differ are listed by name; the others are not shown."""
        a, b = self.made_up("a", 20000), self.made_up("b", 20000)
        columns = [{"name": f"column_number_{i}", "type": "int32", "size": None,
                    "is_nullable": True, "has_default": False} for i in range(30)]
        self.table_of(a, columns=columns)
        self.table_of(b, columns=columns[:3] + [columns[4], columns[3] | {"type": "text"}]
                      + columns[5:29])
        ended = self.append("compare", a, b)
        self.assertIn("table.columns.column_number_3.type: int32 in A, text in B", ended.out)
        self.assertIn("table.columns.column_number_29: name column_number_29, type int32,",
                      ended.out)
        self.assertEqual(len(self.compare(a, b)["differences"]), 2)
        self.table_of(b, columns=columns[::-1])
        ended = self.append("compare", a, b)
        words = " ".join(ended.out.split())
        names = [column["name"] for column in columns]
        self.assertIn(f"table.columns: {', '.join(names)} in A, {', '.join(names[::-1])} in B", words)
        for text in (ended.out, self.append("compare", b, a).out):
            self.assertNotRegex(text, r'\.\.\.|…|[{}"]')

    def test_other_programs_cloud_it(self):
        a, b = self.made_up("a", 20000), self.made_up("b", 15000, others=40)
        compared = self.compare(a, b)
        self.assertTrue(compared["is_clouded"])
        self.assertIn("0 % of this machine's CPUs in A and 40 % in B", compared["cautions"][0])
        compared = self.compare(a, a)
        self.assertEqual((compared["is_clouded"], compared["cautions"]), (False, []))

    def test_a_machine_that_is_busy_with_others(self):
        a = self.made_up("a", 20000, own=10, others=85)
        b = self.made_up("b", 15000, own=10, others=85)
        compared = self.compare(a, b)
        self.assertTrue(compared["is_clouded"])
        self.assertIn("85 % of this machine's CPUs in A", compared["cautions"][0])

    def test_reasons_that_are_not_utf_8(self):
        """A server's message in another encoding, or a truncated one."""
        a, b = self.made_up("a", 20000), self.made_up("b", 20000)
        for folder, column, value in ((a, "verdict", "DEGRADED"), (a, "verdict_reason", "REASON"),
                                      (b, "exit_code", "5"), (b, "exit_reason", "REASON")):
            self.rewrite(folder / "summary.csv", lambda table: table[1].__setitem__(
                table[0].index(column), value))
        for folder in (a, b):
            path = folder / "summary.csv"
            path.write_bytes(path.read_bytes().replace(b"REASON", b"caf\xe9 ferm\xc3"))
        self.assertEqual(self.compare(a, b)["cautions"],
                         ["A is DEGRADED: caf\ufffd ferm\ufffd",
                          "B ended with exit code 5: caf\ufffd ferm\ufffd"])

    def test_differences_come_first(self):
        a = self.made_up("a", 20000)
        b = self.made_up("b", 20000, batch_rows=5000, read_mode="none")
        ended = self.append("compare", a, b)
        lines = ended.out.splitlines()
        differs = [i for i, line in enumerate(lines) if "batch_rows" in line or "read_mode" in line]
        pace = [i for i, line in enumerate(lines) if line.startswith("pace")]
        self.assertEqual(len(differs), 2)
        self.assertLess(max(differs), pace[0])
        self.assertIn("plan.batch_rows: 100 in A, 5,000 in B", ended.out)
        for line in lines:
            if str(self.folder) not in line:
                self.assertLessEqual(len(line), 80, line)
        names = [entry["name"] for entry in self.compare(a, b)["differences"]]
        self.assertEqual(sorted(names), ["plan.batch_rows", "plan.read_mode"])

    def test_every_option_of_a_run_is_compared(self):
        """Options that only change the reporting, or that an older version did not record, do not differ."""
        _, a = self.run_append(2, 400, "sqlite:x.db")
        _, b = self.run_append(2, 400, "sqlite:x.db", "--verify", "rows", "--no-check", "--expect",
                               "throughput>1", "--metrics-file", "metrics.prom", "--json", "--junit",
                               "junit.xml")
        names = {entry["name"] for entry in self.compare(a.folder, b.folder)["differences"]
                 if entry["name"].startswith("plan.")}
        self.assertEqual(names, {"plan.verify", "plan.no_check", "plan.expect", "plan.metrics_file"})
        path = a.folder / "run.json"
        run = json.loads(path.read_text())
        del run["plan"]["verify"]
        path.write_text(json.dumps(run))
        self.assertNotIn("plan.verify", {entry["name"] for entry in
                                         self.compare(a.folder, b.folder)["differences"]})

    def test_bounds_that_are_crossed(self):
        a = self.made_up("a", 20000)
        b = self.made_up("b", 16000)
        ended = self.append("compare", a, b, "--fail-if",
                            "throughput<0.95, elapsed>1.5, pace<0.9", code=5)
        self.assertRegex(ended.reason, r"crossed: throughput<0\.95: B/A is 0\.\d+; pace<0\.9: B/A is 0\.")
        self.assertNotIn("elapsed", ended.reason)
        self.assertIn("CROSSED", ended.out)
        self.append("compare", a, b, "--fail-if", "throughput<0.5")
        compared = self.compare(a, b, "--fail-if", "throughput<0.95", code=5)
        self.assertEqual(compared["bounds_crossed"][0]["figure"], "throughput_rows_per_s")

    def test_a_ratio_that_is_not_known_crosses(self):
        a = self.made_up("a", 20000)
        ended = self.append("compare", a, a, "--fail-if", "lost>1", code=5)
        self.assertIn("lost>1: B/A is not known", ended.reason)

    def test_a_figure_that_was_0(self):
        """A change from 0 to 5 has no ratio, but both numbers are known."""
        a, b = self.made_up("a", 20000), self.made_up("b", 20000)
        for folder, dropped in ((a, 0), (b, 5)):
            self.rewrite(folder / "summary.csv", lambda table: table[1].__setitem__(
                table[0].index("sessions_dropped"), str(dropped)))
        ended = self.append("compare", a, b, "--fail-if", "dropped>1", code=5)
        for text in (ended.reason, ended.out):
            self.assertIn("dropped>1: B/A is 5 to 0", text)
        crossed = self.compare(a, b, "--fail-if", "dropped>1", code=5)["bounds_crossed"]
        self.assertEqual(crossed, [{"bound": "dropped>1", "figure": "sessions_dropped", "a": 0,
                                    "b": 5, "ratio": None}])
        self.compare(a, b, "--fail-if", "dropped<1")
        self.compare(b, a, "--fail-if", "dropped>1")

    def test_wrong_usage(self):
        a = self.made_up("a", 20000)
        for arguments, pattern in (
                ((a,), "few operands: use append compare A B"),
                ((a, a, a), "many operands: use append compare A B"),
                ((a, self.folder / "none"), "not the folder of a finished run"),
                ((a, a, "--fail-if", "thruput<1"), "no figure is called 'thruput'"),
                ((a, a, "--fail-if", "append_p99>1ms"), "--fail-if: .* has no unit"),
                ((a, a, "--fail-if", "append_p99"), "--fail-if: .* no comparison"),
                ((a, a, "--sessions", "3"), "--sessions is not an option of 'append compare")):
            with self.subTest(arguments=arguments):
                self.refused("compare", *arguments, code=2, pattern=pattern)

    def test_files_that_are_broken(self):
        a = self.made_up("a", 20000)
        b = self.made_up("b", 20000)
        (b / "run.json").write_text("{")
        self.refused("compare", a, b, code=2, pattern="run.json")


class Sweeps(harness.Case):
    COLUMNS = ("statistic", "repeat", "folder", "state", "reason", "adapter", "sessions", "records",
               "elapsed_s", "throughput_rows_per_s", "append_p50_ms", "append_p99_ms",
               "rows_before", "reads")

    def made_up(self, name, throughputs, rows_before=0, counts=0):
        """Returns the folder of a sweep with cells {(sessions, records): throughput of each repeat}."""
        folder = self.folder / name
        folder.mkdir()
        sessions = sorted({cell[0] for cell in throughputs})
        records = sorted({cell[1] for cell in throughputs})
        repeat = len(next(iter(throughputs.values())))
        runs, rows = [], [self.COLUMNS]
        for number in range(1, repeat + 1):
            for r in records:
                for s in sessions:
                    run = f"{s}x{r}" + (f"-{number}" if repeat > 1 else "")
                    pace = throughputs[s, r][number - 1]
                    runs.append({"sessions": s, "records": r, "repeat": number, "folder": run,
                                 "state": "done", "exit_code": 0, "reason": "", "wall_s": 1.0})
                    rows.append(("run", number, run, "done", "", "null", s, r, r / pace, pace,
                                 100 / pace, 1000 / pace, rows_before, counts))
        (folder / "sweep.json").write_text(json.dumps({
            "format": 1, "kind": "sweep", "append_version": "0", "state": "finished",
            "started_utc": "2026-01-01T00:00:00.000Z", "adapter": "null", "target": "null:",
            "sessions": sessions, "records": records, "repeat": repeat, "options": [],
            "runs": runs}))
        with open(folder / "sweep.csv", "w", newline="") as file:
            csv.writer(file).writerows(rows)
        return folder

    def figures(self, a, b, *options, code=0):
        ended = self.append("compare", a, b, "--json", *options, code=code)
        compared = json.loads(ended.out)
        return {(cell["sessions"], cell["records"]):
                {figure["figure"]: figure for figure in cell["figures"]}
                for cell in compared["cells"]}

    def test_cells(self):
        a = self.made_up("a", {(10, 100): (1000, 1020, 990, 1005), (20, 100): (500, 510, 505, 495)})
        b = self.made_up("b", {(10, 100): (995, 1010, 1000, 1012), (20, 100): (400, 404, 398, 402),
                               (30, 100): (1, 1, 1, 1)})
        cells = self.figures(a, b)
        self.assertEqual(sorted(cells), [(10, 100), (20, 100)])
        for name in ("throughput_rows_per_s", "append_p50_ms", "append_p99_ms"):
            self.assertEqual(cells[10, 100][name]["finding"], "alike")
            self.assertEqual(cells[20, 100][name]["finding"],
                             "less" if name == "throughput_rows_per_s" else "more")
            self.assertTrue(cells[20, 100][name]["is_regression"])
        self.assertEqual(cells[20, 100]["elapsed_s"]["finding"], "not tested")
        ended = self.append("compare", a, b, "--fail-if", "throughput<0.9", code=5)
        self.assertIn("20 sessions, 100 records (4 and 4 runs)", ended.out)
        self.assertIn("1 cell that only one", ended.out)
        self.assertIn("Welch", ended.out)
        self.assertIn("throughput<0.9 with 20 sessions", ended.out)

    def test_variants(self):
        words = ("--sessions", "1", "--records", "500", "null:", "--workload", "mass-insert",
                 "--vary")
        self.append("sweep", *words, "batch=1,2", "--repeat", 3, "--out", "a")
        self.append("sweep", *words, "batch=2,5", "--out", "b")
        compared = json.loads(self.append("compare", "a", "b", "--json").out)
        self.assertEqual([(cell["variant"], cell["a_runs"], cell["b_runs"])
                          for cell in compared["cells"]], [("batch=2", 3, 1)])
        self.assertEqual(compared["cells_alone"], 2)
        figures = {figure["figure"]: figure for figure in compared["cells"][0]["figures"]}
        self.assertEqual(figures["transactions_committed"]["a"], 250)
        ended = self.append("compare", "a", "b", "--fail-if", "throughput>0", code=5)
        self.assertIn("\n1 session, 500 records, batch=2 (3 and 1 runs)\n", ended.out)
        self.assertIn("throughput>0 with 1 session, 500 records, batch=2: B/A of the medians is", " ".join(ended.out.split()))

    def test_the_interval(self):
        """SciPy 1.17.1: stats.ttest_ind(log(b), log(a), equal_var=False)."""
        a = self.made_up("a", {(10, 100): (100, 103, 98, 110, 101)})
        b = self.made_up("b", {(10, 100): (80, 84, 79, 81)})
        figure = self.figures(a, b)[10, 100]["throughput_rows_per_s"]
        for key, value in (("tested_ratio", 0.7914343103796122), ("low", 0.7269295445968316),
                           ("high", 0.8616629662417252)):
            self.assertAlmostEqual(figure[key], value, places=9)
        self.assertEqual((figure["a"], figure["b"]), (101, 80.5))

    def test_the_threshold(self):
        """A finding needs the whole interval, about 2 % around 0.9, on one side of the threshold."""
        a = self.made_up("a", {(10, 100): (1000, 1002, 998, 1001)})
        b = self.made_up("b", {(10, 100): (900, 902, 898, 901)})
        for options, expected, latency in (
                ((), "less", "more"), (("--threshold", "20%"), "alike", "alike"),
                (("--threshold", "10"), "unsure", "more")):
            figures = self.figures(a, b, *options)[10, 100]
            self.assertEqual(figures["throughput_rows_per_s"]["finding"], expected, options)
            self.assertEqual(figures["append_p99_ms"]["finding"], latency, options)
            self.assertEqual(figures["throughput_rows_per_s"]["is_regression"], expected == "less")
            self.assertEqual(figures["throughput_rows_per_s"]["why"] is None, expected != "unsure")
        figures = self.figures(b, a)[10, 100]
        self.assertEqual(figures["throughput_rows_per_s"]["finding"], "more")
        self.assertFalse(figures["throughput_rows_per_s"]["is_regression"])
        self.assertIn("B is 10.0 % lower than A (", self.append("compare", a, b).out)
        for value in ("0", "100", "-1", "x", "5%%", "1e1", ""):
            self.refused("compare", a, b, "--threshold", value, code=2, pattern="--threshold")

    def test_runs_that_vary(self):
        a = self.made_up("a", {(10, 100): (10, 1000, 100)})
        figure = self.figures(a, a)[10, 100]["throughput_rows_per_s"]
        self.assertEqual((figure["finding"], figure["why"]),
                         ("unsure", "values vary too much within A or B"))
        b = self.made_up("b", {(10, 100): (1000, 1000, 1000, 900)})
        figure = self.figures(b, b)[10, 100]["throughput_rows_per_s"]
        self.assertEqual(figure["finding"], "unsure")
        self.assertRegex(figure["why"], r"-[\d.]+ % to \+[\d.]+ %: repeat")

    def test_runs_that_are_gone(self):
        """Unknown figures are not reported as equal."""
        a = self.made_up("a", {(10, 100): (1000, 1000)})
        compared = json.loads(self.append("compare", a, a, "--json").out)
        self.assertRegex(compared["cautions"][0], "cannot be compared: no run of A can be read")

    def test_too_few_runs(self):
        a = self.made_up("a", {(10, 100): (1000, 1000)})
        b = self.made_up("b", {(10, 100): (10, 10)})
        figure = self.figures(a, b)[10, 100]["throughput_rows_per_s"]
        self.assertEqual(figure["finding"], "unsure")
        self.assertIn("too few runs: 2 and 2", figure["why"])
        out = self.append("compare", a, b).out
        self.assertEqual(out.count("inconclusive"), 1, "one reason, one sentence")
        self.assertIn("Found     Throughput, append p50, append p99: inconclusive: too few", out)

    def test_rows_that_were_there(self):
        a = self.made_up("a", {(10, 100): (1000, 1001, 1002)}, counts=5)
        b = self.made_up("b", {(10, 100): (500, 501, 502)}, rows_before=300, counts=5)
        for name in ("throughput_rows_per_s", "append_p50_ms"):
            figure = self.figures(a, b)[10, 100][name]
            self.assertEqual((figure["finding"], figure["is_regression"]), ("unsure", False))
            self.assertIn("300 before B", figure["why"])
        c = self.made_up("c", {(10, 100): (500, 501, 502)}, rows_before=300, counts=0)
        d = self.made_up("d", {(10, 100): (1000, 1001, 1002)}, counts=0)
        self.assertTrue(self.figures(d, c)[10, 100]["throughput_rows_per_s"]["is_regression"])

    def test_what_cannot_be_compared(self):
        a = self.made_up("a", {(10, 100): (1000, 1000)})
        b = self.made_up("b", {(20, 100): (1000, 1000)})
        self.refused("compare", a, b, code=2,
                     pattern="no combination of sessions, records and variant is in both")
        _, run = self.run_append("2", "10", "null:")
        for pair in ((a, run.folder), (run.folder, a)):
            self.refused("compare", *pair, code=2, pattern="are a run and a sweep")

    def test_damaged_folders(self):
        """A truncated, damaged, empty or missing file is compared, or refused in one line."""
        _, run = self.run_append("2", "100", "null:", "-q")
        dice = random.Random(7)
        damaged = self.folder / "damaged"
        codes = set()
        for number in range(60 // min(harness.SLOW, 6)):
            shutil.rmtree(damaged, ignore_errors=True)
            shutil.copytree(run.folder, damaged)
            path = dice.choice(sorted(damaged.iterdir()))
            there = path.read_bytes()
            at = dice.randrange(len(there) + 1)
            kind = dice.choice(("cut", "spoiled", "empty", "gone"))
            with self.subTest(number=number, file=path.name, kind=kind, at=at):
                if kind == "gone":
                    path.unlink()
                else:
                    path.write_bytes({"cut": there[:at], "empty": b"",
                                      "spoiled": there[:at] + dice.randbytes(4) + there[at + 4:]}[kind])
                ended = self.append("compare", run.folder, damaged, code=None)
                self.assertIn(ended.code, (0, 2), ended)
                codes.add(ended.code)
        self.assertEqual(codes, {0, 2}, "some files are read, and some are not")

    def test_members_that_are_gone(self):
        """An edited run.json: each member in turn is removed or has another type. Only a build with
        sanitizers reliably detects a wrong pointer, so it gets all edits, and other builds get a few."""
        is_sanitized = harness.IS_SANITIZED
        self.database = self.folder / "w.db"
        script = self.folder / "own.lua"
        script.write_text('''dataset("t", 10, {{"id", "int32", row(), key = true}})
            local get = statement("get", "SELECT nix FROM t WHERE id = ?", {"int32"}, {prepared = false})
            transaction("look", function() get:run(1) end)''')
        _, run = self.run_append("2", f"sqlite:{self.database}", "--workload", script, "--transactions", "4",
                                 code=None)
        whole = json.loads((run.folder / "run.json").read_text())
        self.assertTrue(whole["operations"] and whole["causes"])

        def places(value, path=()):
            members = value.items() if isinstance(value, dict) else enumerate(value[:2])
            for key, member in members:
                yield (*path, key)
                if isinstance(member, (dict, list)):
                    yield from places(member, (*path, key))

        dice = random.Random(7)
        chosen = [place for place in places(whole) if place[0] in ("operations", "causes", "datasets", "format")]
        chosen += dice.sample(list(places(whole)), 60)
        if not is_sanitized:
            chosen = chosen[::11]
        for place in chosen:
            for other in ("gone", None, 7, "text", []):
                edited = json.loads(json.dumps(whole))
                at = edited
                for key in place[:-1]:
                    at = at[key]
                if other == "gone":
                    del at[place[-1]]
                else:
                    at[place[-1]] = other
                (run.folder / "run.json").write_text(json.dumps(edited))
                with self.subTest(place=place, other=other):
                    for command in ("report", "compare"):
                        words = (run.folder,) if command == "report" else (run.folder, run.folder)
                        self.assertIn(self.append(command, *words, code=None).code, (0, 2))


if __name__ == "__main__":
    harness.main()
