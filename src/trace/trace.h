/*
 * Traces each read, write and sync of the server's processes, and divides the time of each call
 * into three layers:
 *
 *   device  a request of the call is at the device
 *   queue   a request of the call waits to be handed to the device
 *   vfs     all other time: file system, page cache, locks, and waits for other threads, for
 * example for a journal
 *
 * The times of the three layers add up to the call's time. Traced calls are read, write, fsync and
 * fdatasync in all their forms, on regular files and block devices. If a call only starts I/O
 * (io_submit, io_uring, sync_file_range) or a process writes to mapped memory, only the requests
 * are traced. Requests that write back changed pages later, and requests of the file system's
 * journal, do not belong to any call.
 *
 * eBPF programs in the kernel (io.bpf.c) write records to a ring buffer. A thread in trace.c reads
 * them, writes io.csv and adds the events to a struct trace_sum. The functions with a struct tracer
 * are called on the main thread. The other functions keep no state.
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

/* The class of a file, found from its name and the names of its folders. */
enum trace_file {
    TRACE_WAL, /* a log that the database uses for recovery or replication */
    TRACE_TABLE,
    TRACE_TEMPORARY,
    TRACE_OTHER,
    TRACE_UNKNOWN, /* the file of the call is not known */
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

/* Values of counters that the server itself keeps. `count` is 0 if the server has none. */
struct trace_counters {
    int64_t taken_ns; /* monotonic moment at which the counters were read */
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
    TRACE_PLACE_BYTES = 100, /* size of the text for the columns `rank` and `machine` */
    TRACE_NAME_BYTES = 40,
    TRACE_HISTOGRAMS = (IO_MODES - 1) * TRACE_LAYERS, /* largest number of histograms in a trace */
};

/* The result of a trace. If `level` is IO_TRACE_REQUESTS, calls are not traced: in this case
 * `modes` and `syncs` describe the requests of the server's own threads, and the vfs layer is
 * empty. */
struct trace_sum {
    enum io_trace level;         /* level of the trace; OFF: the run was not traced */
    char note[TRACE_NOTE_BYTES]; /* why the run was not traced, or what is incomplete; "" if the
                                    trace is complete */
    bool is_embedded;
    /* The sums contain the calls that began between gate_ns, at which sessions may start to work,
     * and done_ns, the last answer (monotonic moments). Other calls are only in io.csv. done_ns is
     * 0 if sessions never started to work. */
    int64_t gate_ns, done_ns;
    struct trace_times modes[IO_MODES];
    struct trace_times syncs[TRACE_FILES]; /* times of modes[IO_SYNC] by class of file */
    struct {
        uint64_t count;
        uint64_t bytes;
    } requests[IO_SOURCES];
    uint64_t events; /* number of all calls and requests in the trace, also of those that are only
                        in io.csv */
    uint64_t lost;   /* number of records that did not fit into the ring buffer, and of events that
                        the eBPF programs missed */
    uint64_t open;   /* number of calls that ended while one of their requests was not completed */
    double cpu_s;    /* CPU time of the reading thread */
    double kernel_s; /* estimated CPU time of the eBPF programs; negative: unknown */
    int csv_errno;   /* errno of the write after which io.csv ends early; 0: io.csv is complete */

    struct trace_counters before, after;
    uint64_t between[IO_MODES][TRACE_FILES]; /* number of calls that began after before.taken_ns */

