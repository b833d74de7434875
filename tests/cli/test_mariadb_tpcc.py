"""The workload tpcc on MariaDB."""

import harness
import tpcc


class Tpcc(tpcc.Tpcc, harness.Mariadb):
    pass


if __name__ == "__main__":
    harness.main()
