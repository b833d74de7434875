/* I/O counts of /proc and /sys, from texts and from a folder that imitates /sys/dev/block. The
 * measured writes of dd are compared with the writes that dd was asked for. */
#include "unit/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/mono.h"
#include "measure/io.h"

TEST(a_process)
{
    static const char text[] = "rchar: 6976\nwchar: 12\nsyscr: 10\nsyscw: 3\nread_bytes: 4096\n"
                               "write_bytes: 8192\ncancelled_write_bytes: 0\n";
    struct procfs_io io;
    assert_true(procfs_parse_io(text, sizeof text - 1, &io));
    assert_int_equal(io.counts[PROCFS_IO_READ_BYTES], 6976);
    assert_int_equal(io.counts[PROCFS_IO_WRITTEN_BYTES], 12);
    assert_int_equal(io.counts[PROCFS_IO_READS], 10);
    assert_int_equal(io.counts[PROCFS_IO_WRITES], 3);
    assert_int_equal(io.counts[PROCFS_IO_STORAGE_READ_BYTES], 4096);
    assert_int_equal(io.counts[PROCFS_IO_STORAGE_WRITTEN_BYTES], 8192);
    for (size_t length = 0; length + 1 + sizeof "cancelled_write_bytes: 0" < sizeof text;
         length++) {
        /* a text that is cut off at any place is refused */
        assert_false(procfs_parse_io(text, length, &io));
    }
}

TEST(a_disk)
{
    static const char text[] = "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0\n"
                               " 259       0 nvme0n1 9 9 9 9 9 9 9 9 9 9 9\n"
                               " 254       0 vda 11 1 22 33 44 2 55 66 7 77 88 1 2 3 4 99 111\n"
                               " 254       1 vda1 1 0 8 1 1 0 8 1 0 1 2\n";
    struct procfs_disk disk;
    assert_true(procfs_parse_disk(text, sizeof text - 1, 254, 0, &disk));
    assert_int_equal(disk.reads, 11);
    assert_int_equal(disk.read_sectors, 22);
    assert_int_equal(disk.read_ms, 33);
    assert_int_equal(disk.writes, 44);
    assert_int_equal(disk.written_sectors, 55);
    assert_int_equal(disk.write_ms, 66);
    assert_int_equal(disk.busy_ms, 77);
    assert_int_equal(disk.queued_ms, 88);
    assert_true(disk.has_flushes);
    assert_int_equal(disk.flushes, 99);
    assert_int_equal(disk.flush_ms, 111);
    assert_true(procfs_parse_disk(text, sizeof text - 1, 254, 1, &disk));
    assert_false(disk.has_flushes); /* as with an old kernel */
    assert_false(procfs_parse_disk(text, sizeof text - 1, 254, 2, &disk));
    assert_false(procfs_parse_disk(text, 104, 254, 0, &disk)); /* a cut line */
}

TEST(pressure)
{
    static const char text[] = "some avg10=0.08 avg60=0.53 avg300=0.73 total=469215526\n"
                               "full avg10=0.08 avg60=0.47 avg300=0.51 total=262349124\n";
    uint64_t us = 0;
    assert_true(procfs_parse_pressure(text, sizeof text - 1, &us));
    assert_int_equal(us, 469215526);
    assert_false(procfs_parse_pressure(text, 40, &us));
    assert_false(procfs_parse_pressure("full total=1\n", 13, &us));
}

