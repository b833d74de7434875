#!/bin/bash
# Fuzzes the parsers of tests/fuzz with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer.
#
#   scripts/fuzz.sh [NAME|all] [SECONDS]    for example: scripts/fuzz.sh url 300 (default: all targets, 60 s each)
#   scripts/fuzz.sh merge [NAME|all]        copies those found inputs that reach new code to
#                                           tests/fuzz/corpus/NAME, which the test fuzz.NAME replays
#
# Environment:
#   BUILD   build folder (default build/fuzz); its subfolder found/NAME has the found inputs, and
#           crashes/NAME-* are the failing inputs
#   CC      compiler (default clang)
#   JOBS    fuzzers that run at the same time (default 1)
# Fails when an input makes the target fail, and prints that input in hex.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${BUILD:-build/fuzz}
is_merge=0
if [ "${1:-}" = merge ]; then
    is_merge=1
    shift
fi
wanted=${1:-all}
seconds=${2:-60}
mapfile -t names < <(find tests/fuzz -name 'fuzz_*.c' | sed 's|.*/fuzz_||; s|\.c$||' | sort)
[ "$wanted" = all ] || case " ${names[*]} " in
*" $wanted "*) names=("$wanted") ;;
*)
    echo "fuzz.sh: unknown target '$wanted': use one of ${names[*]}" >&2
    exit 2
    ;;
esac
case $seconds in
'' | 0 | *[!0-9]*)
    echo "fuzz.sh: '$seconds' is not a number of seconds, 1 or more" >&2
    exit 2
    ;;
esac

cmake -S . -B "$build" -G Ninja -D CMAKE_C_COMPILER="${CC:-clang}" -D APPEND_FUZZ=ON \
    -D APPEND_SANITIZE=address,undefined >/dev/null
cmake --build "$build" --target fuzzers >/dev/null || cmake --build "$build" --target fuzzers
mkdir -p "$build/crashes" "$build/found"
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1

# Prints libFuzzer's last line.
summary() {
    local done_line
    done_line=$(grep -E '^#[0-9]+[[:space:]]+DONE' "$1" | tail -n 1 | tr '\t' ' ')
    echo "${done_line:-no end: see $1}"
}

fuzz() {
    local name=$1 program=$build/tests/fuzz/fuzz_$1 found=$build/found/$1 log=$build/found/$1.log
    local corpus=tests/fuzz/corpus/$1 status=0 crash
    # The program is missing if it tests an adapter that is not built.
    [ -x "$program" ] || { echo "$name: not built"; return 0; }
    mkdir -p "$found"
    if [ "$is_merge" = 1 ]; then
        "$program" -merge=1 -use_counters=0 -max_len=16384 "$corpus" "$found" >"$log" 2>&1 || status=$?
        echo "$name: $(find "$corpus" -type f | wc -l) inputs in $corpus"
        return "$status"
    fi
    rm -f "$build/crashes/$name"-*
    # A fuzzer that does not end by itself is killed, which counts as a failure.
    timeout -k 10 $((seconds + 120)) "$program" -max_total_time="$seconds" \
        -timeout=60 -rss_limit_mb=2048 -artifact_prefix="$build/crashes/$name-" \
        "$found" "$corpus" </dev/null >"$log" 2>&1 || status=$?
    if [ "$status" -eq 0 ]; then
        echo "$name: $(summary "$log")"
        return 0
    fi
    echo "$name: FAILED ($status); the end of $log:" >&2
    tail -n 40 "$log" >&2
    for crash in "$build/crashes/$name"-*; do
        [ -f "$crash" ] || continue
        echo "$name: the input is $crash, in hex:" >&2
        od -An -v -tx1 "$crash" | tr -d ' \n' >&2
        echo >&2
    done
    return 1
}
export -f fuzz summary
export build seconds is_merge

printf '%s\n' "${names[@]}" | xargs -P "${JOBS:-1}" -I NAME bash -c 'fuzz NAME' || {
    echo 'fuzz.sh: FAILED, see above; fix the defect and add the input to tests/fuzz/corpus' >&2
    exit 1
}
[ "$is_merge" = 1 ] || echo "fuzz.sh: no failures in ${#names[@]} targets, $seconds s each"
