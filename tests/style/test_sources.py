"""The project's sources follow the rules, every header compiles alone, and no source is forgotten."""

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import unittest

import rules
import words

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ.get("APPEND_BUILD")
# Lower this bound, never raise it: the content of a header with a single user belongs in the user's file.
SINGLE_USER_HEADERS_MAX = 11
TEXTS = (".c", ".h", ".py", ".md", ".sh", ".lua", ".in", ".txt", ".cmake", ".js", ".css", ".yml", "/run")
RULES_OF_WORDS = ("tests/style/words.py", "tests/style/test_rules.py")


def tracked_files():
    """Returns the files of the repository, including files that are not added yet."""
    if (ROOT / ".git").exists():
        # safe.directory: the user of the tests may not own the clone.
        command = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "ls-files",
                   "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return sorted(name for name in names.splitlines() if (ROOT / name).is_file())
    return sorted(
        str(path.relative_to(ROOT)) for path in ROOT.rglob("*")
        if path.is_file() and not path.relative_to(ROOT).parts[0].startswith("build")
    )


def read(name):
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


def c_sources():
    return [(name, read(name)) for name in tracked_files() if name.endswith((".c", ".h"))]


class Sources(unittest.TestCase):
    def report(self, findings):
        self.assertEqual(findings, [], "\n" + "\n".join(findings))

    def test_there_are_sources(self):
        self.assertGreater(len(c_sources()), 40)

    def test_rules(self):
        self.report([
            finding for path, text in c_sources() for rule in rules.RULES_FOR_C
            for finding in rule(path, text)
        ])

    def test_words(self):
        """Checks the files whose names end in one of TEXTS, except the rule itself and its samples."""
        self.report([
            finding for name in tracked_files() if name.endswith(TEXTS) and name not in RULES_OF_WORDS
            for finding in words.check_words(name, read(name))
        ])

    def test_no_cycles(self):
        self.report(list(rules.check_cycles(c_sources())))

    def test_no_calls_upward(self):
        self.report(list(rules.check_calls_upward(c_sources())))

    def test_headers_have_users(self):
        """Also prints lines, files and headers of each room, which are not bounded."""
        table = rules.rooms(c_sources())
        single = [header for room in table.values() for header in room[3]]
        total = [sum(room[i] for room in table.values()) for i in range(3)] + [single]
        print(f"\n{'room':<10} {'lines':>6} {'files':>5} {'headers':>7}  with one user")
        for name, (lines, files, headers, lonely) in [*sorted(table.items()), ("all", total)]:
            print(f"{name:<10} {lines:>6} {files:>5} {headers:>7}  {len(lonely)}")
        self.assertLessEqual(len(single), SINGLE_USER_HEADERS_MAX, single)


class Mutations(unittest.TestCase):
    def test_each_names_a_line_of_src(self):
        """A change of a line that a mutation breaks also needs a change in tests/mutations."""
        result = subprocess.run([ROOT / "scripts" / "mutate.sh", "list"], capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"\nmutate.sh: [1-9][0-9]+ mutations of ")


@unittest.skipUnless(BUILD, "APPEND_BUILD does not name a build folder")
class Headers(unittest.TestCase):
    def flags(self):
        """Returns the compile command of src/base/error.c without its input and output."""
        commands = json.loads((pathlib.Path(BUILD) / "compile_commands.json").read_text())
        entry = next(entry for entry in commands if entry["file"].endswith("src/base/error.c"))
        words = shlex.split(entry["command"])
        output = words.index("-o")
        return [word for word in words[:output] + words[output + 2:]
                if word != "-c" and word != entry["file"] and not word.startswith("-fsanitize")]

    def test_every_header_compiles_alone(self):
        flags = self.flags()
        broken = []
        headers = [name for name, _ in c_sources()
                   if name.endswith(".h") and name.startswith(("src/", "include/"))]
        self.assertGreater(len(headers), 10)

        def compile_alone(name):
            command = flags + ["-Werror", "-fsyntax-only", "-x", "c", "-include",
                               str(ROOT / name), os.devnull]
            return subprocess.run(command, capture_output=True, text=True)

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = pool.map(compile_alone, headers)
        for name, result in zip(headers, results):
            if result.returncode != 0:
                broken.append(f"{name}: {result.stderr.splitlines()[0] if result.stderr else '?'}")
        self.assertEqual(broken, [], "\n" + "\n".join(broken))

    def test_a_header_that_needs_another_is_found(self):
        command = self.flags() + ["-Werror", "-fsyntax-only", "-x", "c", "-"]
        sample = "size_t a_size(void);\n"
        result = subprocess.run(command, input=sample, capture_output=True, text=True)
        self.assertNotEqual(result.returncode, 0)


if __name__ == "__main__":
    unittest.main()
