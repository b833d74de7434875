#!/bin/bash
# A small run in CI: waits until a database lets sessions in, loads it, and fails when it did not do
# what was expected of it.
#
#   scripts/ci-smoke.sh TARGET [option of append …]
#
# Environment: APPEND (the program; default: ./append, else the one in PATH), SESSIONS (20),
# RECORDS (20000), WAIT (seconds that the server may take to be ready, 60), OUT (folder for what is
# kept, append-smoke; must not have a run yet), EXPECT (bounds of --expect,
# 'lost==0, sessions_connected==' and SESSIONS; empty: none).
#
# In OUT stay: run/ with all files of the run, and report.html in it where gnuplot is installed,
# junit.xml, check.txt (what would limit the run) and run.txt (what the run printed).
# The exit code is that of append: 0 when all is as expected, 5 when a bound was missed, 4 when the
# server was not ready in time or refused; 2 for wrong usage.
set -euo pipefail

fail() { echo "ci-smoke.sh: $1" >&2; exit "$2"; }

case ${1:--} in -*) fail 'usage: scripts/ci-smoke.sh TARGET [option of append …]' 2 ;; esac
target=$1
shift
sessions=${SESSIONS:-20} records=${RECORDS:-20000} wait=${WAIT:-60} out=${OUT:-append-smoke}
expect=${EXPECT-lost==0, sessions_connected==$sessions}
append=${APPEND:-}
if [ -z "$append" ]; then
    append=./append
    [ -x "$append" ] || append=$(command -v append) || fail 'there is no ./append, and none in PATH: set APPEND' 2
fi
command -v "$append" >/dev/null || fail "APPEND '$append' is no program" 2
case $wait in '' | *[!0-9]*) fail "WAIT '$wait' is not a number of seconds" 2 ;; esac
[ ! -e "$out/run" ] || fail "$out/run exists already: set OUT" 2
mkdir -p "$out"

# Options of a run that check does not know must not keep it from asking.
options=()
while IFS= read -r option; do options+=("$option"); done < <("$append" check --help | sed -n 's/^  \(--[a-z-]*\).*/\1/p')
known=()
for ((i = 1; i <= $#; i++)); do
    word=${!i}
    for option in "${options[@]}"; do
        case $word in
        "$option"=*) known+=("$word") ;;
        "$option")
            known+=("$word")
            next=$((i + 1))
            if [ "$next" -le $# ] && [ "${!next#--}" = "${!next}" ]; then
                known+=("${!next}")
            fi
            ;;
        esac
    done
done

end=$((SECONDS + wait))
while :; do
    code=0
    timeout 60 "$append" check "$sessions" "$target" "${known[@]}" >"$out/check.txt" 2>"$out/check.err" || code=$?
    # 4: it is not there yet, or has no room for the sessions of the run yet
    [ "$code" -eq 4 ] || [ "$code" -eq 124 ] || break
    [ "$SECONDS" -lt "$end" ] || { cat "$out/check.txt" "$out/check.err" >&2; fail "$target was not ready within $wait s" 4; }
    sleep 1
done
[ "$code" -ne 2 ] || { cat "$out/check.err" >&2; exit 2; }
rm -f "$out/check.err"

words=("$sessions" "$records" "$target" --out "$out/run" --junit "$out/junit.xml")
[ -z "$expect" ] || words+=(--expect "$expect")
if command -v gnuplot >/dev/null; then
    words+=(--report)
else
    echo 'ci-smoke.sh: NOTE: gnuplot is not installed, so there is no report.html' >&2
fi
code=0
"$append" "${words[@]}" "$@" >"$out/run.txt" || code=$?
cat "$out/run.txt"
note=$(sed -n 's/.*"note": "\(.* rows were there before, .*\)".*/\1/p' "$out/run/run.json" 2>/dev/null) || true
[ -z "$note" ] || echo "ci-smoke.sh: NOTE: $note" >&2
exit "$code"
