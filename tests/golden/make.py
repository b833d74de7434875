#!/usr/bin/env python3
"""Compares what whole runs print and write with the goldens, which are the .txt files beside this one.

  tests/golden/make.py [--accept] [NAME…]     without a NAME: all scenarios

NAME is a scenario, `postgresql` or `mariadb` for all scenarios on that server, or `serverless` for all
others.

A scenario runs a few commands of the program in a folder of its own. Its golden, NAME.txt, has the
output of the commands and every file that they left. If PARENT left the same file, the golden has only
the differences: for files with a line for each key (run.json, summary.csv, samples.csv, intervals.csv)
these are the lines that differ and the keys that are missing. So a new key changes a single golden.
Values that differ from run to run are masked, according to their names and not to their looks: times,
rates, CPU, memory, versions, hosts, paths, ports. Ledgers, counts, keys, columns, texts and verdicts
are compared. A loaded machine can change a verdict or a count, so a scenario that differs runs again,
up to TRIES times, until it is as expected or differs twice in the same way.

Environment: APPEND_BINARY (default build/append), APPEND_TEST_POSTGRESQL and APPEND_TEST_MARIADB
(URL of a server, see scripts/test.sh). --accept rewrites the goldens that differ. A scenario whose
server or adapter is missing is left out, and the reason is printed.
"""

import csv
import difflib
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BINARY = os.environ.get("APPEND_BINARY", str(ROOT / "build" / "append"))
TRIES = 5
PARENT = "null"
DIFF_LINES = 60
SEEDED = ["--seed", "7"]
# Files that a scenario finds in its folder.
LIST, SCRIPT = "unique_id.sql", "mine.lua"
FILES = {LIST: "create table t (a integer unique, b integer);\n", SCRIPT: """
local rows = param("rows", 50)
local t = dataset("t", rows, {{"i", "int32", row(), key = true}, {"v", "int32", uniform(0, 9)}})
local log = dataset("log", 0, {{"n", "int32"}})
local find = statement("find", "SELECT v FROM t WHERE i = ?", {"int32"})
local note = statement("note", "INSERT INTO log VALUES (?)", {"int32"}, {adds_to = log})
local wrong = statement("wrong", "INSERT INTO t VALUES (1, 1)", {})
local key = uniform(1, rows)
transaction("move", function() note:run(check(find:one(key), "there") and 1) end)
transaction("look", function() found(find:one(key) > 4) end, {weight = 2})
transaction("fail", function() wrong:run() end, {weight = param("fails", 0)})
"""}
# Words before the program's name: they send a signal in the middle of a run, or start several ranks.
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--quiet", "-n"]
STARTERS = {"null_interrupted": ["timeout", "--preserve-status", "-s", "INT", "0.5"], "null_rank": [*MPIRUN, "1"], "null_ranks": [*MPIRUN, "3"]}

