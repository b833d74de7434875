#include "plan/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mono.h"
#include "base/units.h"
#include "base/url.h"
#include "plan/columns.h"

#define DAY_NS (UINT64_C(24) * 3600 * MONO_NS_PER_S)

enum {
    CONTAINER_NAME_MAX = 100,
    RECONNECT_TRIES_MAX = 1000000,
    SHOWN_MAX = 60
};

/* "--option 'value' is not <right>" */
static enum status refuse(const struct option_entry *entry, const char *value, const char *right,
                          struct error *error)
{
    error_set(error, ERROR_USAGE, 0, NULL, "--%s '%.*s' is not %s", entry->name, SHOWN_MAX, value,
              right);
    return STATUS_REJECTED;
}

const void *option_at(const struct option_entry *entry, const struct plan *plan)
{
    return (const char *)plan + entry->offset;
}

uint64_t option_number(const struct option_entry *entry, const struct plan *plan)
{
    const void *at = option_at(entry, plan);
    switch (entry->bytes) {
    case 1:
        return *(const uint8_t *)at;
    case 2:
        return *(const uint16_t *)at;
    case 4:
        return *(const uint32_t *)at;
    default:
        return *(const uint64_t *)at;
    }
}

static void set_number(const struct option_entry *entry, struct plan *plan, uint64_t value)
{
    void *at = (char *)plan + entry->offset;
    switch (entry->bytes) {
    case 1:
        *(uint8_t *)at = (uint8_t)value;
        break;
    case 2:
        *(uint16_t *)at = (uint16_t)value;
        break;
    case 4:
        *(uint32_t *)at = (uint32_t)value;
        break;
    default:
        *(uint64_t *)at = value;
    }
}

/* What would be right, of COUNT, BYTES and TIME. */
static void describe_range(const struct option_entry *entry, bool is_small, char *right,
                           size_t size)
{
    const int64_t unit = entry->min % MONO_NS_PER_S == 0 ? MONO_NS_PER_S : MONO_NS_PER_MS;
    if (entry->type == OPTION_COUNT) {
        snprintf(right, size, "a whole number from 1 to %s", UNITS_COUNT(entry->max));
    } else if (entry->type == OPTION_BYTES) {
        snprintf(right, size, "a size up to %s (64K, 500M, 16G)", UNITS_BYTES(entry->max));
    } else if (is_small) {
        snprintf(right, size, "at least %.0f %s", (double)entry->min / (double)unit,
                 unit == MONO_NS_PER_S ? "s" : "ms");
    } else {
        snprintf(right, size, "a time above 0 and up to %.0f s (5, 500ms, 30s, 2m, 1h)",
                 (double)entry->max / (double)MONO_NS_PER_S);
    }
}

static enum status store_number(const struct option_entry *entry, struct plan *plan,
                                const char *value, struct error *error)
{
    uint64_t number = 0;
    int64_t ns = 0;
    bool is_number;
    if (entry->type == OPTION_TIME) {
        is_number = units_parse_duration(value, (int64_t)entry->max, &ns);
        number = (uint64_t)ns;
    } else {
        is_number = entry->type == OPTION_BYTES ? units_parse_bytes(value, entry->max, &number)
                                                : units_parse_count(value, entry->max, &number);
    }
    if (!is_number || number == 0 || number < entry->min) {
        char right[80];
        describe_range(entry, is_number, right, sizeof right);
        return refuse(entry, value, right, error);
    }
    set_number(entry, plan, number);
    return STATUS_OK;
}

static enum status store_text(const struct option_entry *entry, struct plan *plan,
                              const char *value, struct error *error)
{
    if (value[0] == '\0') {
        return refuse(entry, value, "allowed to be empty", error);
    }
    if (entry->max > 0 && strlen(value) >= entry->max) {
        return refuse(entry, value, "a path that is short enough", error);
    }
    *(const char **)(void *)((char *)plan + entry->offset) = value;
    return STATUS_OK;
}

