#!/bin/bash
# Builds and runs all tests, with private servers of PostgreSQL, MariaDB, ClickHouse, InfluxDB and
# QuestDB.
#
#   scripts/test.sh [ctest arguments …]     for example: scripts/test.sh -R cli.null
#
# The tests of Machbase need the vendor's client library: scripts/machbase_client.sh downloads it, unless
# APPEND_TEST_MACHBASE_LIB names its folder. scripts/postgresql_18.sh downloads the programs of PostgreSQL
# 18, unless APPEND_TEST_POSTGRESQL_18 names their folder. The tests of QuestDB need Java 17 and the server's program,
# which scripts/questdb.sh downloads.
#
# Environment: BUILD (build folder, default build/test), CMAKE_ARGS (arguments for configuring), TARGETS
# (targets to build, default all), JOBS (parallel tests; default 3 for each CPU, because most tests
# wait), SERVER=0 (starts no servers, and leaves out the tests that need a server; if you give
# arguments, add -LE 'valgrind|postgresql|mariadb|clickhouse|influxdb').
# Fails when a test fails, when a test is skipped, and when no test runs. Tests may be skipped only as
# follows: the tests of full disks where mounting is not allowed (not root, or a container); the tests
# of limits where cgroups and network namespaces cannot be created; power losses of append certify where no
# disk image can be mounted (not root, or a container); the tests of Machbase where its
# client library cannot be downloaded; the tests of QuestDB without Java or without QuestDB's program; the tests
# of PostgreSQL 18 where its programs cannot be downloaded; the comparison with the extension pg_wait_sampling
# where the system has no package of this extension.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh test
build=${BUILD:-build/test}
read -r -a cmake_args <<<"${CMAKE_ARGS:-}"
cmake -S . -B "$build" -G Ninja -D APPEND_TESTS=ON "${cmake_args[@]}"
read -r -a targets <<<"${TARGETS:-all}"
cmake --build "$build" --target "${targets[@]}"

# The folder for all servers, mounts and files of the tests, so that finish() can remove them even after
# an interrupt.
temp=$(mktemp -d)
mkdir "$temp/tests"
chmod a+x "$temp" "$temp/tests"
export TMPDIR=$temp/tests
# The folder for the servers that single tests start. It is in memory if enough memory is free, so that
# tests do not wait for the disk. (It is not in /dev/shm, where MariaDB would take its log for persistent
# memory.) The first PostgreSQL and the first MariaDB server create a data directory; all others copy it.
export APPEND_TEST_SERVERS=$temp/servers APPEND_TEST_TEMPLATES=$temp/servers/templates
mkdir "$APPEND_TEST_SERVERS"
if [ "$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)" -ge $((6 << 20)) ]; then
    mount -t tmpfs -o size=4g append-servers "$APPEND_TEST_SERVERS" 2>/dev/null || true
