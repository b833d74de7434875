"""What the files, the page, a sweep and a comparison say of the run of a script; on SQLite."""

import csv

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

    def begin_run(self, name, *options, code=0):
        out = self.folder / name
        ended = self.append("1", f"sqlite:{self.folder}/db", "--workload", str(self.script), "--quiet",
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
        self.assertIn("the workloads are not the same", other.out)

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


if __name__ == "__main__":
    harness.main()