# NAME: commands. URL stands for the URL of the database on the server, and HOSTS for this URL with the host under two names. A
# scenario whose name begins with the name of a server needs this server; ADAPTERS has the adapters that a scenario needs.
SCENARIOS = {
    "help": [["help"], *(["help", name] for name in
                         ("check", "find-max", "report", "compare", "sweep", "prepare", "cleanup", "certify", "help",
                          "oltp")), ["--version"]],
    "usage": [
        [], ["5"], ["5", "3", "null:"], ["x", "100", "null:"], ["1", "1", "null:", "extra"],
        ["1", "1", "null:", "--nonsense"], ["1", "1", "null:", "--batch"], ["1", "1", "null:", "--batch", "0"],
        ["1", "1", "null:", "--on-drop", "retry"], ["1", "1", "null:", "--expect", "nonsense>1"],
        ["1", "1", "null:", "--expect", "throughput>1 m"], ["1", "1", "null:", "--values", "a=5..1"],
        ["1", "1", "null:", "--verify", "rows"], ["1", "1", "null:", "--engine", "x"],
        ["1", "1", "nonsense://x"], ["find-max", "null:", "--rate", "5"], ["sweep", "null:"],
        ["report", "nowhere"], ["compare", "nowhere", "nowhere"], ["compare", "x"], ["check"], ["help", "nonsense"]],
    "plan": [["4", "1000", target, *SEEDED, "--plan", *more] for target, more in (
        ("null:", []), ("sqlite:x.db", ["--verify", "rows"]),
        ("null:", ["--rate", "2k", "--duration", "3s", "--churn", "5", "--idle", "3"]),
        ("postgresql://u@127.0.0.1:1/d", ["--timeout", "5s", "--on-drop", "reconnect:3"]),
        ("mariadb://u@127.0.0.1:1/d", ["--read", "select 1", "--method", "insert"]))],
    "null": [["4", "1M", "null:", "--batch", "1000", *SEEDED, "--out", "OUT"]],
    "null_rate": [["2", "1000", "null:", "--rate", "5k", *SEEDED, "--mark", "0.1=a mark", "--out", "OUT",
                   "--metrics-file", "metrics.prom", "--junit", "junit.xml",
                   "--expect", "throughput>1, acknowledged==1000"]],
    "null_duration": [["2", "null:", "--rate", "1k", "--duration", "450ms", "--churn", "1", "--idle", "2",
                       *SEEDED, "--out", "OUT"]],
    "null_expect": [["2", "1000", "null:", "--rate", "5k", *SEEDED, "--out", "OUT", "--junit", "junit.xml",
                     "--expect", "throughput>=999G, lost==0, append_p99<=1h"]],
    "sqlite": [["2", "1k", "sqlite:x.db", *SEEDED, "--out", "OUT"],
               ["2", "1k", "sqlite:x.db", "--read", "none", "--data", "constant", *SEEDED]],
    "sqlite_verify_rows": [["2", "1000", "sqlite:x.db", "--rate", "5k", "--verify", "rows", "--recreate",
                            "--on-drop", "reconnect", *SEEDED, "--out", "OUT"]],
    "sqlite_rejected": [["1", "40", "sqlite:x.db", "--table", "t", "--schema-file", LIST, "--values", "a=1..40",
                         "--batch", "10", *SEEDED],
                        ["2", "40", "sqlite:x.db", "--table", "t", "--values", "a=21..60", "--batch", "10",
                         *SEEDED, "--rate", "200", "--out", "OUT", "--junit", "junit.xml"]],
    "sqlite_script": [["1", "sqlite:x.db", "--workload", f"./{SCRIPT}", "--transactions", "60", *SEEDED, "--out", "OUT",
                       "--junit", "junit.xml", "--report", "--expect", "failed==0, operation.note.refused==0"],
                      ["1", "sqlite:x.db", "--workload", f"./{SCRIPT}", "--transactions", "20", "--set", "fails=1",
                       *SEEDED, "--recreate"]],
    "null_script": [["2", "null:", "--workload", "append-then-count", "--transactions", "30", *SEEDED, "--out", "OUT"]],
    "null_interrupted": [["1", "1000", "null:", "--rate", "100", *SEEDED, "--out", "OUT", "--junit", "junit.xml"]],
    **{name: [["4", "1200", "null:", "--rate", "6k", *SEEDED, "--out", "OUT"],
              ["4", "null:", "--workload", "append-then-count", "--transactions", "40", *SEEDED, "--out", "script"]]
       for name in ("null_rank", "null_ranks")},
    "refused": [["2", "100", "mariadb://u@127.0.0.1:1/d", "--out", "OUT"],
                ["2", "100", "postgresql://u@127.0.0.1:1/d", "--out", "OUT", "--json"],
                ["2", "100", "sqlite:/nonexistent/x.db", "--out", "OUT", "--junit", "junit.xml"],
                ["2", "100", "127.0.0.1:1"]],
    "find_max": [["find-max", "null:", "--first", "2", "--max-sessions", "2", "--hold", "500ms", *SEEDED,
                  "--out", "OUT"]],
    "sweep": [["sweep", "--sessions", "1,2", "--records", "200,400", "null:", "--rate", "4k", *SEEDED,
               "--out", "OUT"]],
    "compare": [["2", "400", "null:", "--rate", "4k", *SEEDED, "--out", "before"],
                ["4", "800", "null:", "--rate", "4k", *SEEDED, "--out", "after", "--idle", "1"],
                ["compare", "before", "after", "--fail-if", "throughput<1000"]],
    "page": [["2", "1000", "null:", "--rate", "5k", *SEEDED, "--out", "a"], ["report", "a"]],
    "postgresql": [["4", "2k", "URL", "--rate", "8k", *SEEDED, "--out", "OUT"],
                   ["2", "400", "URL", "--method", "insert", "--read", "none", *SEEDED]],
    "postgresql_hosts": [["4", "2k", "HOSTS", "--rate", "8k", *SEEDED, "--out", "OUT"]],
    "postgresql_limit": [["8", "800", "URL", *SEEDED],
                         ["8", "800", "URL", "--no-check", "--connect-concurrency", "1", *SEEDED, "--out", "OUT"]],
    "mariadb": [["4", "2k", "URL", "--rate", "8k", *SEEDED, "--out", "OUT"],
                ["2", "400", "URL", "--method", "insert", "--read", "none", *SEEDED]],
}
# Whether each adapter is built. cmake/AppendAdapters.cmake writes a line "NAME 0" or "NAME 1" for each adapter.
BUILT = {name: is_built == "1" for name, is_built in
         (line.split() for line in pathlib.Path(BINARY).with_name("adapters.txt").read_text().splitlines())}
