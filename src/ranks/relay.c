/*
 * The transport of ranks that do not use MPI themselves. In a sweep, a parent process on each
 * machine starts a separate program for each run, one after the other. Only the parent uses MPI,
 * and passes messages on between its program and the other machines. Parent and program communicate
 * through a socket, which is the program's standard input.
 *
 * Each message between machines ends with the number of its run, so that it cannot reach the
 * program of a different run. The number 0 marks messages from parent to parent. If a message
 * consists only of the number of a run, the sender's program has ended; the receiving program gets
 * an empty message.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/process.h"
#include "ranks/module.h"

/* The parent does not sleep for this time after a message that may be a ping, which is recognized
 * by its size. The next ping follows soon, and a delay would make the measured clock less exact. */
#define ALERT_NS (20 * MONO_NS_PER_MS)

enum {
    SHORT_BYTES = 24, /* size of the answer to a ping */
};

/* The first bytes that a program receives from its socket: a fixed text, the number of the
 * program's rank, and the number of all ranks. */
struct greeting {
    char text[24];
    unsigned number, count;
};
static const char greeting_text[sizeof((struct greeting *)0)->text] = "append: a rank of a run";

/* The head of each message in the socket. */
struct head {
    uint64_t size;
    uint32_t rank; /* in a message to the program: its sender; in a message from the program: its
                      receiver */
    uint32_t is_bulk;
};

/* One end of the socket, and the received part of the next message. */
struct socket_end {
    int fd; /* descriptor of the socket; -1: one of the two sides has closed it */
    struct head head;
    char *bytes;   /* memory for the message and the number of its run; NULL until the head is
                      complete */
    uint64_t done; /* number of received bytes of the head, or of `bytes` */
};

/* Ends this process after a message was lost, because its sender would wait forever. */
static void give_up(void)
{
    static const char why[] = "append: a message from another rank was lost: out of memory\n";
    notice_write(STDERR_FILENO, why, sizeof why - 1, MONO_NS_PER_S);
    _exit(EXIT_CODE_CLIENT_LIMIT);
}

static void shut(struct socket_end *end)
{
    if (end->fd >= 0) {
        close(end->fd);
    }
    free(end->bytes);
    *end = (struct socket_end){.fd = -1};
}

/* Returns the next complete message, which the caller frees, or NULL if no message is complete
 * yet. */
static char *take_from(struct socket_end *end, struct head *head)
{
    while (end->fd >= 0) {
        const bool is_head = end->bytes == NULL;
        char *to = is_head ? (char *)&end->head : end->bytes;
        const uint64_t all = is_head ? sizeof end->head : end->head.size;
        const ssize_t got =
            all == end->done ? 0 : recv(end->fd, to + end->done, all - end->done, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && errno == EAGAIN) {
            return NULL;
        }
        if (got <= 0 && end->done < all) {
            break;
        }
        end->done += (uint64_t)got;
        if (end->done < all) {
            continue;
        }
        end->done = 0;
        if (!is_head) {
            end->bytes = NULL;
            *head = end->head;
            return to;
        }
        end->bytes = malloc(end->head.size + sizeof(uint32_t));
        if (end->bytes == NULL) {
            give_up();
        }
    }
    shut(end);
    return NULL;
}

/* The program of a run. */

static struct socket_end parent = {.fd = -1};
static struct greeting identity; /* greeting that the program received, or that the parent sent */
static unsigned
    next_reported_lost; /* after the parent has ended: the next rank to report as lost */

static bool program_start(unsigned *number, unsigned *count, char *why, size_t size)
{
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (recv(STDIN_FILENO, &identity, sizeof identity, MSG_WAITALL) != sizeof identity ||
        null < 0 || (parent.fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)) < 0 ||
        dup2(null, STDIN_FILENO) < 0) {
        snprintf(why, size, "%s", strerror(errno));
        return false;
    }
    close(null);
    *number = identity.number;
    *count = identity.count;
    next_reported_lost = identity.number == 0 ? 1 : 0;
    return true;
}

