#include "certify/certify.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/ask.h"
#include "base/child.h"
#include "base/mono.h"
#include "base/random.h"
#include "certify/processes.h"
#include "certify/rows.h"
#include "certify/writers.h"
#include "load/server.h"
#include "load/task.h"

#define UP_NS (180 * MONO_NS_PER_S)
#define UP_PAUSE_NS (10 * MONO_NS_PER_MS)
#define CONNECT_NS (60 * MONO_NS_PER_S)
#define AIM_NS (2 * MONO_NS_PER_S)
#define AIM_STEP_NS (50 * MONO_NS_PER_MS / 1000)
#define TICK_NS (10 * MONO_NS_PER_MS)
/* Largest error of the uptime that a server reports. The uptime is in whole seconds, and may be the
 * difference of two rounded times. */
#define UPTIME_ERROR_NS (1100 * MONO_NS_PER_MS)
/* Time for which the writers continue to write after a fault, if the server runs again or still
 * runs. */
#define AFTER_NS MONO_NS_PER_S

enum {
    PROOF_FAULTS_MAX = 5,
    /* number of rows that fit on the disk that this program makes for its own server, together with
     * the server's log and temporary files */
    ROWS_MAX = 6000000,
};
_Static_assert(ROWS_MAX / FAULTS_MAX >= ROWS_FIRST_MAX, "a whole transaction before each fault");

/* The server's answer to a question. A child process asks the question and stores the answer in
 * this struct, which is in shared memory. */
struct reply {
    enum status status;
    struct error error;
    bool is_ours; /* the failure was caused by this program or machine, not by the server */
    struct connection_info connection;
    int64_t uptime_s; /* time since the start of the server; 0: unknown */
    struct server_settings settings;
    char server[CERTIFICATE_TEXT_BYTES]; /* product and version of the server */
    char data_folder[PLAN_PATH_BYTES];   /* data directory that the server reported; "": unknown */
    struct fault_result result;          /* results of reading back */
};

/* A series of faults in progress. */
struct course {
    const struct plan *plan;
    struct subject *subject;
    struct certificate *certificate;
    struct fault_series *series;
    struct writers writers;
    struct account *account;
    struct reply *reply;
    struct setup setup; /* has the names of the tables, for functions that need a struct setup */
    uint64_t known[FINDING_COUNT]; /* counts of findings that earlier faults caused and that are
                                      still in the tables */
    struct error error;            /* reason why the series cannot continue; ERROR_NONE: it can */
};

/* A function that asks the server a question on the connection `conn`. */
typedef enum status question(struct course *course, struct adapter_conn *conn, struct error *error);

static bool go_on(const struct course *course)
{
    return course->error.kind == ERROR_NONE && !interrupt_requested();
}

/* The work of the child process: connects to the server, calls `asked`, and stores the answer in
 * course->reply. */
static void ask_there(struct course *course, question *asked)
{
    const struct adapter *adapter = course->plan->adapter;
    const struct target target = target_at(course->plan, 0);
    struct reply *reply = course->reply;
    struct adapter_conn *conn = NULL;
    reply->status = adapter->open(adapter, &target, &conn, &reply->error);
    if (reply->status == STATUS_OK) {
        target_fill_connection(course->plan, &reply->connection);
        if (adapter->inspect != NULL) {
            adapter->inspect(adapter, conn, &reply->connection);
        }
        if (reply->connection.lift_row_limit != NULL) {
            /* a server that lacks this limit refuses the statement */
            adapter->execute(conn, reply->connection.lift_row_limit,
                             &(struct error){.kind = ERROR_NONE});
        }
        const char *sql = course->writers.session_sql;
        if (sql != NULL && sql[0] != '\0') {
            reply->status = adapter->execute(conn, sql, &reply->error);
        }
        if (reply->status == STATUS_OK) {
            reply->status = asked(course, conn, &reply->error);
        }
    }
    adapter->close(conn);
}

