"""Applies the mutations of tests/mutations/*.txt one at a time: see scripts/mutate.sh.

A mutation is a block of lines `field: text`. A blank line ends the block; a line that begins with # is
a comment. All fields are required, in this order:

    name   lower-case words with dashes
    claim  the page and its promise, in one sentence: "docs/results.md: means are exact"
    file   the source file
    old    text that occurs in the file exactly once, within one line
    new    the replacement
    test   the ctest test that must fail, and its cmocka or Python case: "unit.bound test_words",
           "cli.null Pace.test_rate"
"""

import contextlib
import io
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIELDS = ("name", "claim", "file", "old", "new", "test")
SKIPPED = 77
RANDOM_ROOMS = ("measure", "figures", "script", "limits", "load")
RANDOM_RULES = ["universal.rules", "c_like.rules", "c.rules"]
# The tests that a random mutation of a file may make fail, besides unit.FILE. These tests need no server, and run most
# of the file's lines in the shortest time, as measured with gcov. Quick tests are first. After RANDOM_LIMIT_S no
# further test begins.
RANDOM_LIMIT_S = 90
SANITIZED_LIMIT_S = 300 # the same for the build with AddressSanitizer
RANDOM_TESTS = {
    "figures/bound": "unit.expectations unit.conditions unit.script cli.workload_metrics cli.expect",
    "figures/csv_table": "unit.saved unit.saved_sweep unit.sweep cli.compare",
    "figures/figures": "unit.expectations unit.text unit.bound cli.workload_metrics cli.goldens cli.expect",
    "figures/saved": "unit.saved_sweep unit.sweep cli.options cli.surface cli.compare cli.live cli.goldens",
    "figures/statistics": "unit.waits unit.saved_sweep cli.compare",
    "limits/container": "cli.check",
    "limits/evidence": "cli.limits cli.check cli.http_hosts cli.hosts cli.disk",
    "limits/limits": "unit.cgroup cli.limits cli.check cli.http_hosts cli.hosts cli.goldens",
    "load/account": "unit.fleet unit.transactions unit.shapes cli.surface cli.goldens cli.sqlite_verify_rows "
                    "cli.workloads unit.search",
    "load/append": "unit.shapes unit.fleet unit.transactions unit.datasets cli.sqlite cli.prepare cli.workloads cli.goldens",
    "load/arrivals": "cli.stages",
    "load/calls": "unit.transactions unit.shapes unit.fleet cli.surface cli.check cli.workloads unit.search",
    "load/control": "cli.control cli.limits",
    "load/create_table": "unit.datasets cli.tpcb cli.workload_values cli.dry_run cli.prepare cli.options cli.workloads",
    "load/datasets": "cli.tpcb cli.workload_values cli.dry_run cli.options cli.prepare cli.invariants cli.goldens "
                     "cli.workloads cli.help",
    "load/dry_run": "cli.dry_run cli.workload_metrics cli.help",
    "load/epoch": "unit.shapes unit.fleet cli.control",
    "load/fleet": "unit.shapes unit.fleet cli.goldens cli.shapes cli.limits cli.groups cli.workloads",
    "load/fleet_state": "unit.shapes cli.limits cli.goldens cli.surface unit.search",
    "load/gate": "unit.shapes unit.fleet cli.limits cli.shapes cli.surface cli.goldens cli.control cli.interrupt",
    "load/generator": "unit.shapes cli.sqlite cli.limits cli.surface cli.goldens cli.null",
    "load/line": "unit.shapes unit.fleet cli.invariants cli.workload_faults unit.search",
    "load/loader": "unit.datasets cli.workload_values cli.tpcb cli.tpcc cli.dry_run cli.prepare cli.goldens cli.options "
                   "cli.workload_faults cli.help",
    "load/schedule": "unit.shapes unit.fleet cli.shapes cli.groups cli.control cli.stages cli.goldens",
    "load/search": "cli.workload_metrics cli.limits cli.surface unit.search",
    "load/server": "unit.setup cli.limits cli.io_trace cli.hosts cli.goldens",
    "load/session": "unit.shapes unit.fleet unit.transactions cli.shapes cli.groups cli.stages cli.transaction_log "
                    "cli.http_hosts cli.surface cli.goldens cli.expect cli.control cli.workload_stuck",
    "load/setup": "cli.workload_values cli.check cli.tpcb cli.options cli.http_hosts cli.goldens cli.prepare "
                  "cli.sqlite cli.hosts cli.sqlite_waits cli.sqlite_verify_rows",
    "load/setup_describe": "unit.setup cli.goldens cli.prepare cli.options cli.sqlite cli.check",
    "load/storage": "unit.setup cli.check cli.http_hosts cli.hosts cli.goldens",
    "load/table_mark": "unit.datasets unit.setup cli.dry_run cli.check cli.tpcb cli.hosts cli.workloads cli.prepare",
    "load/table_load": "unit.datasets cli.workload_values cli.tpcb cli.options cli.dry_run cli.prepare cli.goldens",
    "load/task": "unit.setup cli.check cli.dry_run cli.invariants cli.http_hosts cli.http_faults cli.hosts "
                 "cli.interrupt cli.sqlite",
    "load/transactions": "cli.workload_values cli.workload_metrics cli.workload_docs cli.transaction_log "
                         "cli.workload_faults cli.workloads cli.goldens cli.workload_stuck",
    "load/verify": "unit.setup cli.tpcb cli.workload_values cli.invariants cli.check cli.sqlite_verify_rows cli.surface "
                   "cli.hosts cli.goldens",
    "load/wait_watch": "cli.sqlite_waits cli.check",
    "measure/histogram": "unit.histogram unit.recorder unit.merge unit.fleet cli.options cli.goldens",
    "measure/io": "cli.check cli.limits cli.disk cli.hosts unit.sampler",
    "measure/ledger": "unit.verdict unit.shapes unit.fleet cli.sqlite_verify_rows cli.surface cli.groups cli.goldens",
    "measure/levels": "unit.search cli.surface cli.limits cli.workload_metrics cli.find_max",
    "measure/limit": "unit.limits cli.check cli.limits",
    "measure/metric": "unit.expectations cli.workload_metrics cli.goldens",
    "measure/process_table": "unit.process_tree unit.server_process unit.server_memory",
    "measure/procfs": "unit.limits unit.io unit.cgroup unit.server_process cli.check cli.limits cli.disk cli.hosts",
    "measure/recorder": "unit.histogram unit.shapes unit.fleet cli.options cli.stages cli.goldens cli.http_hosts cli.sqlite_waits",
    "measure/result": "unit.verdict unit.events unit.expectations unit.merge cli.events cli.exit_reason cli.goldens "
                      "cli.stages cli.workload_reports",
    "measure/sampler": "unit.sampler_turns cli.null cli.stages cli.limits cli.options cli.http_hosts cli.goldens",
    "measure/server_find": "unit.server_process unit.limits cli.check cli.hosts cli.http_hosts",
    "measure/server_process": "unit.server_memory unit.process_tree unit.sampler unit.limits cli.http_hosts cli.hosts",
    "measure/transaction_log": "cli.surface cli.transaction_log",
    "measure/verdict": "unit.fleet cli.limits cli.goldens cli.invariants",
    "measure/waits": "cli.sqlite_waits",
    "script/declare": "unit.script unit.plan unit.text unit.datasets cli.tpcb cli.workload_metrics cli.help",
    "script/draw": "unit.script unit.plan cli.workloads cli.workload_reports",
    "script/rows": "unit.script unit.transactions cli.dry_run cli.workload_metrics cli.invariants cli.workloads",
    "script/run": "unit.script unit.transactions cli.dry_run cli.workload_values cli.workload_docs cli.workloads",
    "script/sandbox": "unit.script unit.plan cli.dry_run cli.tpcb cli.workload_faults cli.workload_endless",
    "script/scalar": "unit.script unit.plan cli.workload_values cli.workloads",
    "script/script": "unit.script unit.plan unit.text unit.files cli.workload_metrics cli.workload_faults cli.goldens "
                     "cli.workload_endless",
    "script/state": "unit.script unit.plan unit.datasets cli.dry_run cli.workload_values cli.workload_faults cli.prepare "
                    "cli.workload_endless",
    "script/values": "unit.script unit.plan cli.dry_run cli.tpcb cli.workload_values",
}
# The tests that are tried after RANDOM_TESTS, if APPEND_TEST_POSTGRESQL and APPEND_TEST_MARIADB name servers (harness.py).
RANDOM_SERVER_TESTS = {
    "limits/evidence": "cli.postgresql_limits",
    "limits/limits": "cli.postgresql_limits",
    "load/calls": "cli.postgresql_restarts",
    "load/create_table": "cli.postgresql_prepare cli.mariadb_prepare",
    "load/datasets": "cli.postgresql_prepare cli.mariadb_prepare",
    "load/dry_run": "cli.postgresql_dry_run cli.mariadb_dry_run",
    "load/fleet": "cli.ranks",
    "load/fleet_state": "cli.find_max cli.ranks",
    "load/line": "cli.postgresql_restarts",
    "load/loader": "cli.postgresql_prepare",
    "load/search": "cli.find_max cli.postgresql_find_max cli.ranks",
    "load/server": "cli.postgresql_io cli.mariadb_io",
    "load/session": "cli.postgresql_restarts",
    "load/setup": "cli.postgresql cli.mariadb cli.postgresql_prepare",
    "load/table_mark": "cli.postgresql_prepare cli.mariadb_prepare",
    "load/table_load": "cli.postgresql_prepare",
    "load/task": "cli.postgresql_restarts",
    "load/transactions": "cli.postgresql_workload_faults cli.mariadb_workload_faults",
    "load/verify": "cli.postgresql_verify_rows cli.ranks_faults",
    "load/wait_watch": "cli.postgresql_waits cli.mariadb_waits",
    "measure/io": "cli.postgresql_io cli.mariadb_io",
    "measure/levels": "cli.find_max cli.ranks",
    "measure/verdict": "cli.postgresql_find_max",
    "measure/waits": "cli.postgresql_waits cli.mariadb_waits",
}
SURVIVORS_MAX_PERCENT = 5
NOT_COPIED = re.compile(r"\.git|build.*|append-runs.*|__pycache__")