ADAPTERS = {"help": BUILT, "usage": BUILT, "sqlite": ["sqlite"], "sqlite_verify_rows": ["sqlite"], "sqlite_rejected": ["sqlite"],
            "sqlite_script": ["sqlite"],
            "plan": ["sqlite", "postgresql", "mariadb"], "refused": ["sqlite", "postgresql", "mariadb"]}
SERVERS = ("postgresql", "mariadb")
PRINTS_ONLY = ("compare", "page")  # other scenarios show the folders of such runs
VERBATIM = ("help", "usage", "plan")  # nothing is measured
LOOSE = ("find_max",)  # the number of rows depends on the time

VARIES = re.compile(r"_(s|ms|ns|mib|bytes|utc|percent)(_at_max)?$|_per_s$|_us_per_row$|_bytes_per_session$|"
                    r"^(slowest|fastest|longest_gap)_|^(busy_retries|batches_late|run_tag|low_ns_count|"
                    r"version|append_version|server_processes|max_server_processes|server_threads|server_pid|"
                    r"cpus|sessions_alive|sessions_without_progress|sessions_reading|working_folder|"
                    r"out_folder|machine)$")
OF_THE_MACHINE = re.compile(r"^environment\.|^server\.session_limits\.\d+\.(allowed|used|note)$|"
                            r"^expectations\.\d+\.value$")
MAY_BE_UNKNOWN = re.compile("cpu_percent|cpu_s$|cpu_us_per_row$|gap|longest|rate_achieved|growth|"
                            r"^(max_)?device|^server_(read|written|write)_|^storage_|iowait|pressure|^table_mib|"
                            r"^write_amplification$|^disk_bytes|^data_directory$|^io$")
LOOSE_KEYS = re.compile(r"^(rows|counters|latencies|histograms|batches)\.|^search\.levels\.\d+\.(rows|append)|"
                        r"^search\.(max_rows|row_bytes)$")
