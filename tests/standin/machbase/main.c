/*
 * A stand-in for a Machbase server, for tests of append: it speaks enough of the protocol for the
 * vendor's client library to connect, make a table, append, count and select, and it is exact about
 * every byte of an appended row. It is written against the client library alone: see wire.h for
 * what is known from where. That append works with it says that append uses the client library
 * rightly; it says nothing about a real server's behaviour, order of replies, numbers of errors or
 * speed, and no figure measured with it is one of Machbase.
 *
 * It does not: keep anything on disk, sort, join, group, index, delete or update; take INSERT,
 * parameters or compressed rows; check privileges, licences or time-outs; know any user but one.
 * It listens on 127.0.0.1 only.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "expect.h"
#include "session.h"

enum {
    BACKLOG = 4096,
    LINE_BYTES = 4096,
    OUT_OF_FILES_MS = 10,
    SESSIONS_MOST = 1000000,
};

static const char usage[] =
    "usage: machbase_standin [option …]\n"
    "  --port N            listen on this port of 127.0.0.1 (default: a free one)\n"
    "  --port-file FILE    write the port there when all is ready\n"
    "  --user NAME         who may log in (default SYS)\n"
    "  --password TEXT     with which password (default MANAGER)\n"
    "  --max-sessions N    refuse more than N that are logged in\n"
    "  --rule RULE         do something wrong: see rules.h (may be repeated)\n"
    "  --keep COLUMN,…     of new tables, keep the values of these columns only\n"
    "  --expect SEED:N     hold rows against append's generator with --seed SEED and N sessions\n"
    "  --control           take commands from standard input (see control.h), end when it ends\n"
    "Prints the port. Ends at SIGTERM or SIGINT.\n";

struct options {
    unsigned port;
    const char *port_file;
    bool is_controlled;
};

static bool parse_unsigned(const char *text, unsigned most, unsigned *number)
{
    char *end = NULL;
    errno = 0;
    const unsigned long value = strtoul(text, &end, 10);
    *number = (unsigned)value;
    return end != text && *end == '\0' && errno == 0 && value <= most;
}

static bool set_expect(struct server *server, const char *text)
{
    char *end = NULL;
    unsigned sessions = 0;
    const uint64_t seed = strtoull(text, &end, 10);
    if (end == text || *end != ':' || !parse_unsigned(end + 1, SESSIONS_MOST, &sessions) ||
        sessions == 0) {
        return false;
    }
    expect_destroy(server->expect);
    server->expect = expect_create(seed, sessions);
    return server->expect != NULL;
}

static bool set_option(struct server *server, struct options *options, int option,
                       const char *value)
{
    unsigned number = 0;
    switch (option) {
    case 'p':
        return parse_unsigned(value, UINT16_MAX, &options->port);
    case 'f':
        options->port_file = value;
        return true;
    case 'u':
        server->user = value;
        return true;
    case 'w':
        server->password = value;
        return true;
    case 'm':
        if (!parse_unsigned(value, UINT32_MAX, &number)) {
            return false;
        }
        atomic_store(&server->max_sessions, number);
        return true;
    case 'r':
        return rules_add(&server->rules, value);
    case 'k':
        server->keep = value;
        return true;
    case 'e':
        return set_expect(server, value);
    case 'c':
        options->is_controlled = true;
        return true;
    default:
        return false;
    }
}

static bool parse_options(struct server *server, struct options *options, int argc, char **argv)
{
    static const struct option names[] = {
        {"port", required_argument, NULL, 'p'}, {"port-file", required_argument, NULL, 'f'},
        {"user", required_argument, NULL, 'u'}, {"password", required_argument, NULL, 'w'},
        {"rule", required_argument, NULL, 'r'}, {"max-sessions", required_argument, NULL, 'm'},
        {"keep", required_argument, NULL, 'k'}, {"expect", required_argument, NULL, 'e'},
        {"control", no_argument, NULL, 'c'},    {NULL, 0, NULL, 0},
    };
    int option;
    int index = 0;
    while ((option = getopt_long(argc, argv, "", names, &index)) != -1) {
        if (option == '?') {
            return false;
        }
        if (!set_option(server, options, option, optarg)) {
            fprintf(stderr, "machbase_standin: --%s does not take '%s'\n", names[index].name,
                    optarg != NULL ? optarg : "");
            return false;
        }
    }
    return optind == argc;
}

static int listen_at(unsigned port)
{
    const int one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0) {
        return -1;
    }
    (void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, BACKLOG) != 0) {
        close(listener);
        return -1;
    }
    return listener;
}

/* Port 0: any that is free below 32,768, where no client's own end of a connection is. */
static int listen_on(unsigned port, unsigned *bound_port)
{
    enum {
        LOWEST = 20000,
        COUNT = 12000,
        TRIES = 100
    };
    int listener = -1;
    if (port != 0) {
        *bound_port = port;
        return listen_at(port);
    }
    for (unsigned i = 0; i < TRIES && listener < 0; i++) {
        *bound_port = LOWEST + ((unsigned)getpid() * 7 + i * 101) % COUNT;
        listener = listen_at(*bound_port);
    }
    return listener;
}

