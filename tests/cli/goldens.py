"""Compares the output of whole runs with tests/golden: see make.py there."""

import os
import subprocess
import sys

import harness

MAKE = harness.ROOT / "tests" / "golden" / "make.py"


class Goldens(harness.Case):
    def check(self, server):
        """make.py prints the differences, and the command that accepts them."""
        ended = subprocess.run([sys.executable, MAKE, server], capture_output=True, text=True,
                               stdin=subprocess.DEVNULL, timeout=4 * harness.GUARD_S,
                               env=dict(os.environ, APPEND_BINARY=harness.BINARY))
        if ended.returncode:
            self.fail("the output differs from tests/golden:\n" + ended.stdout + ended.stderr)
        if "left out" in ended.stdout:
            self.skipTest(ended.stdout)
