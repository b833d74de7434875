#include "trace/trace.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/mono.h"
#include "base/process.h"
#include "trace/kernel.h"

#define OPTION "--io-trace"
#define NEEDS "the tracepoint block_io_start: use Linux 6.5 or later"

#if APPEND_HAVE_IO_TRACE

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trace/io.skel.h"

/* Pause between two reads of the ring buffer. The buffer has room for 65,000 records, which is
 * enough for more than a million records per second. */
#define READ_NS (20 * MONO_NS_PER_MS)

/* Records wait at least this long before they are added up. Only after this time is it known
 * whether a record is part of the run: it must begin after sessions may work, and before the last
 * answer. */
#define HOLD_NS (100 * MONO_NS_PER_MS)

/* Time between two checks for a restart of the server. It is four times as long for a cgroup. */
#define CHECK_NS (250 * MONO_NS_PER_MS)

/* The kernel measures the run time of the eBPF programs only for MEASURED_NS of each period,
 * because the measurement doubles this run time. */
#define MEASURED_NS (200 * MONO_NS_PER_MS)
#define MEASURE_PERIOD_NS (2 * MONO_NS_PER_S)

enum {
    READER_NICE = -10, /* niceness of the reading thread, which loses records if it is late */
    ROWS_BYTES = 256 << 10,
    FILES_MAX = 1 << 20, /* maximum number of files with a known class */
    HELD_MAX = 1 << 16,
};

static const struct {
    short call;
    unsigned char mode;
} calls[] = {
#ifdef SYS_preadv2
    {SYS_preadv2, IO_READ},   {SYS_pwritev2, IO_WRITE},
#endif
    {SYS_read, IO_READ},      {SYS_pread64, IO_READ},   {SYS_readv, IO_READ},
    {SYS_preadv, IO_READ},    {SYS_write, IO_WRITE},    {SYS_pwrite64, IO_WRITE},
    {SYS_writev, IO_WRITE},   {SYS_pwritev, IO_WRITE},  {SYS_fsync, IO_SYNC},
    {SYS_fdatasync, IO_SYNC},
};

/* An event that waits for HOLD_NS. The class of its file is stored too, because the file may be
 * renamed before the event is added up. */
struct held {
    struct io_event event;
    enum trace_file file;
};

struct tracer {
    struct io_bpf *programs;
    struct ring_buffer *ring;
    struct kernel_processes processes;
    int64_t next_check_ns;
    int statistics; /* while this descriptor is open, the kernel measures the programs; -1:
                     * closed */
    int64_t begin_ns, measured_since_ns, measured_ns;
    uint64_t run_ns; /* run time of the programs during measured_ns */
    int64_t clock_offset_ns;
    pthread_t thread;
    bool has_thread;
    atomic_bool is_over;
    atomic_llong counters_ns, start_ns, gate_ns, done_ns; /* moments; 0: not noted yet */

    /* The members below belong to the reading thread until it has ended. */
    struct trace_sum *sum;
    unsigned char *classes; /* the enum trace_file of each file, by the file's number */
    size_t class_count;
    struct held *held;
    /* number of events in `held`; the first old_count of them have waited for HOLD_NS */
    size_t held_count, old_count;
    int64_t next_process_ns;
    FILE *early; /* temporary file for events before sessions may work; NULL if it has no events, or
                    after they were written to io.csv */
    int csv;
    char place[TRACE_PLACE_BYTES]; /* rank and machine, written at the beginning of each row */
    char *rows;
    size_t row_bytes;
    off_t whole_bytes; /* size of the file up to the last complete row */
};

