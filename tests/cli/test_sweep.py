"""Sweeps without a server: SQLite and null."""

import contextlib
import json
import os
import pty
import re
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
import unittest

import harness
from sweep import NAMES, QUICK, SLOW, Sweep, Sweeping, child_of


class Tables(harness.Case, Sweeping):
    def test_three_by_two_on_sqlite(self):
        ended, sweep = self.sweep("--sessions", "1,2,4", "--records", "1k,2k")
        self.check_report(ended, sweep)
        self.assertEqual({run["state"] for run in sweep.runs}, {"done"})
        self.assertEqual((sweep.json["state"], sweep.json["table"]), ("finished", "own"))
        self.assertIn("new database in its own folder", ended.out)
        for row in sweep.rows:
            self.assertEqual((row["rows_before"], row["rows_after"]), ("0", row["records"]))
        self.assertRegex(ended.err, r"(?m)^run 1 of 6, time left unknown: 1 session x "
                                    r"1,000 rows$")
        self.assertRegex(ended.err, r"(?m)^run 6 of 6, about \w+ left: 4 sessions x 2,000 rows$")
        self.assertRegex(ended.err, r"(?m)^run 6 of 6: .* rows/s$")
        self.assertEqual([path.name for path in sweep.folder.glob("*.log")], [])

    def test_a_workload_needs_no_records(self):
        words = ["sweep", "--sessions", "1,2", "sqlite:kept.db", "--workload", "oltp", "--set",
                 "table_size=100", "--out", "sweep"]
        self.refused(*words, code=2, pattern="--workload oltp would run forever")
        ended = self.append(*words, "--duration", "300ms")
        self.assertIn("Table     kept: each run starts from what the previous run left", ended.out)
        report = json.loads((self.folder / "sweep" / "sweep.json").read_text())
        self.assertEqual((report["table"], report["records"]), ("script", [0]))
        self.assertEqual([(run["folder"], run["state"]) for run in report["runs"]],
                         [("1", "done"), ("2", "done")])
        for run in ("1", "2"):
            plan = json.loads((self.folder / "sweep" / run / "run.json").read_text())["plan"]
            self.assertEqual((plan["workload"], plan["set"], plan["duration_s"]),
                             ("oltp", ["table_size=100"], 0.3))
        ended = self.append("sweep", "--resume", "sweep")
        self.assertIn("nothing to do", ended.err)

    def test_repeats(self):
        ended, sweep = self.sweep("--sessions", "1,2", "--records", "1k", "--repeat", 3, "null:")
        self.check_report(ended, sweep)
        self.assertEqual(len(sweep.rows_of("run")), 6)
        for statistic in ("median", "lowest", "highest"):
            rows = sweep.rows_of(statistic)
            self.assertEqual([row["sessions"] for row in rows], ["1", "2"])
            pick = {"median": lambda v: v[1], "lowest": min, "highest": max}[statistic]
            for row in rows:
                for column in ("elapsed_s", "append_p99_ms", "client_cpu_s"):
                    values = sorted(float(run[column]) for run in sweep.rows_of("run")
                                    if run["sessions"] == row["sessions"])
                    self.assertAlmostEqual(float(row[column]), pick(values), places=5)
                self.assertEqual((row["adapter"], row["rows_planned"], row["folder"]),
                                 ("null", "1000", ""))
                self.assertEqual(row["started_utc"], "", "a time of day has no median")
        self.assertIn("Elapsed time, s: median (lowest-highest)", ended.out)
        self.assertRegex(ended.out, r"(?m)^ +1 +\S+ \(\S+-\S+\)\*$")
        self.assertIn(f"* Short   {len(sweep.runs)} of {len(sweep.runs)} runs appended for under 1 s",
                      ended.out)
        self.assertIn("\nAppend p99, ms", ended.out)
        for (sessions, _), text in sweep.table("append_p99.csv").items():
            median, = (row for row in sweep.rows_of("median") if row["sessions"] == str(sessions))
            self.assertEqual(text, median["append_p99_ms"])

    def test_wide_tables_go_on_below(self):
        records = ",".join(str(1000 + n) for n in range(12))
        ended, sweep = self.sweep("--sessions", "1", "--records", records, "null:")
        self.check_report(ended, sweep)
        heads = [line.split()[3:] for line in ended.out.splitlines()
                 if line.startswith("sessions \\ rows")]
        # the width of the figures decides how many columns fit
        self.assertGreaterEqual(len(heads), 8)
        self.assertEqual(sum(heads, []), 5 * [f"{1000 + n:,}" for n in range(12)])

    def test_json(self):
        ended, sweep = self.sweep(*QUICK, "null:", "--json", "--quiet")
        self.assertEqual(json.loads(ended.out), sweep.json)
        self.assertEqual(ended.err, "")
        cells = {(cell["sessions"], cell["records"]): cell for cell in sweep.json["cells"]}
        for size, text in sweep.table("elapsed.csv").items():
            self.assertEqual(cells[size]["elapsed_s"],
                             {"median": float(text), "lowest": float(text),
                              "highest": float(text), "runs": 1})

    def test_options_of_a_run(self):
        _, sweep = self.sweep("--sessions", "2", "--records", "1k", "--batch", 50, "--read=none",
                              "--seed", 7, "--idle", 1, "--values", "n4=1..5, host=a|b",
                              "--skip-columns", "msg", "null:")
        run = harness.Run(sweep.folder / "2x1000")
        self.assertEqual((run.json["plan"]["batch_rows"], run.json["plan"]["seed"]), (50, "7"))
        self.assertEqual(sweep.rows[0]["idle_sessions"], "1")
        self.assertEqual(sweep.json["options"],
                         ["--sessions=2", "--records=1k", "--batch=50", "--read=none", "--seed=7",
                          "--idle=1", "--values=n4=1..5, host=a|b", "--skip-columns=msg"])
        self.assertNotIn("msg", [column["name"] for column in run.json["table"]["columns"]])

    def test_rows_or_a_duration(self):
        """RECORDS or --duration ends each run, whichever comes first."""
        _, sweep = self.sweep("--sessions", "1", "--records", "100,100G", "null:", "--batch", "10",
                              "--rate", "1000", "--duration", "1")
        self.assertEqual([(run["state"], run["exit_code"]) for run in sweep.runs], [("done", 0)] * 2)
        short, timed = sweep.rows
        self.assertEqual(short["rows_acknowledged"], "100")
        self.assertEqual(timed["rows_acknowledged"], timed["rows_planned"])
        self.assertLess(int(timed["rows_planned"]), 100_000_000_000)

    def test_name_of_the_folder(self):
        self.append("sweep", *QUICK, "null:")
        folders = list((self.folder / "append-runs").iterdir())
        self.assertEqual(len(folders), 1)
        self.assertRegex(folders[0].name, r"^\d{8}T\d{9}Z-null-sweep$")

    def test_terminal(self):
        main, child = pty.openpty()
        process = subprocess.Popen([harness.BINARY, "sweep", *SLOW, "--out", "s"], stderr=child,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   cwd=self.folder, env=self.environment(TERM="xterm"))
        os.close(child)
        shown = b""
        while True:
            try:
                data = os.read(main, 65536)
            except OSError:
                break
            if not data:
                break
            shown += data
        os.close(main)
        self.assertEqual(process.wait(harness.GUARD_S), 0, shown)
        text = shown.decode()
        self.assertRegex(text, r"\rrun 3 of 4, about \w+ left: 1 session x 4,000 rows, "
                               r"\d+\.\d% after \d+s\x1b\[K")
        last = [piece for piece in text.replace("\r\n", "\n").split("\n") if piece]
        self.assertRegex(last[-1].rsplit("\x1b[K", 1)[-1], r"^run 4 of 4: .* rows/s$")


