#include "plan/options.h"

#include <endian.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "adapters/registry.h"
#include "base/mono.h"
#include "base/text.h"
#include "base/url.h"

#define MS (UINT64_C(1000000))
#define SECOND (1000 * MS)
#define DAY_NS (24 * 3600 * SECOND)

enum {
    CONTAINER_NAME_MAX = 100,
    RECONNECT_TRIES_MAX = 1000000,
    TRIES_MAX = 1000000,
    PASSWORD_OPTION = 256, /* --password: there is none */
    FIRST_LONG,            /* and on: places in the table */
    SHOWN_BYTES = 60
};

#define FORM_OF_DURATION "append SESSIONS [RECORDS] [TARGET] --duration T"
#define FORM_OF_SCRIPT "append SESSIONS [RECORDS] [TARGET] --workload NAME"

static const char *const read_words[] = {"count", "none", "query", NULL};
static const char *const data_words[] = {"varied", "constant", NULL};
static const char *const drop_words[] = {"continue", "stop", "reconnect", NULL};
static const char *const host_words[] = {"spread", "first", "random", NULL};
static const char *const axis_words[] = {"time", "rows", NULL};
static const char *const verify_words[] = {"count", "rows", NULL};
const char *const io_trace_words[] = {"off", "full", "requests", "try", NULL};
static const char *const prepared_words[] = {"yes", "no", NULL};

/* "--option 'value' is not <right>" */
static enum exit_code refuse(const struct option_entry *entry, const char *value, const char *right,
                             struct error *error)
{
    return usage_refuse(error, "--%s '%.*s' is not %s", entry->name, SHOWN_BYTES, value, right);
}

const void *option_at(const struct option_entry *entry, const struct plan *plan)
{
    return (const char *)plan + entry->offset;
}

/* Where a number of so many bytes is in one of all. */
static char *low_bytes(uint64_t *number, size_t bytes)
{
    return (char *)number + (BYTE_ORDER == LITTLE_ENDIAN ? 0 : sizeof *number - bytes);
}

uint64_t option_number(const struct option_entry *entry, const struct plan *plan)
{
    uint64_t number = 0;
    memcpy(low_bytes(&number, entry->bytes), option_at(entry, plan), entry->bytes);
    return number;
}

static void set_number(const struct option_entry *entry, struct plan *plan, uint64_t number)
{
    memcpy((char *)plan + entry->offset, low_bytes(&number, entry->bytes), entry->bytes);
}

/* As the type of the option has it. */
static enum exit_code store_usual(const struct option_entry *entry, struct plan *plan,
                                  const char *value, struct error *error)
{
    void *const at = (char *)plan + entry->offset;
    char right[80] = "";
    uint64_t number = 1; /* of a flag */
    int64_t ns = 0;
    bool is_good = true;
    switch (entry->type) {
    case OPTION_COUNT:
        is_good = units_parse_count(value, entry->max, &number) && number > 0;
        snprintf(right, sizeof right, "a whole number from 1 to %s", UNITS_COUNT(entry->max));
        break;
    case OPTION_BYTES:
        is_good = units_parse_bytes(value, entry->max, &number) && number > 0;
        snprintf(right, sizeof right, "a size up to %s (64K, 500M, 16G)", UNITS_BYTES(entry->max));
        break;
    case OPTION_TIME:
        is_good = units_parse_duration(value, (int64_t)entry->max, &ns);
        number = (uint64_t)ns;
        if (!is_good) {
            snprintf(right, sizeof right, "a time above 0 and up to %.0f s (5, 500ms, 30s, 2m, 1h)",
                     (double)entry->max / (double)SECOND);
        } else if (number < entry->min) {
            const bool is_whole = entry->min % SECOND == 0;
            snprintf(right, sizeof right, "at least %.0f %s",
                     (double)entry->min / (double)(is_whole ? SECOND : MS), is_whole ? "s" : "ms");
            is_good = false;
        }
        break;
    case OPTION_CHOICE: /* "count or rows" */
        is_good = false;
        for (size_t i = 0; entry->words[i] != NULL && !is_good; i++) {
            const size_t used = strlen(right);
            snprintf(right + used, sizeof right - used, "%s%s", i == 0 ? "" : " or ",
                     entry->words[i]);
            is_good = strcmp(entry->words[i], value) == 0;
            number = i;
        }
        break;
    case OPTION_TEXT:
        if (value[0] == '\0') {
            return refuse(entry, value, "allowed to be empty", error);
        }
        if (entry->max > 0 && strlen(value) >= entry->max) {
            return refuse(entry, value, "a path that is short enough", error);
        }
        *(const char **)at = value;
        return EXIT_CODE_OK;
    case OPTION_TEXTS: {
        struct plan_texts *list = at;
        if (list->count == PLAN_TEXTS_MAX) {
            return usage_refuse(error, "--%s can be given %d times", entry->name, PLAN_TEXTS_MAX);
        }
        list->texts[list->count++] = value;
        return EXIT_CODE_OK;
    }
    case OPTION_FLAG:
    case OPTION_OTHER:
        break;
    }
    if (!is_good) {
        return refuse(entry, value, right, error);
    }
    set_number(entry, plan, number);
    return EXIT_CODE_OK;
}

/* "1000,2k,4000" */
static enum exit_code store_list(const struct option_entry *entry, struct plan *plan,
                                 const char *value, struct error *error)
{
    struct sweep_list *list = (struct sweep_list *)(void *)((char *)plan + entry->offset);
    list->count = 0;
    for (const char *text = value;; text++) {
        const size_t length = strcspn(text, ",");
        char word[UNITS_TEXT_BYTES];
        uint64_t number = 0;
        snprintf(word, sizeof word, "%.*s", (int)(length < 31 ? length : 31), text);
        if (length >= sizeof word || !units_parse_count(word, entry->max, &number) || number == 0) {
            return usage_refuse(
                error, "--%s: '%.*s' is not a whole number from 1 to %s: give them as 1000,2000,4k",
                entry->name, (int)(length < 40 ? length : 40), text, UNITS_COUNT(entry->max));
        }
        for (size_t i = 0; i < list->count; i++) {
            if (list->values[i] == number) {
                return usage_refuse(error, "--%s has %s twice", entry->name, UNITS_COUNT(number));
            }
        }
        if (list->count == SWEEP_LIST_MAX) {
            return usage_refuse(error, "--%s has more than %d numbers", entry->name,
                                SWEEP_LIST_MAX);
        }
        list->values[list->count++] = number;
        text += length;
        if (*text == '\0') {
            return EXIT_CODE_OK;
        }
    }
}

