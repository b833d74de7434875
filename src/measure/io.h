/*
 * What is read and written, by layer: by the server's processes (/proc/PID/io), from and to storage
 * for them, and at the device below its data directory (/proc/diskstats); and how long somebody
 * waited for it (iowait, /proc/pressure). Needs no privilege beyond seeing the server's processes.
 *
 * The counts are the kernel's, since boot or since the processes began: figures are differences of
 * two readings. They tell nothing that happened after the second one: what a server writes back
 * later is in no figure of the run.
 *
 * The device is that of the file system on which the directory is, seen from the server's own root
 * (a container's). A partition stands for its disk; dm and md for the disks below them, whose
 * counts are added up. All programs of the machine share it.
 *
 * What the kernel says was made to be written by a process is taken only where it counts pages: on
 * file systems with large folios (XFS since 5.18, ext4 since 6.16, others) each write of a few
 * bytes can count as the whole folio. Of a cgroup it is counted at the device, and always taken.
 */
#ifndef MEASURE_IO_H
#define MEASURE_IO_H

#include "measure/procfs.h"

/* Cumulative counts; the first are those of enum procfs_io_count. */
enum io_count {
    IO_SERVER_READ_BYTES, /* by its system calls, page cache and sockets included */
    IO_SERVER_WRITTEN_BYTES,
    IO_SERVER_READS,
    IO_SERVER_WRITES,
    IO_STORAGE_READ_BYTES, /* for the server's processes, or its cgroup */
    IO_STORAGE_WRITTEN_BYTES,
    IO_DEVICE_READS,
    IO_DEVICE_READ_BYTES,
    IO_DEVICE_READ_NS, /* of each request, added up */
    IO_DEVICE_WRITES,
    IO_DEVICE_WRITTEN_BYTES,
    IO_DEVICE_WRITE_NS,
    IO_DEVICE_FLUSHES,
    IO_DEVICE_FLUSH_NS,
    IO_DEVICE_BUSY_NS,   /* of several devices the sum */
    IO_DEVICE_QUEUED_NS, /* of each request from the first moment on, added up */
    IO_DEVICE_NS,        /* the time itself, once for each device */
    IO_PRESSURE_IO_NS,   /* in which a task of this machine waited for it */
    IO_PRESSURE_CPU_NS,
    IO_PRESSURE_MEMORY_NS,
    IO_IOWAIT_TICKS, /* of all CPUs, as the next */
    IO_HOST_TICKS,
    IO_NS, /* the time itself */
    IO_COUNTS,
};

/* Negative: not known. */
struct io_reading {
    int64_t counts[IO_COUNTS];
};

/*
 * X(id, key, unit, of, by, scale)
 *   a figure of two readings: scale * growth of `of` / growth of `by`. `key` is a column of
 *   samples.csv.
 */
/* clang-format off */
#define IO_PER_S(id, key, of) X(id, key, PER_S, of, NS, 1e9)
#define IO_MIB_PER_S(id, key, of) X(id, key, MIB_PER_S, of, NS, 1e9 / 1048576)
#define IO_MS(id, key, of, by) X(id, key, MS, of, by, 1e-6)
#define IO_PERCENT(id, key, of, by) X(id, key, PERCENT, of, by, 100)
#define IO_TABLE \
    IO_MIB_PER_S(DEVICE_READ_MIB_PER_S, "device_read_mib_per_s", DEVICE_READ_BYTES) \
    IO_MIB_PER_S(DEVICE_WRITTEN_MIB_PER_S, "device_written_mib_per_s", DEVICE_WRITTEN_BYTES) \
    IO_PER_S(DEVICE_READS_PER_S, "device_reads_per_s", DEVICE_READS) \
    IO_PER_S(DEVICE_WRITES_PER_S, "device_writes_per_s", DEVICE_WRITES) \
    IO_PER_S(DEVICE_FLUSHES_PER_S, "device_flushes_per_s", DEVICE_FLUSHES) \
    IO_MS(DEVICE_READ_MS, "device_read_ms", DEVICE_READ_NS, DEVICE_READS) \
    IO_MS(DEVICE_WRITE_MS, "device_write_ms", DEVICE_WRITE_NS, DEVICE_WRITES) \
    IO_MS(DEVICE_FLUSH_MS, "device_flush_ms", DEVICE_FLUSH_NS, DEVICE_FLUSHES) \
    X(DEVICE_QUEUE, "device_queue", RATIO, DEVICE_QUEUED_NS, NS, 1) \
    IO_PERCENT(DEVICE_BUSY_PERCENT, "device_busy_percent", DEVICE_BUSY_NS, DEVICE_NS) \
    IO_MIB_PER_S(SERVER_READ_MIB_PER_S, "server_read_mib_per_s", SERVER_READ_BYTES) \
    IO_MIB_PER_S(SERVER_WRITTEN_MIB_PER_S, "server_written_mib_per_s", SERVER_WRITTEN_BYTES) \
    IO_PER_S(SERVER_READS_PER_S, "server_read_calls_per_s", SERVER_READS) \
    IO_PER_S(SERVER_WRITES_PER_S, "server_write_calls_per_s", SERVER_WRITES) \
    IO_MIB_PER_S(STORAGE_READ_MIB_PER_S, "storage_read_mib_per_s", STORAGE_READ_BYTES) \
    IO_MIB_PER_S(STORAGE_WRITTEN_MIB_PER_S, "storage_written_mib_per_s", STORAGE_WRITTEN_BYTES) \
    IO_PERCENT(IOWAIT_PERCENT, "iowait_percent", IOWAIT_TICKS, HOST_TICKS) \
    IO_PERCENT(IO_PRESSURE_PERCENT, "io_pressure_percent", PRESSURE_IO_NS, NS) \
    IO_PERCENT(CPU_PRESSURE_PERCENT, "cpu_pressure_percent", PRESSURE_CPU_NS, NS) \
    IO_PERCENT(MEMORY_PRESSURE_PERCENT, "memory_pressure_percent", PRESSURE_MEMORY_NS, NS)
