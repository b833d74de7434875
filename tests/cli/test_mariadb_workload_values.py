"""Values of scripted workloads on MariaDB."""

import harness
import workload_values


class Values(workload_values.Values, harness.Mariadb):
    pass


if __name__ == "__main__":
    harness.main()
