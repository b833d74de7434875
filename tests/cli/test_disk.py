"""A disk that is full before the run, or fills up during the run."""

import fcntl
import json
import os
import re
import resource
import select
import signal
import subprocess

import harness
from test_exit_reason import OutcomeCase


class Disk(OutcomeCase):
    """Tests on a small file system of their own. Mounting it needs root; otherwise they are skipped."""

    def mount(self, size):
        place = self.folder / "disk"
        place.mkdir()
        result = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "append-test",
                                 str(place)], capture_output=True, text=True)
        if result.returncode != 0:
            self.skipTest(f"no file system may be mounted here: {result.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", str(place)], check=True)
        return place

    def fill(self, place, leave=0):
        """Writes until the disk is full, then frees `leave` bytes."""
        filler = place / "filler"
        with open(filler, "wb", buffering=0) as file:
            try:
                while file.write(b"x" * 4096) == 4096:
                    pass
            except OSError:
                pass
        os.truncate(filler, max(0, filler.stat().st_size - leave))
        return filler

    def test_full_before_the_run(self):
        place = self.mount("2m")
        self.fill(place)
        ended = self.append("2", "100", "null:", "--out", place / "run", code=3)
        self.assertRegex(ended.reason, r"No space left on device")
        self.assertEqual(ended.out, "")
        self.assertFalse((place / "run").exists())

    def test_almost_full_before_the_run(self):
        place = self.mount("2m")
        self.fill(place, leave=65536)
        self.append("2", "100", "null:", "--out", place / "run", code=3)
        self.assertFalse((place / "run").exists())

    def test_an_outcome_that_is_written_later(self):
        """A file that could not be replaced at first is complete when it has been replaced."""
        out = self.out()
        process = self.start("2", "null:", "--rate", "1000", "--duration", "1h", "--json", "--out", out, "--control")
        self.wait_for_rows(process, out)
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)  # smaller than the output, so append waits for its reader
        aside = out / f"run.json.{process.pid}.part"
        aside.mkdir()
        self.append("control", out, "stop")
        select.select([process.stdout], [], [], harness.GUARD_S)  # append prints after the first attempt
        self.assertEqual((out / "run.json").read_text(), "")
        self.assertNotEqual((out / "summary.csv").read_text(), "", "the next file may fit")
        aside.rmdir()
        ended = self.end(process, 0)
        self.assertIn("files are incomplete: run.json: File exists", ended.out)
        outcome = self.check_run(out, 0).json["outcome"]
        self.assertEqual(outcome["verdict"], "VALID")
        self.assertNotIn("incomplete", outcome["verdict_reason"])

    def test_an_outcome_that_changes_on_a_full_disk(self):
        """The page of the report or another program takes all free space after run.json was written. A second
        copy of run.json has space of its own."""
        place = self.mount("6m")
        out = place / "run"
        process = self.start("2", "null:", "--rate", "1000", "--duration", "1h", "--json", "--out", out, "--control")
        self.wait_for_rows(process, out)
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)  # smaller than the output, so append waits for its reader
        self.append("control", out, "stop")
        select.select([process.stdout], [], [], harness.GUARD_S)  # append prints after the first outcome
        self.fill(place)
        process.send_signal(signal.SIGINT)
        self.end(process, 130)
        outcome = json.loads((out / "run.json").read_text())["outcome"]
        self.assertEqual((outcome["exit_code"], outcome["exit_reason"]), (130, "interrupted while the report was printed"))

    def test_full_during_the_run(self):
        place = self.mount("4m")
        out = place / "run"
        process = self.start("2", "15000", "null:", "--batch", "10", "--rate", "1000",
                             "--sample-interval", "100ms", "--out", out)
        self.wait_for_rows(process, out)
        self.fill(place)
        ended = self.end(process, 3)
        self.assertRegex(ended.out, r"(?s)(csv|json|hgrm).*No space left on device")
        # the space that the run reserved at its start is enough to record its end
        self.assert_outcome(out, ended, 3, "all rows were acknowledged, but files are incomplete: "
                         "samples.csv: No space left")
        self.assertRegex(ended.out, r"(?m)^DEGRADED +files are incomplete: samples.csv: No space left")
        self.assertRegex(re.sub(r"\D", "", ended.out), "15000", "the rows are reported nevertheless")
        # The files are complete up to their last line.
        for name in ("intervals.csv", "samples.csv"):
            text = (out / name).read_text()
            self.assertTrue(text == "" or text.endswith("\n"), name)
            self.assertEqual(len({line.count(",") for line in text.splitlines()}) <= 1, True, name)

    def test_an_embedded_database_that_fills_the_disk(self):
        place = self.mount("6m")
        ended = self.append("2", "200000", "--read", "none", "--out", place / "run", code=None)
        self.assertIn(ended.code, (1, 3), ended)
        self.assertRegex(ended.out + ended.err, r"(?i)full|no space")


class FileSize(harness.Case):
    def test_a_limit_on_the_size_of_files(self):
        """RLIMIT_FSIZE has the same effect, and needs no mount."""
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        ended = self.append("2", "100", "null:", "--out", self.out(), code=3, preexec_fn=limit)
        self.assertRegex(ended.reason, r"(?i)file too large|limit")


if __name__ == "__main__":
    harness.main()
