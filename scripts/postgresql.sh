#!/bin/bash
# A private PostgreSQL server for tests and measurements.
#
#   postgresql.sh start DIR [setting=value …]   creates and starts a server in DIR/postgresql; its
#                                               files belong to a user who is not root
#   postgresql.sh stop DIR [fast|immediate]     stops it
#   postgresql.sh kill DIR                      kills the postmaster with SIGKILL, like a crash
#   postgresql.sh restart DIR                   starts a stopped or killed server on its old port
#
# Environment: APPEND_POSTGRESQL_BIN (the folder of the server's programs, if not the system's);
# APPEND_TEST_TEMPLATES (a folder; the first start keeps a data directory with the roles and the database
# in it, and later starts of the same programs copy that directory).
#
# After `start` DIR/postgresql contains: port, the port on 127.0.0.1 (below 32,768, outside the range
# of client ports); log, the server's log. Roles: append (no password), append_pw (password "append
# secret"), postgres (superuser, no password). Database: append.
set -euo pipefail

fail() { echo "postgresql.sh: $*" >&2; exit 1; }

[ $# -ge 2 ] || fail 'usage: postgresql.sh start|stop|kill|restart DIR [setting=value …]'
command=$1 dir=$2
shift 2
[ -d "$dir" ] || fail "no folder $dir"
home=$(cd "$dir" && pwd)/postgresql

bin=${APPEND_POSTGRESQL_BIN:-$(pg_config --bindir 2>/dev/null || true)}
[ -x "$bin/initdb" ] || bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
[ -x "$bin/initdb" ] || bin=$(dirname "$(command -v initdb || echo /nowhere/initdb)")
[ -x "$bin/initdb" ] || fail 'no PostgreSQL server programs found (scripts/setup.sh test)'

# PostgreSQL refuses to run as root.
user=$(id -un)
as_user=()
if [ "$(id -u)" -eq 0 ]; then
    user=nobody
    id postgres >/dev/null 2>&1 && user=postgres
    as_user=(setpriv --reuid="$user" --regid="$(id -gn "$user")" --init-groups --)
fi
run() { (cd "$home" && exec env -u PGHOST -u PGPORT -u PGUSER -u PGDATABASE "${as_user[@]}" "$@" </dev/null); }

# Returns whether the port is free, and reserves it: other servers of these tests do not get this port
# while its server is stopped.
port_is_free() {
    [ -z "${APPEND_TEST_SERVERS:-}" ] || mkdir "$APPEND_TEST_SERVERS/port-$1" 2>/dev/null || return 1
    ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

start() {
    mkdir "$home"
    chown "$user" "$home"
    # The server's user must be able to enter the folder, which mktemp -d makes for one user only.
    [ "$(id -u)" -ne 0 ] || chmod a+x "$dir"
    make_data
    printf '%s\n' >"$home/pg_hba.conf" \
        'local all all trust' \
        'host all append_pw 127.0.0.1/32 scram-sha-256' \
        'host all all 127.0.0.1/32 trust'
    local settings="listen_addresses = '127.0.0.1'
unix_socket_directories = '$home'
hba_file = '$home/pg_hba.conf'
max_connections = 1100
password_encryption = 'scram-sha-256'
ssl = off
logging_collector = off
" setting
    for setting in "$@"; do
        settings+="${setting%%=*} = '${setting#*=}'"$'\n'
    done
    printf '%s' "$settings" >>"$home/data/postgresql.conf"
    local try port
    for try in {1..20}; do
        port=$((20000 + (RANDOM * 7 + $$) % 12000))
        port_is_free "$port" || continue
        if run "$bin/pg_ctl" -D data -l log -o "-p $port" -w -t 60 start >/dev/null 2>&1; then
            echo "$port" >"$home/port"
            return
        fi
        [ "$try" -lt 20 ] && grep -q 'could not bind' "$home/log" || break
    done
    tail -n 20 "$home/log" >&2 || true
    fail 'the server did not start'
}

# Makes the data directory: copies the template if it exists, because initdb takes ten times as long.
make_data() {
    local template=${APPEND_TEST_TEMPLATES:-/nowhere}/postgresql${bin//\//_}
    if [ -d "$template" ]; then
        cp -a "$template" "$home/data"
        return
    fi
    run "$bin/initdb" -D data -U postgres --auth=trust -E UTF8 --locale=C --no-sync >"$home/initdb.log" 2>&1 ||
        { cat "$home/initdb.log" >&2; fail "initdb failed"; }
    make_roles
    [ -z "${APPEND_TEST_TEMPLATES:-}" ] || cp -a "$home/data" "$template"
}

# Runs the SQL statements on stdin, separated by empty lines, while the server is not running.
run_single() {
    local text
    text=$(cat)
    (cd "$home" && exec "${as_user[@]}" "$bin/postgres" --single -j -D data -c exit_on_error=on \
        -c password_encryption=scram-sha-256 -c fsync=off "$1" <<<"$text" >"$home/roles.log" 2>&1) ||
        { cat "$home/roles.log" >&2; fail 'cannot create the roles'; }
}

make_roles() {
    run_single postgres <<'END'
CREATE ROLE append LOGIN CREATEDB;

CREATE ROLE append_pw LOGIN PASSWORD 'append secret';

CREATE DATABASE append OWNER append;

END
    run_single append <<<'GRANT ALL ON SCHEMA public TO append, append_pw;'
}

# Prints the pid in the pid file. Fails if the process with this pid is not this server: a pid may be reused.
server_pid() {
    local pid
    pid=$(head -n 1 "$home/data/postmaster.pid" 2>/dev/null) && [ -n "$pid" ] || return 1
    [ "$(readlink "/proc/$pid/cwd" 2>/dev/null)" = "$home/data" ] || return 1
    # A killed process keeps its pid until its parent has waited for it.
    ! grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null || return 1
    echo "$pid"
}

crash() {
    local pid wait
    pid=$(server_pid) || fail "no server runs in $home"
    for ((wait = 0; wait < 300; wait++)); do
        kill -KILL "$pid" 2>/dev/null || true
        server_pid >/dev/null || return 0
        sleep 0.1
    done
    fail "the server in $home does not die"
}

# Starts the server, and tries again if it fails: until the last session of a killed server has ended,
# its shared memory is in use and no new server can start.
restart() {
    local port try
    port=$(cat "$home/port")
    for ((try = 0; try < 120; try++)); do
        ! run "$bin/pg_ctl" -D data -l log -o "-p $port" -w -t 60 start >"$home/pg_ctl.log" 2>&1 || return 0
        sleep 0.5
    done
    tail -n 20 "$home/log" "$home/pg_ctl.log" >&2 || true
    fail 'the server did not start again'
}

stop() {
    server_pid >/dev/null || return 0
    # If both commands fail and the pid file is gone, the server has ended.
    run "$bin/pg_ctl" -D data -m "${1:-fast}" -w -t 30 stop >/dev/null 2>&1 ||
        run "$bin/pg_ctl" -D data -m immediate -w -t 30 stop >/dev/null 2>&1 ||
        [ ! -f "$home/data/postmaster.pid" ] || fail "the server in $home does not stop"
}

case $command in
start) start "$@" ;;
stop) stop "$@" ;;
kill) crash ;;
restart) restart ;;
*) fail "unknown command $command" ;;
esac
