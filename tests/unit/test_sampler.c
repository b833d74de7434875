#include "unit/unit.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mono.h"
#include "measure/sampler.h"

enum {
    ENTRIES_MAX = 256,
    POKERS = 4,
    MIB = 1024 * 1024
};

/* The entries that the sampler delivered. The measuring thread writes them. The test reads them
 * after the join, and interval_count also before. */
struct record {
    struct interval intervals[ENTRIES_MAX];
    atomic_size_t interval_count;
    struct sample samples[ENTRIES_MAX];
    size_t sample_count;
    uint64_t last_rows; /* rows acknowledged at the end of the last interval */
};

static struct record record;

static void keep_interval(struct record *kept, const struct interval *interval)
{
    const size_t count = atomic_load(&kept->interval_count);
    if (count < ENTRIES_MAX) {
        kept->intervals[count] = *interval;
        atomic_store(&kept->interval_count, count + 1);
    }
}

static void keep_sample(struct record *kept, const struct sample *sample)
{
    if (kept->sample_count < ENTRIES_MAX) {
        kept->samples[kept->sample_count++] = *sample;
    }
}

/* The size of a table: its present size, and the size that was read last. */
static atomic_int table_now, table_asked;

static pthread_t thread;

static void *measure(void *argument)
{
    struct sampler *sampler = argument;
    struct sampler_turn turn;
    do {
        struct sample sample;
        sampler_wait(sampler, &turn);
        if (turn.has_begun || (turn.is_sample_due && turn.work_start_ns >= 0)) {
            atomic_store(&table_asked, atomic_load(&table_now));
        }
        if (turn.has_interval) {
            keep_interval(&record, &turn.interval);
            record.last_rows = turn.total->counters[RECORDER_ROWS_ACKNOWLEDGED];
        }
        if (turn.is_sample_due && sampler_read(sampler, &sample)) {
            sample.table_bytes = atomic_load(&table_asked);
            keep_sample(&record, &sample);
        }
    } while (!turn.is_last);
    return NULL;
}

static struct sampler *start_with(const struct sampler_config *config)
{
    struct error error;
    error_clear(&error);
    struct sampler *sampler = sampler_start(config, &error);
    assert_non_null(sampler);
    assert_false(error_is_set(&error));
    assert_int_equal(pthread_create(&thread, NULL, measure, sampler), 0);
    return sampler;
}

static void stop(struct sampler *sampler, struct resource_summary *summary)
{
    sampler_wake(sampler, SAMPLER_STOP);
    pthread_join(thread, NULL);
    sampler_end(sampler, summary);
}