fi
chmod 1777 "$APPEND_TEST_SERVERS" # some servers are started by another user
mkdir "$APPEND_TEST_TEMPLATES"
# shellcheck disable=SC2317 # called by the trap
finish() {
    status=$?
    trap - EXIT INT TERM HUP
    for server in postgresql mariadb clickhouse influxdb questdb; do
        for home in "$temp/$server" "$TMPDIR"/*/"$server" "$APPEND_TEST_SERVERS"/*/"$server"; do
            [ ! -d "$home" ] || "scripts/$server.sh" stop "${home%/*}" immediate || true
        done
    done
    while read -r _ place _; do
        case $place in "$temp"/*) umount -l "$place" ;; esac
    done </proc/mounts
    rm -rf "$temp"
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

can_confine() {
    local controller root
    [ "$(id -u)" -eq 0 ] && unshare --net true || return 1
    for controller in pids memory; do
        root=/sys/fs/cgroup/$controller
        [ -d "$root" ] || root=/sys/fs/cgroup
        mkdir "$root/append-probe-$$" && rmdir "$root/append-probe-$$" || return 1
    done
}

if [ -z "${APPEND_TEST_MACHBASE_LIB:-}" ]; then
    APPEND_TEST_MACHBASE_LIB=$(scripts/machbase_client.sh) || APPEND_TEST_MACHBASE_LIB=
fi
export APPEND_TEST_MACHBASE_LIB
if [ "${SERVER:-1}" = 1 ] && [ -z "${APPEND_TEST_POSTGRESQL_18:-}" ]; then
    APPEND_TEST_POSTGRESQL_18=$(scripts/postgresql_18.sh) || APPEND_TEST_POSTGRESQL_18=
    export APPEND_TEST_POSTGRESQL_18
fi
questdb=$([ "${SERVER:-1}" != 1 ] || scripts/questdb.sh fetch) || questdb=

without=valgrind
if [ "${SERVER:-1}" = 1 ]; then
    scripts/postgresql.sh start "$temp"
    port=$(cat "$temp/postgresql/port")
    export APPEND_TEST_POSTGRESQL=postgresql://append@127.0.0.1:$port/append
    export APPEND_TEST_POSTGRESQL_PASSWORD_URL=postgresql://append_pw@127.0.0.1:$port/append
    scripts/mariadb.sh start "$temp"
    port=$(cat "$temp/mariadb/port")
    export APPEND_TEST_MARIADB=mariadb://append@127.0.0.1:$port/append
    export APPEND_TEST_MARIADB_PASSWORD_URL=mariadb://append_pw@127.0.0.1:$port/append
    scripts/clickhouse.sh start "$temp"
    port=$(cat "$temp/clickhouse/port")
    export APPEND_TEST_CLICKHOUSE=clickhouse://append@127.0.0.1:$port/append
    export APPEND_TEST_CLICKHOUSE_PASSWORD_URL=clickhouse://append_pw@127.0.0.1:$port/append
    scripts/influxdb.sh start "$temp"
    APPEND_TEST_INFLUXDB=influxdb://127.0.0.1:$(cat "$temp/influxdb/port")/append
    export APPEND_TEST_INFLUXDB
else
    without='valgrind|postgresql|mariadb|clickhouse|influxdb'
fi

[ $# -gt 0 ] || set -- -LE "$without"
status=0
rm -f "$build/failures.txt"
ctest --test-dir "$build" --output-on-failure --no-tests=error -j "${JOBS:-$(($(nproc) * 3))}" "$@" \
    </dev/null 2>&1 | tee "$temp/ctest.log" || status=$?

skips=$(grep -E '\*\*\*Skipped|\*\*\*Not Run' "$temp/ctest.log" || true)
mkdir "$temp/probe"
if mount -t tmpfs append-probe "$temp/probe" 2>/dev/null; then
    umount -l "$temp/probe"
elif grep -q ' cli\.disk ' <<<"$skips"; then
    echo 'test.sh: NOTE: file systems cannot be mounted here, so only a part of cli.disk ran' >&2
    skips=$(grep -v ' cli\.disk ' <<<"$skips" || true)
fi
confined=' cli\.(limits|postgresql_limits|mariadb_limits|postgresql_identity) '
if ! can_confine 2>/dev/null && grep -qE "$confined" <<<"$skips"; then
    echo 'test.sh: NOTE: cgroups or network namespaces cannot be created here, so only a part of these ran:' >&2
    grep -E "$confined" <<<"$skips" >&2
    skips=$(grep -vE "$confined" <<<"$skips" || true)
fi
certify=' cli\.(sqlite|postgresql|mariadb)_certify(_ends)? '
if grep -qE "$certify" <<<"$skips" &&
    reason=$(cd tests/cli && python3 -c 'import certify; print(certify.power_is_impossible())') &&
    [ -n "$reason" ]; then
    echo "test.sh: NOTE: only a part of these ran: $reason" >&2
    grep -E "$certify" <<<"$skips" >&2
    skips=$(grep -vE "$certify" <<<"$skips" || true)
fi
for engine in docker podman; do
    if grep -q " cli\.postgresql_$engine " <<<"$skips" &&
        ! reason=$(python3 tests/cli/containers.py "Probe.test_$engine" 2>&1); then
        echo "test.sh: NOTE: $engine cannot run containers here, so cli.postgresql_$engine did not run:" >&2
        grep -oE '(no Docker daemon|podman can start no).*' <<<"$reason" >&2 || printf '%s\n' "$reason" >&2
        skips=$(grep -v " cli\.postgresql_$engine " <<<"$skips" || true)
    fi
done
machbase=' (cli|contract|valgrind)\.[a-z_.]*machbase'
if [ -z "$APPEND_TEST_MACHBASE_LIB" ] && grep -qE "$machbase" <<<"$skips"; then
    echo "test.sh: NOTE: Machbase's client library is missing, so these did not run:" >&2
    grep -E "$machbase" <<<"$skips" >&2
    skips=$(grep -vE "$machbase" <<<"$skips" || true)
fi
if [ -z "$questdb" ] && grep -q ' cli\.influxdb_questdb ' <<<"$skips"; then
    echo "test.sh: NOTE: Java 17 or QuestDB's program is missing, so cli.influxdb_questdb did not run" >&2
    skips=$(grep -v ' cli\.influxdb_questdb ' <<<"$skips" || true)
fi
if [ -z "${APPEND_TEST_POSTGRESQL_18:-}" ] && grep -q ' cli\.postgresql_18 ' <<<"$skips"; then
    echo "test.sh: NOTE: the programs of PostgreSQL 18 are missing, so cli.postgresql_18 did not run" >&2
    skips=$(grep -v ' cli\.postgresql_18 ' <<<"$skips" || true)
fi
if [ ! -e "$(pg_config --pkglibdir 2>/dev/null)/pg_wait_sampling.so" ] &&
    grep -q ' cli\.postgresql_wait_sampling ' <<<"$skips"; then
    echo "test.sh: NOTE: pg_wait_sampling is missing, so cli.postgresql_wait_sampling did not run" >&2
    skips=$(grep -v ' cli\.postgresql_wait_sampling ' <<<"$skips" || true)
fi
skipped=$(grep -c . <<<"$skips" || true)
passed=$(grep -cE ' Passed ' "$temp/ctest.log" || true)
if [ "$status" -eq 0 ] && [ "$skipped" -gt 0 ]; then
    echo "test.sh: $skipped tests were skipped, which counts as a failure:" >&2
    printf '%s\n' "$skips" >&2
    status=1
fi
if [ "$status" -eq 0 ]; then
    echo "test.sh: all $passed tests passed in $build"
else
    # Writes the failed tests, their failed cases (Python, cmocka) and their errors to failures.txt.
    grep -E '^ *[0-9]+/[0-9]+ Test .*\*\*\*|^(FAIL|ERROR): |^[A-Za-z_.]*(Error|Expired|Exception)\b|: error: |^\[  FAILED  \]' \
        "$temp/ctest.log" | cut -c1-300 >"$build/failures.txt" || true
    cat "$build/failures.txt" >&2
    echo "test.sh: FAILED ($passed passed, $skipped skipped; details above)" >&2
fi
exit "$status"