/* Asks the server a question in a child process, so that the client library starts no threads in
 * this process. Gives up at the moment until_ns or after Ctrl-C. */
static enum status ask(struct course *course, question *asked, int64_t until_ns,
                       struct error *error)
{
    struct reply *reply = course->reply;
    struct child_end end = {.code = -1};
    reply->status = STATUS_LOST;
    reply->error = (struct error){.kind = ERROR_NONE};
    reply->is_ours = false;
    const pid_t pid = fork();
    if (pid == 0) {
        processes_serve();
        ask_there(course, asked);
        _exit(EXIT_SUCCESS);
    }
    if (pid < 0) {
        error_set(error, ERROR_SYSTEM, errno, NULL,
                  "client limit: cannot start the process that queries the server: %s",
                  strerror(errno));
        reply->is_ours = true;
        return STATUS_FATAL;
    }
    bool is_late = false;
    while (!child_wait(pid, TICK_NS, &end)) {
        is_late = mono_now_ns() > until_ns;
        if (is_late || interrupt_requested()) {
            kill(pid, SIGKILL);
        }
    }
    if (is_late) {
        error_clear(&reply->error);
        error_set(&reply->error, ERROR_TIMEOUT, 0, NULL, "no answer in time");
        reply->status = STATUS_LOST;
    } else if (end.signal != 0 || end.code != EXIT_SUCCESS) {
        reply->is_ours = true;
        error_clear(&reply->error);
        error_set(&reply->error, ERROR_CANCELLED, 0, NULL,
                  "append's process that queries the server ended unexpectedly");
        reply->status = STATUS_LOST;
    }
    if (reply->status != STATUS_OK) {
        *error = reply->error;
    }
    return reply->status;
}

static bool take_uptime(void *context, const struct cell *cells, size_t count)
{
    *(int64_t *)context = count > 0 ? ask_number(&cells[count - 1]) : 0;
    return false;
}

static enum status look(struct course *course, struct adapter_conn *conn, struct error *error)
{
    const struct adapter *adapter = course->plan->adapter;
    const struct connection_info *connection = &course->reply->connection;
    const struct integrity_statements *words = connection->integrity;
    struct answer answer = {.take = NULL};
    struct answer uptime = {.take = take_uptime, .context = &course->reply->uptime_s};
    const enum status status =
        ask_rows(adapter, conn, ask_templates(connection)->nothing, NULL, &answer, error);
    course->reply->uptime_s = 0;
    if (status == STATUS_OK && words != NULL && words->uptime != NULL) {
        ask_rows(adapter, conn, words->uptime, NULL, &uptime, &(struct error){.kind = ERROR_NONE});
    }
    return status;
}

/* Waits until the server answers a query. Fails if the server has ended or does not answer within
 * UP_NS. */
static enum status wait_until_up(struct course *course, struct error *error)
{
    const int64_t until_ns = mono_now_ns() + UP_NS;
    for (;;) {
        struct error refused = {.kind = ERROR_NONE};
        const enum status status = ask(course, look, until_ns, &refused);
        if (status == STATUS_OK) {
            return status;
        }
        if (subject_order(course->subject, SERVER_CHECK, error) != STATUS_OK) {
            error_prefix(error, "the server did not start");
            return STATUS_FATAL;
        }
        if (interrupt_requested() || mono_now_ns() > until_ns || status == STATUS_FATAL ||
            course->reply->is_ours) {
            *error = refused;
            error_prefix(error, "the server does not answer");
            return status;
        }
        mono_sleep(UP_PAUSE_NS);
    }
}

static bool take_folder(void *context, const struct cell *cells, size_t count)
{
    struct reply *reply = context;
    if (count > 0) {
        ask_text(&cells[0], reply->data_folder, sizeof reply->data_folder);
    }
    return false;
}