/* clang-format on */

#define X(id, ...) IO_FIGURE_##id,
enum io_figure {
    IO_TABLE IO_FIGURES
};
#undef X

/* Its value; negative: not known. */
double io_figure(const struct io_reading *growth, enum io_figure figure);

/* *growth: what *to counts more than *from. What is not known of either is not known of it, nor
 * what has fallen: the server or a device is another one. */
void io_subtract(const struct io_reading *from, const struct io_reading *to,
                 struct io_reading *growth);

/* All not known. */
struct io_reading io_nothing(void);

enum {
    IO_DEVICES_MAX = 16, /* below one file system; further ones are left out */
};

struct io_device {
    unsigned major, minor;
    char name[32]; /* "sda", as in /proc/diskstats */
};

struct io_devices {
    size_t count;
    struct io_device entries[IO_DEVICES_MAX];
};

/* Adds the disks below a block device, each once; `blocks` is the folder /sys/dev/block. False: it
 * is none. */
bool io_find_disks(int blocks, unsigned major, unsigned minor, struct io_devices *devices);

/* A time of a disk. The kernel tells the low 32 bits of its milliseconds, which a disk with many
 * requests at a time fills in days. */
struct io_time {
    bool is_told;
    uint32_t told_ms;
    int64_t ns; /* since it was told first */
};
int64_t io_add_time(struct io_time *time, uint64_t told_ms);

/* Where the server keeps its files. */
struct io_place {
    const char *directory;  /* or a file; as the server names it; NULL: not known, unless: */
    bool is_where_it_works; /* it is the working directory of the server's process */
    pid_t pid;  /* of the server; 0: not known; that of this program if it is embedded */
    int cgroup; /* folder that the user named; -1: none */
    bool is_remote;
    bool is_embedded; /* without a directory it has no files */
};

/* What the counts are of. */
struct io_description {
    char directory[256];
    char device[128]; /* "vda", "sda + sdb"; "" = not known */
    char storage[16]; /* "processes", "cgroup"; "" = not known */
    char note[256];   /* why something is not known; may be "" */
};

struct io_meter;

/* Looks for the device. Borrows nothing. NULL: out of memory. Takes NULL. */
struct io_meter *io_meter_create(const struct io_place *place);
void io_meter_destroy(struct io_meter *meter);

/* The server was restarted, in a cgroup that counts from 0: the counts go on. */
void io_meter_follow(struct io_meter *meter, pid_t pid, int cgroup);

/* Reads all counts but the server's, which come later: they take longer. `host`, `server`: NULL =
 * not known. */
void io_meter_read(struct io_meter *meter, const struct procfs_cpu *host,
                   struct io_reading *reading);
void io_meter_add_server(struct io_meter *meter, const struct procfs_io *server,
                         struct io_reading *reading);

void io_meter_describe(const struct io_meter *meter, struct io_description *description);

#endif
