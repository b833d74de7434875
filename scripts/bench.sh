#!/bin/bash
# Compares append with other load generators, on private servers.
#
#   scripts/bench.sh [quick|full] [part …]
#
# Parts (default: all):
#   postgresql   against pgbench
#   mariadb      against mysqlslap and sysbench
#   odbc         append through ODBC against append's own adapters
#   null         the generator alone
#   workloads    workload scripts against sysbench and pgbench
#   watching     append with --waits and --log-transactions against append without
#   http         ClickHouse and InfluxDB: against k6, wrk and clickhouse-client
# "full" is the default and takes about 70 minutes. "quick" takes about 8 minutes, and its figures are
# less exact.
#
# Environment:
#   BENCH_ROUNDS             rounds of each comparison
#   BENCH_ROWS_10, BENCH_ROWS_100, BENCH_ROWS_1000
#                            rows for PostgreSQL without count(*) at 10, 100 and 1,000 sessions
#   BENCH_COUNT_ROWS         rows for PostgreSQL with count(*)
#   BENCH_MYISAM_ROWS, BENCH_INNODB_ROWS                      rows for MariaDB
#   BENCH_ODBC_ROWS, BENCH_ODBC_COUNT_ROWS, BENCH_NULL_ROWS   rows for the parts odbc and null
#   BENCH_SECONDS            seconds of each run of a workload, of HTTP requests, or of the part watching
#                            (at least 5 there; its number of rows follows from a first run)
#   BENCH_SESSIONS           connections for HTTP requests ("10 100 1000")
#   BENCH_HTTP_ROWS          rows against clickhouse-client
set -euo pipefail
cd "$(dirname "$0")/.."

mode=full
case "${1:-}" in
quick | full) mode=$1; shift ;;
esac
[ $# -gt 0 ] || set -- postgresql mariadb odbc null workloads watching http
for part in "$@"; do
    case $part in
    postgresql | mariadb | odbc | null | workloads | watching | http) ;;
    *) echo 'usage: scripts/bench.sh [quick|full] [postgresql|mariadb|odbc|null|workloads|watching|http …]' >&2; exit 2 ;;
    esac
done

scripts/setup.sh bench
build=${BUILD:-build/bench}
cmake -S . -B "$build" -G Ninja -D APPEND_TESTS=OFF -D APPEND_ADAPTER_POSTGRESQL=ON \
    -D APPEND_ADAPTER_MARIADB=ON -D APPEND_ADAPTER_ODBC=ON -D APPEND_ADAPTER_HTTP=ON >/dev/null
cmake --build "$build" >/dev/null

temp=$(mktemp -d)
# shellcheck disable=SC2317 # called by the trap
finish() {
    status=$?
    trap - EXIT INT TERM HUP
    for server in postgresql mariadb clickhouse influxdb; do
        [ ! -d "$temp/$server" ] || "scripts/$server.sh" stop "$temp" immediate || true
    done
    rm -rf "$temp"
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

arguments=()
case " $* " in
*' postgresql '* | *' odbc '* | *' workloads '* | *' watching '*)
    scripts/postgresql.sh start "$temp" max_connections=1100 shared_buffers=256MB
    arguments+=(--postgresql-port "$(cat "$temp/postgresql/port")")
    ;;
esac
case " $* " in
*' mariadb '* | *' odbc '* | *' workloads '*)
    # back_log must be large, because mysqlslap and sysbench connect all clients at the same time. A
    # client whose connection does not fit in the server's queue would wait forever.
    scripts/mariadb.sh start "$temp" max_connections=2100 back_log=2100 innodb_buffer_pool_size=256M \
        max_prepared_stmt_count=200000
    arguments+=(--mariadb-port "$(cat "$temp/mariadb/port")")
    ;;
esac
case " $* " in
*' http '*)
    # Up to 1,000 requests run at the same time, and each INSERT creates a new part of the table.
    scripts/clickhouse.sh start "$temp" max_concurrent_queries=1200 \
        merge_tree/parts_to_throw_insert=1000000 merge_tree/parts_to_delay_insert=1000000
    arguments+=(--clickhouse-ports "$(cat "$temp/clickhouse/port")" "$(cat "$temp/clickhouse/tcp_port")")
    scripts/influxdb.sh start "$temp"
    arguments+=(--influxdb-port "$(cat "$temp/influxdb/port")")
    ;;
esac
python3 -B scripts/bench "$mode" "$@" --append "$build/append" --folder "$temp/runs" "${arguments[@]}"