/* Asks the server for its data directory. */
static enum status find_folder(struct course *course, struct adapter_conn *conn,
                               struct error *error)
{
    struct reply *reply = course->reply;
    const struct storage_queries *storage = reply->connection.storage;
    struct answer answer = {.take = take_folder, .context = reply};
    if (storage == NULL || storage->directory == NULL) {
        return STATUS_OK;
    }
    const enum status status =
        ask_rows(course->plan->adapter, conn, storage->directory, NULL, &answer, error);
    if (status == STATUS_LOST) {
        return status;
    }
    error_clear(error); /* without the privilege for this query, the data directory stays unknown */
    return STATUS_OK;
}

static enum status prepare_tables(struct course *course, struct adapter_conn *conn,
                                  struct error *error)
{
    struct reply *reply = course->reply;
    const struct adapter *adapter = course->plan->adapter;
    const char *first = course->subject->first_sql;
    struct server_limits limits = {.version = ""};
    if (first != NULL) { /* the SQL is optional: a failure is ignored */
        adapter->execute(conn, first, &(struct error){.kind = ERROR_NONE});
    }
    if (adapter->server_limits != NULL) {
        adapter->server_limits(adapter, conn, &limits, &(struct error){.kind = ERROR_NONE});
    }
    snprintf(reply->server, sizeof reply->server, "%s %s", reply->connection.dialect,
             limits.version);
    const enum status status = tables_make(course->plan, conn, &reply->connection, error);
    if (status != STATUS_OK) {
        return status;
    }
    course->setup.connection = reply->connection;
    struct task task = {.plan = course->plan, .setup = &course->setup};
    server_ask_settings(&task, conn, &reply->settings);
    return STATUS_OK;
}

static enum status drop_tables(struct course *course, struct adapter_conn *conn,
                               struct error *error)
{
    return tables_drop(course->plan, conn, &course->reply->connection, error);
}

static enum status read_back(struct course *course, struct adapter_conn *conn, struct error *error)
{
    struct audit audit;
    const struct audit_reading reading = {.audit = &audit,
                                          .adapter = course->plan->adapter,
                                          .conn = conn,
                                          .connection = &course->reply->connection};
    const enum fault_kind kind = course->reply->result.fault.kind;
    enum status status = audit_begin(&audit, course->account, &course->reply->result, error);
    if (status != STATUS_OK) {
        course->reply->is_ours = true;
        return status;
    }
    audit.known = course->known;
    audit.is_settled = kind == FAULT_KILL || kind == FAULT_POWER;
    status = audit_read(&reading, error);
    course->reply->is_ours = status != STATUS_OK && error->kind == ERROR_MEMORY;
    if (status == STATUS_OK) {
        audit_judge(&audit);
        course->reply->result.is_read = true;
        status = audit_check(&reading, error);
    }
    audit_end(&audit);
    return status;
}

static uint64_t rows_refused(const struct account *account)
{
    struct account_rows rows;
    account_sum(account, &rows);
    return rows.rejected;
}

/* Sets course->error if a session cannot write or the writers have ended. */
static void expect_writers(struct course *course)
{
    const struct account *account = course->account;
    if (account->failed > 0) {
        course->error = account->error;
        error_prefix(&course->error, "%u of %u sessions cannot write", account->failed,
                     account->sessions);
    } else if (!writers_are_running(&course->writers)) {
        error_set(&course->error, ERROR_SYSTEM, 0, NULL,
                  "append's process that runs the sessions ended unexpectedly");
    }
}

/* Waits for the first acknowledged row, for CONNECT_NS at most, then lets the writers write for
 * `time_ns`. Sets course->error and returns early if no row is acknowledged, if a writer ends or,
 * after the first row, if the server ends. */
