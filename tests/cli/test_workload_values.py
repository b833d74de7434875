"""Values of scripted workloads on SQLite."""

import harness
import workload_values


class Values(workload_values.Values, harness.Case):
    LARGE = ('"WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 300000)'
             ' SELECT n, hex(zeroblob(500)) FROM s"')

    def setUp(self):
        super().setUp()
        self.url = "sqlite:" + str(self.folder / "w.db")


if __name__ == "__main__":
    harness.main()