static void sleep_ms(long ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static void wait_for_intervals(size_t count)
{
    while (atomic_load(&record.interval_count) < count) {
        sleep_ms(10);
    }
}

static struct sampler *start(struct recorder *recorder, int64_t sample_interval_ns,
                             bool is_embedded)
{
    memset(&record, 0, sizeof(record));
    const struct sampler_config config = {
        .sample_interval_ns = sample_interval_ns,
        .run_start_ns = mono_now_ns(),
        .server = {.is_embedded = is_embedded, .is_remote = !is_embedded},
        .recorder = recorder,
    };
    return start_with(&config);
}

static void check_percent(double percent)
{
    assert_true(percent <= 100);
}

/* Checks that intervals and samples have no gaps and add up, whatever their timing. */
static void check_entries(const struct resource_summary *summary)
{
    assert_true(record.interval_count > 0);
    assert_int_equal(record.intervals[0].start_ns, 0);
    for (size_t i = 0; i < record.interval_count; i++) {
        assert_true(record.intervals[i].end_ns > record.intervals[i].start_ns);
        if (i > 0) {
            assert_int_equal(record.intervals[i].start_ns, record.intervals[i - 1].end_ns);
        }
    }
    uint64_t highest_memory = 0;
    double highest_client = -1;
    for (size_t i = 0; i < record.sample_count; i++) {
        const struct sample *sample = &record.samples[i];
        assert_true(sample->end_ns > sample->start_ns);
        if (i > 0) {
            assert_int_equal(sample->start_ns, record.samples[i - 1].end_ns);
        }
        check_percent(sample->cpu.host);
        check_percent(sample->cpu.client);
        assert_true(sample->cpu.client >= 0);
        assert_true(sample->client_memory_bytes > 0);
        if (sample->client_memory_bytes > highest_memory) {
            highest_memory = sample->client_memory_bytes;
        }
        if (sample->cpu.client > highest_client) {
            highest_client = sample->cpu.client;
        }
    }
    /* the kernel's high-water mark may exceed what the samples saw */
    assert_true(summary->max_client_memory_bytes >= highest_memory);
    assert_true(summary->max_cpu.client <= highest_client);
    assert_true(summary->max_cpu.client >= 0);
    assert_true(summary->cpus > 0);
}

TEST(intervals_add_up)
{
    struct recorder *recorder = recorder_create(20, 4, OPERATIONS, 1);
    assert_non_null(recorder);
    /* rows from before the start of the sampler count as well */
    recorder_add(recorder, 0, RECORDER_ROWS_ACKNOWLEDGED, 5);
    struct sampler *sampler = start(recorder, 400 * MONO_NS_PER_MS, false);
    for (unsigned i = 0; i < 20; i++) {
        recorder_add(recorder, i, RECORDER_CONNECTIONS_OPENED, 1);
    }
    uint64_t rows = 5;
    while (atomic_load(&record.interval_count) < 2) {
        recorder_add(recorder, 1, RECORDER_ROWS_ACKNOWLEDGED, 100);
        recorder_record(recorder, 1, OPERATION_APPEND, 1000000);
        recorder_record(recorder, 1, OPERATION_READ, 3000000);
        rows += 100;
        sleep_ms(5);
    }
    for (unsigned i = 0; i < 20; i++) {
        recorder_add(recorder, i, RECORDER_CONNECTIONS_CLOSED, 1);
    }
    recorder_add(recorder, 1, RECORDER_ROWS_ACKNOWLEDGED, 7);
    rows += 7;
    struct resource_summary summary;
    stop(sampler, &summary);
    check_entries(&summary);
    uint64_t sum = 0;
    for (size_t i = 0; i < record.interval_count; i++) {
        sum += record.intervals[i].counters[RECORDER_ROWS_ACKNOWLEDGED];
    }
    assert_int_equal(sum, rows);
    assert_int_equal(record.last_rows, rows);
    assert_true(record.interval_count >= 3);
    assert_int_equal(record.intervals[0].latencies[OPERATION_APPEND].p50_ns, 1000000);
    assert_int_equal(record.intervals[0].latencies[OPERATION_APPEND].max_ns, 1000000);
    assert_int_equal(record.intervals[0].latencies[OPERATION_READ].p99_ns, 3000000);
    assert_int_equal(record.intervals[0].sessions_alive, 20);
    assert_int_equal(record.intervals[record.interval_count - 1].sessions_alive, 0);
    assert_true(record.sample_count >= 4);
    assert_int_equal(record.samples[1].sessions_alive, 20);
    assert_int_equal(summary.memory_source, MEMORY_UNKNOWN);
    assert_true(summary.max_server_memory_bytes < 0);
    assert_true(summary.max_cpu.server < 0);
    assert_string_equal(summary.server_note, "the server is not on this machine");
    recorder_destroy(recorder);
}

TEST(a_short_run_is_one_sample)
{
    struct recorder *recorder = recorder_create(8, 1, OPERATIONS, 1);
    assert_non_null(recorder);
    const int64_t before_ns = mono_now_ns();
    struct sampler *sampler = start(recorder, 3600 * MONO_NS_PER_S, true);
    recorder_add(recorder, 0, RECORDER_ROWS_ACKNOWLEDGED, 9);
    sleep_ms(60);
    struct resource_summary summary;
    stop(sampler, &summary);
    const int64_t length_ns = mono_now_ns() - before_ns;
    check_entries(&summary);
    assert_int_equal(record.sample_count, 1);
    assert_true(record.samples[0].end_ns <= length_ns);
    assert_true(record.samples[0].end_ns - record.samples[0].start_ns >= 60 * MONO_NS_PER_MS);
    /* if all samples are short, a short sample sets the maximum */
    assert_true(summary.max_cpu.client == record.samples[0].cpu.client);
    assert_int_equal(summary.memory_source, MEMORY_SELF);
    assert_true(summary.max_server_memory_bytes > 0);
    assert_true(summary.max_cpu.server < 0);
    assert_true(summary.client_cpu_s >= 0);
    recorder_destroy(recorder);
}

static void burn(int64_t ns)
{
    const int64_t start_ns = mono_now_ns();
    while (mono_now_ns() - start_ns < ns) {
    }
}

static void write_stat(int file, unsigned cpus, unsigned busy_ticks, unsigned idle_ticks)
{
    char text[1024];
    int length = snprintf(text, sizeof text, "cpu  %u 0 9 %u 0 0 0 0\n", busy_ticks, idle_ticks);
    for (unsigned i = 0; i < cpus; i++) {
        length += snprintf(text + length, sizeof text - (size_t)length, "cpu%u 0\n", i);
    }
    assert_int_equal(pwrite(file, text, (size_t)length, 0), length);
}

TEST(short_samples_do_not_set_maxima)
{
    struct recorder *recorder = recorder_create(8, 1, OPERATIONS, 1);
    assert_non_null(recorder);
    struct sampler *sampler = start(recorder, 1000 * MONO_NS_PER_MS, true);
    wait_for_intervals(1);
    /* the program works only in the last sample, which is short */
    burn(50 * MONO_NS_PER_MS);
    struct resource_summary summary;
    stop(sampler, &summary);
    check_entries(&summary);
    double expected = -1;
    for (size_t i = 0; i < record.sample_count; i++) {
        const struct sample *sample = &record.samples[i];
        if (sample->end_ns - sample->start_ns >= SAMPLER_SHORT_NS &&
            sample->cpu.client > expected) {
            expected = sample->cpu.client;
        }
    }
    assert_true(expected >= 0);
    assert_true(summary.max_cpu.client == fmax(expected, summary.mean_cpu.client));
    recorder_destroy(recorder);
}

/* A kernel that accounts by ticks may miss all of this program's time, so that the host seems idle.
 * Here the stat file always shows an idle host. */
TEST(the_host_has_no_less_than_its_parts)
{
    char path[] = "/tmp/append-stat-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    write_stat(file, 1, 9, 100);
    struct recorder *recorder = recorder_create(8, 1, OPERATIONS, 1);
    assert_non_null(recorder);
    const struct sampler_config config = {.recorder = recorder,
                                          .server.is_embedded = true,
                                          .sample_interval_ns = 3600 * MONO_NS_PER_S,
                                          .stat_path = path};
    memset(&record, 0, sizeof record);
    struct sampler *sampler = start_with(&config);
    sleep_ms(50); /* time before the work makes the CPU share of the sample smaller */
    sampler_begin_work(sampler, mono_now_ns());
    sleep_ms(50);
    write_stat(file, 1, 9, 200);
    burn(100 * MONO_NS_PER_MS);
    struct resource_summary summary;
    stop(sampler, &summary);
    assert_int_equal(record.sample_count, 1);
    const struct sample *sample = &record.samples[0];
    assert_true(sample->cpu.client > 0);
    assert_true(sample->cpu.host == sample->cpu.client);
    assert_true(summary.mean_cpu.client > sample->cpu.client);
    assert_true(summary.mean_cpu.host >= summary.mean_cpu.client);
    assert_true(summary.max_cpu.host >= summary.mean_cpu.host);
    assert_true(summary.max_cpu.client >= summary.mean_cpu.client);
    assert_true(summary.max_cpu.host >= summary.cpu_at_max.client);
    assert_true(summary.cpu_at_max.client >= 0);
    recorder_destroy(recorder);
    close(file);
    unlink(path);
}

/* The machine is idle before the work and after it. It has so many CPUs that this program itself
 * uses a small share of them. */
TEST(the_mean_is_that_of_the_work)
{
    char path[] = "/tmp/append-stat-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    write_stat(file, 100, 0, 1000);
    struct recorder *recorder = recorder_create(8, 1, OPERATIONS, 1);
    assert_non_null(recorder);
    const struct sampler_config config = {.recorder = recorder,
                                          .server.is_embedded = true,
                                          .sample_interval_ns = 3600 * MONO_NS_PER_S,
                                          .stat_path = path};
    struct error error = {.kind = ERROR_NONE};
    struct sampler *sampler = sampler_start(&config, &error);
    assert_non_null(sampler);
    struct sampler_turn turn;
    write_stat(file, 100, 0, 2000);
    sampler_begin_work(sampler, mono_now_ns());
    do {
        sampler_wait(sampler, &turn);
    } while (!turn.has_begun);
    write_stat(file, 100, 980, 2020);
    sampler_wake(sampler, SAMPLER_WORK_DONE);
    sampler_wait(sampler, &turn);
    write_stat(file, 100, 980, 5000);
    sampler_wake(sampler, SAMPLER_STOP);
    struct sample sample;
    do {
        sampler_wait(sampler, &turn);
    } while (!turn.is_last);
    assert_true(sampler_read(sampler, &sample));
    assert_true(sample.cpu.host < 50);
    struct resource_summary summary;
    sampler_end(sampler, &summary);
    assert_true(summary.mean_cpu.host >= 98);
    recorder_destroy(recorder);
    close(file);
    unlink(path);
}

/* The last sample ends after the work, and has the table's size at that time. */
TEST(a_table_has_the_size_of_the_samples_end)
{
    struct recorder *recorder = recorder_create(8, 1, OPERATIONS, 1);
    assert_non_null(recorder);
    const struct sampler_config config = {
        .recorder = recorder,
        .server.is_embedded = true,
        .sample_interval_ns = 3600 * MONO_NS_PER_S,
    };
    memset(&record, 0, sizeof record);
    atomic_store(&table_now, 10);
    atomic_store(&table_asked, -1);
    struct sampler *sampler = start_with(&config);
    sampler_begin_work(sampler, mono_now_ns());
    while (atomic_load(&table_asked) < 0) {
        sleep_ms(1);
    }
    atomic_store(&table_now, 20);
    sampler_wake(sampler, SAMPLER_WORK_DONE);
    sleep_ms(50);
    struct resource_summary summary;
    stop(sampler, &summary);
    assert_int_equal(record.sample_count, 1);
    assert_int_equal(record.samples[0].table_bytes, 20);
    recorder_destroy(recorder);
}

static int64_t cpu_ns_of(pid_t pid)
{
    struct timespec time;
    clockid_t clock;
    assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
    assert_int_equal(clock_gettime(clock, &time), 0);
    return time.tv_sec * MONO_NS_PER_S + time.tv_nsec;
}

static void wait_for_cpu(pid_t pid, int64_t ns)
{
    const int64_t end_ns = cpu_ns_of(pid) + ns;
    while (cpu_ns_of(pid) < end_ns) {
        sleep_ms(5);
    }
}

/* The server is always busy, but its CPU time before and after the work does not count. */
TEST(the_servers_cpu_time_is_that_of_the_work)
{
    const pid_t server = fork();
    assert_true(server >= 0);
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
        }
    }
    struct recorder *recorder = recorder_create(8, 1, OPERATIONS, 1);
    assert_non_null(recorder);
    const struct sampler_config config = {
        .recorder = recorder, .server.pid = server, .sample_interval_ns = 3600 * MONO_NS_PER_S};
    struct sampler *sampler = start_with(&config);
    wait_for_cpu(server, 200 * MONO_NS_PER_MS);
    const int64_t before_ns = cpu_ns_of(server);
    sampler_begin_work(sampler, mono_now_ns());
    sleep_ms(100); /* so that the server's time is read again */
    wait_for_cpu(server, 200 * MONO_NS_PER_MS);
    sampler_wake(sampler, SAMPLER_WORK_DONE);
    sleep_ms(100);
    const int64_t after_ns = cpu_ns_of(server);
    wait_for_cpu(server, 200 * MONO_NS_PER_MS);
    struct resource_summary summary;
    stop(sampler, &summary);
    assert_true(summary.server_cpu_s >= 0.19);
    assert_true(summary.mean_cpu.server > 0); /* the mean of the work is known, without a sample */
    assert_true(summary.mean_cpu.server <= 100);
    assert_true(summary.server_cpu_s <= (double)(after_ns - before_ns) / MONO_NS_PER_S + 0.02);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    recorder_destroy(recorder);
}

