#!/bin/bash
# Builds the packages of append, a .deb and a tarball, in build/package (or $BUILD), and checks them.
#
#   scripts/package.sh                 builds, and checks with lintian if it is installed
#   scripts/package.sh try [SUITE]     also installs the .deb with apt-get in a new system made by
#                                      debootstrap (needs root and network; default SUITE: the
#                                      suite of this machine), and runs append there, also from the
#                                      tarball
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "package.sh: $*" >&2; exit 1; }
case "${1:-}" in
'' | try) ;;
*) fail 'usage: scripts/package.sh [try [SUITE]]' ;;
esac

build=${BUILD:-build/package}
cmake -S . -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=RelWithDebInfo -D APPEND_TESTS=OFF
cmake --build "$build" -j "${JOBS:-2}"
rm -f "$build"/append_*.deb "$build"/append-*.tar.gz
(cd "$build" && cpack -G 'DEB;TGZ')
deb=$(echo "$build"/append_*.deb)
[ -f "$deb" ] || fail "no .deb in $build"
dpkg-deb --info "$deb"
if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error "$deb"
else
    echo 'package.sh: NOTE: lintian is not installed, so the .deb was not checked with it' >&2
fi
echo "package.sh: $deb" "$build"/append-*.tar.gz
[ "${1:-}" = try ] || exit 0

[ "$(id -u)" -eq 0 ] || fail 'try needs root'
command -v debootstrap >/dev/null || fail 'try needs debootstrap'
# shellcheck disable=SC1091 # a system file
suite=${2:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
root=$(mktemp -d)
finish() {
    status=$?
    trap - EXIT INT TERM HUP
    umount -l "$root/proc" 2>/dev/null || true
    rm -rf --one-file-system "$root"
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
debootstrap --variant=minbase "$suite" "$root" ${MIRROR:+"$MIRROR"}
mount -t proc proc "$root/proc"
for file in /etc/resolv.conf /etc/apt/apt.conf.d/*proxy*; do
    [ ! -f "$file" ] || install -D -m 644 "$file" "$root$file"
done
cp "$deb" "$root/tmp/append.deb"
tar -C "$root/opt" --strip-components=1 -xf "$(echo "$build"/append-*.tar.gz)"
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"; }
said=$(inside /opt/bin/append --version 2>&1) && fail 'the tarball runs without its libraries'
case $said in *libpq5*libmariadb3*) ;; *) fail "the tarball does not name its libraries: $said" ;; esac
inside apt-get -qq update
inside apt-get -qq install -y --no-install-recommends /tmp/append.deb
inside append --version
inside sh -c 'cd /tmp && append 50 100000 && /usr/share/append/ci-smoke.sh sqlite:'
inside /opt/bin/append --version
inside apt-get -qq remove -y append
! inside test -e /usr/bin/append || fail 'append is still there after its removal'
echo 'package.sh: installed, run and removed in a new system'
