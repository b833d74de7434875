#include "cli/job.h"

#include <unistd.h>

#include "cli/preflight.h"
#include "load/verify_rows.h"
#include "plan/target.h"

enum {
    SHARDS_MIN = 8
};

enum exit_code job_begin(struct job *job, struct error *error)
{
    enum exit_code code = preflight_client(&job->plan, error);
    if (code == EXIT_CODE_OK) {
        code = container_settle(&job->container, &job->plan, error);
    }
    return code == EXIT_CODE_OK ? client_library_begin(&job->library, &job->plan, error) : code;
}

enum exit_code job_set_up(struct job *job, struct error *error)
{
    enum exit_code code = setup_prepare(&job->setup, &job->plan, error);
    if (code == EXIT_CODE_OK) {
        code = preflight_server(&job->plan, &job->setup, error);
    }
    if (code == EXIT_CODE_OK && job->plan.verify_mode == VERIFY_ROWS) {
        code = verify_rows_prepare(&job->setup, &job->plan, error);
    }
    if (code != EXIT_CODE_OK) {
        return code;
    }
    target_show_connection(&job->plan, &job->setup.connection);
    const enum status status =
        generator_create(&job->generator, &job->plan, &job->setup.table, error);
    if (status != STATUS_OK) {
        return status == STATUS_REJECTED ? EXIT_CODE_USAGE : EXIT_CODE_CLIENT_LIMIT;
    }
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    job->recorder = recorder_create(cpus > SHARDS_MIN ? (unsigned)cpus : SHARDS_MIN);
    if (job->recorder == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the figures of the run");
        return EXIT_CODE_CLIENT_LIMIT;
    }
    return EXIT_CODE_OK;
}

struct sampler *job_start_sampler(const struct job *job, const struct sampler_sink *sink,
                                  struct error *error)
{
    const struct plan *plan = &job->plan;
    const struct connection_info *connection = &job->setup.connection;
    const struct sampler_config config = {
        .sample_interval_ns = plan->sample_interval_ns,
        .server = {.is_embedded = connection->is_embedded,
                   .is_remote = job->setup.is_remote,
                   .port = connection->port,
                   .socket = connection->host[0] == '/' ? connection->host : NULL,
                   .pid = plan->server_pid,
                   .cgroup = plan->server_cgroup},
        .recorder = job->recorder,
        .sink = *sink,
    };
    return sampler_start(&config, error);
}

void job_release(struct job *job)
{
    recorder_destroy(job->recorder);
    generator_destroy(job->generator);
    setup_fini(&job->setup);
    client_library_end(&job->library);
    plan_fini(&job->plan);
}
