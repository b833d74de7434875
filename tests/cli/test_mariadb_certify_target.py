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


if __name__ == "__main__":
    harness.main()
