/*
 * What the tracer's programs in the kernel (io.bpf.c) hand to their reader (trace.c). A record of
 * the ring is one of the two structs, told apart by its size; neither has padding.
 */
#ifndef TRACE_IO_EVENT_H
#define TRACE_IO_EVENT_H

enum {
    IO_CALLS = 512, /* numbers of system calls that are looked at */
    IO_RING_BYTES = 4 << 20,
    IO_NAME_BYTES = 40,
    IO_NAMES = 4,
};

enum io_mode {
    IO_NONE,
    IO_READ,
    IO_WRITE,
    IO_SYNC, /* fsync and fdatasync; of requests: a flush without data */
    IO_MODES,
};

enum io_kind {
    IO_OPERATION, /* a system call */
    IO_REQUEST,   /* what the block layer hands to a device */
};

/* Who started a request. */
enum io_source {
    IO_OWN,       /* a thread of a traced process */
    IO_WRITEBACK, /* another one, of pages that a traced process dirtied last */
    IO_JOURNAL,   /* the journal of a file system that has traced files */
    IO_SOURCES,
};

struct io_event {
    unsigned long long start_ns; /* CLOCK_MONOTONIC */
    unsigned long long total_ns; /* of an operation: vfs + queue + device, exactly; of a request: */
    unsigned long long queue_ns; /* queue + device */
    unsigned long long device_ns;
    unsigned long long bytes;
    unsigned int pid; /* process; the next its thread */
    unsigned int tid;
    unsigned int file; /* number of a struct io_file; 0: not known */
    unsigned char kind;
    unsigned char mode;
    unsigned char source;
    unsigned char is_open; /* an operation that ended before its requests did */
};

/* A file that was met the first time, or under another name. */
struct io_file {
    unsigned int file;
    char names[IO_NAMES][IO_NAME_BYTES]; /* its own, that of its folder, ...; "" or "/": no more */
};

#endif
