#!/bin/bash
# A private InfluxDB 1.x server for tests and measurements.
#
#   influxdb.sh start DIR [section.setting=value …]   makes and starts a server in DIR/influxdb, whose
#                                                     files are owned by a user who is not root
#   influxdb.sh stop DIR [fast|immediate]             stops it: in good order, or at once (SIGKILL)
#   influxdb.sh kill DIR                              SIGKILL: a crash
#   influxdb.sh restart DIR                           starts a stopped or killed server again, same port
#
# After `start`: DIR/influxdb/port has its port on 127.0.0.1 (below 32,768: not in the range that the
# client's own connections use), DIR/influxdb/pid its process, DIR/influxdb/log what it said. Database:
# append. Users: root (superuser) and append_pw, both with the password "append secret";
# they are asked for it only after `start DIR http.auth-enabled=true`. append_pw may read and write the
# database append, and no more. Settings are those of influxd's configuration file.
set -euo pipefail

fail() { echo "influxdb.sh: $*" >&2; exit 1; }

[ $# -ge 2 ] || fail 'usage: influxdb.sh start|stop|kill|restart DIR [section.setting=value …]'
command=$1 dir=$2
shift 2
[ -d "$dir" ] || fail "no folder $dir"
home=$(cd "$dir" && pwd)/influxdb

user=$(id -un)
as_user=()
if [ "$(id -u)" -eq 0 ]; then
    user=nobody
    id influxdb >/dev/null 2>&1 && user=influxdb
    as_user=(setpriv --reuid="$user" --regid="$(id -gn "$user")" --init-groups --)
fi

port_is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# The process of the pid file, if that is still this server: the number may be another's by now.
server_pid() {
    local pid
    pid=$(cat "$home/pid" 2>/dev/null) && [ -n "$pid" ] || return 1
    { tr '\0' '\n' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -qxF -- "$home/conf" || return 1
    # A killed process that nobody has waited for yet still has a number.
    ! grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null || return 1
    echo "$pid"
}

start() {
    local option name port
    for option in influxd curl; do
        command -v "$option" >/dev/null || fail "no program $option found (scripts/setup.sh test)"
    done
    mkdir "$home"
    chmod 755 "$home"
    chown "$user" "$home"
    # The user must be able to walk to the folder, as mktemp -d makes folders for one user only.
    [ "$(id -u)" -ne 0 ] || chmod a+x "$dir"
    : >"$home/environment"
    for option in "$@"; do
        name=${option%%=*}
        name=${name//[.-]/_}
        printf 'INFLUXDB_%s=%s\n' "${name^^}" "${option#*=}" >>"$home/environment"
    done
    for _ in 1 2 3 4 5; do
        port=$((20000 + (RANDOM * 7 + $$) % 12000))
        port_is_free "$port" && port_is_free "$((port + 1))" || continue
        write_configuration "$port"
        launch
        if wait_until_up "$port"; then
            make_users "$port"
            echo "$port" >"$home/port"
            return
        fi
        # A port may have been taken since.
        grep -q 'address already in use' "$home/log" || break
    done
    tail -n 20 "$home/log" >&2 || true
    fail 'the server did not start'
}

write_configuration() {
    cat >"$home/conf" <<END
reporting-disabled = true
bind-address = "127.0.0.1:$(($1 + 1))"
[meta]
dir = "$home/data/meta"
[data]
dir = "$home/data/data"
wal-dir = "$home/data/wal"
[http]
bind-address = "127.0.0.1:$1"
log-enabled = false
[monitor]
store-enabled = false
END
}

launch() {
    local environment
    mapfile -t environment <"$home/environment"
    # setsid: Ctrl-C on the terminal is for the program that measures, not for the server.
    (cd "$home" && exec env "${environment[@]}" "${as_user[@]}" setsid influxd -config "$home/conf" \
        </dev/null >>"$home/log" 2>&1) &
    echo "$!" >"$home/pid"
}

restart() {
    ! server_pid >/dev/null || fail "the server in $home runs"
    launch
    wait_until_up "$(cat "$home/port")" || { tail -n 20 "$home/log" >&2; fail 'the server did not start again'; }
}

wait_until_up() {
    local wait pid
    pid=$(cat "$home/pid")
    for ((wait = 0; wait < 600; wait++)); do
        ! curl -sf --noproxy '*' -o /dev/null "http://127.0.0.1:$1/ping" || return 0
        kill -0 "$pid" 2>/dev/null || return 1
        sleep 0.1
    done
    kill -KILL "$pid" || true
    return 1
}

# The first user needs no password: there is nobody yet who could have one.
make_users() {
    local statement
    for statement in "create user root with password 'append secret' with all privileges" \
        'create database append' "create user append_pw with password 'append secret'" \
        'grant all on append to append_pw'; do
        curl -sf --noproxy '*' -u 'root:append secret' --data-urlencode "q=$statement" \
            "http://127.0.0.1:$1/query" | grep -q '"results":\[{"statement_id":0}\]' ||
            { stop immediate; fail "the server refused: $statement"; }
    done
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