class Wrong(Exception):
    """A mistake in the list or in the command line."""


class Mutation:
    def __init__(self, fields, place):
        self.place = place
        if tuple(name for name, _ in fields) != FIELDS:
            raise Wrong(f"{place}: a mutation has the fields {', '.join(FIELDS)}, in this order")
        for name, text in fields:
            setattr(self, name, text)
        self.suite, _, self.case = self.test.partition(" ")
        if self.old == self.new:
            raise Wrong(f"{place}: {self.name}: old and new are the same")
        page = self.claim.partition(":")[0]
        if not re.fullmatch(r"README\.md|docs/([a-z]+/)?([a-z-]+|README)\.md", page) or not (ROOT / page).is_file():
            raise Wrong(f"{place}: {self.name}: the claim does not name an existing page of docs")

    def count_old(self):
        path = ROOT / self.file
        return path.read_text().count(self.old) if path.is_file() else 0


def read_mutations():
    mutations, names = [], set()
    for path in sorted((ROOT / "tests" / "mutations").glob("*.txt")):
        fields = []
        for number, line in enumerate([*path.read_text().split("\n"), ""], 1):
            if line.startswith("#"):
                continue
            if line == "":
                if fields:
                    mutations.append(Mutation(fields, f"{path.name}:{number}"))
                fields = []
                continue
            name, colon, text = line.partition(": ")
            if not colon:
                raise Wrong(f"{path.name}:{number}: not a field: {line}")
            fields.append((name, text))
    for mutation in mutations:
        if mutation.name in names:
            raise Wrong(f"{mutation.place}: the name {mutation.name} is used twice")
        names.add(mutation.name)
    return mutations


