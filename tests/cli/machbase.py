"""The stand-in for a Machbase server, started for a test.

Environment: APPEND_MACHBASE_STANDIN (the program), APPEND_TEST_MACHBASE_LIB (folder of the vendor's
client library, see scripts/machbase_client.sh).
"""

import csv
import os
import pathlib
import platform
import subprocess
import unittest

import harness

PROGRAM = os.environ.get(
    "APPEND_MACHBASE_STANDIN",
    str(harness.ROOT / "build" / "tests" / "standin" / "machbase_standin"))
LIBRARY_FOLDER = os.environ.get("APPEND_TEST_MACHBASE_LIB", "")


def library():
    """Path of the client library; skips the test where there is none."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    found = sorted(pathlib.Path(LIBRARY_FOLDER).glob(f"libmachbase*_{machine}.so")
                   if LIBRARY_FOLDER else [])
    if not found:
        raise unittest.SkipTest(
            "APPEND_TEST_MACHBASE_LIB names no folder of Machbase's client library "
            "(scripts/machbase_client.sh)")
    return str(found[0])


class Standin:
    """A stand-in of a test. What it does wrong: rules as in tests/standin/machbase/rules.h; options
    as of `machbase_standin`, without the dashes in front and with _ for the others: port=0,
    password="x", max_sessions=3, keep="n1,n2,n3", expect=(seed, sessions)."""

    def __init__(self, case, *rules, **options):
        self.folder = case.folder
        words = [word for rule in rules for word in ("--rule", rule)]
        for name, value in options.items():
            text = ":".join(map(str, value)) if isinstance(value, tuple) else str(value)
            words += [f"--{name.replace('_', '-')}", text]
        self.process = subprocess.Popen(
            [PROGRAM, "--control", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        case.addCleanup(self.stop)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the stand-in did not start: {self.process.stderr.read()}")
        self.port = int(line)
        self.url = f"machbase://SYS@127.0.0.1:{self.port}"

    def ask(self, command):
        """What it answers: a dictionary of its lines name=value."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line == "ok\n":
                return dict(text.rstrip("\n").split("=", 1) for text in lines)
            if line.startswith("error: "):
                raise AssertionError(f"{command}: {line}")
            lines.append(line)
        raise AssertionError(f"the stand-in ended at: {command}")

    def numbers(self, command):
        return {name: int(value) for name, value in self.ask(command).items()}

    def status(self):
        return self.numbers("status")

    def count(self, table="syslog_table"):
        return self.numbers(f"count {table}")["rows"]

    def expected(self):
        """How the rows that came differ from what the generator makes: numbers, and `first`."""
        answer = self.ask("expect")
        return {name: value if name == "first" else int(value) for name, value in answer.items()}

    def rule(self, rule):
        self.ask(f"rule {rule}")

    def no_rules(self):
        self.ask("norules")

    def allow_sessions(self, most):
        self.ask(f"sessions {most}")

    def kick(self):
        """Hangs up on every client."""
        self.ask("kick")

    def dump(self, table="syslog_table"):
        """Every row as a dictionary of texts; None = NULL. Texts of Machbase are never empty."""
        path = self.folder / "standin-dump.csv"
        self.ask(f"dump {table} {path}")
        with path.open(newline="", encoding="utf-8", errors="surrogateescape") as file:
            rows = list(csv.reader(file, strict=True))
        return [dict(zip(rows[0], (value or None for value in row))) for row in rows[1:]]

    def wait_for(self, name, value):
        """Polls until a counter of status has the value; its connections end in their own time."""
        harness.wait_until(lambda: self.status()[name] == value, f"{name} = {value}")

    def kill(self):
        """SIGKILL, as in a crash."""
        self.process.kill()
        self.close()

    def stop(self):
        """Ends it, and fails when it did not end well, as when a sanitizer found something."""
        if self.process.returncode is not None:
            return
        try:
            self.process.stdin.write("stop\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it is gone already; its exit status says why
        code = self.close()
        if code != 0:
            raise AssertionError(f"the stand-in ended with {code}: {self.errors}")

    def close(self):
        try:
            self.errors = self.process.communicate(timeout=harness.GUARD_S)[1]
        except (subprocess.TimeoutExpired, ValueError):
            self.process.kill()
            self.errors = self.process.communicate()[1]
            raise AssertionError(f"the stand-in did not end: {self.errors}") from None
        return self.process.returncode
