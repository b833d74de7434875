/*
 * The transport of messages between ranks. It is append-mpi.so, which is loaded at run time so that
 * the program itself does not need MPI. In a sweep each run is a separate program; such a program
 * sends and receives messages through its parent process (relay.c). Main thread only. `send` and
 * `take` do not wait for other ranks.
 */
#ifndef RANKS_MODULE_H
#define RANKS_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/param.h>

#define RANKS_MODULE "append-mpi.so"
#define RANKS_MODULE_SYMBOL "append_ranks_module"

struct ranks_module {
    const char *version; /* version of append with which the module was built */

    /* Sets the number of this rank and the count of ranks. Returns false with the reason in
     * `why`. */
    bool (*start)(unsigned *number, unsigned *count, char *why, size_t size);

    /* Begins to send the bytes. Takes over the bytes, which are from malloc, even when it fails.
     * Returns false if the rank cannot be reached. `is_bulk`: all other messages may overtake this
     * message, even while this message is only partly sent. */
    bool (*send)(unsigned to, void *bytes, size_t size, bool is_bulk);

    /* Returns a received message, which the caller frees, or NULL if there is no message. The
     * messages of a rank arrive in the order in which they were sent, except bulk messages. */
    void *(*take)(unsigned *from, size_t *size);

    /* Returns whether all sent messages have left this process. */
    bool (*is_idle)(void);

    /* Ends MPI together with all other ranks. If `are_all_there` is false, kills all ranks instead,
     * because the others would wait for the missing ranks. */
    void (*end)(bool are_all_there);
};

extern const struct ranks_module append_ranks_module;

/* Returns the time to sleep before the next poll for messages. `before_ns` is the previous sleep,
 * or 0 for the first sleep. */
static inline int64_t ranks_sleep_ns(int64_t before_ns)
{
    return MIN(MAX(before_ns, INT64_C(100000)) * 5 / 4, INT64_C(5000000));
}

/* Returns the transport through the parent if this process is the program of a run, else NULL. */
const struct ranks_module *relay_of_program(void);

/* Returns the transport for a process that starts the programs of runs, one at a time. The
 * transport uses `module`, and its `take` also passes on the messages of the program. */
const struct ranks_module *relay_through(const struct ranks_module *module);

/* Begins the next run. Returns the descriptor for the standard input of the run's program, which
 * the caller closes, or -errno. */
int relay_open(void);

/* Waits until the program has sent something, but at most limit_ns. Returns after a few
 * milliseconds at the latest, so that messages of other ranks are not delayed. */
void relay_wait(int64_t limit_ns);

/* Ends the run, after its program has ended or could not be started. */
void relay_close(void);

/* Reports to the program of rank `to` that the program of this rank has ended. Returns false if
 * rank `to` cannot be reached. */
bool relay_tell_end(unsigned to);

#endif
