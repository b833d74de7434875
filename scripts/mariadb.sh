#!/bin/bash
# A private MariaDB server for tests and measurements.
#
#   mariadb.sh start DIR [option=value …]    makes and starts a server in DIR/mariadb, whose files
#                                            are owned by a user who is not root
#   mariadb.sh stop DIR [fast|immediate]     stops it: in good order, or at once (SIGKILL)
#   mariadb.sh kill DIR                      SIGKILL: a crash
#   mariadb.sh restart DIR                   starts a stopped or killed server again, same port
#
# After `start`: DIR/mariadb/port has its port on 127.0.0.1 (below 32,768: not in the range that the
# client's own connections use), DIR/mariadb/sock is its socket, DIR/mariadb/pid its process,
# DIR/mariadb/log what it said. Users: append (no password), append_pw (password "append secret"),
# root (superuser, no password). Database: append. Both ordinary users may do everything in the
# databases whose names begin with append or cli.
set -euo pipefail

fail() { echo "mariadb.sh: $*" >&2; exit 1; }

[ $# -ge 2 ] || fail 'usage: mariadb.sh start|stop|kill|restart DIR [option=value …]'
command=$1 dir=$2
shift 2
[ -d "$dir" ] || fail "no folder $dir"
home=$(cd "$dir" && pwd)/mariadb

# The server's programs are not in the PATH of an ordinary user.
export PATH=$PATH:/usr/sbin:/usr/local/sbin

# The server refuses to run as root, unless told so.
user=$(id -un)
as_user=()
if [ "$(id -u)" -eq 0 ]; then
    user=nobody
    id mysql >/dev/null 2>&1 && user=mysql
    as_user=(setpriv --reuid="$user" --regid="$(id -gn "$user")" --init-groups --)
fi
# TMPDIR may be a folder into which this user must not write.
clean_env=(env -u MYSQL_HOST -u MYSQL_TCP_PORT -u MYSQL_UNIX_PORT -u MYSQL_HOME -u MYSQL_PWD
    TMPDIR="$home/tmp")
run() { (cd "$home" && exec "${clean_env[@]}" "${as_user[@]}" "$@" </dev/null); }
sql() { run mariadb --no-defaults --socket="$home/sock" --user=root --batch -e "$1"; }

port_is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# The process of the pid file, if that is still this server: the number may be another's by now.
server_pid() {
    local pid
    pid=$(cat "$home/pid" 2>/dev/null) && [ -n "$pid" ] || return 1
    { tr '\0' '\n' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -qxF -- "--datadir=$home/data" || return 1
    # A killed process that nobody has waited for yet still has a number.
    ! grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null || return 1
    echo "$pid"
}

start() {
    local program
    for program in mariadbd mariadb-install-db mariadb; do
        command -v "$program" >/dev/null || fail "no program $program found (scripts/setup.sh test)"
    done
    local socket_bytes
    socket_bytes=$(printf %s "$home/sock" | wc -c)
    [ "$socket_bytes" -le 107 ] || fail "$home/sock is too long for a socket ($socket_bytes > 107 bytes)"
    mkdir "$home" "$home/tmp"
    chmod 755 "$home"
    chown "$user" "$home" "$home/tmp"
    # The user must be able to walk to the folder, as mktemp -d makes folders for one user only.
    [ "$(id -u)" -ne 0 ] || chmod a+x "$dir"
    # Nothing of the files made here has to survive a power cut.
    run mariadb-install-db --no-defaults --datadir="$home/data" --skip-test-db --skip-name-resolve \
        --auth-root-authentication-method=normal --innodb-flush-method=nosync --sync-frm=0 \
        >"$home/install.log" 2>&1 ||
        { cat "$home/install.log" >&2; fail 'mariadb-install-db failed'; }

    local option port pid
    : >"$home/options"
    for option in "$@"; do
        printf -- '--%s\n' "$option" >>"$home/options"
    done
    for _ in 1 2 3 4 5; do
        port=$((20000 + (RANDOM * 7 + $$) % 12000))
        port_is_free "$port" || continue
        launch "$port" &
        pid=$!
        if wait_until_up "$pid"; then
            make_users
            echo "$port" >"$home/port"
            return
        fi
        # The port may have been taken since.
        grep -q 'Bind on TCP/IP port' "$home/log" || break
    done
    tail -n 20 "$home/log" >&2 || true
    fail 'the server did not start'
}

launch() {
    local options
    mapfile -t options <"$home/options"
    # setsid: Ctrl-C on the terminal is for the program that measures, not for the server.
    cd "$home" && exec "${clean_env[@]}" "${as_user[@]}" setsid mariadbd --no-defaults \
        --datadir="$home/data" --socket="$home/sock" --pid-file="$home/pid" \
        --bind-address=127.0.0.1 --port="$1" --skip-name-resolve \
        --character-set-server=utf8mb4 --max-connections=1100 "${options[@]}" \
        </dev/null >>"$home/log" 2>&1
}

restart() {
    ! server_pid >/dev/null || fail "the server in $home runs"
    launch "$(cat "$home/port")" &
    wait_until_up "$!" || { tail -n 20 "$home/log" >&2; fail 'the server did not start again'; }
}

wait_until_up() {
    local wait
    for ((wait = 0; wait < 600; wait++)); do
        ! sql 'select 1' >/dev/null 2>&1 || return 0
        kill -0 "$1" 2>/dev/null || return 1
        sleep 0.1
    done
    kill -KILL "$1" || true
    return 1
}

make_users() {
    sql "CREATE DATABASE append;
        CREATE USER append@'%', append_pw@'%' IDENTIFIED BY 'append secret';
        CREATE USER IF NOT EXISTS root@'127.0.0.1';
        GRANT ALL ON \`append%\`.* TO append@'%', append_pw@'%';
        GRANT ALL ON \`cli%\`.* TO append@'%', append_pw@'%';
        GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION" ||
        { stop immediate; fail 'the users could not be made'; }
}

stop() {
    local pid wait signal=TERM
    [ "${1:-fast}" = fast ] || signal=KILL
    for ((wait = 0; wait < 600; wait++)); do
        pid=$(server_pid) || return 0
        [ "$wait" -lt 300 ] || signal=KILL
        [ $((wait % 300)) -ne 0 ] || kill "-$signal" "$pid" 2>/dev/null || true
        sleep 0.1
    done
    fail "the server in $home does not stop"
}

case $command in
start) start "$@" ;;
stop) stop "$@" ;;
kill) server_pid >/dev/null || fail "no server runs in $home"; stop immediate ;;
restart) restart ;;
*) fail "unknown command $command" ;;
esac
