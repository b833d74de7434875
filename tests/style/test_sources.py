"""The project's own sources keep the rules; every header compiles alone; no source is forgotten."""

import json
import os
import pathlib
import shlex
import subprocess
import unittest

import rules

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ.get("APPEND_BUILD")


def tracked_files():
    """Files of the repository, not yet added ones included."""
    if (ROOT / ".git").exists():
        # safe.directory: the tests may run as another user than the clone's owner.
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

    def test_no_cycles(self):
        self.report(list(rules.check_cycles(c_sources())))

    def test_every_source_is_built(self):
        listed = read("cmake/AppendSources.cmake").split()
        listed = {word.rstrip(")") for word in listed}
        self.report([
            f"{name} is not in cmake/AppendSources.cmake" for name, _ in c_sources()
            if name.startswith("src/") and name.endswith(".c") and name != "src/main.c"
            and name not in listed
        ])


@unittest.skipUnless(BUILD, "APPEND_BUILD names no build folder")
class Headers(unittest.TestCase):
    def flags(self):
        """How the build compiles src/base/error.c, without input and output."""
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
        for name in headers:
            command = flags + ["-Werror", "-fsyntax-only", "-x", "c", "-include",
                               str(ROOT / name), os.devnull]
            result = subprocess.run(command, capture_output=True, text=True)
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
