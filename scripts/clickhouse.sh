#!/bin/bash
# A private ClickHouse server for tests and measurements.
#
#   clickhouse.sh start DIR [option=value …]  makes and starts a server in DIR/clickhouse, whose files
#                                             are owned by a user who is not root; an option is an
#                                             element of its configuration ("max_connections=8"), or
#                                             of one within it ("merge_tree/parts_to_throw_insert=9")
#   clickhouse.sh stop DIR [fast|immediate]   stops it: in good order, or at once (SIGKILL)
#   clickhouse.sh kill DIR                    SIGKILL: a crash
#   clickhouse.sh restart DIR                 starts a stopped or killed server again, same port
#
# After `start`: DIR/clickhouse/port has its HTTP port on 127.0.0.1 (below 32,768: not in the range
# that the client's own connections use), DIR/clickhouse/tcp_port that of its own protocol,
# DIR/clickhouse/pid its process, DIR/clickhouse/log what it said. Users: append (no password),
# append_pw (password "append secret"), default (no password). Database: append.
set -euo pipefail

fail() { echo "clickhouse.sh: $*" >&2; exit 1; }

[ $# -ge 2 ] || fail 'usage: clickhouse.sh start|stop|kill|restart DIR [option=value …]'
command=$1 dir=$2
shift 2
[ -d "$dir" ] || fail "no folder $dir"
home=$(cd "$dir" && pwd)/clickhouse

# The server's program is not in the PATH of an ordinary user.
export PATH=$PATH:/usr/sbin:/usr/local/sbin

user=$(id -un)
as_user=()
if [ "$(id -u)" -eq 0 ]; then
    user=nobody
    id clickhouse >/dev/null 2>&1 && user=clickhouse
    as_user=(setpriv --reuid="$user" --regid="$(id -gn "$user")" --init-groups --)
fi

port_is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Runs one statement; its answer goes to stdout, a server that does not answer to the exit status.
ask() {
    local answer
    exec 3<>"/dev/tcp/127.0.0.1/$1" || return 1
    printf 'POST / HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s' "${#2}" "$2" >&3
    answer=$(timeout 10 cat <&3)
    exec 3>&-
    [[ $answer == HTTP/1.?' 200 '* ]]
}

# The process of the pid file, if that is still this server: the number may be another's by now.
server_pid() {
    local pid
    pid=$(cat "$home/pid" 2>/dev/null) && [ -n "$pid" ] || return 1
    { tr '\0' '\n' <"/proc/$pid/cmdline"; } 2>/dev/null |
        grep -qxF -- "--config-file=$home/config.xml" || return 1
    # A killed process that nobody has waited for yet still has a number.
    ! grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null || return 1
    echo "$pid"
}

# One element of the configuration: "a/b=c" is <a><b>c</b></a>.
write_option() {
    local path=${1%%=*} value=${1#*=} part tail=
    [[ $1 == *=* ]] || fail "$1 is not option=value"
    for part in ${path//\// }; do
        printf '<%s>' "$part"
        tail="</$part>$tail"
    done
    printf '%s%s\n' "$value" "$tail"
}

write_configuration() {
    local option
    {
        echo '<yandex>'
        echo "<logger><level>warning</level><log>$home/log</log><errorlog>$home/errors</errorlog></logger>"
        echo "<http_port>$1</http_port><tcp_port>$2</tcp_port><interserver_http_port>$3</interserver_http_port>"
        echo '<listen_host>127.0.0.1</listen_host><timezone>UTC</timezone>'
        echo "<path>$home/data/</path><tmp_path>$home/tmp/</tmp_path>"
        echo "<user_files_path>$home/files/</user_files_path>"
        echo "<format_schema_path>$home/formats/</format_schema_path>"
        echo "<users_config>$home/users.xml</users_config>"
        echo '<default_profile>default</default_profile><default_database>default</default_database>'
        echo '<mark_cache_size>67108864</mark_cache_size><uncompressed_cache_size>0</uncompressed_cache_size>'
        while IFS= read -r option; do
            write_option "$option"
        done <"$home/options"
        echo '</yandex>'
    } >"$home/config.xml"
    cat >"$home/users.xml" <<'END'
<yandex>
<profiles><default><max_threads>2</max_threads></default></profiles>
<quotas><default></default></quotas>
<users>
<default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
<append><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></append>
<append_pw><password>append secret</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></append_pw>
</users>
</yandex>
END
}

start() {
    command -v clickhouse-server >/dev/null || fail 'no program clickhouse-server found (scripts/setup.sh test)'
    local option port pid
    mkdir "$home" "$home"/{data,tmp,files,formats}
    chmod 755 "$home"
    # The user must be able to walk to the folder, as mktemp -d makes folders for one user only.
    [ "$(id -u)" -ne 0 ] || chmod a+x "$dir"
    : >"$home/options"
    for option in "$@"; do
        printf '%s\n' "$option" >>"$home/options"
    done
    for _ in 1 2 3 4 5; do
        port=$((20000 + (RANDOM * 7 + $$) % 12000))
        port_is_free "$port" && port_is_free $((port + 1)) && port_is_free $((port + 2)) || continue
        write_configuration "$port" $((port + 1)) $((port + 2))
        [ "$(id -u)" -ne 0 ] || chown -R "$user" "$home"
        launch &
        pid=$!
        if wait_until_up "$pid" "$port"; then
            ask "$port" 'create database append' || { stop immediate; fail 'the database could not be made'; }
            echo $((port + 1)) >"$home/tcp_port"
            echo "$port" >"$home/port"
            return
        fi
        # The port may have been taken since.
        grep -q 'Address already in use' "$home/log" "$home/output" || break
    done
    tail -n 20 "$home/output" "$home/errors" >&2 || true
    fail 'the server did not start'
}

launch() {
    # setsid: Ctrl-C on the terminal is for the program that measures, not for the server.
    echo "$BASHPID" >"$home/pid"
    cd "$home" && exec "${as_user[@]}" env TMPDIR="$home/tmp" setsid clickhouse-server \
        --config-file="$home/config.xml" </dev/null >>"$home/output" 2>&1
}

restart() {
    ! server_pid >/dev/null || fail "the server in $home runs"
    launch &
    wait_until_up "$!" "$(cat "$home/port")" ||
        { tail -n 20 "$home/output" "$home/errors" >&2; fail 'the server did not start again'; }
}

wait_until_up() {
    local wait
    for ((wait = 0; wait < 600; wait++)); do
        ! ask "$2" 'select 1' >/dev/null 2>&1 || return 0
        kill -0 "$1" 2>/dev/null || return 1
        sleep 0.1
    done
    kill -KILL "$1" || true
    return 1
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
