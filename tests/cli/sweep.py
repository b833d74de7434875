"""Sweeps, and the checks that hold for the files of every sweep."""

import csv
import json
import pathlib
import re

import harness

TABLES = {"max_cpu.csv": "max_cpu_percent", "max_memory.csv": "max_memory_mib",
          "elapsed.csv": "elapsed_s", "throughput.csv": "throughput_rows_per_s"}
OF_ROWS = {"append_p99.csv": "append_p99_ms"}
OF_SCRIPTS = {"transactions_per_s.csv": "transactions_per_s",
              "transaction_p99.csv": "transaction_p99_ms"}

# QUICK: very short runs. SLOW: runs that last for more than a second after their first interval, so that
# a test can interrupt them.
RATE = 1500 // min(harness.SLOW, 2)
QUICK = ("--sessions", "1,2", "--records", "1k,3k")
SLOW = ("--sessions", "1,2", "--records", "3k,4k", "--rate", str(RATE), "null:")
NAMES = ("1x3000", "2x3000", "1x4000", "2x4000")


def child_of(process):
    """Returns the pid of the current run."""
    pid = process.pid
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    if not text:  # a signal to process 0 would reach the tests themselves
        raise AssertionError("there is no current run")
    return int(text[0])


def is_alive(pid):
    try:
        return "\nState:\tZ" not in pathlib.Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def read_csv(path):
    """Returns header and rows; every row has every cell."""
    data = path.read_bytes().decode()
    assert data.endswith("\r\n"), path
    rows = list(csv.reader(data.splitlines(keepends=True), strict=True))
    assert all(len(row) == len(rows[0]) for row in rows), path
    return rows[0], rows[1:]


class Sweep:
    """The files of a sweep."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.json = json.loads((self.folder / "sweep.json").read_text())
        self.header, rows = read_csv(self.folder / "sweep.csv")
        self.rows = [dict(zip(self.header, row)) for row in rows]

    @property
    def runs(self):
        return self.json["runs"]

    @property
    def tables(self):
        """Returns {file: column of sweep.csv}."""
        is_script = any(option.startswith("--workload=") for option in self.json["options"])
        return TABLES | (OF_SCRIPTS if is_script else OF_ROWS)

    def rows_of(self, statistic):
        return [row for row in self.rows if row["statistic"] == statistic]

    def table(self, name):
        """Returns {(sessions, records): text}, with variants {(sessions, variant): text}."""
        header, rows = read_csv(self.folder / name)
        assert header[0] == "sessions", header
        return {(int(row[0]), int(column) if column.isdigit() else column): cell
                for row in rows for column, cell in zip(header[1:], row[1:])}

    def column(self, run):
        """Returns the title of the tables' column that has a run."""
        records, variant = int(run["records"]), run["variant"]
        several = len(self.json["records"]) > 1
        return f"{variant} {records}" if variant and several else variant or records

    def shape(self):
        """Returns the parts that are equal in two sweeps with the same options, whatever was measured."""
        tables = {name: read_csv(self.folder / name) for name in self.tables}
        return {
            "names": sorted(str(path.relative_to(self.folder))
                            for path in self.folder.rglob("*")),
            "header": self.header,
            "rows": [[row[column] for column in ("statistic", "repeat", "variant", "folder",
                                                 "state", "reason", "sessions", "records",
                                                 "exit_code")]
                     for row in self.rows],
            # without figures that a short run may lack: shares of clock ticks, and of an unused disk
            "filled": [[bool(cell) for column, cell in row.items()
                        if not re.search("cpu_percent|iowait|_ms$|busy_percent", column)
                        or re.search("^(append|read|connect)_", column)]
                       for row in self.rows_of("run")],
            "tables": {name: (header, [row[0] for row in rows],
                              [[bool(cell) for cell in row] for row in rows])
                       for name, (header, rows) in tables.items() if name != "max_cpu.csv"},
            "runs": [{key: run[key] for key in run if key != "wall_s"} for run in self.runs],
            "state": self.json["state"],
            "asked": {key: self.json[key] for key in (
                "sessions", "records", "variants", "repeat", "table", "options", "target_given")},
        }


