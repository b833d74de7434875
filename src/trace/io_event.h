/*
 * The records that the tracer's programs in the kernel (io.bpf.c) send to the reader (trace.c). A
 * record in the ring is one of the two structs; its size shows which. Neither struct has padding.
 */
#ifndef TRACE_IO_EVENT_H
#define TRACE_IO_EVENT_H

enum {
    IO_CALLS = 512, /* system calls with a number below it can be traced */
    IO_RING_BYTES = 4 << 20,
    IO_NAME_BYTES = 40,
    IO_NAMES = 4,
};

enum io_mode {
    IO_NONE,
    IO_READ,
    IO_WRITE,
    IO_SYNC, /* fsync and fdatasync; for requests: a flush without data */
    IO_MODES,
};

enum io_kind {
    IO_OPERATION, /* a system call */
    IO_REQUEST,   /* a request of the block layer to a device */
};

/* Who started a request. */
enum io_source {
    IO_OWN,       /* a thread of a traced process */
    IO_WRITEBACK, /* another thread, for a file that a traced process dirtied last */
    IO_JOURNAL,   /* the journal of a file system with traced files */
    IO_SOURCES,
};

struct io_event {
    unsigned long long start_ns; /* CLOCK_MONOTONIC */
    unsigned long long total_ns; /* operation: vfs + queue + device; request: queue + device */
    unsigned long long queue_ns;
    unsigned long long device_ns;
    unsigned long long bytes;
    unsigned int pid;  /* process */
    unsigned int tid;  /* thread */
    unsigned int file; /* number of a struct io_file; 0: unknown */
    unsigned char kind;
    unsigned char mode;
    unsigned char source;
    unsigned char is_open; /* an operation that ended before its requests did */
};

/* A file that is used for the first time, or under a new name. */
struct io_file {
    unsigned int file;
    char names[IO_NAMES][IO_NAME_BYTES]; /* names of the file, its folder, ...; "" or "/" ends the
                                            list */
};

#endif
