/* The turns of the sampler, taken by this thread with readings of a file that imitates /proc/stat.
 * The run has begun 100 s ago, so no moment depends on how fast the test runs. */
#include "unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/ramp.h"
#include "measure/levels.h"
#include "measure/sampler.h"

static char path[] = "/tmp/append-stat-XXXXXX";
static struct recorder *recorder;
static struct sampler *sampler;
static struct sampler_config config;
static struct sampler_turn turn;

/* Writes the ticks of four CPUs. */
static void write_stat(int busy, int idle, int iowait)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "cpu %d 0 0 %d %d 0 0 0\ncpu0 1\ncpu1 1\ncpu2 1\ncpu3 1\nintr 7\n", busy, idle,
            iowait);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/append-stat-XXXXXX");
    const int file = mkstemp(path);
    recorder = recorder_create(3, 1, OPERATIONS, 1);
    sampler = NULL;
    config = (struct sampler_config){.recorder = recorder,
                                     .run_start_ns = mono_now_ns() - 100 * MONO_NS_PER_S,
                                     .sample_interval_ns = 3600 * MONO_NS_PER_S,
                                     .server = {.is_remote = true},
                                     .rows_before = 1000,
                                     .stat_path = path};
    return file < 0 || close(file) != 0 || recorder == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    if (sampler != NULL) {
        struct resource_summary summary;
        sampler_end(sampler, &summary);
    }
    recorder_destroy(recorder);
    return unlink(path);
}

static void start(void)
{
    struct error error;
    error_clear(&error);
    write_stat(100, 1000, 10);
    sampler = sampler_start(&config, &error);
    assert_non_null(sampler);
}

static struct sample read_sample(void)
{
    struct sample sample;
    usleep(1000); /* a sample needs some length */
    assert_true(sampler_read(sampler, &sample));
    return sample;
}

/* Wakes the sampler for an event, and takes the turn. */
static void take_turn(enum sampler_event event)
{
    sampler_wake(sampler, event);
    sampler_wait(sampler, &turn);
}

TEST_BETWEEN(test_samples, set_up, tear_down)
{
    struct resource_summary summary;
    start();
    recorder_add(recorder, 0, RECORDER_CONNECTIONS_OPENED, 5);
    recorder_add(recorder, 1, RECORDER_CONNECTIONS_CLOSED, 3);
    recorder_add(recorder, 1, RECORDER_ROWS_ACKNOWLEDGED, 7);
    write_stat(130, 1063, 17);
    const struct sample first = read_sample();
    assert_true(first.start_ns >= 100 * MONO_NS_PER_S);
    assert_true(first.end_ns > first.start_ns);
    assert_true(first.end_ns <= mono_now_ns() - config.run_start_ns);
    assert_true(first.cpu.host == 30);
    assert_true(first.cpu.server == -1);
    assert_true(first.cpu.client >= 0 && first.cpu.client <= 26); /* at most one of four CPUs */
    assert_true(io_figure(&first.io, IO_FIGURE_IOWAIT_PERCENT) == 7);
    assert_int_equal(first.table_bytes, -1);
    assert_int_equal(first.rows_held, 1007);
    assert_int_equal(first.sessions_alive, 2);
    assert_int_equal(first.server_memory_bytes, -1);
    assert_int_equal(first.server_processes, 0);
    assert_true(first.client_memory_bytes > 0);
    recorder_add(recorder, 1, RECORDER_CONNECTIONS_CLOSED, 1);
    write_stat(210, 1083, 17);
    const struct sample second = read_sample();
    assert_int_equal(second.start_ns, first.end_ns);
    assert_true(second.cpu.host == 80);
    assert_int_equal(second.sessions_alive, 1);
    write_stat(210, 1083, 12); /* the kernel sometimes lets iowait fall */
    const struct sample third = read_sample();
    assert_true(third.cpu.host == -1);
    sampler_summarise(sampler, &summary);
    assert_int_equal(summary.cpus, 4);
    /* short samples set the maxima only because no sample is longer */
    if (third.end_ns - first.start_ns < SAMPLER_SHORT_NS) {
        assert_true(summary.max_cpu.host == 80);
        assert_true(summary.cpu_at_max.host == 80);
    }
    assert_true(summary.max_cpu.server == -1 && summary.mean_cpu.server == -1);
    assert_true(fabs(summary.mean_cpu.host - 100 * 110.0 / 195) < 1e-9);
    assert_true(summary.server_cpu_s == -1);
    assert_int_equal(summary.max_server_memory_bytes, -1);
    assert_int_equal(summary.max_server_processes, 0);
    assert_int_equal(summary.memory_source, MEMORY_UNKNOWN);
    assert_int_equal(summary.suspended_ns, 0);
    assert_true(summary.client_cpu_s > 0 && summary.client_cpu_s < 60);
    assert_true(summary.bare_client_memory_bytes > 0);
    assert_true(summary.max_client_memory_bytes >= first.client_memory_bytes);
    assert_string_equal(summary.io_of.note, "the server is not on this machine");
    assert_int_equal(sampler_run_start_ns(sampler), config.run_start_ns);
}

