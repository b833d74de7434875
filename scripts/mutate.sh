#!/bin/bash
# Tests the tests: breaks one line of src at a time and expects the named test to fail.
#
#   scripts/mutate.sh [NAME|all]…     applies the named mutations (default: all)
#   scripts/mutate.sh part K/N        applies every Nth mutation, beginning with the Kth
#   scripts/mutate.sh random N [SEED] applies N mutations of any lines of measure, figures, script, limits
#                                     and load, which universalmutator makes (pip install universalmutator)
#   scripts/mutate.sh list            prints the mutations and checks that each old text occurs once
#
# The named mutations are in tests/mutations/*.txt. A random mutation must make one of the tests fail that
# mutate.py lists for its file: those that need no server, which begin for at most 90 s; if
# APPEND_TEST_POSTGRESQL and APPEND_TEST_MARIADB name servers, those that need them; cli.allocator; and the first
# ones once more, built with AddressSanitizer and UndefinedBehaviorSanitizer. A random mutation that does not
# compile without a warning, or that leaves the file's object code with -O2 unchanged ("same code"), is not
# counted; one that only makes an array larger by 1 is not drawn.
# Mutations are applied to a copy of the tree in a temporary folder, which is removed at
# the end, even after Ctrl-C. Only `random` uses database servers.
# Start it without nice and taskset: append reports both, so goldens would differ without a mutation. To leave
# the CPUs to other programs, start it with `chrt --idle 0`.
# Environment: WORK (a folder for the copy, which is kept, so that the next call builds less), CC.
# Prints a line for each mutation: "caught", "SURVIVED", "does not build", "old text not found" and
# so on. Exit codes: 0 all were caught (of random ones 95 %), 1 too few were caught, 2 wrong usage, 130
# interrupted.
set -euo pipefail
exec python3 "$(dirname "$0")/../tests/mutations/mutate.py" "$@"
