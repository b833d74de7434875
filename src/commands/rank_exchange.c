#include "commands/rank_exchange.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"
#include "plan/facts.h"
#include "plan/options.h"

enum {
    /* number of texts before the words of the command line; see rank_exchange_send_plan */
    FIXED_TEXTS = 7
};

void rank_exchange_fini(struct rank_exchange *exchange)
{
    buffer_fini(&exchange->text);
    buffer_fini(&exchange->intervals);
    buffer_fini(&exchange->samples);
    free(exchange->words);
    free(exchange->out);
    if (exchange->script > 0) {
        close(exchange->script - 1);
    }
    *exchange = (struct rank_exchange){.words = NULL};
}

/* Returns whether `host` is a name that means a different server on each machine, such as
 * "localhost". */
static bool is_own_machine(const char *host)
{
    return host == NULL || host[0] == '/' || host[0] == '@' || strcmp(host, "localhost") == 0 ||
           strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

static bool has_own_machine(const struct plan *plan)
{
    bool has = is_own_machine(plan->target.host);
    for (unsigned i = 0; i < plan->host_count; i++) {
        has = has || is_own_machine(target_at(plan, i).host);
    }
    return has;
}

enum exit_code rank_exchange_allow(const struct ranks *ranks, const struct plan *plan,
                                   struct error *error)
{
    if (ranks == NULL) {
        return EXIT_CODE_OK;
    }
    const struct adapter *adapter = plan->adapter;
    const bool keeps_nothing = (adapter->flags & ADAPTER_DISCARDS) != 0;
    if ((adapter->flags & ADAPTER_EMBEDDED) != 0 && !keeps_nothing) {
        return usage_refuse(error,
                            "%s runs inside this program, so each of the %u ranks would have its "
                            "own database: name a server, or start append alone",
                            adapter->name, ranks_count(ranks));
    }
    if (plan->metrics != NULL || plan->metrics_file != NULL) {
        return usage_refuse(error, "--metrics and --metrics-file work in a single process only: "
                                   "leave them out under mpirun or srun");
    }
    if (plan->live != NULL || plan->is_control) {
        return usage_refuse(error, "--live and --control work in a single process only: leave "
                                   "them out under mpirun or srun");
    }
    if (plan->stop_when.count > 0) {
        return usage_refuse(error, "--stop-when works in a single process only: leave it out under "
                                   "mpirun or srun");
    }
    for (unsigned i = 1; i < ranks_count(ranks) && !keeps_nothing; i++) {
        const bool is_elsewhere = strcmp(ranks_machine(ranks, i), ranks_machine(ranks, 0)) != 0;
        if (is_elsewhere && has_own_machine(plan)) {
            return usage_refuse(error,
                                "target %.100s is a different server on machine %.60s than on "
                                "%.60s: give the name or address of the server's machine",
                                plan->display_target, ranks_machine(ranks, 0),
                                ranks_machine(ranks, i));
        }
    }
    return EXIT_CODE_OK;
}

static void add_text(struct buffer *text, const char *word)
{
    buffer_add(text, word, strlen(word) + 1);
}

/* Adds the words of the command line's options and of the options that files contain. */
static void add_options(struct buffer *text, const struct plan *plan)
{
    add_text(text, "append");
    for (size_t i = 0; i < plan->given_count; i++) {
        const struct given_option *given = &plan->given[i];
        if (strcmp(given->entry->name, "options") != 0) {
            buffer_add_format(text, "--%s%s", given->entry->name, given->value == NULL ? "" : "=");
            add_text(text, given->value == NULL ? "" : given->value);
        }
    }
}

enum exit_code rank_exchange_send_plan(struct ranks *ranks, const struct plan *plan,
                                       struct error *error)
{
    const enum exit_code code = rank_exchange_allow(ranks, plan, error);
    if (code != EXIT_CODE_OK || ranks == NULL) {
        return code;
    }
    struct buffer text = {0};
    char seed[UNITS_TEXT_BYTES];
    const bool has_file = plan->workload != NULL && script_is_file(plan->workload);
    snprintf(seed, sizeof seed, "%" PRIu64, plan->facts->seed);
    add_text(&text, plan->out_folder);
    add_text(&text, seed);
    /* without a URL also send the adapter, so that the other ranks need not find out which server
     * listens on the port */
    add_text(&text, plan->target.url == NULL ? plan->adapter->name : "");
    add_text(&text, has_file ? script_text(plan->script) : "");
    char number[UNITS_TEXT_BYTES];
    snprintf(number, sizeof number, "%u", plan->sessions);
    add_text(&text, number);
    snprintf(number, sizeof number, "%" PRIu64, plan->records);
    add_text(&text, number);
    add_text(&text, plan->target_given == NULL ? "" : plan->target_given);
    add_options(&text, plan);
    const bool is_whole = !buffer_failed(&text) && ranks_give_text(ranks, &text);
    buffer_fini(&text);
    if (!is_whole) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the plan of the other ranks");
        return EXIT_CODE_CLIENT_LIMIT;
    }
    return EXIT_CODE_OK;
}

