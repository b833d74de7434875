#!/bin/bash
# Prints the folder of Machbase's client library for the tests. Downloads the library if it is missing.
#
#   scripts/machbase_client.sh [FOLDER]     default: $XDG_CACHE_HOME/append or ~/.cache/append
#
# The library belongs to the vendor and is part of a Python package that anyone may download. It is not
# part of append and is not distributed with append. Fails when the library cannot be downloaded.
set -euo pipefail

name=machbaseAPI
version=1.12
sha256=630771b7b75e991009486110c33d13526e28b1befa5728d68d0d80a70e09d5a8
wheel=$name-$version-py3-none-any.whl
folder=${1:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/append}/$name-$version

[ "$(uname -s)" = Linux ] || { echo "machbase_client.sh: needs Linux, not $(uname -s)" >&2; exit 1; }
case $(uname -m) in
x86_64) library=libmachbaseAPI_x64.so ;;
aarch64) library=libmachbaseAPI_arm64.so ;;
*) echo "machbase_client.sh: the vendor has no library for $(uname -m)" >&2; exit 1 ;;
esac

if [ ! -f "$folder/$library" ]; then
    mkdir -p "${folder%/*}"
    temp=$(mktemp -d "$folder.XXXXXX")
    trap 'rm -rf "$temp"' EXIT
    timeout 120 python3 -m pip --disable-pip-version-check download --quiet --no-deps \
        --no-cache-dir --retries 1 --dest "$temp" "$name==$version" </dev/null >&2 ||
        { echo "machbase_client.sh: pip cannot download $name==$version" >&2; exit 1; }
    echo "$sha256  $temp/$wheel" | sha256sum --check --status ||
        { echo "machbase_client.sh: the SHA-256 of the downloaded $wheel is wrong" >&2; exit 1; }
    python3 -m zipfile -e "$temp/$wheel" "$temp/x"
    mkdir -p "$folder"
    mv "$temp/x/$name/lib/$library" "$folder/$library"
fi
cd "$folder" && pwd
