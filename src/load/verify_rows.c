#include "load/verify_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/interrupt.h"
#include "load/generator.h"
#include "load/side_job.h"

enum {
    TAGS = INT16_MAX + 1
};

/* One query on a connection of its own. */
struct reading {
    const struct setup *setup;
    const struct plan *plan;
    struct side_job *job;
    const char *sql;
    size_t columns;
    bool (*take)(void *context, const int64_t *values);
    void *context;
    enum status status;
    struct error error;
};

static bool take_numbers(void *context, const int64_t *values)
{
    struct reading *r = context;
    side_job_note_answer(r->job);
    return r->take(r->context, values);
}

static void run_reading(struct side_job *job, void *context)
{
    struct reading *r = context;
    r->job = job;
    struct adapter_conn *conn = NULL;
    r->status = setup_open_again(r->plan, &conn, &r->error);
    side_job_share(job, conn);
    if (r->status == STATUS_OK) {
        r->status =
            r->plan->adapter->read_numbers(conn, r->sql, r->columns, take_numbers, r, &r->error);
    }
    side_job_share(job, NULL);
    r->plan->adapter->close(conn);
}

/* Runs it and waits. What went wrong is in reading->error. */
static enum status read_table(struct reading *reading, const char *notice)
{
    struct side_job job = {
        .adapter = reading->plan->adapter,
        .run = run_reading,
        .context = reading,
        .notice = reading->plan->is_quiet ? NULL : notice,
        .limit_ns = reading->plan->timeout_ns,
    };
    error_clear(&reading->error);
    reading->status = STATUS_FATAL;
    if (side_job_run(&job, &reading->error) != STATUS_OK) {
        return STATUS_FATAL;
    }
    if (reading->status != STATUS_OK && job.was_interrupted) {
        side_job_blame(&job, "the rows", &reading->error);
    }
    return reading->status;
}

/* n1, n2 or n3, as this table spells it. */
static void add_column(struct buffer *sql, const struct setup *setup, const char *name)
{
    const struct table *table = &setup->table;
    for (size_t c = 0; c < table->column_count; c++) {
        if (strcasecmp(table->columns[c].name, name) == 0) {
            buffer_add_identifier(sql, table->columns[c].name, setup->connection.identifier_quote);
        }
    }
}

static void add_table(struct buffer *sql, const struct setup *setup)
{
    buffer_add_text(sql, " from ");
    buffer_add_identifier(sql, setup->table.name, setup->connection.identifier_quote);
    buffer_add_text(sql, " where ");
    add_column(sql, setup, "n1");
}

/* Tags that rows of the table carry. */
struct tags {
    bool is_used[TAGS];
};

static bool take_tag(void *context, const int64_t *values)
{
    struct tags *tags = context;
    if (values[0] > 0 && values[0] < TAGS) {
        tags->is_used[values[0]] = true;
    }
    return true;
}

static enum exit_code choose_tag(struct plan *plan, const struct tags *tags, struct error *error)
{
    enum {
        TRIES = 50 * TAGS /* finds a single free tag but once in e^50 times */
    };
    if (plan->is_seed_given && tags->is_used[plan->run_tag]) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--verify rows: table '%.100s' has rows of --seed %" PRIu64
                  " already (n1 = %d): use another --seed, or --recreate",
                  plan->table_name, plan->seed, plan->run_tag);
        return EXIT_CODE_USAGE;
    }
    for (int i = 0; tags->is_used[plan->run_tag] && i < TRIES; i++) {
        plan_choose_seed(plan);
    }
    if (tags->is_used[plan->run_tag]) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--verify rows: table '%.100s' has rows of every run tag (n1): use --recreate",
                  plan->table_name);
        return EXIT_CODE_USAGE;
    }
    return EXIT_CODE_OK;
}