static bool write_all(const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        const ssize_t sent = send(parent.fd, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            return false;
        }
        at += sent > 0 ? sent : 0;
        size -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

static bool program_send(unsigned to, void *bytes, size_t size, bool is_bulk)
{
    const struct head head = {.size = size, .rank = to, .is_bulk = is_bulk};
    /* MPI could not send a longer message, and the parent would then report `to` as lost */
    const bool is_sent = size <= INT_MAX - sizeof(uint32_t) && write_all(&head, sizeof head) &&
                         write_all(bytes, size);
    free(bytes);
    return is_sent;
}

static void *program_take(unsigned *from, size_t *size)
{
    struct head head = {.size = 0};
    char *bytes = take_from(&parent, &head);
    *from = head.rank;
    *size = head.size;
    if (parent.fd < 0 && next_reported_lost < (identity.number == 0 ? identity.count : 1)) {
        bytes = calloc(1, 1); /* the parent has ended: reports the next rank as lost */
        *from = next_reported_lost++;
    }
    return bytes;
}

static bool program_is_idle(void)
{
    return true;
}

static void program_end(bool are_all_there)
{
    (void)are_all_there;
    shut(&parent);
}

const struct ranks_module *relay_of_program(void)
{
    static const struct ranks_module module = {
        .start = program_start,
        .send = program_send,
        .take = program_take,
        .is_idle = program_is_idle,
        .end = program_end,
    };
    struct greeting greeting;
    const bool is_program = recv(STDIN_FILENO, &greeting, sizeof greeting,
                                 MSG_PEEK | MSG_DONTWAIT) == sizeof greeting &&
                            memcmp(greeting.text, greeting_text, sizeof greeting_text) == 0;
    return is_program ? &module : NULL;
}

/* The parent. */

/* A queued message for the program. */
struct piece {
    struct piece *next;
    size_t size, done; /* number of bytes of head and payload, and number of bytes written so far */
    struct head head;
    char bytes[];
};

static const struct ranks_module *carrier; /* the transport between machines, which uses MPI */
static uint32_t run;                       /* number of the current run */
static uint32_t
    latest_lost_run; /* the latest run that ended at rank 0 before this rank began it; 0: no run */
static struct socket_end program = {.fd = -1};
static struct piece *first, **last = &first;
static int64_t alert_ns, sleep_ns;

static bool carrier_start(unsigned *number, unsigned *count, char *why, size_t size)
{
    const bool is_started = carrier->start(number, count, why, size);
    memcpy(identity.text, greeting_text, sizeof greeting_text);
    identity.number = *number;
    identity.count = *count;
    return is_started;
}

/* Sends a message of the run `of_run` to another machine. `bytes` must have room for the number of
 * the run after the message. */
static bool send_of(uint32_t of_run, struct head head, char *bytes)
{
    memcpy(bytes + head.size, &of_run, sizeof of_run);
    return carrier->send(head.rank, bytes, head.size + sizeof of_run, head.is_bulk != 0);
}

static bool carrier_send(unsigned to, void *bytes, size_t size, bool is_bulk)
{
    char *longer = realloc(bytes, size + sizeof run);
    if (longer == NULL) {
        free(bytes);
        return false;
    }
    return send_of(0, (struct head){size, to, is_bulk}, longer);
}

static void note_message(size_t size)
{
    sleep_ns = 0;
    if (size <= SHORT_BYTES) {
        alert_ns = mono_now_ns() + ALERT_NS;
    }
}

/* Writes queued messages to the program. Stops when a write would block, because the program may be
 * busy. */
static void write_queued(void)
{
    while (first != NULL && program.fd >= 0) {
        struct piece *piece = first;
        const char *bytes = (const char *)piece + offsetof(struct piece, head);
        const ssize_t sent = send(program.fd, bytes + piece->done, piece->size - piece->done,
                                  MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            return; /* the socket is full, or the program has ended; take_from finds out which */
        }
        piece->done += sent > 0 ? (size_t)sent : 0;
        if (piece->done == piece->size) {
            first = piece->next;
            last = first == NULL ? &first : last;
            free(piece);
        }
    }
}

/* Queues a message from rank `from` to the program, and writes queued messages as far as
 * possible. */
static void give(unsigned from, const void *bytes, size_t size)
{
    struct piece *piece = program.fd < 0 ? NULL : malloc(sizeof *piece + size);
    if (program.fd < 0) {
        return; /* the program has ended */
    }
    if (piece == NULL) {
        give_up();
        return;
    }
    *piece =
        (struct piece){.size = sizeof piece->head + size, .head = {.size = size, .rank = from}};
    if (size > 0) {
        memcpy(piece->bytes, bytes, size);
    }
    *last = piece;
    last = &piece->next;
    write_queued();
}

static void take_from_program(void)
{
    struct head head;
    char *bytes;
    while ((bytes = take_from(&program, &head)) != NULL) {
        note_message(head.size);
        if (!send_of(run, head, bytes)) {
            give(head.rank, NULL, 0);
        }
    }
}

/* Passes on all messages from and to the program that have arrived, until a message for the parent
 * itself arrives. Returns this message, or NULL. */
static void *carrier_take(unsigned *from, size_t *size)
{
    char *bytes;
    take_from_program();
    while ((bytes = carrier->take(from, size)) != NULL) {
        uint32_t of_run;
        if (*size < sizeof of_run) {
            return bytes;
        }
        *size -= sizeof of_run;
        memcpy(&of_run, bytes + *size, sizeof of_run);
        if (of_run == 0) {
            return bytes;
        }
        note_message(*size);
        if (of_run == run) {
            give(*from, bytes, *size);
        } else if (of_run > run && *size == 0) {
            latest_lost_run = of_run;
        }
        free(bytes);
    }
    write_queued();
    return NULL;
}

static bool carrier_is_idle(void)
{
    return carrier->is_idle();
}

/* Ends the transport, unless a signal has arrived: mpirun then kills all processes, and would not
 * answer a process that disconnects. */
static void carrier_end(bool are_all_there)
{
    if (!interrupt_requested()) {
        carrier->end(are_all_there);
    }
}

const struct ranks_module *relay_through(const struct ranks_module *module)
{
    static const struct ranks_module relay = {
        .start = carrier_start,
        .send = carrier_send,
        .take = carrier_take,
        .is_idle = carrier_is_idle,
        .end = carrier_end,
    };
    carrier = module;
    return &relay;
}

int relay_open(void)
{
    int ends[2];
    run++;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return -errno;
    }
    program = (struct socket_end){.fd = ends[0]};
    if (send(program.fd, &identity, sizeof identity, MSG_NOSIGNAL) != sizeof identity) {
        const int number = errno;
        shut(&program);
        close(ends[1]);
        return -number;
    }
    if (latest_lost_run == run) {
        give(0, NULL, 0);
    }
    return ends[1];
}

void relay_wait(int64_t limit_ns)
{
    if (mono_now_ns() < alert_ns) {
        sched_yield();
        return;
    }
    sleep_ns = ranks_sleep_ns(sleep_ns);
    struct pollfd awaited = {.fd = program.fd,
                             .events = (short)(first == NULL ? POLLIN : POLLIN | POLLOUT)};
    const struct timespec timeout = {.tv_nsec = MIN(sleep_ns, limit_ns)};
    ppoll(&awaited, 1, &timeout, NULL);
}

void relay_close(void)
{
    take_from_program();
    shut(&program);
    while (first != NULL) {
        struct piece *piece = first;
        first = piece->next;
        free(piece);
    }
    last = &first;
}

bool relay_tell_end(unsigned to)
{
    void *bytes = malloc(sizeof run);
    return bytes != NULL && send_of(run, (struct head){.rank = to}, bytes);
}
