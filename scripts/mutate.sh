#!/bin/bash
# Proves the tests: breaks one line of src at a time and expects the named test to fail.
#
#   scripts/mutate.sh [NAME|all]…     the named mutations (default: all)
#   scripts/mutate.sh part K/N        every Nth mutation, beginning with the Kth: parts 1/N to N/N are all
#   scripts/mutate.sh list            prints the mutations and checks that each old text is found once
#
# The mutations are in tests/mutations/*.txt. Each is applied to a copy of the tree in a temporary
# folder, which is removed at the end, also after Ctrl-C. No database server is needed.
# Environment: WORK (a folder for the copy, which is kept, so that the next call builds less), CC.
# Prints a line for each mutation: "caught", "SURVIVED", "does not build", "old text not found" and
# so on. Exit codes: 0 all were caught, 1 some were not, 2 wrong usage, 130 interrupted.
set -euo pipefail
exec python3 "$(dirname "$0")/../tests/mutations/mutate.py" "$@"