static enum status store_texts(const struct option_entry *entry, struct plan *plan,
                               const char *value, struct error *error)
{
    struct plan_texts *list = (struct plan_texts *)(void *)((char *)plan + entry->offset);
    if (list->count == PLAN_TEXTS_MAX) {
        error_set(error, ERROR_USAGE, 0, NULL, "--%s can be given %d times", entry->name,
                  PLAN_TEXTS_MAX);
        return STATUS_REJECTED;
    }
    list->texts[list->count++] = value;
    return STATUS_OK;
}

/* "count or rows" */
static enum status store_choice(const struct option_entry *entry, struct plan *plan,
                                const char *value, struct error *error)
{
    char right[80] = "";
    for (size_t i = 0; entry->words[i] != NULL; i++) {
        if (strcmp(entry->words[i], value) == 0) {
            set_number(entry, plan, i);
            return STATUS_OK;
        }
        const size_t used = strlen(right);
        snprintf(right + used, sizeof right - used, "%s%s", i == 0 ? "" : " or ", entry->words[i]);
    }
    return refuse(entry, value, right, error);
}

enum status option_store(const struct option_entry *entry, struct plan *plan, const char *value,
                         struct error *error)
{
    if (entry->store != NULL) {
        return entry->store(entry, plan, value, error);
    }
    switch (entry->type) {
    case OPTION_COUNT:
    case OPTION_BYTES:
    case OPTION_TIME:
        return store_number(entry, plan, value, error);
    case OPTION_TEXT:
        return store_text(entry, plan, value, error);
    case OPTION_TEXTS:
        return store_texts(entry, plan, value, error);
    case OPTION_CHOICE:
        return store_choice(entry, plan, value, error);
    case OPTION_FLAG:
    case OPTION_OTHER:
        break;
    }
    set_number(entry, plan, 1);
    return STATUS_OK;
}

/* "1000,2k,4000" */
static enum status store_list(const struct option_entry *entry, struct plan *plan,
                              const char *value, struct error *error)
{
    struct sweep_list *list = (struct sweep_list *)(void *)((char *)plan + entry->offset);
    list->count = 0;
    for (const char *text = value;;) {
        const size_t length = strcspn(text, ",");
        char word[UNITS_TEXT_BYTES];
        uint64_t number = 0;
        snprintf(word, sizeof word, "%.*s", (int)(length < 31 ? length : 31), text);
        if (length >= sizeof word || !units_parse_count(word, entry->max, &number) || number == 0) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "--%s: '%.*s' is not a whole number from 1 to %s: give them as 1000,2000,4k",
                      entry->name, (int)(length < 40 ? length : 40), text, UNITS_COUNT(entry->max));
            return STATUS_REJECTED;
        }
        for (size_t i = 0; i < list->count; i++) {
            if (list->values[i] == number) {
                error_set(error, ERROR_USAGE, 0, NULL, "--%s has %s twice", entry->name,
                          UNITS_COUNT(number));
                return STATUS_REJECTED;
            }
        }
        if (list->count == SWEEP_LIST_MAX) {
            error_set(error, ERROR_USAGE, 0, NULL, "--%s has more than %d numbers", entry->name,
                      SWEEP_LIST_MAX);
            return STATUS_REJECTED;
        }
        list->values[list->count++] = number;
        if (text[length] == '\0') {
            return STATUS_OK;
        }
        text += length + 1;
    }
}

/* In MariaDB's client -p is the password: what was given is not shown. */
static enum status store_port(const struct option_entry *entry, struct plan *plan,
                              const char *value, struct error *error)
{
    uint16_t port = 0;
    if (url_parse_port(value, &port) && port != 0) {
        set_number(entry, plan, port);
        return STATUS_OK;
    }
    error_set(error, ERROR_USAGE, 0, NULL,
              "--port (-p) is not given a number from 1 to 65535; a password goes into "
              "--password-file FILE or APPEND_PASSWORD");
    return STATUS_REJECTED;
}

