"""Every allocation of a run fails once: the program reports it, and never crashes or hangs."""

import json
import os
import subprocess
import tempfile
import unittest

BINARY = os.environ["APPEND_BINARY"]
PRELOAD = os.environ.get("APPEND_FAIL_ALLOC", "")
EXIT_CODES = {0, 1, 3, 4, 70}
SCRIPT = """
local log = dataset("log", 0, {{"a", "int32", row(), key = true}})
local get = statement("get", "select a from log where a = ?", {"int32"})
local function work() local t = {} for i = 1, 300 do t[i] = {i} end end
on_session(work)
transaction("a", function() work() get:run(1) log:append(3) end, {autocommit = true})
"""


def run_with_failure(number, arguments, folder, fails_on=False):
    """Performs a run in which allocation `number` fails. Returns (was it reached, process, run folder)."""
    log = os.path.join(folder, f"log-{number}")
    out = os.path.join(folder, f"out-{number}")
    environment = dict(os.environ, LD_PRELOAD=PRELOAD, FAIL_AT=str(number), FAIL_LOG=log)
    if fails_on:
        environment["FAIL_FROM"] = "1"
    process = subprocess.run(
        [BINARY, *arguments, "--out", out, "-q"],
        env=environment, capture_output=True, text=True, timeout=60, check=False)
    return os.path.exists(log), process, out


@unittest.skipIf(not PRELOAD, "built with a sanitizer, which has its own allocator")
class FailingAllocator(unittest.TestCase):
    def check(self, number, process, out):
        where = f"allocation {number}: {process.stderr}"
        self.assertIn(process.returncode, EXIT_CODES, where)
        self.assertNotRegex(process.stderr, r"8 MiB|Success|not enough memory", where)
        if process.returncode != 0:
            self.assertRegex(process.stderr.splitlines()[-1], r"^append: \S", where)
        path = os.path.join(out, "run.json")
        if process.returncode == 0 and os.path.getsize(path) > 0:
            with open(path, encoding="utf-8") as file:
                rows = json.load(file)["rows"]
            self.assertEqual(rows["planned"], rows["acknowledged"], where)

    def walk(self, arguments, step, fails_on=False, all_to=200):
        """Fails each allocation up to number `all_to`, then every `step`-th one, until a run ends before the
        allocation. The first allocations, up to the plan, are the same for every target."""
        with tempfile.TemporaryDirectory() as folder:
            number = 1
            reached = True
            while reached:
                reached, process, out = run_with_failure(number, arguments, folder, fails_on)
                self.check(number, process, out)
                number += 1 if number < all_to else step
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertGreater(number, 100, "too few allocations were reached")

    def test_null(self):
        self.walk(["3", "300", "null:"], 7)

    def test_null_from_then_on(self):
        self.walk(["3", "300", "null:"], 11, fails_on=True)

    def test_script_from_then_on(self):
        """A script without mistakes is never at fault."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "own.lua")
            with open(path, "w", encoding="utf-8") as file:
                file.write(SCRIPT)
            self.walk(["2", "null:", "--workload", path, "--transactions", "4"], 97, fails_on=True, all_to=1)

    def test_sqlite(self):
        self.walk(["2", "200"], 37, all_to=1)


if __name__ == "__main__":
    unittest.main()
