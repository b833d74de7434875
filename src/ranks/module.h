/*
 * The transport of messages between ranks. The transport is append-mpi.so, which is loaded at run
 * time, so that the program itself does not need MPI. In a sweep each run is a separate process;
 * its transport passes the messages through its parent process (relay.c). Main thread only.
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
    const char *version; /* version of this program with which the module was built */

    /* Connects this process to the other ranks. *number becomes the number of this rank, *count the
     * number of all ranks. After a failure, returns false and writes the reason to `why`. */
    bool (*start)(unsigned *number, unsigned *count, char *why, size_t size);

    /* Begins to send a message to rank `to`, and does not wait. Owns and later frees `bytes`, which
     * are from malloc, even after a failure. Returns false if the message cannot be sent. `is_bulk`
     * marks a large message, which later messages may overtake. */
    bool (*send)(unsigned to, void *bytes, size_t size, bool is_bulk);

    /* Returns a received message, which the caller frees, or NULL if no message has arrived. Does
     * not wait. The messages of a rank arrive in the order in which they were sent, except for bulk
     * messages. */
    void *(*take)(unsigned *from, size_t *size);

    /* Returns whether all sent messages have left this process. */
    bool (*is_idle)(void);

    /* Disconnects from the other ranks, and waits until they also do this. If `are_all_there` is
     * false, ends all ranks by force, because they would wait for the lost ranks. */
    void (*end)(bool are_all_there);
};

extern const struct ranks_module append_ranks_module;

/* Returns the time to sleep before the next poll for messages. `before_ns` is the previous sleep,
 * or 0 for the first sleep. */
static inline int64_t ranks_sleep_ns(int64_t before_ns)
{
    return MIN(MAX(before_ns, INT64_C(100000)) * 5 / 4, INT64_C(5000000));
}

/* If this process is one run of a sweep, returns the transport through its parent process, else
 * NULL. */
const struct ranks_module *relay_of_program(void);

/* Returns the transport for the parent process, which starts a program for each run, one after the
 * other. The transport sends messages through `module`. Its `take` also passes on the messages from
 * and to the program. */
const struct ranks_module *relay_through(const struct ranks_module *module);

/* Begins the next run. Returns a descriptor that must be the standard input of the run's program,
 * or -errno. The caller closes the descriptor. */
int relay_open(void);

/* Waits for a message from the program, for at most limit_ns and at most a few milliseconds. A
 * longer wait would delay the messages of other ranks. */
void relay_wait(int64_t limit_ns);

/* Ends the run. Called after the run's program has ended or could not be started. */
void relay_close(void);

/* Reports to the program of rank `to` that the program of this rank has ended. Returns false if
 * rank `to` cannot be reached. */
bool relay_tell_end(unsigned to);

#endif