VERBATIM_MASKS = [(re.compile(pattern, re.M), mask) for pattern, mask in (
    (r"(PostgreSQL|MariaDB|SQLite|libpq|Connector/C|unixODBC|^append) \d[\w.+~-]*", r"\1 #"),
    (r"\(Debian [^)]*\)", "(#)"),
    (r"loaded at run time: .*", "loaded at run time: #"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z?|\d{8}T\d+Z", "#"),
)]
TIME = r"(?:ns|us|ms|s|m|h|min|minutes|hours)\b"
TEXT_MASKS = VERBATIM_MASKS + [(re.compile(pattern, re.M), mask) for pattern, mask in (
    (r"^(Disk|On disk) .*\n?", ""),  # the known figures depend on the machine
    (r"^Maximum CPU .*", "Maximum CPU #"),  # a short run may have no sample
    (r"\+ 0 rejected \+ 0 in doubt \+ 0 not sent", "+ 0 rejected/in doubt/not sent"),  # the form depends on the width
    (r"\b\d[\d,]*(\.\d+)? (rows|transactions|statements)/s", r"# \2/s"),
    (r"\b\d[\d,]*(\.\d+)? /s", "# /s"),
    (r"= [\d,.]+ read \+ [\d,.]+ write \+ [\d,.]+ other", "= # read + # write + # other"),
    (r"on machine \S+ by rank \d+", "on machine # by rank #"),
    (r"\b\d[\d,]*(\.\d+)?(?:e-\d+)? " + TIME, "# time"),
    (r"\b\d[\d,]*(\.\d+)? ([KMGT]iB|bytes)\b", "# size"),
    (r"\b\d[\d,]*(\.\d+)? %", "# %"),
    (r"\(session \d+\)", "(session #)"),
    (r"fastest [\d,]+(\.\d+)?", "fastest #"),
    (r"^( \S+:PORT \d+ [\d,]+) [\d,]+(\.\d+)?", r"\1 #"),  # a host's rows/s
    (r"\bpid \d+", "pid #"),
    (r"all \d+ CPUs", "all # CPUs"),
    (r"^( ?[a-z]+)(?: # time){5} (\d+)$", r"\1 # \2"),
    (r"about \S+ left", "about # left"),
    (r"B/A is [\d.]+", "B/A is #"),
    (r"other programs of this machine used .*", "other programs #"),
    (r"; PSS was read for \d+ of \d+ processes per sample and estimated for the others", ""),  # only if reading takes long
)]


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=150,
                          stdin=subprocess.DEVNULL, **options)