/* In MariaDB's client -p is the password: what was given is not shown. */
static enum exit_code store_port(const struct option_entry *entry, struct plan *plan,
                                 const char *value, struct error *error)
{
    uint16_t port = 0;
    if (!url_parse_port(value, &port) || port == 0) {
        return usage_refuse(error,
                            "--port (-p) is not given a number from 1 to 65535; a password goes "
                            "into --password-file FILE or APPEND_PASSWORD");
    }
    set_number(entry, plan, port);
    return EXIT_CODE_OK;
}

/* The first line of the file, without its end. */
static enum exit_code store_password(const struct option_entry *entry, struct plan *plan,
                                     const char *value, struct error *error)
{
    FILE *file = fopen(value, "re");
    int byte = EOF, number = errno;
    size_t length = 0;
    if (file != NULL) {
        while ((byte = getc(file)) != EOF && byte != '\n' && byte != '\0' &&
               length < sizeof plan->password - 1) {
            plan->password[length++] = (char)byte;
        }
        number = ferror(file) ? errno : 0; /* a folder can be opened, too */
        fclose(file);
    }
    const bool is_whole = byte == EOF || byte == '\n';
    if (is_whole && length > 0 && plan->password[length - 1] == '\r') {
        length--;
    }
    plan->password[is_whole ? length : 0] = '\0';
    if (number != 0) {
        error_set(error, ERROR_USAGE, number, NULL, "--%s %s: %s", entry->name, value,
                  strerror(number));
        return EXIT_CODE_USAGE;
    }
    if (plan->password[0] == '\0') {
        return usage_refuse(error,
                            "--%s %s: its first line must have 1 to %zu bytes, none of them NUL",
                            entry->name, value, sizeof plan->password - 2);
    }
    return EXIT_CODE_OK;
}

static enum exit_code store_read(const struct option_entry *entry, struct plan *plan,
                                 const char *value, struct error *error)
{
    if (strchr(value, ' ') != NULL) {
        plan->read_mode = READ_QUERY;
        plan->read_sql = value;
    } else if (strcmp(value, "query") == 0 ||
               store_usual(entry, plan, value, NULL) != EXIT_CODE_OK) {
        return refuse(entry, value, "count, none or an SQL query", error);
    }
    return EXIT_CODE_OK;
}

/* One list holds all columns: of two, one would be forgotten. */
static enum exit_code store_columns(const struct option_entry *entry, struct plan *plan,
                                    const char *value, struct error *error)
{
    const char **to = (const char **)(void *)((char *)plan + entry->offset);
    if (*to != NULL) {
        return usage_refuse(error, "--%s is given twice: put a comma between columns", entry->name);
    }
    *to = value;
    return column_items_check(entry->name, value, to == &plan->values, error);
}

static enum exit_code store_seed(const struct option_entry *entry, struct plan *plan,
                                 const char *value, struct error *error)
{
    plan->is_seed_given = units_parse_count(value, INT64_MAX, &plan->seed);
    return plan->is_seed_given
               ? EXIT_CODE_OK
               : refuse(entry, value, "a whole number from 0 to 9223372036854775807", error);
}

/* "99%" is taken: *percent is 1 to 100, or 0 where it is none of these. */
static bool parse_percent(const char *value, unsigned *percent)
{
    const size_t length = strlen(value);
    char share[8];
    uint64_t number;
    *percent = 0;
    if (length == 0 || value[length - 1] != '%') {
        return false;
    }
    snprintf(share, sizeof share, "%.*s", (int)(length - 1 < 7 ? length - 1 : 7), value);
    if (length <= sizeof share && units_parse_count(share, 100, &number)) {
        *percent = (unsigned)number;
    }
    return true;
}

/* A number, or with % a share of the sessions. */
static enum exit_code store_min_sessions(const struct option_entry *entry, struct plan *plan,
                                         const char *value, struct error *error)
{
    plan->min_sessions = 0;
    if (!parse_percent(value, &plan->min_percent)) {
        return store_usual(entry, plan, value, error);
    }
    return plan->min_percent > 0
               ? EXIT_CODE_OK
               : refuse(entry, value, "a number of sessions or a share of 1% to 100%", error);
}

/* A number, 0 included, or with % a share of the transactions. */
static enum exit_code store_max_failed(const struct option_entry *entry, struct plan *plan,
                                       const char *value, struct error *error)
{
    plan->max_failed = 0;
    const bool is_share = parse_percent(value, &plan->max_failed_percent);
    return (is_share ? plan->max_failed_percent > 0
                     : units_parse_count(value, entry->max, &plan->max_failed))
               ? EXIT_CODE_OK
               : refuse(entry, value, "a number of transactions or a share of 1% to 100%", error);
}

static enum exit_code store_tries(const struct option_entry *entry, struct plan *plan,
                                  const char *value, struct error *error)
{
    return units_parse_count(value, entry->max, &plan->tries)
               ? EXIT_CODE_OK
               : refuse(entry, value, "a whole number from 0 (until it is through) to 1,000,000",
                        error);
}

static enum exit_code store_on_drop(const struct option_entry *entry, struct plan *plan,
                                    const char *value, struct error *error)
{
    static const char reconnect[] = "reconnect:";
    uint64_t tries;
    if (strncmp(value, reconnect, strlen(reconnect)) == 0 &&
        units_parse_count(value + strlen(reconnect), RECONNECT_TRIES_MAX, &tries) && tries > 0) {
        plan->drop_policy = DROP_RECONNECT;
        plan->reconnect_tries = (unsigned)tries;
        return EXIT_CODE_OK;
    }
    return store_usual(entry, plan, value, NULL) == EXIT_CODE_OK
               ? EXIT_CODE_OK
               : refuse(entry, value,
                        "continue, stop, reconnect or reconnect:TRIES, 1 to 1,000,000 "
                        "(reconnect:50)",
                        error);
}

