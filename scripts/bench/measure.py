"""Measures a run of a program from outside; for append, also with its own figures."""

import json
import os
import pathlib
import re
import subprocess
import time

BATCH = 100
# The time limit of a run. (mysqlslap, for example, waits forever if the server's queue of connections
# was full.)
GUARD_S = 900


class Excluded(Exception):
    """The reason why a run cannot be compared."""


class Measured:
    """One run of one program: wall time, CPU, highest RSS, output."""

    # phase_rate: rows/s while all sessions are connected and append. sessions_rate: rows/s from the first
    # connect to the last disconnect. None stands for a rate that the program does not report.
    phase_rate = None
    sessions_rate = None

    def __init__(self, command, folder):
        begin = time.monotonic()
        out, err = folder / "stdout", folder / "stderr"
        with open(out, "wb") as stdout, open(err, "wb") as stderr:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout,
                                       stderr=stderr)
            # Reads VmHWM, because the maximum RSS in the child's rusage includes this interpreter's RSS.
            self.rss_kib = 0
            while True:
                if time.monotonic() - begin > GUARD_S:
                    process.kill()
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    break
                try:
                    text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
                    found = re.search(r"VmHWM:\s+(\d+)", text)
                    self.rss_kib = int(found.group(1)) if found else self.rss_kib
                except OSError:
                    pass
                time.sleep(0.01)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.wall_s = time.monotonic() - begin
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.code = process.returncode
        self.stdout = out.read_text(errors="replace")
        self.stderr = err.read_text(errors="replace")

    def find(self, pattern):
        """The number that the group of the pattern matches in the output of a successful run."""
        found = re.search(pattern, self.stdout, flags=re.M)
        if self.wall_s > GUARD_S:
            raise Excluded(f"killed after {GUARD_S} s")
        if self.code != 0 or not found:
            said = (self.stderr.strip() or self.stdout.strip())[-200:].replace("\n", " ")
            raise Excluded(f"exit {self.code}: {said}")
        return float(found.group(1))


class Append:
    """Runs append; each run has its own folder."""

    def __init__(self, binary, folder):
        self.binary = binary
        self.folder = folder
        self.number = 0

    def run(self, sessions, rows, target, *options, prefix=()):
        self.number += 1
        out = self.folder / f"run-{self.number}"
        measured = Measured([*prefix, self.binary, str(sessions), str(rows), target, "--batch",
                             str(BATCH), "--quiet", "--out", str(out), *options], self.folder)
        # Exit code 6: all rows were written, but append used more CPU than the server.
        if measured.code not in (0, 6):
            raise Excluded(measured.stderr.strip() or f"exit {measured.code}")
        if measured.code == 6:
            print(f"  NOTE {measured.stderr.strip()}")
        times = json.loads((out / "run.json").read_text())["times"]
        measured.phase_rate = rows / times["append_s"]
        measured.sessions_rate = rows / times["elapsed_s"]
        return measured


def run_text(command):
    """The output of a helper program. Ends with its error message when it fails."""
    result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if result.returncode != 0:
        raise SystemExit(f"bench: {command[0]}: {result.stderr.strip()}")
    return result.stdout


def insert_of(dump):
    """The only INSERT, of BATCH rows, in the output of a dump program."""
    inserts = re.findall(r"^INSERT INTO .*?;$", dump, flags=re.S | re.M)
    if len(inserts) != 1:
        raise SystemExit(f"bench: expected one INSERT of {BATCH} rows, found {len(inserts)}")
    return inserts[0]
