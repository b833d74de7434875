/*
 * Counts reads and writes at three layers: system calls of the server's processes (/proc/PID/io),
 * reads from and writes to storage on behalf of these processes, and requests at the device below
 * the data directory (/proc/diskstats). Also counts how long tasks waited for I/O (iowait,
 * /proc/pressure). The only privilege needed is to see the server's processes.
 *
 * The kernel counts since boot or since the start of a process. Figures are differences of two
 * readings. They do not include what happens after the second reading: data that the server writes
 * back later is missing from all figures of the run.
 *
 * The device is the device below the file system that contains the data directory. The directory is
 * looked up from the root of the server's process, which may be the root of a container. For a
 * partition, the whole disk is counted. For dm and md devices, the counts of the disks below them
 * are added up. All programs of the machine share the device.
 *
 * The kernel's count of bytes that a process caused to be written to storage is used only on file
 * systems where the kernel counts pages. On file systems with large folios (XFS since 5.18, ext4
 * since 6.16, others) a write of a few bytes can count as a whole folio. The count of a cgroup is
 * always used, because the kernel counts the bytes of a cgroup at the device.
 */
#ifndef MEASURE_IO_H
#define MEASURE_IO_H

#include "measure/procfs.h"

/* Cumulative counts. The first counts have the order of enum procfs_io_count. */
enum io_count {
    IO_SERVER_READ_BYTES, /* bytes that the server's system calls have read from sockets and files,
                             also from the page cache */
    IO_SERVER_WRITTEN_BYTES,
    IO_SERVER_READS,
    IO_SERVER_WRITES,
    IO_STORAGE_READ_BYTES, /* bytes read from storage for the server's processes or for the server's
                              cgroup */
    IO_STORAGE_WRITTEN_BYTES,
    IO_DEVICE_READS,
    IO_DEVICE_READ_BYTES,
    IO_DEVICE_READ_NS, /* durations of the read requests, added up */
    IO_DEVICE_WRITES,
    IO_DEVICE_WRITTEN_BYTES,
    IO_DEVICE_WRITE_NS,
    IO_DEVICE_FLUSHES,
    IO_DEVICE_FLUSH_NS,
    IO_DEVICE_BUSY_NS,   /* time in which a device was busy, added up over the devices */
    IO_DEVICE_QUEUED_NS, /* time from submission to completion, added up over the requests */
    IO_DEVICE_NS,        /* elapsed time, added up over the devices */
    IO_PRESSURE_IO_NS,   /* time in which at least one task of this machine waited for I/O */
    IO_PRESSURE_CPU_NS,
    IO_PRESSURE_MEMORY_NS,
    IO_IOWAIT_TICKS, /* clock ticks in which a CPU was idle and I/O was pending, added up over all
                        CPUs */
    IO_HOST_TICKS,   /* clock ticks of all CPUs, added up */
    IO_NS,           /* elapsed time, in ns */
    IO_COUNTS,
};

/* One reading of all counts. A negative count is unknown. */
struct io_reading {
    int64_t counts[IO_COUNTS];
};

/*
 * X(id, key, unit, of, by, scale)
 *   a figure computed from two readings: scale * (growth of the count `of`) / (growth of the count
 *   `by`). `key` is the name of a column of samples.csv.
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

/* Returns the value of a figure; negative: unknown. */
double io_figure(const struct io_reading *growth, enum io_figure figure);

/* Sets *growth to *to minus *from. A count is unknown if it is unknown in *from or *to. A count
 * that has fallen is also unknown, because it belongs to another server or device. */
void io_subtract(const struct io_reading *from, const struct io_reading *to,
                 struct io_reading *growth);

/* Returns a reading with all counts unknown. */
struct io_reading io_nothing(void);

enum {
    IO_DEVICES_MAX = 16, /* most disks below a file system; others are ignored */
};

struct io_device {
    unsigned major, minor;
    char name[32]; /* name of the device as in /proc/diskstats: "sda" */
};

struct io_devices {
    size_t count;
    struct io_device entries[IO_DEVICES_MAX];
};

/* Adds the disks below a block device to *devices; a disk that is already in *devices is not
 * added again. `blocks` is the folder /sys/dev/block. Returns false if the block device does not
 * exist. */
bool io_find_disks(int blocks, unsigned major, unsigned minor, struct io_devices *devices);

/* A time that the kernel counts for a disk. The kernel reports only the low 32 bits of the
 * milliseconds, which wrap around within days on a disk with many parallel requests. */
struct io_time {
    bool is_reported;
    uint32_t reported_ms;
    int64_t ns; /* time that the kernel has counted since the first report */
};
/* Adds the growth since the last report, and returns the time since the first report, in ns.
 * `reported_ms` is the count that the kernel reports now. */
int64_t io_add_time(struct io_time *time, uint64_t reported_ms);

/* What the caller knows about the location of the server's files. */
struct io_place {
    /* path of the data directory or of a database file, as the server reports it or as the user
     * gave it; NULL: unknown */
    const char *directory;
    bool is_working_directory; /* the data directory is the working directory of the server's
                                  process, and can be found even if `directory` is NULL */
    pid_t pid;  /* process of the server, or this program if the database is embedded; 0: unknown */
    int cgroup; /* descriptor of the cgroup folder that the user named; -1: no folder */
    bool is_remote;
    /* the database runs in this program's process; it has no files if `directory` is NULL */
    bool is_embedded;
};

/* The directory and the devices that the counts cover. */
struct io_description {
    char directory[256];
    char device[128]; /* names of the devices: "vda", "sda + sdb"; "" = unknown */
    char storage[16]; /* source of the storage counts: "processes", "cgroup"; "" = unknown */
    char note[256];   /* reason why a count is unknown; may be "" */
};

struct io_meter;

/* Creates a meter, and finds the devices that contain the server's files. *place is not used after
 * the call. Returns NULL when out of memory. io_meter_destroy takes NULL. */
struct io_meter *io_meter_create(const struct io_place *place);
void io_meter_destroy(struct io_meter *meter);

/* Switches to the new cgroup of a server that was restarted. The counts of the new cgroup begin at
 * 0, and are added to the counts of the old cgroup. */
void io_meter_follow(struct io_meter *meter, pid_t pid, int cgroup);

/* io_meter_read reads all counts except the server's. io_meter_add_server adds the server's counts,
 * which take longer to read. `host` and `server` are NULL if unknown. */
void io_meter_read(struct io_meter *meter, const struct procfs_cpu *host,
                   struct io_reading *reading);
void io_meter_add_server(struct io_meter *meter, const struct procfs_io *server,
                         struct io_reading *reading);

void io_meter_describe(const struct io_meter *meter, struct io_description *description);

#endif