class Masker:
    def __init__(self, name, replaced):
        self.is_loose = name in LOOSE
        self.is_verbatim = name in VERBATIM
        self.replaced = replaced  # (exact words, mask): this folder, the server's port

    def text(self, text):
        """Masks a text. A paragraph with a masked value becomes one line, because its layout depends on the value."""
        parts = re.findall(r".*\n?(?:(?: {10}| {14}| {33})\S.*\n?)*", text)
        return "\n".join(self.paragraph(part) for part in parts if part)

    def paragraph(self, text):
        masked = text = text.rstrip()
        if not self.is_verbatim:
            masked = re.sub(r"\s+", " ", text)
        for word, mask in self.replaced:
            masked = masked.replace(word, mask)
        for pattern, mask in VERBATIM_MASKS if self.is_verbatim else TEXT_MASKS:
            masked = pattern.sub(mask, masked)
        if self.is_loose:
            masked = re.sub(r"\b\d{1,3}(,\d{3})+\b", "#", masked)
        return text if masked == re.sub(r"\s+", " ", text) else masked

    def value(self, path, value):
        name = path.split(".")
        if value is None or value == "":
            return "~" if any(MAY_BE_UNKNOWN.search(part) for part in name) else ""
        if any(MAY_BE_UNKNOWN.search(part) for part in name):
            return "~"
        is_loose = self.is_loose and LOOSE_KEYS.search(path)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool) or \
            isinstance(value, str) and re.fullmatch(r"-?[\d.]+", value)
        if OF_THE_MACHINE.search(path) or name[0] != "plan" and any(VARIES.search(part) for part in name) or \
                name[-1] in ("run_tag", "out_folder") or is_loose and is_number and float(value) > 0:
            return "#"
        if isinstance(value, str):
            return json.dumps(self.text(value), ensure_ascii=False)
        if isinstance(value, int) and str(value) in dict(self.replaced):
            return dict(self.replaced)[str(value)]
        return json.dumps(value)

    def name(self, key):
        """Masks a key, which may be a host's name with its port."""
        for word, mask in self.replaced:
            key = key.replace(word, mask)
        return key

    def json(self, value, path=""):
        """Returns one line for each leaf. The buckets of a histogram are one leaf."""
        if value and isinstance(value, (dict, list)) and not path.endswith("low_ns_count"):
            inner = value.items() if isinstance(value, dict) else enumerate(value)
            return "\n".join(self.json(item, f"{path}.{self.name(str(key))}" if path else self.name(str(key)))
                             for key, item in inner)
        return f"{path}: {self.value(path, value)}"

    def cell(self, column, value):
        if self.is_loose and re.search("rows|appends|batches|calls", column) and value not in ("", "0"):
            return "#"
        masked = self.value(column, value)
        return json.loads(masked) if masked.startswith('"') else masked

    def csv(self, name, text):
        head, *rows = csv.reader(text.splitlines())
        if name in ("elapsed.csv", "max_cpu.csv", "max_memory.csv", "throughput.csv",
                    "append_p99.csv"):
            rows = [[row[0], *("~" for _ in row[1:])] for row in rows]
        elif name in ("intervals.csv", "samples.csv"):
            # The number of rows depends on the time, but the sums of the rows do not.
            total = [self.total(column, [row[i] for row in rows]) for i, column in enumerate(head)]
            return "\n".join(f"{column}: {value}" for column, value in zip(head, total))
        else:
            rows = [[self.cell(column, value) for column, value in zip(head, row)] for row in rows]
            if name == "ranks_samples.csv":  # the number and the order of the rows depend on the time
                rows = sorted(row for i, row in enumerate(rows) if row not in rows[:i])
            if name in ("summary.csv", "sweep.csv", "levels.csv"):
                return "\n".join(f"{column}: {' | '.join(row[i] for row in rows)}"
                                 for i, column in enumerate(head))
        return "\n".join(",".join(row) for row in [head, *rows])

    def total(self, column, values):
        masked = self.cell(column, next((value for value in values if value), ""))
        return str(sum(int(value) for value in values)) if re.fullmatch(r"\d+", masked) else masked

    def hgrm(self, text):
        head, *rows = text.splitlines()
        varying = "Mean|StdDeviation|Max|Total count" if self.is_loose else "Mean|StdDeviation|Max"
        end = [re.sub(rf"({varying}) += +[\d.]+", r"\1 = #", line) for line in rows if line.startswith("#")]
        shape = {re.sub(r"\d+", "N", re.sub(r" +", " ", line)) for line in rows if not line.startswith("#")}
        return "\n".join([head, *sorted(shape), *end])

    def metrics(self, text):
        lines = [line for line in text.splitlines() if "_bucket{" not in line]
        varying = "append_(cpu|memory|elapsed|start|busy|.*_sum)"
        return "\n".join(re.sub(r" [\d.]+$", " #", line) if re.match(varying, line)
                         else re.sub(r'(version=")[^"]*', r"\1#", line) for line in lines)

    def page(self, text):
        """Returns the page's headings and the names in its tables, without those of the disk, which may be unknown."""
        heads = [head for head in re.findall(r"<(h[1-3]|th|summary)\b[^>]*>(.*?)</\1>", text, re.S)
                 if not re.search(r"device|I/O|storage|iowait|^server (read|writ)|on the disk|waited", head[1])]
        return self.text("\n".join(f"{tag} {html.unescape(re.sub('<[^>]*>', '', inner))}"
                                   for tag, inner in heads))

    def file(self, path):
        text = path.read_bytes().decode()
        ends = " (CRLF)" if "\r\n" in text else ""
        if path.suffix == ".csv":
            masked = self.csv(path.name, text)
        elif path.suffix == ".json":
            masked = self.json(json.loads(text))
        elif path.suffix == ".hgrm":
            masked = self.hgrm(text)
        elif path.suffix == ".prom":
            masked = self.metrics(text)
        elif path.suffix == ".html":
            masked = self.page(text)
        else:
            masked = re.sub(r'time="[\d.]+"', 'time="#"', self.text(text))
        return ends, masked


