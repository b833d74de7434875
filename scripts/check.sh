#!/bin/bash
# Static checks: clang-format, clang-tidy, cppcheck. Prints the findings and fails if there are any.
# BUILD = a configured build folder (default build/check, created when missing).
set -euo pipefail
cd "$(dirname "$0")/.."

build=${BUILD:-build/check}
[ -f "$build/compile_commands.json" ] || cmake -S . -B "$build" -G Ninja >/dev/null
cmake --build "$build" --target generated_sources >/dev/null

mapfile -t sources < <(find src tests include -name '*.[ch]' | sort)
# Leaves out tests/outside, which is not in this build: it is compiled with the installed headers.
mapfile -t units < <(printf '%s\n' "${sources[@]}" | grep '\.c$' | grep -vE '\.bpf\.c$|^tests/outside/')
failed=0

echo "clang-format: ${#sources[@]} files"
clang-format --dry-run -Werror "${sources[@]}" || failed=1

echo "clang-tidy: ${#units[@]} files"
printf '%s\n' "${units[@]}" |
    xargs -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet --extra-arg=-Wno-error 2> >(grep -vE 'warnings? (generated|treated)|^Suppressed' >&2) || failed=1

echo 'cppcheck'
cppcheck --quiet --std=c11 --language=c -j "$(nproc)" --error-exitcode=1 --inline-suppr \
    --enable=warning,performance,portability \
    --suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches \
    -D_GNU_SOURCE '-DAPPEND_VERSION="0"' -DAPPEND_HAVE_SQLITE=1 -DAPPEND_HAVE_POSTGRESQL=1 \
    -DAPPEND_HAVE_IO_TRACE=1 -DAPPEND_HAVE_MARIADB=1 -DAPPEND_HAVE_ODBC=1 -DAPPEND_HAVE_MACHBASE=1 -DAPPEND_HAVE_HTTP=1 \
    -i src/trace/io.bpf.c -i src/trace/switch.bpf.c -Iinclude -Isrc src || failed=1

if [ "$failed" -ne 0 ]; then
    echo 'check.sh: FAILED, see above' >&2
    exit 1
fi
echo 'check.sh: clean'
