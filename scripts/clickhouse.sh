#!/bin/bash
# A private ClickHouse server for tests and measurements.
#
#   clickhouse.sh start DIR [option=value …]  creates and starts a server in DIR/clickhouse; its files
#                                             belong to a user who is not root; an option is an element
#                                             of the server's configuration ("max_connections=8") or
#                                             an inner element ("merge_tree/parts_to_throw_insert=9")
#   clickhouse.sh stop DIR [fast|immediate]   stops it: cleanly, or immediately (SIGKILL)
#   clickhouse.sh kill DIR                    kills it with SIGKILL, like a crash
#   clickhouse.sh restart DIR                 starts a stopped or killed server on its old port
#
# After `start` DIR/clickhouse contains: port, the HTTP port on 127.0.0.1 (below 32,768, outside the
# range of client ports); tcp_port, the port of ClickHouse's native protocol; pid, the process; log,
# the server's log. Users: append (no password), append_pw (password "append secret"), default (no password).
# Database: append.
set -euo pipefail

name=clickhouse account=clickhouse ports=3 taken='Address already in use'
# shellcheck source=scripts/private_server.sh
. "$(dirname "$0")/private_server.sh"

mark() { echo "--config-file=$home/config.xml"; }

# Runs a statement at port $1. Fails unless the server answers with success.
ask() {
    local answer
    exec 3<>"/dev/tcp/127.0.0.1/$1" || return 1
    printf 'POST / HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s' "${#2}" "$2" >&3
    answer=$(timeout 10 cat <&3)
    exec 3>&-
    [[ $answer == HTTP/1.?' 200 '* ]]
}

is_up() { ask "$1" 'select 1'; }

# Prints an option as an XML element of the configuration: <a><b>c</b></a> for "a/b=c".
write_option() {
    local path=${1%%=*} value=${1#*=} part tail=
    [[ $1 == *=* ]] || fail "$1 is not option=value"
    for part in ${path//\// }; do
        printf '<%s>' "$part"
        tail="</$part>$tail"
    done
    printf '%s%s\n' "$value" "$tail"
}

prepare() {
    needs clickhouse-server
    mkdir "$home" "$home"/{data,tmp,files,formats}
}

configure() {
    local option
    {
        echo '<yandex>'
        echo "<logger><level>warning</level><log>$home/log</log><errorlog>$home/errors</errorlog></logger>"
        echo "<http_port>$1</http_port><tcp_port>$(($1 + 1))</tcp_port><interserver_http_port>$(($1 + 2))</interserver_http_port>"
        echo '<listen_host>127.0.0.1</listen_host><timezone>UTC</timezone>'
        echo "<path>$home/data/</path><tmp_path>$home/tmp/</tmp_path>"
        echo "<user_files_path>$home/files/</user_files_path>"
        echo "<format_schema_path>$home/formats/</format_schema_path>"
        echo "<users_config>$home/users.xml</users_config>"
        echo '<default_profile>default</default_profile><default_database>default</default_database>'
        echo '<mark_cache_size>67108864</mark_cache_size><uncompressed_cache_size>0</uncompressed_cache_size>'
        for option in "${options[@]}"; do
            write_option "$option"
        done
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
    [ "$(id -u)" -ne 0 ] || chown -R "$user" "$home"
}

launch() {
    # setsid: Ctrl-C on the terminal must reach only the measuring program, not the server.
    echo "$BASHPID" >"$home/pid"
    cd "$home" && exec "${as_user[@]}" env TMPDIR="$home/tmp" setsid clickhouse-server \
        --config-file="$home/config.xml" </dev/null >>"$home/output" 2>&1
}

set_up() {
    ask "$1" 'create database append' || { stop immediate; fail 'cannot create the database'; }
    echo $(($1 + 1)) >"$home/tcp_port"
}

private_server