TEST(memory_is_read_between_samples_on_request)
{
    const size_t bytes = 64 * MIB;
    struct recorder *recorder = recorder_create(8, 1, OPERATIONS, 1);
    assert_non_null(recorder);
    struct sampler *sampler = start(recorder, 3600 * MONO_NS_PER_S, true);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    assert_true(memory != MAP_FAILED);
    memset(memory, 1, bytes);
    const size_t seen = atomic_load(&record.interval_count);
    sampler_wake(sampler, SAMPLER_READ);
    /* after two more intervals the sampler has also served the request */
    wait_for_intervals(seen + 2);
    munmap(memory, bytes);
    struct resource_summary summary;
    stop(sampler, &summary);
    assert_int_equal(record.sample_count, 1);
    assert_true(summary.max_server_memory_bytes >= (int64_t)bytes);
    assert_true(record.samples[0].server_memory_bytes >= (int64_t)bytes);
    assert_true(record.samples[0].client_memory_bytes >= bytes);
    recorder_destroy(recorder);
}

static void *request_readings(void *argument)
{
    for (unsigned i = 0; i < 200; i++) {
        sampler_wake(argument, SAMPLER_READ);
    }
    return NULL;
}

TEST(any_thread_may_request_a_reading)
{
    struct recorder *recorder = recorder_create(8, 1, OPERATIONS, 1);
    assert_non_null(recorder);
    struct sampler *sampler = start(recorder, 20 * MONO_NS_PER_MS, true);
    pthread_t threads[POKERS];
    for (size_t i = 0; i < POKERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, request_readings, sampler), 0);
    }
    for (size_t i = 0; i < POKERS; i++) {
        pthread_join(threads[i], NULL);
    }
    struct resource_summary summary;
    stop(sampler, &summary);
    check_entries(&summary);
    sampler_wake(NULL, SAMPLER_READ);
    recorder_destroy(recorder);
}

