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

name=questdb account=nobody ports=2 taken='[Cc]ould not bind'

fail() { echo "$name.sh: $*" >&2; exit 1; }

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

if [ "${1:-}" = fetch ]; then
    fetch "${2:-}"
    exit
fi
# shellcheck source=scripts/private_server.sh
. "$(dirname "$0")/private_server.sh"

mark() { echo "$home/root"; }

is_up() { curl -sf --noproxy '*' -o /dev/null "http://127.0.0.1:$1/exec?query=select+1"; }

prepare() {
    needs curl
    mkdir "$home" "$home/root" "$home/root/conf" "$home/tmp"
    # The user may not read the folder that the program is kept in.
    cp "$(fetch)" "$home/$jar"
    printf '%s\n' "${options[@]}" >"$home/settings"
    chown -R "$user" "$home"
}

configure() {
    cat - "$home/settings" >"$home/root/conf/server.conf" <<END
http.bind.to=127.0.0.1:$1
pg.net.bind.to=127.0.0.1:$(($1 + 1))
http.min.enabled=false
line.tcp.enabled=false
telemetry.enabled=false
END
}

launch() {
    # setsid: Ctrl-C on the terminal is for the program that measures, not for the server.
    echo "$BASHPID" >"$home/pid"
    cd "$home" && exec env TMPDIR="$home/tmp" "${as_user[@]}" setsid java -Xms128m -Xmx512m \
        -XX:+UseParallelGC -Djava.io.tmpdir="$home/tmp" -p "$home/$jar" -m io.questdb/io.questdb.ServerMain \
        -d "$home/root" </dev/null >>"$home/log" 2>&1
}

set_up() { :; }

private_server
