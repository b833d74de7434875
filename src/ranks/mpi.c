/* The only file that calls MPI; built as append-mpi.so. */
#include "ranks/module.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TAG_IN_ORDER,
    TAG_BULK,
    PLACES = 64 /* large messages of so many ranks at a time: their memory */
};

struct sending {
    MPI_Request request;
    void *bytes;
    struct sending *next;
};

static struct sending *first_sending;

/* A message that is being received. */
struct receiving {
    MPI_Request request;
    void *bytes; /* NULL: none */
    int size, from;
};

/* In the first place what has an order, one after the other. */
static struct receiving receivings[PLACES];

static bool start(unsigned *number, unsigned *count, char *why, size_t size)
{
    int provided, rank, ranks;
    /* else Open MPI, which notes that a rank has died, waits for mpirun to print it, and mpirun for
     * this rank to end */
    setenv("OMPI_MCA_orte_base_help_aggregate", "0", 0);
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
        snprintf(why, size, "MPI_Init_thread failed");
        return false;
    }
    if (provided < MPI_THREAD_FUNNELED) {
        snprintf(why, size, "this MPI does not allow other threads beside the one that calls it");
        return false;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS ||
        MPI_Comm_size(MPI_COMM_WORLD, &ranks) != MPI_SUCCESS) {
        snprintf(why, size, "MPI does not say which rank this is");
        return false;
    }
    *number = (unsigned)rank;
    *count = (unsigned)ranks;
    return true;
}

static void forget_sent(void)
{
    struct sending **at = &first_sending;
    while (*at != NULL) {
        struct sending *sending = *at;
        int is_done = 0;
        if (MPI_Test(&sending->request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS || is_done) {
            *at = sending->next;
            free(sending->bytes);
            free(sending);
        } else {
            at = &sending->next;
        }
    }
}

static bool is_idle(void)
{
    forget_sent();
    return first_sending == NULL;
}

static bool send(unsigned to, void *bytes, size_t size, bool is_bulk)
{
    struct sending *sending = size > INT_MAX ? NULL : malloc(sizeof *sending);
    forget_sent();
    /* forget_sent tests the request: NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker) */
    if (sending == NULL ||
        MPI_Isend(bytes, (int)size, MPI_BYTE, (int)to, is_bulk ? TAG_BULK : TAG_IN_ORDER,
                  MPI_COMM_WORLD, &sending->request) != MPI_SUCCESS) {
        free(sending);
        free(bytes);
        return false;
    }
    /* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */
    sending->bytes = bytes;
    sending->next = first_sending;
    first_sending = sending;
    return true;
}

/* What was matched can neither be left nor asked for again: who sent it would wait for ever. */
static void give_up(const char *why)
{
    fprintf(stderr, "append: a message of another rank is lost: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 70);
}

/* False: no such message has come. */
static bool begin_to_receive(struct receiving *receiving, int tag)
{
    int is_there = 0;
    MPI_Message message;
    MPI_Status status;
    if (MPI_Improbe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &is_there, &message, &status) !=
            MPI_SUCCESS ||
        !is_there || MPI_Get_count(&status, MPI_BYTE, &receiving->size) != MPI_SUCCESS) {
        return false;
    }
    receiving->from = status.MPI_SOURCE;
    receiving->bytes = malloc((size_t)receiving->size + 1);
    /* take tests the request: NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker) */
    if (receiving->bytes == NULL || MPI_Imrecv(receiving->bytes, receiving->size, MPI_BYTE,
                                               &message, &receiving->request) != MPI_SUCCESS) {
        give_up(receiving->bytes == NULL ? "out of memory" : "MPI_Imrecv failed");
    }
    /* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */
    return true;
}

static void *take(unsigned *from, size_t *size)
{
    bool may_come = true;
    for (size_t i = 0; i < PLACES; i++) {
        struct receiving *receiving = &receivings[i];
        if (receiving->bytes == NULL && may_come) {
            may_come = begin_to_receive(receiving, i == 0 ? TAG_IN_ORDER : TAG_BULK) || i == 0;
        }
        int is_whole = 0;
        if (receiving->bytes == NULL) {
            continue;
        }
        void *bytes = receiving->bytes;
        if (MPI_Test(&receiving->request, &is_whole, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
            receiving->bytes = NULL; /* its sender is gone: the caller misses it soon */
            free(bytes);
        } else if (is_whole) {
            receiving->bytes = NULL;
            *from = (unsigned)receiving->from;
            *size = (size_t)receiving->size;
            return bytes;
        }
    }
    forget_sent();
    return NULL;
}

static void end(bool are_all_there)
{
    if (!are_all_there) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        return;
    }
    MPI_Finalize();
}

const struct ranks_module append_ranks_module = {
    .version = APPEND_VERSION,
    .start = start,
    .send = send,
    .take = take,
    .is_idle = is_idle,
    .end = end,
};
