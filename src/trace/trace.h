/*
 * The I/O of the server's processes, call by call: what they read, write and sync, and how much of
 * each call's time went into which layer.
 *
 *   vfs     no request of the call is in the block layer: file system, page cache, locks, and the
 *           wait for others, such as a journal
 *   queue   a request waits to be handed to the device
 *   device  a request is at the device
 *
 * The three add up to the call's time. Calls are read, write, fsync and fdatasync in all their
 * forms, of regular files and block devices; those that only start I/O (io_submit, io_uring,
 * sync_file_range, stores into a mapping) are seen by their requests alone. A request that pages
 * dirtied earlier cause later (write-back), and one of the file system's journal, is no part of any
 * call.
 *
 * Programs in the kernel (io.bpf.c) fill a ring, from which a thread here reads: it writes io.csv
 * and adds up. Everything is called on the main thread.
 */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "append/error.h"
#include "measure/recorder.h"
#include "measure/sampler.h"
#include "plan/plan.h"
#include "trace/io_event.h"

/* What a file is for, by its name and those of its folders. */
enum trace_file {
    TRACE_WAL, /* a log from which the database recovers, or replicates */
    TRACE_TABLE,
    TRACE_TEMPORARY,
    TRACE_OTHER,
    TRACE_UNKNOWN, /* a request of which the file is not known */
    TRACE_FILES,
};
extern const char *const trace_file_names[TRACE_FILES]; /* "wal", ... */

enum trace_layer {
    TRACE_TOTAL,
    TRACE_VFS,
    TRACE_QUEUE,
    TRACE_DEVICE,
    TRACE_LAYERS,
};
extern const char *const trace_layer_names[TRACE_LAYERS];

/* Of calls that are alike. */
struct trace_times {
    uint64_t bytes;
    struct histogram layers[TRACE_LAYERS];
};

/* What the server has counted itself, as far as it tells. */
struct trace_counters {
    int64_t taken_ns; /* monotonic */
    size_t count;
    struct {
        char name[32];
        uint64_t value;
    } entries[4];
};

enum {
    TRACE_SLOTS = 512,
    TRACE_NOTE_BYTES = 400,
    TRACE_ROW_BYTES = 384,
    TRACE_PLACE_BYTES = 100, /* of the columns that say whose row it is */
    TRACE_NAME_BYTES = 40,
    TRACE_HISTOGRAMS = (IO_MODES - 1) * TRACE_LAYERS, /* at most */
};

/* What a trace came to. With IO_TRACE_REQUESTS there are no calls: `modes` and `syncs` are of the
 * requests of the server's own threads, and vfs is empty. */
struct trace_sum {
    enum io_trace level;         /* OFF: the run went on without */
    char note[TRACE_NOTE_BYTES]; /* why it did; or what is not whole; "" */
    bool is_embedded;
    /* What began from the opened gate to the last answer; the rest is in io.csv alone. */
    int64_t gate_ns, done_ns; /* monotonic; done_ns 0: the gate did not open */
    struct trace_times modes[IO_MODES];
    struct trace_times syncs[TRACE_FILES]; /* of modes[IO_SYNC] */
    struct {
        uint64_t count;
        uint64_t bytes;
    } requests[IO_SOURCES];
    uint64_t events; /* calls and requests, with those that are in io.csv alone */
    uint64_t lost;   /* of these, or files' names, that found no room */
    uint64_t open;   /* calls that ended before their requests */
    double cpu_s;    /* of the thread that reads */
    double kernel_s; /* of the programs in the kernel, estimated; negative: not known */
    int csv_errno;   /* io.csv ends with the rows before; 0: it is whole */

    struct trace_counters before, after;
    uint64_t between[IO_MODES][TRACE_FILES]; /* calls that began since the former, all of them */

    /* The layers over time, for each so many nanoseconds since the start of the run: a call's are
     * spread evenly over its time. When there is no room for one more, two become one. */
    int64_t start_ns;
    int64_t last_ns; /* when the latest of these calls had ended */
    int64_t slot_ns;
    size_t slot_count;
    uint64_t slots[TRACE_SLOTS][TRACE_LAYERS];
};

/* The class of a file that has these names, its own first. */
enum trace_file trace_classify(const char names[IO_NAMES][IO_NAME_BYTES], bool is_embedded);

void trace_add(struct trace_sum *sum, const struct io_event *event, enum trace_file file);

/* Adds what another machine's trace of the same time came to; its moments are on the same clock.
 * Counts, bytes and histograms add, so percentiles are those of all calls. A trace that did not
 * take place adds nothing. What a server has counted is left as it is. */
void trace_sum_add(struct trace_sum *into, const struct trace_sum *from);

/* The part of the slots' time that was traced, since the start of the run: from the gate to the
 * last answer, or the end of a call that took longer. */
void trace_span(const struct trace_sum *sum, int64_t *from_ns, int64_t *to_ns);

/* The header of io.csv, and a row of it; each returns its length. `place`: the first columns of a
 * run of several ranks, "1,db2,"; "" of one alone. */
size_t trace_write_header(char row[TRACE_ROW_BYTES], const char *place);
size_t trace_write_row(char row[TRACE_ROW_BYTES], const char *place, const struct io_event *event,
                       enum trace_file file, int64_t gate_ns);

/* The histograms of a trace and what they are called ("io.fsync.device"), one after the other from
 * 0; NULL: there are no more. `sum` may be NULL: then only the names are told, and what is returned
 * is empty. */
const struct histogram *trace_histogram(const struct trace_sum *sum, enum io_trace level, size_t i,
                                        char name[TRACE_NAME_BYTES]);

/* The rows of the table of calls, from 0: those of each mode, and of the syncs of each class of
 * files. `mode` and `file` ("": all) say which. NULL: there are no more. */
const struct trace_times *trace_times_at(const struct trace_sum *sum, size_t i, const char **mode,
                                         const char **file);

/* How much more the server has counted under a name, and how many such calls were traced. False:
 * that cannot be compared. */
bool trace_compare(const struct trace_sum *sum, size_t i, uint64_t *counted, uint64_t *traced);

struct tracer;

/* Loads the programs. REJECTED: *error says in a line what is missing and how to get it. */
enum status trace_create(struct tracer **tracer, enum io_trace level, struct error *error);
void trace_destroy(struct tracer *tracer); /* takes NULL */

/* From now on the processes that the selector finds are traced, and rows written into `csv`, a
 * descriptor that stays the caller's, with `place` in front. For an embedded database: this
 * program's threads that are started later. */
enum status trace_begin(struct tracer *tracer, const struct server_selector *selector, int csv,
                        const char *place, struct error *error);

/* Moments, monotonic; each takes NULL, and is told soon after. When the server was asked for its
 * counters, the first time; the start of the run; when the gate opened, from when on the times in
 * io.csv count (should it never open: from the start); and the last answer. */
void trace_note_counters(struct tracer *tracer, int64_t taken_ns);
void trace_note_start(struct tracer *tracer, int64_t start_ns);
void trace_note_gate(struct tracer *tracer, int64_t go_ns);
void trace_note_done(struct tracer *tracer, int64_t done_ns);

/* Ends the trace: fills *sum but for the counters. */
void trace_end(struct tracer *tracer, struct trace_sum *sum);

#endif