static void load(struct course *course, int64_t time_ns)
{
    const struct account *account = course->account;
    int64_t until_ns = mono_now_ns() + CONNECT_NS;
    while (go_on(course) && account->latest_ack_ns == 0 && mono_now_ns() < until_ns) {
        subject_order(course->subject, SERVER_CHECK, &(struct error){.kind = ERROR_NONE});
        mono_sleep(TICK_NS);
        expect_writers(course);
    }
    if (go_on(course) && account->latest_ack_ns == 0) {
        error_set(&course->error, ERROR_SERVER, 0, NULL,
                  "the server acknowledged no row in 60 s (%s rows refused)",
                  UNITS_COUNT(rows_refused(account)));
    }
    until_ns = mono_now_ns() + time_ns;
    while (go_on(course) && mono_now_ns() < until_ns) {
        struct error ended = {.kind = ERROR_NONE};
        expect_writers(course);
        if (subject_order(course->subject, SERVER_CHECK, &ended) != STATUS_OK) {
            course->error = ended;
            error_prefix(&course->error, "the server ended by itself, before append broke it");
        }
        mono_sleep(TICK_NS);
    }
}

/* Waits until the moment at which the fault is to strike. If no acknowledgement
 * arrives or no checkpoint begins within AIM_NS, sets fault->aim to FAULT_AT_RANDOM. */
static void aim(struct course *course, struct fault *fault)
{
    struct account *account = course->account;
    const int64_t until_ns = mono_now_ns() + AIM_NS;
    _Atomic int64_t *moment = &account->latest_ack_ns;
    if (fault->aim == FAULT_AT_RANDOM) {
        return;
    }
    if (fault->aim == FAULT_IN_CHECKPOINT) {
        moment = &account->checkpoint_ns;
    }
    const int64_t before_ns = *moment;
    if (fault->aim == FAULT_IN_CHECKPOINT) {
        atomic_fetch_add(&account->checkpoints_asked, 1);
    }
    while (*moment == before_ns && mono_now_ns() < until_ns) {
        mono_sleep(AIM_STEP_NS);
    }
    if (*moment == before_ns) {
        fault->aim = FAULT_AT_RANDOM;
        return;
    }
    const int64_t left_ns = *moment + fault->aimed_ns - mono_now_ns();
    if (left_ns > 0) {
        mono_sleep(left_ns);
    }
    if (*moment == 0) { /* the server refused the checkpoint */
        fault->aim = FAULT_AT_RANDOM;
    }
}

/* Starts the server again after a fault that ended the server, and waits until the server answers.
 * If the server does not answer, writes the reason to result->failure. */
static void recover(struct course *course, struct fault_result *result, int64_t at_ns)
{
    struct error error = {.kind = ERROR_NONE};
    const int64_t start_ns = mono_now_ns();
    if (subject_order(course->subject, SERVER_START, &error) != STATUS_OK) {
        course->error = error;
        return;
    }
    if (wait_until_up(course, &error) != STATUS_OK) {
        if (course->reply->is_ours) {
            course->error = error;
        } else if (!interrupt_requested()) {
            snprintf(result->failure, sizeof result->failure, "%s", error.text);
        }
        return;
    }
    const int64_t up_ns = mono_now_ns();
    result->recover_ns = up_ns - start_ns;
    result->down_ns = up_ns - at_ns;
    if (course->reply->uptime_s * MONO_NS_PER_S > result->down_ns + UPTIME_ERROR_NS) {
        error_set(&course->error, ERROR_USAGE, 0, NULL,
                  "the %s did not end the server that answers (it was started %s ago): give the "
                  "server's own port, not the port of a proxy",
                  fault_nouns[result->fault.kind].one,
                  UNITS_SECONDS((uint64_t)course->reply->uptime_s));
    }
}

/* Subtracts the findings that earlier faults caused, so that only new findings remain. */
static void leave_out_known(const uint64_t known[FINDING_COUNT], struct fault_result *result)
{
    for (size_t i = 0; i < FINDING_COUNT; i++) {
        uint64_t *found = &result->findings[i];
        *found = *found > known[i] ? *found - known[i] : 0;
    }
}

