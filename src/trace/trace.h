/*
 * Tracing of the I/O of the server's processes, call by call: what they read, write and sync, and
 * how the time of each call divides into layers.
 *
 *   vfs     no request of the call is in the block layer: file system, page cache, locks, and waits
 *           for other threads, for example for a journal
 *   queue   a request waits to be handed to the device
 *   device  a request is at the device
 *
 * The times of the three layers add up to the call's time. Traced calls are read, write, fsync and
 * fdatasync in all their forms, on regular files and block devices. For calls that only start I/O
 * (io_submit, io_uring, sync_file_range, stores into a mapping) only their requests are traced. A
 * write-back request for pages dirtied earlier, or a request of the file system's journal, does not
 * belong to any call.
 *
 * Programs in the kernel (io.bpf.c) fill a ring. A thread in trace.c reads the ring, writes io.csv
 * and adds the events to a struct trace_sum. The functions of struct tracer are called on the main
 * thread. The other functions keep no state.
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

/* The class of a file, by its name and the names of its folders. */
enum trace_file {
    TRACE_WAL, /* the file is a log from which the database recovers, or replicates */
    TRACE_TABLE,
    TRACE_TEMPORARY,
    TRACE_OTHER,
    TRACE_UNKNOWN, /* the file is unknown */
    TRACE_FILES,
};
extern const char *const trace_file_names[TRACE_FILES]; /* names of the classes: "wal", ... */

enum trace_layer {
    TRACE_TOTAL,
    TRACE_VFS,
    TRACE_QUEUE,
    TRACE_DEVICE,
    TRACE_LAYERS,
};
extern const char *const trace_layer_names[TRACE_LAYERS];

/* The bytes and times of a group of calls, for example of all reads. */
struct trace_times {
    uint64_t bytes;
    struct histogram layers[TRACE_LAYERS];
};

/* Counters that the server itself keeps. `count` is 0 for a server without such counters. */
struct trace_counters {
    int64_t taken_ns; /* monotonic moment at which the server was asked */
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
    TRACE_PLACE_BYTES = 100, /* longest text of the columns that name the rank and machine */
    TRACE_NAME_BYTES = 40,
    TRACE_HISTOGRAMS = (IO_MODES - 1) * TRACE_LAYERS, /* largest number of histograms in a trace */
};

/* The result of a trace. With the level IO_TRACE_REQUESTS calls are not traced: `modes` and `syncs`
 * then have the requests of the server's own threads, and the vfs layer is empty. */
struct trace_sum {
    enum io_trace level;         /* level of the trace; OFF: the run was not traced */
    char note[TRACE_NOTE_BYTES]; /* reason why the run was not traced, or what is incomplete; else
                                    "" */
    bool is_embedded;
    /* The sums contain the calls that began between the opening of the gate and the last answer.
     * Other calls are only in io.csv. */
    int64_t gate_ns, done_ns; /* monotonic moments; done_ns 0: the gate did not open */
    struct trace_times modes[IO_MODES];
    struct trace_times syncs[TRACE_FILES]; /* times of modes[IO_SYNC] by class of file */
    struct {
        uint64_t count;
        uint64_t bytes;
    } requests[IO_SOURCES];
    uint64_t events; /* number of all calls and requests, including those before the gate and after
                        the last answer */
    uint64_t lost;   /* number of events and names of files for which the ring had no room, and of
                        events that the kernel's programs did not see */
    uint64_t open;   /* number of calls that ended before their requests */
    double cpu_s;    /* CPU time of the reading thread */
    double kernel_s; /* CPU time that the eBPF programs took, estimated; negative: unknown */
    int csv_errno;   /* errno with which io.csv was cut; 0: io.csv is complete */

    struct trace_counters before, after;
    uint64_t between[IO_MODES][TRACE_FILES]; /* number of calls that began after before.taken_ns */

