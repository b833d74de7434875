#!/bin/bash
# A private QuestDB server for tests and measurements. It needs Java 17. The first use downloads the
# server's program from Maven Central.
#
#   questdb.sh fetch [FOLDER]                   downloads the program if it is missing, and prints its
#                                               path; default folder: $XDG_CACHE_HOME/append or
#                                               ~/.cache/append
#   questdb.sh start DIR [setting=value …]      creates and starts a server in DIR/questdb; its files
#                                               belong to a user who is not root
#   questdb.sh stop DIR [fast|immediate]        stops it: cleanly, or immediately (SIGKILL)
#   questdb.sh kill DIR                         kills it with SIGKILL, like a crash
#   questdb.sh restart DIR                      starts a stopped or killed server on its old port
#
# After `start` DIR/questdb contains: port, the HTTP port on 127.0.0.1 (below 32,768, outside the range
# of client ports); pid, the process; log, the server's log. A setting is a line of QuestDB's
# server.conf.
set -euo pipefail

name=questdb account=nobody ports=2 taken='[Cc]ould not bind'

fail() { echo "$name.sh: $*" >&2; exit 1; }

version=7.4.2
sha256=faa7155d7653627ee544c06970960133f765d8928ca1907156cbfde3b5987209
jar=questdb-$version.jar
url=https://repo1.maven.org/maven2/org/questdb/questdb/$version/$jar

fetch() {
    local folder=${1:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/append} temp
    command -v java >/dev/null || fail 'java is not installed: install default-jre-headless (17 or later)'
    if [ ! -f "$folder/$jar" ]; then
        mkdir -p "$folder"
        temp=$(mktemp "$folder/$jar.XXXXXX")
        # shellcheck disable=SC2064 # expands now on purpose
        trap "rm -f '$temp'" EXIT
        curl -sSf --max-time 300 -o "$temp" "$url" || fail "cannot fetch $url"
        echo "$sha256  $temp" | sha256sum --check --status || fail "the SHA-256 of the downloaded $jar is wrong"
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
    # The server's user may not be allowed to read the folder of the program.
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
    # setsid: Ctrl-C on the terminal must reach only the measuring program, not the server.
    echo "$BASHPID" >"$home/pid"
    cd "$home" && exec env TMPDIR="$home/tmp" "${as_user[@]}" setsid java -Xms128m -Xmx512m \
        -XX:+UseParallelGC -Djava.io.tmpdir="$home/tmp" -p "$home/$jar" -m io.questdb/io.questdb.ServerMain \
        -d "$home/root" </dev/null >>"$home/log" 2>&1
}

set_up() { :; }

private_server