def choose(mutations, words):
    if words[:1] == ["part"]:
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", " ".join(words[1:]))
        part, parts = map(int, match.groups()) if match else (0, 0)
        if not 1 <= part <= parts:
            raise Wrong("part: give K/N, with K from 1 to N")
        return mutations[part - 1::parts]
    if not words or "all" in words:
        return mutations
    by_name = {mutation.name: mutation for mutation in mutations}
    for word in words:
        if word not in by_name:
            raise Wrong(f"unknown mutation {word}: see scripts/mutate.sh list")
    return [by_name[word] for word in dict.fromkeys(words)]


def run(command, limit_s, **options):
    """Runs a command in a new process group. Returns (exit code or None after limit_s, output)."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                   start_new_session=True, **options)
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        output.seek(0)
        return code, output.read().decode(errors="replace")


def copy_tree(source, target):
    """Mirrors the files of source to target. Equal files are not touched, so only changed files are
    built again."""
    there = set()
    for folder, folders, files in os.walk(source):
        folders[:] = [name for name in folders if not NOT_COPIED.fullmatch(name)]
        inner = pathlib.Path(folder).relative_to(source)
        (target / inner).mkdir(parents=True, exist_ok=True)
        for name in files:
            from_path, to_path = pathlib.Path(folder) / name, target / inner / name
            there.add(to_path)
            if from_path.name == ".git" or not from_path.is_file():
                continue
            if not to_path.is_file() or to_path.read_bytes() != from_path.read_bytes():
                shutil.copy(from_path, to_path)
    for folder, folders, files in os.walk(target):
        folders[:] = [name for name in folders if not NOT_COPIED.fullmatch(name)]
        for path in (pathlib.Path(folder) / name for name in files):
            if path not in there:
                path.unlink()


class Workshop:
    """The copy of the tree, one of its build folders and its tests."""

    def __init__(self, folder, build="build", options=()):
        self.tree = folder / "tree"
        self.build = folder / build
        self.options = options
        self.temp = folder / "temp"
        self.one_case = folder / "one_case.so"
        self.temp.mkdir(parents=True, exist_ok=True)
        self.tests = {}
        self.durations = {}

    def configure(self):
        copy_tree(ROOT, self.tree)
        code, output = run(["cmake", "-S", str(self.tree), "-B", str(self.build), "-G", "Ninja", "-D", "APPEND_TESTS=ON",
                            "-D", "APPEND_WERROR=OFF", "-D", "CMAKE_BUILD_TYPE=Debug", "-D", "CMAKE_C_FLAGS_DEBUG=-O0",
                            "-D", "CMAKE_C_COMPILER_LAUNCHER=", *self.options], 600)
        if code != 0:
            raise Wrong(f"cannot configure the copy:\n{output}")
        code, output = run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", str(self.one_case),
                            str(self.tree / "tests" / "mutations" / "one_case.c")], 600)
        if code != 0:
            raise Wrong(f"cannot compile one_case.c:\n{output}")

    def read_tests(self):
        """Reads the tests' commands, which ctest knows only after their programs were built."""
        _, output = run(["ctest", "--test-dir", str(self.build), "--show-only=json-v1"], 600)
        self.tests = {test["name"]: test for test in json.loads(output)["tests"] if "command" in test}

    def target_of(self, suite):
        """Returns the build target of a test."""
        kind, _, name = suite.partition(".")
        return {"unit": f"test_{name}", "contract": "contract_tests", "cli": "append"}.get(kind, "all")

    def make(self, targets, jobs=1):
        """Builds the targets. Returns "" or, after an error, the compiler's output."""
        code, output = run(["nice", "-n", "10", "ninja", "-C", str(self.build), f"-j{jobs}", *sorted(targets)], 3600)
        return "" if code == 0 else output or "no output"

    def command_of(self, suite, case):
        """Returns a test's command and environment for a single case."""
        properties = {entry["name"]: entry["value"] for entry in self.tests[suite].get("properties", [])}
        has_server = any(suite in tests.split() for tests in RANDOM_SERVER_TESTS.values())
        env = {name: value for name, value in os.environ.items()
               if has_server or not name.startswith("APPEND_TEST_")}
        env.update(entry.split("=", 1) for entry in properties.get("ENVIRONMENT", []))
        env.update(TMPDIR=str(self.temp), PYTHONDONTWRITEBYTECODE="1")
        command = list(self.tests[suite]["command"])
        if suite.startswith("cli.") and case:
            command.append(case)
        elif case:
            env.update(LD_PRELOAD=str(self.one_case), MUTATE_CASE=case)
        return command, {"env": env, "cwd": properties.get("WORKING_DIRECTORY", str(self.build))}

    def try_test(self, suite, case, limit_s):
        """Runs a test. Returns (the names of the cases that failed, output)."""
        command, options = self.command_of(suite, case)
        begin = time.monotonic()
        code, output = run(command, limit_s, **options)
        self.durations.setdefault((suite, case), time.monotonic() - begin)
        for left in self.temp.iterdir():
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink()
        if code == 0:
            return [], output
        if code == SKIPPED:
            raise Wrong(f"{suite} was skipped:\n{output[-2000:]}")
        failed = re.findall(r"^\[  FAILED  \] (\w+)$", output, re.M)
        failed += re.findall(r"^(?:FAIL|ERROR): (\w+)", output, re.M)
        begun = re.findall(r"^\[ RUN      \] (\w+)$", output, re.M)
        ended = set(re.findall(r"^\[ +(?:OK|FAILED|SKIPPED) +\] (\w+)$", output, re.M))
        failed += [name for name in begun[-1:] if name not in ended]
        if code is None:
            failed.append("the time limit")
        return list(dict.fromkeys(failed)) or [f"exit code {code}"], output

    def prove_baseline(self, suite, case):
        if (suite, case) in self.durations:
            return
        if suite not in self.tests:
            raise Wrong(f"there is no test {suite} in this build")
        failed, output = self.try_test(suite, case, 600)
        if failed:
            raise Wrong(f"{suite} {case} fails without a mutation ({', '.join(failed)}):\n{output[-3000:]}")
        ran = f"[ RUN      ] {case}\n" in output or suite.startswith("cli.")
        if case and not ran:
            raise Wrong(f"{suite} has no case {case}")

    def judge(self, mutation):
        """Applies a mutation, builds, tests, and restores the file. Returns (result, details)."""
        if mutation.count_old() != 1:
            return "old text not found" if mutation.count_old() == 0 else "old text found more than once", mutation.place
        path = self.tree / mutation.file
        original = path.read_text()
        path.write_text(original.replace(mutation.old, mutation.new))
        try:
            errors = self.make([self.target_of(mutation.suite)])
            if errors:
                lines = [line for line in errors.splitlines() if "error" in line] or errors.splitlines()[-1:]
                return "does not build", lines[0]
            limit_s = 20 + 5 * self.durations[mutation.suite, mutation.case]
            failed, _ = self.try_test(mutation.suite, mutation.case, limit_s)
        finally:
            path.write_text(original)
        if not failed:
            return "SURVIVED", mutation.test
        case = mutation.case.rpartition(".")[2]
        if case and case not in failed and "the time limit" not in failed and not failed[0].startswith("exit code"):
            return "SURVIVED", f"{mutation.test}; what failed is {', '.join(failed)}"
        return "caught", f"{mutation.suite} {', '.join(failed)}"


