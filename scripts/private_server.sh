# shellcheck shell=bash disable=SC2034,SC2154 # sourced: each side sets variables that the other uses
# Shared code of the scripts for private servers. Such a script first sets
#   name      the name of the script and of the folder in DIR
#   account   the account under which root starts the server; if it does not exist, the user nobody
#   ports     the number of consecutive ports on which the server listens
#   taken     a text that is in "$home/log" or "$home/output" if one of the ports is taken
# Then the script sources this file with its own arguments. This file sets command, home, user, as_user and
# options. Then the script defines
#   mark              prints an argument that only the command line of this server contains
#   prepare           creates the folder "$home" with its contents
#   configure PORT    writes the server's configuration
#   launch PORT       writes its pid to "$home/pid", and replaces itself with the server
#   is_up PORT        succeeds when the server answers
#   set_up PORT       creates users and databases
# and calls private_server.
fail() { echo "$name.sh: $*" >&2; exit 1; }

[ $# -ge 2 ] || fail "usage: $name.sh start|stop|kill|restart DIR [option=value …]"
command=$1 dir=$2
shift 2
options=("$@")
[ -d "$dir" ] || fail "no folder $dir"
home=$(cd "$dir" && pwd)/$name

# The servers' programs are not in the PATH of an ordinary user.
export PATH=$PATH:/usr/sbin:/usr/local/sbin

user=$(id -un)
as_user=()
if [ "$(id -u)" -eq 0 ]; then
    user=nobody
    ! id "$account" >/dev/null 2>&1 || user=$account
    as_user=(setpriv --reuid="$user" --regid="$(id -gn "$user")" --init-groups --)
fi

needs() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || fail "$program is not installed: run scripts/setup.sh test"
    done
}

# Prints the pid in the pid file. Fails if the process with this pid is not this server: a pid may be reused.
server_pid() {
    local pid
    pid=$(cat "$home/pid" 2>/dev/null) && [ -n "$pid" ] || return 1
    { tr '\0' '\n' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -qxF -- "$(mark)" || return 1
    # A killed process keeps its pid until its parent has waited for it.
    ! grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null || return 1
    echo "$pid"
}

# Returns whether the ports are free, and reserves them: other servers of these tests do not get these
# ports while their server is stopped.
ports_are_free() {
    local port
    for ((port = $1; port < $1 + ports; port++)); do
        [ -z "${APPEND_TEST_SERVERS:-}" ] || mkdir "$APPEND_TEST_SERVERS/port-$port" 2>/dev/null || return 1
        ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || return 1
    done
}

say_log() { tail -q -n 20 "$home"/{output,log,errors} >&2 2>/dev/null || true; }

start() {
    local port
    prepare
    chmod 755 "$home"
    # The server's user must be able to enter the folder, which mktemp -d makes for one user only.
    [ "$(id -u)" -ne 0 ] || chmod a+x "$dir"
    for _ in {1..20}; do
        port=$((20000 + (RANDOM * 7 + $$) % 12000))
        ports_are_free "$port" || continue
        configure "$port"
        launch "$port" &
        if wait_until_up "$!" "$port"; then
            set_up "$port"
            echo "$port" >"$home/port"
            return
        fi
        # Tries other ports if another process has taken one of the ports meanwhile.
        cat "$home"/{output,log} 2>/dev/null | grep -q "$taken" || break
    done
    say_log
    fail 'the server did not start'
}

restart() {
    local port
    ! server_pid >/dev/null || fail "the server in $home runs"
    port=$(cat "$home/port")
    launch "$port" &
    wait_until_up "$!" "$port" || { say_log; fail 'the server did not start again'; }
}

wait_until_up() {
    local wait
    for ((wait = 0; wait < 600; wait++)); do
        ! is_up "$2" >/dev/null 2>&1 || return 0
        kill -0 "$1" 2>/dev/null || return 1
        sleep 0.1
    done
    kill -KILL "$1" || true
    return 1
}

# Returns whether threads of the process still run after its first thread has ended. These threads keep the
# ports of the process in use.
has_threads() { [ "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)" -gt 1 ]; }

stop() {
    local pid='' last wait signal=TERM
    [ "${1:-fast}" = fast ] || signal=KILL
    for ((wait = 0; wait < 600; wait++)); do
        last=$pid
        if ! pid=$(server_pid); then
            { [ -n "$last" ] && has_threads "$last"; } || return 0
            pid=$last
        fi
        [ "$wait" -lt 300 ] || signal=KILL
        [ $((wait % 300)) -ne 0 ] || kill "-$signal" "$pid" 2>/dev/null || true
        sleep 0.1
    done
    fail "the server in $home does not stop"
}

private_server() {
    case $command in
    start) start ;;
    stop) stop "${options[@]}" ;;
    kill) server_pid >/dev/null || fail "no server runs in $home"; stop immediate ;;
    restart) restart ;;
    *) fail "unknown command $command" ;;
    esac
}
