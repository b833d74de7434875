"""The scripts of docs/workloads.md on PostgreSQL."""

import harness
import workload_docs


class Page(workload_docs.Runs, harness.Postgresql):
    def target(self, path):
        return self.url


if __name__ == "__main__":
    harness.main()
