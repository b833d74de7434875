#!/bin/bash
# Tests the tests: breaks one line of src at a time and expects the named test to fail.
#
#   scripts/mutate.sh [NAME|all]…     applies the named mutations (default: all)
#   scripts/mutate.sh part K/N        applies every Nth mutation, beginning with the Kth
#   scripts/mutate.sh random N [SEED] applies N random mutations, made by universalmutator (pip install
#                                     universalmutator), to the code of measure, figures, script, limits
#                                     and load
#   scripts/mutate.sh list            prints the mutations, and checks for each that the text to be
#                                     replaced occurs exactly once
#
# The named mutations are in tests/mutations/*.txt. For a random mutation, mutate.py has a list of tests for
# the mutated file. One of these tests must fail. They run in this order, until a test fails:
#   1. the tests that need no server; after 90 s no further test of this group begins;
#   2. the tests that need servers, if APPEND_TEST_POSTGRESQL and APPEND_TEST_MARIADB name the servers;
#   3. cli.allocator;
#   4. the tests of group 1, built with AddressSanitizer and UndefinedBehaviorSanitizer.
# A random mutation is not counted if compiling it fails or warns, or if the file's object code with -O2 stays
# the same ("same code"). A mutation that only makes an array larger by 1 is never drawn.
# Mutations are applied to a copy of the tree in a temporary folder, which is removed at
# the end, even after Ctrl-C. Only `random` uses database servers.
# Start this script without nice and taskset. append reports both, so the goldens would differ without a mutation.
# To leave the CPUs to other programs, start this script with `chrt --idle 0`.
# Environment: WORK (a folder for the copy, which is kept, so that the next call builds less), CC.
# Prints a line for each mutation: "caught", "SURVIVED", "does not build", "old text not found" and
# so on. Exit codes: 0 all were caught (of random ones 95 %), 1 too few were caught, 2 wrong usage, 130
# interrupted.
set -euo pipefail
exec python3 "$(dirname "$0")/../tests/mutations/mutate.py" "$@"