/* A file without CPUs, and an embedded database, whose memory is that of this program. */
TEST_BETWEEN(test_an_embedded_database, set_up, tear_down)
{
    struct resource_summary summary;
    config.server = (struct server_selector){.is_embedded = true};
    config.run_start_ns = 0;
    start();
    assert_true(sampler_run_start_ns(sampler) <= mono_now_ns());
    assert_true(sampler_run_start_ns(sampler) > config.run_start_ns);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    const struct sample sample = read_sample();
    assert_int_equal(sample.start_ns, 0); /* the first readings were before the run */
    assert_true(sample.cpu.host == -1);
    assert_true(io_figure(&sample.io, IO_FIGURE_IOWAIT_PERCENT) == -1);
    /* the server's and the client's memory are read one after the other, and may grow in between */
    assert_true(llabs(sample.server_memory_bytes - (int64_t)sample.client_memory_bytes) < 1 << 20);
    struct level level;
    sampler_begin_hold(sampler, 0);
    const struct sample second = read_sample();
    sampler_end_hold(sampler, &level);
    assert_int_equal(level.server_memory_bytes, second.server_memory_bytes);
    assert_int_equal(level.client_memory_bytes, second.client_memory_bytes);
    sampler_summarise(sampler, &summary);
    assert_int_equal(summary.memory_source, MEMORY_SELF);
    assert_int_equal(summary.max_server_memory_bytes, summary.max_client_memory_bytes);
    assert_int_equal(summary.io.counts[IO_SERVER_READS], -1); /* without files */
}

/* Memory and sessions are also read between two samples. A sample has the highest reading. */
TEST_BETWEEN(test_readings_between_samples, set_up, tear_down)
{
    struct resource_summary summary;
    char folder[] = "/tmp";
    config.server = (struct server_selector){.is_embedded = true};
    /* with a folder of files, this program's I/O counts as the database's */
    config.directory = folder;
    start();
    recorder_add(recorder, 0, RECORDER_CONNECTIONS_OPENED, 5);
    take_turn(SAMPLER_READ);
    recorder_add(recorder, 0, RECORDER_CONNECTIONS_CLOSED, 4);
    assert_int_equal(read_sample().sessions_alive, 5);
    assert_int_equal(read_sample().sessions_alive, 1);
    sampler_summarise(sampler, &summary);
    assert_true(summary.io.counts[IO_SERVER_READS] >= 0);
    assert_string_equal(summary.io_of.directory, "/tmp");
}

/* Nothing listens on the server's port, so the reads and writes of its processes are unknown. */
TEST_BETWEEN(test_an_unknown_server, set_up, tear_down)
{
    struct resource_summary summary;
    config.server = (struct server_selector){.port = 1};
    config.directory = "/tmp";
    start();
    read_sample();
    sampler_summarise(sampler, &summary);
    assert_int_equal(summary.server_pid, 0);
    assert_int_equal(summary.io.counts[IO_SERVER_READS], -1);
    assert_true(summary.server_note[0] != '\0');
    if (summary.io_of.device[0] != '\0' && access("/proc/pressure/io", R_OK) == 0) {
        assert_string_equal(summary.io_of.note,
                            "the reads and writes of the server's processes are unknown: the "
                            "processes were not found, had ended, or belong to another user (run "
                            "as root)");
    } else {
        assert_true(summary.io_of.note[0] != '\0');
    }
}