def prove(mutations, folder):
    """Tries all mutations. Returns the number of those that were not caught."""
    shop = Workshop(folder)
    shop.configure()
    begin = time.monotonic()
    tests = dict.fromkeys((mutation.suite, mutation.case) for mutation in mutations)
    # The module for several ranks and the tests' programs are separate targets.
    targets = {shop.target_of(suite) for suite, _ in tests}
    errors = shop.make(targets, jobs=os.cpu_count())
    if errors:
        raise Wrong(f"the copy does not build:\n{errors[-3000:]}")
    shop.read_tests()
    print(f"mutate.sh: built in {time.monotonic() - begin:.0f} s; {len(mutations)} mutations, {len(tests)} tests",
          flush=True)
    broken = {}
    for suite, case in tests:
        try:
            shop.prove_baseline(suite, case)
        except Wrong as wrong:
            broken[suite, case] = str(wrong)
            print(f"mutate.sh: {wrong}", file=sys.stderr, flush=True)
    counts = {}
    # The mutations of one file follow each other: the restored file is built together with the next mutation.
    for mutation in sorted(mutations, key=lambda one: one.file):
        begin = time.monotonic()
        if (mutation.suite, mutation.case) in broken:
            result, details = "test fails without it", mutation.test
        else:
            result, details = shop.judge(mutation)
        counts[result] = counts.get(result, 0) + 1
        print(f"{result:12} {mutation.name} ({mutation.file}, {time.monotonic() - begin:.0f} s): {details}", flush=True)
        if result == "SURVIVED":
            print(f"             breaks {mutation.claim}\n             old: {mutation.old}\n"
                  f"             new: {mutation.new}", flush=True)
    shop.make(targets)
    print("mutate.sh: " + ", ".join(f"{count} {result}" for result, count in sorted(counts.items())), flush=True)
    return len(mutations) - counts.get("caught", 0)