static enum exit_code store_io_trace(const struct option_entry *entry, struct plan *plan,
                                     const char *value, struct error *error)
{
    return store_usual(entry, plan, value == NULL ? io_trace_words[IO_TRACE_FULL] : value, error);
}

/* Without names only tables that append made are dropped. */
static enum exit_code store_recreate(const struct option_entry *entry, struct plan *plan,
                                     const char *value, struct error *error)
{
    (void)entry;
    plan->is_recreate = true;
    plan->recreate_names = value;
    return value == NULL || value[0] != '\0'
               ? EXIT_CODE_OK
               : usage_refuse(error, "--recreate= names no table: --recreate=NAME,NAME, or "
                                     "--recreate for the tables that append made");
}

/* With a ! behind it the process need not hold the port. */
static enum exit_code store_server_pid(const struct option_entry *entry, struct plan *plan,
                                       const char *value, struct error *error)
{
    char number[24];
    const size_t length = strlen(value);
    plan->is_server_pid_forced = length > 1 && value[length - 1] == '!';
    snprintf(number, sizeof number, "%.*s", (int)(length - (plan->is_server_pid_forced ? 1 : 0)),
             value);
    return store_usual(entry, plan, length < sizeof number ? number : value, error);
}

static enum exit_code store_threshold(const struct option_entry *entry, struct plan *plan,
                                      const char *value, struct error *error)
{
    /* digits and a point only: strtod alone would take signs, "1e1" and "inf" */
    const size_t length = strspn(value, "0123456789.");
    char *end = NULL;
    const double percent = strtod(value, &end);
    const bool is_number = value[0] >= '0' && value[0] <= '9' && end == value + length;
    if (!is_number || (strcmp(end, "") != 0 && strcmp(end, "%") != 0) || !(percent > 0) ||
        !(percent < 100)) {
        return refuse(entry, value, "a share above 0 and below 100 % (5%)", error);
    }
    plan->compare.threshold = percent / 100;
    return EXIT_CODE_OK;
}

/* Bounds on ratios have no unit. Whether there are such figures is told by the runs. */
static enum exit_code store_fail_if(const struct option_entry *entry, struct plan *plan,
                                    const char *value, struct error *error)
{
    struct error why = {0};
    while (value != NULL) {
        struct bound bound;
        if (bound_parse(&bound, &value, &why) != STATUS_OK) {
            return usage_refuse(error, "--%s: %s", entry->name, why.text);
        }
        if (bound.unit[0] != '\0') {
            return usage_refuse(error,
                                "--%s: bound '%s': a ratio of B to A has no unit (throughput<0.95)",
                                entry->name, bound.text);
        }
        if (plan->compare.fail_if_count == PLAN_BOUNDS_MAX) {
            return usage_refuse(error, "--%s: bound '%s' is one too many: there may be %d",
                                entry->name, bound.text, PLAN_BOUNDS_MAX);
        }
        plan->compare.fail_if[plan->compare.fail_if_count++] = bound;
    }
    return EXIT_CODE_OK;
}

/* As Docker and Podman have names and ids: it becomes a word of their command line. */
static enum exit_code store_container(const struct option_entry *entry, struct plan *plan,
                                      const char *value, struct error *error)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    if (value[0] == '\0' || strlen(value) > CONTAINER_NAME_MAX ||
        strspn(value, allowed) != strlen(value) || strchr("_.-", value[0]) != NULL) {
        return refuse(entry, value, "a name or id of a container", error);
    }
    plan->container = value;
    return EXIT_CODE_OK;
}

/* PORT, HOST:PORT or [ADDRESS]:PORT */
static enum exit_code store_metrics(const struct option_entry *entry, struct plan *plan,
                                    const char *value, struct error *error)
{
    const char *host;
    size_t length;
    if (!url_parse_place(value, &host, &length, &plan->metrics_port) || plan->metrics_port == 0 ||
        length >= sizeof plan->metrics_host) {
        return refuse(entry, value, "PORT or HOST:PORT (9464, 0.0.0.0:9464, [::1]:9464)", error);
    }
    snprintf(plan->metrics_host, sizeof plan->metrics_host, "%.*s",
             (int)(length > 0 ? length : strlen("127.0.0.1")), length > 0 ? host : "127.0.0.1");
    return store_usual(entry, plan, value, error);
}

static enum exit_code store_mark(const struct option_entry *entry, struct plan *plan,
                                 const char *value, struct error *error)
{
    const char *equals = strchr(value, '=');
    char time[MOMENT_TEXT_BYTES] = "";
    struct mark mark = {.text = ""};
    if (equals != NULL && (size_t)(equals - value) < sizeof time) {
        memcpy(time, value, (size_t)(equals - value));
        mark.text = equals + 1;
    }
    if (mark.text[0] == '\0' || strpbrk(mark.text, "\r\n") != NULL ||
        !moment_parse(time, &mark.moment)) {
        return refuse(entry, value, "TIME=TEXT, TIME " MOMENT_FORM, error);
    }
    if (plan->mark_count == PLAN_TEXTS_MAX) {
        return usage_refuse(
            error, "--mark can be given %d times: append lines to the run's events.csv for more",
            PLAN_TEXTS_MAX);
    }
    plan->marks[plan->mark_count++] = mark;
    return store_usual(entry, plan, value, error);
}

#define AT(field)                                                                                  \
    .offset = offsetof(struct plan, field), .bytes = sizeof(((const struct plan *)NULL)->field)