/* The figures of a hold are means of its samples, weighted by their lengths. */
TEST_BETWEEN(test_a_hold, set_up, tear_down)
{
    struct level level;
    start();
    sampler_begin_hold(sampler, INT64_MAX);
    read_sample();
    assert_false(sampler_hold_has_sample(sampler));
    sampler_end_hold(sampler, &level);
    assert_true(level.cpu.host == -1 && level.cpu.server == -1 && level.cpu.client == -1);
    assert_int_equal(level.server_memory_bytes, -1);
    assert_int_equal(level.client_memory_bytes, -1);
    const struct sample before = read_sample();
    sampler_begin_hold(sampler, before.end_ns);
    write_stat(130, 1070, 10);
    const struct sample first = read_sample();
    assert_true(sampler_hold_has_sample(sampler));
    write_stat(210, 1090, 10);
    const struct sample second = read_sample();
    write_stat(210, 1090, 10); /* nothing to divide by */
    const struct sample third = read_sample();
    assert_true(third.cpu.host == -1);
    sampler_end_hold(sampler, &level);
    const double a = (double)(first.end_ns - first.start_ns);
    const double b = (double)(second.end_ns - second.start_ns);
    const double c = (double)(third.end_ns - third.start_ns);
    assert_true(fabs(level.cpu.host - (30 * a + 80 * b) / (a + b)) < 1e-9);
    const double client = first.cpu.client * a + second.cpu.client * b + third.cpu.client * c;
    assert_true(fabs(level.cpu.client - client / (a + b + c)) < 1e-9);
    assert_true(level.cpu.server == -1);
    assert_int_equal(level.server_memory_bytes, -1);
    assert_true(level.client_memory_bytes >= (int64_t)first.client_memory_bytes);
    write_stat(310, 1090, 10);
    read_sample(); /* after the hold */
    sampler_end_hold(sampler, &level);
    assert_true(fabs(level.cpu.host - (30 * a + 80 * b) / (a + b)) < 1e-9);
    sampler_begin_hold(NULL, 0);
    assert_true(sampler_hold_has_sample(NULL));
    sampler_end_hold(NULL, &level);
}

TEST_BETWEEN(test_events, set_up, tear_down)
{
    start();
    take_turn(SAMPLER_READ);
    assert_false(turn.has_begun || turn.is_last || turn.has_stage);
    assert_false(turn.is_sample_due);
    assert_int_equal(turn.work_start_ns, -1);
    recorder_add(recorder, 0, RECORDER_ROWS_ACKNOWLEDGED, 7);
    sampler_begin_work(sampler, mono_now_ns());
    sampler_wait(sampler, &turn);
    assert_true(turn.has_begun && !turn.is_last);
    assert_true(turn.work_start_ns >= 100 * MONO_NS_PER_S);
    assert_true(turn.work_start_ns <= mono_now_ns() - config.run_start_ns);
    assert_false(turn.has_stage);
    const int64_t start_ns = turn.work_start_ns;
    take_turn(SAMPLER_WORK_DONE);
    assert_false(turn.has_begun || turn.is_last);
    assert_int_equal(turn.work_start_ns, start_ns);
    recorder_add(recorder, 0, RECORDER_CONNECTIONS_OPENED, 2);
    take_turn(SAMPLER_STOP);
    assert_true(turn.is_last && !turn.has_begun && turn.is_sample_due && turn.has_interval);
    /* the interval is the run's first unless this thread was stopped for a second */
    assert_true(turn.interval.start_ns == 0 || turn.interval.start_ns > 100 * MONO_NS_PER_S);
    assert_true(turn.interval.end_ns >= 100 * MONO_NS_PER_S);
    assert_int_equal(turn.interval.rows_held, 1007);
    assert_int_equal(turn.interval.sessions_alive, 2);
    assert_int_equal(turn.interval.stage, 0);
    assert_false(turn.interval.is_stage);
    assert_int_equal(turn.total->counters[RECORDER_ROWS_ACKNOWLEDGED], 7);
    assert_int_equal(read_sample().sessions_alive, 2);
    sampler_begin_work(sampler, mono_now_ns());
    take_turn(SAMPLER_STOP); /* the run ended before its work began */
    assert_true(turn.is_last && !turn.has_begun);
    sampler_begin_work(NULL, 0);
    sampler_wake(NULL, SAMPLER_STOP);
}

/* Makes three stages, of which only the ones given here can end during the test. */
static struct ramp make_stages(int64_t first_s, int64_t second_s)
{
    return (struct ramp){.count = 3,
                         .stages = {{first_s * MONO_NS_PER_S, 10},
                                    {second_s * MONO_NS_PER_S, 20},
                                    {1000 * MONO_NS_PER_S, 30}}};
}