def enlarges_buffer(old, new):
    """Returns whether a mutation only makes a declared array larger by 1, which no test can see."""
    is_declaration = re.match(r"\s*(?!(?:return|else)\b)(?:\w+\s+)+\*?\w+\[\w+\](?: = [^;]*)?;", old)
    return is_declaration is not None and re.sub(r"\[\((\w+)\+1\)\]", r"[\1]", new, count=1) == old != new


def draw_mutants(count, seed):
    """Draws mutations of any lines. Returns (file, number of the line, the line as mutated) for each."""
    try:
        from universalmutator import mutator
    except ImportError:
        raise Wrong("random: universalmutator is missing: pip install universalmutator")
    found = []
    for room in RANDOM_ROOMS:
        for path in sorted((ROOT / "src" / room).glob("*.c")):
            # To universalmutator {- begins a comment.
            lines = path.read_text().replace("{-", "{ -").splitlines(keepends=True)
            with contextlib.redirect_stdout(io.StringIO()):
                mutants = mutator.mutants_regexp(lines, ruleFiles=RANDOM_RULES, ignorePatterns=[],
                                                   ignoreStringOnly=True)
            name = str(path.relative_to(ROOT))
            found += [(name, number, line) for number, line, *_ in mutants
                      if line.strip() != lines[number - 1].strip() and not enlarges_buffer(lines[number - 1], line)]
    return sorted(random.Random(seed).sample(found, min(count, len(found))))


