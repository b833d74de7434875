"""The workload tpcc on SQLite."""

import contextlib
import sqlite3

import harness
import tpcc


class Tpcc(tpcc.Tpcc, harness.Case):
    CHECKS_LOAD = True

    def setUp(self):
        super().setUp()
        self.database = self.folder / "w.db"
        self.url = f"sqlite:{self.database}"

    def sql(self, *statements):
        with contextlib.closing(sqlite3.connect(self.database)) as database, database:
            for statement in statements:
                rows = database.execute(statement).fetchall()
        return "\n".join(" ".join(map(str, row)) for row in rows)


if __name__ == "__main__":
    harness.main()
