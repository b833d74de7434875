"""Two runs and two sweeps side by side.

The runs compared are made up: the folder of a real one, with figures of known size and noise put
into its files. Real runs on a busy machine would differ, or not, as the machine pleases.
"""

import csv
import json
import random
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

    def made_up(self, name, pace, noise=0.05, seed=1, seconds=SECONDS, course=0.0, others=0.0,
                own=50, **plan):
        """A run that appended for so many seconds at so many rows/s, with noise and a course."""
        folder = self.folder / name
        shutil.copytree(self.model, folder)
        chance = random.Random(seed)
        rows = [round(pace * (1 + course * (0.5 - i / seconds)) * chance.gauss(1, noise))
                for i in range(seconds)]

        def set_summary(table):
            for column, value in (("connect_s", 0.5), ("append_s", seconds),
                                  ("elapsed_s", seconds + 0.75),
                                  ("rows_acknowledged", sum(rows)),
                                  ("throughput_rows_per_s", sum(rows) / (seconds + 0.75))):
                table[1][table[0].index(column)] = str(value)

        def set_intervals(table):
            head, first = table[0], table[1]
            del table[1:]
            # The ends of the intervals are not those of the seconds that rows were made for.
            done = 0
            for i in range(seconds + 1):
                row = list(first)
                end = min(i + 1, seconds + 0.5)
                into = max(0.0, end - 0.5)
                whole = int(into)
                until = sum(rows[:whole]) + (rows[whole] * (into - whole) if whole < seconds else 0)
                values = {"start_s": i, "end_s": end, "rows": round(until) - done}
                done = round(until)
                for column, value in values.items():
                    row[head.index(column)] = str(value)
                table.append(row)

        self.rewrite(folder / "summary.csv", set_summary)
        self.rewrite(folder / "intervals.csv", set_intervals)
        path = folder / "run.json"
        value = json.loads(path.read_text())
        value["plan"].update(plan, out_folder=str(folder))
        value["outcome"].update(verdict="VALID", exit_code=0)
        value["resources"].update(mean_host_cpu_percent=own + others, mean_client_cpu_percent=own,
                                  mean_server_cpu_percent=None)
        path.write_text(json.dumps(value))
        return folder

    def compare(self, a, b, *options, code=0):
        ended = self.append("compare", a, b, "--json", *options, code=code)
        return json.loads(ended.out)

    def pace(self, compared):
        figures = {figure["figure"]: figure for figure in compared["cells"][0]["figures"]}
        return figures["pace_rows_per_s"]

    def test_equal_runs_find_nothing(self):
        for i in range(10):
            a = self.made_up(f"a{i}", 20000, seed=2 * i, course=1)
            b = self.made_up(f"b{i}", 20000, seed=2 * i + 1, course=1)
            compared = self.compare(a, b)
            self.assertIn(self.pace(compared)["finding"], ("alike", "unsure"), i)
            self.assertFalse(self.pace(compared)["is_regression"])
            self.assertEqual(compared["differences"], [])

    def test_a_fifth_slower_is_found(self):
        for i in range(10):
            a = self.made_up(f"a{i}", 20000, seed=2 * i, course=1)
            b = self.made_up(f"b{i}", 16000, seed=2 * i + 1, course=1 if i % 2 else 0)
            figure = self.pace(self.compare(a, b))
            self.assertEqual(figure["finding"], "less", i)
            self.assertTrue(figure["is_regression"])
            self.assertTrue(figure["low"] < figure["tested_ratio"] < figure["high"])
            figure = self.pace(self.compare(b, a))
            self.assertEqual(figure["finding"], "more")
            self.assertFalse(figure["is_regression"])

    def test_a_run_and_itself(self):
        a = self.made_up("a", 20000)
        compared = self.compare(a, a, "--fail-if", "throughput!=1, elapsed!=1")
        self.assertEqual(self.pace(compared)["finding"], "alike")
        for figure in compared["cells"][0]["figures"]:
            self.assertIn(figure["ratio"], (1, None), figure)

    def test_the_threshold(self):
        a = self.made_up("a", 20000, noise=0.01)
        b = self.made_up("b", 18000, noise=0.01, seed=2)
        self.assertEqual(self.pace(self.compare(a, b))["finding"], "less")
        self.assertEqual(self.pace(self.compare(a, b, "--threshold", "20%"))["finding"], "alike")
        self.assertEqual(self.pace(self.compare(a, b, "--threshold", "10"))["finding"], "unsure")
        for value in ("0", "100", "-1", "x", "5%%", "1e1", ""):
            self.refused("compare", a, b, "--threshold", value, code=2, pattern="--threshold")

    def test_too_short_to_tell(self):
        a = self.made_up("a", 20000, seconds=7)
        b = self.made_up("b", 10000, seconds=30)
        figure = self.pace(self.compare(a, b))
        self.assertEqual(figure["finding"], "unsure")
        self.assertIn("too short: A appended for 7.0 s", figure["why"])
        self.assertFalse(figure["is_regression"])
        lines = self.append("compare", a, b).out.splitlines()
        found = [i for i, line in enumerate(lines) if line.startswith("Found")]
        self.assertIn("Pace: cannot tell: too short", lines[found[0]])
        self.assertEqual(found, [4], "what was found stands right below A and B")

    def table_of(self, folder, rows_before=0, counts=240, columns=()):
        """Puts into the files what a run found in the table."""
        for column, value in (("rows_before", rows_before), ("counts", counts)):
            self.rewrite(folder / "summary.csv", lambda table: table[1].__setitem__(
                table[0].index(column), str(value)))
        path = folder / "run.json"
        value = json.loads(path.read_text())
        value["table"]["columns"] = [dict(column) for column in columns]
        path.write_text(json.dumps(value))

    def test_reads_of_rows_that_were_there(self):
        """The second of two equal runs reads the rows of the first, too: no regression."""
        a, b = self.made_up("a", 20000), self.made_up("b", 10000, seed=2)
        self.table_of(a)
        self.table_of(b, rows_before=480000)
        compared = self.compare(a, b)
        figure = self.pace(compared)
        self.assertEqual((figure["finding"], figure["is_regression"]), ("unsure", False))
        self.assertRegex(figure["why"], r"0 rows were there before A, 480,000 before B.*--recreate")
        self.assertEqual(compared["other_rows"], figure["why"])
        self.assertNotIn("REGRESSION", self.append("compare", a, b).out)
        ended = self.append("compare", a, b, "--fail-if", "pace<0.9", code=5)
        self.assertRegex(ended.reason, r"crossed: pace<0.9 .*480,000 before B.*--recreate")
        for before, counts in ((480000, 0), (0, 240)):  # no reads; the same rows
            with self.subTest(before=before, counts=counts):
                self.table_of(a, counts=counts)
                self.table_of(b, rows_before=before, counts=counts)
                self.assertTrue(self.pace(self.compare(a, b))["is_regression"])

    def test_columns_that_differ(self):
        """By their names, never as a dump of all."""
        a, b = self.made_up("a", 20000), self.made_up("b", 20000, seed=2)
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
        a = self.made_up("a", 20000)
        b = self.made_up("b", 15000, seed=2, others=40)
        compared = self.compare(a, b)
        self.assertEqual(self.pace(compared)["finding"], "less")
        self.assertFalse(self.pace(compared)["is_regression"])
        self.assertTrue(compared["is_clouded"])
        self.assertIn("0 % of this machine's CPUs in A and 40 % in B", compared["cautions"][0])

    def test_a_machine_that_is_busy_with_others(self):
        a = self.made_up("a", 20000, own=10, others=85)
        b = self.made_up("b", 15000, own=10, others=85, seed=2)
        compared = self.compare(a, b)
        self.assertEqual(self.pace(compared)["finding"], "less")
        self.assertFalse(self.pace(compared)["is_regression"])
        self.assertIn("85 % of this machine's CPUs in A", compared["cautions"][0])

    def test_differences_come_first(self):
        a = self.made_up("a", 20000)
        b = self.made_up("b", 20000, seed=2, batch_rows=5000, read_mode="none")
        ended = self.append("compare", a, b)
        lines = ended.out.splitlines()
        differs = [i for i, line in enumerate(lines) if "batch_rows" in line or "read_mode" in line]
        pace = [i for i, line in enumerate(lines) if line.startswith("Pace")]
        self.assertEqual(len(differs), 2)
        self.assertLess(max(differs), pace[0])
        self.assertIn("plan.batch_rows: 100 in A, 5,000 in B", ended.out)
        for line in lines:
            if str(self.folder) not in line:
                self.assertLessEqual(len(line), 80, line)
        self.assertRegex(ended.out, r"Throughput .* not tested")
        self.assertIn("Student's t", ended.out)
        names = [entry["name"] for entry in self.compare(a, b)["differences"]]
        self.assertEqual(sorted(names), ["plan.batch_rows", "plan.read_mode"])

    def test_bounds_that_are_crossed(self):
        a = self.made_up("a", 20000)
        b = self.made_up("b", 16000, seed=2)
        ended = self.append("compare", a, b, "--fail-if",
                            "throughput<0.95, elapsed>1.5, pace<0.9", code=5)
        self.assertRegex(ended.reason, r"crossed: throughput<0.95 \(B/A is 0\.\d+\), pace<0.9 \(")
        self.assertNotIn("elapsed", ended.reason)
        self.assertIn("CROSSED", ended.out)
        self.append("compare", a, b, "--fail-if", "throughput<0.5")
        compared = self.compare(a, b, "--fail-if", "throughput<0.95", code=5)
        self.assertEqual(compared["bounds_crossed"][0]["figure"], "throughput_rows_per_s")

    def test_a_ratio_that_is_not_known_crosses(self):
        a = self.made_up("a", 20000)
        ended = self.append("compare", a, a, "--fail-if", "lost>1", code=5)
        self.assertIn("lost>1 (B/A is not known)", ended.reason)

    def test_a_figure_that_was_0(self):
        """Of 5 to 0 there is no ratio, but both numbers are known."""
        a, b = self.made_up("a", 20000), self.made_up("b", 20000)
        for folder, dropped in ((a, 0), (b, 5)):
            self.rewrite(folder / "summary.csv", lambda table: table[1].__setitem__(
                table[0].index("sessions_dropped"), str(dropped)))
        ended = self.append("compare", a, b, "--fail-if", "dropped>1", code=5)
        self.assertIn("dropped>1 (B/A is 5 to 0)", ended.reason)
        self.assertIn("dropped>1: B/A is 5 to 0", ended.out)
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
                ((a, self.folder / "none"), "no folder of a finished run"),
                ((a, a, "--fail-if", "thruput<1"), "no figure is called 'thruput'"),
                ((a, a, "--fail-if", "append_p99>1ms"), "--fail-if: .* has no unit"),
                ((a, a, "--fail-if", "append_p99"), "--fail-if: .* no relation"),
                ((a, a, "--sessions", "3"), "--sessions is no option of 'append compare")):
            with self.subTest(arguments=arguments):
                self.refused("compare", *arguments, code=2, pattern=pattern)

    def test_files_that_are_broken(self):
        a = self.made_up("a", 20000)
        b = self.made_up("b", 20000)
        (b / "run.json").write_text("{")
        self.refused("compare", a, b, code=2, pattern="run.json")
        c = self.made_up("c", 10000)
        self.rewrite(c / "intervals.csv", lambda table: table.pop())
        figure = self.pace(self.compare(a, c))
        self.assertEqual(figure["finding"], "unsure")
        self.assertIn("does not have all rows", figure["why"])