#define FLAG(field) .type = OPTION_FLAG, AT(field)
#define COUNT(field, most) .type = OPTION_COUNT, AT(field), .max = (most)
#define SESSIONS(field) COUNT(field, PLAN_SESSIONS_MAX)
#define BYTES(field, most) .type = OPTION_BYTES, AT(field), .max = (most)
#define TIME(field, least, most) .type = OPTION_TIME, AT(field), .min = (least), .max = (most)
#define CHOICE(field, of) .type = OPTION_CHOICE, AT(field), .words = (of)
#define TEXT(field) .type = OPTION_TEXT, AT(field)
#define TEXTS(field) .type = OPTION_TEXTS, AT(field)
#define OTHER(field) .type = OPTION_OTHER, AT(field)
#define SHOWN(in_json, in_page) .key = (in_json), .label = (in_page)
#define OF(what) .scope = OPTION_OF_##what
#define OF_SERVER .is_of_server = true
#define WITHOUT_SCRIPT .work = OPTION_WITHOUT_SCRIPT
#define WITH_OWN_ROWS .work = OPTION_WITH_OWN_ROWS
#define WITH_SCRIPT .work = OPTION_WITH_SCRIPT

enum {
    RUN = COMMAND_RUN,
    RUN_ALONE = COMMAND_RUN | COMMAND_RUN_ALONE,
    CHECK = COMMAND_CHECK,
    SEARCH = COMMAND_FIND_MAX,
    SWEEP = COMMAND_SWEEP,
    REPORT = COMMAND_REPORT,
    COMPARE = COMMAND_COMPARE,
    PREPARE = COMMAND_PREPARE,
    CLEANUP = COMMAND_CLEANUP,
    LOAD = COMMAND_RUN | COMMAND_FIND_MAX,
    TABLES = LOAD | PREPARE | CLEANUP,
    MEASURE = LOAD | CHECK,
    ALL = COMMANDS_ALL,
};

