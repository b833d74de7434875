"""What whole runs print and write, against tests/golden: see make.py there."""

import os
import subprocess
import sys

import harness

MAKE = harness.ROOT / "tests" / "golden" / "make.py"


class Goldens(harness.Case):
    def check(self, server):
        """make.py prints what differs, and the command that accepts it."""
        ended = subprocess.run([sys.executable, MAKE, server], capture_output=True, text=True,
                               stdin=subprocess.DEVNULL, timeout=4 * harness.GUARD_S,
                               env=dict(os.environ, APPEND_BINARY=harness.BINARY))
        if ended.returncode:
            self.fail("append does not do what tests/golden says:\n" + ended.stdout + ended.stderr)
        if "left out" in ended.stdout:
            self.skipTest(ended.stdout)
