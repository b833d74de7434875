"""What append's own watching costs: the same appends without and with an option.

The run "again" has no option either: its ratio shows how large a difference this machine makes by itself. A
cost is known only if it is larger.
"""

import compare

LEAST_S = 5  # shorter runs do not show 2 %


def measure(postgresql, number):
    print(f"\n{postgresql.version()}")
    postgresql.make_table()
    url = f"postgresql://append@127.0.0.1:{postgresql.port}/append"
    seconds = number("BENCH_SECONDS", 10, 8)

    def runner(*options):
        def run(sessions, rows):
            measured = postgresql.append.run(sessions, rows, url, "--read", "none", *options)
            if rows / measured.phase_rate < LEAST_S:
                print(f"  NOTE the appends took less than {LEAST_S} s: raise BENCH_SECONDS")
            return measured
        return run

    for sessions in (10, 1000):
        for rows in (500_000, 1_000_000):  # the first run fills the caches
            postgresql.empty()
            rows = compare.whole_batches(rows, sessions)
            rate = postgresql.append.run(sessions, rows, url, "--read", "none").phase_rate
        at_most = compare.at_most(1 / 0.98)
        compare.compare("PostgreSQL without count(*)",
                        (sessions, compare.whole_batches(int(rate * seconds), sessions)),
                        ("plain", runner()),
                        [compare.Peer("again", runner()),
                         compare.Peer("waits", runner("--waits"), target=at_most),
                         compare.Peer("log 1 %", runner("--log-transactions=1%"), target=at_most)],
                        postgresql, number("BENCH_ROUNDS", 5, 5))
