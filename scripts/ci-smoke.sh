#!/bin/bash
# A small run in CI: waits until a database lets sessions in, loads it, and fails when it did not do
# what was expected of it.
#
#   ci-smoke.sh TARGET [option of append …]
#
# Environment: APPEND (the program; default: ./append, the one installed with this script, or the one
# in PATH), SESSIONS (20), RECORDS (20000), WAIT (seconds that the server may take to be ready, 60;
# what waiting cannot help, such as a wrong password, ends the run at once), OUT (folder for what is
# kept, append-smoke; must not have a run yet), EXPECT (bounds of --expect,
# 'lost==0, sessions_connected==' and SESSIONS; empty: none).
#
# In OUT stay: run/ with all files of the run and report.html in it, run.txt (what the run printed)
# and junit.xml, which is there however this script ends.
# The exit code is that of append: 0 when all is as expected, 5 when a bound was missed, 4 when the
# server was not ready in time or refused; 2 for wrong usage.
set -euo pipefail

out=${OUT:-append-smoke}
junit=$out/junit.xml

# A JUnit file with one error, for what append itself did not live to tell.
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
[ -n "$append" ] || fail 'there is no ./append, and none in PATH: set APPEND'
command -v "$append" >/dev/null || fail "APPEND '$append' is no program"
[ ! -e "$out/run" ] || fail "$out/run exists already: set OUT"
mkdir -p "$out"
rm -f "$junit"

words=("$sessions" "$records" "$target" --out "$out/run" --junit "$junit" --report)
[ "$wait" = 0 ] || words+=(--wait "$wait")
[ -z "$expect" ] || words+=(--expect "$expect")
code=0
"$append" "${words[@]}" "$@" >"$out/run.txt" || code=$?
cat "$out/run.txt"
note=$(sed -n 's/.*"note": "\(.* rows were there before, .*\)".*/\1/p' "$out/run/run.json" 2>/dev/null) || true
[ -z "$note" ] || echo "ci-smoke.sh: NOTE: $note" >&2
[ -s "$junit" ] || write_junit "append ended with $code and did not say more than the log of this job has" "$code"
exit "$code"
