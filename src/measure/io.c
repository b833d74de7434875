#include "measure/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mono.h"
#include "figures/figures.h"

enum {
    SECTOR_BYTES = 512,
    DEPTH_MAX = 8, /* maximum number of levels of stacked devices, such as dm on md on partitions */
};

#define BLOCKS_PATH "/sys/dev/block"

struct io_meter {
    int proc;
    int cgroup; /* descriptor of the folder with the cgroup's I/O files; owned; -1: no cgroup */
    bool is_cgroup_1;
    /* latest counts of bytes read and bytes written for the cgroup and for the server's earlier
     * cgroups */
    uint64_t cgroup_bytes[2];
    uint64_t departed_bytes[2]; /* bytes read and written for the server's earlier cgroups */
    bool is_written_trusted; /* use the kernel's counts of bytes written by processes; see io.h */
    struct io_devices devices;
    struct io_time times[IO_DEVICES_MAX][5];
    struct buffer text; /* content of the file that was read last */
    struct io_description about;
};

struct io_reading io_nothing(void)
{
    struct io_reading reading;
    for (size_t i = 0; i < IO_COUNTS; i++) {
        reading.counts[i] = -1;
    }
    return reading;
}

double io_figure(const struct io_reading *growth, enum io_figure figure)
{
    /* clang-format off */
#define X(id, key, unit, of, by, scale)                                                            \
    [IO_FIGURE_##id] = {IO_##of, IO_##by, scale, FIGURE_UNIT_##unit == FIGURE_UNIT_PERCENT},
    /* clang-format on */
    static const struct {
        enum io_count of, by;
        double scale;
        bool is_percent;
    } figures[IO_FIGURES] = {IO_TABLE};
#undef X
    const int64_t of = growth->counts[figures[figure].of], by = growth->counts[figures[figure].by];
    const double value = of < 0 || by <= 0 ? -1 : figures[figure].scale * (double)of / (double)by;
    /* the kernel counts busy time in steps, and may count a step one interval late, so a percentage
     * can exceed 100 */
    return figures[figure].is_percent ? fmin(value, 100) : value;
}

void io_subtract(const struct io_reading *from, const struct io_reading *to,
                 struct io_reading *growth)
{
    for (size_t i = 0; i < IO_COUNTS; i++) {
        const int64_t before = from->counts[i], after = to->counts[i];
        growth->counts[i] = before < 0 || after < before ? -1 : after - before;
    }
}

/* Reads two numbers such as "254:0" from a file. */
static bool read_number(int blocks, const char *path, unsigned numbers[2])
{
    char text[32];
    const ssize_t length = procfs_read(blocks, path, text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    return text_parse_two(text, ':', numbers);
}

static bool add_disks(int blocks, unsigned major, unsigned minor, struct io_devices *devices,
                      unsigned depth)
{
    char path[64], link[PROCFS_PATH_BYTES], inner[96];
    unsigned parts[2];
    snprintf(path, sizeof path, "%u:%u", major, minor);
    const ssize_t length = readlinkat(blocks, path, link, sizeof link - 1);
    if (length <= 0 || depth == DEPTH_MAX) {
        return false;
    }
    link[length] = '\0';
    snprintf(inner, sizeof inner, "%s/partition", path);
    if (faccessat(blocks, inner, F_OK, 0) == 0) {
        snprintf(inner, sizeof inner, "%s/../dev", path);
        return read_number(blocks, inner, parts) &&
               add_disks(blocks, parts[0], parts[1], devices, depth + 1);
    }
    snprintf(inner, sizeof inner, "%s/slaves", path);
    DIR *slaves = procfs_open_folder(blocks, inner);
    const struct dirent *entry;
    bool has_any = false;
    while (slaves != NULL && (entry = readdir(slaves)) != NULL) {
        char dev[sizeof entry->d_name + 8];
        snprintf(dev, sizeof dev, "%s/dev", entry->d_name);
        if (entry->d_name[0] != '.' && read_number(dirfd(slaves), dev, parts)) {
            has_any |= add_disks(blocks, parts[0], parts[1], devices, depth + 1);
        }
    }
    if (slaves != NULL) {
        closedir(slaves);
    }
    for (size_t i = 0; i < devices->count && !has_any; i++) {
        has_any = devices->entries[i].major == major && devices->entries[i].minor == minor;
    }
    if (!has_any && devices->count < IO_DEVICES_MAX) {
        struct io_device *device = &devices->entries[devices->count++];
        const char *name = strrchr(link, '/');
        *device = (struct io_device){.major = major, .minor = minor};
        snprintf(device->name, sizeof device->name, "%.31s", name == NULL ? link : name + 1);
    }
    return true;
}

bool io_find_disks(int blocks, unsigned major, unsigned minor, struct io_devices *devices)
{
    return add_disks(blocks, major, minor, devices, 0);
}

/* Returns whether the kernel counts the bytes that processes write to the file system of `path` in
 * pages, and not in larger folios. */
static bool counts_pages(const char *path)
{
    struct utsname kernel;
    struct statfs system;
    unsigned version[2] = {0};
    if (uname(&kernel) != 0 || statfs(path, &system) != 0 ||
        !text_parse_two(kernel.release, '.', version)) {
        return false;
    }
    const unsigned now = 1000 * version[0] + version[1];
    return now < 5018 || (system.f_type == EXT4_SUPER_MAGIC && now < 6016);
}

/*
 * Returns the device of the files at `path`; 0 if unknown. Files on btrfs and on overlays have a
 * device number that does not belong to a device, so the device is looked up in the mount table of
 * the process `viewer`. For an overlay (such as the root of a Docker container), `path` becomes the
 * path of the folder that the overlay writes to, as this program sees it.
 */
static dev_t find_device(struct io_meter *meter, char *path, size_t size, pid_t viewer)
{
    char mounts[32], source[PROCFS_PATH_BYTES];
    struct statx mount;
    struct stat at;
    for (unsigned depth = 0; depth < DEPTH_MAX && stat(path, &at) == 0; depth++) {
        snprintf(mounts, sizeof mounts, "%d/mountinfo", (int)viewer);
        if (major(at.st_dev) != 0) {
            return at.st_dev;
        }
        if (statx(AT_FDCWD, path, 0, STATX_MNT_ID, &mount) != 0 ||
            (mount.stx_mask & STATX_MNT_ID) == 0 ||
            !procfs_load(meter->proc, mounts, &meter->text) ||
            !procfs_parse_source(buffer_text(&meter->text), meter->text.length, mount.stx_mnt_id,
                                 source) ||
            source[0] != '/' || stat(source, &at) != 0) {
            return 0;
        }
        if (S_ISBLK(at.st_mode)) {
            return at.st_rdev;
        }
        snprintf(path, size, "%s", source);
        viewer = getpid();
    }
    return 0;
}

/* Finds the disks below the directory. */
static void find_devices(struct io_meter *meter, const struct io_place *place)
{
    struct io_description *about = &meter->about;
    char path[PROCFS_PATH_BYTES];
    struct stat at;
    if (place->directory == NULL) {
        snprintf(path, sizeof path, "/proc/%d/cwd", (int)place->pid);
        const ssize_t length = readlink(path, about->directory, sizeof about->directory - 1);
        about->directory[length > 0 ? length : 0] = '\0';
        if (length <= 0) {
            snprintf(about->note, sizeof about->note,
                     "the folder of the server's files is unknown: %s; give --data-directory",
                     strerror(errno));
            return;
        }
    } else {
        snprintf(about->directory, sizeof about->directory, "%s", place->directory);
    }
    /* look up the path from the root of the server's process; from the root of this program if the
     * server's root cannot be read */
    snprintf(path, sizeof path, "/proc/%d/root%s", (int)place->pid, about->directory);
    const bool is_own = place->pid <= 0 || about->directory[0] != '/' || stat(path, &at) != 0;
    if (is_own) {
        snprintf(path, sizeof path, "%s", about->directory);
    }
    if (is_own && stat(path, &at) != 0) {
        snprintf(about->note, sizeof about->note,
                 "the server's data directory %.150s cannot be accessed: %s; see --data-directory",
                 about->directory, strerror(errno));
        about->directory[0] = '\0';
        return;
    }
    const dev_t device = find_device(meter, path, sizeof path, is_own ? getpid() : place->pid);
    const int blocks = open(BLOCKS_PATH, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (blocks < 0 || !io_find_disks(blocks, major(device), minor(device), &meter->devices)) {
        snprintf(about->note, sizeof about->note,
                 "'%.150s' is on a file system without a disk of this machine (tmpfs, NFS)",
                 about->directory);
    }
    if (blocks >= 0) {
        close(blocks);
    }
    for (size_t i = 0; i < meter->devices.count; i++) {
        const size_t used = strlen(about->device);
        snprintf(about->device + used, sizeof about->device - used, "%s%s", i > 0 ? " + " : "",
                 meter->devices.entries[i].name);
    }
    meter->is_written_trusted = counts_pages(path);
}

/* Finds the folder with the I/O files of the cgroup. For cgroups of version 2 this is the folder
 * `cgroup` itself; for version 1 it is a folder of the hierarchy "blkio". */
static void find_cgroup(struct io_meter *meter, pid_t pid, int cgroup)
{
    struct cgroup_folder folder;
    if (cgroup < 0) {
        return;
    }
    if (faccessat(cgroup, "io.stat", R_OK, 0) == 0) {
        meter->cgroup = openat(cgroup, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    } else if (pid > 0 && cgroup_find(meter->proc, pid, getpid(), "blkio", &folder) &&
               folder.is_inside && strlen(folder.path) > folder.root_length) {
        meter->cgroup = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        meter->is_cgroup_1 = true;
    }
}

struct io_meter *io_meter_create(const struct io_place *place)
{
    struct io_meter *meter = calloc(1, sizeof *meter);
    if (meter == NULL) {
        return NULL;
    }
    meter->proc = procfs_open();
    meter->cgroup = -1;
    if (place->is_remote) {
        snprintf(meter->about.note, sizeof meter->about.note, "the server is not on this machine");
    } else if (place->directory == NULL && place->is_embedded) {
        /* the database has no files, so the user needs no note */
    } else if (place->directory == NULL && place->pid <= 0) {
        snprintf(meter->about.note, sizeof meter->about.note,
                 "the disk is unknown because the server's process was not found: run as root, or "
                 "give --data-directory");
    } else if (place->directory == NULL && !place->is_working_directory) {
        snprintf(meter->about.note, sizeof meter->about.note,
                 "the server does not report where its files are: give --data-directory");
    } else {
        find_devices(meter, place);
    }
    find_cgroup(meter, place->pid, place->cgroup);
    return meter;
}

void io_meter_follow(struct io_meter *meter, pid_t pid, int cgroup)
{
    if (meter->cgroup >= 0) {
        close(meter->cgroup);
        meter->cgroup = -1;
    }
    memcpy(meter->departed_bytes, meter->cgroup_bytes, sizeof meter->departed_bytes);
    find_cgroup(meter, pid, cgroup);
}

void io_meter_destroy(struct io_meter *meter)
{
    if (meter != NULL) {
        const int files[] = {meter->proc, meter->cgroup};
        for (size_t i = 0; i < 2; i++) {
            if (files[i] >= 0) {
                close(files[i]);
            }
        }
        buffer_fini(&meter->text);
        free(meter);
    }
}

int64_t io_add_time(struct io_time *time, uint64_t reported_ms)
{
    const int32_t more_ms = (int32_t)((uint32_t)reported_ms - time->reported_ms);
    time->ns += time->is_reported ? more_ms * MONO_NS_PER_MS : 0;
    time->reported_ms = (uint32_t)reported_ms;
    time->is_reported = true;
    return time->ns;
}

static void read_devices(struct io_meter *meter, int64_t now_ns, int64_t *counts)
{
    int64_t sums[IO_COUNTS] = {0};
    bool has_flushes = true;
    if (meter->devices.count == 0 || !procfs_load(meter->proc, "diskstats", &meter->text)) {
        return;
    }
    for (size_t i = 0; i < meter->devices.count; i++) {
        const struct io_device *device = &meter->devices.entries[i];
        struct io_time *times = meter->times[i];
        struct procfs_disk disk;
        if (!procfs_parse_disk(buffer_text(&meter->text), meter->text.length, device->major,
                               device->minor, &disk)) {
            return;
        }
        has_flushes = has_flushes && disk.has_flushes;
        sums[IO_DEVICE_READS] += (int64_t)disk.reads;
        sums[IO_DEVICE_READ_BYTES] += (int64_t)disk.read_sectors * SECTOR_BYTES;
        sums[IO_DEVICE_READ_NS] += io_add_time(&times[0], disk.read_ms);
        sums[IO_DEVICE_WRITES] += (int64_t)disk.writes;
        sums[IO_DEVICE_WRITTEN_BYTES] += (int64_t)disk.written_sectors * SECTOR_BYTES;
        sums[IO_DEVICE_WRITE_NS] += io_add_time(&times[1], disk.write_ms);
        sums[IO_DEVICE_FLUSHES] += (int64_t)disk.flushes;
        sums[IO_DEVICE_FLUSH_NS] += io_add_time(&times[2], disk.flush_ms);
        sums[IO_DEVICE_BUSY_NS] += io_add_time(&times[3], disk.busy_ms);
        sums[IO_DEVICE_QUEUED_NS] += io_add_time(&times[4], disk.queued_ms);
        sums[IO_DEVICE_NS] += now_ns;
    }
    for (size_t i = IO_DEVICE_READS; i <= IO_DEVICE_NS; i++) {
        const bool is_of_flushes = i == IO_DEVICE_FLUSHES || i == IO_DEVICE_FLUSH_NS;
        counts[i] = is_of_flushes && !has_flushes ? -1 : sums[i];
    }
}

/* Reads how many bytes the disks read and wrote for the cgroup; returns false if the numbers are
 * unknown. In version 2 of cgroups, a device without a line was not used. In version 1, the numbers
 * are unknown if no device has a line, because some kernels do not count. */
static bool read_cgroup(struct io_meter *meter, uint64_t bytes[2])
{
    const char *file = meter->is_cgroup_1 ? "blkio.throttle.io_service_bytes_recursive" : "io.stat";
    bool is_counted =
        !meter->is_cgroup_1 || meter->departed_bytes[0] + meter->departed_bytes[1] > 0;
    memcpy(bytes, meter->departed_bytes, sizeof meter->departed_bytes);
    if (meter->cgroup < 0 || meter->devices.count == 0 ||
        !procfs_load(meter->cgroup, file, &meter->text)) {
        return false;
    }
    for (size_t i = 0; i < meter->devices.count; i++) {
        const struct io_device *device = &meter->devices.entries[i];
        is_counted |= procfs_parse_cgroup_io(buffer_text(&meter->text), meter->text.length,
                                             device->major, device->minor, &bytes[0], &bytes[1]);
    }
    memcpy(meter->cgroup_bytes, bytes, sizeof meter->cgroup_bytes);
    return is_counted;
}

/* Fills the counts of reads from and writes to storage on behalf of the server. */
static void read_storage(struct io_meter *meter, const struct procfs_io *server, int64_t *counts)
{
    char *const source = meter->about.storage;
    uint64_t bytes[2];
    if (read_cgroup(meter, bytes)) {
        counts[IO_STORAGE_READ_BYTES] = (int64_t)bytes[0];
        counts[IO_STORAGE_WRITTEN_BYTES] = (int64_t)bytes[1];
        snprintf(source, sizeof meter->about.storage, "cgroup");
    } else if (server != NULL) {
        counts[IO_STORAGE_READ_BYTES] = (int64_t)server->counts[PROCFS_IO_STORAGE_READ_BYTES];
        if (meter->is_written_trusted) {
            counts[IO_STORAGE_WRITTEN_BYTES] =
                (int64_t)server->counts[PROCFS_IO_STORAGE_WRITTEN_BYTES];
        }
        snprintf(source, sizeof meter->about.storage, "processes");
    }
}

void io_meter_read(struct io_meter *meter, const struct procfs_cpu *host,
                   struct io_reading *reading)
{
    static const char *const pressures[] = {"pressure/io", "pressure/cpu", "pressure/memory"};
    int64_t *const counts = reading->counts;
    *reading = io_nothing();
    counts[IO_NS] = mono_now_ns();
    read_devices(meter, counts[IO_NS], counts);
    if (host != NULL) {
        counts[IO_IOWAIT_TICKS] = (int64_t)host->iowait_ticks;
        counts[IO_HOST_TICKS] = (int64_t)host->total_ticks;
    }
    for (size_t i = 0; i < 3; i++) {
        char text[256];
        uint64_t us;
        const ssize_t length = procfs_read(meter->proc, pressures[i], text, sizeof text);
        if (length > 0 && procfs_parse_pressure(text, (size_t)length, &us)) {
            counts[IO_PRESSURE_IO_NS + i] = (int64_t)us * 1000;
        } else if (meter->about.note[0] == '\0') {
            snprintf(meter->about.note, sizeof meter->about.note,
                     "/proc/pressure cannot be read: the kernel may not support it");
        }
    }
}

void io_meter_add_server(struct io_meter *meter, const struct procfs_io *server,
                         struct io_reading *reading)
{
    int64_t *const counts = reading->counts;
    read_storage(meter, server, counts);
    if (server != NULL) {
        for (size_t i = 0; i <= IO_SERVER_WRITES; i++) { /* in the order of enum procfs_io_count */
            counts[i] = (int64_t)server->counts[i];
        }
    }
}

void io_meter_describe(const struct io_meter *meter, struct io_description *description)
{
    *description = meter->about;
}
