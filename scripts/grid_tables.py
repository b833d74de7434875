"""Collects the summary.csv files of a grid of runs in tables: a row for each number of sessions, a
column for each number of records.

    grid_tables.py FOLDER     reads FOLDER/cells.csv and FOLDER/<sessions>x<records>/summary.csv,
                              writes FOLDER/max_cpu.csv and so on, prints a line about the last cell
"""

import csv
import pathlib
import sys

# Table -> column of summary.csv
TABLES = {
    "max_cpu": "max_cpu_percent",
    "max_memory": "max_memory_mib",
    "elapsed": "elapsed_s",
    "throughput": "throughput_rows_per_s",
    "exit_codes": None,
}
UNITS = {"k": 1_000, "M": 1_000_000, "G": 1_000_000_000}


def number(text):
    """10M = 10,000,000"""
    return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)


def read_cells(folder):
    """The cells in the order of their runs: (sessions, records, exit code, summary); the summary is
    None unless the exit code is 0."""
    cells = []
    with open(folder / "cells.csv", newline="") as file:
        for cell in csv.DictReader(file):
            summary = None
            if cell["exit_code"] == "0":
                path = folder / f"{cell['sessions']}x{cell['records']}" / "summary.csv"
                with open(path, newline="") as summary_file:
                    summary = next(csv.DictReader(summary_file))
            cells.append((int(cell["sessions"]), number(cell["records"]), cell["exit_code"],
                          summary))
    return cells


def write_table(path, cells, column):
    across = sorted({records for _, records, _, _ in cells})
    values = {}
    for sessions, records, code, summary in cells:
        value = code if column is None else summary[column] if summary else ""
        values.setdefault(sessions, {})[records] = value
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["sessions", *across])
        for sessions in sorted(values):
            writer.writerow([sessions, *(values[sessions].get(records, "") for records in across)])


def describe(cell):
    sessions, records, code, summary = cell
    if not summary:
        return f"{sessions:,} sessions x {records:,} rows: exit {code}"
    cpu = summary["max_cpu_percent"] or "?"
    memory = summary["max_memory_mib"] or "?"
    return (f"{sessions:,} sessions x {records:,} rows: {summary['elapsed_s']} s, "
            f"{float(summary['throughput_rows_per_s']):,.0f} rows/s, CPU {cpu} %, {memory} MiB")


def main():
    folder = pathlib.Path(sys.argv[1])
    cells = read_cells(folder)
    for name, column in TABLES.items():
        write_table(folder / f"{name}.csv", cells, column)
    print(describe(cells[-1]), flush=True)


if __name__ == "__main__":
    main()