static void verify(struct course *course, struct fault_result *result)
{
    struct account_rows rows;
    const int64_t start_ns = mono_now_ns();
    account_sum(course->account, &rows);
    result->acknowledged = rows.acknowledged;
    result->rejected = rows.rejected;
    result->in_doubt = rows.in_doubt;
    if (result->failure[0] != '\0' || !go_on(course)) {
        return;
    }
    struct error error = {.kind = ERROR_NONE};
    static const enum fault_finding lasting[] = {FINDING_DUPLICATE, FINDING_FOREIGN, FINDING_TORN,
                                                 FINDING_DAMAGE};
    for (size_t i = 0; i < COUNT_OF(lasting); i++) {
        course->known[lasting[i]] = certificate_sum(course->series, lasting[i]);
    }
    course->reply->result = *result;
    const enum status status = ask(course, read_back, INT64_MAX, &error);
    *result = course->reply->result;
    leave_out_known(course->known, result);
    if (status != STATUS_OK && (course->reply->is_ours || interrupt_requested())) {
        course->error = error;
        snprintf(result->unchecked, sizeof result->unchecked, "%s was not finished: %.150s",
                 result->is_read ? "the server's own check" : "reading back",
                 interrupt_requested() ? "interrupted" : error.text);
    } else if (status != STATUS_OK) {
        snprintf(result->failure, sizeof result->failure, "%s", error.text);
    }
    result->read_ns = mono_now_ns() - start_ns;
}

static void show(const struct course *course, const struct fault_result *result)
{
    if (course->plan->is_quiet) {
        return;
    }
    char found[200] = "";
    for (size_t i = 0; i < FINDING_COUNT; i++) {
        const size_t used = strlen(found);
        if (result->findings[i] > 0 || (i == FINDING_LOST && result->is_read)) {
            snprintf(found + used, sizeof found - used, ", %s %s", UNITS_COUNT(result->findings[i]),
                     finding_words[i].key);
        }
    }
    notice_print("%s%zu of %zu: %s %s, %s rows acknowledged%s%s%s",
                 course->series == &course->certificate->proof ? "proof " : "",
                 course->series->count, course->series->planned,
                 fault_words[result->fault.kind].name, fault_aim_words[result->fault.aim],
                 UNITS_COUNT(result->acknowledged), result->failure[0] == '\0' ? found : ": ",
                 result->is_read || result->failure[0] != '\0' ? result->failure
                                                               : ", not all rows read back",
                 result->recover_ns < 0 ? "" : ", up again");
}

/* Carries out one fault: starts the writers, causes the fault, restarts the server if the fault
 * ended it, and reads the tables back. */
static void strike(struct course *course, struct fault_result *result)
{
    struct fault *fault = &result->fault;
    struct account *account = course->account;
    const bool is_fatal = fault->kind == FAULT_KILL || fault->kind == FAULT_POWER;
    int64_t at_ns = 0;
    result->down_ns = result->recover_ns = result->after_ack_ns = -1;
    atomic_store(&account->latest_ack_ns, 0);
    if (writers_start(&course->writers, &course->error) != STATUS_OK) {
        return;
    }
    load(course, fault->after_ns);
    if (go_on(course) && fault->kind == FAULT_POWER) {
        /* checks the disk again, because another program may use it by now */
        subject_adopt_disk(course->subject, course->reply->data_folder, &course->error);
    }
    if (go_on(course)) {
        aim(course, fault);
        expect_writers(course);
    }
    if (go_on(course)) {
        const int64_t ack_ns = account->latest_ack_ns;
        const enum status status = subject_break(course->subject, fault, &at_ns, &course->error);
        result->after_ack_ns = ack_ns > 0 && ack_ns <= at_ns ? at_ns - ack_ns : -1;
        result->at_ns = at_ns - course->certificate->start_mono_ns;
        if (status == STATUS_OK && fault->kind == FAULT_RESTART) {
            recover(course, result, at_ns);
        }
        if (status == STATUS_OK && !is_fatal && result->failure[0] == '\0') {
            load(course, AFTER_NS);
        }
    }
    if (is_fatal || !go_on(course)) {
        writers_kill(&course->writers);
    } else {
        writers_finish(&course->writers);
    }
    if (!go_on(course)) {
        return;
    }
    course->series->count++;
    if (is_fatal) {
        recover(course, result, at_ns);
    }
    verify(course, result);
    if (go_on(course) || certificate_is_broken(result)) {
        show(course, result);
    } else {
        course->series->count--;
    }
}

