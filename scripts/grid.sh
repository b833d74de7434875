#!/bin/bash
# Runs append on a private MariaDB for each combination of a number of sessions and a number of records,
# with count(*) after every batch.
#
#   scripts/grid.sh RECORDS …        for example: scripts/grid.sh 10M 50M 100M
#
# Each combination is one run on a new server, and has its own folder in GRID_OUT. After each run, the
# tables max_cpu.csv, max_memory.csv, elapsed.csv, throughput.csv and exit_codes.csv in GRID_OUT are
# written again. The cell of a run is empty if the exit code of the run was not 0. Ctrl-C keeps the
# results so far.
#
# Environment:
#   GRID_SESSIONS   default "1000 2000 4000 6000 8000 10000 12000 14000"
#   GRID_OUT        folder for the results, must not exist (default append-runs/grid-<UTC>)
#   GRID_ENGINE     default myisam, which stores the number of rows, so that count(*) is fast
#   BUILD           build folder (default build/grid)
#   TMPDIR          folder for the server's files, about 2 GB for 10 million rows
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || { echo 'usage: scripts/grid.sh RECORDS …' >&2; exit 2; }
for records in "$@"; do
    [[ $records =~ ^[1-9][0-9]*[kMG]?$ ]] || { echo "grid.sh: '$records' is not a number of records (10M)" >&2; exit 2; }
done
read -r -a sessions_list <<<"${GRID_SESSIONS:-1000 2000 4000 6000 8000 10000 12000 14000}"
most=0
for sessions in "${sessions_list[@]}"; do
    [[ $sessions =~ ^[1-9][0-9]*$ ]] || { echo "grid.sh: '$sessions' in GRID_SESSIONS is not a number" >&2; exit 2; }
    [ "$sessions" -le "$most" ] || most=$sessions
done
out=${GRID_OUT:-append-runs/grid-$(date -u +%Y%m%dT%H%M%SZ)}
[ ! -e "$out" ] || { echo "grid.sh: $out exists already: set GRID_OUT" >&2; exit 2; }

scripts/setup.sh test
build=${BUILD:-build/grid}
cmake -S . -B "$build" -G Ninja -D APPEND_TESTS=OFF -D APPEND_ADAPTER_MARIADB=ON >/dev/null
cmake --build "$build" >/dev/null

mkdir -p "$out"
temp=$(mktemp -d)
# shellcheck disable=SC2317 # called by the trap
finish() {
    status=$?
    trap - EXIT INT TERM HUP
    [ ! -d "$temp/mariadb" ] || scripts/mariadb.sh stop "$temp" immediate || true
    rm -rf "$temp"
    exit "$status"
}
trap finish EXIT
# Ctrl-C signals append and this script. append writes its files and ends with 130; this script then ends.
signal=0
trap 'signal=130' INT
trap 'signal=143' TERM HUP

# Each cell gets a new server, because a server keeps the memory of thousands of earlier sessions.
# The server uses a thread pool for the sessions. The table cache is small, because the file descriptors
# of the server are needed for connections.
start_server() {
    scripts/mariadb.sh start "$temp" "max_connections=$((most + 50))" back_log=2000 \
        thread_handling=pool-of-threads thread_pool_max_threads=300 table_open_cache=1000
    target=mariadb://append@127.0.0.1:$(cat "$temp/mariadb/port")/append
}
stop_server() {
    scripts/mariadb.sh stop "$temp" immediate
    rm -rf "$temp/mariadb"
}

echo 'sessions,records,exit_code' >"$out/cells.csv"
failed=0
for records in "$@"; do
    for sessions in "${sessions_list[@]}"; do
        [ "$signal" -eq 0 ] || break 2
        cell=$out/${sessions}x$records
        code=0
        start_server
        "$build/append" "$sessions" "$records" "$target" --engine "${GRID_ENGINE:-myisam}" \
            --recreate --quiet --out "$cell" >"$cell.txt" 2>"$cell.err" || code=$?
        stop_server
        echo "$sessions,$records,$code" >>"$out/cells.csv"
        python3 -B scripts/grid_tables.py "$out"
        if [ "$code" -ne 0 ]; then
            failed=$((failed + 1))
            echo "grid.sh: FAILED $sessions x $records, exit $code: $(tail -n 1 "$cell.err")" >&2
        fi
        [ "$code" -ne 130 ] || signal=130
    done
done

echo "Tables: $out/{max_cpu,max_memory,elapsed,throughput,exit_codes}.csv"
[ "$signal" -eq 0 ] || { echo 'grid.sh: interrupted' >&2; exit "$signal"; }
[ "$failed" -eq 0 ] || { echo "grid.sh: $failed cells failed" >&2; exit 1; }