TEST(a_cgroup)
{
    static const char second[] = "253:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n"
                                 "254:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n";
    static const char first[] = "254:0 Read 5\n254:0 Write 6\n254:0 Sync 11\n254:0 Total 11\n"
                                "Total 11\n";
    uint64_t bytes[2] = {0};
    assert_true(procfs_parse_cgroup_io(second, sizeof second - 1, 254, 0, &bytes[0], &bytes[1]));
    assert_int_equal(bytes[0], 4096);
    assert_int_equal(bytes[1], 8192);
    assert_true(procfs_parse_cgroup_io(first, sizeof first - 1, 254, 0, &bytes[0], &bytes[1]));
    assert_int_equal(bytes[0], 4096 + 5);
    assert_int_equal(bytes[1], 8192 + 6);
    assert_false(procfs_parse_cgroup_io(first, sizeof first - 1, 8, 0, &bytes[0], &bytes[1]));
    assert_false(procfs_parse_cgroup_io("254:0 rbytes=x\n", 15, 254, 0, &bytes[0], &bytes[1]));
}

TEST(a_mount)
{
    static const char text[] =
        "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
        "40 27 0:55 /sub /data rw shared:1 master:2 - btrfs /dev/disk\\040one rw,subvol=/sub\n"
        "41 27 0:56 / /tmp rw - tmpfs tmpfs rw\n"
        "43 27 0:57 / / rw - overlay overlay rw,lowerdir=/l/A:/l/B,upperdir=/var/o\\040x/diff,"
        "workdir=/var/o\\040x/work,xino=off\n"
        "44 27 0:58 / /ro ro - overlay overlay ro,lowerdir=/l/A:/l/B\n";
    char path[PROCFS_PATH_BYTES];
    assert_true(procfs_parse_source(text, sizeof text - 1, 40, path));
    assert_string_equal(path, "/dev/disk one");
    assert_false(
        procfs_parse_source(text, sizeof text - 1, 41, path)); /* a file system without a source */
    assert_false(procfs_parse_source(text, sizeof text - 1, 42, path));
    assert_true(procfs_parse_source(text, sizeof text - 1, 43, path));
    assert_string_equal(path, "/var/o x/diff");
    assert_false(procfs_parse_source(text, sizeof text - 1, 44,
                                     path)); /* an overlay without an upper folder */
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

/* Makes a block device below `root`. `partition_of` and `slaves` are names of other devices, or
 * NULL. */
static void make_block(const char *root, const char *name, const char *number,
                       const char *partition_of, const char *const *slaves)
{
    char path[256], target[256];
    FILE *file;
    snprintf(path, sizeof path, "%s/devices/%s%s%s", root, partition_of == NULL ? "" : partition_of,
             partition_of == NULL ? "" : "/", name);
    snprintf(target, sizeof target, "../../%s", path + strlen(root) + 1);
    assert_int_equal(mkdir(path, 0755), 0);
    const size_t end = strlen(path);
    snprintf(path + end, sizeof path - end, "/dev");
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s\n", number);
    assert_int_equal(fclose(file), 0);
    if (partition_of != NULL) {
        snprintf(path + end, sizeof path - end, "/partition");
        file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fclose(file), 0);
    }
    snprintf(path + end, sizeof path - end, "/slaves");
    assert_int_equal(mkdir(path, 0755), 0);
    for (; slaves != NULL && *slaves != NULL; slaves++) {
        char link[512], to[256];
        snprintf(link, sizeof link, "%s/%s", path, strrchr(*slaves, '/') + 1);
        snprintf(to, sizeof to, "../../%s", *slaves);
        assert_int_equal(symlink(to, link), 0);
    }
    snprintf(path, sizeof path, "%s/dev/block/%s", root, number);
    assert_int_equal(symlink(target, path), 0);
}

