"""tests/surface.txt lists everything that users rely on: no part appears, changes or vanishes unnoticed."""

import difflib
import os
import subprocess

import harness

EXPECTED = harness.ROOT / "tests" / "surface.txt"
SCRIPT = harness.ROOT / "scripts" / "surface.sh"


class Surface(harness.Case):
    def test_surface(self):
        ended = subprocess.run([SCRIPT, harness.BINARY], capture_output=True, text=True,
                               timeout=harness.GUARD_S, stdin=subprocess.DEVNULL, cwd=self.folder,
                               env=self.environment())
        if ended.returncode == 77:
            self.skipTest(ended.stderr.strip())
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertGreater(len(ended.stdout.splitlines()), 1000)
        expected = EXPECTED.read_text()
        if ended.stdout != expected:
            diff = difflib.unified_diff(expected.splitlines(), ended.stdout.splitlines(), "tests/surface.txt",
                                        "this program", lineterm="", n=1)
            binary = os.path.relpath(harness.BINARY, harness.ROOT)
            self.fail("the surface on which users rely has changed:\n" + "\n".join(diff)
                      + "\nIf the change is intended, accept it in the folder of the sources with:\n"
                      f"    scripts/surface.sh {binary} >tests/surface.txt")


if __name__ == "__main__":
    harness.main()
