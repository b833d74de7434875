"""run.json and summary.csv have the program's exit code and reason, whatever fails and however late."""

import array
import csv
import fcntl
import json
import os
import signal
import subprocess
import termios

import harness

F_SETPIPE_SZ = 1031


class OutcomeCase(harness.Case):
    """Checks of the exit code and reason in the files of a run or a search."""

    def outcome(self, out, search=False):
        """Returns the exit code and reason, which are the same in both files."""
        outcome = json.loads((out / ("find-max.json" if search else "run.json")).read_text())["outcome"]
        with open(out / "summary.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 1)
        self.assertEqual(rows[0]["exit_code"], str(outcome["exit_code"]))
        self.assertEqual(rows[0]["exit_reason"], outcome["exit_reason"] or "")
        self.assertEqual([path.name for path in out.iterdir() if path.name.endswith(".part")], [])
        return outcome["exit_code"], outcome["exit_reason"] or ""

    def assert_outcome(self, out, ended, code, pattern, search=False):
        self.assertEqual(ended.code, code, ended)
        self.assertEqual(self.outcome(out, search), (code, ended.reason.removeprefix("append: ")))
        self.assertRegex(ended.reason, pattern)


class ExitReason(OutcomeCase):
    """All exit codes other than 0 although all rows arrived; for a full disk see test_disk.py."""

    def run_to(self, stdout, *arguments):
        out = self.out()
        process = subprocess.run(
            [harness.BINARY, *map(str, arguments), "--out", str(out)], stdin=subprocess.DEVNULL,
            stdout=stdout, stderr=subprocess.PIPE, text=True, cwd=self.folder,
            env=self.environment(), timeout=harness.GUARD_S)
        return out, harness.Ended(process.returncode, "", process.stderr)

    def test_nothing(self):
        out = self.out()
        self.append("2", "100", "null:", "--out", out)
        self.assertEqual(self.outcome(out), (0, ""))

    def test_standard_output_is_full(self):
        for options in ((), ("--json",)):
            with open("/dev/full", "w") as full:
                out, ended = self.run_to(full, "2", "100", "null:", *options)
            self.assert_outcome(out, ended, 3, "but standard output cannot be written: No space left")
        with open("/dev/full", "w") as full:
            out, ended = self.run_to(full, "find-max", "null:", "--max-sessions", 2, "--hold",
                                     "0.2s")
        self.assert_outcome(out, ended, 3, "standard output cannot be written: No space left", True)

    def test_standard_output_is_full_and_more(self):
        """The most important problem sets the exit code, and all problems are named."""
        with open("/dev/full", "w") as full:
            out, ended = self.run_to(full, "2", "100", "null:", "--expect", "elapsed>=1h",
                                     "--junit", "/dev/full")
        self.assert_outcome(out, ended, 5, r"^append: 1 of 1 expectations not met: .*; also standard "
                         r"output cannot be .*; also '/dev/full' could not be written")

    def test_the_page_cannot_be_made(self):
        out = self.out()
        page = out / "report.html"
        process = self.start("2", "null:", "--duration", "10m", "--rate", "1000", "--report",
                             "--sample-interval", "0.2", "--out", out)
        self.wait_for_rows(process, out)
        page.write_text("somebody's own")
        process.send_signal(signal.SIGINT)
        self.assert_outcome(out, self.end(process, 130), 130,
                         "^append: interrupted: .*; also the report was not written: .*report.html")
        self.assertEqual(page.read_text(), "somebody's own")

    def test_junit_cannot_be_written(self):
        out = self.out()
        ended = self.append("2", "100", "null:", "--junit", "/dev/full", "--out", out, code=3)
        self.assert_outcome(out, ended, 3, "but '/dev/full' could not be written: No space left")

    def test_an_expectation_is_missed(self):
        out = self.out()
        ended = self.append("2", "100", "null:", "--expect", "elapsed>=1h", "--out", out, code=5)
        self.assert_outcome(out, ended, 5, "1 of 1 expectations not met")

    def test_the_folder_is_gone(self):
        out = self.out()
        process = self.start("2", "null:", "--duration", "10m", "--rate", "1000", "--out", out,
                             "--sample-interval", "0.2")
        self.wait_for_rows(process, out)
        moved = self.folder / "moved"
        out.rename(moved)
        process.send_signal(signal.SIGINT)
        self.assert_outcome(moved, self.end(process, 130), 130, "; also files are incomplete: the folder was "
                         "removed or renamed")

    def test_the_folder_is_gone_and_all_rows_are_in(self):
        """The run is not VALID, because the data of its figures cannot be read."""
        out = self.out()
        process = self.start("2", "3000", "null:", "--rate", "1000", "--out", out, "--sample-interval",
                             "0.2", "--expect", "verdict==VALID")
        self.wait_for_rows(process, out)
        moved = self.folder / "moved"
        out.rename(moved)
        ended = self.end(process, 5)
        self.assert_outcome(moved, ended, 5, "expectations not met: verdict==VALID: DEGRADED; also files are "
                         "incomplete: the folder was removed or renamed")
        self.assertRegex(ended.out, r"(?m)^DEGRADED +files are incomplete: the folder was removed or renamed")

    if harness.SLOW == 1:  # ThreadSanitizer delays signals while a call blocks
        def test_a_late_signal(self):
            """A signal while the report waits for its reader: the run was complete, the program interrupted."""
            reader, writer = os.pipe()
            self.addCleanup(os.close, reader)
            fcntl.fcntl(writer, F_SETPIPE_SZ, 4096)
            out = self.out()
            process = subprocess.Popen(
                [harness.BINARY, "2", "100", "null:", "--json", "--out", str(out)], stdout=writer,
                stderr=subprocess.PIPE, text=True, env=self.environment())
            self.addCleanup(process.stderr.close)
            self.addCleanup(process.kill)
            os.close(writer)
            # the pipe only holds the first part of the report
            waiting = array.array("i", [0])
            harness.wait_until(lambda: fcntl.ioctl(reader, termios.FIONREAD, waiting) == 0 and
                               waiting[0] == 4096, "the first part of the report")
            self.assertEqual(self.outcome(out), (0, ""))
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=harness.GUARD_S), 130)
            ended = harness.Ended(130, "", process.stderr.read())
            self.assert_outcome(out, ended, 130, "^append: interrupted while the report was printed$")
            self.check_run(out, 130)


if __name__ == "__main__":
    harness.main()