const struct option_entry option_table[] = {
    {SWEEP, "sessions", "N,N,...", "sessions of the runs, down the tables", OTHER(sweep.sessions),
     .max = PLAN_SESSIONS_MAX, .store = store_list, OF(SWEEP), .letter = 'c', .group = "The sweep"},
    {SWEEP, "records", "N,N,...", "rows of the runs, across the tables", OTHER(sweep.records),
     .max = PLAN_RECORDS_MAX, .store = store_list, OF(SWEEP)},
    {SWEEP, "vary", "NAME=A,B,...", "a run for each value of the script's parameter",
     TEXTS(sweep.varied), OF(SWEEP), WITH_SCRIPT},
    {SWEEP, "repeat", "N", "runs of each size: median and spread (1)",
     COUNT(sweep.repeat, SWEEP_LIST_MAX), .usual = 1, OF(SWEEP)},
    {SWEEP, "keep-rows", NULL, "append to the rows of earlier runs", FLAG(sweep.is_keeping_rows),
     OF(SWEEP)},
    {SWEEP, "resume", "DIR", "resume the interrupted sweep in DIR", TEXT(sweep.resume), OF(CALL)},
    {SWEEP, "retry-failed", NULL, "with --resume: also rerun failed runs",
     FLAG(sweep.is_retrying_failed), OF(CALL)},

    {ALL, "adapter", "NAME", "database behind a port (found by asking it)", TEXT(adapter_name),
     .group = "Connection"},
    {ALL, "adapter-folder", "DIR", "where NAME.so is, an adapter that is not built in",
     TEXT(adapter_folder), .key = "adapter_folder"},
    {ALL, "host", "NAME", "server's host, or folder of its socket", TEXT(target.host),
     .key = "target.host", OF_SERVER, .letter = 'h'},
    {ALL, "port", "N", "server's port, in place of TARGET", COUNT(target.port, UINT16_MAX),
     .store = store_port, .key = "target.port", OF_SERVER, .letter = 'p'},
    {ALL, "user", "NAME", "user of the database", TEXT(target.user), .key = "target.user",
     OF_SERVER, .letter = 'U'},
    {ALL, "password-file", "FILE", "file whose first line is the password", OTHER(password),
     .store = store_password, OF(PLACE)},
    {ALL, "database", "NAME", "database to connect to", TEXT(target.database),
     .key = "target.database", OF_SERVER, .letter = 'd'},
    {TABLES, "schema", "NAME", "schema in which the table lives", TEXT(target.schema),
     SHOWN("target.schema", "Schema"), OF_SERVER},
    {ALL, "client-lib", "FILE|DIR", "machbase: client library ($MACHBASE_HOME/lib)",
     TEXT(target.client_lib), .key = "client_lib"},
    {MEASURE | PREPARE, "connect-concurrency", "N", "sessions that connect at a time (64)",
     SESSIONS(connect_concurrency), .usual = 64,
     SHOWN("connect_concurrency", "Connecting at a time")},
    {ALL, "connect-timeout", "T", "time for one connect, whole seconds (30)",
     TIME(connect_timeout_ns, SECOND, DAY_NS), .usual = 30 * SECOND},
    {TABLES, "wait", "T", "wait until the server accepts the first session",
     TIME(wait_ns, 0, DAY_NS), .key = "target.wait_s", .shows_zero = true},

    {RUN_ALONE | CHECK | PREPARE, "sessions", "N", "sessions, in place of the operand",
     SESSIONS(sessions), SHOWN("sessions", "Sessions"), .letter = 'c', .group = "Work"},
    {LOAD, "table", "NAME", "table to append to (syslog_table)", TEXT(table_name), .key = "table",
     WITHOUT_SCRIPT},
    {LOAD, "schema-file", "FILE", "SQL that creates the table when it is missing",
     TEXT(schema_file), .key = "schema_file", WITH_OWN_ROWS},
    {LOAD, "engine", "NAME", "mariadb, clickhouse: engine of a table made here", TEXT(engine),
     .key = "engine", WITH_OWN_ROWS},
    {LOAD | PREPARE, "recreate", "[=NAME,...]", "drop append's table and make it again; NAME: any",
     FLAG(is_recreate), .store = store_recreate, OF(SWEEP), .key = "is_recreate"},
    {CLEANUP, "drop", "NAME,...", "drop these tables, too, whoever made them",
     TEXT(recreate_names)},
    {LOAD | PREPARE, "method", "NAME", "how to append: see above (the first one)",
     TEXT(target.method), .key = "target.method"},
    {LOAD | PREPARE, "batch", "N", "rows in one append (100)",
     COUNT(batch_rows, PLAN_BATCH_ROWS_MAX), .usual = 100, SHOWN("batch_rows", "Rows in a batch"),
     WITHOUT_SCRIPT},
    {LOAD, "read", "count|none|SQL", "after an append: count(*), nothing or a query",
     CHOICE(read_mode, read_words), .store = store_read, SHOWN("read_mode", "Read after it"),
     WITHOUT_SCRIPT},
    {LOAD, "read-every", "N", "read after every N batches (1)", COUNT(read_every, UINT32_MAX),
     .usual = 1, SHOWN("read_every", "Read every, batches"), WITHOUT_SCRIPT},
    {LOAD, "data", "varied|constant", "rows that differ (default), or all alike",
     CHOICE(data_mode, data_words), SHOWN("data_mode", "Data"), WITH_OWN_ROWS},
    {LOAD, "values", "COLUMN=VALUES", "'id=1..1000, status=ok|failed': what columns get",
     TEXT(values), .store = store_columns, SHOWN("values", "Values"), WITH_OWN_ROWS},
    {LOAD, "skip-columns", "A,B", "columns left to their defaults, or NULL", TEXT(skip_columns),
     .store = store_columns, SHOWN("skip_columns", "Columns left out"), WITH_OWN_ROWS},
    {LOAD | PREPARE, "seed", "N", "repeat the rows of an earlier run", OTHER(seed),
     .store = store_seed, SHOWN("seed", "Seed")},
    {RUN, "rate", "N", "rows/s, of a script transactions/s, open loop",
     COUNT(rate_rows_per_s, 1000000000), SHOWN("rate_rows_per_s", "Rate, rows/s")},
    {RUN, "duration", "T", "append no longer than T, with or without RECORDS",
     TIME(duration_ns, 0, 30 * DAY_NS), SHOWN("duration_s", "Duration, s"), .letter = 'T'},
    {MEASURE | PREPARE, "stack-size", "BYTES", "stack of a session's thread (by adapter)",
     BYTES(stack_bytes, 1 << 30), .key = "stack_bytes"},

    {ALL, "workload", "NAME|FILE", "a script: oltp, tpcb, ... (see append help)", TEXT(workload),
     SHOWN("workload", "Workload"), .group = "Scripted workloads"},
    {ALL, "set", "NAME=VALUE,...", "parameters of the script (append help NAME)", TEXTS(sets),
     SHOWN("set", "Parameters set"), WITH_SCRIPT},
    {RUN, "transactions", "N", "end after N transactions of all sessions",
     COUNT(transactions, PLAN_RECORDS_MAX), SHOWN("transactions", "Transactions, at most"),
     WITH_SCRIPT},
    {RUN, "warm-up", "T", "what begins in the first T is in no figure (0)",
     TIME(warm_up_ns, 0, DAY_NS), SHOWN("warm_up_s", "Warm-up, s"), WITH_SCRIPT},
    {LOAD, "tries", "N", "tries of a transaction; 0: until it is through", OTHER(tries),
     .max = TRIES_MAX, .store = store_tries, SHOWN("tries", "Tries of a transaction, at most"),
     WITH_SCRIPT},
    {RUN, "late", "T", "with --rate: skip what is late by more (never)", TIME(late_ns, 0, DAY_NS),
     SHOWN("late_s", "Skipped when late by, s"), WITH_SCRIPT},
    {RUN, "max-failed", "N|P%", "transactions that may fail, else exit 1 (0)", OTHER(max_failed),
     .max = PLAN_RECORDS_MAX, .store = store_max_failed,
     SHOWN("max_failed", "Transactions that may fail"), WITH_SCRIPT},
    {MEASURE, "prepared", "yes|no", "prepare the statements (yes), or send text",
     CHOICE(is_unprepared, prepared_words), SHOWN("prepared", "Statements prepared"), WITH_SCRIPT},

    {RUN, "no-check", NULL, "run although a limit is certain to be hit", FLAG(is_unchecked),
     SHOWN("no_check", "No check of limits"), .group = "Limits and faults"},
    {RUN, "min-sessions", "N|N%", "sessions that must be up for the run to go on (1)",
     SESSIONS(min_sessions), .store = store_min_sessions,
     SHOWN("min_sessions", "Sessions required")},
    {RUN, "on-drop", "continue|stop|reconnect", "when a session is lost (continue)",
     CHOICE(drop_policy, drop_words), .store = store_on_drop, SHOWN("on_drop", "On drop")},
    {LOAD, "host-policy", "spread|first|random", "host of several to begin at (spread)",
     CHOICE(host_policy, host_words), SHOWN("host_policy", "Host policy")},
    {RUN, "timeout", "T", "cut off a call that takes longer (no limit)",
     TIME(timeout_ns, 100 * MS, DAY_NS), SHOWN("timeout_s", "Timeout of a call, s")},
    {RUN, "verify", "count|rows", "what is checked against the ledger (count)",
     CHOICE(verify_mode, verify_words), SHOWN("verify", "Verified")},
    {RUN | CHECK, "idle", "N", "extra sessions that only stay connected (0)",
     SESSIONS(idle_sessions), .shows_zero = true, SHOWN("idle_sessions", "Idle sessions")},
    {RUN, "churn", "N", "reconnect after every N batches (off)", COUNT(churn_batches, UINT32_MAX),
     SHOWN("churn_batches", "Churn, batches"), WITHOUT_SCRIPT},

    {SEARCH, "first", "N", "sessions of the first level (10)", SESSIONS(search.first),
     SHOWN("first", "First level, sessions"), .group = "The search"},
    {SEARCH, "hold", "T", "how long a level is held (5)", TIME(search.hold_ns, 0, DAY_NS),
     .usual = 5 * SECOND, SHOWN("hold_s", "Hold, s")},
    {SEARCH, "max-sessions", "N", "most sessions (what this machine holds)",
     SESSIONS(search.max_sessions), SHOWN("max_sessions", "Sessions, at most")},
    {SEARCH, "max-time", "T", "end the search after a time (10m)",
     TIME(search.max_time_ns, 0, 30 * DAY_NS), .usual = 600 * SECOND, .key = "max_time_s"},
    {SEARCH, "max-memory", "SIZE", "most memory of this machine in use (90 %)",
     BYTES(search.max_memory_bytes, UINT64_C(1) << 50), .key = "max_memory_bytes"},
    {SEARCH, "max-rows", "N", "end the search after N rows",
     COUNT(search.max_rows, PLAN_RECORDS_MAX), SHOWN("max_rows", "Rows, at most")},
    {SEARCH, "max-bytes", "SIZE", "end it when the values of its rows reach SIZE (2G)",
     BYTES(search.max_bytes, UINT64_C(1) << 50), .key = "max_bytes"},
    {SEARCH, "p99", "T", "name the level where append's p99 passes T",
     TIME(search.p99_bound_ns, 0, DAY_NS), SHOWN("p99_s", "Bound of append's p99, s")},

    {RUN, "expect", "BOUNDS", "exit 5 unless met: 'throughput>=50k, lost==0'", TEXTS(expected),
     .key = "expect", .group = "Expectations"},
    {RUN_ALONE, "junit", "FILE", "outcome and expectations as JUnit XML", TEXT(junit), OF(CALL),
     .key = "junit"},
    {RUN_ALONE, "ycsb-out", "FILE", "what YCSB prints of a run", TEXT(ycsb), OF(CALL),
     .key = "ycsb_out", WITH_SCRIPT},
    {COMPARE, "fail-if", "BOUNDS", "exit 5 when B/A is: 'throughput<0.95'", OTHER(compare.fail_if),
     .store = store_fail_if},
    {COMPARE, "threshold", "N%", "smaller differences do not count (5%)", OTHER(compare.threshold),
     .store = store_threshold},

    {RUN, "sample-interval", "T", "CPU and memory, a sample every T (3)",
     TIME(sample_interval_ns, 100 * MS, DAY_NS), .usual = 3 * SECOND,
     SHOWN("sample_interval_s", "Sample interval, s"), .group = "Measuring and reporting"},
    {SEARCH, "sample-interval", "T", "CPU and memory (1, at most half of --hold)",
     TIME(sample_interval_ns, 100 * MS, DAY_NS)},
    {RUN | CHECK, "io-trace", "[=full|requests|try]", "trace each I/O of the server, by layer",
     CHOICE(io_trace, io_trace_words), .store = store_io_trace, SHOWN("io_trace", "I/O trace")},
    {MEASURE, "server-pid", "PID[!]", "server's process (found by its port); !: unchecked",
     COUNT(server_pid, INT32_MAX), .store = store_server_pid, OF(PLACE), .key = "server_pid",
     OF_SERVER},
    {MEASURE, "server-cgroup", "DIR", "server's cgroup folder, for its memory", TEXT(server_cgroup),
     OF(PLACE), .key = "server_cgroup", OF_SERVER},
    {MEASURE, "data-directory", "DIR", "server's files, whose disk is measured (asked of it)",
     TEXT(data_directory), OF(PLACE), .key = "data_directory", OF_SERVER},
    {LOAD, "out", "DIR", "folder of the files (append-runs/...)", TEXT(out), OF(CALL)},
    {REPORT, "out", "FILE", "the page (report.html)", TEXT(out)},
    {RUN_ALONE | PREPARE, "progress", "T", "a line of progress every T",
     TIME(progress_ns, SECOND, DAY_NS), .key = "progress_s", .letter = 'P'},
    {ALL, "quiet", NULL, "no progress", FLAG(is_quiet), OF(CALL), .key = "quiet", .letter = 'q'},
    {MEASURE | REPORT | COMPARE, "json", NULL, "report as JSON on standard output", FLAG(is_json),
     OF(CALL), .key = "json"},
    {RUN_ALONE, "plan", NULL, "print the plan and end", FLAG(is_plan_only)},
    {RUN_ALONE, "version", NULL, "print versions and end", FLAG(is_version), .letter = 'V'},
    {ALL | REPORT | COMPARE, "help", NULL, "print this text (also -h alone)", FLAG(is_help)},

    {MEASURE, "container", "NAME", "server's container, of docker or podman", TEXT(container),
     .store = store_container, .key = "container", OF_SERVER, .group = "Watching a run"},
    {LOAD, "metrics", "[HOST:]PORT", "serve /metrics for Prometheus during the run", TEXT(metrics),
     .store = store_metrics, OF(PLACE), .key = "metrics"},
    {LOAD, "metrics-file", "FILE", "the same into a file, for node_exporter", TEXT(metrics_file),
     .max = PLAN_PATH_BYTES, OF(PLACE), .key = "metrics_file"},
    {RUN, "mark", "TIME=TEXT", "line in the charts (more: events.csv of the run)",
     TEXTS(mark_texts), .store = store_mark, .key = "mark"},

    {LOAD, "weights", "W,W,...", "share of the sessions of each rank (alike)", TEXT(weights),
     .key = "weights", .group = "Several machines (mpirun)"},
    {LOAD, "sample-only", "HOST", "its ranks carry no sessions, and sample the server",
     TEXTS(sample_only), .key = "sample_only"},

    {RUN_ALONE | SWEEP, "report", NULL, "write report.html with charts at the end", FLAG(is_report),
     OF(CALL), .key = "report", .group = "Charts and report"},
    {REPORT, "text", NULL, "charts as text on standard output, no page", FLAG(charts.is_text)},
    {REPORT, "png", NULL, "also each chart as a PNG file beside the page", FLAG(charts.is_png)},
    {REPORT, "x-axis", "time|rows", "what charts over time are drawn against (time)",
     CHOICE(charts.x_axis, axis_words)},
    {REPORT, "all", NULL, "with several runs, also the charts of each", FLAG(charts.is_all)},
    {.name = NULL},
};

