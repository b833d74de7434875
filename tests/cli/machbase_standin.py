"""A private stand-in for a Machbase server (tests/standin/machbase), and the vendor's library.

Environment: APPEND_MACHBASE_STANDIN (the program), APPEND_TEST_MACHBASE_LIB (the vendor's client
library; without it every test here is skipped).
"""

import os
import subprocess
import unittest

import harness

LIBRARY = os.environ.get("APPEND_TEST_MACHBASE_LIB")
PROGRAM = os.environ.get("APPEND_MACHBASE_STANDIN",
                         str(harness.ROOT / "build" / "tests" / "standin" / "machbase_standin"))


class Standin:
    """A running stand-in; ends with the test."""

    def __init__(self, case, *options):
        self.process = subprocess.Popen(
            [PROGRAM, "--control", *map(str, options)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, env=case.environment())
        case.addCleanup(self.end)
        self.port = int(self.process.stdout.readline())
        self.url = f"machbase://127.0.0.1:{self.port}"

    @property
    def pid(self):
        return self.process.pid

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def ask(self, command):
        """Runs a command and returns its answer as name -> number or text."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = {}
        for line in self.process.stdout:
            line = line.rstrip("\n")
            if line == "ok":
                return answer
            if line.startswith("error:"):
                raise AssertionError(f"{command}: {line}")
            name, _, value = line.partition("=")
            answer[name] = int(value) if value.isdigit() else value
        raise AssertionError(f"{command}: the stand-in ended")

    def rows(self, table="syslog_table"):
        return self.ask(f"count {table}")["rows"]


class Case(harness.Case):
    """Runs against a stand-in of its own, through the vendor's library."""

    OPTIONS = ()

    def setUp(self):
        super().setUp()
        if not LIBRARY:
            raise unittest.SkipTest("APPEND_TEST_MACHBASE_LIB does not name the client library")
        self.standin = Standin(self, *self.OPTIONS)

    def environment(self, **more):
        env = super().environment(**more)
        for name in ("MACHBASE_HOME", "MACHBASE_PORT_NO"):
            if name not in more:
                env.pop(name, None)
        return env

    def load(self, sessions, rows, *options, code=0, target=None, **more):
        """A whole run: (Ended, Run)."""
        return self.run_append(sessions, rows, target or self.standin.url, "--client-lib", LIBRARY,
                               *options, code=code, **more)