def object_code(shop, file, level):
    """Compiles a source file with the option `level`. Returns the object's bytes, or None after an error or a warning.

    Equal objects show that a mutation has no effect (trivial compiler equivalence, Papadakis et al. 2015)."""
    _, output = run(["ninja", "-C", str(shop.build), "-t", "commands", "-s", f"CMakeFiles/append_core.dir/{file}.o"], 60)
    words = shlex.split(output.splitlines()[-1])
    result = shop.temp / "optimised.o"
    words[words.index("-o") + 1], words[words.index("-MF") + 1] = str(result), f"{result}.d"
    code, _ = run(["nice", "-n", "10", *words, level, "-Werror"], 600, cwd=shop.build)
    return result.read_bytes() if code == 0 else None


def tests_of(shop, file):
    """Returns groups of tests, likely ones first."""
    key = file.removeprefix("src/").removesuffix(".c")
    named = [f"unit.{pathlib.Path(file).stem}", *RANDOM_TESTS[key].split()]
    units = [name for name in dict.fromkeys(named) if name.startswith("unit.") and name in shop.tests]
    program = [name for name in named if name.startswith("cli.")]
    groups = [[name for name in units if name != "unit.search"], *(program[i:i + 2] for i in range(0, len(program), 2)),
              [name for name in units if name == "unit.search"]]
    return [group for group in groups if group]


