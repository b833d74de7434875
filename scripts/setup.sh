#!/bin/sh
# Installs packages on Debian 12, Ubuntu 22.04 and Ubuntu 24.04: with "run" the packages for the build,
# with "test" also the packages for the tests, with "bench" also the packages for scripts/bench.sh. Does
# nothing if all packages are installed, and never removes a package. "bench" also builds k6 in
# ~/.cache/append-bench.
set -eu

PATH=$PATH:/usr/sbin:/usr/local/go/bin
usage='usage: scripts/setup.sh run|test|bench'
run_packages='gcc libc6-dev cmake make ninja-build pkg-config python3 libpq-dev libsqlite3-dev
    libmariadb-dev unixodbc-dev libjansson-dev libmicrohttpd-dev liblua5.4-dev
    libcurl4-openssl-dev libbpf-dev clang bpftool'
test_packages='git gnuplot-nox postgresql postgresql-client pg-wait-sampling pgbouncer mariadb-server mariadb-client clickhouse-server influxdb odbcinst odbc-postgresql
    odbc-mariadb libsqliteodbc libcmocka-dev fio clang-format clang-tidy
    libclang-rt-dev cppcheck valgrind xfsprogs util-linux procps mandoc man-db zsh dpkg-dev python3-yaml
    python3-pip openssl libopenmpi-dev openmpi-bin iproute2 chromium docker.io
    podman runc'
bench_packages='sysbench wrk golang-go clickhouse-server clickhouse-client'
k6=v1.8.1
k6_go=go1.25.12 # the version that k6 needs; an older Go downloads it

case "${1:-run}" in
run) packages=$run_packages ;;
test) packages="$run_packages $test_packages" ;;
bench) packages="$run_packages $test_packages $bench_packages" ;;
*) echo "$usage" >&2; exit 2 ;;
esac

# Returns whether clang can link its fuzzing library. Builds a program to find out, because the folder of
# the library depends on the distribution.
can_fuzz() {
    echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n); int LLVMFuzzerTestOneInput(
        const char *d, unsigned long n) { return (int)(d == 0 && n > 0); }' |
        clang -fsanitize=fuzzer,address,undefined -x c - -o /dev/null 2>/dev/null
}