/* Stores the text of the script in a file in memory. Returns false on failure, with the reason in
 * errno. */
static bool keep_script(struct rank_exchange *exchange, const char *text)
{
    const size_t length = strlen(text);
    const int fd = memfd_create("workload", MFD_CLOEXEC);
    exchange->script = fd + 1;
    for (size_t done = 0; fd >= 0 && done < length;) {
        const ssize_t written = write(fd, text + done, length - done);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        done += written > 0 ? (size_t)written : 0;
    }
    snprintf(exchange->script_path, sizeof exchange->script_path, "/proc/self/fd/%d", fd);
    return fd >= 0;
}

enum exit_code rank_exchange_receive_plan(struct rank_exchange *exchange, struct ranks *ranks,
                                          struct plan_lead *lead, struct error *error)
{
    struct buffer *text = &exchange->text;
    if (!ranks_give_text(ranks, text)) {
        return EXIT_CODE_INTERRUPTED;
    }
    size_t count = 0;
    for (size_t at = 0; at < text->length; at += strlen(text->bytes + at) + 1) {
        count++;
    }
    exchange->words = calloc(count + 1, sizeof *exchange->words);
    if (exchange->words == NULL || count <= FIXED_TEXTS) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the plan");
        return EXIT_CODE_CLIENT_LIMIT;
    }
    char *at = text->bytes;
    for (size_t i = 0; i < count; i++) {
        exchange->words[i] = at;
        at += strlen(at) + 1;
    }
    char **fixed = exchange->words;
    const size_t room = strlen(fixed[0]) + 24;
    const bool has_script = fixed[3][0] != '\0';
    exchange->out = malloc(room);
    if (exchange->out == NULL || (has_script && !keep_script(exchange, fixed[3]))) {
        error_set(error, ERROR_SYSTEM, errno, NULL,
                  "cannot store the plan and the script from rank 0: %s", strerror(errno));
        return EXIT_CODE_CLIENT_LIMIT;
    }
    snprintf(exchange->out, room, "%s.rank%u", fixed[0], ranks_number(ranks));
    *lead = (struct plan_lead){.count = (int)(count - FIXED_TEXTS),
                               .words = fixed + FIXED_TEXTS,
                               .seed = strtoull(fixed[1], NULL, 10),
                               .sessions = (unsigned)strtoul(fixed[4], NULL, 10),
                               .records = strtoull(fixed[5], NULL, 10),
                               .target = fixed[6][0] == '\0' ? NULL : fixed[6],
                               .adapter_name = fixed[2][0] == '\0' ? NULL : fixed[2],
                               .workload = has_script ? exchange->script_path : NULL,
                               .out = exchange->out};
    return EXIT_CODE_OK;
}

bool rank_exchange_pack(struct buffer *bytes, const struct rank_exchange *exchange,
                        const struct result *result, struct recorder *recorder,
                        const struct rank_result *rank_result)
{
    const struct merge_part part = {.result = result,
                                    .own = rank_result,
                                    .recorder = recorder,
                                    .intervals = &exchange->intervals,
                                    .samples = &exchange->samples};
    return merge_pack(bytes, &part);
}

/* Creates an empty result with room for the results of all ranks. Returns NULL if memory runs
 * out. */
static struct result *make_whole(const struct ranks *ranks, const struct plan *plan,
                                 const struct result *rank_0)
{
    struct result *whole = calloc(1, sizeof *whole);
    if (whole == NULL) {
        return NULL;
    }
    const size_t sessions = plan->is_search ? 0 : plan_sessions_all(plan);
    causes_init(&whole->causes);
    whole->started_wall_ns = rank_0->started_wall_ns;
    whole->start_mono_ns = rank_0->start_mono_ns;
    whole->least_sessions = rank_0->least_sessions;
    whole->sessions_up = rank_0->sessions_up;
    whole->ranks = calloc(ranks_count(ranks), sizeof *whole->ranks);
    whole->rank_count = whole->ranks == NULL ? 0 : ranks_count(ranks);
    whole->session_list = calloc(sessions + 1, sizeof *whole->session_list);
    whole->session_count = whole->session_list == NULL ? 0 : sessions;
    const bool has_tables = result_allocate_tables(whole, rank_0->host_count, rank_0->table_count,
                                                   rank_0->dataset_count > 0);
    for (size_t i = 0; i < whole->host_count; i++) {
        memcpy(whole->hosts[i].name, rank_0->hosts[i].name, sizeof whole->hosts[i].name);
    }
    const bool has_totals = recorder_snapshot_init(&whole->totals, rank_0->totals.operations) &&
                            (rank_0->totals.hosts == 0 ||
                             recorder_snapshot_add_hosts(&whole->totals, rank_0->totals.hosts));
    for (size_t i = 0; i < whole->session_count; i++) {
        whole->session_list[i] =
            (struct session_summary){.index = (unsigned)i, .first_ack_ns = -1, .last_ack_ns = -1};
        whole->session_list[i].is_idle = i >= plan->sessions;
    }
    const bool has_metrics =
        rank_0->metric_count == 0 || result_allocate_metrics(whole, plan->script);
    if (!has_totals || whole->ranks == NULL || whole->session_list == NULL || !has_tables ||
        !has_metrics) {
        result_free(whole);
        return NULL;
    }
    return whole;
}

