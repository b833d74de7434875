"""Ctrl-C in every phase of a run on MariaDB."""

import harness
from ctrl_c import OfRuns


class Mariadb(harness.Case, OfRuns):
    SERVER = harness.PrivateMariadb
    SLOW_CONNECTS = {"init_connect": "do sleep(0.3)"}

    def pids(self, server):
        return [int((server.home / "pid").read_text())]


if __name__ == "__main__":
    harness.main()