def sections(name, folder, url):
    """Runs a scenario. Returns [(title, masked text)]."""
    if url:
        port, database = re.search(r":(\d+)/(\w+)$", url).groups()
        masker = Masker(name, [(str(folder), "FOLDER"), (database, "DATABASE"), (port, "PORT")])
    else:
        masker = Masker(name, [(str(folder), "FOLDER")])
    for file, text in FILES.items():
        (folder / file).write_text(text)
    env = {key: value for key, value in os.environ.items()
           if not key.startswith(("PG", "MYSQL", "MARIADB", "APPEND", "MACHBASE", "COLUMNS"))}
    made = []
    words = {"URL": url, "HOSTS": re.sub(r"@([^:]+)(:\d+)", r"@\1\2,localhost\2", url or "")}
    for command in SCENARIOS[name]:
        ended = run(*STARTERS.get(name, []), BINARY, *(words.get(word, word) for word in command), cwd=folder,
                    env=dict(env, LC_ALL="C", HOME=str(folder)))
        printed = ended.stdout
        if "--json" in command:
            printed = masker.json(json.loads(printed))
        else:
            # In the table of a sweep or a search, keeps only the first column, which is the size.
            printed = re.sub(r"^( +\d+)((?: +(?:[\d,.]+\*?|unknown\*?))+)$", r"\1 # #", printed, flags=re.M)
            if command[:1] == ["compare"]:
                # Keeps only the figures that are always present, and masks the ratio, which is measured.
                printed = re.sub(r"^CAUTION +other programs used.*\n(?: {10}\S.*\n)*", "", printed, flags=re.M)
                printed = re.sub(r"^(?!Max)\S*(cpu|iowait|pressure|gap|connect_s|batches_late|busy_retries|suspended).*\n",
                                 "", printed, flags=re.M)
                printed = re.sub(r"^(.*(?:rows/s|ms|s|%|iB) +)(?:[\d.]+|inf)$", r"\1#", printed, flags=re.M)
            printed = masker.text(printed)
        made.append((f"append {' '.join(command)}".rstrip(),
                     f"exit {ended.returncode}\n{printed}\n--- standard error\n{masker.text(ended.stderr)}"))
    for path in sorted(folder.rglob("*")):
        shown = str(path.relative_to(folder))
        is_shown = path.suffix == ".html" or name not in PRINTS_ONLY
        if not path.is_file() or not is_shown or shown in FILES or \
                re.search(r"append-runs|x\.db", shown):
            continue
        ends, masked = masker.file(path)
        # One run of a sweep is enough.
        made.append((f"file {shown}{ends}", "" if re.search("/2x|x400/", shown) else masked))
    return made


def parts_of(text):
    """Returns {title: lines} of a golden."""
    return {part.split("\n")[0]: part.rstrip("\n").split("\n")[1:] for part in text.split("=== ")[1:]}


def keyed(lines):
    return {line.partition(": ")[0]: line for line in lines}


def difference(title, text):
    """Returns the differences from PARENT's file: the whole text, or only the lines whose key or value differs."""
    file = title.rpartition("/")[2]
    golden = parts_of((HERE / f"{PARENT}.txt").read_text())
    lines = next((part for other, part in golden.items() if other.rpartition("/")[2] == file), [])
    if text.splitlines() == lines:
        return f"as that of {PARENT}"
    if not re.match(r"(run\.json|(summary|samples|intervals)\.csv)\b", file):
        return text
    parent, own = keyed(lines), keyed(text.splitlines())
    return "\n".join([line for key, line in own.items() if parent.get(key) != line] +
                     [f"{key}: (not there)" for key in parent if key not in own])