/* Runs a series of faults. `options` are settings for a server that this program makes. Returns
 * whether a fault broke the certificate or, in the proof run, proved that a loss is found. If the
 * series could not be finished, course->error has the reason. */
static bool run_series(struct course *course, const struct fault *faults,
                       const struct plan_texts *options, uint64_t seed)
{
    struct fault_series *series = course->series;
    const struct plan *plan = course->plan;
    bool is_broken = false, has_tables = false;
    series->results = calloc(series->planned, sizeof *series->results);
    course->account = account_create(plan->sessions, seed, &course->error);
    if (series->results == NULL || course->account == NULL) {
        error_set(&course->error, ERROR_MEMORY, 0, NULL,
                  "client limit: out of memory for %zu faults", series->planned);
        account_destroy(course->account);
        return false;
    }
    course->account->has_transactions = plan->adapter->begin != NULL;
    course->writers = (struct writers){.plan = plan, .account = course->account};
    memset(course->known, 0, sizeof course->known);
    if (subject_begin(course->subject, &course->writers, options, &course->error) == STATUS_OK) {
        course->writers.session_sql = buffer_text(&course->subject->session_sql);
    }
    if (course->error.kind == ERROR_NONE && wait_until_up(course, &course->error) == STATUS_OK &&
        ask(course, find_folder, INT64_MAX, &course->error) == STATUS_OK &&
        subject_adopt_disk(course->subject, course->reply->data_folder, &course->error) ==
            STATUS_OK &&
        ask(course, prepare_tables, INT64_MAX, &course->error) == STATUS_OK) {
        has_tables = true;
        series->settings = course->reply->settings;
        memcpy(course->certificate->server, course->reply->server,
               sizeof course->certificate->server);
        disk_sync(&course->subject->disk);
        subject_describe(course->subject, course->reply->data_folder, course->certificate);
    }
    for (size_t i = 0; i < series->planned && go_on(course); i++) {
        const uint64_t sent = course->account->rows_sent;
        course->account->rows_max = sent + (ROWS_MAX - sent) / (series->planned - i);
        series->results[i].fault = faults[i];
        strike(course, &series->results[i]);
        const struct fault_result *result = &series->results[i];
        const bool is_proof = series == &course->certificate->proof;
        const bool has_failed = result->failure[0] != '\0';
        const bool has_found =
            is_proof ? certificate_is_proof(result) : certificate_is_broken(result);
        is_broken = is_broken || (has_found && series->count > i);
        if (is_broken && (is_proof || !plan->certify.is_keeping_on || has_failed)) {
            break;
        }
    }
    writers_kill(&course->writers);
    if (!course->subject->kind->is_own && has_tables) {
        struct error why = {.kind = ERROR_NONE};
        if (is_broken || !go_on(course)) {
            notice_print("the tables %s and %s are kept; append certify --recreate drops them",
                         rows_table_names[0], rows_table_names[1]);
        } else if (ask(course, drop_tables, INT64_MAX, &why) != STATUS_OK) {
            notice_print(
                "the tables could not be dropped: %s; append certify --recreate=%s,%s drops them",
                why.text, rows_table_names[0], rows_table_names[1]);
        }
    }
    subject_end(course->subject);
    account_destroy(course->account);
    return is_broken;
}

