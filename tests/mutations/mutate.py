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
# Tests of the program that need no server, and are quick to fail.
RANDOM_CLI = ("null", "sqlite", "usage", "workloads", "workload_values", "check", "expect", "sqlite_verify_rows",
              "find_max", "hosts", "prepare")
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
    """The copy of the tree, its build folder and its tests."""

    def __init__(self, folder):
        self.tree = folder / "tree"
        self.build = folder / "build"
        self.temp = folder / "temp"
        self.one_case = folder / "one_case.so"
        self.temp.mkdir(parents=True, exist_ok=True)
        self.tests = {}
        self.durations = {}

    def configure(self):
        copy_tree(ROOT, self.tree)
        code, output = run(["cmake", "-S", str(self.tree), "-B", str(self.build), "-G", "Ninja", "-D", "APPEND_TESTS=ON",
                            "-D", "APPEND_WERROR=OFF", "-D", "CMAKE_BUILD_TYPE=Debug", "-D", "CMAKE_C_FLAGS_DEBUG=-O0",
                            "-D", "CMAKE_C_COMPILER_LAUNCHER="], 600)
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
        env = {name: value for name, value in os.environ.items() if not name.startswith("APPEND_TEST_")}
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
    # The mutations of one file follow each other: the restored file is built together with the next one.
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


def draw_mutants(count, seed):
    """Draws mutations of any lines. Returns (file, number of the line, the line as mutated) for each."""
    try:
        from universalmutator import mutator
    except ImportError:
        raise Wrong("random: universalmutator is missing: pip install universalmutator")
    found = []
    for room in RANDOM_ROOMS:
        for path in sorted((ROOT / "src" / room).glob("*.c")):
            lines = path.read_text().splitlines(keepends=True)
            with contextlib.redirect_stdout(io.StringIO()):
                mutants = mutator.mutants_regexp(lines, ruleFiles=RANDOM_RULES, ignorePatterns=[],
                                                   ignoreStringOnly=True)
            name = str(path.relative_to(ROOT))
            found += [(name, mutant[0], mutant[1]) for mutant in mutants if mutant[1] != lines[mutant[0] - 1]]
    return sorted(random.Random(seed).sample(found, min(count, len(found))))


def judge_mutant(shop, file, number, line):
    """Applies a mutation, builds, runs tests until one fails, and restores the file. Returns (result, details)."""
    path, target = shop.tree / file, f"CMakeFiles/append_core.dir/{file}.o"
    original = path.read_text()
    lines = original.splitlines(keepends=True)
    if shop.make([target]):
        raise Wrong(f"{file} does not build without a mutation")
    unchanged = (shop.build / target).read_bytes()
    env = {name: value for name, value in os.environ.items() if not name.startswith("APPEND_TEST_")}
    env.update(TMPDIR=str(shop.temp), PYTHONDONTWRITEBYTECODE="1")
    try:
        path.write_text("".join([*lines[:number - 1], line, *lines[number:]]))
        if shop.make([target]):
            return "does not build", ""
        if (shop.build / target).read_bytes() == unchanged:
            return "same code", ""
        if shop.make(["all"], jobs=os.cpu_count()):
            return "does not build", ""
        for tests in (r"^unit\.|^contract\.(null|sqlite)", *(rf"^cli\.{name}$" for name in RANDOM_CLI)):
            code, output = run(["ctest", "--test-dir", str(shop.build), "-R", tests, "-j", str(os.cpu_count()),
                                "--stop-on-failure", "--timeout", "300"], 900, env=env)
            for left in shop.temp.iterdir():
                shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink()
            if code != 0:
                failed = re.findall(r"([a-z]+\.[\w.]+) \.*\*\*\*(?!Skipped)", output)
                return "caught", " ".join(failed) or "the time limit"
    finally:
        path.write_text(original)
    return "SURVIVED", ""


def prove_mutants(mutants, folder):
    """Tries all; returns 1 when more than SURVIVORS_MAX_PERCENT of those that could be caught survived."""
    shop = Workshop(folder)
    shop.configure()
    errors = shop.make(["all"], jobs=os.cpu_count())
    if errors:
        raise Wrong(f"the copy does not build:\n{errors[-3000:]}")
    counts = {"caught": 0, "SURVIVED": 0}
    for file, number, line in mutants:
        begin = time.monotonic()
        result, details = judge_mutant(shop, file, number, line)
        counts[result] = counts.get(result, 0) + 1
        print(f"{result:14} {file}:{number} ({time.monotonic() - begin:.0f} s): {details}", flush=True)
        if result == "SURVIVED":
            old = (ROOT / file).read_text().splitlines()[number - 1]
            print(f"               old: {old.strip()}\n               new: {line.strip()}", flush=True)
    print("mutate.sh: " + ", ".join(f"{n} {result}" for result, n in sorted(counts.items())), flush=True)
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
