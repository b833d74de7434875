#include "commands/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/process.h"
#include "base/text.h"
#include "commands/command.h"
#include "plan/facts.h"
#include "report/files.h"
#include "report/formats.h"

/* How long a rank waits until rank 0 has merged its result. After this time the rank writes files
 * of its own. */
#define MERGE_NS (200 * MONO_NS_PER_MS)

/* How long rank 0 accepts rows of the I/O trace from other ranks after a signal. It is short,
 * because mpirun will soon kill rank 0. */
#define ROWS_NS (300 * MONO_NS_PER_MS)

/* Judges the result of this rank alone. */
static void judge_rank(const struct job *job, struct result *result)
{
    const struct plan *plan = job->plan;
    struct judge_context context = job_judge_context(job);
    const uint64_t *counters = result->totals.counters;
    const uint64_t missing = result->batches.not_sent + counters[RECORDER_SKIPPED] +
                             counters[RECORDER_TRANSACTIONS_NOT_BEGUN];
    if (missing == 0 && result->stop_reason == STOP_DURATION) {
        /* This rank sent all rows that were due, so a rate below --rate is not a fault of this
         * rank: other ranks may have had more rows to send. */
        context.rate_rows_per_s = 0;
    }
    const double share = (double)plan_share(plan).count / plan->sessions;
    context.rate_rows_per_s *= share;
    context.arrivals_per_s *= share;
    result_judge(result, &context);
    if (job->search != NULL && result->verdict == VERDICT_DEGRADED) {
        result->verdict = VERDICT_VALID; /* a search expects sessions to fail */
        result->verdict_reason[0] = '\0';
    }
}

/* Describes this rank's part of the result, with a verdict that concerns only this rank. */
static struct rank_result describe_rank(struct job *job)
{
    const struct result *result = job->result;
    struct result judged = *result;
    judge_rank(job, &judged);
    const struct facts *facts = job->plan->facts;
    const struct resource_summary *resources = &result->resources;
    /* all ranks have the same --server-pid, but the process is on only one machine */
    const bool is_named = facts->server_pid != 0 || facts->server_cgroup != NULL;
    const bool is_found = resources->server_pid != 0 || resources->memory_source == MEMORY_CGROUP;
    const bool is_elsewhere = job_select_server(job).is_remote || (is_named && !is_found);
    struct rank_result part = {.is_known = true,
                               .gate_late_ns = result->gate_late_ns,
                               .hosts_here = is_elsewhere ? 0 : (unsigned)MAX(job->place_count, 1),
                               .resources = result->resources,
                               .verdict = judged.verdict};
    memcpy(part.verdict_reason, judged.verdict_reason, sizeof part.verdict_reason);
    return part;
}

/* Packs the result of this rank into `bytes`. Returns false if memory runs out. */
static bool pack(struct job *job, struct buffer *bytes)
{
    job_note_connection(job, job->result);
    job->result->table_bytes_before = job->result->table_bytes_after = -1;
    /* a search finds the limits of each level instead */
    if (job->search == NULL) {
        job_find_limits(job);
    }
    const struct rank_result part = describe_rank(job);
    return rank_exchange_pack(bytes, &job->exchange, job->result, job->recorder, &part);
}

/* Adds the I/O trace of another rank to the file of rank 0. Returns 0, or an errno if rows are
 * missing. */
static int take_rows(struct job *job, unsigned rank, int64_t limit_ns)
{
    bool is_first = true, is_cut = false;
    size_t size;
    char *lines = NULL;
    while (!is_cut && (lines = ranks_take_lines(job->ranks, rank, &size, &is_cut)) != NULL) {
        run_files_add_io(job->files, lines, size, is_first);
        free(lines);
        is_first = false;
        is_cut = interrupt_requested() && mono_now_ns() > limit_ns;
    }
    return is_cut ? ETIMEDOUT : job->result->ranks[rank].trace->csv_errno;
}

/* Joins the I/O traces of all machines into one file, on rank 0. */
static enum exit_code join_traces(struct job *job, struct error *error)
{
    struct result *result = job->result;
    const int64_t limit_ns = mono_now_ns() + ROWS_NS;
    const char *machine = NULL;
    int number = 0;
    for (unsigned i = 1; i < result->rank_count; i++) {
        const struct trace_sum *trace = result->ranks[i].trace;
        const int failed =
            trace == NULL || trace->level == IO_TRACE_OFF ? 0 : take_rows(job, i, limit_ns);
        machine = failed == 0 ? machine : result->ranks[i].machine;
        number = failed == 0 ? number : failed;
    }
    if (number != 0) {
        run_files_mark_short(job->files, FILE_IO, number, machine);
    }
    if (job->plan->io_trace != IO_TRACE_OFF && result->trace == NULL) {
        result->trace = calloc(1, sizeof *result->trace);
        if (result->trace == NULL) {
            error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the I/O trace's figures");
            return EXIT_CODE_CLIENT_LIMIT;
        }
        snprintf(
            result->trace->note, sizeof result->trace->note, "%s",
            job->trace_note[0] != '\0'
                ? job->trace_note
                : "the rank that traced I/O was lost: its trace is in the folder of that rank");
    }
    return EXIT_CODE_OK;
}

/* Merges the results of all ranks, on rank 0. Afterwards the job's result and files describe all
 * ranks. */
