"""append certify with a MariaDB server of the user's."""

import os
import pathlib
import time

import certify
import harness


class TheirServer(certify.Harm, certify.Certifying):
    SERVER = harness.PrivateMariadb
    client = staticmethod(harness.mariadb)
    PID_COMMAND = "cat {home}/pid"

    def tables(self):
        return self.sql("show tables like 'append_certify%'")

    @classmethod
    def pid(cls):
        return (cls.server.home / "pid").read_text().strip()

    def sql_before(self, *statements):
        path = self.folder / f"harm-{time.monotonic_ns()}.sql"
        path.write_text("use append;\n" + "".join(statement + ";\n" for statement in statements))
        owner = pathlib.Path(self.server.home, "data").owner()
        user = f"setpriv --reuid={owner} --clear-groups " if os.geteuid() == 0 else ""
        return [f"{user}{self.program} --no-defaults --datadir={self.server.home}/data --tmpdir={self.server.home}/tmp"
                f" --bootstrap <{path} >>{self.server.home}/log 2>&1"]

    def test_an_engine_without_a_check(self):
        self.sql("set global max_heap_table_size = 1 << 30")
        self.addCleanup(self.sql, "set global max_heap_table_size = default")
        ended, certificate = self.certify(self.server.url, "--faults", "network:1", "--yes", "--recreate", "--engine",
                                          "MEMORY", code=0)
        self.check_clean(ended, certificate, {"network": 1}, "storage engine for the table doesn't support check")


if __name__ == "__main__":
    harness.main()
