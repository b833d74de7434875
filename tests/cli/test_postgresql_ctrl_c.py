"""Ctrl-C in every phase of a run on PostgreSQL up to the end of the load."""

import pathlib

import harness
from ctrl_c import OfRuns


class Postgresql(harness.Case, OfRuns):
    SERVER = harness.PrivateServer
    SLOW_CONNECTS = {"pre_auth_delay": 1, "max_connections": 250}

    def pids(self, server):
        pid = (server.home / "data" / "postmaster.pid").read_text().split()[0]
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        # the first process is stopped first, so that it does not see the others stop
        return [int(pid), *map(int, children)]


if __name__ == "__main__":
    harness.main()