class Sweeping:
    """A mixin for a harness.Case."""

    def sweep(self, *arguments, code=0, **options):
        """Makes a whole sweep and checks its files. Returns (Ended, Sweep)."""
        out = self.out()
        ended = self.append("sweep", *arguments, "--out", out, code=code, **options)
        return ended, self.check_sweep(out)

    def check_sweep(self, folder):
        sweep = Sweep(folder)
        sizes = [(s, r, v) for r in sweep.json["records"] for v in sweep.json["variants"] or [None]
                 for s in sweep.json["sessions"]]
        repeat = sweep.json["repeat"]
        self.assertEqual([(run["sessions"], run["records"], run["variant"], run["repeat"])
                          for run in sweep.runs],
                         [(*size, n + 1) for n in range(repeat) for size in sizes])
        cells = sorted({(run["sessions"], sweep.column(run)) for run in sweep.runs})
        self.assertEqual(len(cells), len(sizes))
        ended = [run for run in sweep.runs if run["state"] != "pending"]
        self.assertEqual([row["folder"] for row in sweep.rows_of("run")],
                         [run["folder"] for run in ended])
        for run, row in zip(ended, sweep.rows_of("run")):
            self.check_run_of(sweep, run, row)
        folders = {run["folder"] for run in sweep.runs}
        logs = {name + ".log" for name in folders}
        files = {"sweep.json", "sweep.csv", *sweep.tables}
        self.assertLessEqual({path.name for path in sweep.folder.iterdir()}, files | folders | logs)
        self.assertLessEqual(files, {path.name for path in sweep.folder.iterdir()})
        for name, column in sweep.tables.items():
            self.check_table(sweep, name, column, cells)
        for path in sweep.folder.iterdir():
            if path.is_file():
                self.assertNotIn(harness.SECRET.encode(), path.read_bytes(), path)
        return sweep

    def check_run_of(self, sweep, run, row):
        for key in ("sessions", "records", "repeat", "state", "exit_code"):
            self.assertEqual(row[key], str(run[key]), run)
        self.assertEqual(row["variant"], run["variant"] or "")
        self.assertEqual(run["state"] == "done", run["exit_code"] in (0, 5), run)
        self.assertEqual(run["exit_code"] != 0, run["reason"] is not None, run)
        folder = sweep.folder / run["folder"]
        # A killed run leaves empty files.
        if (folder / "run.json").exists() and (folder / "run.json").stat().st_size > 0:
            own = self.check_run(folder, run["exit_code"]).table("summary.csv")[0]
            self.assertEqual({key: row[key] for key in own}, own)
            self.assertEqual(own["sessions"], str(run["sessions"]))
            if own["stop_reason"] != "duration":
                self.assertEqual(own["rows_planned"], str(run["records"]))
        else:
            self.assertEqual(run["state"], "failed")

    def check_table(self, sweep, name, column, cells):
        table = sweep.table(name)
        self.assertEqual(sorted(table), cells)
        for size in cells:
            values = sorted(float(row[column]) for row in sweep.rows_of("run")
                            if (int(row["sessions"]), sweep.column(row)) == size
                            and row["state"] == "done" and row[column])
            if not values:
                self.assertEqual(table[size], "", (name, size))
                continue
            middle = len(values) // 2
            median = values[middle] if len(values) % 2 else sum(values[middle - 1:middle + 1]) / 2
            self.assertAlmostEqual(float(table[size]), median, delta=0.06)

    def check_report(self, ended, sweep):
        """Checks the printed tables: their titles, a row for each number of sessions, and lines of at most 80
        characters."""
        tables = len(set(re.findall("(?m)^Transactions, /s", ended.out))) + 5
        for title in ("Maximum CPU, %", "Maximum memory, MiB", "Elapsed time, s",
                      "Throughput, rows/s", "p99, ms"):
            self.assertIn(title, ended.out)
        for line in ended.out.splitlines():
            if not line.startswith("Files"):
                self.assertLessEqual(len(line), 80, line)
        for sessions in sweep.json["sessions"]:
            self.assertEqual(len([line for line in ended.out.splitlines()
                                  if line.split()[:1] == [f"{sessions:,}"]]) % tables, 0,
                             ended)