class States(harness.Case, Sweeping):
    """The rows that a run starts with; no table of the user changes without a request."""

    def database(self):
        return f"sqlite:{self.folder}/x.db"

    def rows_before(self, sweep):
        return [int(row["rows_before"]) for row in sweep.rows_of("run")]

    def count(self):
        return int(subprocess.run(["python3", "-c", f"""
import sqlite3
print(sqlite3.connect({str(self.folder / 'x.db')!r})
      .execute('select count(*) from syslog_table').fetchone()[0])"""],
                                  check=True, capture_output=True, text=True).stdout)

    def test_made_by_the_sweep(self):
        ended, sweep = self.sweep(*QUICK, self.database())
        self.assertEqual(sweep.json["table"], "made")
        self.assertEqual(self.rows_before(sweep), [0, 0, 0, 0])
        self.assertRegex(ended.out, r"(?m)^Table +created by the first run")

    def test_a_table_that_is_there(self):
        self.append(1, 100, self.database())
        self.refused("sweep", *QUICK, self.database(), code=2,
                     pattern="'syslog_table' already exists: add --recreate .*--keep-rows")
        self.assertEqual(self.count(), 100)
        _, sweep = self.sweep(*QUICK, self.database(), "--keep-rows")
        self.assertEqual(sweep.json["table"], "kept")
        self.assertEqual(self.rows_before(sweep), [100, 1100, 2100, 5100])
        _, sweep = self.sweep(*QUICK, self.database(), "--recreate")
        self.assertEqual(sweep.json["table"], "recreated")
        self.assertEqual(self.rows_before(sweep), [0, 0, 0, 0])

    def test_a_table_of_ones_own(self):
        self.refused("sweep", *QUICK, self.database(), "--table", "mine", code=4,
                     pattern="table 'mine' does not exist")
        schema = self.folder / "mine.sql"
        schema.write_text("create table mine (n1 smallint, n3 bigint, msg varchar(64))")
        _, sweep = self.sweep(*QUICK, self.database(), "--table", "mine", "--schema-file", schema)
        self.assertEqual(self.rows_before(sweep), [0, 0, 0, 0])
        self.refused("sweep", *QUICK, self.database(), "--table", "mine", code=2,
                     pattern="'mine' already exists: add --keep-rows")


