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

name=influxdb account=influxdb ports=2 taken='address already in use'
# shellcheck source=scripts/private_server.sh
. "$(dirname "$0")/private_server.sh"

mark() { echo "$home/conf"; }

is_up() { curl -sf --noproxy '*' -o /dev/null "http://127.0.0.1:$1/ping"; }

prepare() {
    local option name
    needs influxd curl
    mkdir "$home"
    chown "$user" "$home"
    : >"$home/environment"
    for option in "${options[@]}"; do
        name=${option%%=*}
        name=${name//[.-]/_}
        printf 'INFLUXDB_%s=%s\n' "${name^^}" "${option#*=}" >>"$home/environment"
    done
}

configure() {
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
    echo "$BASHPID" >"$home/pid"
    cd "$home" && exec env "${environment[@]}" "${as_user[@]}" setsid influxd -config "$home/conf" \
        </dev/null >>"$home/log" 2>&1
}

# The first user needs no password: there is nobody yet who could have one.
set_up() {
    local statement
    for statement in "create user root with password 'append secret' with all privileges" \
        'create database append' "create user append_pw with password 'append secret'" \
        'grant all on append to append_pw'; do
        curl -sf --noproxy '*' -u 'root:append secret' --data-urlencode "q=$statement" \
            "http://127.0.0.1:$1/query" | grep -q '"results":\[{"statement_id":0}\]' ||
            { stop immediate; fail "the server refused: $statement"; }
    done
}

private_server
