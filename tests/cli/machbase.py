"""A stand-in for a Machbase server that runs within the test.

Environment: APPEND_TEST_MACHBASE_LIB (the folder of the vendor's client library, see
scripts/machbase_client.sh).
"""

import os
import pathlib
import platform
import sys
import unittest

import harness

sys.path.insert(0, str(harness.ROOT / "tests" / "standin"))
from machbase_standin import Server  # noqa: E402  pylint: disable=wrong-import-position

LIBRARY_FOLDER = os.environ.get("APPEND_TEST_MACHBASE_LIB", "")


def library():
    """Returns the path of the client library; skips the test if it is missing."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    found = sorted(pathlib.Path(LIBRARY_FOLDER).glob(f"libmachbase*_{machine}.so")
                   if LIBRARY_FOLDER else [])
    if not found:
        raise unittest.SkipTest(
            "APPEND_TEST_MACHBASE_LIB does not name the folder of Machbase's client library "
            "(scripts/machbase_client.sh)")
    return str(found[0])


class Standin(Server):
    """A stand-in for one test. Its faults: see Server in tests/standin/machbase_standin.py."""

    def __init__(self, case, *rules, **options):
        super().__init__(*rules, **options)
        self.url = f"machbase://SYS@127.0.0.1:{self.port}"
        case.addCleanup(self.kill)

    def rows(self, table="syslog_table"):
        """Returns every row as a dictionary with names in upper case."""
        name, columns = self.database.columns(table)
        names = [column.name for column in columns[1:]]
        return [dict(zip(names, row)) for row in self.database.select(f'select * from "{name}"')[1]]

    def count(self, table="syslog_table"):
        return self.database.select(f"select count(*) from {table}")[1][0][0]