/* The file first: who has read the port from standard output finds it written. */
static bool announce(const struct options *options, unsigned port)
{
    if (options->port_file != NULL) {
        FILE *file = fopen(options->port_file, "w");
        if (file == NULL) {
            return false;
        }
        const bool is_written = fprintf(file, "%u\n", port) > 0;
        if (fclose(file) != 0 || !is_written) {
            return false;
        }
    }
    return printf("%u\n", port) > 0 && fflush(stdout) == 0;
}

static void accept_one(struct server *server, int listener)
{
    const int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (client >= 0) {
        const int one = 1;
        (void)setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        atomic_fetch_add(&server->connections, 1);
        (void)session_start(server, client);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        const struct timespec pause = {.tv_nsec = OUT_OF_FILES_MS * 1000000L};
        nanosleep(&pause, NULL);
    }
}

/* Runs the commands that are there; false = there are no more, or the last one was stop. */
static bool take_commands(struct server *server, struct buffer *pending)
{
    char piece[LINE_BYTES];
    const ssize_t got = read(STDIN_FILENO, piece, sizeof piece);
    if (got <= 0) {
        return got < 0 && errno == EINTR;
    }
    buffer_add(pending, piece, (size_t)got);
    bool goes_on = true;
    char *end;
    while (goes_on && pending->length > 0 &&
           (end = memchr(pending->bytes, '\n', pending->length)) != NULL) {
        struct buffer answer;
        buffer_init(&answer);
        *end = '\0';
        goes_on = control_run(server, pending->bytes, &answer);
        fputs(buffer_text(&answer), stdout);
        fflush(stdout);
        buffer_fini(&answer);
        const size_t taken = (size_t)(end - pending->bytes) + 1;
        memmove(pending->bytes, end + 1, pending->length - taken);
        pending->length -= taken;
    }
    return goes_on;
}

static void serve(struct server *server, const struct options *options, int listener, int signals)
{
    struct pollfd wanted[] = {{.fd = signals, .events = POLLIN},
                              {.fd = listener, .events = POLLIN},
                              {.fd = options->is_controlled ? STDIN_FILENO : -1, .events = POLLIN}};
    struct buffer pending;
    buffer_init(&pending);
    for (bool goes_on = true; goes_on;) {
        if (poll(wanted, sizeof wanted / sizeof wanted[0], -1) < 0 && errno != EINTR) {
            break;
        }
        if (wanted[1].revents != 0) {
            accept_one(server, listener);
        }
        goes_on =
            wanted[0].revents == 0 && (wanted[2].revents == 0 || take_commands(server, &pending));
    }
    buffer_fini(&pending);
}

static void raise_open_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* 0 = the stand-in ran and ended as asked; 1 = it could not run; 2 = a wrong option. */
static int run(struct server *server, int argc, char **argv)
{
    struct options options = {.port = 0};
    if (!parse_options(server, &options, argc, argv)) {
        fputs(usage, stderr);
        return 2;
    }
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    raise_open_files();
    unsigned port = 0;
    const int signals = signalfd(-1, &ends, SFD_CLOEXEC);
    const int listener = listen_on(options.port, &port);
    const bool is_up = signals >= 0 && listener >= 0 && announce(&options, port);
    if (is_up) {
        serve(server, &options, listener, signals);
    } else {
        fprintf(stderr, "machbase_standin: 127.0.0.1:%u: %s\n", options.port, strerror(errno));
    }
    if (listener >= 0) {
        close(listener);
    }
    if (signals >= 0) {
        close(signals);
    }
    return is_up ? 0 : 1;
}

int main(int argc, char **argv)
{
    static struct server server = {.user = "SYS", .password = "MANAGER"};
    signal(SIGPIPE, SIG_IGN);
    pthread_mutex_init(&server.lock, NULL);
    pthread_cond_init(&server.changed, NULL);
    store_init(&server.store);
    rules_init(&server.rules);
    const int code = run(&server, argc, argv);
    session_end_all(&server);
    expect_destroy(server.expect);
    rules_fini(&server.rules);
    store_fini(&server.store);
    pthread_cond_destroy(&server.changed);
    pthread_mutex_destroy(&server.lock);
    return code;
}