    /* The run is divided into slots of slot_ns, beginning at start_ns. slots[i] is the time in ns
     * that calls spent in each layer during slot i. The time in a layer is spread evenly over the
     * call. When a run needs more than TRACE_SLOTS slots, each two neighbouring slots become
     * one. */
    int64_t start_ns;
    int64_t last_ns; /* end of the latest call in the slots */
    int64_t slot_ns;
    size_t slot_count;
    uint64_t slots[TRACE_SLOTS][TRACE_LAYERS];
};

/* Returns the class of a file. `names` are the file's own name, then the names of its folders. */
enum trace_file trace_classify(const char names[IO_NAMES][IO_NAME_BYTES], bool is_embedded);

/* Adds a call or a request to *sum. `file` is the class of its file. */
void trace_add(struct trace_sum *sum, const struct io_event *event, enum trace_file file);

/* Adds the trace of another machine for the same run. The moments of both traces must be on the
 * same clock. Counts, bytes and histograms are added up, so the percentiles are those of all calls.
 * Adds nothing if from->level is OFF. Does not change the server's own counters (before, after). */
void trace_sum_add(struct trace_sum *into, const struct trace_sum *from);

/* Sets *from_ns and *to_ns to the beginning and the end of the sums, relative to the start of the
 * run. The end is the last answer, or the end of the latest call if it is later. */
void trace_span(const struct trace_sum *sum, int64_t *from_ns, int64_t *to_ns);

/* Write the header or a row of io.csv to `row`, and return the number of bytes. In a run of several
 * ranks, `place` has the columns rank and machine ("1,db2,"), else it is "". */
size_t trace_write_header(char row[TRACE_ROW_BYTES], const char *place);
size_t trace_write_row(char row[TRACE_ROW_BYTES], const char *place, const struct io_event *event,
                       enum trace_file file, int64_t gate_ns);

/* Returns histogram `i` of a trace, counted from 0, and writes its name ("io.fsync.device") to
 * `name`. Returns NULL if `i` is too large. If `sum` is NULL, writes the name and returns an empty
 * histogram.
 */
const struct histogram *trace_histogram(const struct trace_sum *sum, enum io_trace level, size_t i,
                                        char name[TRACE_NAME_BYTES]);

/* Returns row `i`, counted from 0, of a table of calls. The table has a row for each mode, then a
 * row for the syncs of each class of files. Sets *mode and *file to the names of the row; *file is
 * "" if the row is for all files. Returns NULL if `i` is too large. */
const struct trace_times *trace_times_at(const struct trace_sum *sum, size_t i, const char **mode,
                                         const char **file);

/* Compares counter `i` of the server with the trace. Sets *counted to the increase of the counter,
 * and *traced to the number of calls in the trace that the counter also counts. Returns false if
 * the two numbers cannot be compared. */
bool trace_compare(const struct trace_sum *sum, size_t i, uint64_t *counted, uint64_t *traced);

struct tracer;

/* Loads the eBPF programs into the kernel. If it returns REJECTED, *error says what is missing and
 * how to get it. */
enum status trace_create(struct tracer **tracer, enum io_trace level, struct error *error);
void trace_destroy(struct tracer *tracer); /* `tracer` may be NULL */

/* Begins to trace the processes that `selector` finds. If the database is embedded, begins to trace
 * the threads that this program starts later. `csv` is the descriptor for the rows of io.csv; the
 * caller still owns it. Each row begins with `place`. */
enum status trace_begin(struct tracer *tracer, const struct server_selector *selector, int csv,
                        const char *place, struct error *error);

/* Set the monotonic moments of the first reading of the server's counters, of the start of the run,
 * of the gate (the moment at which sessions may start to work), and of the last answer. Each
 * function is called shortly before or after its moment. `tracer` may be NULL. Times in io.csv are
 * relative to the gate or, if sessions never start to work, to the start of the run. */
void trace_note_counters(struct tracer *tracer, int64_t taken_ns);
void trace_note_start(struct tracer *tracer, int64_t start_ns);
void trace_note_gate(struct tracer *tracer, int64_t go_ns);
void trace_note_done(struct tracer *tracer, int64_t done_ns);

/* Ends the trace and fills *sum. The caller must set sum->before and sum->after afterwards, because
 * this function overwrites them. */
void trace_end(struct tracer *tracer, struct trace_sum *sum);

#endif
