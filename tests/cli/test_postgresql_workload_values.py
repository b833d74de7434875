"""Values of scripted workloads on PostgreSQL."""

import harness
import workload_values


class Values(workload_values.Values, harness.Postgresql):
    pass


if __name__ == "__main__":
    harness.main()