    /* The time in each layer, in ns, over time: in slots of slot_ns since the start of the run. The
     * layers of a call are spread evenly over the call's time. When the slots are used up, each
     * pair of slots becomes one. */
    int64_t start_ns;
    int64_t last_ns; /* end of the latest call in the slots */
    int64_t slot_ns;
    size_t slot_count;
    uint64_t slots[TRACE_SLOTS][TRACE_LAYERS];
};

/* Returns the class of a file from its names: the file's own name, then the names of its folders.
 */
enum trace_file trace_classify(const char names[IO_NAMES][IO_NAME_BYTES], bool is_embedded);

/* Adds a call or a request to *sum. `file` is the class of its file. */
void trace_add(struct trace_sum *sum, const struct io_event *event, enum trace_file file);

/* Adds the trace of another machine over the same time, with moments on the same clock. Counts,
 * bytes and histograms are added, so percentiles are percentiles of all calls. The level OFF adds
 * nothing. The server's own counters (before, after) are not changed. */
void trace_sum_add(struct trace_sum *into, const struct trace_sum *from);

/* Sets *from_ns and *to_ns to the traced time, relative to the start of the run: from the gate to
 * the last answer, or to the end of the latest call if this is later. */
void trace_span(const struct trace_sum *sum, int64_t *from_ns, int64_t *to_ns);

/* Write the header or one row of io.csv, and return the number of bytes. `place` has the first
 * columns of a row in a run of several ranks ("1,db2,"), else it is "". */
size_t trace_write_header(char row[TRACE_ROW_BYTES], const char *place);
size_t trace_write_row(char row[TRACE_ROW_BYTES], const char *place, const struct io_event *event,
                       enum trace_file file, int64_t gate_ns);

/* Returns the histogram number `i` of a trace, from 0, and its name ("io.fsync.device"). Returns
 * NULL if there are no more histograms. If `sum` is NULL, the name is written, and the returned
 * histogram is empty. */
const struct histogram *trace_histogram(const struct trace_sum *sum, enum io_trace level, size_t i,
                                        char name[TRACE_NAME_BYTES]);

/* Returns row `i` of the table of calls, from 0: one row for each mode, then one for the syncs of
 * each class of files. Sets *mode and *file to the row's names; *file is "" in a row for all files.
 * Returns NULL if there are no more rows. */
const struct trace_times *trace_times_at(const struct trace_sum *sum, size_t i, const char **mode,
                                         const char **file);

/* Compares the server's counter number `i` with the trace: sets *counted to the counter's
 * increase, and *traced to the number of traced calls of the same kind. Returns false if the two
 * numbers cannot be compared. */
bool trace_compare(const struct trace_sum *sum, size_t i, uint64_t *counted, uint64_t *traced);

struct tracer;

/* Loads the programs into the kernel. On REJECTED, *error says what is missing and how to get
 * it. */
enum status trace_create(struct tracer **tracer, enum io_trace level, struct error *error);
void trace_destroy(struct tracer *tracer); /* `tracer` may be NULL */

/* Begins to trace the processes that `selector` finds, or, for an embedded database, the threads
 * that this program starts later. Rows are written to `csv`, a descriptor that still belongs to the
 * caller, with `place` at their beginning. */
enum status trace_begin(struct tracer *tracer, const struct server_selector *selector, int csv,
                        const char *place, struct error *error);

/* Note a moment (monotonic): the first reading of the server's counters, the start of the run, the
 * opening of the gate, and the last answer. Each function is called shortly before or after its
 * moment. `tracer` may be NULL. Times in io.csv are relative to the gate, or to the start if the
 * gate never opens. */
void trace_note_counters(struct tracer *tracer, int64_t taken_ns);
void trace_note_start(struct tracer *tracer, int64_t start_ns);
void trace_note_gate(struct tracer *tracer, int64_t go_ns);
void trace_note_done(struct tracer *tracer, int64_t done_ns);

/* Ends the trace and fills *sum. Overwrites sum->before and sum->after, so the caller sets these
 * two afterwards. */
void trace_end(struct tracer *tracer, struct trace_sum *sum);

#endif
