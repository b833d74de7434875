#!/bin/sh
# Installs what the build ("run") or also the tests ("test") need.
# Debian 12, Ubuntu 22.04 and 24.04; does nothing when all is there.
set -eu

usage='usage: scripts/setup.sh run|test'
run_packages='gcc libc6-dev cmake ninja-build pkg-config python3 libpq-dev libsqlite3-dev libjansson-dev'
test_packages='git postgresql postgresql-client libcmocka-dev clang-format clang-tidy cppcheck valgrind util-linux procps'

case "${1:-run}" in
run) packages=$run_packages ;;
test) packages="$run_packages $test_packages" ;;
*) echo "$usage" >&2; exit 2 ;;
esac

missing=
if command -v dpkg-query >/dev/null 2>&1; then
    for package in $packages; do
        case "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)" in
        *' ok installed') ;;
        *) [ "$package" = pkg-config ] && command -v pkg-config >/dev/null || missing="$missing $package" ;;
        esac
    done
else
    # Not Debian: the programs and libraries themselves may still be there.
    for program in cc cmake ninja pkg-config python3; do
        command -v "$program" >/dev/null 2>&1 || missing="$missing $program"
    done
    for library in jansson libpq sqlite3; do
        pkg-config --exists "$library" 2>/dev/null || missing="$missing $library"
    done
    [ -z "$missing" ] || { echo "setup.sh: no dpkg here; please install:$missing" >&2; exit 1; }
fi
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
        as_root=sudo
    else
        echo "setup.sh: packages are missing and I am neither root nor able to use sudo; as root:" >&2
        echo "    apt-get install --no-install-recommends$missing" >&2
        exit 1
    fi
fi

# The tests start servers of their own: the package is not to make and start a system cluster.
no_cluster=/etc/postgresql-common/createcluster.d/append-setup.conf
remove_no_cluster() { [ ! -e "$no_cluster" ] || $as_root rm -f "$no_cluster"; }
case " $missing " in
*' postgresql '*)
    trap remove_no_cluster EXIT
    trap 'exit 130' INT TERM HUP
    $as_root mkdir -p "${no_cluster%/*}"
    echo 'create_main_cluster = false' | $as_root tee "$no_cluster" >/dev/null
    ;;
esac

echo "setup.sh: installing$missing" >&2
$as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq </dev/null
# shellcheck disable=SC2086 # a list of words
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o Dpkg::Options::=--force-confold -o DPkg::Lock::Timeout=300 $missing </dev/null