static enum exit_code find_free_tag(const struct setup *setup, struct plan *plan,
                                    struct error *error)
{
    struct tags tags = {0};
    struct buffer sql;
    buffer_init(&sql);
    buffer_add_text(&sql, "select distinct ");
    add_column(&sql, setup, "n1");
    add_table(&sql, setup);
    buffer_add_text(&sql, " is not null");
    struct reading reading = {.setup = setup,
                              .plan = plan,
                              .sql = buffer_text(&sql),
                              .columns = 1,
                              .take = take_tag,
                              .context = &tags};
    enum status status = STATUS_FATAL;
    if (buffer_failed(&sql)) {
        error_set(&reading.error, ERROR_MEMORY, 0, NULL, "out of memory for a statement");
    } else {
        status = read_table(&reading, "looking for rows of earlier runs in the table");
    }
    buffer_fini(&sql);
    if (interrupt_requested()) {
        error_set(error, ERROR_SYSTEM, 0, NULL, "interrupted before the first session");
        return EXIT_CODE_INTERRUPTED;
    }
    if (status != STATUS_OK) {
        *error = reading.error;
        return reading.error.kind == ERROR_MEMORY ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_SERVER;
    }
    return choose_tag(plan, &tags, error);
}

enum exit_code verify_rows_prepare(const struct setup *setup, struct plan *plan,
                                   struct error *error)
{
    if (!generator_identifies_rows(plan, &setup->table)) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--verify rows: table '%.100s' has no columns n1 smallint, n2 int and n3 bigint "
                  "without --values, which tell the rows apart: use --verify count",
                  plan->table_name);
        return EXIT_CODE_USAGE;
    }
    return setup->rows_before == 0 ? EXIT_CODE_OK : find_free_tag(setup, plan, error);
}

/* What the rows that are read are held against. */
struct finding_rows {
    struct row_map *map;
    struct result *result;
};

static bool take_row(void *context, const int64_t *values)
{
    struct finding_rows *finding = context;
    row_map_add(finding->map, values[0], values[1], finding->result->session_list,
                &finding->result->row_verification);
    return true;
}

/* Rows whose session or number is NULL are somebody else's; -1 is no session's number. */
static void build_query(struct buffer *sql, const struct setup *setup, const struct plan *plan)
{
    buffer_init(sql);
    buffer_add_text(sql, "select coalesce(");
    add_column(sql, setup, "n2");
    buffer_add_text(sql, ", -1), coalesce(");
    add_column(sql, setup, "n3");
    buffer_add_text(sql, ", -1)");
    add_table(sql, setup);
    buffer_add_format(sql, " = %d", plan->run_tag);
}

static bool lacks_exceptions(const struct result *result)
{
    for (size_t i = 0; i < result->session_count; i++) {
        if (result->session_list[i].lacks_exceptions) {
            return true;
        }
    }
    return false;
}

/* Leaves state DONE, or why not in *error. */
static void read_back(const struct setup *setup, const struct plan *plan, struct result *result,
                      struct error *error)
{
    struct row_verification *verification = &result->row_verification;
    struct finding_rows finding = {.result = result};
    struct buffer sql;
    build_query(&sql, setup, plan);
    finding.map = row_map_create(result->session_list, result->session_count);
    struct reading reading = {.setup = setup,
                              .plan = plan,
                              .sql = buffer_text(&sql),
                              .columns = 2,
                              .take = take_row,
                              .context = &finding};
    if (finding.map == NULL || buffer_failed(&sql) || lacks_exceptions(result)) {
        error_set(error, ERROR_MEMORY, 0, NULL,
                  "out of memory for what is known of each row (1 bit a row)");
    } else if (read_table(&reading, "reading the rows of the run back") == STATUS_OK) {
        row_map_settle(finding.map, result->session_list, verification);
        verification->state = VERIFICATION_DONE;
    } else {
        *error = reading.error;
    }
    row_map_destroy(finding.map);
    buffer_fini(&sql);
}

void verify_rows(const struct setup *setup, const struct plan *plan, struct result *result)
{
    struct row_verification *verification = &result->row_verification;
    memset(verification, 0, sizeof *verification);
    if (plan->verify_mode != VERIFY_ROWS) {
        return;
    }
    verification->state = VERIFICATION_FAILED;
    if (result->verification.state != VERIFICATION_DONE) {
        /* a server that could not be asked for a number will not send its rows */
        memcpy(verification->reason, result->verification.reason, sizeof verification->reason);
        return;
    }
    struct error error;
    error_clear(&error);
    read_back(setup, plan, result, &error);
    if (verification->state == VERIFICATION_FAILED) {
        snprintf(verification->reason, sizeof verification->reason, "%s", error.text);
    }
}
