#!/bin/bash
# A private InfluxDB 1.x server for tests and measurements.
#
#   influxdb.sh start DIR [section.setting=value …]   creates and starts a server in DIR/influxdb; its
#                                                     files belong to a user who is not root
#   influxdb.sh stop DIR [fast|immediate]             stops it: cleanly, or immediately (SIGKILL)
#   influxdb.sh kill DIR                              kills it with SIGKILL, like a crash
#   influxdb.sh restart DIR                           starts a stopped or killed server on its old port
#
# After `start` DIR/influxdb contains: port, the port on 127.0.0.1 (below 32,768, outside the range of
# client ports); pid, the process; log, the server's log. Database: append. Users, both with the password
# "append secret": root (superuser), and append_pw, which can only read and write the database append.
# The server checks passwords only after `start DIR http.auth-enabled=true`. For the names of sections and
# settings see influxd's configuration file.
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
    # setsid: Ctrl-C on the terminal must reach only the measuring program, not the server.
    echo "$BASHPID" >"$home/pid"
    cd "$home" && exec env "${environment[@]}" "${as_user[@]}" setsid influxd -config "$home/conf" \
        </dev/null >>"$home/log" 2>&1
}

# Creates the users and the database. The first user can be created without a password.
set_up() {
    local statement
    for statement in "create user root with password 'append secret' with all privileges" \
        'create database append' "create user append_pw with password 'append secret'" \
        'grant all on append to append_pw'; do
        curl -sf --noproxy '*' -u 'root:append secret' --data-urlencode "q=$statement" \
            "http://127.0.0.1:$1/query" | grep -q '"results":\[{"statement_id":0}\]' ||
            { stop immediate; fail "the server refused this statement: $statement"; }
    done
}

private_server
