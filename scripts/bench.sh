#!/bin/bash
# Compares append with pgbench on a PostgreSQL server of its own, and measures the generator alone.
#
#   scripts/bench.sh           about ten minutes
#   scripts/bench.sh quick     about one minute; the figures are rough
#
# Environment: BENCH_ROUNDS, BENCH_ROWS_10, BENCH_ROWS_100, BENCH_ROWS_1000 (rows at that many
# sessions), BENCH_COUNT_ROWS (rows of the runs with count(*)), BENCH_NULL_ROWS; see bench.py.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-full}" in
quick | full) ;;
*) echo 'usage: scripts/bench.sh [quick]' >&2; exit 2 ;;
esac

scripts/setup.sh test
build=${BUILD:-build/bench}
cmake -S . -B "$build" -G Ninja -D APPEND_TESTS=OFF -D APPEND_ADAPTER_POSTGRESQL=ON >/dev/null
cmake --build "$build" >/dev/null

temp=$(mktemp -d)
finish() {
    status=$?
    trap - EXIT INT TERM HUP
    scripts/postgresql.sh stop "$temp" immediate || true
    rm -rf "$temp"
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

scripts/postgresql.sh start "$temp" max_connections=1100 shared_buffers=256MB
port=$(cat "$temp/postgresql/port")
python3 scripts/bench.py "${1:-full}" --append "$build/append" --folder "$temp/runs" \
    --url "postgresql://append@127.0.0.1:$port/append" \
    --superuser-url "postgresql://postgres@127.0.0.1:$port/append"
