#!/bin/sh
# From a fresh clone to a first result: installs packages, builds append, and appends 100,000 rows with
# 50 sessions to an embedded database. Arguments replace "50 100000".
set -eu
cd "$(dirname "$0")/.."

scripts/setup.sh run
log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM HUP
generator=Ninja
[ ! -f build/CMakeCache.txt ] || generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' build/CMakeCache.txt)
echo 'building append, about a minute ...'
if ! { cmake -S . -B build -G "$generator" -D APPEND_TESTS=OFF && cmake --build build -j 2; } >"$log" 2>&1; then
    cat "$log" >&2
    echo 'try.sh: the build failed, see above' >&2
    exit 1
fi
ln -sf build/append append

[ $# -gt 0 ] || set -- 50 100000
echo "./append $*"
status=0
./append "$@" || status=$?
[ ! -d append-runs ] || echo "Runs so far: $(pwd)/append-runs"
echo 'Next: ./append --help'
exit "$status"
