/* The memory, CPU time and I/O of a server's processes, read from a folder that imitates /proc. The
 * server is process 41. */
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mono.h"
#include "measure/server_process.h"

enum {
    KIB = 1024,
    ROOT = 41
};
#define LONG_NS (3600 * MONO_NS_PER_S) /* an interval in which all processes can be read */

static char folder[32];
static struct server_process *server;
static struct server_reading reading;
static struct resource_summary about;

static void write_of(int pid, const char *name, const char *text)
{
    char path[96];
    snprintf(path, sizeof path, "%s/%d/%s", folder, pid, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* Removes the file `name` of a process, or the folder of the process if `name` is NULL. */
static void remove_of(int pid, const char *name)
{
    char path[96];
    snprintf(path, sizeof path, "%s/%d/%s", folder, pid, name);
    assert_int_equal(remove(path), 0);
}

static void put_stat(int pid, int parent, char state, int threads, int ticks)
{
    char text[160];
    snprintf(text, sizeof text, "%d (db) %c %d 7 7 0 -1 0 1 2 3 4 %d 0 0 0 20 0 %d 0 %d\n", pid,
             state, parent, ticks, threads, pid * 10);
    write_of(pid, "stat", text);
}

/* Resident memory, in pages. */
static void put_resident(int pid, int anonymous, int shared)
{
    char text[96];
    snprintf(text, sizeof text, "9999 %d %d 1 0 1 0\n", anonymous + shared, shared);
    write_of(pid, "statm", text);
}

static void put_pss(int pid, int kib, int anonymous_kib, int private_huge, int shared_huge)
{
    char text[200];
    snprintf(text, sizeof text,
             "00400000-7fff ---p 00000000 00:00 0 [rollup]\nRss: 7 kB\nPss: %d kB\nPss_Anon: %d "
             "kB\nShared_Hugetlb: %d kB\nPrivate_Hugetlb: %d kB\n",
             kib, anonymous_kib, shared_huge, private_huge);
    write_of(pid, "smaps_rollup", text);
}

static void put_io(int pid, int first)
{
    char text[200];
    snprintf(text, sizeof text,
             "rchar: %d\nwchar: %d\nsyscr: %d\nsyscw: %d\nread_bytes: %d\nwrite_bytes: %d\n", first,
             first + 1, first + 2, first + 3, first + 4, first + 5);
    write_of(pid, "io", text);
}

static void put_process(int pid, int parent)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%d", folder, pid);
    assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    put_stat(pid, parent, 'S', 1, 0);
    put_resident(pid, 0, 0);
    put_pss(pid, 0, 0, 0, 0);
    put_io(pid, 0);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/append-proc-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    put_process(ROOT, 1);
    put_process(42, ROOT);
    put_process(43, 42);
    put_process(50, 1); /* another program */
    const int proc = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    server = server_process_create_at(proc, &(const struct server_selector){.pid = ROOT});
    return server == NULL;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    server_process_destroy(server);
    return nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void read_server(int64_t interval_ns)
{
    server_process_read(server, interval_ns, &reading);
    server_process_describe(server, &about);
}

static const char rss_note[] =
    "PSS of the server's processes cannot be read (run as root): memory that the processes share "
    "copy-on-write is counted once per process";

TEST_BETWEEN(test_proportional_memory, set_up, tear_down)
{
    put_pss(ROOT, 100, 60, 4, 8);
    put_pss(42, 50, 50, 2, 16);
    put_pss(43, 30, 10, 0, 0);
    put_pss(50, 9000, 9000, 9000, 9000);
    read_server(LONG_NS);
    assert_int_equal(reading.memory_bytes, (100 + 50 + 30 + 4 + 2 + 16) * KIB);
    assert_int_equal(reading.processes, 3);
    assert_int_equal(reading.threads, 3);
    assert_int_equal(about.memory_source, MEMORY_PSS);
    assert_int_equal(about.server_pid, ROOT);
    assert_string_equal(about.server_name, "db");
    assert_int_equal(about.servers, 1);
    assert_string_equal(about.server_note, "");
    put_stat(42, ROOT, 'S', 7, 0);
    put_stat(43, 42, 'Z', 1, 0); /* it has ended, so it has no memory */
    put_pss(42, 20, 20, 0, 0);
    read_server(LONG_NS);
    assert_int_equal(reading.memory_bytes, (100 + 20 + 4 + 8) * KIB);
    assert_int_equal(reading.processes, 2);
    assert_int_equal(reading.threads, 8);
    /* the anonymous part exceeds the whole PSS, so only the anonymous part counts */
    put_pss(42, 20, 30, 0, 0);
    read_server(LONG_NS);
    assert_int_equal(reading.memory_bytes, (100 + 30 + 4 + 8) * KIB);
}

/* Older kernels do not say which part of PSS is anonymous. */
TEST_BETWEEN(test_memory_of_older_kernels, set_up, tear_down)
{
    put_resident(ROOT, 1, 5);
    write_of(ROOT, "smaps_rollup", "Pss: 30 kB\n");
    put_resident(42, 1000, 5);
    write_of(42, "smaps_rollup", "Pss: 12 kB\n");
    read_server(LONG_NS);
    assert_int_equal(reading.memory_bytes, 42 * KIB);
    assert_int_equal(about.memory_source, MEMORY_PSS);
    write_of(42, "smaps_rollup", "Rss: 12 kB\n"); /* without PSS */
    read_server(LONG_NS);
    const int64_t page = sysconf(_SC_PAGESIZE);
    assert_int_equal(reading.memory_bytes, (1 + 1000 + 5) * page);
    assert_int_equal(about.memory_source, MEMORY_RSS);
    assert_string_equal(about.server_note, rss_note);
}

/* Without smaps_rollup the memory is the private parts and the largest shared part. */
TEST_BETWEEN(test_resident_memory, set_up, tear_down)
{
    const int64_t page = sysconf(_SC_PAGESIZE);
    put_resident(ROOT, 10, 30);
    put_resident(42, 3, 20);
    put_resident(43, 4, 25);
    remove_of(43, "smaps_rollup");
    for (int i = 0; i < 2; i++) {
        read_server(LONG_NS);
        assert_int_equal(reading.memory_bytes, (10 + 3 + 4 + 30) * page);
        assert_int_equal(about.memory_source, MEMORY_RSS);
        assert_string_equal(about.server_note, rss_note);
        put_pss(43, 1, 1, 0, 0); /* a file that could not be read once is not read again */
    }
    write_of(42, "statm", "99 3 5\n"); /* malformed: the process does not count */
    read_server(LONG_NS);
    assert_int_equal(reading.memory_bytes, (10 + 4 + 30) * page);
    write_of(42, "statm", "99 3 5 1\n"); /* more shared than resident: nothing is private */
    read_server(LONG_NS);
    assert_int_equal(reading.memory_bytes, (10 + 4 + 30) * page);
    for (int pid = ROOT; pid <= 43; pid++) {
        remove_of(pid, "statm");
    }
    read_server(LONG_NS);
    assert_int_equal(reading.memory_bytes, -1);
    assert_true(reading.cpu_ns >= 0);
}

/* Without time to read all processes, 16 processes of each group are read and the others are
 * estimated. */
TEST_BETWEEN(test_estimated_memory, set_up, tear_down)
{
    const int64_t page = sysconf(_SC_PAGESIZE);
    const int kib = (int)(page / KIB);
    for (int pid = ROOT; pid < ROOT + 40; pid++) {
        put_process(pid, pid == ROOT ? 1 : ROOT);
        put_resident(pid, 10, 20);
        put_pss(pid, (5 + 2) * kib, 5 * kib, 1, 2);
    }
    read_server(0);
    assert_int_equal(reading.processes, 40);
    /* the PSS is half of the anonymous memory and a tenth of the shared memory */
    assert_int_equal(reading.memory_bytes, 40 * (5 + 2) * page + 3 * KIB);
    assert_string_equal(
        about.server_note,
        "PSS was read for 16 of 40 processes per sample and estimated for the others");
    assert_int_equal(about.memory_source, MEMORY_PSS);
    /* later processes have ratios of their own */
    for (int pid = 200; pid < 220; pid++) {
        put_process(pid, ROOT);
        put_resident(pid, 100, 0);
        put_pss(pid, 30 * kib, 30 * kib, 0, 0);
    }
    read_server(0);
    assert_int_equal(reading.processes, 60);
    assert_int_equal(reading.memory_bytes, 40 * (5 + 2) * page + 20 * 30 * page + 3 * KIB);
    assert_string_equal(
        about.server_note,
        "PSS was read for 16 of 40 processes per sample and estimated for the others");
    for (int pid = 220; pid < 240; pid++) { /* 32 of 80 is as much as 16 of 40 */
        put_process(pid, ROOT);
    }
    read_server(0);
    assert_string_equal(
        about.server_note,
        "PSS was read for 16 of 40 processes per sample and estimated for the others");
    put_process(240, ROOT); /* 32 of 81 is less */
    read_server(0);
    assert_string_equal(
        about.server_note,
        "PSS was read for 32 of 81 processes per sample and estimated for the others");
    read_server(LONG_NS); /* the note stays */
    assert_string_equal(
        about.server_note,
        "PSS was read for 32 of 81 processes per sample and estimated for the others");
}

/* Each process is read after several readings, even if no reading has time for all of them. */
TEST_BETWEEN(test_turns_of_processes, set_up, tear_down)
{
    const int64_t page = sysconf(_SC_PAGESIZE);
    int64_t sum = 0;
    for (int pid = ROOT; pid < ROOT + 48; pid++) {
        put_process(pid, pid == ROOT ? 1 : ROOT);
        put_resident(pid, 10, 0);
        put_pss(pid, pid - ROOT, pid - ROOT, 0, 0);
    }
    for (int i = 0; i < 3; i++) {
        read_server(0); /* each reading estimates all 48 from 16; the mean of 3 readings is exact */
        sum += reading.memory_bytes;
    }
    assert_true(page > 0);
    assert_true(llabs(sum / 3 - 24 * 47 * (int64_t)KIB) <= 2);
}

/* CPU time is counted in clock ticks. For a process with one thread the scheduler's count in ns
 * replaces the ticks if it is larger. */
TEST_BETWEEN(test_cpu_time, set_up, tear_down)
{
    const int64_t tick_ns = MONO_NS_PER_S / sysconf(_SC_CLK_TCK);
    put_stat(ROOT, 1, 'S', 1, 100);
    read_server(LONG_NS);
    assert_int_equal(reading.cpu_ns, 100 * tick_ns);
    char text[64];
    snprintf(text, sizeof text, "%" PRId64 " 5 6\n", 100 * tick_ns + 1234);
    write_of(ROOT, "schedstat", text);
    read_server(LONG_NS);
    assert_int_equal(reading.cpu_ns, 100 * tick_ns + 1234);
    write_of(ROOT, "schedstat", "5 5 6\n"); /* the larger figure counts */
    put_stat(ROOT, 1, 'S', 1, 200);
    read_server(LONG_NS);
    assert_int_equal(reading.cpu_ns, 200 * tick_ns);
    snprintf(text, sizeof text, "%" PRId64 " 5 6\n", 900 * tick_ns);
    write_of(ROOT, "schedstat", text); /* of one of two threads */
    put_stat(ROOT, 1, 'S', 2, 300);
    read_server(LONG_NS);
    assert_int_equal(reading.cpu_ns, 300 * tick_ns);
    put_stat(42, ROOT, 'S', 1, 7);
    put_stat(50, 1, 'S', 1, 5000); /* not of the server */
    read_server(LONG_NS);
    assert_int_equal(reading.cpu_ns, 307 * tick_ns);
}

static void expect_io(int factor, int sum)
{
    read_server(LONG_NS);
    assert_true(reading.has_io);
    for (int i = 0; i < PROCFS_IO_COUNTS; i++) {
        assert_int_equal(reading.io.counts[i], sum + factor * i);
    }
}

TEST_BETWEEN(test_io, set_up, tear_down)
{
    put_io(ROOT, 100);
    put_io(42, 20);
    put_io(43, 3);
    put_io(50, 9000);
    expect_io(3, 123);
    put_io(42, 10); /* no count falls */
    expect_io(3, 123);
    put_io(42, 40);
    expect_io(3, 143);
    remove_of(42, "io"); /* as of a process that has just ended */
    put_io(ROOT, 200);
    expect_io(2, 203);
}

TEST_BETWEEN(test_unreadable_io, set_up, tear_down)
{
    write_of(42, "io", "rchar: x\n");
    read_server(LONG_NS);
    assert_false(reading.has_io);
    assert_int_equal(reading.processes, 3);
    assert_true(reading.memory_bytes >= 0);
}

/* The end of the server. The user gave its pid, so no other process can take its place. */
TEST_BETWEEN(test_the_end, set_up, tear_down)
{
    read_server(LONG_NS);
    assert_int_equal(server_process_pid(server), ROOT);
    assert_int_equal(server_process_cgroup(server), -1);
    put_stat(ROOT, 1, 'Z', 1, 0);
    read_server(LONG_NS);
    assert_int_equal(reading.cpu_ns, -1);
    assert_int_equal(reading.memory_bytes, -1);
    assert_int_equal(reading.processes, 0);
    assert_string_equal(about.server_note, "the server's process ended during the run");
    put_stat(ROOT, 1, 'S', 1, 0);
    read_server(LONG_NS);
    assert_int_equal(reading.cpu_ns, -1);
    assert_int_equal(server_process_restarts(server), 0);
}

static void expect_note(const struct server_selector *selector, const char *note)
{
    const int proc = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct server_process *one = server_process_create_at(proc, selector);
    assert_non_null(one);
    server_process_describe(one, &about);
    assert_string_equal(about.server_note, note);
    assert_int_equal(about.server_pid, 0);
    assert_string_equal(about.server_name, "");
    assert_int_equal(about.servers, 0);
    assert_int_equal(server_process_cgroup(one) >= 0,
                     selector->cgroup != NULL && selector->cgroup[1] == 't');
    server_process_destroy(one);
}

/* The exact notes that say why no server is measured. */
TEST_BETWEEN(test_notes, set_up, tear_down)
{
    static const struct server_place places[] = {{.port = 1}, {.port = 2}};
    static const char unknown[] = "/proc cannot be read here: the server's process is unknown (TCP "
                                  "port 1)";
    expect_note(&(const struct server_selector){0},
                "the server's process is unknown: give --server-pid or --server-cgroup");
    expect_note(&(const struct server_selector){.is_remote = true, .port = 1},
                "the server is not on this machine");
    expect_note(&(const struct server_selector){.is_embedded = true, .port = 1},
                "the database runs inside append: its memory and CPU time cannot be separated from "
                "the client's");
    expect_note(&(const struct server_selector){.pid = 7, .is_remote = true},
                "process 7 does not exist or cannot be seen: check --server-pid, or give "
                "--server-cgroup");
    expect_note(&(const struct server_selector){.cgroup = "/no/such"},
                "the cgroup folder cannot be opened (No such file or directory): check "
                "--server-cgroup, or give --server-pid");
    expect_note(&(const struct server_selector){.cgroup = "/tmp"},
                "the cgroup folder has no readable memory.stat: give --server-cgroup the folder of "
                "the memory controller, or give --server-pid");
    expect_note(&(const struct server_selector){.port = 1}, unknown);
    expect_note(&(const struct server_selector){.socket = "/run/x"},
                "/proc cannot be read here: the server's process is unknown (socket /run/x)");
    expect_note(&(const struct server_selector){.places = places, .place_count = 2}, unknown);
    struct server_process *none =
        server_process_create_at(-1, &(const struct server_selector){.pid = ROOT});
    assert_non_null(none);
    server_process_describe(none, &about);
    assert_int_equal(strncmp(about.server_note, "/proc cannot be read: ", 22), 0);
    server_process_destroy(none);
    server_process_destroy(NULL);
}