# Returns whether a file of the package is installed, perhaps by a package with another name.
is_there_by_another_name() {
    case $1 in
    pg-wait-sampling) ls /usr/lib/postgresql/*/lib/pg_wait_sampling.so >/dev/null 2>&1 ;;
    pkg-config) command -v pkg-config >/dev/null ;;
    mariadb-server) [ -x /usr/sbin/mariadbd ] && command -v mariadb-install-db >/dev/null ;;
    gnuplot-nox) command -v gnuplot >/dev/null ;;
    clang | bpftool | fio) command -v "$1" >/dev/null ;;
    chromium) command -v chromium >/dev/null || command -v chromium-browser >/dev/null ;;
    libclang-rt-dev) can_fuzz ;;
    libcurl4-openssl-dev) pkg-config --exists libcurl 2>/dev/null ;;
    python3-pip) python3 -m pip --version >/dev/null 2>&1 ;;
    golang-go) command -v go >/dev/null ;;
    podman | runc) command -v "$1" >/dev/null ;;
    docker.io) command -v dockerd >/dev/null && command -v docker >/dev/null ;;
    clickhouse-server | clickhouse-client) command -v "$1" >/dev/null ;;
    influxdb) command -v influxd >/dev/null ;;
    *) false ;;
    esac
}

build_k6() {
    go=go
    if [ -z "$(go env GOTOOLCHAIN)" ]; then # Go before 1.21 does not download a newer Go itself
        module=golang.org/toolchain@v0.0.1-$k6_go.linux-$(go env GOARCH)
        root=$(cd / && go mod download -json "$module" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
        [ -d "$root" ] && chmod -R u+x "$root/bin" "$root/pkg/tool" || return 1
        go=$root/bin/go
    fi
    GOBIN=$1 GOTOOLCHAIN=auto "$go" install "go.k6.io/k6@$k6" >&2
}

# Builds k6, which is not in the distributions. If k6 is missing, the measurements with k6 are left out.
finish() {
    cache=${XDG_CACHE_HOME:-$HOME/.cache}/append-bench
    if [ "$1" = bench ] && ! "$cache/k6" version 2>/dev/null | grep -q "^k6 $k6 "; then
        echo "setup.sh: building k6 $k6 into $cache" >&2
        build_k6 "$cache" || echo "setup.sh: cannot build k6 $k6" >&2
    fi
    exit 0
}

missing=
if command -v dpkg-query >/dev/null 2>&1; then
    for package in $packages; do
        case "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)" in
        *' ok installed') ;;
        *) is_there_by_another_name "$package" || missing="$missing $package" ;;
        esac
    done
else
    # Not Debian: checks for the programs and libraries themselves.
    programs='cc cmake make ninja pkg-config python3'
    libraries='jansson libmicrohttpd libcurl lua5.4 libpq sqlite3 libmariadb odbc'
    case "${1:-run}" in
    test | bench)
        programs="$programs gnuplot psql pgbouncer mariadbd mariadb mariadb-install-db odbcinst fio clang clang-format clang-tidy
            cppcheck valgrind setpriv mandoc man zsh dpkg-shlibdeps openssl mpirun ip dockerd docker podman"
        libraries="$libraries cmocka"
        [ "$1" = test ] || programs="$programs mysqlslap mysqldump sysbench"
        ;;
    esac
    for program in $programs; do
        command -v "$program" >/dev/null 2>&1 || missing="$missing $program"
    done
    for library in $libraries; do
        pkg-config --exists "$library" 2>/dev/null || missing="$missing $library"
    done
    [ -z "$missing" ] || { echo "setup.sh: this system does not use dpkg; please install:$missing" >&2; exit 1; }
fi
[ -n "$missing" ] || finish "${1:-run}"

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
        as_root=sudo
    else
        echo "setup.sh: packages are missing, and installing them needs root or sudo; run as root:" >&2
        echo "    apt-get install --no-install-recommends$missing" >&2
        exit 1
    fi
fi
apt_get() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" </dev/null; }

# Prevents packages from starting servers of the system, because the tests start their own servers.
no_cluster=/etc/postgresql-common/createcluster.d/append-setup.conf
no_start=/usr/sbin/policy-rc.d
made=
# shellcheck disable=SC2086 # a list of words
remove_made() { [ -z "$made" ] || $as_root rm -f $made; }
trap remove_made EXIT
trap 'exit 130' INT TERM HUP

case " $missing " in
*' postgresql '*)
    made=$no_cluster
    $as_root mkdir -p "${no_cluster%/*}"
    echo 'create_main_cluster = false' | $as_root tee "$no_cluster" >/dev/null
    ;;
esac

echo "setup.sh: installing$missing" >&2
apt_get update

# Not every distribution has these packages. Without bpftool, --io-trace is not built. Without chromium,
# the JavaScript of the HTML report is not tested.
for package in bpftool chromium; do
    apt-cache show "$package" 2>/dev/null | grep -q '^Package' ||
        missing=$(echo "$missing " | sed "s/ $package / /")
done

case " $missing " in
*' mariadb-server '*)
    if apt-cache show mariadb-server-core >/dev/null 2>&1; then
        # Installs only the programs, without a service. (Ubuntu 22.04 does not have this package.)
        missing=$(echo "$missing " | sed 's/ mariadb-server / mariadb-server-core /')
    fi
    ;;
esac

case " $missing " in
*' mariadb-server '* | *' clickhouse-server '* | *' influxdb '* | *' docker.io '* | *' podman '*)
    if [ ! -e "$no_start" ] && [ ! -L "$no_start" ]; then
        made="$made $no_start"
        # shellcheck disable=SC2016 # $1 of the written script
        printf '%s\n' '#!/bin/sh' \
            'case $1 in mariadb | mysql | clickhouse-server | influxdb | docker | containerd | podman*) exit 101 ;; esac' |
            $as_root tee "$no_start" >/dev/null
        $as_root chmod 755 "$no_start"
    fi
    ;;
esac

case " $missing " in
*' libclang-rt-dev '*)
    # The name of the package contains clang's version. If the package does not exist, the package clang
    # contains the library.
    version=$(apt-cache depends clang | sed -n 's/^ *Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)
    runtime=libclang-rt-$version-dev
    apt-cache show "$runtime" >/dev/null 2>&1 || runtime=
    missing=$(echo "$missing " | sed "s/ libclang-rt-dev / $runtime /")
    ;;
esac

case " $missing " in
*' pg-wait-sampling '*)
    # The name of the package contains PostgreSQL's version. If the package does not exist, the tests do
    # not compare --waits with the extension pg_wait_sampling.
    version=$(apt-cache depends postgresql | sed -n 's/^ *Depends: postgresql-\([0-9]*\)$/\1/p' | head -n 1)
    sampling=postgresql-$version-pg-wait-sampling
    apt-cache show "$sampling" >/dev/null 2>&1 || sampling=
    missing=$(echo "$missing " | sed "s/ pg-wait-sampling / $sampling /")
    ;;
esac

# shellcheck disable=SC2086 # a list of words
apt_get install -y --no-remove --no-install-recommends -o Dpkg::Options::=--force-confold \
    -o DPkg::Lock::Timeout=300 $missing
finish "${1:-run}"
