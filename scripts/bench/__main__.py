"""Runs the parts of scripts/bench.sh, one after the other."""

import argparse
import os
import pathlib
import statistics
import time

import odbc
import over_http
import watching
import workloads
from mariadb import Mariadb
from measure import Append, Excluded
from postgresql import Postgresql

PARTS = ("postgresql", "mariadb", "odbc", "null", "workloads", "watching", "http")


def measure_generator(append, number):
    """Measures the generator with the null adapter, on one core."""
    rows = number("BENCH_NULL_ROWS", 20_000_000, 5_000_000)
    rates = []
    for _ in range(3):
        try:
            rates.append(append.run(1, rows, "null:", "--read", "none",
                                    prefix=("taskset", "-c", "0")).phase_rate)
        except Excluded as reason:
            print(f"  EXCLUDED: {reason}")
    if rates:
        print(f"\ngenerator and null adapter, 1 session, {rows:,} rows, one core: "
              f"{statistics.median(rates) / 1e6:.1f} M rows/s (target 15; runs: "
              + ", ".join(f"{rate / 1e6:.1f}" for rate in rates) + ")")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["quick", "full"])
    parser.add_argument("parts", nargs="+", choices=PARTS)
    for name in ("--append", "--folder"):
        parser.add_argument(name, required=True)
    parser.add_argument("--postgresql-port", type=int)
    parser.add_argument("--mariadb-port", type=int)
    parser.add_argument("--clickhouse-ports", type=int, nargs=2)
    parser.add_argument("--influxdb-port", type=int)
    arguments = parser.parse_args()

    def number(name, full, quick):
        return int(os.environ.get(name, quick if arguments.mode == "quick" else full))

    begin = time.monotonic()
    folder = pathlib.Path(arguments.folder)
    folder.mkdir()
    append = Append(arguments.append, folder)
    print(f"{os.cpu_count()} CPUs, medians of {number('BENCH_ROUNDS', 3, 1)} interleaved rounds")
    postgresql = mariadb = None
    if arguments.postgresql_port:
        postgresql = Postgresql(append, arguments.postgresql_port, folder)
    if arguments.mariadb_port:
        mariadb = Mariadb(append, arguments.mariadb_port, folder)
    if "postgresql" in arguments.parts:
        postgresql.measure(number)
    if "mariadb" in arguments.parts:
        mariadb.measure(number)
    if "odbc" in arguments.parts:
        odbc.measure(postgresql, mariadb, number)
    if "null" in arguments.parts:
        measure_generator(append, number)
    if "workloads" in arguments.parts:
        workloads.measure(append, postgresql, mariadb, folder, number)
    if "watching" in arguments.parts:
        watching.measure(postgresql, number)
    if "http" in arguments.parts:
        over_http.measure(append, arguments.clickhouse_ports, arguments.influxdb_port, folder, number)
    print(f"\nbench: {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
