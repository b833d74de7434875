#!/bin/bash
# A private MariaDB server for tests and measurements.
#
#   mariadb.sh start DIR [option=value …]    creates and starts a server in DIR/mariadb; its files
#                                            belong to a user who is not root
#   mariadb.sh stop DIR [fast|immediate]     stops it: cleanly, or immediately (SIGKILL)
#   mariadb.sh kill DIR                      kills it with SIGKILL, like a crash
#   mariadb.sh restart DIR                   starts a stopped or killed server on its old port
#
# Environment: APPEND_TEST_TEMPLATES (a folder; the first start keeps a data directory with the users
# and the database in it, and later starts copy that directory).
#
# After `start` DIR/mariadb contains: port, the port on 127.0.0.1 (below 32,768, outside the range of
# client ports); sock, the socket; pid, the process; log, the server's log. Users: append (no
# password), append_pw (password "append secret"), root (superuser, no password). Database: append.
# Both ordinary users have all privileges on databases with names that begin with append or cli.
set -euo pipefail

name=mariadb account=mysql ports=1 taken='Bind on TCP/IP port'
# shellcheck source=scripts/private_server.sh
. "$(dirname "$0")/private_server.sh"

mark() { echo "--datadir=$home/data"; }

# The server's user may not be allowed to write to the current TMPDIR.
clean_env=(env -u MYSQL_HOST -u MYSQL_TCP_PORT -u MYSQL_UNIX_PORT -u MYSQL_HOME -u MYSQL_PWD
    TMPDIR="$home/tmp")
run() { (cd "$home" && exec "${clean_env[@]}" "${as_user[@]}" "$@" </dev/null); }
sql() { run mariadb --no-defaults --socket="$home/sock" --user=root --batch -e "$1"; }

is_up() { sql 'select 1'; }

template=${APPEND_TEST_TEMPLATES:+$APPEND_TEST_TEMPLATES/mariadb}
is_copy=0

prepare() {
    local option
    needs mariadbd mariadb-install-db mariadb
    local socket_bytes
    socket_bytes=$(printf %s "$home/sock" | wc -c)
    [ "$socket_bytes" -le 107 ] || fail "$home/sock is too long for a socket ($socket_bytes > 107 bytes)"
    mkdir "$home" "$home/tmp"
    chown "$user" "$home" "$home/tmp"
    [ "$(id -u)" -ne 0 ] || chmod a+x "$dir"
    if [ -r "${template:-/nowhere}" ]; then # users other than the template's owner cannot read it
        cp -a --sparse=always "$template" "$home/data"
        is_copy=1
    else
        # Does not sync the files to the disk, because they need not survive a power failure.
        run mariadb-install-db --no-defaults --datadir="$home/data" --tmpdir="$home/tmp" --skip-test-db \
            --skip-name-resolve --auth-root-authentication-method=normal --innodb-flush-method=nosync --sync-frm=0 \
            >"$home/install.log" 2>&1 ||
            { cat "$home/install.log" >&2; fail 'mariadb-install-db failed'; }
    fi
    : >"$home/options"
    for option in "${options[@]}"; do
        printf -- '--%s\n' "$option" >>"$home/options"
    done
}

configure() { :; }

launch() {
    local options
    mapfile -t options <"$home/options"
    # setsid: Ctrl-C on the terminal must reach only the measuring program, not the server.
    cd "$home" && exec "${clean_env[@]}" "${as_user[@]}" setsid mariadbd --no-defaults \
        --datadir="$home/data" --socket="$home/sock" --pid-file="$home/pid" \
        --bind-address=127.0.0.1 --port="$1" --skip-name-resolve \
        --character-set-server=utf8mb4 --max-connections=1100 "${options[@]}" \
        </dev/null >>"$home/log" 2>&1
}

set_up() {
    [ "$is_copy" -eq 0 ] || return 0
    sql "CREATE DATABASE append;
        CREATE USER append@'%', append_pw@'%' IDENTIFIED BY 'append secret';
        CREATE USER IF NOT EXISTS root@'127.0.0.1';
        GRANT ALL ON \`append%\`.* TO append@'%', append_pw@'%';
        GRANT ALL ON \`cli%\`.* TO append@'%', append_pw@'%';
        GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION" ||
        { stop immediate; fail 'cannot create the users'; }
    [ -n "$template" ] && [ ! -d "$template" ] || return 0
    stop fast
    cp -a --sparse=always "$home/data" "$template"
    launch "$1" &
    wait_until_up "$!" "$1" || { say_log; fail 'the server did not start again'; }
}

private_server
