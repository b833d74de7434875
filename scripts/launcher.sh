#!/bin/sh
# This script is bin/append of the tarball. It starts the program, or lists all missing libraries with
# their packages. (The dynamic linker would name only the first missing library, and not its package.)
program=$(dirname "$(readlink -f "$0")")/../lib/append/append
missing=$(LD_TRACE_LOADED_OBJECTS=1 "$program" 2>/dev/null | sed -n 's/^[[:space:]]*\(.*\) => not found$/\1/p')
[ -n "$missing" ] || exec "$program" "$@"
# libNAME.so.4 is in the package libNAME4, or in libNAME-4 if NAME ends in a digit (Debian Policy 8.1)
packages=$(echo "$missing" | sed 's/\([0-9]\)\.so\./\1-/; s/\.so\.//')
echo "append: these libraries are not installed:" $missing "(on Debian or Ubuntu: apt-get install" $packages")" >&2
exit 3