bool option_is_of(const struct option_entry *entry, enum command command)
{
    const bool is_of_runs = (entry->commands & RUN_ALONE) == RUN;
    return (entry->commands & command) != 0 || (command == COMMAND_SWEEP && is_of_runs);
}

bool option_may_stand_alone(const struct option_entry *entry)
{
    return entry->argument == NULL || strncmp(entry->argument, "[=", 2) == 0;
}

const struct option_entry *option_find(const char *name, enum command command)
{
    for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
        if (strcmp(entry->name, name) == 0 && option_is_of(entry, command)) {
            return entry;
        }
    }
    return NULL;
}

const struct option_entry *option_of_server(const struct plan *plan)
{
    for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
        if (entry->is_of_server &&
            (entry->type == OPTION_TEXT ? *(const char *const *)option_at(entry, plan) != NULL
                                        : option_number(entry, plan) != 0)) {
            return entry;
        }
    }
    return NULL;
}

void options_init(struct plan *plan, enum command command)
{
    *plan = (struct plan){.command = command,
                          .table_name = PLAN_DEFAULT_TABLE,
                          .reconnect_tries = 20,
                          .tries = UINT64_MAX,
                          .compare.threshold = 0.05};
    for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
        if (entry->usual != 0) {
            set_number(entry, plan, entry->usual);
        }
    }
    if (command == COMMAND_FIND_MAX) {
        plan->is_search = true;
        /* count(*) gets slower as the table grows, which is not for the number of sessions */
        plan->read_mode = READ_NONE;
        plan->sample_interval_ns = 0; /* by the length of a hold */
    }
}