TEST_BETWEEN(test_stages, set_up, tear_down)
{
    const struct ramp stages = make_stages(2, 1000);
    config.stages = &stages;
    start();
    const int64_t go_ns = config.run_start_ns + 90 * MONO_NS_PER_S;
    take_turn(SAMPLER_READ);
    assert_false(turn.has_stage); /* before the work */
    recorder_add(recorder, 0, RECORDER_ROWS_ACKNOWLEDGED, 7);
    sampler_begin_work(sampler, go_ns);
    sampler_wait(sampler, &turn); /* the first stage ended 8 s ago */
    assert_true(turn.has_stage);
    assert_true(turn.stage.is_stage);
    assert_int_equal(turn.stage.stage, 1);
    assert_int_equal(turn.stage.target, 10);
    assert_int_equal(turn.stage.start_ns, 90 * MONO_NS_PER_S);
    assert_true(turn.stage.end_ns >= 100 * MONO_NS_PER_S);
    assert_int_equal(turn.stage.rows_held, 1007);
    assert_int_equal(turn.stage.counters[RECORDER_ROWS_ACKNOWLEDGED], 7);
    const int64_t end_ns = turn.stage.end_ns;
    recorder_add(recorder, 0, RECORDER_ROWS_ACKNOWLEDGED, 5);
    take_turn(SAMPLER_READ);
    assert_false(turn.has_stage); /* the second stage goes on */
    /* the second stage ends with the sessions of the last interval in which sessions worked */
    recorder_add(recorder, 0, RECORDER_CONNECTIONS_OPENED, 2);
    recorder_set_working(recorder, 1, 1);
    do {
        sampler_wait(sampler, &turn);
    } while (!turn.has_interval);
    assert_int_equal(turn.interval.stage, 2);
    recorder_add(recorder, 0, RECORDER_CONNECTIONS_CLOSED, 2);
    recorder_set_working(recorder, 1, 0);
    take_turn(SAMPLER_WORK_DONE);
    assert_true(turn.has_stage);
    assert_int_equal(turn.stage.sessions_alive, 2);
    assert_int_equal(turn.stage.sessions_working, 1);
    assert_int_equal(turn.stage.stage, 2);
    assert_int_equal(turn.stage.target, 20);
    assert_int_equal(turn.stage.start_ns, end_ns);
    assert_int_equal(turn.stage.rows_held, 1012);
    assert_int_equal(turn.stage.counters[RECORDER_ROWS_ACKNOWLEDGED], 5);
    take_turn(SAMPLER_STOP);
    assert_false(turn.has_stage);
    assert_int_equal(turn.interval.stage, 2);
}

/* Stages that ended before the sampler saw them are passed over. */
TEST_BETWEEN(test_stages_that_were_missed, set_up, tear_down)
{
    const struct ramp stages = make_stages(1, 2);
    config.stages = &stages;
    start();
    sampler_begin_work(sampler, config.run_start_ns + 90 * MONO_NS_PER_S);
    sampler_wait(sampler, &turn);
    assert_true(turn.has_stage);
    assert_int_equal(turn.stage.stage, 1);
    usleep(1000);
    take_turn(SAMPLER_STOP);
    assert_true(turn.has_stage && turn.is_last);
    assert_int_equal(turn.stage.stage, 3);
    assert_int_equal(turn.stage.target, 30);
}

/* The first stage begins after the warm-up. */
TEST_BETWEEN(test_stages_with_a_warm_up, set_up, tear_down)
{
    const struct ramp stages = make_stages(2, 1000);
    config.stages = &stages;
    config.warm_up_ns = MONO_NS_PER_S;
    start();
    sampler_begin_work(sampler, config.run_start_ns + 90 * MONO_NS_PER_S);
    sampler_wait(sampler, &turn);
    assert_true(turn.has_stage);
    assert_int_equal(turn.stage.start_ns, 91 * MONO_NS_PER_S);
    take_turn(SAMPLER_STOP);
    assert_int_equal(turn.stage.stage, 2);
    sampler_end(sampler, &(struct resource_summary){.cpus = 0});
    config.warm_up_ns = 1000 * MONO_NS_PER_S; /* longer than the stage */
    start();
    sampler_begin_work(sampler, config.run_start_ns + 90 * MONO_NS_PER_S);
    sampler_wait(sampler, &turn);
    assert_false(turn.has_stage);
}

/* The busiest sample is the one with the largest share of the host or, among equals, of the
 * server. */
TEST(test_maxima)
{
    static const struct {
        struct cpu_shares shares, max, at_max;
    } steps[] = {
        {{50, 20, 10}, {50, 20, 10}, {50, 20, 10}},
        {{49, 40, 5}, {50, 40, 10}, {50, 20, 10}},
        {{49.6, 30, 5}, {50, 40, 10}, {49.6, 30, 5}},
        {{50.05, 29, 5}, {50.05, 40, 10}, {49.6, 30, 5}},
        {{50.2, 29, 5}, {50.2, 40, 10}, {50.2, 29, 5}},
        {{51.5, -1, 60}, {51.5, 40, 60}, {51.5, -1, 60}},
        {{51.4, 0, 7}, {51.5, 40, 60}, {51.4, 0, 7}},
        {{-1, 90, 1}, {51.5, 90, 60}, {51.4, 0, 7}},
    };
    struct cpu_shares max = {-1, -1, -1}, at_max = {-1, -1, -1};
    EACH_CASE (i, steps, "step %zu", i) {
        cpu_shares_raise(&max, &at_max, &steps[i].shares);
        assert_true(max.host == steps[i].max.host && max.server == steps[i].max.server &&
                    max.client == steps[i].max.client);
        assert_true(at_max.host == steps[i].at_max.host &&
                    at_max.server == steps[i].at_max.server &&
                    at_max.client == steps[i].at_max.client);
    }
}