def server_tests_of(file):
    """Returns groups of tests that need the servers of the environment; none without servers."""
    key = file.removeprefix("src/").removesuffix(".c")
    has_servers = "APPEND_TEST_POSTGRESQL" in os.environ and "APPEND_TEST_MARIADB" in os.environ
    return [[name] for name in RANDOM_SERVER_TESTS.get(key, "").split() if has_servers]


def find_failing(shop, groups, limit_s, env):
    """Runs groups of tests until one fails; no further group begins after limit_s. Returns (result, details)."""
    end = time.monotonic() + limit_s
    for tests in groups:
        if time.monotonic() > end:
            break
        if shop.make({shop.target_of(name) for name in tests}, jobs=os.cpu_count()):
            return "does not build", ""
        pattern = "|".join(re.escape(name) for name in tests)
        code, output = run(["ctest", "--test-dir", str(shop.build), "-R", f"^({pattern})$", "-j", str(os.cpu_count()),
                            "--stop-on-failure", "--timeout", "150"], 900,
                           env={**env, "TMPDIR": str(shop.temp), "PYTHONDONTWRITEBYTECODE": "1"})
        for left in shop.temp.iterdir():
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink()
        if code != 0:
            failed = re.findall(r"([a-z]+\.[\w.]+) \.*\*\*\*(?!Skipped)", output)
            return "caught", " ".join(failed) or "the time limit"
    return "SURVIVED", ""


def judge_mutant(shop, sanitized, file, number, line):
    """Applies a mutation, builds, runs tests until one fails, and restores the file. Returns (result, details)."""
    path = shop.tree / file
    original = path.read_text()
    lines = original.splitlines(keepends=True)
    unchanged = object_code(shop, file, "-O2")
    if unchanged is None:
        raise Wrong(f"{file} does not build without a mutation")
    alone = {name: value for name, value in os.environ.items() if not name.startswith("APPEND_TEST_")}
    try:
        path.write_text("".join([*lines[:number - 1], line, *lines[number:]]))
        code = object_code(shop, file, "-O2")
        if code in (None, unchanged):
            return "does not build" if code is None else "same code", ""
        result = find_failing(shop, tests_of(shop, file), RANDOM_LIMIT_S, alone)
        if result[0] == "SURVIVED":
            result = find_failing(shop, [*server_tests_of(file), ["cli.allocator"]], 900, os.environ)
        if result[0] == "SURVIVED":
            result = find_failing(sanitized, tests_of(shop, file), SANITIZED_LIMIT_S, alone)
        return result
    finally:
        path.write_text(original)