static enum exit_code join_ranks(struct job *job, struct error *error)
{
    struct buffer bytes = {0};
    struct rank_exchange_whole whole = {.result = NULL};
    enum exit_code code = EXIT_CODE_CLIENT_LIMIT;
    if (!pack(job, &bytes)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the result of this rank");
        buffer_fini(&bytes);
    } else {
        code = rank_exchange_merge(job->ranks, job->plan, job->result, &bytes, &whole, error);
    }
    if (code == EXIT_CODE_OK) {
        whole.result->waits = job->result->waits; /* only rank 0 polls the waits */
        job->result->waits = NULL;
        memcpy(whole.result->waits_note, job->result->waits_note, sizeof whole.result->waits_note);
        result_free(job->result);
        job->result = whole.result;
        code = join_traces(job, error);
        if (job->search != NULL) {
            job->search->elapsed_ns = whole.result->elapsed_ns;
        }
        if (job->search != NULL && job->search->end == SEARCH_INTERRUPTED &&
            ranks_may_signal(job->ranks)) {
            job->search->end = SEARCH_RANK_LOST;
        }
        run_files_join(job->files, whole.merge, whole.result);
    } else {
        result_free(whole.result);
    }
    merge_destroy(whole.merge);
    return code;
}

/* Ends a rank other than 0. Reports an error only if rank 0 is lost, because otherwise rank 0
 * reports it. */
static enum exit_code leave(const struct job *job)
{
    struct error error = {.kind = ERROR_NONE};
    const enum exit_code code = ranks_report_loss(job->ranks, &error);
    return error_is_set(&error) ? command_fail(code, &error) : EXIT_CODE_OK;
}

/* Runs a rank other than 0: from receiving the plan until rank 0 has merged the result of this
 * rank. */
static enum exit_code follow(struct job *job, enum command command)
{
    struct error error = {.kind = ERROR_NONE};
    struct buffer bytes = {0};
    struct plan_lead lead;
    enum exit_code code = rank_exchange_receive_plan(&job->exchange, job->ranks, &lead, &error);
    if (code == EXIT_CODE_OK) {
        code = plan_follow(&job->given, &job->facts, command, &lead, &error);
    }
    if (code == EXIT_CODE_OK && job->search == NULL) {
        code = ranks_divide_sessions(job->ranks, job->plan, &job->facts, &error);
    }
    if (code != EXIT_CODE_OK) {
        ranks_agree(job->ranks, code, NULL, &error);
        return leave(job);
    }
    code = job_begin(job, &error);
    if (code != EXIT_CODE_OK) {
        return leave(job);
    }
    code = job_load(job, &error);
    if (code != EXIT_CODE_OK) { /* rank 0 will find this rank lost */
        return error_is_set(&error)
                   ? command_say(code, "machine %.60s, rank %u: %s",
                                 ranks_machine(job->ranks, ranks_number(job->ranks)),
                                 ranks_number(job->ranks), error.text)
                   : leave(job);
    }
    const int rows = job->tracer == NULL ? -1 : run_files_read_io(job->files);
    ranks_offer_lines(job->ranks, rows);
    if (!pack(job, &bytes)) {
        /* send an empty result: rank 0 refuses it, but would wait for a missing result */
        buffer_fini(&bytes);
    }
    ranks_give_result(job->ranks, &bytes);
    bool is_merged = ranks_await_merge(job->ranks, MERGE_NS);
    /* rank 0 needs more time, or is lost: write the result to this rank's own files */
    if (!is_merged) {
        judge_rank(job, job->result);
        if (job->search != NULL) {
            const struct judge_context context = job_judge_context(job);
            search_judge(job->search, job->result, &context);
        }
        run_files_finish(job->files, job->result);
        job_add_file_problems(job);
        job_update_outcome(job, interrupt_requested(), "interrupted after the sessions had ended");
        is_merged = ranks_await_merge(job->ranks, 0);
    }
    if (rows >= 0) {
        close(rows);
    }
    if (is_merged) {
        job->has_begun = false; /* rank 0 has the result: remove this rank's files */
        return EXIT_CODE_OK;
    }
    return command_say(
        EXIT_CODE_SHORT,
        "rank %u on %.60s: rank 0 did not accept the result of this rank, whose files stay "
        "in %.200s",
        ranks_number(job->ranks), ranks_machine(job->ranks, ranks_number(job->ranks)),
        job->plan->out_folder);
}

void job_fail_junit(FILE **junit, const struct plan *plan, enum exit_code code,
                    const struct error *error)
{
    if (*junit != NULL) {
        /* ignore an error of this write, because the command has already failed */
        (void)report_close_file(junit, junit_write_error(*junit, plan, code, error->text));
    }
}

enum exit_code job_finish(struct job *job, enum exit_code code, struct error *error)
{
    code = code == EXIT_CODE_OK ? job_load(job, error) : code;
    if (code == EXIT_CODE_OK && job->ranks != NULL) {
        code = join_ranks(job, error);
    }
    if (code == EXIT_CODE_OK) {
        return job_report(job);
    }
    job_fail_junit(&job->junit, job->plan, code, error);
    return command_refuse(job->plan->is_json, code, error);
}

enum exit_code job_do(struct job *job, enum command command, int argc, char **argv,
                      enum exit_code (*lead)(struct job *job, int argc, char **argv))
{
    struct ranks *ranks;
    struct error error = {.kind = ERROR_NONE};
    enum exit_code code = ranks_begin(&ranks, &error);
    bool is_merged = false;
    job->ranks = ranks;
    job->plan = &job->given;
    if (code != EXIT_CODE_OK) {
        code = error.text[0] == '\0' ? EXIT_CODE_OK : command_fail(code, &error);
    } else {
        const bool follows = ranks_follows(ranks);
        code = follows ? follow(job, command) : lead(job, argc, argv);
        is_merged = !follows && job->is_joined;
        job_release(job);
    }
    ranks_end(ranks, is_merged);
    return code;
}