/* A share of CPU is the process's CPU time divided by the time of all CPUs. */
TEST(all_cpus_together_are_the_whole)
{
    struct recorder *recorder = recorder_create(8, 1, OPERATIONS, 1);
    assert_non_null(recorder);
    struct sampler *sampler = start(recorder, 3600 * MONO_NS_PER_S, true);
    const int64_t start_ns = mono_now_ns();
    burn(200 * MONO_NS_PER_MS);
    const double least_s = (double)(mono_now_ns() - start_ns) / MONO_NS_PER_S;
    struct resource_summary summary;
    stop(sampler, &summary);
    assert_true(summary.mean_cpu.client > 0);
    assert_true(summary.mean_cpu.client <=
                1.001 * 100 * summary.client_cpu_s / (least_s * summary.cpus));
    recorder_destroy(recorder);
}

TEST(other_programs_have_the_rest)
{
    const struct cpu_shares known = {90, 50, 20}, idle_server = {90, 0, 20},
                            no_server = {90, -1, 20}, nothing = {-1, 50, 20};
    assert_true(cpu_others(&known, true) == 20);
    assert_true(cpu_others(&known, false) == 70);
    assert_true(cpu_others(&idle_server, true) == 70);
    /* without the server's share, other programs cannot be distinguished from the server */
    assert_true(cpu_others(&no_server, true) == 0);
    assert_true(cpu_others(&no_server, false) == 70);
    assert_true(cpu_others(&nothing, true) == -1);
}

