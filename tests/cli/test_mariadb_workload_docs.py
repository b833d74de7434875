"""The scripts of docs/workloads.md on MariaDB."""

import harness
import workload_docs


class Page(workload_docs.Runs, harness.Mariadb):
    def target(self, path):
        return self.url


if __name__ == "__main__":
    harness.main()
