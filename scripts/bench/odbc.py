"""Compares append through ODBC with append's own adapter, on the same server and table."""

import compare
from measure import run_text

SESSIONS = 100


def driver(*words):
    """The name of an installed ODBC driver that contains all of the words."""
    names = [line.strip("[]") for line in run_text(["odbcinst", "-q", "-d"]).splitlines()]
    found = [name for name in names if all(word in name.lower() for word in words)]
    if not found:
        raise SystemExit(f"bench: the ODBC driver {' '.join(words)} is not installed, only {names}")
    return found[0]


def compare_both(title, server, driver_name, number):
    url = (f"odbc:Driver={{{driver_name}}};Server=127.0.0.1;Port={server.port};"
           "Database=append;UID=append")

    for read, words, rows in (
            ("count", "with", number("BENCH_ODBC_COUNT_ROWS", 100_000, 20_000)),
            ("none", "without", number("BENCH_ODBC_ROWS", 500_000, 100_000))):
        def through_odbc(sessions, rows, read=read):
            return server.append.run(sessions, rows, url, "--read", read)

        compare.compare(f"{title} through {driver_name}, {words} count(*)",
                        (SESSIONS, compare.whole_batches(rows, SESSIONS)),
                        ("native", server.runner(read)),
                        [compare.Peer("odbc", through_odbc, target=compare.at_most(2))], server,
                        number("BENCH_ROUNDS", 3, 1))


def measure(postgresql, mariadb, number):
    print(f"\n{postgresql.version()}")
    postgresql.make_table()
    compare_both("PostgreSQL", postgresql, driver("postgresql", "unicode"), number)
    print(f"\n{mariadb.version()}")
    for engine in ("myisam", "innodb"):
        mariadb.make_table(engine)
        compare_both(f"MariaDB, {engine},", mariadb, driver("mariadb"), number)