/* Sets the verdict UNFINISHED, the exit code and the reason. */
static void give_up(struct course *course)
{
    struct certificate *certificate = course->certificate;
    certificate->verdict = CERTIFICATE_UNFINISHED;
    if (interrupt_requested()) {
        certificate->code = EXIT_CODE_INTERRUPTED;
        snprintf(certificate->reason, sizeof certificate->reason, "interrupted");
    } else {
        certificate->code = task_exit_code(&course->error);
        snprintf(certificate->reason, sizeof certificate->reason, "%s", course->error.text);
    }
}

/* Runs the proof run: up to 5 faults under a setting with which the server must lose rows. Returns
 * true if a fault showed a loss, and the certified run may begin. */
static bool prove(struct course *course)
{
    struct certificate *certificate = course->certificate;
    const char *unsafe = subject_unsafe(course->subject);
    const bool has_power = course->subject->faults.counts[FAULT_POWER] > 0;
    struct fault_counts counts = {.counts = {0}};
    struct fault faults[PROOF_FAULTS_MAX];
    /* the command has checked that the list has room for one more option */
    struct plan_texts options = course->plan->certify.options;
    options.texts[options.count++] = unsafe;
    counts.counts[has_power ? FAULT_POWER : FAULT_KILL] = PROOF_FAULTS_MAX;
    const uint64_t seed = random_mix(course->plan->seed) >> 24;
    fault_draw(&counts, seed, faults);
    course->series = &certificate->proof;
    course->series->planned = PROOF_FAULTS_MAX;
    buffer_add_text(&course->series->options, unsafe);
    const bool is_found = run_series(course, faults, &options, seed);
    if (!go_on(course)) {
        give_up(course);
    } else if (!is_found) {
        certificate->verdict = CERTIFICATE_UNPROVEN;
        certificate->code = EXIT_CODE_INVALID;
        snprintf(certificate->reason, sizeof certificate->reason,
                 "%zu faults with %s lost no acknowledged row, but should have lost some",
                 course->series->count, unsafe);
    }
    return is_found && go_on(course);
}

void certify_run(struct certificate *certificate, struct subject *subject, const struct plan *plan)
{
    struct course course = {.plan = plan, .subject = subject, .certificate = certificate};
    const size_t total = fault_total(&subject->faults);
    struct fault *faults = calloc(total, sizeof *faults);
    certificate->start_wall_ns = mono_wall_ns();
    certificate->start_mono_ns = mono_now_ns();
    certificate->series.planned = total;
    tables_fill_setup(&course.setup);
    course.reply =
        mmap(NULL, sizeof *course.reply, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (faults == NULL || course.reply == MAP_FAILED) {
        error_set(&course.error, ERROR_MEMORY, 0, NULL,
                  "client limit: out of memory for %zu faults", total);
        give_up(&course);
        tables_free_setup(&course.setup);
        free(faults);
        return;
    }
    fault_draw(&subject->faults, plan->seed, faults);
    if (!plan->certify.wants_proof || prove(&course)) {
        course.series = &certificate->series;
        for (size_t i = 0; i < plan->certify.options.count; i++) {
            buffer_add_format(&course.series->options, "%s%s", i > 0 ? " " : "",
                              plan->certify.options.texts[i]);
        }
        const bool is_broken = run_series(&course, faults, &plan->certify.options, plan->seed);
        certificate->verdict = is_broken ? CERTIFICATE_BROKEN : CERTIFICATE_CLEAN;
        certificate->code = is_broken ? EXIT_CODE_SHORT : EXIT_CODE_OK;
        if (!go_on(&course) && !is_broken) {
            give_up(&course);
        } else if (!is_broken && !certificate_is_certified(certificate)) {
            certificate->code = EXIT_CODE_INVALID;
            snprintf(certificate->reason, sizeof certificate->reason,
                     "no fault could have shown a loss: no row was acknowledged before a fault");
        }
    }
    certificate->elapsed_ns = mono_now_ns() - certificate->start_mono_ns;
    tables_free_setup(&course.setup);
    munmap(course.reply, sizeof *course.reply);
    free(faults);
}
