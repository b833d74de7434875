/*
 * The records that the eBPF programs (io.bpf.c) send to the reader (trace.c) through a ring buffer.
 * A record is a struct io_event or a struct io_file; the reader distinguishes them by their size.
 * Neither struct has padding.
 */
#ifndef TRACE_IO_EVENT_H
#define TRACE_IO_EVENT_H

enum {
    IO_CALLS = 512, /* system calls with this number or a higher number cannot be traced */
    IO_RING_BYTES = 4 << 20,
    IO_NAME_BYTES = 40,
    IO_NAMES = 4,
};

enum io_mode {
    IO_NONE,
    IO_READ,
    IO_WRITE,
    IO_SYNC, /* the system calls fsync and fdatasync; a request of a flush without data */
    IO_MODES,
};

enum io_kind {
    IO_OPERATION, /* a system call */
    IO_REQUEST,   /* a request of the block layer to a device */
};

/* The origin of a request. */
enum io_source {
    IO_OWN,       /* a request of a thread of a traced process */
    IO_WRITEBACK, /* a write of another thread, for a file to which a traced process last wrote */
    IO_JOURNAL,   /* a write to the journal of a file system that contains traced files */
    IO_SOURCES,
};

struct io_event {
    unsigned long long start_ns; /* start of the call or request (CLOCK_MONOTONIC) */
    /* duration; an operation has times in vfs, queue and device, a request only in queue and
     * device */
    unsigned long long total_ns;
    unsigned long long queue_ns;
    unsigned long long device_ns;
    unsigned long long bytes;
    unsigned int pid;  /* id of the process */
    unsigned int tid;  /* id of the thread */
    unsigned int file; /* number of the file, as in a struct io_file; 0: unknown */
    unsigned char kind;
    unsigned char mode;
    unsigned char source;
    unsigned char is_open; /* true for an operation that ended while a request was not completed */
};

/* Sent when a file is used for the first time, or for the first time under a new name. */
struct io_file {
    unsigned int file;
    char names[IO_NAMES][IO_NAME_BYTES]; /* names of the file, its folder, ...; "" or "/" ends the
                                            list */
};

#endif