class Variants(harness.Case, Sweeping):
    """Runs with different values of a script's parameter."""

    INSERT = ("--workload", "mass-insert", "--set", "batch=50")
    KINDS = (*INSERT, "--vary", "table=normal,compressed")

    def test_columns(self):
        ended, sweep = self.sweep("--sessions", "1,2", "--records", "2k", *self.KINDS)
        self.check_report(ended, sweep)
        self.assertEqual({run["state"] for run in sweep.runs}, {"done"})
        self.assertEqual(sweep.json["variants"], ["table=normal", "table=compressed"])
        self.assertEqual([run["folder"] for run in sweep.runs],
                         ["1x2000-table=normal", "2x2000-table=normal",
                          "1x2000-table=compressed", "2x2000-table=compressed"])
        for run in sweep.runs:
            plan = json.loads((sweep.folder / run["folder"] / "run.json").read_text())["plan"]
            self.assertEqual(plan["set"], ["batch=50", run["variant"]])
        self.assertEqual(len(re.findall("(?m)^ +sessions  table=normal  table=compressed$",
                                        ended.out)), 6)
        self.assertIn("not run; each of 2,000 rows", ended.out)
        self.assertRegex(ended.err, r"(?m)^run 1 of 4: 1 session x 2,000 rows, table=normal: ")

    def test_all_with_all(self):
        _, sweep = self.sweep("--sessions", "1", "--records", "1k,2k", *self.KINDS[:2], "--vary",
                              "table=normal,compressed", "--vary", "batch=10,100", "--repeat", 2)
        variants = [f"table={table},batch={batch}" for table in ("normal", "compressed")
                    for batch in (10, 100)]
        self.assertEqual(sweep.json["variants"], variants)
        self.assertEqual(sweep.runs[4]["folder"], "1x2000-table=normal,batch=10-1")
        for run, row in zip(sweep.runs, sweep.rows_of("run")):
            batch = int(run["variant"].rsplit("=", 1)[1])
            self.assertEqual(int(row["transactions_committed"]), run["records"] // batch)
        self.assertEqual([row["variant"] for row in sweep.rows_of("median")], 2 * variants)

    def test_resumed(self):
        _, sweep = self.sweep("--sessions", "1,2", "--records", "2k", "null:", *self.KINDS)
        before = sweep.shape()
        shutil.rmtree(sweep.folder / "1x2000-table=compressed")
        ended = self.append("sweep", "--resume", sweep.folder)
        self.assertIn("1 run to go", ended.err)
        self.assertEqual(self.check_sweep(sweep.folder).shape(), before)
        self.refused("sweep", "--resume", sweep.folder, "--vary", "table=normal", code=2,
                     pattern=r"\(--vary=table=normal,compressed\): leave it out")
        path = sweep.folder / "sweep.json"
        text = path.read_text()
        path.write_text(text.replace("table=compressed", "table=partitioned"))
        self.refused("sweep", "--resume", sweep.folder, code=2, pattern="lists runs that do not match its opt")
        path.write_text(text.replace('"table=compressed"', '"../x"', 1))
        self.refused("sweep", "--resume", sweep.folder, code=2, pattern="its lists of sessions, records and variants are missing or wrong")

    def test_tables_of_the_script(self):
        """Tables are dropped only when the sweep made them, or on request."""
        database = f"sqlite:{self.folder}/x.db"
        size = ("--sessions", "1", "--records", "1k", database)
        ended, sweep = self.sweep(*size, *self.KINDS)
        self.assertEqual((sweep.json["table"], self.rows_before(sweep)), ("made", [0, 0]))
        self.assertRegex(ended.out, r"(?m)^Table +created by the first run, dropped")
        self.refused("sweep", *size, *self.KINDS, code=2, pattern=
                     r"^append: table 'test' already exists: add --recreate to drop it "
                     r"before each run$")
        self.refused("sweep", *size, *self.KINDS, "--keep-rows", code=2, pattern=
                     "mass-insert declares different tables with table=compressed and with table=norm")
        self.refused("sweep", *size, *self.KINDS[:2], "--vary", "batch=10,20", code=2,
                     pattern="before each run, or add --keep-rows to append to it")
        _, sweep = self.sweep(*size, *self.KINDS[:2], "--vary", "batch=10,20", "--keep-rows")
        self.assertEqual((sweep.json["table"], self.rows_before(sweep)), ("kept", [1000, 2000]))
        _, sweep = self.sweep(*size, *self.KINDS, "--recreate")
        self.assertEqual((sweep.json["table"], self.rows_before(sweep)), ("recreated", [0, 0]))

    def test_tables_without_columns_in_the_script(self):
        """A table that a dataset names without columns is looked for like all others."""
        script = self.folder / "both.lua"
        script.write_text("""
local other = param("other", 1, "")
dataset("own", 5, {{"id", "int64", row(), key = true}})
local log = dataset("syslog_table")
transaction("add", function() log:append(10) end, {autocommit = true})
""")
        target = f"sqlite:{self.folder}/x.db"
        size = ("--sessions", "1", "--transactions", "3", target, "--workload", script,
                "--vary", "other=1,2")
        self.run_append(1, 50, target)
        self.refused("sweep", *size, code=2, pattern="table 'syslog_table' already exists: "
                     "add --recreate to drop it before each run, or add --keep-rows")
        with contextlib.closing(sqlite3.connect(self.folder / "x.db")) as database:
            self.assertEqual(database.execute("SELECT count(*) FROM syslog_table").fetchone(), (50,))
            self.assertEqual(database.execute("SELECT name FROM sqlite_master WHERE name = 'own'")
                             .fetchall(), [])

    def rows_before(self, sweep):
        return [json.loads((sweep.folder / run["folder"] / "run.json").read_text())["datasets"][0]
                ["rows_before"] for run in sweep.runs]

    def test_what_is_a_table_of_its_own(self):
        """Other rows, columns, keys, indexes or options make another table."""
        script = self.folder / "tables.lua"
        script.write_text("""
local rows = param("rows", 5, "")
local type = param("type", "int32", "")
local required = param("required", false, "")
local index = param("index", "a", "")
local options = param("options", "", "")
local other = param("other", 1, "")
dataset("own", rows, {{"id", "int64", row(), key = true}, {"a", "int32", 1},
    {"b", type, 1, required = required}}, {index = {index}, options = {sqlite = options}})
local get = statement("get", "SELECT a FROM own WHERE id = ?", {"int64"})
transaction("look", function() get:run(other) end)
""")
        size = ("--sessions", "1", "--transactions", "5", f"sqlite:{self.folder}/x.db",
                "--workload", script, "--keep-rows")
        for vary in ("rows=5,6", "type=int32,int64", "type=text,json", "required=false,true",
                     "index=a,b", "options=STRICT,x"):
            with self.subTest(vary=vary):
                self.refused("sweep", *size, "--vary", vary, code=2, pattern="declares different tables with")
        self.assertIn("2 of 2 done", self.append("sweep", *size, "--vary", "other=1,2").out)

    def test_what_is_wrong(self):
        """These mistakes are found before any connection."""
        size = ("--sessions", "1", "--records", "1k", "localhost:1")
        many = "batch=" + ",".join(str(n) for n in range(1, 102))
        for arguments, pattern in (
                (("--vary", "batch=1,2"), "--vary needs --workload"),
                ((*self.INSERT[:2], "--vary", "tabel=normal,x"), "did you mean table?"),
                ((*self.INSERT[:2], "--vary", "table=normal,odd"),
                 "parameter 'table' must be normal, partitioned or compressed, not 'odd'"),
                ((*self.INSERT[:2], "--vary", "table"), "--vary 'table' is not NAME=A,B,..."),
                ((*self.INSERT[:2], "--vary", "=1"), "--vary '=1' is not NAME=A,B,..."),
                ((*self.INSERT[:2], "--vary", "table=normal,"), "'table=normal,' is not NAME=A,B"),
                ((*self.INSERT[:2], "--vary", "table=a/b"), "'table=a/b' is not NAME=A,B,..."),
                ((*self.INSERT[:2], "--vary", "batch=1,1"), "runs batch=1 and batch=1 of mass-insert would have the same parameters"),
                ((*self.INSERT, "--vary", "batch=1,2"), "give a parameter only once"),
                ((*self.INSERT, "--vary", "batch=1"), "give a parameter only once"),
                ((*self.INSERT[:2], "--vary", "table=normal", "--vary", "table=compressed"),
                 "'table=compressed': give a parameter only once"),
                ((*self.INSERT[:2], "--vary", "batch=1,2", "--vary", "batch=3"),
                 "'batch=3': give a parameter only once"),
                ((*self.INSERT[:2], "--vary", many), "--vary gives more than 100 variants"),
                ((*self.INSERT[:2], "--vary", "batch=" + "1" * 60), "is longer than 63 bytes")):
            with self.subTest(arguments=arguments):
                self.refused("sweep", *size, *arguments, code=2, pattern=re.escape(pattern))


class Refusals(harness.Case, Sweeping):
    def test_what_is_wrong(self):
        for arguments, pattern in (
                ([], "needs --sessions N,N,... with --records"),
                (["--sessions", "1"], "needs --sessions N,N,... with --records"),
                (["--sessions", "1,0", "--records", "5"], "--sessions: '0' is not"),
                (["--sessions", "1,,2", "--records", "5"], "--sessions: '' is not"),
                (["--sessions", "1", "--records", "5k,x"], "--records: 'x' is not"),
                (["--sessions", "1k,1000", "--records", "5k"], "--sessions lists 1,000 twice"),
                (["--sessions", "2000000", "--records", "5M"], "1 to 1,000,000"),
                (["--sessions", "1,10", "--records", "5,50"], "RECORDS 5 is less than SESSIONS 10"),
                (["--sessions", "1", "--records", "5", "--repeat", "0"], "--repeat"),
                (["--sessions", "1", "--records", "5", "--batch", "0"], "--batch"),
                (["--sessions", "1", "--records", "5", "--progress", "5"], "--progress"),
                (["--sessions", "1", "--records", "5", "--method", "x", "sqlite:x.db"], "method"),
                (["--sessions", "1", "--records", "5", "--min-sessions", "2"], "--min-sessions"),
                (["--sessions", "1", "--records", "5", "oracle:x"], "unknown adapter"),
                (["--sessions", "1", "--records", "5", "null:", "x"], "too many operands"),
                (["--sessions", "1", "--records", "5", "null:", "--table", "\udcff"],
                 "--table has a value that is not UTF-8"),
                (["--sessions", "1", "--records", "5", "--keep-rows"], "--keep-rows does not"),
                (["--sessions", "1", "--records", "5", "--keep-rows", "--recreate"],
                 "--keep-rows contradicts"),
                (["--sessions", "1", "--records", "5", "--keep-rows", "--seed", "1", "--verify",
                  "rows", "sqlite:x.db"], "leave --seed out")):
            with self.subTest(arguments=arguments):
                self.refused("sweep", *arguments, code=2, pattern=re.escape(pattern))

    def test_server_that_is_not_there(self):
        self.refused("sweep", *QUICK, "postgresql://append@127.0.0.1:1/append", code=4,
                     pattern="(?i)refused|connect")

    def test_folders(self):
        (self.folder / "there").mkdir()
        self.refused("sweep", *QUICK, "null:", "--out", "there", code=2, pattern="exists already")
        self.refused("sweep", *QUICK, "null:", "--out", "x" * 900, code=2,
                     pattern="--out must be a path of 1 to 842 bytes")
        (self.folder / "file").write_text("")
        self.refused("sweep", *QUICK, "null:", "--out", "file/x", code=2,
                     pattern="Not a directory")

    def test_an_output_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            ended = subprocess.run([harness.BINARY, "sweep", *QUICK, "null:", "--out", "s"],
                                   stdout=full, stderr=subprocess.PIPE, text=True,
                                   cwd=self.folder, timeout=harness.GUARD_S)
        self.assertEqual(ended.returncode, 3)
        self.assertIn("standard output cannot be written", ended.stderr)


class Failures(harness.Case, Sweeping):
    def test_a_run_that_fails(self):
        """More sessions than open files: the cell keeps the reason, the other cells go on."""
        ended, sweep = self.sweep("--sessions", "2,400,4", "--records", "1k", "--read=none",
                                  code=3, preexec_fn=lambda: __import__("resource").setrlimit(
                                      __import__("resource").RLIMIT_NOFILE, (100, 100)))
        self.check_report(ended, sweep)
        self.assertEqual([run["state"] for run in sweep.runs], ["done", "failed", "done"])
        self.assertIn("RLIMIT_NOFILE", sweep.runs[1]["reason"])
        self.assertEqual(sweep.rows[1]["reason"], sweep.runs[1]["reason"])
        self.assertRegex(ended.out, r"(?m)^ +400 +client\*$")
        self.assertRegex(ended.out, r"(?m)^\* Failed  400 x 1,000, exit code 3: ")
        self.assertRegex(ended.reason, r"1 of 3 runs failed: 400x1000: .*RLIMIT_NOFILE")
        self.assertIn("RLIMIT_NOFILE", (sweep.folder / "400x1000.log").read_text())
        self.assertRegex(ended.err, r"(?m)^run 2 of 3: .*: FAILED: ")

    def test_an_expectation_that_is_missed(self):
        """The figures of a run with a missed expectation count; the exit code says that it was missed."""
        ended, sweep = self.sweep("--sessions", "1,2", "--records", "1k", "null:", "--expect",
                                  "sessions_finished>=2", code=5)
        self.check_report(ended, sweep)
        self.assertEqual([(run["state"], run["exit_code"]) for run in sweep.runs],
                         [("done", 5), ("done", 0)])
        self.assertRegex(ended.out, r"(?m)^ +1 +[\d.,]+\*$")
        self.assertRegex(ended.out, r"(?m)^\* Note    1 x 1,000, exit code 5: ")
        self.assertRegex(ended.reason, "1x1000 missed an expectation: .*sessions_finished>=2")

    def test_a_parent_that_ignores_its_children(self):
        """An ignored SIGCHLD, which programs inherit, does not hide the end of a run."""
        self.sweep("--sessions", "1", "--records", "1k", "null:", "--expect",
                   "sessions_finished>=2", code=5,
                   preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))

    def test_a_run_that_is_killed(self):
        out = self.out()
        process = self.start("sweep", *SLOW, "--out", out)
        self.wait_for_rows(process, out / NAMES[2])
        os.kill(child_of(process), signal.SIGKILL)
        ended = self.end(process, 3)
        sweep = self.check_sweep(out)
        self.assertEqual([run["state"] for run in sweep.runs], ["done", "done", "failed", "done"])
        self.assertRegex(sweep.runs[2]["reason"], r"ended by signal 9 \(Killed\)")
        self.assertRegex(ended.reason, "signal 9")

    def test_the_worst_decides(self):
        """A sweep ends with the most serious exit code of its runs: here a crashed run outranks a killed run."""
        out = self.out()
        process = self.start("sweep", *SLOW, "--out", out)
        for name, number in ((NAMES[1], signal.SIGKILL), (NAMES[3], signal.SIGABRT)):
            self.wait_for_rows(process, out / name)
            os.kill(child_of(process), number)
        ended = self.end(process, 70)
        self.assertRegex(ended.reason, "2 of 4 runs failed: 2x4000: .*signal 6")
        self.check_sweep(out)


