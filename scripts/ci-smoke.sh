#!/bin/bash
# A small run for CI: waits until a database accepts sessions, writes rows to it, and fails if the
# result is not as expected.
#
#   ci-smoke.sh TARGET [option of append …]
#
# Environment, with defaults:
#   APPEND     the program (default: ./append, else the program installed with this script, else
#              append from PATH)
#   SESSIONS   sessions (20)
#   RECORDS    rows (20000)
#   WAIT       seconds to wait for the server (60); an error such as a wrong password ends the run
#              immediately
#   OUT        folder for the results (append-smoke); must not contain a run
#   EXPECT     conditions for --expect (lost==0, sessions_connected==SESSIONS); empty: no conditions
#
# Results in OUT: run/, all files of the run with report.html; run.txt, the output of the run; and
# junit.xml, which is written however this script ends.
# The exit code is that of append: 0 the result is as expected, 5 a condition of EXPECT is not met, 4 the
# server was not ready in time or refused sessions, 2 wrong usage.
set -euo pipefail

out=${OUT:-append-smoke}
junit=$out/junit.xml

# Writes a JUnit file with one error. Called when append could not write the file itself.
write_junit() {
    local text
    text=$(printf %s "$1" | tr '[:cntrl:]' ' ' | sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g; s/"/\&quot;/g')
    mkdir -p "$out" && cat >"$junit" <<END
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="append" tests="1" failures="0" errors="1">
  <testsuite name="append" tests="1" failures="0" errors="1">
    <testcase classname="append" name="outcome" time="0"><error type="exit-code-$2" message="$text"/></testcase>
  </testsuite>
</testsuites>
END
}
fail() {
    echo "ci-smoke.sh: $1" >&2
    write_junit "$1" 2
    exit 2
}

case ${1:--} in -*) fail 'usage: ci-smoke.sh TARGET [option of append …]' ;; esac
target=$1
shift
sessions=${SESSIONS:-20} records=${RECORDS:-20000} wait=${WAIT:-60}
expect=${EXPECT-lost==0, sessions_connected==$sessions}
append=${APPEND:-}
for program in ./append "${BASH_SOURCE[0]%/*}/../../bin/append" append; do
    [ -n "$append" ] || append=$(command -v "$program") || true
done
[ -n "$append" ] || fail 'append is neither here (./append) nor in PATH: set APPEND'
command -v "$append" >/dev/null || fail "APPEND '$append' is not a program"
[ ! -e "$out/run" ] || fail "$out/run exists already: set OUT"
mkdir -p "$out"
rm -f "$junit"

words=("$sessions" "$records" "$target" --out "$out/run" --junit "$junit" --report)
[ "$wait" = 0 ] || words+=(--wait "$wait")
[ -z "$expect" ] || words+=(--expect "$expect")
code=0
"$append" "${words[@]}" "$@" >"$out/run.txt" || code=$?
cat "$out/run.txt"
note=$(sed -n 's/.*"note": "\(the table had .* rows before the run, .*\)".*/\1/p' "$out/run/run.json" 2>/dev/null) || true
[ -z "$note" ] || echo "ci-smoke.sh: NOTE: $note" >&2
[ -s "$junit" ] || write_junit "append ended with exit code $code: see the log of this job" "$code"
exit "$code"
