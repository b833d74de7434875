"""Ctrl-C in a check and a search on MariaDB."""

import harness
from ctrl_c import OfSearches


class Mariadb(harness.Case, OfSearches):
    SERVER = harness.PrivateMariadb
    SLOW_CONNECTS = {"init_connect": "do sleep(0.3)"}

    def pids(self, server):
        return [int((server.home / "pid").read_text())]


if __name__ == "__main__":
    harness.main()
