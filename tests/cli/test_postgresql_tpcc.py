"""The workload tpcc on PostgreSQL."""

import harness
import tpcc


class Tpcc(tpcc.Tpcc, harness.Postgresql):
    pass


if __name__ == "__main__":
    harness.main()