/* Adds to the merged result the sessions of a lost rank, and the last counters that the lost rank
 * sent. Returns false if memory runs out. */
static bool add_lost(struct merge *merge, const struct ranks *ranks, const struct plan *plan,
                     unsigned rank)
{
    const struct plan_share share = ranks_share(ranks, rank);
    const unsigned count = share.count + share.idle;
    const uint64_t *counters = ranks_lost(ranks, rank)->counters;
    /* the results of a search's sessions are unknown */
    if (plan->is_search) {
        merge_add_lost(merge, rank, NULL, counters[RECORDER_SESSIONS_CONNECTED], counters);
        return true;
    }
    struct session_summary *sessions = calloc(count + 1, sizeof *sessions);
    if (sessions == NULL) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        const bool is_idle = i >= share.count;
        struct session_summary *session = &sessions[i];
        session->index = is_idle ? share.first_idle + (i - share.count) : share.first + i;
        session->is_idle = is_idle;
        session->outcome =
            i < counters[RECORDER_SESSIONS_CONNECTED] ? SESSION_DROPPED : SESSION_NOT_STARTED;
        session->first_ack_ns = session->last_ack_ns = -1;
        session->rows.planned =
            is_idle || plan->records == 0 ? 0 : plan_quota(plan, session->index);
    }
    merge_add_lost(merge, rank, sessions, count, counters);
    free(sessions);
    return true;
}

enum exit_code rank_exchange_merge(struct ranks *ranks, const struct plan *plan,
                                   const struct result *rank_0, struct buffer *bytes,
                                   struct rank_exchange_whole *whole, struct error *error)
{
    const struct operation_list operations = plan_operations(plan);
    struct result *result = make_whole(ranks, plan, rank_0);
    struct merge *merge = result == NULL ? NULL : merge_create(result, &operations);
    *whole = (struct rank_exchange_whole){result, merge};
    if (merge == NULL) {
        buffer_fini(bytes);
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the result of all ranks");
        return EXIT_CODE_CLIENT_LIMIT;
    }
    for (unsigned i = 0; i < ranks_count(ranks); i++) {
        snprintf(result->ranks[i].machine, sizeof result->ranks[i].machine, "%s",
                 ranks_machine(ranks, i));
    }
    unsigned rank = 0;
    size_t size = bytes->length;
    void *taken = bytes->bytes;
    enum status status;
    do {
        status = merge_add(merge, rank, taken, size, error);
        free(taken);
        if (status == STATUS_REJECTED && rank > 0) { /* use the rank's last counters instead */
            notice_print("%s", error->text);
            error_clear(error);
            ranks_refuse_result(ranks, rank);
            status = STATUS_OK;
        }
    } while (status == STATUS_OK && (taken = ranks_take_result(ranks, &rank, &size)) != NULL);
    *bytes = (struct buffer){.bytes = NULL};
    if (status != STATUS_OK) {
        return error->kind == ERROR_MEMORY ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_INTERNAL;
    }
    if (!interrupt_requested()) { /* after a signal little time is left */
        ranks_check_clocks(ranks);
    }
    for (unsigned i = 0; i < ranks_count(ranks); i++) {
        const struct ranks_clock clock = ranks_clock(ranks, i);
        struct rank_result *merged = &result->ranks[i];
        merged->clock_offset_ns = clock.offset_ns;
        merged->clock_error_ns = clock.error_ns;
        merged->clock_drift_ns = clock.drift_ns;
        merged->clock_drift_error_ns = clock.drift_error_ns;
        if (ranks_lost(ranks, i) != NULL && !add_lost(merge, ranks, plan, i)) {
            error_set(error, ERROR_MEMORY, 0, NULL,
                      "out of memory for the sessions of a lost rank");
            return EXIT_CODE_CLIENT_LIMIT;
        }
    }
    if (!merge_finish(merge)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the samples of all ranks");
        return EXIT_CODE_CLIENT_LIMIT;
    }
    if (plan_has_fairness(plan)) {
        fairness_compute(&result->fairness, result->session_list, result->session_count);
    }
    return EXIT_CODE_OK;
}
