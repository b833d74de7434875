"""Interleaved rounds, medians and ratios.

Each comparison runs its tools in turn, each on an empty table, and prints the medians. Each round begins
with the next tool (A B C, B C A, …), so no tool always follows the same one. A ratio is the median of the
ratios of the rounds: what slows the machine for minutes slows both runs of a round. A run is excluded, with a message, if the table does not contain exactly the wanted rows after it.
"""

import statistics
import sys

from measure import BATCH, Excluded

# The two rates that are compared: (attribute of Measured, name in the output)
PHASE = ("phase_rate", "append phase")
SESSIONS = ("sessions_rate", "connect to disconnect")


class Peer:
    """A tool that append is compared with: a function that runs it, the span for which both have
    rows/s, and the target of the ratio append / peer (at_least, at_most) or None."""

    def __init__(self, name, run, span=PHASE, target=None):
        self.name, self.run, self.span, self.target = name, run, span, target


def whole_batches(rows, sessions):
    """Rounds the rows up, so that each session has the same number of whole batches."""
    return -(-rows // (sessions * BATCH)) * sessions * BATCH


def compare(title, shape, first, peers, server, rounds):
    """shape: (sessions, rows). first: (name, run). server: empty() and count() of the table."""
    sessions, rows = shape
    tools = [first] + [(peer.name, peer.run) for peer in peers]
    results = {name: {} for name, _ in tools}  # by round
    print(f"\n{title}: {sessions:,} sessions, {rows:,} rows")
    for turn in range(1, rounds + 1):
        begin = (turn - 1) % len(tools)
        for name, run in tools[begin:] + tools[:begin]:
            server.empty()
            try:
                measured = run(sessions, rows)
                counted = server.count()
                if counted != rows:
                    raise Excluded(f"{counted:,} rows in the table, not {rows:,}")
            except Excluded as reason:
                print(f"  EXCLUDED {name}, round {turn}: {reason}")
                continue
            results[name][turn] = measured
    print_results(shape, results)
    base = first[0]
    for peer in peers:
        rounds_of_both = [(results[base][turn], results[peer.name][turn])
                          for turn in results[base] if turn in results[peer.name]]
        if rounds_of_both:
            print_ratio(base, peer, rounds_of_both)
    sys.stdout.flush()


def median(runs, value):
    known = [value(run) for run in runs]
    return None if None in known else statistics.median(known)


def print_results(shape, results):
    sessions, rows = shape
    print(f"  {'':18}{'rows/s':>12}{'rows/s':>14}{'rows/s':>11}{'client CPU':>12}"
          f"{'client RSS':>13}{'runs':>6}")
    print(f"  {'':18}{'append phase':>12}{'connect-leave':>14}{'program':>11}{'us/row':>12}"
          f"{'KiB/session':>13}")
    for name, by_round in results.items():
        runs = list(by_round.values())
        if not runs:
            print(f"  {name:18}{'no valid run':>12}")
            continue
        phase, between = (median(runs, lambda run, a=a: getattr(run, a))
                          for a in ("phase_rate", "sessions_rate"))
        print(f"  {name:18}{shown(phase):>12}{shown(between):>14}"
              f"{median(runs, lambda run: rows / run.wall_s):11,.0f}"
              f"{median(runs, lambda run: run.cpu_s / rows * 1e6):12.2f}"
              f"{median(runs, lambda run: run.rss_kib / sessions):13,.0f}{len(runs):6}")


def shown(rate):
    return "-" if rate is None else f"{rate:,.0f}"


def print_ratio(base, peer, rounds):
    attribute, words = peer.span
    ratios = sorted(getattr(ours, attribute) / getattr(theirs, attribute) for ours, theirs in rounds)
    spanned = statistics.median(ratios)
    whole = statistics.median(theirs.wall_s / ours.wall_s for ours, theirs in rounds)
    verdict = ""
    if peer.target:
        least, is_met = peer.target
        verdict = f", target {least}: {'met' if is_met(spanned) else 'MISSED'}"
    print(f"  {base} / {peer.name}: {spanned:.3f} x by {words}, in the rounds {ratios[0]:.3f} to {ratios[-1]:.3f}"
          f" (whole program {whole:.2f} x){verdict}")


def at_least(ratio):
    return (f">= {ratio:g} x", lambda found: found >= ratio)


def at_most(ratio):
    return (f"<= {ratio:.4g} x", lambda found: found <= ratio)
