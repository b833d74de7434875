"""Values of scripted workloads on SQLite."""

import harness
import workload_values


class Values(workload_values.Values, harness.Case):
    def setUp(self):
        super().setUp()
        self.url = "sqlite:" + str(self.folder / "w.db")


if __name__ == "__main__":
    harness.main()
