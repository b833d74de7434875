# shellcheck shell=bash disable=SC2034,SC2154 # sourced: names are set here for there, and there for here
# What scripts of private servers share. They set name (of the script and of the folder in DIR) and
# account (under which root starts the server, if there is one, else nobody), source this with their
# arguments, which sets command, home, user, as_user and options, and define
#   mark              prints a whole argument of the server's command line, by which it is known
#   prepare           makes the folder "$home" and what is in it
#   configure PORT    writes what the server reads
#   launch PORT       becomes the server; "$home/pid" has its process
#   is_up PORT        whether it answers
#   set_up PORT       makes users and databases
# set ports (how many it listens on, one behind the other) and taken (what "$home/log" or
# "$home/output" says where one of them is taken), and call private_server.
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
        command -v "$program" >/dev/null || fail "no program $program found (scripts/setup.sh test)"
    done
}

# The process of the pid file, if that is still this server: the number may be another's by now.
server_pid() {
    local pid
    pid=$(cat "$home/pid" 2>/dev/null) && [ -n "$pid" ] || return 1
    { tr '\0' '\n' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -qxF -- "$(mark)" || return 1
    # A killed process that nobody has waited for yet still has a number.
    ! grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null || return 1
    echo "$pid"
}

# A server that is killed and started again finds its ports: no other one of the same tests takes them.
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
    # The user must be able to walk to the folder, as mktemp -d makes folders for one user only.
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
        # A port may have been taken since.
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

private_server() {
    case $command in
    start) start ;;
    stop) stop "${options[@]}" ;;
    kill) server_pid >/dev/null || fail "no server runs in $home"; stop immediate ;;
    restart) restart ;;
    *) fail "unknown command $command" ;;
    esac
}