@unittest.skipUnless(os.geteuid() == 0, "only root may mount a file system")
class Disk(harness.Case, Sweeping):
    @staticmethod
    def keep_full(path, is_over):
        with open(path, "wb", buffering=0) as file:
            while not is_over.is_set():
                try:
                    file.write(b"x" * 4096)
                except OSError:
                    time.sleep(0.001)

    def test_a_disk_that_fills_up(self):
        place = self.folder / "disk"
        place.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "append-test", place],
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no file system may be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", place])
        out = place / "sweep"
        process = self.start("sweep", *SLOW, "--out", out)
        self.wait_for_rows(process, out / NAMES[1])
        # the space that a run frees at its end is taken at once: the next run cannot begin, and the
        # sweep cannot write its own files
        is_over = threading.Event()
        filler = threading.Thread(target=self.keep_full, args=(place / "fill", is_over))
        filler.start()
        try:
            ended = self.end(process, 3)
        finally:
            is_over.set()
            filler.join()
        self.assertRegex(ended.reason, r"No space left on device; when the cause is removed, resume with: append sweep "
                                       r"--resume ")
        Sweep(out)  # the files keep their earlier content, and are whole
        (place / "fill").unlink()
        self.append("sweep", "--resume", out)
        self.assertEqual([run["state"] for run in self.check_sweep(out).runs], ["done"] * 4)

    def test_a_full_disk(self):
        place = self.folder / "disk"
        place.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "append-test", place],
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no file system may be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", place])
        self.refused("sweep", *QUICK, "null:", "--out", place / "sweep", code=3,
                     pattern="No space left")


if __name__ == "__main__":
    harness.main()