TEST(without_a_sampler_all_is_unknown)
{
    struct resource_summary summary;
    memset(&summary, 7, sizeof(summary));
    sampler_end(NULL, &summary);
    assert_true(summary.server_cpu_s < 0);
    assert_true(summary.max_cpu.host < 0);
    assert_true(summary.max_cpu.server < 0);
    assert_true(summary.max_cpu.client < 0);
    assert_true(summary.mean_cpu.host < 0);
    assert_true(summary.mean_cpu.server < 0);
    assert_true(summary.mean_cpu.client < 0);
    assert_true(summary.max_server_memory_bytes < 0);
    assert_int_equal(summary.memory_source, MEMORY_UNKNOWN);
    assert_int_equal(summary.server_pid, 0);
    assert_string_equal(summary.server_note, "");
    assert_true(summary.cpus > 0);
}

TEST(sources_have_names)
{
    assert_string_equal(memory_source_names[MEMORY_UNKNOWN], "unknown");
    assert_string_equal(memory_source_names[MEMORY_SELF], "self");
    assert_string_equal(memory_source_names[MEMORY_PSS], "pss");
    assert_string_equal(memory_source_names[MEMORY_RSS], "rss");
    assert_string_equal(memory_source_names[MEMORY_CGROUP], "cgroup");
    for (int i = MEMORY_UNKNOWN; i <= MEMORY_CGROUP; i++) {
        assert_true(strlen(memory_source_texts[(enum memory_source)i]) > 0);
    }
}
