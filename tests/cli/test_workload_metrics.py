"""Metrics that a script declares: exact figures, warm-up, retries, files, bounds and mistakes."""

import csv

import harness

NUMBERS = """
local waited = trend("lock_wait", {unit = "ms"})
local seen = count("rows_seen")
local depth = gauge("queue_depth")
local fresh = count("never")
local number = counter("number", 1)
transaction("work", function()
    local n = number:next()
    waited:add(n)
    seen:add(2)
    seen:add()
    depth:add(n - 50)
end)
"""
# SQLite refuses the write of a transaction that has read, if another transaction has written in between.
CONFLICTS = """
local t = dataset("t", 1, {{"i", "int32", row(), key = true}, {"n", "int32", 0}})
local get = statement("get", "SELECT n FROM t WHERE i = 1")
local set = statement("set", "UPDATE t SET n = n + 1 WHERE i = 1")
local tried, done = count("times_tried"), count("times_done")
transaction("add", function()
    tried:add()
    get:run()
    think(0.005)
    set:run()
    done:add()
end, {tries = 0})
"""
ALWAYS = 'local seen = count("rows_seen")\ntransaction("work", function() seen:add() end)\n'


class Metrics(harness.Case):
    def script(self, text):
        path = self.folder / "mine.lua"
        path.write_text(text, encoding="utf-8")
        return path

    def metrics(self, run):
        """Returns the rows of metrics.csv, and checks that run.json has the value of every cell that is not empty."""
        with open(run.folder / "metrics.csv", newline="", encoding="utf-8") as file:
            rows = {row.pop("metric"): {key: text for key, text in row.items() if text != ""}
                    for row in csv.DictReader(file)}
        for metric in run.json["metrics"]:
            row = rows[metric["name"]]
            known = {key: value for key, value in metric.items() if value is not None}
            self.assertEqual(known.keys(), row.keys() | {"name"})
            for key, text in row.items():
                value = known[key]
                self.assertTrue(text == value if isinstance(value, str)
                                else abs(float(text) - value) <= 1e-9 * abs(value), (key, text, value))
        return rows

    def test_exact_figures(self):
        """100 transactions of 5 sessions add 1 to 100."""
        ended, run = self.run_append(
            5, "null:", "--workload", self.script(NUMBERS), "--transactions", 100, "--report",
            "--percentiles", "50,97", "--expect",
            "lock_wait.p95<=95ms, lock_wait.p97==97, lock_wait.mean==50.5, lock_wait.count==100, rows_seen==300, "
            "rows_seen.per_s>0, queue_depth.max==50, queue_depth.min<0, never==0")
        rows = self.metrics(run)
        self.assertEqual(list(rows), ["lock_wait", "rows_seen", "queue_depth", "never"])
        self.assertEqual(rows["lock_wait"],
                         {"kind": "trend", "unit": "ms", "count": "100", "min": "1", "mean": "50.5", "p50": "50",
                          "p90": "90", "p95": "95", "p97": "97", "p99": "99", "p999": "100", "max": "100"})
        seen = rows["rows_seen"]
        self.assertEqual((seen["kind"], seen["count"]), ("count", "300"))
        figures = run.json["figures"]
        self.assertAlmostEqual(float(seen["per_s"]) / (3 * figures["transactions_per_s"]), 1, 2)
        depth = rows["queue_depth"]
        self.assertEqual((depth["kind"], depth["min"], depth["max"]), ("gauge", "-49", "50"))
        self.assertTrue(-49 <= int(depth["last"]) <= 50, depth)
        self.assertEqual(rows["never"], {"kind": "count", "count": "0", "per_s": "0"})
        self.assertIn("Expected      all 9 met", ended.out)
        self.assertRegex(ended.out, r"(?m)^Trend +count +min +mean +p50 +p97 +max$")
        self.assertRegex(ended.out, r"(?m)^  lock_wait, ms +100 +1 +50\.5 +50 +97 +100$")
        self.assertRegex(ended.out, r"(?m)^Metric +kind +count +per s +last +min +max$")
        self.assertRegex(ended.out, r"(?m)^  rows_seen +count +300 +[\d,.]+ +- +- +-$")
        self.assertRegex(ended.out, r"(?m)^  queue_depth +gauge +- +- +-?\d+ +-49 +50$")
        page = (run.folder / "report.html").read_text(encoding="utf-8")
        trends, others = (page[page.index(f"<h3>{title} of the script</h3>"):].split("</table>")[0]
                          for title in ("Trends", "Counts and gauges"))
        for text in ('<th class="n">p97</th>', '<th scope="row">lock_wait</th>', 'data-name="p97">97</td>'):
            self.assertIn(text, trends)
        self.assertNotIn("p99.9", trends)
        self.assertNotIn("rows_seen", trends)
        self.assertNotIn("lock_wait", others)
        for text in ('<th scope="row">rows_seen</th>', 'data-name="count">300</td>', 'data-name="max">50</td>'):
            self.assertIn(text, others)

    def test_without_metrics(self):
        script = self.script('transaction("work", function() end)\n')
        ended, run = self.run_append(1, "null:", "--workload", script, "--transactions", 5)
        self.assertFalse((run.folder / "metrics.csv").exists())
        self.assertNotIn("metrics", run.json)
        self.assertNotRegex(ended.out, "(?m)^(Metric|Trend) ")

    def test_warm_up(self):
        """Only the measured transactions count, and all of them do."""
        _, run = self.run_append(3, "null:", "--workload", self.script(ALWAYS), "--warm-up", "300ms", "--duration",
                                 "600ms")
        ledger = run.json["transactions"]
        seen = int(self.metrics(run)["rows_seen"]["count"])
        self.assertGreater(seen, 0)
        self.assertLessEqual(ledger["begun"] - ledger["unfinished"], seen)
        self.assertLessEqual(seen, ledger["begun"])
        _, run = self.run_append(1, "null:", "--workload", self.script(ALWAYS), "--warm-up", "1h", "--transactions",
                                 5, code=None)
        self.assertEqual(self.metrics(run)["rows_seen"]["count"], "0")

    def test_on_session(self):
        """on_session is part of no figure."""
        _, run = self.run_append(2, "null:", "--workload",
                                 self.script('local n = count("times")\non_session(function() n:add() end)\n'
                                             'transaction("work", function() n:add(0) end)\n'),
                                 "--transactions", 5)
        self.assertEqual(self.metrics(run)["times"]["count"], "0")

    def test_each_try_counts(self):
        _, run = self.run_append(4, f"sqlite:{self.folder}/db", "--workload", self.script(CONFLICTS),
                                 "--transactions", 40)
        ledger, rows = run.json["transactions"], self.metrics(run)
        self.assertEqual(ledger["committed"], 40)
        self.assertGreater(ledger["tries"], 40)
        self.assertEqual(int(rows["times_tried"]["count"]), ledger["tries"])
        self.assertTrue(40 <= int(rows["times_done"]["count"]) <= ledger["tries"])

    def test_bounds(self):
        words = (2, "null:", "--workload", self.script(NUMBERS), "--transactions", 100)
        ended = self.append(*words, "--expect", "lock_wait.p95<=20, rows_seen>=300", code=5)
        self.assertEqual(ended.reason, "append: 1 of 2 expectations not met: lock_wait.p95<=20: 95")
        empty = self.script('local g = gauge("depth")\ntransaction("a", function() end)\n')
        ended = self.append(1, "null:", "--workload", empty, "--transactions", 1, "--expect", "depth>=0", code=5)
        self.assertIn("depth>=0: not known", ended.reason)
        words = (2, "null:", "--workload", self.script(NUMBERS), "--transactions", 100)
        for bound, message in (
            ("lock_wait>=1", "use, for example, lock_wait.p95: the trend has the figures count, min, mean, p50, p90, "
                             "p95, p99, p999, max"),
            ("rows_seen.last>=1", "use, for example, rows_seen.count: the count has the figures count, per_s"),
            ("lock_wait.p95<=1s", "has the wrong unit: lock_wait.p95 is a number, with an optional k, M or G"),
            ("rows_sen>=1", "no figure is called 'rows_sen'"),
        ):
            with self.subTest(bound):
                ended = self.append(*words, "--expect", bound, code=2)
                self.assertEqual(len(ended.error_lines), 1, ended)
                self.assertIn(message, ended.reason)

    def test_mistakes(self):
        body = 'transaction("a", function() end)\n'
        for text, message in (
            ('count("throughput")\n' + body, "'throughput' is already the name of a figure of every run: rename the metric"),
            ('count("a")\n' + body, "'a' is already the name of a metric: use a different name"),
            ('trend("Lock Wait")\n' + body, "'Lock Wait' is not a valid metric name: use at most 47 lowercase letters, digits and _"),
            ('for i = 1, 41 do gauge("g" .. i) end\n' + body, "a script can have at most 40 metrics"),
            ('count("n"):add()\n' + body, "add works only in a transaction's function, not at the top level"),
            ('local n = count("n")\n'
             'dataset("t", 1, {{"i", "int32", derive(row(), function(i) n:add() return i end)}})\n' + body,
             "count 'n': add() works only in a transaction's function, not in the function of a derive()"),
            ('local n = trend("n")\ntransaction("a", function() n:add(0 / 0) end)\n',
             "trend 'n': add takes a finite number"),
            ('local n = count("n")\ntransaction("a", function() n:add("many") end)\n',
             "count 'n': add takes a number, not many"),
            ('local n = count("n")\ntransaction("a", function() n:sum(1) end)\n', "attempt to call a nil value"),
        ):
            with self.subTest(text):
                ended = self.append(1, f"sqlite:{self.folder}/bad.db", "--workload", self.script(text),
                                    "--transactions", 2, code=2)
                self.assertEqual(len(ended.error_lines), 1, ended)
                self.assertIn("mine.lua:", ended.reason)
                self.assertIn(message, ended.reason)

    def test_dry_run_and_help(self):
        script = self.script(NUMBERS)
        (self.folder / "db").touch()
        shown = self.append("dry-run", f"sqlite:{self.folder}/db", "--workload", script)
        for text in ("lock_wait: add 1", "rows_seen: add 2", "queue_depth: add -49", "ended, rolled back"):
            self.assertIn("    " + text, shown.out)
        text = self.append("help", script).out
        self.assertRegex(text, r"(?m)^Metrics\n  lock_wait +trend, ms\n  rows_seen +count\n  queue_depth +gauge\n")

    def test_search(self):
        """A search has levels, not a run to which the values belong."""
        out = self.out()
        self.append("find-max", "null:", "--workload", self.script(ALWAYS), "--hold", "200ms", "--first", 1,
                    "--max-sessions", 2, "--out", out, code=None)
        self.assertTrue((out / "find-max.json").exists())
        self.assertFalse((out / "metrics.csv").exists())


if __name__ == "__main__":
    harness.main()
