#!/bin/bash
# A private QuestDB server for tests and measurements. Java 17 runs it; its program is fetched from Maven
# Central once, and kept.
#
#   questdb.sh fetch [FOLDER]                   prints where the program is, fetched if it is not there;
#                                               default: $XDG_CACHE_HOME/append or ~/.cache/append
#   questdb.sh start DIR [setting=value …]      makes and starts a server in DIR/questdb, whose files are
#                                               owned by a user who is not root
#   questdb.sh stop DIR [fast|immediate]        stops it: in good order, or at once (SIGKILL)
#   questdb.sh kill DIR                         SIGKILL: a crash
#   questdb.sh restart DIR                      starts a stopped or killed server again, same port
#
# After `start`: DIR/questdb/port has the port of HTTP on 127.0.0.1 (below 32,768: not in the range that
# the client's own connections use), DIR/questdb/pid its process, DIR/questdb/log what it said. Settings
# are those of QuestDB's server.conf.
set -euo pipefail

fail() { echo "questdb.sh: $*" >&2; exit 1; }

version=7.4.2
sha256=faa7155d7653627ee544c06970960133f765d8928ca1907156cbfde3b5987209
jar=questdb-$version.jar
url=https://repo1.maven.org/maven2/org/questdb/questdb/$version/$jar

fetch() {
    local folder=${1:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/append} temp
    command -v java >/dev/null || fail 'there is no Java here: install default-jre-headless (17 or later)'
    if [ ! -f "$folder/$jar" ]; then
        mkdir -p "$folder"
        temp=$(mktemp "$folder/$jar.XXXXXX")
        # shellcheck disable=SC2064 # the name of now
        trap "rm -f '$temp'" EXIT
        curl -sSf --max-time 300 -o "$temp" "$url" || fail "cannot fetch $url"
        echo "$sha256  $temp" | sha256sum --check --status || fail "$jar is not the file that it was"
        chmod a+r "$temp"
        mv "$temp" "$folder/$jar"
    fi
    echo "$(cd "$folder" && pwd)/$jar"
}

command=${1:-}
if [ "$command" = fetch ]; then
    fetch "${2:-}"
    exit
fi
[ $# -ge 2 ] || fail 'usage: questdb.sh fetch [FOLDER] | start|stop|kill|restart DIR [setting=value …]'
dir=$2
shift 2
[ -d "$dir" ] || fail "no folder $dir"
home=$(cd "$dir" && pwd)/questdb

user=$(id -un)
as_user=()
if [ "$(id -u)" -eq 0 ]; then
    user=nobody
    as_user=(setpriv --reuid="$user" --regid="$(id -gn "$user")" --init-groups --)
fi

port_is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# The process of the pid file, if that is still this server: the number may be another's by now.
server_pid() {
    local pid
    pid=$(cat "$home/pid" 2>/dev/null) && [ -n "$pid" ] || return 1
    { tr '\0' '\n' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -qxF -- "$home/root" || return 1
    # A killed process that nobody has waited for yet still has a number.
    ! grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null || return 1
    echo "$pid"
}

start() {
    local port
    mkdir "$home" "$home/root" "$home/root/conf" "$home/tmp"
    # The user may not read the folder that the program is kept in.
    cp "$(fetch)" "$home/$jar"
    printf '%s\n' "$@" >"$home/settings"
    chmod 755 "$home"
    chown -R "$user" "$home"
    # The user must be able to walk to the folder, as mktemp -d makes folders for one user only.
    [ "$(id -u)" -ne 0 ] || chmod a+x "$dir"
    for _ in 1 2 3 4 5; do
        port=$((20000 + (RANDOM * 7 + $$) % 12000))
        port_is_free "$port" && port_is_free "$((port + 1))" || continue
        cat - "$home/settings" >"$home/root/conf/server.conf" <<END
http.bind.to=127.0.0.1:$port
pg.net.bind.to=127.0.0.1:$((port + 1))
http.min.enabled=false
line.tcp.enabled=false
telemetry.enabled=false
END
        launch
        if wait_until_up "$port"; then
            echo "$port" >"$home/port"
            return
        fi
        # A port may have been taken since.
        grep -qi 'could not bind' "$home/log" || break
    done
    tail -n 20 "$home/log" >&2 || true
    fail 'the server did not start'
}

launch() {
    # setsid: Ctrl-C on the terminal is for the program that measures, not for the server.
    (cd "$home" && exec env TMPDIR="$home/tmp" "${as_user[@]}" setsid java -Xms128m -Xmx512m \
        -XX:+UseParallelGC -Djava.io.tmpdir="$home/tmp" -p "$home/$jar" -m io.questdb/io.questdb.ServerMain \
        -d "$home/root" </dev/null >>"$home/log" 2>&1) &
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
        ! curl -sf --noproxy '*' -o /dev/null "http://127.0.0.1:$1/exec?query=select+1" || return 0
        kill -0 "$pid" 2>/dev/null || return 1
        sleep 0.1
    done
    kill -KILL "$pid" || true
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