/* The first line of the file, without its end. */
static enum status store_password(const struct option_entry *entry, struct plan *plan,
                                  const char *value, struct error *error)
{
    FILE *file = fopen(value, "re");
    int number = file == NULL ? errno : 0;
    int byte = EOF;
    size_t length = 0;
    if (file != NULL) {
        errno = 0;
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
        return STATUS_REJECTED;
    }
    if (plan->password[0] == '\0') {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--%s %s: its first line must have 1 to %zu bytes, none of them NUL", entry->name,
                  value, sizeof plan->password - 2);
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

static enum status store_read(const struct option_entry *entry, struct plan *plan,
                              const char *value, struct error *error)
{
    if (strcmp(value, "count") == 0) {
        plan->read_mode = READ_COUNT;
    } else if (strcmp(value, "none") == 0) {
        plan->read_mode = READ_NONE;
    } else if (strchr(value, ' ') != NULL) {
        plan->read_mode = READ_QUERY;
        plan->read_sql = value;
    } else {
        return refuse(entry, value, "count, none or an SQL query", error);
    }
    return STATUS_OK;
}

/* One list holds all columns: of two, one would be forgotten. */
static enum status store_columns(const struct option_entry *entry, struct plan *plan,
                                 const char *value, struct error *error)
{
    const char **to = (const char **)(void *)((char *)plan + entry->offset);
    if (*to != NULL) {
        error_set(error, ERROR_USAGE, 0, NULL, "--%s is given twice: put a comma between columns",
                  entry->name);
        return STATUS_REJECTED;
    }
    *to = value;
    return column_items_check(entry->name, value, to == &plan->values, error);
}

static enum status store_seed(const struct option_entry *entry, struct plan *plan,
                              const char *value, struct error *error)
{
    plan->is_seed_given = units_parse_count(value, INT64_MAX, &plan->seed);
    return plan->is_seed_given
               ? STATUS_OK
               : refuse(entry, value, "a whole number from 0 to 9223372036854775807", error);
}

/* A number, or with % a share of the sessions. */
static enum status store_min_sessions(const struct option_entry *entry, struct plan *plan,
                                      const char *value, struct error *error)
{
    const size_t length = strlen(value);
    char share[8];
    uint64_t percent;
    plan->min_sessions = 0;
    plan->min_percent = 0;
    if (length == 0 || value[length - 1] != '%') {
        return store_number(entry, plan, value, error);
    }
    snprintf(share, sizeof share, "%.*s", (int)(length - 1 < 7 ? length - 1 : 7), value);
    if (length > sizeof share || !units_parse_count(share, 100, &percent) || percent == 0) {
        return refuse(entry, value, "a number of sessions or a share of 1% to 100%", error);
    }
    plan->min_percent = (unsigned)percent;
    return STATUS_OK;
}

static enum status store_on_drop(const struct option_entry *entry, struct plan *plan,
                                 const char *value, struct error *error)
{
    static const char reconnect[] = "reconnect:";
    uint64_t tries;
    if (strncmp(value, reconnect, strlen(reconnect)) == 0 &&
        units_parse_count(value + strlen(reconnect), RECONNECT_TRIES_MAX, &tries) && tries > 0) {
        plan->drop_policy = DROP_RECONNECT;
        plan->reconnect_tries = (unsigned)tries;
        return STATUS_OK;
    }
    if (store_choice(entry, plan, value, NULL) == STATUS_OK) {
        return STATUS_OK;
    }
    return refuse(entry, value,
                  "continue, stop, reconnect or reconnect:TRIES, 1 to 1,000,000 (reconnect:50)",
                  error);
}

static enum status store_threshold(const struct option_entry *entry, struct plan *plan,
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
    plan->threshold = percent / 100;
    return STATUS_OK;
}

/* Bounds on ratios have no unit. Whether there are such figures is told by the runs. */
static enum status store_fail_if(const struct option_entry *entry, struct plan *plan,
                                 const char *value, struct error *error)
{
    struct error why;
    error_clear(&why);
    while (value != NULL) {
        struct bound bound;
        if (bound_parse(&bound, &value, &why) != STATUS_OK) {
            break;
        }
        if (bound.unit[0] != '\0') {
            error_set(&why, ERROR_USAGE, 0, NULL,
                      "bound '%s': a ratio of B to A has no unit (throughput<0.95)", bound.text);
            break;
        }
        if (plan->fail_if_count == PLAN_BOUNDS_MAX) {
            error_set(&why, ERROR_USAGE, 0, NULL, "bound '%s' is one too many: there may be %d",
                      bound.text, PLAN_BOUNDS_MAX);
            break;
        }
        plan->fail_if[plan->fail_if_count++] = bound;
    }
    if (error_is_set(&why)) {
        error_set(error, why.kind, 0, NULL, "--%s: %s", entry->name, why.text);
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

/* As Docker and Podman have names and ids: it becomes a word of their command line. */
static enum status store_container(const struct option_entry *entry, struct plan *plan,
                                   const char *value, struct error *error)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    if (value[0] == '\0' || strlen(value) > CONTAINER_NAME_MAX ||
        strspn(value, allowed) != strlen(value) || strchr("_.-", value[0]) != NULL) {
        return refuse(entry, value, "a name or id of a container", error);
    }
    plan->container = value;
    return STATUS_OK;
}

/* PORT, HOST:PORT or [ADDRESS]:PORT */
static enum status store_metrics(const struct option_entry *entry, struct plan *plan,
                                 const char *value, struct error *error)
{
    const char *host;
    size_t length;
    uint16_t port;
    if (!url_parse_place(value, &host, &length, &port) || port == 0 ||
        length >= sizeof plan->metrics_host) {
        return refuse(entry, value, "PORT or HOST:PORT (9464, 0.0.0.0:9464, [::1]:9464)", error);
    }
    snprintf(plan->metrics_host, sizeof plan->metrics_host, "%.*s", (int)length, host);
    if (length == 0) {
        snprintf(plan->metrics_host, sizeof plan->metrics_host, "127.0.0.1");
    }
    plan->metrics_port = port;
    return store_text(entry, plan, value, error);
}

static enum status store_mark(const struct option_entry *entry, struct plan *plan,
                              const char *value, struct error *error)
{
    const char *equals = strchr(value, '=');
    char time[MOMENT_TEXT_BYTES] = "";
    struct mark mark = {0};
    if (equals != NULL && (size_t)(equals - value) < sizeof time) {
        memcpy(time, value, (size_t)(equals - value));
        mark.text = equals + 1;
    }
    if (mark.text == NULL || mark.text[0] == '\0' || strpbrk(mark.text, "\r\n") != NULL ||
        !moment_parse(time, &mark.moment)) {
        return refuse(entry, value, "TIME=TEXT, TIME " MOMENT_FORM, error);
    }
    if (plan->mark_count == PLAN_TEXTS_MAX) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--mark can be given %d times: append lines to the run's events.csv for more",
                  PLAN_TEXTS_MAX);
        return STATUS_REJECTED;
    }
    plan->marks[plan->mark_count++] = mark;
    return store_texts(entry, plan, value, error);
}

