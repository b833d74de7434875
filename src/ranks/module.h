/*
 * What carries messages between ranks: append-mpi.so, loaded at run time, so that the program
 * itself needs no MPI, or for the program of a run the one that started it (relay.c). Main thread.
 * Whatever waits is the caller's business: nothing here does, but for relay_wait.
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
    const char *version; /* of the program that it was built with */

    /* False: `why` says so. */
    bool (*start)(unsigned *number, unsigned *count, char *why, size_t size);

    /* Takes the bytes, from malloc, and sends them some time. False: that rank cannot be reached;
     * the bytes are freed all the same. `is_bulk`: all others may overtake it, also where its
     * sender stops in the middle of it. */
    bool (*send)(unsigned to, void *bytes, size_t size, bool is_bulk);

    /* A message that has come, to be freed; NULL: none has. Those of one rank come in their order,
     * but for bulk. */
    void *(*take)(unsigned *from, size_t *size);

    /* Everything that was sent has left. */
    bool (*is_idle)(void);

    /* All ranks end together; or, when some cannot, all are ended. */
    void (*end)(bool are_all_there);
};

extern const struct ranks_module append_ranks_module;

/* How long to sleep between two looks for messages, after so long a sleep; 0: the first. */
static inline int64_t ranks_sleep_ns(int64_t before_ns)
{
    return MIN(MAX(before_ns, INT64_C(100000)) * 5 / 4, INT64_C(5000000));
}

/* Where this process is the program of a run, what carries its messages; else NULL. */
const struct ranks_module *relay_of_program(void);

/* Where this process starts such programs, one at a time, what carries its own messages, and those
 * of the programs while it looks for its own. */
const struct ranks_module *relay_through(const struct ranks_module *module);

/* The next run begins. Returns what its program's standard input is to be, or -errno. */
int relay_open(void);

/* Waits until the program says something, but no longer than other messages can wait. */
void relay_wait(int64_t limit_ns);

/* The program has ended, or there is none. */
void relay_close(void);

/* Tells the program of a rank that the one of this rank has ended. False: out of reach. */
bool relay_tell_end(unsigned to);

#endif