enum status trace_create(struct tracer **tracer, enum io_trace level, struct error *error)
{
    *tracer = NULL;
    if (kernel_allows(OPTION, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    struct tracer *made = calloc(1, sizeof *made);
    struct io_bpf *programs = made == NULL ? NULL : io_bpf__open();
    if (programs == NULL) {
        free(made);
        return kernel_report(OPTION, error, errno, NEEDS);
    }
    *made = (struct tracer){.programs = programs,
                            .statistics = -1,
                            .csv = -1,
                            .clock_offset_ns = kernel_clock_offset_ns()};
    made->sum = calloc(1, sizeof *made->sum);
    made->rows = malloc(ROWS_BYTES);
    made->held = malloc(HELD_MAX * sizeof *made->held);
    int number = made->sum == NULL || made->rows == NULL || made->held == NULL ? ENOMEM : 0;
    if (level == IO_TRACE_REQUESTS) {
        bpf_program__set_autoload(programs->progs.call_begins, false);
        bpf_program__set_autoload(programs->progs.call_ends, false);
    }
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        programs->rodata->call_modes[calls[i].call] = calls[i].mode;
    }
    number = number == 0 ? -io_bpf__load(programs) : number;
    if (number == 0) {
        made->sum->level = level == IO_TRACE_REQUESTS ? IO_TRACE_REQUESTS : IO_TRACE_FULL;
        *tracer = made;
        return STATUS_OK;
    }
    trace_destroy(made);
    return kernel_report(OPTION, error, number, NEEDS);
}

void trace_destroy(struct tracer *tracer)
{
    if (tracer == NULL) {
        return;
    }
    if (tracer->has_thread) {
        atomic_store(&tracer->is_over, true);
        pthread_join(tracer->thread, NULL);
    }
    ring_buffer__free(tracer->ring);
    io_bpf__destroy(tracer->programs);
    kernel_processes_fini(&tracer->processes);
    if (tracer->statistics >= 0) {
        close(tracer->statistics);
    }
    if (tracer->early != NULL) {
        fclose(tracer->early);
    }
    free(tracer->classes);
    free(tracer->rows);
    free(tracer->held);
    free(tracer->sum);
    free(tracer);
}

/* Writes the collected rows to io.csv. After an error, shortens the file to its last complete row,
 * and does not write any more rows. */
static void flush_rows(struct tracer *tracer)
{
    size_t done = 0;
    while (done < tracer->row_bytes && tracer->sum->csv_errno == 0) {
        const ssize_t written = write(tracer->csv, tracer->rows + done, tracer->row_bytes - done);
        if (written > 0) {
            done += (size_t)written;
        } else if (written == 0 || errno != EINTR) {
            tracer->sum->csv_errno = written == 0 ? EIO : errno;
            done = 0;
            if (ftruncate(tracer->csv, tracer->whole_bytes) != 0) {
                break; /* csv_errno already has the first error */
            }
        }
    }
    tracer->whole_bytes += (off_t)done;
    tracer->row_bytes = 0;
}

static enum trace_file class_of(const struct tracer *tracer, unsigned file)
{
    return file < tracer->class_count ? (enum trace_file)tracer->classes[file] : TRACE_UNKNOWN;
}

static void write_row(struct tracer *tracer, const struct held *held, int64_t gate_ns)
{
    if (tracer->row_bytes + TRACE_ROW_BYTES > ROWS_BYTES) {
        flush_rows(tracer);
    }
    tracer->row_bytes += trace_write_row(tracer->rows + tracer->row_bytes, tracer->place,
                                         &held->event, held->file, gate_ns);
}

/* Adds the oldest `count` events to the sums, and writes their rows to io.csv. Until sessions may
 * work or the trace ends (`is_over`), stores the events in a temporary file instead: the times in
 * io.csv are relative to a moment that is not known yet. */
static void process_events(struct tracer *tracer, size_t count, bool is_over)
{
    struct trace_sum *sum = tracer->sum;
    const int64_t done_ns = atomic_load(&tracer->done_ns);
    const int64_t gate_ns = atomic_load(&tracer->gate_ns);
    struct held held;
    sum->before.taken_ns = atomic_load(&tracer->counters_ns);
    sum->start_ns = atomic_load(&tracer->start_ns);
    sum->gate_ns = gate_ns;
    sum->done_ns = done_ns == 0 ? INT64_MAX : done_ns;
    if (gate_ns == 0) {
        sum->done_ns = 0;
    }
    const bool is_early = gate_ns == 0 && !is_over;
    const int64_t zero_ns = gate_ns == 0 ? sum->start_ns : gate_ns;
    if (!is_early && tracer->early != NULL) {
        sum->csv_errno = fflush(tracer->early) != 0 ? errno : sum->csv_errno;
        rewind(tracer->early);
        while (fread(&held, sizeof held, 1, tracer->early) == 1) {
            write_row(tracer, &held, zero_ns);
        }
        fclose(tracer->early);
        tracer->early = NULL;
    }
    if (is_early && tracer->early == NULL && count > 0) {
        tracer->early = tmpfile();
    }
    for (size_t i = 0; i < count; i++) {
        const struct held *at = &tracer->held[i];
        trace_add(sum, &at->event, at->file);
        if (!is_early) {
            write_row(tracer, at, zero_ns);
        } else if (tracer->early == NULL || fwrite(at, sizeof *at, 1, tracer->early) != 1) {
            sum->csv_errno = sum->csv_errno == 0 ? errno : sum->csv_errno;
        }
    }
    tracer->held_count -= count;
    memmove(tracer->held, tracer->held + count, tracer->held_count * sizeof held);
    tracer->old_count = tracer->held_count;
}

static void keep_class(struct tracer *tracer, const struct io_file *file)
{
    if (file->file >= tracer->class_count) {
        const size_t count = MIN(2 * (size_t)file->file + 1024, FILES_MAX);
        unsigned char *classes = file->file < FILES_MAX ? realloc(tracer->classes, count) : NULL;
        if (classes == NULL) {
            return; /* the class stays TRACE_UNKNOWN */
        }
        memset(classes + tracer->class_count, TRACE_UNKNOWN, count - tracer->class_count);
        tracer->classes = classes;
        tracer->class_count = count;
    }
    tracer->classes[file->file] =
        (unsigned char)trace_classify(file->names, tracer->sum->is_embedded);
}

static int on_record(void *context, void *data, size_t bytes)
{
    struct tracer *tracer = context;
    if (bytes == sizeof(struct io_file)) {
        keep_class(tracer, data);
        return 0;
    }
    const struct io_event *event = data;
    if (tracer->held_count == HELD_MAX) {
        process_events(tracer, HELD_MAX / 2, false); /* `held` is full: does not wait for HOLD_NS */
    }
    struct held *held = &tracer->held[tracer->held_count++];
    *held = (struct held){.event = *event, .file = class_of(tracer, event->file)};
    held->event.start_ns += (uint64_t)tracer->clock_offset_ns;
    return 0;
}

/* Excludes a thread of this program from the trace. */
static bool exclude(const struct tracer *tracer, uint32_t tid)
{
    const unsigned char is_there = 1;
    return bpf_map__update_elem(tracer->programs->maps.excluded, &tid, sizeof tid, &is_there,
                                sizeof is_there, BPF_ANY) == 0;
}

/* Starts or stops the kernel's measurement of the programs, whichever is due. Other processes may
 * also start this measurement, so only the increase of the run time between start and stop is
 * added. */
static void measure(struct tracer *tracer, int64_t now_ns, bool is_over)
{
    const bool is_due = !is_over && (now_ns - tracer->begin_ns) % MEASURE_PERIOD_NS < MEASURED_NS;
    if (is_due && tracer->statistics < 0) {
        tracer->statistics = bpf_enable_stats(BPF_STATS_RUN_TIME);
        tracer->measured_since_ns = now_ns;
        tracer->run_ns -=
            tracer->statistics < 0 ? 0 : kernel_read_counts(tracer->programs->obj).run_ns;
    } else if (!is_due && tracer->statistics >= 0) {
        close(tracer->statistics);
        tracer->statistics = -1;
        tracer->measured_ns += now_ns - tracer->measured_since_ns;
        tracer->run_ns += kernel_read_counts(tracer->programs->obj).run_ns;
    }
}

static void *run_reader(void *argument)
{
    struct tracer *tracer = argument;
    bool is_over = false;
    /* this cannot fail, because the map has room */
    (void)exclude(tracer, (uint32_t)syscall(SYS_gettid));
    int64_t flushed_ns = mono_now_ns();
    (void)setpriority(PRIO_PROCESS, 0, READER_NICE);
    while (!is_over) {
        is_over = atomic_load(&tracer->is_over);
        if (is_over) {
            io_bpf__detach(tracer->programs);
        }
        ring_buffer__consume(tracer->ring);
        const int64_t now_ns = mono_now_ns();
        if (is_over || now_ns >= tracer->next_process_ns) {
            process_events(tracer, is_over ? tracer->held_count : tracer->old_count, is_over);
            tracer->next_process_ns = now_ns + HOLD_NS;
        }
        measure(tracer, now_ns, is_over);
        if (is_over || now_ns >= flushed_ns + MONO_NS_PER_S) {
            flush_rows(tracer);
            flushed_ns = now_ns;
        }
        if (!is_over && tracer->processes.server != NULL && now_ns >= tracer->next_check_ns) {
            tracer->next_check_ns = now_ns + CHECK_NS * (tracer->processes.is_of_cgroup ? 4 : 1);
            kernel_processes_check(&tracer->processes);
        }
        if (!is_over) {
            mono_sleep(READ_NS);
        }
    }
    const double share = (double)tracer->measured_ns / (double)(mono_now_ns() - tracer->begin_ns);
    tracer->sum->kernel_s = share > 0 ? (double)tracer->run_ns / MONO_NS_PER_S / share : -1;
    tracer->sum->cpu_s = (double)mono_clock_ns(CLOCK_THREAD_CPUTIME_ID) / (double)MONO_NS_PER_S;
    return NULL;
}

/* Traces this process, because it contains the database. Excludes the threads that already run,
 * because they do not belong to the database. */
static bool trace_own(const struct tracer *tracer)
{
    const unsigned char is_there = 1;
    const uint32_t own = (uint32_t)getpid();
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *entry;
    bool is_done = tasks != NULL;
    while (is_done && (entry = readdir(tasks)) != NULL) {
        const uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        is_done = tid == 0 || exclude(tracer, tid);
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return is_done && bpf_map__update_elem(tracer->programs->maps.processes, &own, sizeof own,
                                           &is_there, sizeof is_there, BPF_ANY) == 0;
}

static enum status find_processes(struct tracer *tracer, const struct server_selector *selector,
                                  struct error *error)
{
    if (!selector->is_embedded) {
        return kernel_processes_find(&tracer->processes,
                                     bpf_map__fd(tracer->programs->maps.processes), selector,
                                     OPTION, error);
    }
    return trace_own(tracer)
               ? STATUS_OK
               : kernel_reject(OPTION, error, errno,
                               "append cannot list its own threads (/proc/self/task)");
}

enum status trace_begin(struct tracer *tracer, const struct server_selector *selector, int csv,
                        const char *place, struct error *error)
{
    struct io_bpf *programs = tracer->programs;
    tracer->csv = csv;
    tracer->sum->is_embedded = selector->is_embedded;
    programs->bss->is_embedded = selector->is_embedded;
    snprintf(tracer->place, sizeof tracer->place, "%s", place);
    tracer->row_bytes = trace_write_header(tracer->rows, place);
    flush_rows(tracer);
    tracer->ring = ring_buffer__new(bpf_map__fd(programs->maps.ring), on_record, tracer, NULL);
    if (tracer->ring == NULL) {
        return kernel_reject(OPTION, error, ENOMEM, "out of memory");
    }
    tracer->begin_ns = mono_now_ns();
    measure(tracer, tracer->begin_ns, false);
    int number = -io_bpf__attach(programs);
    if (number != 0) {
        return kernel_report(OPTION, error, number, NEEDS);
    }
    if (find_processes(tracer, selector, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    number = thread_start(&tracer->thread, 0, run_reader, tracer);
    if (number != 0) {
        error_set(error, ERROR_LIMIT, number, NULL,
                  "--io-trace: cannot start the thread that reads the trace: %s", strerror(number));
        return STATUS_REJECTED;
    }
    tracer->has_thread = true;
    return STATUS_OK;
}

void trace_note_counters(struct tracer *tracer, int64_t taken_ns)
{
    if (tracer != NULL) {
        atomic_store(&tracer->counters_ns, taken_ns);
    }
}

void trace_note_start(struct tracer *tracer, int64_t start_ns)
{
    if (tracer != NULL) {
        atomic_store(&tracer->start_ns, start_ns);
    }
}

void trace_note_gate(struct tracer *tracer, int64_t go_ns)
{
    if (tracer != NULL) {
        atomic_store(&tracer->gate_ns, go_ns);
    }
}

void trace_note_done(struct tracer *tracer, int64_t done_ns)
{
    if (tracer != NULL) {
        atomic_store(&tracer->done_ns, done_ns);
    }
}

void trace_end(struct tracer *tracer, struct trace_sum *sum)
{
    atomic_store(&tracer->is_over, true);
    pthread_join(tracer->thread, NULL);
    tracer->has_thread = false;
    tracer->sum->lost =
        tracer->programs->bss->lost + kernel_read_counts(tracer->programs->obj).skipped;
    *sum = *tracer->sum;
}

#else

enum status trace_create(struct tracer **tracer, enum io_trace level, struct error *error)
{
    (void)level;
    *tracer = NULL;
    return kernel_allows(OPTION, error);
}

void trace_destroy(struct tracer *tracer)
{
    (void)tracer;
}

enum status trace_begin(struct tracer *tracer, const struct server_selector *selector, int csv,
                        const char *place, struct error *error)
{
    (void)selector;
    (void)csv;
    (void)place;
    return trace_create(&tracer, IO_TRACE_FULL, error);
}

void trace_note_counters(struct tracer *tracer, int64_t taken_ns)
{
    (void)tracer;
    (void)taken_ns;
}

void trace_note_start(struct tracer *tracer, int64_t start_ns)
{
    (void)tracer;
    (void)start_ns;
}

void trace_note_gate(struct tracer *tracer, int64_t go_ns)
{
    (void)tracer;
    (void)go_ns;
}

void trace_note_done(struct tracer *tracer, int64_t done_ns)
{
    (void)tracer;
    (void)done_ns;
}

void trace_end(struct tracer *tracer, struct trace_sum *sum)
{
    (void)tracer;
    (void)sum;
}

#endif