def server_of(name):
    return next((server for server in SERVERS if name.startswith(server)), None)


class Database:
    """A new database for the scenario on its server; nothing if the scenario needs no server."""

    def __init__(self, name):
        self.server = server_of(name)
        self.base = os.environ.get(f"APPEND_TEST_{self.server.upper()}") if self.server else None
        self.name = f"cli_golden_{os.getpid():08d}_{time.monotonic_ns() % 10**9:09d}"
        self.is_limited = name.endswith("_limit")

    def sql(self, *statements):
        user, host, port = re.fullmatch(r"\w+://(\w+)@([^:]+):(\d+)/\w+", self.base).groups()
        if self.server == "postgresql":
            command = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", self.base]
            for statement in statements:
                command += ["-c", statement]
        else:
            command = ["mariadb", "--no-defaults", f"--host={host}", f"--port={port}", f"--user={user}",
                       "--execute", ";".join(statements)]
        ended = run(*command)
        if ended.returncode:
            sys.exit(f"{command[0]}: {ended.stderr}")

    def __enter__(self):
        if not self.server:
            return None
        self.sql(f"create database {self.name}")
        if self.is_limited:
            self.sql(f"alter database {self.name} connection limit 5")
        return re.sub(r"/\w+$", "/" + self.name, self.base)

    def __exit__(self, *_):
        if self.server:
            self.sql(f"drop database {self.name}" + (" with (force)" if self.server == "postgresql" else ""))


def make(name):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="append-golden-"))
    try:
        with Database(name) as url:
            return "".join(f"=== {title}\n{text if name == PARENT or not text else difference(title, text)}\n\n"
                           for title, text in sections(name, folder, url))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def missing(name):
    """Returns the reason why this scenario cannot run here, or None."""
    server = server_of(name)
    if server and not os.environ.get(f"APPEND_TEST_{server.upper()}"):
        return f"APPEND_TEST_{server.upper()} names no server"
    if "mpirun" in STARTERS.get(name, []) and not (shutil.which("mpirun") and
                                                   pathlib.Path(BINARY).with_name("append-mpi.so").exists()):
        return "no mpirun, or append-mpi.so is not built"
    absent = [adapter for adapter in ADAPTERS.get(name, [server] if server else []) if not BUILT[adapter]]
    return f"built without {', '.join(absent)}" if absent else None


def compare(name):
    """Returns (diff, the new golden). The diff is None if the golden is right, else at most DIFF_LINES lines a file."""
    golden = HERE / f"{name}.txt"
    expected = golden.read_text() if golden.exists() else ""
    made = None
    for _ in range(TRIES):
        before, made = made, make(name)
        if made == expected:
            return None, made
        if made == before:
            break
    lines = []
    was, now = parts_of(expected), parts_of(made)
    for title in dict.fromkeys([*was, *now]):
        diff = list(difflib.unified_diff(was.get(title, []), now.get(title, []), f"golden: {name}, {title}",
                                         "this program", lineterm="", n=2))
        lines += diff[:DIFF_LINES]
        if len(diff) > DIFF_LINES:
            lines.append(f"… {len(diff) - DIFF_LINES} more lines")
    return "\n".join(lines), made


def main(words):
    is_accepted = "--accept" in words
    asked = [word for word in words if not word.startswith("-")]
    names = [name for name in SCENARIOS if not asked or {name, server_of(name) or "serverless"} & set(asked)]
    if not names:
        sys.exit(f"no scenario is called {' or '.join(asked)}: there are {', '.join(SCENARIOS)}")
    status = 0
    for name in names:
        if reason := missing(name):
            print(f"{name}: left out, {reason}")
            continue
        diff, made = compare(name)
        if diff and is_accepted:
            (HERE / f"{name}.txt").write_text(made)
            print(f"{name}: accepted")
        elif diff:
            print(diff)
            status = 1
    if status:
        print("If these changes are intended, accept them with: APPEND_BINARY=BUILD/append tests/golden/make.py --accept")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
