/*
 * --verify count: counts the rows of the table again. --verify rows: reads every row of the run
 * back and tells of each whether it was acknowledged.
 *
 * Rows are known by run tag, session and row number (n1, n2, n3, see load/generator.h). One scan of
 * the table, row by row; one bit of memory for each row that was sent.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/ask.h"
#include "base/buffer.h"
#include "base/mono.h"
#include "base/random.h"
#include "load/generator.h"
#include "load/probe.h"
#include "load/setup.h"

#define HASTY_LIMIT_NS (10 * MONO_NS_PER_S)

enum {
    TAGS = INT16_MAX + 1
};

/* One query that is read row by row. */
struct reading {
    const char *sql;
    size_t columns;
    bool (*take)(void *context, const int64_t *values);
    void *context;
    struct probe *probe;
};

static bool take_numbers(void *context, const int64_t *values)
{
    struct reading *reading = context;
    probe_note_answer(reading->probe);
    return reading->take(reading->context, values);
}

static enum status read_numbers(struct probe *probe, struct adapter_conn *conn, struct error *error)
{
    struct reading *reading = probe->context;
    reading->probe = probe;
    const struct ask_numbers numbers = {reading->columns, take_numbers, reading};
    return ask_numbers(probe->plan->adapter, conn, reading->sql, &numbers, error);
}

static enum status read_table(const struct plan *plan, struct reading *reading, const char *notice,
                              struct error *error)
{
    struct probe probe = {
        .plan = plan,
        .open = PROBE_AGAIN,
        .work = read_numbers,
        .context = reading,
        .what = "the rows",
        .notice = notice,
        .limit_ns = plan->timeout_ns,
    };
    return probe_run(&probe, error);
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

static enum exit_code choose_tag(const struct plan *plan, const struct tags *tags, uint64_t *seed,
                                 struct error *error)
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
    for (int i = 0; tags->is_used[plan_run_tag(*seed)] && i < TRIES; i++) {
        *seed = random_seed();
    }
    if (tags->is_used[plan_run_tag(*seed)]) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--verify rows: table '%.100s' has rows of every run tag (n1): use --recreate",
                  plan->table_name);
        return EXIT_CODE_USAGE;
    }
    return EXIT_CODE_OK;
}

static enum exit_code find_free_tag(const struct setup *setup, const struct plan *plan,
                                    uint64_t *seed, struct error *error)
{
    struct tags tags = {0};
    struct buffer sql;
    buffer_init(&sql);
    buffer_add_text(&sql, "select distinct ");
    add_column(&sql, setup, "n1");
    add_table(&sql, setup);
    buffer_add_text(&sql, " is not null");
    struct reading reading = {
        .sql = buffer_text(&sql), .columns = 1, .take = take_tag, .context = &tags};
    enum status status = STATUS_FATAL;
    if (buffer_failed(&sql)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a statement");
    } else {
        status = read_table(plan, &reading, "looking for rows of earlier runs in the table", error);
    }
    buffer_fini(&sql);
    const enum exit_code code = probe_conclude(status, "the first session", error);
    return code == EXIT_CODE_OK ? choose_tag(plan, &tags, seed, error) : code;
}

enum exit_code verify_prepare(const struct setup *setup, const struct plan *plan, uint64_t *seed,
                              struct error *error)
{
    if (!generator_identifies_rows(plan, &setup->table)) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--verify rows: table '%.100s' has no columns n1 smallint, n2 int and n3 bigint "
                  "without --values, which tell the rows apart: use --verify count",
                  plan->table_name);
        return EXIT_CODE_USAGE;
    }
    return setup->rows_before == 0 ? EXIT_CODE_OK : find_free_tag(setup, plan, seed, error);
}

/* What the rows that are read are compared with. */
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
    struct reading reading = {
        .sql = buffer_text(&sql), .columns = 2, .take = take_row, .context = &finding};
    if (finding.map == NULL || buffer_failed(&sql) || lacks_exceptions(result)) {
        error_set(error, ERROR_MEMORY, 0, NULL,
                  "out of memory for what is known of each row (1 bit a row)");
    } else if (read_table(plan, &reading, "reading the rows of the run back", error) == STATUS_OK) {
        row_map_settle(finding.map, result->session_list, verification);
        verification->state = VERIFICATION_DONE;
    }
    row_map_destroy(finding.map);
    buffer_fini(&sql);
}

static void verify_rows(const struct setup *setup, const struct plan *plan, struct result *result)
{
    struct row_verification *verification = &result->row_verification;
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

struct recount {
    const struct setup *setup;
    uint64_t rows;
};

static enum status count_again(struct probe *probe, struct adapter_conn *conn, struct error *error)
{
    struct recount *recount = probe->context;
    return ask_count(probe->plan->adapter, conn, &recount->setup->count, &recount->rows, error);
}

static void verify_count(const struct setup *setup, const struct plan *plan, struct result *result)
{
    struct verification *verification = &result->verification;
    verification->rows_before = setup->rows_before;
    struct recount recount = {.setup = setup};
    /* a server that did not let sessions finish will not be quicker now */
    const bool is_hasty =
        result->sessions_cut > 0 && (plan->timeout_ns == 0 || plan->timeout_ns > HASTY_LIMIT_NS);
    struct probe probe = {
        .plan = plan,
        .open = PROBE_AGAIN,
        .work = count_again,
        .context = &recount,
        .what = "the count",
        .notice = "counting the rows of the table",
        .limit_ns = is_hasty ? HASTY_LIMIT_NS : plan->timeout_ns,
        .is_hasty = is_hasty,
    };
    struct error error;
    error_clear(&error);
    if (probe_run(&probe, &error) != STATUS_OK) {
        verification->state = VERIFICATION_FAILED;
        snprintf(verification->reason, sizeof verification->reason, "%s", error.text);
        return;
    }
    verification->state = VERIFICATION_DONE;
    verification->rows_after = recount.rows;
    verification_settle(verification, &result->rows);
}

void verify_result(const struct setup *setup, const struct plan *plan, struct result *result)
{
    memset(&result->verification, 0, sizeof result->verification);
    memset(&result->row_verification, 0, sizeof result->row_verification);
    if ((plan->adapter->flags & ADAPTER_DISCARDS) == 0) {
        verify_count(setup, plan, result);
    }
    verify_rows(setup, plan, result);
}