def prove_mutants(mutants, folder):
    """Tries all; returns 1 when more than SURVIVORS_MAX_PERCENT of those that could be caught survived."""
    shop = Workshop(folder)
    sanitized = Workshop(folder, "build-address", ["-D", "APPEND_SANITIZE=address,undefined"])
    for build in (shop, sanitized):
        build.configure()
        errors = build.make(["all"], jobs=os.cpu_count())
        if errors:
            raise Wrong(f"the copy does not build:\n{errors[-3000:]}")
    shop.read_tests()
    counts = {"caught": 0, "SURVIVED": 0}
    killers = set()
    for file, number, line in mutants:
        begin = time.monotonic()
        result, details = judge_mutant(shop, sanitized, file, number, line)
        counts[result] = counts.get(result, 0) + 1
        killers.update(name for name in details.split() if name in shop.tests)
        print(f"{result:14} {file}:{number} ({time.monotonic() - begin:.0f} s): {details}", flush=True)
        if result == "SURVIVED":
            old = (ROOT / file).read_text().splitlines()[number - 1]
            print(f"               old: {old.strip()}\n               new: {line.strip()}", flush=True)
    errors = shop.make(["all"], jobs=os.cpu_count())
    if errors:
        raise Wrong(f"the restored copy does not build:\n{errors[-3000:]}")
    for suite in sorted(killers):
        shop.prove_baseline(suite, "")
    print("mutate.sh: " + ", ".join(f"{n} {result}" for result, n in sorted(counts.items())) +
          "; \"same code\" (equal objects with -O2) and \"does not build\" are not counted", flush=True)
    judged = counts["caught"] + counts["SURVIVED"]
    return 1 if judged == 0 or 100 * counts["SURVIVED"] > SURVIVORS_MAX_PERCENT * judged else 0


def list_mutations(mutations):
    wrong = 0
    for mutation in mutations:
        print(f"{mutation.name} ({mutation.file}; {mutation.test}): {mutation.claim}")
        if mutation.count_old() != 1:
            wrong += 1
            print(f"mutate.sh: {mutation.place}: {mutation.name}: the old text is {mutation.count_old()} times in "
                  f"{mutation.file}, not once: {mutation.old}", file=sys.stderr)
    sources = {f"{room}/{path.stem}" for room in RANDOM_ROOMS for path in (ROOT / "src" / room).glob("*.c")}
    for name in sorted(sources ^ RANDOM_TESTS.keys()):
        wrong += 1
        print(f"mutate.sh: RANDOM_TESTS {'does not have' if name in sources else 'has a file that is gone:'} {name}",
              file=sys.stderr)
    print(f"mutate.sh: {len(mutations)} mutations of {len({m.file for m in mutations})} files, "
          f"{len({m.suite for m in mutations})} tests")
    return wrong


def main(words):
    def stop(number, _):
        # A second signal must not end the clean-up.
        for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(name, signal.SIG_IGN)
        raise SystemExit(128 + number)

    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, stop)
    try:
        mutations = read_mutations()
        if words == ["list"]:
            return 1 if list_mutations(mutations) else 0
        if words[:1] == ["random"]:
            if len(words) not in (2, 3) or not all(re.fullmatch("[0-9]{1,9}", word) for word in words[1:]) or int(words[1]) < 1:
                raise Wrong("random: give the number of mutations, and a seed or none")
            seed = int(words[2]) if len(words) == 3 else random.SystemRandom().randrange(1 << 29)
            mutants = draw_mutants(int(words[1]), seed)
            print(f"mutate.sh: seed {seed}", flush=True)

            def work(folder):
                return prove_mutants(mutants, folder)
        else:
            chosen = choose(mutations, words)

            def work(folder):
                return 1 if prove(chosen, folder) else 0
        if "WORK" in os.environ:
            return work(pathlib.Path(os.environ["WORK"]).resolve())
        with tempfile.TemporaryDirectory(prefix="append-mutate-", ignore_cleanup_errors=True) as folder:
            os.chmod(folder, 0o755)  # tests that drop root privileges read the program there
            return work(pathlib.Path(folder))
    except Wrong as wrong:
        print(f"mutate.sh: {wrong}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
