"""The files, page, sweep and comparison of runs with a script, on SQLite."""

import csv
import json
import re

import harness

SCRIPT = """
local rows = param("rows", 50)
local t = dataset("t", rows, {{"i", "int32", row(), key = true}, {"v", "int32", uniform(0, 9)}})
local log = dataset("log", 0, {{"n", "int32"}})
local find = statement("find", "SELECT v FROM t WHERE i = ?", {"int32"})
local note = statement("note", "INSERT INTO log VALUES (?)", {"int32"}, {adds_to = log})
local key = uniform(1, rows)
transaction("move", function() note:run(check(find:one(key), "there") and 1) end)
transaction("look", function() find:run(key) end, {weight = 2})
"""


def table_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class WorkloadReports(harness.Case):
    def setUp(self):
        super().setUp()
        self.script = self.folder / "mine.lua"
        self.script.write_text(SCRIPT)

    def begin_run(self, name, *options, code=0, sessions="1"):
        out = self.folder / name
        ended = self.append(sessions, f"sqlite:{self.folder}/db", "--workload", str(self.script), "--quiet",
                                "--out", str(out), *options, code=code)
        return out, ended

    def test_files_and_page(self):
        out, ended = self.begin_run("one", "--transactions", "300", "--report", "--expect",
                                    "operation.note.refused==0, operation.move.p99<10m, failed==0, "
                                    "transactions_committed==300")
        rows = {row["operation"]: row for row in table_of(out / "operations.csv")}
        self.assertEqual(set(rows), {"find", "note", "move", "look"})
        self.assertEqual(int(rows["move"]["begun"]) + int(rows["look"]["begun"]), 300)
        self.assertEqual(rows["note"]["sent"], rows["move"]["committed"])
        self.assertEqual(rows["find"]["kind"], "read")
        for name in ("statement.find", "statement.note", "transaction.move", "transaction.look"):
            self.assertTrue((out / f"{name}.hgrm").exists(), name)
        for text in ("Transactions  300 = 300 committed", "Verified      log: 0 before + ", "Throughput",
                     "Checks        " + rows["move"]["begun"] + ": 0 failed", "\nTransaction  ", "\nStatement  "):
            self.assertIn(text, ended.out)
        for text in ("rows/s", "batch", "count(*)"):
            self.assertNotIn(text, ended.out)
        page = (out / "report.html").read_text()
        for text in ("<h3>Statements</h3>", "<h3>Verified tables</h3>", "<h4>Workload</h4>",
                     '<th scope="row">note</th>'):
            self.assertIn(text, page)

    def test_figures_by_the_second(self):
        """operations_intervals.csv adds up to operations.csv; the page has charts of each transaction, of
        retries and of failed checks."""
        self.script.write_text("""
            local t = dataset("t", 10, {{"k", "int32", row(1), key = true}, {"n", "int32", uniform(0, 0)}})
            local find = statement("find", "SELECT n FROM t WHERE k = ?", {"int32"})
            local add = statement("add", "UPDATE t SET n = n + 1 WHERE k = ?", {"int32"})
            local key, n = uniform(1, 10), 0
            transaction("move", function() local k = key() find:run(k) add:run(k) end, {tries = 0})
            transaction("look", function() n = n + 1 check(n % 2 == 1, "even") find:run(key) end)
            """)
        out, ended = self.begin_run("one", "--duration", "2500ms", "--report", sessions="4")
        rows, totals = table_of(out / "operations_intervals.csv"), table_of(out / "operations.csv")
        names = [row["operation"] for row in totals]
        intervals = table_of(out / "intervals.csv")
        self.assertGreaterEqual(len(intervals), 3)
        self.assertEqual([(row["start_s"], row["end_s"], row["operation"]) for row in rows],
                         [(interval["start_s"], interval["end_s"], name) for interval in intervals for name in names])
        for total in totals:
            own = [row for row in rows if row["operation"] == total["operation"]]
            is_transaction = total["kind"] == "transaction"
            self.assertEqual({row["kind"] for row in own}, {total["kind"]})
            self.assertEqual(sum(int(row["count"]) for row in own),
                             int(total["committed" if is_transaction else "answered"]), total["operation"])
            self.assertEqual(sum(int(row["errors"]) for row in own),
                             sum(int(total[name]) for name in
                                 (("failed", "in_doubt") if is_transaction else ("refused", "unanswered"))))
            self.assertEqual(max(float(row["max_ms"] or 0) for row in own), float(total["max_ms"]))
            if is_transaction:
                self.assertEqual(sum(int(row["retries"]) for row in own),
                                 sum(int(total[name]) for name in total if name.startswith("retries_")))
            else:
                self.assertEqual({row["retries"] for row in own}, {""})
            for row in own:
                lasts_s = float(row["end_s"]) - float(row["start_s"])
                self.assertAlmostEqual(float(row["per_s"]) * lasts_s, int(row["count"]),
                                       delta=1 + int(row["count"]) * 0.002 / max(lasts_s, 0.001))
        ledger = json.loads((out / "run.json").read_text())["transactions"]
        for name in ("checks_failed", "retries"):
            self.assertGreater(ledger[name], 0)
            self.assertEqual(sum(int(interval[name]) for interval in intervals), ledger[name])
        self.assertRegex(ended.out, r"\nRetries after +deadlock +serialization +busy\b")
        page = (out / "report.html").read_text()
        for title in ("p99 of each transaction each second", "Retries of transactions", "Failed checks",
                      "<h3>Retries</h3>"):
            self.assertIn(title, page)
        (out / "operations_intervals.csv").write_text("a,b\r\n1\r\n")
        self.append("report", str(out))
        page = (out / "report.html").read_text()
        self.assertRegex(page, r"No chart of each transaction: [^<]*operations_intervals\.csv line 2")
        self.assertNotIn("p99 of each transaction each second", page)

    def test_bounds_on_failed_checks(self):
        self.script.write_text("""
            local t = dataset("t", 20000, {{"n", "int32", row()}})
            local add_up = statement("add_up", "SELECT sum(n) FROM t")
            transaction("look", function() add_up:run() think(0.01) check(false, "never") end)
            """)
        _, ended = self.begin_run("stop", "--duration", "10m", "--stop-when", "checks_failed>3", code=5)
        self.assertIn("checks_failed>3", ended.reason)
        ended = self.append(f"sqlite:{self.folder}/db", "--workload", str(self.script), "--quiet", "--stage",
                            "500ms:1,500ms:1", "--expect", "stage1.checks_failed>0, stage2.checks_failed==0",
                            "--out", str(self.folder / "stages"), code=5)
        self.assertRegex(ended.reason, r"stage2\.checks_failed==0")
        self.assertNotIn("stage1", ended.reason)

    def test_page_of_runs_that_append_no_row(self):
        """The page has nothing about appended rows: no chart of 0 rows/s, no method."""
        folders = [str(self.begin_run(name, "--transactions", "5")[0]) for name in ("one", "two")]
        self.append("report", *folders, "--out", str(self.folder / "two.html"))
        page = (self.folder / "two.html").read_text()
        self.assertIn("<h3>Transactions</h3>", page)
        self.assertNotIn("Throughput", page)

    def test_page_of_a_script_without_statements(self):
        out = self.folder / "bare"
        self.append("1", "null:", "--workload", "append-then-count", "--transactions", "3", "--quiet",
                    "--out", str(out), "--report")
        page = (out / "report.html").read_text()
        self.assertIn("<h3>Transactions</h3>", page)
        self.assertNotIn("<h3>Statements</h3>", page)

    def test_unfinished_when_the_time_is_over(self):
        self.script.write_text("""
            local t = dataset("t", 0, {{"n", "int32"}})
            local put = statement("put", "INSERT INTO t VALUES (1)", {}, {adds_to = t})
            local done = 0
            transaction("x", function()
                put:run()
                done = done + 1
                if done > 5 then think(600) end
            end)
            transaction("never", function() end, {weight = 0})
            """)
        out, ended = self.begin_run("cut", "--duration", "1s", "--report", "--expect",
                                    "failed==0, committed==5, unfinished==1")
        ledger = json.loads((out / "run.json").read_text())["transactions"]
        self.assertEqual([ledger[name] for name in ("begun", "committed", "failed", "unfinished")],
                         [6, 5, 0, 1])
        words = " ".join(ended.out.split())
        self.assertIn("Transactions 6 = 5 committed + 1 unfinished", words)
        self.assertIn("VALID every finished transaction was committed; 1 was still running at the end", words)
        self.assertEqual(table_of(out / "operations.csv")[1]["unfinished"], "1")
        self.assertEqual(table_of(out / "summary.csv")[0]["transactions_unfinished"], "1")
        self.assertIn(">unfinished</th>", (out / "report.html").read_text())

    def run_ycsb(self, name, *options, workload="ycsb", sets="records=200", code=0):
        """Returns the lines of --ycsb-out by name and measurement, and the run."""
        path, out = self.folder / f"{name}.txt", self.folder / name
        path.write_text("of an earlier run")
        self.append("2", f"sqlite:{self.folder}/{name}.db", "--workload", workload, "--set", sets,
                    "--quiet", "--out", str(out), "--ycsb-out", str(path), *options, code=code)
        lines = [re.fullmatch(r"\[([A-Za-z-]+)\], ([^,]+), (\d+(?:\.\d+)?)", line).groups()
                 for line in path.read_text().splitlines()]
        values = {line[:2]: line[2] for line in lines}
        self.assertEqual(len(values), len(lines), "a line occurs twice")
        return values, harness.Run(out)

    def test_ycsb(self):
        values, run = self.run_ycsb("one", "--transactions", "2000", sets="records=200,preset=messenger")
        rows = {row["operation"]: row for row in run.table("operations.csv")}
        self.assertEqual(list(dict.fromkeys(name for name, _ in values)), ["OVERALL", "READ", "DELETE", "INSERT"])
        for name in ("READ", "DELETE", "INSERT"):
            row = rows[name]
            returned = {key: int(values.get((name, f"Return={key}"), 0)) for key in ("OK", "NOT_FOUND", "ERROR")}
            self.assertEqual(values[name, "Operations"], row["answered"])
            self.assertEqual(returned, {"OK": int(row["rows"]), "NOT_FOUND": int(row["empty"]),
                                        "ERROR": int(row["refused"])}, name)
            for key, column in (("AverageLatency", "mean"), ("MaxLatency", "max"),
                                ("50thPercentileLatency", "p50"), ("99thPercentileLatency", "p99")):
                self.assertAlmostEqual(float(values[name, f"{key}(us)"]), 1000 * float(row[f"{column}_ms"]),
                                       delta=1)
            times = [int(values[name, f"{key}Latency(us)"]) for key in
                     ("Min", "50thPercentile", "95thPercentile", "99thPercentile", "Max")]
            self.assertEqual(times, sorted(times), name)
        missed = int(values["READ", "Return=NOT_FOUND"]) + int(values.get(("DELETE", "Return=NOT_FOUND"), 0))
        self.assertEqual(missed, run.json["counters"]["not_found"])
        self.assertGreater(missed, 0)
        self.assertAlmostEqual(float(values["OVERALL", "Throughput(ops/sec)"]),
                               run.json["figures"]["transactions_per_s"], places=2)
        self.assertAlmostEqual(float(values["OVERALL", "Throughput(ops/sec)"])
                               * int(values["OVERALL", "RunTime(ms)"]) / 1000, 2000, delta=200)

    def test_ycsb_of_several_statements(self):
        """A transaction has its own lines unless a statement has the same name."""
        values, run = self.run_ycsb("rmw", "--transactions", "200", sets="records=200,preset=f")
        row = {row["operation"]: row for row in run.table("operations.csv")}["READ-MODIFY-WRITE"]
        self.assertEqual(values["READ-MODIFY-WRITE", "Operations"], row["committed"])
        self.assertEqual(values["READ-MODIFY-WRITE", "Return=OK"], row["committed"])
        self.assertNotIn(("READ-MODIFY-WRITE", "Return=NOT_FOUND"), values)
        self.assertNotIn(("read", "Operations"), values)

    def test_ycsb_of_errors(self):
        """A statement that always fails has no times; a statement that never ran has no line."""
        self.script.write_text("""
            local t = dataset("t", param("rows", 1), {{"i", "int32", row(), key = true}})
            local add = statement("add", "INSERT INTO t VALUES (1)")
            local never = statement("never", "SELECT i FROM t")
            transaction("twice", function() add:run() end, {autocommit = true})
            transaction("idle", function() never:run() end, {weight = 0})""")
        values, _ = self.run_ycsb("bad", "--transactions", "20", "--max-failed", "20", "--tries", "1",
                                  workload=str(self.script), sets="rows=1", code=1)
        self.assertEqual({key: value for key, value in values.items() if key[0] != "OVERALL"},
                         {("add", "Operations"): "0", ("add", "Return=ERROR"): "20",
                          ("twice", "Operations"): "0", ("twice", "Return=ERROR"): "20"})

    def test_ycsb_that_cannot_be_written(self):
        target = ("null:", "--workload", "ycsb", "--transactions", "10", "--quiet")
        out = self.folder / "full"
        ended = self.append("2", *target, "--ycsb-out", "/dev/full", "--out", str(out), code=3)
        self.assertIn("'/dev/full' could not be written: No space left", ended.reason)
        outcome = harness.Run(out).json["outcome"]
        self.assertEqual((outcome["exit_code"], f"append: {outcome['exit_reason']}"), (3, ended.reason))
        self.refused("2", *target, "--ycsb-out", str(self.folder), code=2,
                     pattern="--ycsb-out .* cannot be written: Is a directory")
        ended = self.append("2", *target, "--ycsb-out", "one", "--junit", "one", code=2)
        self.assertIn("--junit and --ycsb-out name the same file 'one'", ended.err)
        kept = self.folder / "kept"
        kept.write_text("of an earlier run")
        self.refused("2", "10", "null:", "--ycsb-out", str(kept), code=2, pattern="--ycsb-out needs --workload")
        self.assertEqual(kept.read_text(), "of an earlier run")

    def test_metrics(self):
        path = self.folder / "append.prom"
        self.begin_run("one", "--transactions", "30", "--metrics-file", str(path))
        text = path.read_text()
        self.assertIn("\nappend_transactions_total{outcome=\"committed\"} 30\n", text)
        self.assertIn("\nappend_operations_total{operation=\"look\",kind=\"transaction\",count=\"begun\"} ", text)
        self.assertIn("\nappend_operation_duration_seconds_bucket{operation=\"find\",le=\"+Inf\"} 30\n", text)
        self.assertIn("\nappend_operation_duration_seconds_count{operation=\"find\"} 30\n", text)

    def test_operation_that_is_not_there(self):
        out, ended = self.begin_run("one", "--transactions", "3", "--expect", "operation.nota.p99<1s",
                                    code=2)
        self.assertIn("did you mean 'operation.note'?", ended.err)
        self.assertFalse(out.exists())

    def test_compare(self):
        for name, value in (("a", "50"), ("b", "50"), ("c", "60")):
            self.begin_run(name, "--transactions", "50", "--recreate", "--set", f"rows={value}")
        alike = self.append("compare", str(self.folder / "a"), str(self.folder / "b"))
        self.assertNotIn("workload", alike.out)
        self.assertIn("\nTransactions ", alike.out)
        self.assertIn("\ntransaction p99 ", alike.out)
        other = self.append("compare", str(self.folder / "a"), str(self.folder / "c"))
        self.assertIn("workload.parameters.rows: 50 in A, 60 in B", other.out)
        self.assertIn("the workloads differ", other.out)

    def test_sweep(self):
        out = self.folder / "s"
        ended = self.append("sweep", "--sessions", "1,2", f"sqlite:{self.folder}/db", "--workload",
                                str(self.script), "--transactions", "40", "--out", str(out), "--report")
        lines = (out / "transactions_per_s.csv").read_text().split()
        self.assertEqual([line.split(",")[0] for line in lines], ["sessions", "1", "2"])
        self.assertTrue(all(float(line.split(",")[1]) > 0 for line in lines[1:]))
        self.assertIn("Transactions, /s", ended.out)
        self.assertNotIn("rows/s", ended.out)
        self.assertIn("Transactions against sessions", (out / "report.html").read_text())

    def test_find_max(self):
        out = self.folder / "f"
        ended = self.append("find-max", "null:", "--workload", "select-insert", "--set", "select_only=true",
                            "--max-sessions", "2", "--hold", "500ms", "--out", str(out), code=None)
        held = [row for row in table_of(out / "levels.csv") if row["outcome"] == "held"]
        self.assertTrue(held, ended)
        self.assertTrue(all(float(row["transactions_per_s"]) > 0 and row["rows_per_s"] == "" for row in held))
        self.assertRegex(ended.out, r"Knee .* transactions/s")

    def test_find_max_spread(self):
        """A fifth of the hold has at most the rows of the whole hold, whatever lower levels did."""
        out = self.folder / "f"
        self.script.write_text('local one = statement("one", "select 1")\n'
                               'transaction("ask", function() think(0.01) one:run() end)\n')
        self.append("find-max", "null:", "--workload", self.script, "--first", "1", "--max-sessions", "8",
                    "--hold", "500ms", "--out", out)
        search = json.loads((out / "find-max.json").read_text())["search"]
        self.assertEqual(search["knee"]["sessions"], 8)
        committed = search["levels"][-1]["transactions"]
        self.assertLessEqual(search["knee"]["highest_transactions_per_s"] * 0.1, committed * 1.001)


if __name__ == "__main__":
    harness.main()