class Sweeps(harness.Case):
    COLUMNS = ("statistic", "repeat", "folder", "state", "reason", "adapter", "sessions", "records",
               "elapsed_s", "throughput_rows_per_s", "append_p50_ms", "append_p99_ms",
               "rows_before", "counts")

    def made_up(self, name, throughputs, rows_before=0, counts=0):
        """A sweep of cells {(sessions, records): throughput of each repeat}."""
        folder = self.folder / name
        folder.mkdir()
        sessions = sorted({cell[0] for cell in throughputs})
        records = sorted({cell[1] for cell in throughputs})
        repeat = len(next(iter(throughputs.values())))
        runs, rows = [], [self.COLUMNS]
        for number in range(1, repeat + 1):
            for r in records:
                for s in sessions:
                    run = f"{s}x{r}" + (f"-{number}" if number > 1 else "")
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
        self.assertIn("1 cells that only one", ended.out)
        self.assertIn("Welch", ended.out)
        self.assertIn("throughput<0.9 with 20 sessions", ended.out)

    def test_runs_that_are_gone(self):
        """What is not known is not called alike."""
        a = self.made_up("a", {(10, 100): (1000, 1000)})
        compared = json.loads(self.append("compare", a, a, "--json").out)
        self.assertRegex(compared["cautions"][0], "is not known: no run of A can be read")

    def test_too_few_runs(self):
        a = self.made_up("a", {(10, 100): (1000, 1000)})
        b = self.made_up("b", {(10, 100): (10, 10)})
        figure = self.figures(a, b)[10, 100]["throughput_rows_per_s"]
        self.assertEqual(figure["finding"], "unsure")
        self.assertIn("too few runs: 2 and 2", figure["why"])
        out = self.append("compare", a, b).out
        self.assertEqual(out.count("cannot tell"), 1, "one reason, one sentence")
        self.assertIn("Found     Throughput, append p50, append p99: cannot tell: too few", out)

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
        self.refused("compare", a, b, code=2, pattern="no pair of sessions and records in common")
        _, run = self.run_append("2", "10", "null:")
        for pair in ((a, run.folder), (run.folder, a)):
            self.refused("compare", *pair, code=2, pattern="is a run and the other a sweep")

    def test_damaged_folders(self):
        """A file cut off, spoiled, emptied or gone: it is compared or refused in one line, no more."""
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


if __name__ == "__main__":
    harness.main()
