/* The only file that calls MPI; built as append-mpi.so. */
#include "ranks/module.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TAG_IN_ORDER,
    TAG_BULK,
    PLACES = 64 /* maximum number of messages being received at the same time; limits the memory */
};

/* A message that is being sent. */
struct sending {
    MPI_Request request;
    void *bytes;
    struct sending *next;
};

static struct sending *first_sending;

/* A message that is being received. */
struct receiving {
    MPI_Request request;
    void *bytes; /* memory for the message; NULL if this entry is free */
    int size, from;
};

/* Entry 0 is for ordinary messages, which are received one after the other. The other entries are
 * for bulk messages. */
static struct receiving receivings[PLACES];

static bool start(unsigned *number, unsigned *count, char *why, size_t size)
{
    int provided, rank, ranks;
    /* Prevents a deadlock after a rank has died: Open MPI would wait for mpirun to print a message,
     * while mpirun waits for this rank to end. */
    setenv("OMPI_MCA_orte_base_help_aggregate", "0", 0);
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
        snprintf(why, size, "MPI_Init_thread failed");
        return false;
    }
    if (provided < MPI_THREAD_FUNNELED) {
        snprintf(why, size,
                 "this MPI library does not support programs with threads (MPI_THREAD_FUNNELED)");
        return false;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS ||
        MPI_Comm_size(MPI_COMM_WORLD, &ranks) != MPI_SUCCESS) {
        snprintf(why, size, "MPI does not report the rank of this process");
        return false;
    }
    *number = (unsigned)rank;
    *count = (unsigned)ranks;
    return true;
}

/* Frees the messages that have been sent. */
static void free_sent(void)
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
    free_sent();
    return first_sending == NULL;
}

static bool send(unsigned to, void *bytes, size_t size, bool is_bulk)
{
    /* Does not call free_sent, which walks over all unsent messages: the time to send a message to
     * each rank would grow with the square of the number of ranks. take() calls it. */
    struct sending *sending = size > INT_MAX ? NULL : malloc(sizeof *sending);
    /* free_sent tests the request: NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker) */
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

/* Ends all ranks after a message could not be received. MPI can neither skip such a message nor
 * deliver it again, so its sender would wait forever. */
static void give_up(const char *why)
{
    fprintf(stderr, "append: a message from another rank was lost: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 70);
}

/* Begins to receive the next message with `tag`. Returns false if no message with this tag has
 * arrived. */
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
    /* take() tests the request: NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker) */
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
            receiving->bytes = NULL; /* the sender has ended; its silence soon makes it lost */
            free(bytes);
        } else if (is_whole) {
            receiving->bytes = NULL;
            *from = (unsigned)receiving->from;
            *size = (size_t)receiving->size;
            return bytes;
        }
    }
    free_sent();
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