enum exit_code option_take(struct plan *plan, const struct option_entry *entry, const char *value,
                           struct error *error)
{
    if (plan->given_count == PLAN_GIVEN_MAX) {
        return usage_refuse(error, "more than %d options", PLAN_GIVEN_MAX);
    }
    plan->given[plan->given_count++] = (struct given_option){entry, value};
    return (entry->store != NULL ? entry->store : store_usual)(entry, plan, value, error);
}

/* What getopt does not take. What stands behind an '=' may be a password. */
static enum exit_code refuse_option(const struct command_form *form, int code, const char *word,
                                    struct error *error)
{
    if (code == PASSWORD_OPTION || strncmp(word, "--pass", strlen("--pass")) == 0) {
        return usage_refuse(error,
                            "a password does not belong on the command line, where everybody "
                            "can read it: use --password-file FILE or APPEND_PASSWORD");
    }
    if (code == ':') {
        return usage_refuse(error, "%s needs a value: see append --help", word);
    }
    if (optopt >= '0' && optopt <= '9') {
        return usage_refuse(
            error, "'%.40s' is no count: SESSIONS and RECORDS are whole numbers from 1", word);
    }
    if (optopt >= FIRST_LONG) {
        return usage_refuse(error, "%.*s takes no value", (int)strcspn(word, "="), word);
    }
    if (optopt != 0) {
        return usage_refuse(error, "unknown option '-%c': see append --help", optopt);
    }
    char name[SHOWN_BYTES];
    struct nearest nearest = {.word = name};
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
        if (strcmp(entry->name, name) == 0) { /* another command's */
            return usage_refuse(error, "--%s is no option of '%s': see append help%s%s", name,
                                form->usage, form->name == NULL ? "" : " ",
                                form->name == NULL ? "" : form->name);
        }
        if (option_is_of(entry, form->command)) {
            nearest_offer(&nearest, entry->name);
        }
    }
    return nearest.name != NULL
               ? usage_refuse(error, "unknown option '--%s': did you mean --%s?", name,
                              nearest.name)
               : usage_refuse(error, "unknown option '--%s': see append --help", name);
}

static enum exit_code parse_count(const char *name, const char *text, uint64_t max, uint64_t *value,
                                  struct error *error)
{
    if (units_parse_count(text, max, value) && *value > 0) {
        return EXIT_CODE_OK;
    }
    char shown[SHOWN_BYTES];
    target_redact(text, shown, sizeof shown); /* it may be a target out of its place */
    return usage_refuse(error, "%s '%.40s' is not a whole number from 1 to %s (10000000 or 10M)",
                        name, shown, UNITS_COUNT(max));
}

/* Whether a word can only be a target: a URL, "adapter:...", or HOST:PORT. */
static bool is_target(const char *word)
{
    const char *const colon = strrchr(word, ':');
    uint16_t port;
    bool is = strstr(word, "://") != NULL ||
              (colon != NULL && url_parse_port(colon + 1, &port) && port > 0);
    for (const struct adapter *const *a = registry_adapters; *a != NULL; a++) {
        const size_t length = strlen((*a)->name);
        is = is || (strncmp(word, (*a)->name, length) == 0 && word[length] == ':');
    }
    return is;
}

static bool is_listening(uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool is =
        sock >= 0 && connect(sock, (const struct sockaddr *)&address, sizeof address) == 0;
    if (sock >= 0) {
        close(sock);
    }
    return is;
}

/* Where a port is most likely meant, a run of so many rows elsewhere would surprise. With a script,
 * whose runs seldom have RECORDS, any port is. */
static enum exit_code refuse_port(const struct plan *plan, const char *word, struct error *error)
{
    uint16_t port = 0;
    if (!url_parse_port(word, &port) || port == 0) {
        return EXIT_CODE_OK;
    }
    if (plan->workload != NULL) {
        return usage_refuse(error,
                            "%s is a port or RECORDS: give --duration T or --transactions N for "
                            "the server on that port, or RECORDS and then a target",
                            word);
    }
    for (const struct adapter *const *a = registry_adapters; *a != NULL; a++) {
        if ((*a)->default_port == port) {
            return usage_refuse(error,
                                "%s stands where RECORDS does and is the port of %s: write "
                                "localhost:%s for the server, or RECORDS and then a target",
                                word, (*a)->name, word);
        }
    }
    return plan->duration_ns > 0 && is_listening(port)
               ? usage_refuse(error,
                              "%s may be RECORDS or the port of the server that listens there: "
                              "write localhost:%s for the server, or RECORDS and then a target",
                              word, word)
               : EXIT_CODE_OK;
}

/* RECORDS can be left out where something else ends the run. A number alone is RECORDS, and a port
 * comes behind; for a script that something else ends it is the target. */