static const char *const read_words[] = {"count", "none", "query", NULL};
static const char *const data_words[] = {"varied", "constant", NULL};
static const char *const drop_words[] = {"continue", "stop", "reconnect", NULL};
static const char *const verify_words[] = {"count", "rows", NULL};

#define AT(field)                                                                                  \
    .offset = offsetof(struct plan, field), .bytes = sizeof(((const struct plan *)NULL)->field)
#define FLAG(field) .type = OPTION_FLAG, AT(field)
#define COUNT(field, most) .type = OPTION_COUNT, AT(field), .max = (most)
#define BYTES(field, most) .type = OPTION_BYTES, AT(field), .max = (most)
#define TIME(field, least, most) .type = OPTION_TIME, AT(field), .min = (least), .max = (most)
#define CHOICE(field, of) .type = OPTION_CHOICE, AT(field), .words = (of)
#define TEXT(field) .type = OPTION_TEXT, AT(field)
#define TEXTS(field) .type = OPTION_TEXTS, AT(field)
#define OTHER(field) .type = OPTION_OTHER, AT(field)

enum {
    RUN = COMMAND_RUN,
    RUN_ALONE = COMMAND_RUN | COMMAND_RUN_ALONE,
    RUN_CHECK = COMMAND_RUN | COMMAND_CHECK,
    CHECK = COMMAND_CHECK,
    SEARCH = COMMAND_FIND_MAX,
    SWEEP = COMMAND_SWEEP,
    REPORT = COMMAND_REPORT,
    COMPARE = COMMAND_COMPARE,
    LOAD = COMMANDS_LOAD,
    ALL = COMMANDS_ALL,
    ANY = COMMANDS_ALL | COMMAND_REPORT | COMMAND_COMPARE
};