/* A dm volume on a partition and on a RAID of two disks, one of which has the partition. */
TEST(disks_below)
{
    char root[] = "/tmp/append-io-XXXXXX", path[64];
    assert_non_null(mkdtemp(root));
    const char *const folders[] = {"devices", "dev", "dev/block"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    make_block(root, "sda", "8:0", NULL, NULL);
    make_block(root, "sda1", "8:1", "sda", NULL);
    make_block(root, "sdb", "8:16", NULL, NULL);
    make_block(root, "md0", "9:0", NULL, (const char *const[]){"x/sda", "x/sdb", NULL});
    make_block(root, "dm-0", "253:0", NULL, (const char *const[]){"x/md0", "x/sda/sda1", NULL});
    /* on a real system the links lead through other folders; here x is a link to the folder
     * devices */
    snprintf(path, sizeof path, "%s/devices/x", root);
    assert_int_equal(symlink(".", path), 0);
    snprintf(path, sizeof path, "%s/dev/block", root);
    const int blocks = open(path, O_RDONLY | O_DIRECTORY);
    assert_true(blocks >= 0);
    struct io_devices devices = {0};
    assert_true(io_find_disks(blocks, 8, 1, &devices)); /* the disk of a partition is found */
    assert_int_equal(devices.count, 1);
    assert_string_equal(devices.entries[0].name, "sda");
    assert_int_equal(devices.entries[0].minor, 0);
    assert_true(io_find_disks(blocks, 253, 0, &devices)); /* each disk is found once */
    assert_int_equal(devices.count, 2);
    assert_string_equal(devices.entries[1].name, "sdb");
    assert_false(io_find_disks(blocks, 0, 21, &devices));
    close(blocks);
    assert_int_equal(nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

TEST(figures)
{
    struct io_reading from = io_nothing(), to = io_nothing(), growth;
    from.counts[IO_NS] = 5 * MONO_NS_PER_S;
    to.counts[IO_NS] = 7 * MONO_NS_PER_S;
    from.counts[IO_DEVICE_WRITES] = 100;
    to.counts[IO_DEVICE_WRITES] = 150;
    from.counts[IO_DEVICE_WRITE_NS] = 0;
    to.counts[IO_DEVICE_WRITE_NS] = 100 * MONO_NS_PER_MS;
    from.counts[IO_DEVICE_WRITTEN_BYTES] = 0;
    to.counts[IO_DEVICE_WRITTEN_BYTES] = 3 << 20;
    /* greater than the later count, as if the server had been replaced */
    from.counts[IO_SERVER_READS] = 8;
    to.counts[IO_SERVER_READS] = 5;
    from.counts[IO_DEVICE_NS] = from.counts[IO_DEVICE_BUSY_NS] = 0;
    to.counts[IO_DEVICE_NS] = 1000;
    to.counts[IO_DEVICE_BUSY_NS] = 1004; /* a part of this time was before the first reading */
    from.counts[IO_DEVICE_READS] = to.counts[IO_DEVICE_READS] = 9;
    from.counts[IO_DEVICE_READ_NS] = to.counts[IO_DEVICE_READ_NS] = 9;
    io_subtract(&from, &to, &growth);
    assert_true(io_figure(&growth, IO_FIGURE_DEVICE_WRITES_PER_S) == 25);
    assert_true(io_figure(&growth, IO_FIGURE_DEVICE_WRITE_MS) == 2);
    assert_true(io_figure(&growth, IO_FIGURE_DEVICE_WRITTEN_MIB_PER_S) == 1.5);
    assert_true(io_figure(&growth, IO_FIGURE_DEVICE_READS_PER_S) == 0);
    assert_true(io_figure(&growth, IO_FIGURE_DEVICE_READ_MS) < 0); /* no read was made */
    assert_int_equal(growth.counts[IO_SERVER_READS], -1);
    assert_true(io_figure(&growth, IO_FIGURE_SERVER_READS_PER_S) < 0);
    assert_true(io_figure(&growth, IO_FIGURE_DEVICE_BUSY_PERCENT) == 100);
    assert_true(io_figure(&growth, IO_FIGURE_STORAGE_READ_MIB_PER_S) < 0);
}

/* The kernel's count of milliseconds wraps around at 32 bits. A count that falls otherwise is from
 * another disk. */
TEST(times)
{
    struct io_time time = {.is_reported = false};
    assert_int_equal(io_add_time(&time, UINT32_MAX - 5), 0);
    assert_int_equal(io_add_time(&time, UINT32_MAX - 2), 3 * MONO_NS_PER_MS);
    assert_int_equal(io_add_time(&time, 7), 13 * MONO_NS_PER_MS);
    assert_int_equal(io_add_time(&time, UINT32_C(1) << 31),
                     (INT64_C(1) << 31) * MONO_NS_PER_MS + 6 * MONO_NS_PER_MS);
    assert_int_equal(io_add_time(&time, 100), 106 * MONO_NS_PER_MS);
    assert_int_equal(io_add_time(&time, 90), 96 * MONO_NS_PER_MS);
}

/* dd makes 64 writes of 64 KiB that bypass the page cache, so the device makes at least as many. */
TEST(writes_of_dd)
{
    char path[] = "/tmp/append-dd-XXXXXX", of[64];
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    snprintf(of, sizeof of, "of=%s", path);
    const struct io_place place = {.directory = path, .cgroup = -1};
    struct io_meter *meter = io_meter_create(&place);
    assert_non_null(meter);
    struct io_description about;
    struct io_reading before, after, growth;
    io_meter_read(meter, NULL, &before);
    const char *const argv[] = {"dd",           "if=/dev/zero", of,  "bs=64k", "count=64",
                                "oflag=direct", "status=none",  NULL};
    struct child_output child = {.end.code = -1};
    const enum child_result result = child_run(&child, argv, -1, 60 * MONO_NS_PER_S);
    io_meter_read(meter, NULL, &after);
    io_meter_describe(meter, &about);
    io_meter_destroy(meter);
    unlink(path);
    const bool has_run = result == CHILD_EXITED && child.end.code == 0;
    child_output_fini(&child);
    io_subtract(&before, &after, &growth);
    if (about.device[0] == '\0' || !has_run) { /* no device on an overlay or tmpfs */
        print_message("skipped: no device below /tmp, or one without O_DIRECT: %s\n", about.note);
        assert_true(about.note[0] != '\0' || !has_run);
        assert_true(growth.counts[IO_DEVICE_WRITES] < 0 || !has_run);
        return;
    }
    assert_in_range(growth.counts[IO_DEVICE_WRITTEN_BYTES], 64 * 65536, INT64_MAX);
    assert_in_range(growth.counts[IO_DEVICE_WRITES], 1, INT64_MAX);
    assert_true(growth.counts[IO_DEVICE_BUSY_NS] <= growth.counts[IO_DEVICE_NS] + 8000000);
}

/* Each figure is the growth of one count divided by the growth of another, in the figure's unit. */
TEST(every_figure)
{
    static const struct {
        enum io_count of, by;
        double of_growth, by_growth, value; /* in counts, ticks, bytes or ns */
    } cases[IO_FIGURES] = {
        [IO_FIGURE_DEVICE_READ_MIB_PER_S] = {IO_DEVICE_READ_BYTES, IO_NS, 3 << 20, 2e9, 1.5},
        [IO_FIGURE_DEVICE_WRITTEN_MIB_PER_S] = {IO_DEVICE_WRITTEN_BYTES, IO_NS, 3 << 20, 2e9, 1.5},
        [IO_FIGURE_DEVICE_READS_PER_S] = {IO_DEVICE_READS, IO_NS, 50, 2e9, 25},
        [IO_FIGURE_DEVICE_WRITES_PER_S] = {IO_DEVICE_WRITES, IO_NS, 50, 2e9, 25},
        [IO_FIGURE_DEVICE_FLUSHES_PER_S] = {IO_DEVICE_FLUSHES, IO_NS, 50, 2e9, 25},
        [IO_FIGURE_DEVICE_READ_MS] = {IO_DEVICE_READ_NS, IO_DEVICE_READS, 9e6, 2, 4.5},
        [IO_FIGURE_DEVICE_WRITE_MS] = {IO_DEVICE_WRITE_NS, IO_DEVICE_WRITES, 9e6, 2, 4.5},
        [IO_FIGURE_DEVICE_FLUSH_MS] = {IO_DEVICE_FLUSH_NS, IO_DEVICE_FLUSHES, 9e6, 2, 4.5},
        [IO_FIGURE_DEVICE_QUEUE] = {IO_DEVICE_QUEUED_NS, IO_NS, 400, 100, 4},
        [IO_FIGURE_DEVICE_BUSY_PERCENT] = {IO_DEVICE_BUSY_NS, IO_DEVICE_NS, 50, 200, 25},
        [IO_FIGURE_SERVER_READ_MIB_PER_S] = {IO_SERVER_READ_BYTES, IO_NS, 3 << 20, 2e9, 1.5},
        [IO_FIGURE_SERVER_WRITTEN_MIB_PER_S] = {IO_SERVER_WRITTEN_BYTES, IO_NS, 3 << 20, 2e9, 1.5},
        [IO_FIGURE_SERVER_READS_PER_S] = {IO_SERVER_READS, IO_NS, 50, 2e9, 25},
        [IO_FIGURE_SERVER_WRITES_PER_S] = {IO_SERVER_WRITES, IO_NS, 50, 2e9, 25},
        [IO_FIGURE_STORAGE_READ_MIB_PER_S] = {IO_STORAGE_READ_BYTES, IO_NS, 3 << 20, 2e9, 1.5},
        [IO_FIGURE_STORAGE_WRITTEN_MIB_PER_S] = {IO_STORAGE_WRITTEN_BYTES, IO_NS, 3 << 20, 2e9,
                                                 1.5},
        [IO_FIGURE_IOWAIT_PERCENT] = {IO_IOWAIT_TICKS, IO_HOST_TICKS, 50, 200, 25},
        [IO_FIGURE_IO_PRESSURE_PERCENT] = {IO_PRESSURE_IO_NS, IO_NS, 50, 200, 25},
        [IO_FIGURE_CPU_PRESSURE_PERCENT] = {IO_PRESSURE_CPU_NS, IO_NS, 50, 200, 25},
        [IO_FIGURE_MEMORY_PRESSURE_PERCENT] = {IO_PRESSURE_MEMORY_NS, IO_NS, 50, 200, 25},
    };
    EACH_CASE (i, cases, "figure %zu", i) {
        const enum io_figure figure = (enum io_figure)i;
        struct io_reading growth = io_nothing();
        assert_true(io_figure(&growth, figure) == -1);
        growth.counts[cases[i].of] = (int64_t)cases[i].of_growth;
        assert_true(io_figure(&growth, figure) == -1);
        growth.counts[cases[i].by] = (int64_t)cases[i].by_growth;
        const double value = io_figure(&growth, figure);
        assert_true(value > cases[i].value * 0.999999 && value < cases[i].value * 1.000001);
        growth.counts[cases[i].of] = -1;
        assert_true(io_figure(&growth, figure) == -1);
        growth.counts[cases[i].of] = 0;
        assert_true(io_figure(&growth, figure) == 0);
        growth.counts[cases[i].by] = 0;
        assert_true(io_figure(&growth, figure) == -1);
    }
}

static struct io_description describe(const struct io_place *place)
{
    struct io_description about;
    struct io_meter *meter = io_meter_create(place);
    assert_non_null(meter);
    io_meter_describe(meter, &about);
    io_meter_destroy(meter);
    return about;
}

/* Why a disk is unknown. */
TEST(places_without_a_disk)
{
    static const struct {
        struct io_place place;
        const char *note, *directory;
    } cases[] = {
        {{.cgroup = -1, .is_remote = true, .directory = "/proc"},
         "the server is not on this machine",
         ""},
        {{.cgroup = -1, .is_embedded = true}, "", ""},
        {{.cgroup = -1},
         "the disk is unknown because the server's process was not found: run as root, or give "
         "--data-directory",
         ""},
        {{.cgroup = -1, .pid = -1},
         "the disk is unknown because the server's process was not found: run as root, or give "
         "--data-directory",
         ""},
        {{.cgroup = -1, .pid = 1},
         "the server does not report where its files are: give --data-directory",
         ""},
        {{.cgroup = -1, .pid = 0x7ffffff0, .is_working_directory = true},
         "the folder of the server's files is unknown: No such file or directory; give "
         "--data-directory",
         ""},
        {{.cgroup = -1, .directory = "/no/such/folder"},
         "the server's data directory /no/such/folder cannot be accessed: No such file or "
         "directory; see --data-directory",
         ""},
        {{.cgroup = -1, .directory = "/proc"},
         "'/proc' is on a file system without a disk of this machine (tmpfs, NFS)",
         "/proc"},
    };
    EACH_CASE (i, cases, "%s", cases[i].note) {
        const struct io_description about = describe(&cases[i].place);
        assert_string_equal(about.note, cases[i].note);
        assert_string_equal(about.directory, cases[i].directory);
        assert_string_equal(about.device, "");
        assert_string_equal(about.storage, "");
    }
    /* the working directory of this process, and the same directory by its name */
    char here[256];
    assert_non_null(getcwd(here, sizeof here));
    const struct io_description works = describe(
        &(const struct io_place){.pid = getpid(), .cgroup = -1, .is_working_directory = true});
    assert_string_equal(works.directory, here);
    const struct io_description named =
        describe(&(const struct io_place){.pid = getpid(), .cgroup = -1, .directory = here});
    assert_string_equal(works.device, named.device);
    const struct io_description relative =
        describe(&(const struct io_place){.pid = getpid(), .cgroup = -1, .directory = "."});
    assert_string_equal(relative.device, named.device);
    assert_string_equal(relative.directory, ".");
}

static void write_io_stat(const char *folder, const char *rest)
{
    char path[64];
    snprintf(path, sizeof path, "%s/io.stat", folder);
    FILE *file = fopen(path, "w");
    DIR *blocks = opendir("/sys/dev/block");
    assert_non_null(file);
    for (const struct dirent *entry; blocks != NULL && (entry = readdir(blocks)) != NULL;) {
        fprintf(file, entry->d_name[0] == '.' ? "" : "%s %s\n", entry->d_name, rest);
    }
    if (blocks != NULL) {
        closedir(blocks);
    }
    assert_int_equal(fclose(file), 0);
}

/* The bytes that the disks moved for the server are those of its cgroup, or of its processes if it
 * has no cgroup. */
TEST(bytes_of_a_server)
{
    char folder[] = "/tmp/append-io-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    write_io_stat(folder, "rbytes=100 wbytes=7");
    const int cgroup = open(folder, O_RDONLY | O_DIRECTORY);
    assert_true(cgroup >= 0);
    struct io_meter *meter =
        io_meter_create(&(const struct io_place){.directory = folder, .cgroup = cgroup});
    struct io_description about;
    struct io_reading reading = io_nothing();
    struct procfs_io server;
    for (uint64_t i = 0; i < PROCFS_IO_COUNTS; i++) {
        server.counts[i] = 1000 + i;
    }
    io_meter_add_server(meter, &server, &reading);
    io_meter_describe(meter, &about);
    for (int i = 0; i <= IO_SERVER_WRITES; i++) {
        assert_int_equal(reading.counts[i], 1000 + i);
    }
    int64_t disks = about.device[0] == '\0' ? 0 : 1;
    for (const char *at = about.device; (at = strstr(at, " + ")) != NULL; at++) {
        disks++;
    }
    if (disks == 0) { /* an overlay or tmpfs */
        assert_string_equal(about.storage, "processes");
    } else {
        assert_string_equal(about.storage, "cgroup");
        assert_int_equal(reading.counts[IO_STORAGE_READ_BYTES], 100 * disks);
        assert_int_equal(reading.counts[IO_STORAGE_WRITTEN_BYTES], 7 * disks);
        /* after a restart in a new cgroup the counts go on */
        write_io_stat(folder, "rbytes=5 wbytes=1");
        io_meter_follow(meter, 0, cgroup);
        for (int again = 0; again < 2; again++) {
            io_meter_add_server(meter, NULL, &reading);
            assert_int_equal(reading.counts[IO_STORAGE_READ_BYTES], 105 * disks);
            assert_int_equal(reading.counts[IO_STORAGE_WRITTEN_BYTES], 8 * disks);
        }
    }
    io_meter_follow(meter, 0, -1); /* without a cgroup the processes are counted */
    reading = io_nothing();
    io_meter_add_server(meter, NULL, &reading);
    assert_int_equal(reading.counts[IO_STORAGE_READ_BYTES], -1);
    io_meter_add_server(meter, &server, &reading);
    io_meter_describe(meter, &about);
    assert_string_equal(about.storage, "processes");
    assert_int_equal(reading.counts[IO_STORAGE_READ_BYTES], 1000 + PROCFS_IO_STORAGE_READ_BYTES);
    assert_true(reading.counts[IO_STORAGE_WRITTEN_BYTES] == -1 ||
                reading.counts[IO_STORAGE_WRITTEN_BYTES] == 1000 + PROCFS_IO_STORAGE_WRITTEN_BYTES);
    io_meter_destroy(meter);
    io_meter_destroy(NULL);
    close(cgroup);
    snprintf(path, sizeof path, "%s/io.stat", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* Reads the microseconds of a file of /proc/pressure; -1: the kernel does not have it. */
static int64_t read_pressure(const char *name)
{
    char path[64], text[256];
    uint64_t us;
    snprintf(path, sizeof path, "/proc/pressure/%s", name);
    const ssize_t length = procfs_read(AT_FDCWD, path, text, sizeof text);
    return length > 0 && procfs_parse_pressure(text, (size_t)length, &us) ? (int64_t)us : -1;
}

TEST(pressure_and_ticks)
{
    static const char *const names[] = {"io", "cpu", "memory"};
    int64_t before[3], after;
    struct io_meter *meter =
        io_meter_create(&(const struct io_place){.cgroup = -1, .is_embedded = true});
    const struct procfs_cpu host = {.total_ticks = 70, .iowait_ticks = 6};
    struct io_reading reading;
    struct io_description about;
    assert_non_null(meter);
    for (size_t i = 0; i < 3; i++) {
        before[i] = read_pressure(names[i]);
    }
    const int64_t begin_ns = mono_now_ns();
    io_meter_read(meter, &host, &reading);
    assert_true(reading.counts[IO_NS] >= begin_ns && reading.counts[IO_NS] <= mono_now_ns());
    assert_int_equal(reading.counts[IO_HOST_TICKS], 70);
    assert_int_equal(reading.counts[IO_IOWAIT_TICKS], 6);
    assert_int_equal(reading.counts[IO_DEVICE_READS], -1);
    for (size_t i = 0; i < 3; i++) {
        const int64_t ns = reading.counts[IO_PRESSURE_IO_NS + i];
        after = read_pressure(names[i]);
        assert_true(ns >= before[i] * 1000 || before[i] < 0);
        assert_true(ns <= after * 1000 || after < 0);
        assert_true(ns == -1 || before[i] >= 0);
    }
    io_meter_describe(meter, &about);
    assert_string_equal(
        about.note,
        before[0] >= 0 ? "" : "/proc/pressure cannot be read: the kernel may not support it");
    io_meter_read(meter, NULL, &reading);
    assert_int_equal(reading.counts[IO_HOST_TICKS], -1);
    assert_int_equal(reading.counts[IO_IOWAIT_TICKS], -1);
    io_meter_destroy(meter);
}

/* Reads a disk's row of /proc/diskstats. Returns false if no row has this name. */
static bool read_disk(const char *name, struct procfs_disk *disk)
{
    char line[256], found[32];
    unsigned major, minor;
    bool is_read = false;
    FILE *file = fopen("/proc/diskstats", "r");
    while (file != NULL && !is_read && fgets(line, sizeof line, file) != NULL) {
        is_read = sscanf(line, "%u %u %31s", &major, &minor, found) == 3 &&
                  strcmp(found, name) == 0 &&
                  procfs_parse_disk(line, strlen(line), major, minor, disk);
    }
    if (file != NULL) {
        fclose(file);
    }
    return is_read;
}

/* Writes and syncs a file, and expects the disk's counts to be those of /proc/diskstats. */
TEST(counts_of_a_disk)
{
    enum {
        BEFORE,
        BETWEEN,
        LATER,
        AFTER,
    };
    char path[] = "/tmp/append-io-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    struct io_meter *meter =
        io_meter_create(&(const struct io_place){.directory = path, .cgroup = -1});
    struct io_description about;
    struct io_reading first, second, growth;
    struct procfs_disk disks[4];
    io_meter_describe(meter, &about);
    assert_string_equal(about.directory, path);
    if (read_disk(about.device, &disks[BEFORE])) { /* one disk, and not several */
        io_meter_read(meter, NULL, &first);
        read_disk(about.device, &disks[BETWEEN]);
        for (int i = 0; i < 20; i++) {
            assert_int_equal(pwrite(file, &disks, sizeof disks, 4096 * i), sizeof disks);
            assert_int_equal(fsync(file), 0);
        }
        read_disk(about.device, &disks[LATER]);
        io_meter_read(meter, NULL, &second);
        read_disk(about.device, &disks[AFTER]);
        io_subtract(&first, &second, &growth);
#define OFFSET(member) offsetof(struct procfs_disk, member)
        static const struct {
            enum io_count count;
            size_t member;
            int64_t unit;
        } counts[] = {
            {IO_DEVICE_READS, OFFSET(reads), 1},
            {IO_DEVICE_READ_BYTES, OFFSET(read_sectors), 512},
            {IO_DEVICE_READ_NS, OFFSET(read_ms), 1000000},
            {IO_DEVICE_WRITES, OFFSET(writes), 1},
            {IO_DEVICE_WRITTEN_BYTES, OFFSET(written_sectors), 512},
            {IO_DEVICE_WRITE_NS, OFFSET(write_ms), 1000000},
            {IO_DEVICE_FLUSHES, OFFSET(flushes), 1},
            {IO_DEVICE_FLUSH_NS, OFFSET(flush_ms), 1000000},
            {IO_DEVICE_BUSY_NS, OFFSET(busy_ms), 1000000},
            {IO_DEVICE_QUEUED_NS, OFFSET(queued_ms), 1000000},
        };
#undef OFFSET
        EACH_CASE (i, counts, "count %d", (int)counts[i].count) {
            int64_t seen[4];
            for (int k = 0; k < 4; k++) {
                uint64_t value;
                memcpy(&value, (const char *)&disks[k] + counts[i].member, sizeof value);
                seen[k] = (int64_t)value * counts[i].unit;
            }
            const bool is_of_flushes =
                counts[i].count == IO_DEVICE_FLUSHES || counts[i].count == IO_DEVICE_FLUSH_NS;
            const int64_t grown = growth.counts[counts[i].count];
            if (is_of_flushes && !disks[BEFORE].has_flushes) {
                assert_int_equal(grown, -1);
                continue;
            }
            assert_true(grown >= seen[LATER] - seen[BETWEEN]);
            assert_true(grown <= seen[AFTER] - seen[BEFORE]);
            if (counts[i].unit == 1000000) { /* times are counted from the first reading */
                assert_int_equal(first.counts[counts[i].count], 0);
            }
        }
        assert_int_equal(growth.counts[IO_DEVICE_NS], growth.counts[IO_NS]);
    }
    io_meter_destroy(meter);
    close(file);
    unlink(path);
}