static enum exit_code parse_operands(struct plan *plan, const struct command_form *form, int count,
                                     char *const *operands, struct error *error)
{
    const size_t folders = form->folders_most > 0 ? (size_t)count : 0;
    if (folders < form->folders_least) {
        return usage_refuse(error, "too few operands: use %s, see append --help", form->usage);
    }
    if (folders > form->folders_most) {
        return usage_refuse(error, "too many operands: use %s (at most %zu), see append --help",
                            form->usage, form->folders_most);
    }
    for (size_t i = 0; i < folders; i++) {
        char shown[SHOWN_BYTES];
        target_redact(operands[i], shown, sizeof shown);
        if (strncmp(shown, operands[i], strlen(shown)) != 0 && access(operands[i], F_OK) != 0) {
            return usage_refuse(error, "'%s' is a target, not a folder of a run", shown);
        }
    }
    plan->folders = operands;
    plan->folder_count = folders;
    if (form->folders_most > 0) {
        return EXIT_CODE_OK;
    }
    const bool is_run = form->command == COMMAND_RUN;
    const bool is_prepare = form->command == COMMAND_PREPARE;
    uint16_t port;
    const bool is_number = count == 1 && url_parse_port(operands[0], &port) && !is_listening(port);
    if (is_prepare && plan->sessions == 0 && count < 2 && !is_number) { /* one is the target */
        const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
        plan->sessions = cpus > 0 ? (unsigned)cpus : 1;
    }
    const bool has_sessions =
        (is_run || form->command == COMMAND_CHECK || is_prepare) && plan->sessions == 0;
    if (has_sessions && count > 0 && is_target(operands[0])) {
        return usage_refuse(error, "SESSIONS is missing before the target: use %s", form->usage);
    }
    const int first = has_sessions ? 1 : 0;
    const bool is_bounded = plan->duration_ns != 0 || plan->transactions != 0;
    const bool can_lack_records = !is_run || is_bounded || plan->workload != NULL;
    uint64_t number;
    /* what a script appends is bounded in other ways: then one operand is its target */
    const bool may_be_records = count == first + 1 &&
                                units_parse_count(operands[first], UINT64_MAX, &number) &&
                                (plan->workload == NULL || !is_bounded);
    const bool has_records = is_run && (!can_lack_records || count > first + 1 || may_be_records);
    const int least = first + (can_lack_records ? 0 : 1);
    const int most = first + (has_records ? 1 : 0) + 1;
    if (count < least || count > most) {
        return usage_refuse(error, "%s operands: use %s, see append --help",
                            count < least ? "too few" : "too many",
                            !is_run || !can_lack_records ? form->usage
                            : plan->workload != NULL     ? FORM_OF_SCRIPT
                                                         : FORM_OF_DURATION);
    }
    enum exit_code code = EXIT_CODE_OK;
    if (has_sessions) {
        code = parse_count("SESSIONS", operands[0], PLAN_SESSIONS_MAX, &number, error);
        plan->sessions = code == EXIT_CODE_OK ? (unsigned)number : 0;
    }
    if (code == EXIT_CODE_OK && has_records && count < most && plan->target.port == 0) {
        code = refuse_port(plan, operands[first], error);
    }
    if (code == EXIT_CODE_OK && has_records && is_target(operands[first])) {
        return usage_refuse(error, "RECORDS or --duration is missing: use %s, or %s", form->usage,
                            FORM_OF_DURATION);
    }
    if (code == EXIT_CODE_OK && has_records) {
        code = parse_count("RECORDS", operands[first], PLAN_RECORDS_MAX, &plan->records, error);
    }
    plan->target_given = count > most - 1 ? operands[most - 1] : NULL;
    return code;
}

static enum exit_code parse(struct plan *plan, const struct command_form *form, int argc,
                            char **argv, struct error *error)
{
    struct option longs[COUNT_OF(option_table) + 1];
    char letters[2 * COUNT_OF(option_table) + 2] = ":"; /* a missing value is told apart */
    char *letter = letters + 1;
    size_t count = 0;
    for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
        if (option_is_of(entry, form->command)) {
            longs[count++] = (struct option){
                .name = entry->name,
                .has_arg = entry->argument == NULL         ? no_argument
                           : option_may_stand_alone(entry) ? optional_argument
                                                           : required_argument,
                .val = FIRST_LONG + (int)(entry - option_table),
            };
            if (entry->letter != '\0') {
                *letter++ = entry->letter;
                *letter = entry->argument == NULL ? '\0' : ':';
                letter += entry->argument == NULL ? 0 : 1;
            }
        }
    }
    *letter = '\0';
    /* else getopt takes it for an abbreviation, and the password for the name of a file */
    longs[count++] = (struct option){"password", optional_argument, NULL, PASSWORD_OPTION};
    longs[count] = (struct option){0};
    opterr = 0;
    optind = 0; /* getopt forgets the words of an earlier call, which 1 does not make it do */
    int code;
    while ((code = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        const struct option_entry *entry = option_table;
        while (code < FIRST_LONG && entry->name != NULL &&
               (entry->letter != code || !option_is_of(entry, form->command))) {
            entry++;
        }
        entry += code < FIRST_LONG ? 0 : code - FIRST_LONG;
        /* -h HOST is pgbench's and psql's; without a host, or where none is taken, it asks for
         * help, and so does their -? */
        if ((code == '?' || code == ':') && (optopt == 'h' || optopt == '?')) {
            plan->is_help = true;
        } else if (entry->name == NULL) {
            return refuse_option(form, code, argv[optind > 0 ? optind - 1 : 0], error);
        } else if (option_take(plan, entry, optarg, error) != EXIT_CODE_OK) {
            return EXIT_CODE_USAGE;
        }
        if (plan->is_help || plan->is_version) {
            return EXIT_CODE_OK;
        }
    }
    return parse_operands(plan, form, argc - optind, argv + optind, error);
}

enum exit_code options_parse(struct plan *plan, const struct command_form *form, int argc,
                             char **argv, struct error *error)
{
    options_init(plan, form->command);
    const enum exit_code code = parse(plan, form, argc, argv, error);
    for (int i = 1; i < argc && code != EXIT_CODE_OK; i++) {
        /* also behind the option that is wrong */
        plan->is_json = plan->is_json || strcmp(argv[i], "--json") == 0;
    }
    return code;
}