#define MS (UINT64_C(1000000))
#define SECOND (1000 * MS)

/* One line on what an option is called and says of itself, one on its value, one on who shows it.
 */
const struct option_entry option_table[] = {
    {"The sweep", SWEEP, "sessions", 'c', "N,N,...", "sessions of the runs, down the tables",
     OTHER(sweep_sessions), .max = PLAN_SESSIONS_MAX, .store = store_list,
     .scope = OPTION_OF_SWEEP},
    {NULL, SWEEP, "records", 0, "N,N,...", "rows of the runs, across the tables",
     OTHER(sweep_records), .max = PLAN_RECORDS_MAX, .store = store_list, .scope = OPTION_OF_SWEEP},
    {NULL, SWEEP, "repeat", 0, "N", "runs of each size: median and spread (1)",
     COUNT(sweep_repeat, SWEEP_LIST_MAX), .usual = 1, .scope = OPTION_OF_SWEEP},
    {NULL, SWEEP, "keep-rows", 0, NULL, "append to the rows of earlier runs", FLAG(is_keeping_rows),
     .scope = OPTION_OF_SWEEP},
    {NULL, SWEEP, "resume", 0, "DIR", "resume the interrupted sweep in DIR", TEXT(resume),
     .scope = OPTION_OF_CALL},
    {NULL, SWEEP, "retry-failed", 0, NULL, "with --resume: also rerun failed runs",
     FLAG(is_retrying_failed), .scope = OPTION_OF_CALL},

    {"Connection", ALL, "adapter", 0, "NAME", "database behind a port (found by asking it)",
     TEXT(adapter_name)},
    {NULL, ALL, "host", 'h', "NAME", "server's host, or folder of its socket", TEXT(target.host),
     .key = "target.host", .is_of_server = true},
    {NULL, ALL, "port", 'p', "N", "server's port, in place of TARGET",
     COUNT(target.port, UINT16_MAX), .store = store_port, .key = "target.port",
     .is_of_server = true},
    {NULL, ALL, "user", 'U', "NAME", "user of the database", TEXT(target.user),
     .key = "target.user", .is_of_server = true},
    {NULL, ALL, "password-file", 0, "FILE", "file whose first line is the password",
     OTHER(password), .store = store_password, .scope = OPTION_OF_PLACE},
    {NULL, ALL, "database", 'd', "NAME", "database to connect to", TEXT(target.database),
     .key = "target.database", .is_of_server = true},
    {NULL, LOAD, "schema", 0, "NAME", "schema in which the table lives", TEXT(target.schema),
     .key = "target.schema", .label = "Schema", .is_of_server = true},
    {NULL, ALL, "client-lib", 0, "FILE|DIR", "machbase: client library ($MACHBASE_HOME/lib)",
     TEXT(target.client_lib), .key = "client_lib"},
    {NULL, ALL, "connect-concurrency", 0, "N", "sessions that connect at a time (64)",
     COUNT(connect_concurrency, PLAN_SESSIONS_MAX), .usual = 64, .key = "connect_concurrency",
     .label = "Connecting at a time"},
    {NULL, ALL, "connect-timeout", 0, "T", "time for one connect, whole seconds (30)",
     TIME(connect_timeout_ns, SECOND, DAY_NS), .usual = 30 * SECOND},
    {NULL, LOAD, "wait", 0, "T", "wait until the server accepts the first session",
     TIME(wait_ns, 0, DAY_NS), .key = "target.wait_s", .shows_zero = true},

    {"Work", RUN_ALONE | CHECK, "sessions", 'c', "N", "sessions, in place of the operand",
     COUNT(sessions, PLAN_SESSIONS_MAX), .key = "sessions", .label = "Sessions"},
    {NULL, LOAD, "table", 0, "NAME", "table to append to (syslog_table)", TEXT(table_name),
     .key = "table"},
    {NULL, LOAD, "schema-file", 0, "FILE", "SQL that creates the table when it is missing",
     TEXT(schema_file), .key = "schema_file"},
    {NULL, LOAD, "engine", 0, "NAME", "mariadb: storage engine of a table made here", TEXT(engine),
     .key = "engine"},
    {NULL, LOAD, "recreate", 0, NULL, "drop the table and create it again", FLAG(is_recreate),
     .scope = OPTION_OF_SWEEP, .key = "is_recreate"},
    {NULL, LOAD, "method", 0, "NAME", "how to append: see above (the first one)",
     TEXT(target.method), .key = "target.method"},
    {NULL, LOAD, "batch", 0, "N", "rows in one append (100)",
     COUNT(batch_rows, PLAN_BATCH_ROWS_MAX), .usual = 100, .key = "batch_rows",
     .label = "Rows in a batch"},
    {NULL, LOAD, "read", 0, "count|none|SQL", "after an append: count(*), nothing or a query",
     CHOICE(read_mode, read_words), .store = store_read, .key = "read_mode",
     .label = "Read after it"},
    {NULL, LOAD, "read-every", 0, "N", "read after every N batches (1)",
     COUNT(read_every, UINT32_MAX), .usual = 1, .key = "read_every",
     .label = "Read every, batches"},
    {NULL, LOAD, "data", 0, "varied|constant", "rows that differ (default), or all alike",
     CHOICE(data_mode, data_words), .key = "data_mode", .label = "Data"},
    {NULL, LOAD, "values", 0, "COLUMN=VALUES", "'id=1..1000, status=ok|failed': what columns get",
     TEXT(values), .store = store_columns, .key = "values", .label = "Values"},
    {NULL, LOAD, "skip-columns", 0, "A,B", "columns left to their defaults, or NULL",
     TEXT(skip_columns), .store = store_columns, .key = "skip_columns",
     .label = "Columns left out"},
    {NULL, LOAD, "seed", 0, "N", "repeat the rows of an earlier run", OTHER(seed),
     .store = store_seed, .key = "seed", .label = "Seed"},
    {NULL, RUN, "rate", 0, "N", "rows/s in all, open loop (no limit)",
     COUNT(rate_rows_per_s, 1000000000), .key = "rate_rows_per_s", .label = "Rate, rows/s"},
    {NULL, RUN, "duration", 'T', "T", "append no longer than T, with or without RECORDS",
     TIME(duration_ns, 0, 30 * DAY_NS), .key = "duration_s", .label = "Duration, s"},
    {NULL, ALL, "stack-size", 0, "BYTES", "stack of a session's thread (by adapter)",
     BYTES(stack_bytes, 1 << 30), .key = "stack_bytes"},

    {"Limits and faults", RUN, "no-check", 0, NULL, "run although a limit is certain to be hit",
     FLAG(is_unchecked), .key = "no_check", .label = "No check of limits"},
    {NULL, RUN, "min-sessions", 0, "N|N%", "sessions that must be up for the run to go on (1)",
     COUNT(min_sessions, PLAN_SESSIONS_MAX), .store = store_min_sessions, .key = "min_sessions",
     .label = "Sessions required"},
    {NULL, RUN, "on-drop", 0, "continue|stop|reconnect", "when a session is lost (continue)",
     CHOICE(drop_policy, drop_words), .store = store_on_drop, .key = "on_drop", .label = "On drop"},
    {NULL, RUN, "timeout", 0, "T", "cut off a call that takes longer (no limit)",
     TIME(timeout_ns, 100 * MS, DAY_NS), .key = "timeout_s", .label = "Timeout of a call, s"},
    {NULL, RUN, "verify", 0, "count|rows", "what is checked against the ledger (count)",
     CHOICE(verify_mode, verify_words), .key = "verify", .label = "Verified"},
    {NULL, RUN_CHECK, "idle", 0, "N", "extra sessions that only stay connected (0)",
     COUNT(idle_sessions, PLAN_SESSIONS_MAX), .shows_zero = true, .key = "idle_sessions",
     .label = "Idle sessions"},
    {NULL, RUN, "churn", 0, "N", "reconnect after every N batches (off)",
     COUNT(churn_batches, UINT32_MAX), .key = "churn_batches", .label = "Churn, batches"},

    {"The search", SEARCH, "first", 0, "N", "sessions of the first level (10)",
     COUNT(first_sessions, PLAN_SESSIONS_MAX), .key = "first", .label = "First level, sessions"},
    {NULL, SEARCH, "hold", 0, "T", "how long a level is held (5)", TIME(hold_ns, 0, DAY_NS),
     .usual = 5 * SECOND, .key = "hold_s", .label = "Hold, s"},
    {NULL, SEARCH, "max-sessions", 0, "N", "most sessions (what this machine holds)",
     COUNT(max_sessions, PLAN_SESSIONS_MAX), .key = "max_sessions", .label = "Sessions, at most"},
    {NULL, SEARCH, "max-time", 0, "T", "end the search after a time (10m)",
     TIME(max_time_ns, 0, 30 * DAY_NS), .usual = 600 * SECOND, .key = "max_time_s"},
    {NULL, SEARCH, "max-memory", 0, "SIZE", "most memory of this machine in use (90 %)",
     BYTES(max_memory_bytes, UINT64_C(1) << 50), .key = "max_memory_bytes"},
    {NULL, SEARCH, "max-rows", 0, "N", "end the search after N rows",
     COUNT(max_rows, PLAN_RECORDS_MAX), .key = "max_rows", .label = "Rows, at most"},
    {NULL, SEARCH, "max-bytes", 0, "SIZE", "end it when the values of its rows reach SIZE (2G)",
     BYTES(max_bytes, UINT64_C(1) << 50), .key = "max_bytes"},
    {NULL, SEARCH, "p99", 0, "T", "name the level where append's p99 passes T",
     TIME(p99_bound_ns, 0, DAY_NS), .key = "p99_s", .label = "Bound of append's p99, s"},

    {"Expectations", RUN, "expect", 0, "BOUNDS", "exit 5 unless met: 'throughput>=50k, lost==0'",
     TEXTS(expected), .key = "expect"},
    {NULL, RUN_ALONE, "junit", 0, "FILE", "outcome and expectations as JUnit XML", TEXT(junit),
     .scope = OPTION_OF_CALL, .key = "junit"},
    {NULL, COMPARE, "fail-if", 0, "BOUNDS", "exit 5 when B/A is: 'throughput<0.95'", OTHER(fail_if),
     .store = store_fail_if},
    {NULL, COMPARE, "threshold", 0, "N%", "smaller differences do not count (5%)", OTHER(threshold),
     .store = store_threshold},

    {"Measuring and reporting", RUN, "sample-interval", 0, "T",
     "CPU and memory, a sample every T (3)", TIME(sample_interval_ns, 100 * MS, DAY_NS),
     .usual = 3 * SECOND, .key = "sample_interval_s", .label = "Sample interval, s"},
    {NULL, SEARCH, "sample-interval", 0, "T", "CPU and memory (1, at most half of --hold)",
     TIME(sample_interval_ns, 100 * MS, DAY_NS)},
    {NULL, ALL, "server-pid", 0, "PID", "server's process (found by its port)",
     COUNT(server_pid, INT32_MAX), .scope = OPTION_OF_PLACE, .key = "server_pid",
     .is_of_server = true},
    {NULL, ALL, "server-cgroup", 0, "DIR", "server's cgroup folder, for its memory",
     TEXT(server_cgroup), .scope = OPTION_OF_PLACE, .key = "server_cgroup", .is_of_server = true},
    {NULL, LOAD, "out", 0, "DIR", "folder of the files (append-runs/...)", TEXT(out),
     .scope = OPTION_OF_CALL},
    {NULL, REPORT, "out", 0, "FILE", "the page (report.html)", TEXT(out)},
    {NULL, RUN_ALONE, "progress", 'P', "T", "a line of progress every T",
     TIME(progress_ns, SECOND, DAY_NS), .key = "progress_s"},
    {NULL, ALL, "quiet", 'q', NULL, "no progress", FLAG(is_quiet), .scope = OPTION_OF_CALL,
     .key = "quiet"},
    {NULL, ANY, "json", 0, NULL, "report as JSON on standard output", FLAG(is_json),
     .scope = OPTION_OF_CALL, .key = "json"},
    {NULL, RUN_ALONE, "plan", 0, NULL, "print the plan and end", FLAG(is_plan_only)},
    {NULL, RUN_ALONE, "version", 'V', NULL, "print versions and end", FLAG(is_version)},
    {NULL, ANY, "help", 0, NULL, "print this text (also -h alone)", FLAG(is_help)},

    {"Watching a run", ALL, "container", 0, "NAME", "server's container, of docker or podman",
     TEXT(container), .store = store_container, .key = "container", .is_of_server = true},
    {NULL, LOAD, "metrics", 0, "[HOST:]PORT", "serve /metrics for Prometheus during the run",
     TEXT(metrics), .store = store_metrics, .scope = OPTION_OF_PLACE, .key = "metrics"},
    {NULL, LOAD, "metrics-file", 0, "FILE", "the same into a file, for node_exporter",
     TEXT(metrics_file), .max = PLAN_PATH_BYTES, .scope = OPTION_OF_PLACE, .key = "metrics_file"},
    {NULL, RUN, "mark", 0, "TIME=TEXT", "line in the charts (more: events.csv of the run)",
     TEXTS(mark_texts), .store = store_mark, .key = "mark"},

    {"Charts and report", RUN_ALONE | SWEEP, "report", 0, NULL,
     "write report.html with charts at the end", FLAG(is_report), .scope = OPTION_OF_CALL,
     .key = "report"},
    {NULL, REPORT, "text", 0, NULL, "charts as text on standard output, no page",
     FLAG(is_text_charts)},
    {NULL, REPORT, "png", 0, NULL, "also each chart as a PNG file beside the page",
     FLAG(is_png_charts)},
    {NULL, REPORT, "all", 0, NULL, "with several runs, also the charts of each",
     FLAG(is_all_charts)},
    {.name = NULL},
};

bool option_is_of(const struct option_entry *entry, enum command command)
{
    const bool is_of_runs = (entry->commands & RUN_ALONE) == RUN;
    return (entry->commands & command) != 0 || (command == COMMAND_SWEEP && is_of_runs);
}

const struct option_entry *option_of_server(const struct plan *plan)
{
    const struct option_entry *entry = option_table;
    for (; entry->name != NULL; entry++) {
        const bool is_given = entry->type == OPTION_TEXT
                                  ? *(const char *const *)option_at(entry, plan) != NULL
                                  : entry->is_of_server && option_number(entry, plan) != 0;
        if (entry->is_of_server && is_given) {
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
                          .threshold = 0.05};
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
