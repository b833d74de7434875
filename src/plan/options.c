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
    PASSWORD_OPTION = 256, /* --password, which is refused */
    FIRST_LONG,            /* FIRST_LONG + i: the option at index i of the table */
    SHOWN_BYTES = 60
};

/* Defaults that also appear in the texts of the options. */
#define RECONNECT_TRIES 20
#define THRESHOLD_PERCENT 5
#define DIGITS(number) DIGITS_OF(number)
#define DIGITS_OF(number) #number

#define FORM_OF_DURATION "append SESSIONS [RECORDS] [TARGET] --duration T"
#define FORM_OF_STAGES "append [TARGET] --stage T:N,..."
#define FORM_OF_SCRIPT "append SESSIONS [RECORDS] [TARGET] --workload NAME"

static const char *const read_words[] = {"count", "none", "query", NULL};
static const char *const data_words[] = {"varied", "constant", NULL};
static const char *const arrival_words[] = {"fixed", "poisson", NULL};
static const char *const drop_words[] = {"continue", "stop", "reconnect", NULL};
static const char *const host_words[] = {"spread", "first", "random", NULL};
static const char *const disk_words[] = {"ext4", "xfs", NULL};
static const char *const axis_words[] = {"time", "rows", NULL};
static const char *const verify_words[] = {"count", "rows", NULL};
const char *const io_trace_words[] = {"off", "full", "requests", "try", NULL};
const char *const wait_mode_words[] = {"off", "on", "sql", "kernel", "try", NULL};
static const char *const prepared_words[] = {"yes", "no", NULL};

/* Refuses a value: "--option 'value' is not <right>". */
static enum exit_code refuse(const struct option_entry *entry, const char *value, const char *right,
                             struct error *error)
{
    return usage_refuse(error, "--%s '%.*s' is not %s", entry->name, SHOWN_BYTES, value, right);
}

const void *option_at(const struct option_entry *entry, const struct plan *plan)
{
    return (const char *)plan + entry->offset;
}

/* Returns the address of the low `bytes` bytes of a number. */
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

/* Checks and stores a value according to the option's type. */
static enum exit_code store_by_type(const struct option_entry *entry, struct plan *plan,
                                    const char *value, struct error *error)
{
    void *const at = (char *)plan + entry->offset;
    char right[80] = "";
    uint64_t number = 1; /* value of a flag */
    int64_t ns = 0;
    bool is_valid = true;
    switch (entry->type) {
    case OPTION_COUNT:
        is_valid = units_parse_count(value, entry->max, &number) && number > 0;
        snprintf(right, sizeof right, "a whole number from 1 to %s", UNITS_COUNT(entry->max));
        break;
    case OPTION_BYTES:
        is_valid = units_parse_bytes(value, entry->max, &number) && number > 0;
        snprintf(right, sizeof right, "a size up to %s (64K, 500M, 16G)", UNITS_BYTES(entry->max));
        break;
    case OPTION_TIME:
        is_valid = units_parse_duration(value, (int64_t)entry->max, &ns) && ns > 0;
        number = (uint64_t)ns;
        if (!is_valid) {
            snprintf(right, sizeof right, "a time above 0 and up to %.0f s (5, 500ms, 30s, 2m, 1h)",
                     (double)entry->max / (double)SECOND);
        } else if (number < entry->min) {
            const bool is_whole = entry->min % SECOND == 0;
            snprintf(right, sizeof right, "a time of at least %.0f %s",
                     (double)entry->min / (double)(is_whole ? SECOND : MS), is_whole ? "s" : "ms");
            is_valid = false;
        }
        break;
    case OPTION_CHOICE: /* `right` gets the allowed words: "count or rows" */
        is_valid = false;
        for (size_t i = 0; entry->words[i] != NULL && !is_valid; i++) {
            const size_t used = strlen(right);
            snprintf(right + used, sizeof right - used, "%s%s", i == 0 ? "" : " or ",
                     entry->words[i]);
            is_valid = strcmp(entry->words[i], value) == 0;
            number = i;
        }
        break;
    case OPTION_TEXT:
        if (value[0] == '\0') {
            return refuse(entry, value, "allowed to be empty", error);
        }
        if (entry->max > 0 && strlen(value) >= entry->max) {
            snprintf(right, sizeof right, "a path of at most %s bytes",
                     UNITS_COUNT(entry->max - 1));
            return refuse(entry, value, right, error);
        }
        *(const char **)at = value;
        return EXIT_CODE_OK;
    case OPTION_TEXTS: {
        struct plan_texts *list = at;
        if (list->count == PLAN_TEXTS_MAX) {
            return usage_refuse(error, "--%s can be given at most %d times", entry->name,
                                PLAN_TEXTS_MAX);
        }
        list->texts[list->count++] = value;
        return EXIT_CODE_OK;
    }
    case OPTION_FLAG:
    case OPTION_OTHER:
        break;
    }
    if (!is_valid) {
        return refuse(entry, value, right, error);
    }
    set_number(entry, plan, number);
    return EXIT_CODE_OK;
}

/* Stores a list of numbers: "1000,2k,4000". */
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
                error, "--%s: '%.*s' is not a whole number from 1 to %s: write 1000,2000,4k",
                entry->name, (int)(length < 40 ? length : 40), text, UNITS_COUNT(entry->max));
        }
        for (size_t i = 0; i < list->count; i++) {
            if (list->values[i] == number) {
                return usage_refuse(error, "--%s lists %s twice", entry->name, UNITS_COUNT(number));
            }
        }
        if (list->count == SWEEP_LIST_MAX) {
            return usage_refuse(error, "--%s lists more than %d numbers", entry->name,
                                SWEEP_LIST_MAX);
        }
        list->values[list->count++] = number;
        text += length;
        if (*text == '\0') {
            return EXIT_CODE_OK;
        }
    }
}

/* Stores the port. The message does not show the value, because the value may be a password: after
 * -p, MariaDB's client takes a password. */
static enum exit_code store_port(const struct option_entry *entry, struct plan *plan,
                                 const char *value, struct error *error)
{
    uint16_t port = 0;
    if (!url_parse_port(value, &port) || port == 0) {
        return usage_refuse(error,
                            "--port (-p) needs a number from 1 to 65535; give a password with "
                            "--password-file FILE or APPEND_PASSWORD");
    }
    set_number(entry, plan, port);
    return EXIT_CODE_OK;
}

/* Reads the password: the first line of the file, without the end of the line. */
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
        number = ferror(file) ? errno : 0; /* fopen also opens a folder, but reading it fails */
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
        return usage_refuse(error, "--%s %s: the first line must have 1 to %zu bytes, without NUL",
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
               store_by_type(entry, plan, value, NULL) != EXIT_CODE_OK) {
        return refuse(entry, value, "count, none or an SQL query", error);
    }
    return EXIT_CODE_OK;
}

/* Checks a list of percentiles. */
static enum exit_code store_percentiles(const struct option_entry *entry, struct plan *plan,
                                        const char *value, struct error *error)
{
    struct figure_points points = figure_points_default();
    const size_t default_count = points.count;
    const char *wrong = NULL;
    if (figure_points_show(&points, value, &wrong)) {
        return store_by_type(entry, plan, value, error);
    }
    struct figure_point point;
    if (points.count == FIGURE_POINTS_MAX && figure_point_parse(wrong, &point) > 0) {
        return usage_refuse(error, "--%s lists more than %zu percentiles", entry->name,
                            FIGURE_POINTS_MAX - default_count);
    }
    const int length = (int)strcspn(wrong, ",");
    return usage_refuse(error,
                        "--%s: '%.*s' is not a percentile from 1 to 99.9999 (below 10 a whole "
                        "number): write 50,90,99.9",
                        entry->name, length < SHOWN_BYTES ? length : SHOWN_BYTES, wrong);
}

/* Stores a list of columns. Refuses a second list, which would silently replace the first. */
static enum exit_code store_columns(const struct option_entry *entry, struct plan *plan,
                                    const char *value, struct error *error)
{
    const char **to = (const char **)(void *)((char *)plan + entry->offset);
    if (*to != NULL) {
        return usage_refuse(
            error, "--%s is given twice: write one list, with commas between columns", entry->name);
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

/* Returns whether the value ends with %. Sets *percent to the number from 1 to 100, or to 0 if the
 * number is invalid. */
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

/* Stores a number of sessions, or, if the value ends with %, a share of the sessions. */
static enum exit_code store_min_sessions(const struct option_entry *entry, struct plan *plan,
                                         const char *value, struct error *error)
{
    plan->min_sessions = 0;
    if (!parse_percent(value, &plan->min_percent)) {
        return store_by_type(entry, plan, value, error);
    }
    return plan->min_percent > 0
               ? EXIT_CODE_OK
               : refuse(entry, value, "a number of sessions or a share of 1% to 100%", error);
}

/* Stores a number of transactions, which may be 0, or, if the value ends with %, a share of the
 * transactions. */
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

/* Adds stages of the number of sessions or of the rate. Sets the duration of the run and, with
 * stages of sessions, the number of sessions. */
static enum exit_code store_stages(const struct option_entry *entry, struct plan *plan,
                                   const char *value, struct error *error)
{
    const bool is_rate = entry->offset == offsetof(struct plan, rate_stage_texts);
    struct ramp *ramp = is_rate ? &plan->rate : &plan->stages;
    char wrong[RAMP_TEXT_BYTES];
    if (!ramp_add(ramp, value, entry->max, wrong)) {
        return usage_refuse(error, "--%s: %s: write DURATION:TARGET,... with targets up to %s (%s)",
                            entry->name, wrong, UNITS_COUNT(entry->max),
                            is_rate ? "10s:1k,1m:5k" : "30s:50,1m:50,30s:0");
    }
    plan->duration_ns = ramp_duration_ns(ramp, ramp->count);
    plan->sessions = is_rate ? plan->sessions : (unsigned)ramp_highest(ramp);
    return store_by_type(entry, plan, value, error);
}

static enum exit_code store_tries(const struct option_entry *entry, struct plan *plan,
                                  const char *value, struct error *error)
{
    return units_parse_count(value, entry->max, &plan->tries)
               ? EXIT_CODE_OK
               : refuse(entry, value, "a whole number from 0 (no limit) to 1,000,000", error);
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
    return store_by_type(entry, plan, value, NULL) == EXIT_CODE_OK
               ? EXIT_CODE_OK
               : refuse(entry, value,
                        "continue, stop, reconnect or reconnect:TRIES with TRIES from 1 to "
                        "1,000,000 (reconnect:50)",
                        error);
}

static enum exit_code store_io_trace(const struct option_entry *entry, struct plan *plan,
                                     const char *value, struct error *error)
{
    return store_by_type(entry, plan, value == NULL ? io_trace_words[IO_TRACE_FULL] : value, error);
}

static enum exit_code store_waits(const struct option_entry *entry, struct plan *plan,
                                  const char *value, struct error *error)
{
    return store_by_type(entry, plan, value == NULL ? wait_mode_words[WAITS_ON] : value, error);
}

/* Stores --recreate. Without names, only tables that this program created are dropped. */
static enum exit_code store_recreate(const struct option_entry *entry, struct plan *plan,
                                     const char *value, struct error *error)
{
    (void)entry;
    plan->is_recreate = true;
    plan->recreate_names = value;
    return value == NULL || value[0] != '\0'
               ? EXIT_CODE_OK
               : usage_refuse(error, "--recreate= names no table: write --recreate=NAME,NAME, or "
                                     "--recreate alone for tables that append made");
}

/* Stores PID or PID!. With the "!", the process need not be the one that listens on the server's
 * port. */
static enum exit_code store_server_pid(const struct option_entry *entry, struct plan *plan,
                                       const char *value, struct error *error)
{
    char number[24];
    const size_t length = strlen(value);
    plan->is_server_pid_forced = length > 1 && value[length - 1] == '!';
    snprintf(number, sizeof number, "%.*s", (int)(length - (plan->is_server_pid_forced ? 1 : 0)),
             value);
    return store_by_type(entry, plan, length < sizeof number ? number : value, error);
}

/* Reads a number without sign or exponent, which strtod alone would accept. Returns the end of the
 * number, or NULL if the text does not begin with such a number. */
static const char *parse_decimal(const char *text, double *number)
{
    const size_t length = strspn(text, "0123456789.");
    char *end = NULL;
    *number = strtod(text, &end);
    return text[0] >= '0' && text[0] <= '9' && end == text + length ? end : NULL;
}

/* Stores a share of the transactions. Without a value, stores the share of all transactions, 1. */
static enum exit_code store_log_transactions(const struct option_entry *entry, struct plan *plan,
                                             const char *value, struct error *error)
{
    const char *given = value == NULL ? "1" : value;
    double number = 0;
    const char *end = parse_decimal(given, &number);
    const bool is_percent = end != NULL && strcmp(end, "%") == 0;
    plan->log_share = is_percent ? number / 100 : number;
    if (end == NULL || (!is_percent && end[0] != '\0') || !(plan->log_share > 0) ||
        plan->log_share > 1) {
        return refuse(entry, given, "a share above 0 and up to 1 (0.01 or 1%)", error);
    }
    return store_by_type(entry, plan, given, error);
}

static enum exit_code store_threshold(const struct option_entry *entry, struct plan *plan,
                                      const char *value, struct error *error)
{
    double percent = 0;
    const char *end = parse_decimal(value, &percent);
    if (end == NULL || (strcmp(end, "") != 0 && strcmp(end, "%") != 0) || !(percent > 0) ||
        !(percent < 100)) {
        return refuse(entry, value, "a share above 0 and below 100 % (5%)", error);
    }
    plan->compare.threshold = percent / 100;
    return EXIT_CODE_OK;
}

/* Stores bounds on ratios, which have no unit. Does not check whether the figures exist; compare
 * checks this after it has read the runs. */
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
            return usage_refuse(
                error,
                "--%s: bound '%s': the ratio B/A has no unit: leave the unit out (throughput<0.95)",
                entry->name, bound.text);
        }
        if (plan->compare.fail_if_count == PLAN_BOUNDS_MAX) {
            return usage_refuse(error, "--%s: too many bounds at '%s': give at most %d",
                                entry->name, bound.text, PLAN_BOUNDS_MAX);
        }
        plan->compare.fail_if[plan->compare.fail_if_count++] = bound;
    }
    return EXIT_CODE_OK;
}

/* Stores a container's name or id. Refuses characters that Docker and Podman do not allow, because
 * the name becomes a word of their command line. */
static enum exit_code store_container(const struct option_entry *entry, struct plan *plan,
                                      const char *value, struct error *error)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    if (value[0] == '\0' || strlen(value) > CONTAINER_NAME_MAX ||
        strspn(value, allowed) != strlen(value) || strchr("_.-", value[0]) != NULL) {
        return refuse(entry, value, "the name or id of a container", error);
    }
    plan->container = value;
    return EXIT_CODE_OK;
}

/* Reads PORT, HOST:PORT or [ADDRESS]:PORT. If the value names no host, the host is the loopback
 * address. Returns false if the value has none of these forms. */
static bool read_place(const char *value, char host[PLAN_HOST_BYTES], uint16_t *port)
{
    const char *name;
    size_t length;
    if (!url_parse_place(value, &name, &length, port) || *port == 0 || length >= PLAN_HOST_BYTES) {
        return false;
    }
    snprintf(host, PLAN_HOST_BYTES, "%.*s", (int)(length > 0 ? length : strlen("127.0.0.1")),
             length > 0 ? name : "127.0.0.1");
    return true;
}

static enum exit_code store_metrics(const struct option_entry *entry, struct plan *plan,
                                    const char *value, struct error *error)
{
    return read_place(value, plan->metrics_host, &plan->metrics_port)
               ? store_by_type(entry, plan, value, error)
               : refuse(entry, value, "PORT or HOST:PORT (9464, 0.0.0.0:9464, [::1]:9464)", error);
}

static enum exit_code store_live(const struct option_entry *entry, struct plan *plan,
                                 const char *value, struct error *error)
{
    return read_place(value, plan->live_host, &plan->live_port)
               ? store_by_type(entry, plan, value, error)
               : refuse(entry, value, "PORT or HOST:PORT (8080, 0.0.0.0:8080, [::1]:8080)", error);
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
        return usage_refuse(error,
                            "--mark can be given at most %d times: to make more marks, add lines "
                            "to the run's events.csv",
                            PLAN_TEXTS_MAX);
    }
    plan->marks[plan->mark_count++] = mark;
    return store_by_type(entry, plan, value, error);
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
    CONTROL = COMMAND_CONTROL,
    PREPARE = COMMAND_PREPARE,
    CLEANUP = COMMAND_CLEANUP,
    LOAD = COMMAND_RUN | COMMAND_FIND_MAX,
    DRY_RUN = COMMAND_DRY_RUN,
    CERTIFY = COMMAND_CERTIFY,
    TABLES = LOAD | PREPARE | CLEANUP | DRY_RUN,
    MEASURE = LOAD | CHECK,
    ALL = COMMANDS_ALL,
    SCRIPTS = ALL & ~CERTIFY,
};

const struct option_entry option_table[] = {
    {SWEEP, "sessions", "N,N,...", "numbers of sessions; the report has a line for each",
     OTHER(sweep.sessions), .max = PLAN_SESSIONS_MAX, .store = store_list, OF(SWEEP), .letter = 'c',
     .group = "The sweep",
     .details =
         "The sweep makes a run for every pair of a number of sessions and a number of rows."},
    {SWEEP, "records", "N,N,...", "numbers of rows; the report has a column for each",
     OTHER(sweep.records), .max = PLAN_RECORDS_MAX, .store = store_list, OF(SWEEP),
     .details = "With a script, a sweep does not need the option if `--duration` or "
                "`--transactions` ends the runs."},
    {SWEEP, "vary", "NAME=A,B,...", "make a run for each value of a script's parameter",
     TEXTS(sweep.varied), OF(SWEEP), WITH_SCRIPT,
     .details = "Give the option once for each parameter. The sweep makes a run for each "
                "combination of values.",
     .page = "sweep.md#vary-a-scripts-parameter"},
    {SWEEP, "repeat", "N", "runs of each size, for median and spread",
     COUNT(sweep.repeat, SWEEP_LIST_MAX), .default_number = 1, OF(SWEEP)},
    {SWEEP, "keep-rows", NULL, "append to the rows of earlier runs", FLAG(sweep.is_keeping_rows),
     OF(SWEEP),
     .details = "Without the option, a sweep refuses a table that existed before, unless "
                "`--recreate` is given.",
     .page = "sweep.md#which-rows-a-run-finds"},
    {SWEEP, "resume", "DIR", "resume the interrupted sweep in DIR", TEXT(sweep.resume), OF(CALL),
     .details = "append reads the options of the sweep from DIR. Options that do not change the "
                "runs, such as `--password-file`, `--server-pid`, `--quiet` and `--json`, can be "
                "given again with other values.",
     .page = "sweep.md#interrupting-and-resuming-a-sweep"},
    {SWEEP, "retry-failed", NULL, "with --resume: also repeat failed runs",
     FLAG(sweep.is_retrying_failed), OF(CALL)},

    {CERTIFY, "server", "postgresql|mariadb|sqlite", "make a server, break it and remove it",
     TEXT(certify.server), .key = "server", .group = "The certificate",
     .details = "The option takes the place of TARGET. The server's package must be installed. The "
                "server's files are in `$TMPDIR` or `/tmp`. If `--faults` has `power`, the files "
                "are on a disk image of 3 GiB in the folder of the run, and append needs root. If "
                "append runs as root, the server runs as another user."},
    {CERTIFY, "server-option", "NAME=VALUE", "setting of the server that --server makes",
     TEXTS(certify.options), .key = "server_option",
     .details = "NAME=VALUE is written as on the server's command line: `fsync=off`, "
                "`innodb-flush-log-at-trx-commit=2`. For SQLite, NAME is a pragma: "
                "`synchronous=off`. The option can be given several times."},
    {CERTIFY, "faults", "KIND:N,...", "faults to make, and how many of each", TEXT(certify.faults),
     .default_text = "10 in all", .key = "faults",
     .details = "The default is `kill:5,power:5` with `--server` if append runs as root, and "
                "`kill:10` otherwise. The kinds are `kill` (append ends all processes of the "
                "server with SIGKILL), `power` (everything that the file system had not yet "
                "written to the disk is gone), `stop` (SIGSTOP for 1 to 5 s), `restart` (a clean "
                "shutdown and a start) and `network` (all connections are cut).",
     .page = "certify.md#faults"},
    {CERTIFY, "server-start", "COMMAND", "shell command that starts your server",
     TEXT(certify.start), .key = "server_start",
     .details = "With TARGET, `kill`, `power` and `restart` need this option."},
    {CERTIFY, "yes", NULL, "with TARGET: allow append to break this server",
     FLAG(certify.is_confirmed)},
    {CERTIFY, "prove", NULL, "first show that the faults can find a loss",
     FLAG(certify.wants_proof), .key = "prove",
     .details = "append first makes up to 5 faults with a setting that makes the server lose rows. "
                "If no row is lost, the certificate proves nothing, and the exit code is 6."},
    {CERTIFY, "keep-going", NULL, "go on after the first finding", FLAG(certify.is_keeping_on),
     .key = "keep_going"},
    {CERTIFY, "file-system", "ext4|xfs", "file system of the disk image",
     CHOICE(certify.disk, disk_words), .key = "file_system"},

    {ALL, "adapter", "NAME", "adapter to use for the server", TEXT(adapter_name),
     .default_text = "detected", .group = "Connection",
     .details = "The option is needed only if append does not recognise the server."},
    {ALL, "adapter-folder", "DIR", "folder of NAME.so, an adapter that is not built in",
     TEXT(adapter_folder), .key = "adapter_folder",
     .details = "NAME is the value of `--adapter`. append looks for NAME.so in this folder first, "
                "then in `adapters` beside the program, then in `lib/append/adapters` of the "
                "installation.",
     .page = "adapters.md"},
    {ALL, "host", "NAME", "server's host, or folder of its Unix socket", TEXT(target.host),
     .key = "target.host", OF_SERVER, .letter = 'h',
     .details = "The default is 127.0.0.1 if only a port is given."},
    {ALL, "port", "N", "server's port, in place of TARGET", COUNT(target.port, UINT16_MAX),
     .store = store_port, .key = "target.port", OF_SERVER, .letter = 'p'},
    {ALL, "user", "NAME", "user of the database", TEXT(target.user), .key = "target.user",
     .default_text = "client library's default", OF_SERVER, .letter = 'U'},
    {ALL, "password-file", "FILE", "file whose first line is the password", OTHER(password),
     .store = store_password, OF(PLACE),
     .details = "FILE may be a pipe, as in `--password-file <(pass show db)`."},
    {ALL, "database", "NAME", "database to connect to", TEXT(target.database),
     .default_text = "the adapter's", .key = "target.database", OF_SERVER, .letter = 'd',
     .details = "The adapter's default is `append` for MariaDB, MySQL and InfluxDB, and `_system` "
                "for ArangoDB. For other databases the client library or the server chooses."},
    {TABLES, "schema", "NAME", "schema of the table", TEXT(target.schema),
     .default_text = "user's search path", SHOWN("target.schema", "Schema"), OF_SERVER},
    {ALL, "client-lib", "FILE|DIR", "machbase: client library", TEXT(target.client_lib),
     .default_text = "$MACHBASE_HOME/lib", .key = "client_lib",
     .details = "If MACHBASE_HOME is not set, the loader's search path is used.",
     .page = "databases/machbase.md"},
    {MEASURE | PREPARE, "connect-concurrency", "N", "sessions that connect at the same time",
     SESSIONS(connect_concurrency), .default_number = 64,
     SHOWN("connect_concurrency", "Sessions connecting at once")},
    {ALL, "connect-timeout", "T", "time limit of one connect",
     TIME(connect_timeout_ns, SECOND, DAY_NS), .default_number = 30 * SECOND,
     .key = "target.connect_timeout_s",
     .details =
         "The limit is for all steps of one connect together, and is rounded up to whole seconds."},
    {TABLES, "wait", "T", "wait up to T for a server that is starting or full",
     TIME(wait_ns, 0, DAY_NS), .key = "target.wait_s", .shows_zero = true,
     .details = "append tries to connect again and again during T. Without the option, append "
                "tries to connect once."},

    {ALL & ~(unsigned)(REPORT | COMPARE), "options", "FILE", "read options from a file",
     TEXTS(options), OF(CALL), .group = "Work",
     .details = "Each line of FILE is `NAME = VALUE`. The command line takes precedence over FILE.",
     .page = "options.md#files-of-options"},
    {RUN_ALONE | SEARCH | SWEEP | PREPARE, "print-options", NULL,
     "print a file with these options, and exit", FLAG(is_print_options), OF(CALL)},
    {RUN_ALONE | CHECK | PREPARE | CERTIFY, "sessions", "N",
     "number of sessions, in place of SESSIONS", SESSIONS(sessions), SHOWN("sessions", "Sessions"),
     .letter = 'c'},
    {LOAD, "table", "NAME", "table to append to", TEXT(table_name),
     .default_text = PLAN_DEFAULT_TABLE, .key = "table", WITHOUT_SCRIPT},
    {LOAD, "schema-file", "FILE", "SQL that creates the table if it does not exist",
     TEXT(schema_file), .key = "schema_file", WITH_OWN_ROWS,
     .details = "The definition of " PLAN_DEFAULT_TABLE " is built in."},
    {LOAD | CERTIFY, "engine", "NAME", "mariadb, clickhouse: engine of append's new tables",
     TEXT(engine), .key = "engine", WITH_OWN_ROWS,
     .details =
         "A table that exists already must have this engine. For ClickHouse, NAME can contain the "
         "clauses of the engine: `'MergeTree() ORDER BY n3'`. The default for ClickHouse is "
         "`MergeTree() ORDER BY (n1, n2, n3)`; for other databases it is the server's default."},
    {LOAD | PREPARE | CERTIFY, "recreate", "[=NAME,...]",
     "drop and create append's table, or the named tables", FLAG(is_recreate),
     .store = store_recreate, OF(SWEEP), .key = "is_recreate",
     .details = "Without NAME, append drops only tables that append itself made. A mark on the "
                "table shows that append made it. With NAME,... append drops the named tables, "
                "whoever made them.",
     .page = "databases/README.md#what-append-removes"},
    {CLEANUP, "drop", "NAME,...", "also drop the named tables, whoever made them",
     TEXT(recreate_names), .page = "databases/README.md#what-append-removes"},
    {LOAD | PREPARE, "method", "NAME", "append method of the adapter", TEXT(target.method),
     .default_text = "first supported", .key = "target.method",
     .details = "The default is the first method that the server supports.",
     .page = "databases/README.md#how-each-adapter-appends"},
    {LOAD | PREPARE, "batch", "N", "rows in one append", COUNT(batch_rows, PLAN_BATCH_ROWS_MAX),
     .default_number = 100, SHOWN("batch_rows", "Rows in a batch"), WITHOUT_SCRIPT},
    {LOAD, "read", "count|none|SQL", "read after each append", CHOICE(read_mode, read_words),
     .store = store_read, .default_text = "count; find-max: none",
     SHOWN("read_mode", "Read after a batch"), WITHOUT_SCRIPT,
     .details = "`count` is `count(*)`. SQL is a query; append reads its result and discards it. "
                "append runs the query once before the sessions start, so that a mistake in the "
                "query ends the run at once."},
    {LOAD, "read-every", "N", "read after every N batches of a session",
     COUNT(read_every, UINT32_MAX), .default_number = 1, SHOWN("read_every", "Batches per read"),
     WITHOUT_SCRIPT},
    {LOAD, "data", "varied|constant", "values like real logs, or constant values",
     CHOICE(data_mode, data_words), SHOWN("data_mode", "Data"), WITH_OWN_ROWS},
    {LOAD, "values", "COLUMN=VALUES", "values of columns: 'id=1..9, status=ok|failed'",
     TEXT(values), .store = store_columns, SHOWN("values", "Values"), WITH_OWN_ROWS,
     .details = "VALUES is a range of whole numbers or a list of words. The other columns get "
                "values by their types."},
    {LOAD, "skip-columns", "A,B", "columns to leave out: they get their default or NULL",
     TEXT(skip_columns), .store = store_columns, SHOWN("skip_columns", "Columns left out"),
     WITH_OWN_ROWS},
    {LOAD | PREPARE | DRY_RUN | CERTIFY, "seed", "N", "repeat the rows of an earlier run",
     OTHER(seed), .store = store_seed, .default_text = "a new seed", SHOWN("seed", "Seed")},
    {RUN, "rate", "N", "open-loop rate: rows/s, or a script's transactions/s",
     COUNT(rate_rows_per_s, 1000000000), SHOWN("rate_rows_per_s", "Rate, rows/s"),
     .details = "N is the rate of all sessions together, on a fixed schedule. Without the option, "
                "sessions append as fast as they can."},
    {RUN, "arrivals", "fixed|poisson", "with --rate: evenly spaced, or random",
     CHOICE(arrival_mode, arrival_words), SHOWN("arrivals", "Arrivals"),
     .details = "With `poisson` the gaps between batches or transactions are exponentially "
                "distributed, as when many users act independently of each other."},
    {RUN_ALONE, "stage", "T:N,...", "within T, go to N sessions at work: '30s:50,1m:50'",
     TEXTS(stage_texts), .max = PLAN_SESSIONS_MAX, .store = store_stages,
     SHOWN("stage", "Stages of sessions"),
     .details = "Within the time T the number of sessions at work rises or falls evenly to N. The "
                "first stage begins with 0 sessions, each further stage with the N of the stage "
                "before it. The option takes the place of SESSIONS and of `--duration`. All "
                "sessions connect before the run; a session that a stage does not need waits. The "
                "option can be given several times.",
     .page = "options.md#stages"},
    {RUN_ALONE, "stage-disconnect", NULL, "with --stage: waiting sessions have no connection",
     FLAG(is_stage_disconnect), SHOWN("stage_disconnect", "Waiting sessions disconnect"),
     .details = "A session connects again when a stage needs it."},
    {RUN_ALONE, "rate-stage", "T:N,...", "within T, go to the rate N: '10s:1k,1m:5k'",
     TEXTS(rate_stage_texts), .max = 1000000000, .store = store_stages,
     SHOWN("rate_stage", "Stages of the rate"),
     .details =
         "Within the time T the rate rises or falls evenly to N. The first stage begins with the "
         "rate 0, each further stage with the N of the stage before it. The option takes the "
         "place of `--rate` and of `--duration`. The option can be given several times.",
     .page = "options.md#stages"},
    {RUN, "duration", "T", "end the run after T, with or without RECORDS",
     TIME(duration_ns, 0, 30 * DAY_NS), SHOWN("duration_s", "Duration, s"), .letter = 'T',
     .details = "With RECORDS the run ends when each session has sent its share, but after T at "
                "the latest."},
    {MEASURE | PREPARE, "stack-size", "BYTES", "stack of a session's thread",
     BYTES(stack_bytes, 1 << 30), .default_text = "set by the adapter", .key = "stack_bytes"},

    {SCRIPTS, "workload", "NAME|FILE", "run a script: oltp, tpcb, ...; see append help",
     TEXT(workload), SHOWN("workload", "Workload"), .group = "Scripted workloads",
     .details = "NAME is a built-in script, which `append help NAME` describes. FILE is the path "
                "of a Lua file, with a `/` in it or `.lua` at its end.",
     .page = "workloads.md"},
    {SCRIPTS, "set", "NAME=VALUE,...", "parameters of the script; see append help NAME",
     TEXTS(sets), SHOWN("set", "Parameters set"), WITH_SCRIPT,
     .details = "The option can be given several times."},
    {RUN, "transactions", "N", "end after N transactions of all sessions together",
     COUNT(transactions, PLAN_RECORDS_MAX), SHOWN("transactions", "Transactions, at most"),
     WITH_SCRIPT},
    {RUN, "warm-up", "T", "exclude the first T from all figures", TIME(warm_up_ns, 0, DAY_NS),
     .default_text = "0", SHOWN("warm_up_s", "Warm-up, s"), WITH_SCRIPT},
    {LOAD, "tries", "N", "tries per transaction, 0: no limit", OTHER(tries), .max = TRIES_MAX,
     .store = store_tries, .default_text = "the script's",
     SHOWN("tries", "Tries of a transaction, at most"), WITH_SCRIPT},
    {RUN, "late", "T", "with --rate: skip transactions more than T late", TIME(late_ns, 0, DAY_NS),
     SHOWN("late_s", "Skipped if later than, s"), WITH_SCRIPT,
     .details =
         "A transaction that would begin more than T after its due time is skipped and counted. "
         "Without the option, every transaction begins."},
    {RUN, "max-failed", "N|P%", "transactions that may fail without exit code 1", OTHER(max_failed),
     .max = PLAN_RECORDS_MAX, .store = store_max_failed, .default_text = "0",
     SHOWN("max_failed", "Transactions that may fail"), WITH_SCRIPT,
     .details = "P% is a share of the transactions that were begun."},
    {MEASURE, "prepared", "yes|no", "prepare the statements, or send them as text",
     CHOICE(is_unprepared, prepared_words), SHOWN("prepared", "Statements prepared"), WITH_SCRIPT},

    {RUN, "no-check", NULL, "run even if a limit is certain to be hit", FLAG(is_unchecked),
     SHOWN("no_check", "No check of limits"), .group = "Limits and faults",
     .details = "Without the option, append refuses such a run.", .page = "limits.md"},
    {RUN, "min-sessions", "N|N%", "sessions that must be up for the run to go on",
     SESSIONS(min_sessions), .store = store_min_sessions, .default_text = "1",
     SHOWN("min_sessions", "Sessions required"),
     .details = "N% is a share of all sessions, including idle sessions. A session that reconnects "
                "counts as up until it gives up."},
    {RUN, "on-drop", "continue|stop|reconnect", "what to do when a session is lost",
     CHOICE(drop_policy, drop_words), .store = store_on_drop, SHOWN("on_drop", "On drop"),
     .details = "`continue`: only this session ends. `stop`: the run ends. `reconnect`: the "
                "session connects again, and gives up after " DIGITS(
                    RECONNECT_TRIES) " tries in a row; "
                                     "`reconnect:TRIES` sets another number.",
     .page = "faults.md"},
    {LOAD, "host-policy", "spread|first|random", "first host of each session",
     CHOICE(host_policy, host_words), SHOWN("host_policy", "Host policy"),
     .details =
         "`spread`: with n hosts, session i begins at host i mod n. `first`: every session begins "
         "at the first host. `random`: the host of each session is drawn from the seed.",
     .page = "databases/README.md#several-hosts"},
    {RUN, "timeout", "T", "cut off a call that takes longer than T",
     TIME(timeout_ns, 100 * MS, DAY_NS), .default_text = "no limit",
     SHOWN("timeout_s", "Timeout of a call, s"),
     .details = "If a call takes longer than T, its connection counts as lost, and `--on-drop` "
                "decides what the session does. A call is an append, a read, a script's statement "
                "(also BEGIN and COMMIT) or the `select 1` of an idle session. The limit also "
                "applies before and after the run, for example to the verification.",
     .page = "faults.md#a-time-limit-for-calls"},
    {RUN, "verify", "count|rows", "check rows by count(*), or also row by row",
     CHOICE(verify_mode, verify_words), SHOWN("verify", "Verified"),
     .details = "append compares the table with the ledger of the run. `count`: append compares "
                "`count(*)` before and after the run. `rows`: append also reads every row of the "
                "run back, and checks each row by its identity.",
     .page = "faults.md"},
    {RUN | CHECK, "idle", "N", "extra sessions that only stay connected", SESSIONS(idle_sessions),
     .default_text = "0", .shows_zero = true, SHOWN("idle_sessions", "Idle sessions")},
    {RUN, "churn", "N", "reconnect after every N batches", COUNT(churn_batches, UINT32_MAX),
     .default_text = "off", SHOWN("churn_batches", "Churn, batches"), WITHOUT_SCRIPT},

    {SEARCH, "first", "N", "sessions of the first level", SESSIONS(search.first),
     .default_text = DIGITS(SEARCH_FIRST_SESSIONS), SHOWN("first", "First level, sessions"),
     .group = "The search"},
    {SEARCH, "hold", "T", "how long each level is held", TIME(search.hold_ns, 0, DAY_NS),
     .default_number = 5 * SECOND, SHOWN("hold_s", "Hold, s")},
    {SEARCH, "max-sessions", "N", "most sessions to try", SESSIONS(search.max_sessions),
     .default_text = "what this machine allows", SHOWN("max_sessions", "Sessions, at most")},
    {SEARCH, "max-time", "T", "end the search after T", TIME(search.max_time_ns, 0, 30 * DAY_NS),
     .default_number = 600 * SECOND, .key = "max_time_s"},
    {SEARCH, "max-memory", "SIZE", "most memory in use on this machine",
     BYTES(search.max_memory_bytes, UINT64_C(1) << 50), .default_text = "90 %",
     .key = "max_memory_bytes"},
    {SEARCH, "max-rows", "N", "end the search after N appended rows",
     COUNT(search.max_rows, PLAN_RECORDS_MAX), SHOWN("max_rows", "Rows, at most")},
    {SEARCH, "max-bytes", "SIZE", "end the search after SIZE of appended values", WITH_OWN_ROWS,
     BYTES(search.max_bytes, UINT64_C(1) << 50), .default_text = "2G", .key = "max_bytes",
     .details = "There is no bound with `null:`, nor with a script that declares its tables and "
                "rows."},
    {SEARCH, "p99", "T", "report the lowest level where the p99 exceeds T",
     TIME(search.p99_bound_ns, 0, DAY_NS), SHOWN("p99_s", "Bound of the p99, s"),
     .details =
         "T applies to the p99 of the appends or, with a script, to the p99 of the transactions."},

    {RUN, "expect", "BOUNDS", "exit 5 unless met: 'throughput>=50k, lost==0'", TEXTS(expected),
     .key = "expect", .group = "Expectations", .details = "The option can be given several times.",
     .page = "ci.md#expectations"},
    {RUN, "stop-when", "BOUNDS", "end early, exit 5, if met: 'append.p99>1s for 10s'",
     TEXTS(stop_when), SHOWN("stop_when", "Stop when"),
     .details = "BOUNDS are on columns of `intervals.csv`, and are checked every second after the "
                "warm-up. With `for T` a bound must hold during the whole time T. The option can "
                "be given several times.",
     .page = "ci.md#ending-a-run-early"},
    {RUN_ALONE | CERTIFY, "junit", "FILE", "write outcome and expectations as JUnit XML",
     TEXT(junit), OF(CALL), .key = "junit", .details = "An existing FILE is replaced."},
    {RUN_ALONE, "ycsb-out", "FILE", "write the figures as YCSB prints them", TEXT(ycsb), OF(CALL),
     .key = "ycsb_out", WITH_SCRIPT, .details = "An existing FILE is replaced.",
     .page = "workloads-reference.md#ycsb"},
    {COMPARE, "fail-if", "BOUNDS", "exit 5 if B/A crosses a bound: 'throughput<0.95'",
     OTHER(compare.fail_if), .store = store_fail_if,
     .details = "BOUNDS are written as for `--expect`, but without units. A bound is crossed if "
                "the comparison is true for the ratio B/A.",
     .page = "compare.md"},
    {COMPARE, "threshold", "N%", "ignore smaller differences", OTHER(compare.threshold),
     .store = store_threshold, .default_text = DIGITS(THRESHOLD_PERCENT) "%"},

    {LOAD, "percentiles", "N,N,...", "latency percentiles to show", TEXT(percentiles),
     .store = store_percentiles, .default_text = "50,95,99,99.9",
     SHOWN("percentiles", "Percentiles"), .group = "Measuring and reporting",
     .details = "The report shows these percentiles in place of p50, p95, p99 and p99.9. The files "
                "have these percentiles and, because other programs expect them, also p50, p90, "
                "p95, p99 and p99.9. `--expect` can name any percentile, even one that is not "
                "listed here."},
    {RUN, "sample-interval", "T", "time between samples of CPU and memory",
     TIME(sample_interval_ns, 100 * MS, DAY_NS), .default_number = 3 * SECOND,
     SHOWN("sample_interval_s", "Sample interval, s")},
    {SEARCH, "sample-interval", "T", "time between samples",
     TIME(sample_interval_ns, 100 * MS, DAY_NS), .default_text = "1s, at most half of --hold"},
    {RUN, "log-transactions", "[=SHARE]", "write each transaction to transactions.csv",
     TEXT(log_transactions), .store = store_log_transactions,
     SHOWN("log_transactions", "Transactions logged"),
     .details =
         "With a SHARE such as `1%` or `0.01`, append writes only this share of the transactions; "
         "the seed decides which. Without a script, append writes each batch and each read.",
     .page = "results.md#each-transaction"},
    {RUN | SEARCH, "waits", "[=on|sql|kernel|try]", "find what the sessions wait for at the server",
     CHOICE(waits, wait_mode_words), .store = store_waits, SHOWN("waits", "Waits"),
     .details =
         "append opens one more connection and repeatedly asks the server what the run's "
         "sessions wait for: the log, locks, data files, the client. The report shows the "
         "share of each wait in the time of appends, reads and commits. `sql` also shows the "
         "statements of sessions that block others; these statements may contain data. "
         "`kernel` asks the kernel of this machine instead of the database: "
         "how long the server's threads used a CPU, and how long they waited for a CPU, for "
         "the disk, for each other or for the client. `kernel` works with any server on "
         "this machine, and needs root, or CAP_BPF and CAP_PERFMON. With `try`, append asks "
         "the database, or the kernel if the database does not show waits. If this machine "
         "does not allow that either, the run does not measure waits.",
     .page = "why.md"},
    {RUN | CHECK, "io-trace", "[=full|requests|try]", "trace each I/O of the server, by layer",
     CHOICE(io_trace, io_trace_words), .store = store_io_trace, SHOWN("io_trace", "I/O trace"),
     .details =
         "`full`, the default if no value is given, traces each read, write and fsync of the "
         "server's processes and each request to the disk. append measures the time in the file "
         "system, in the queue and at the device. `requests` traces only the requests, which costs "
         "less. `try` is `full` if this machine allows tracing; otherwise the run goes on without "
         "the trace. Tracing needs root, or CAP_BPF and CAP_PERFMON.",
     .page = "io.md"},
    {MEASURE | CERTIFY, "server-pid", "PID[!]", "server's process", COUNT(server_pid, INT32_MAX),
     .store = store_server_pid, .default_text = "found by port", OF(PLACE), .key = "server_pid",
     OF_SERVER,
     .details =
         "append measures this process and its descendants. append refuses a process that neither "
         "holds the server's port nor is related to the process that holds it. With a `!` "
         "after the number, append accepts any process."},
    {MEASURE, "server-cgroup", "DIR", "server's cgroup folder, for its memory, CPU and I/O",
     TEXT(server_cgroup), OF(PLACE), .key = "server_cgroup", OF_SERVER},
    {MEASURE | CERTIFY, "data-directory", "DIR",
     "folder of the server's files; its disk is measured", TEXT(data_directory), OF(PLACE),
     .key = "data_directory", OF_SERVER,
     .details = "Without the option, append asks the server for this folder."},
    {LOAD | CERTIFY, "out", "DIR", "new folder for the files", TEXT(out),
     .default_text = "append-runs/...", OF(CALL)},
    {REPORT, "out", "FILE", "file of the page", TEXT(out), .default_text = "report.html"},
    {RUN_ALONE | PREPARE, "progress", "T", "print a line of progress every T",
     TIME(progress_ns, SECOND, DAY_NS), .key = "progress_s", .letter = 'P',
     .details =
         "T is at least 1 s. Without the option, append rewrites one line of progress on a "
         "terminal; if standard error is not a terminal, append prints a line with each sample."},
    {ALL, "quiet", NULL, "print no progress", FLAG(is_quiet), OF(CALL), .key = "quiet",
     .letter = 'q'},
    {MEASURE | REPORT | COMPARE, "json", NULL, "print the report as JSON", FLAG(is_json), OF(CALL),
     .key = "json", .details = "A run prints the content of its `run.json`."},
    {RUN_ALONE, "plan", NULL, "print the plan and exit", FLAG(is_plan_only),
     .details = "append does not connect, except to recognise the database on a port."},
    {RUN_ALONE, "version", NULL, "print versions and exit", FLAG(is_version), .letter = 'V',
     .details =
         "append prints its version, the adapters, and the versions of their client libraries."},
    {ALL | REPORT | COMPARE | CONTROL, "help", NULL, "print this text; -h alone does the same",
     FLAG(is_help)},

    {MEASURE, "container", "NAME", "server's container, of Docker or Podman", TEXT(container),
     .store = store_container, .key = "container", OF_SERVER, .group = "Watching a run",
     .details = "append measures the processes and the cgroup of the container.",
     .page = "watching.md"},
    {LOAD, "metrics", "[HOST:]PORT", "serve /metrics for Prometheus during the run", TEXT(metrics),
     .store = store_metrics, OF(PLACE), .key = "metrics",
     .details = "Without HOST only this machine can read the metrics.", .page = "watching.md"},
    {LOAD, "metrics-file", "FILE", "write the metrics to a file every second", TEXT(metrics_file),
     .max = PLAN_PATH_BYTES, OF(PLACE), .key = "metrics_file",
     .details = "FILE is for the textfile collector of node_exporter. A FILE of an earlier run is "
                "replaced.",
     .page = "watching.md"},
    {RUN_ALONE | SEARCH | SWEEP, "live", "[HOST:]PORT", "show the report's page during the run",
     TEXT(live), .store = store_live, OF(CALL), .key = "live",
     .details = "Without HOST only this machine can open the page, http://127.0.0.1:PORT/.",
     .page = "watching.md#the-live-page"},
    {RUN_ALONE, "live-control", NULL, "let the live page change the run", FLAG(is_live_control),
     OF(CALL), .key = "live_control",
     .details = "The page gets buttons that change the rate and the number of sessions at work, "
                "make a mark, pause the run and end it. The option includes `--control`.",
     .page = "watching.md#change-a-run-in-progress"},
    {RUN_ALONE, "control", NULL, "let 'append control' change the run", FLAG(is_control), OF(CALL),
     .key = "control",
     .details = "For example, `append control DIR rate=20k` changes the rate during the run.",
     .page = "watching.md#change-a-run-in-progress"},
    {RUN, "mark", "TIME=TEXT", "labelled line in the charts", TEXTS(mark_texts),
     .store = store_mark, .key = "mark",
     .details = "TIME is " MOMENT_FORM ". The option can be given several times. Lines of the "
                "run's `events.csv` are also marks."},

    {LOAD, "weights", "W,W,...", "each rank's share of the sessions", TEXT(weights),
     .default_text = "equal", .key = "weights", .group = "Several machines (mpirun)",
     .page = "several-machines.md"},
    {LOAD, "sample-only", "HOST", "ranks on HOST only sample the server", TEXTS(sample_only),
     .key = "sample_only",
     .details = "These ranks have no sessions. The option can be given several "
                "times.",
     .page = "several-machines.md"},

    {RUN_ALONE | SWEEP, "report", NULL, "write report.html with charts at the end", FLAG(is_report),
     OF(CALL), .key = "report", .group = "Charts and report", .page = "report.md"},
    {REPORT, "text", NULL, "print the charts as text, and write no page", FLAG(charts.is_text)},
    {REPORT, "png", NULL, "also write each chart as a PNG file", FLAG(charts.is_png)},
    {REPORT, "x-axis", "time|rows", "draw progress over time or over rows",
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

void option_describe_default(const struct option_entry *entry, char text[OPTION_DEFAULT_BYTES])
{
    const uint64_t number = entry->default_number;
    const bool is_minutes = number % (60 * SECOND) == 0;
    text[0] = '\0';
    if (entry->default_text != NULL) {
        snprintf(text, OPTION_DEFAULT_BYTES, "%s", entry->default_text);
    } else if (entry->type == OPTION_CHOICE && !option_may_stand_alone(entry)) {
        snprintf(text, OPTION_DEFAULT_BYTES, "%s", entry->words[number]);
    } else if (entry->type == OPTION_TIME && number > 0) {
        snprintf(text, OPTION_DEFAULT_BYTES, "%.0f%s",
                 (double)number / (double)((is_minutes ? 60 : 1) * SECOND), is_minutes ? "m" : "s");
    } else if (number > 0) {
        snprintf(text, OPTION_DEFAULT_BYTES, "%s", UNITS_COUNT(number));
    }
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
                          .reconnect_tries = RECONNECT_TRIES,
                          .tries = UINT64_MAX,
                          .compare.threshold = THRESHOLD_PERCENT / 100.0};
    for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
        if (entry->default_number != 0) {
            set_number(entry, plan, entry->default_number);
        }
    }
    if (command == COMMAND_FIND_MAX) {
        plan->is_search = true;
        /* no count(*) by default, because it slows down as the table grows, and steps with more
         * sessions would look slower */
        plan->read_mode = READ_NONE;
        plan->sample_interval_ns = 0; /* plan_make derives the interval from --hold */
    }
}

enum exit_code option_record(struct plan *plan, const struct option_entry *entry, const char *value,
                             struct error *error)
{
    if (plan->given_count == PLAN_GIVEN_MAX) {
        return usage_refuse(error, "more than %d options are given", PLAN_GIVEN_MAX);
    }
    plan->given[plan->given_count++] = (struct given_option){entry, value};
    return EXIT_CODE_OK;
}

enum exit_code option_take(struct plan *plan, const struct option_entry *entry, const char *value,
                           struct error *error)
{
    const enum exit_code code = option_record(plan, entry, value, error);
    return code != EXIT_CODE_OK
               ? code
               : (entry->store != NULL ? entry->store : store_by_type)(entry, plan, value, error);
}

bool option_is_password(const struct option_entry *entry)
{
    return entry->store == store_password;
}

/* Reports a word that getopt did not accept. The message leaves out the text after a '=', because
 * the text may be a password. */
static enum exit_code refuse_option(const struct command_form *form, int code, const char *word,
                                    struct error *error)
{
    if (code == PASSWORD_OPTION || strncmp(word, "--pass", strlen("--pass")) == 0) {
        return usage_refuse(error,
                            "every user of this machine could read a password on the command "
                            "line: use --password-file FILE or APPEND_PASSWORD");
    }
    if (code == ':') {
        return usage_refuse(error, "%s needs a value: see append --help", word);
    }
    if (optopt >= '0' && optopt <= '9') {
        return usage_refuse(
            error, "'%.40s' is not a count: SESSIONS and RECORDS are whole numbers from 1", word);
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
        if (strcmp(entry->name, name) == 0) { /* the option belongs to another command */
            return usage_refuse(error, "--%s is not an option of '%s': see append help%s%s", name,
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
    target_redact(text, shown, sizeof shown); /* the word may be a misplaced target */
    return usage_refuse(error, "%s '%.40s' is not a whole number from 1 to %s (10000000 or 10M)",
                        name, shown, UNITS_COUNT(max));
}

bool option_is_target(const char *word)
{
    const char *const colon = strrchr(word, ':');
    uint16_t port;
    bool has_form = strstr(word, "://") != NULL ||
                    (colon != NULL && url_parse_port(colon + 1, &port) && port > 0);
    for (const struct adapter *const *a = registry_adapters; *a != NULL; a++) {
        const size_t length = strlen((*a)->name);
        has_form = has_form || (strncmp(word, (*a)->name, length) == 0 && word[length] == ':');
    }
    return has_form;
}

static bool is_listening(uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool is_connected =
        sock >= 0 && connect(sock, (const struct sockaddr *)&address, sizeof address) == 0;
    if (sock >= 0) {
        close(sock);
    }
    return is_connected;
}

/* Refuses RECORDS that are probably meant as the port of a server; the run would otherwise append
 * that many rows to SQLite. With a script, refuses every number that can be a port, because runs
 * with a script seldom have RECORDS. */
static enum exit_code refuse_port(const struct plan *plan, const char *word, struct error *error)
{
    uint16_t port = 0;
    if (!url_parse_port(word, &port) || port == 0) {
        return EXIT_CODE_OK;
    }
    if (plan->workload != NULL) {
        return usage_refuse(error,
                            "%s may be a port or RECORDS: if it is a port, add --duration T or "
                            "--transactions N; if it "
                            "is a number of rows (for a script that appends rows), add a target",
                            word);
    }
    for (const struct adapter *const *a = registry_adapters; *a != NULL; a++) {
        if ((*a)->default_port == port) {
            return usage_refuse(error,
                                "%s is in the place of RECORDS but is the port of %s: write "
                                "localhost:%s for the server; for that many rows, add a target",
                                word, (*a)->name, word);
        }
    }
    return plan->duration_ns > 0 && is_listening(port)
               ? usage_refuse(error,
                              "%s may be RECORDS or a port, because a server listens on this port: "
                              "write localhost:%s for the server; for that many rows, add a target",
                              word, word)
               : EXIT_CODE_OK;
}

enum exit_code options_read_records(struct plan *plan, const char *value, struct error *error)
{
    return parse_count("RECORDS", value, PLAN_RECORDS_MAX, &plan->records, error);
}

/* Refuses stages whose durations are all 0, or whose targets are all 0. */
static enum exit_code check_stages(const struct plan *plan, struct error *error)
{
    const struct ramp *stages = plan_stages(plan);
    const char *name = plan->stages.count > 0 ? "--stage" : "--rate-stage";
    if (stages->count > 0 && ramp_duration_ns(stages, stages->count) == 0) {
        return usage_refuse(error,
                            "%s: every stage has the duration 0: give at least one stage a longer "
                            "duration, as in 30s:50",
                            name);
    }
    if (stages->count > 0 && ramp_highest(stages) <= 0) {
        return usage_refuse(error,
                            "%s: every stage has the target 0: give at least one stage a higher "
                            "target, as in 30s:50",
                            name);
    }
    return EXIT_CODE_OK;
}

/* Reads the operands: SESSIONS, RECORDS and TARGET, or folders. RECORDS can be left out if an
 * option ends the run. In a run, a single number after SESSIONS is RECORDS. But if the run has a
 * script and also an option that ends the run (a duration or a number of transactions), the number
 * is TARGET, a port. */
enum exit_code options_read_operands(struct plan *plan, const struct command_form *form,
                                     const struct words *given, struct error *error)
{
    const int count = given->count;
    char *const *const operands = given->at;
    const size_t folders = form->folders_most > 0 ? (size_t)count : 0;
    if (folders < form->folders_least) {
        return usage_refuse(error, "too few operands: use %s, see append --help", form->usage);
    }
    if (folders > form->folders_most) {
        return usage_refuse(error,
                            form->ends_with_text
                                ? "too many operands: use %s with one change at a time"
                                : "too many operands: use %s with at most %zu folders, see append "
                                  "--help",
                            form->usage, form->folders_most);
    }
    for (size_t i = 0; i + (form->ends_with_text ? 1 : 0) < folders; i++) {
        char shown[SHOWN_BYTES];
        target_redact(operands[i], shown, sizeof shown);
        if (strncmp(shown, operands[i], strlen(shown)) != 0 && access(operands[i], F_OK) != 0) {
            return usage_refuse(error, "'%s' is a target, not the folder of a run", shown);
        }
    }
    plan->folders = operands;
    plan->folder_count = folders;
    if (form->folders_most > 0) {
        return EXIT_CODE_OK;
    }
    if (check_stages(plan, error) != EXIT_CODE_OK) {
        return EXIT_CODE_USAGE;
    }
    const bool is_run = form->command == COMMAND_RUN;
    const bool is_prepare = form->command == COMMAND_PREPARE;
    uint16_t port;
    const bool is_number = count == 1 && url_parse_port(operands[0], &port) && !is_listening(port);
    /* a single operand of prepare is the target if it is not a number, or if a server listens on
     * this port; SESSIONS is then missing */
    if (is_prepare && plan->sessions == 0 && count < 2 && !is_number) {
        const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
        plan->sessions = cpus > 0 ? (unsigned)cpus : 1;
    }
    const bool has_sessions =
        (is_run || is_prepare || (form->command & (COMMAND_CHECK | COMMAND_CERTIFY)) != 0) &&
        plan->sessions == 0;
    if (has_sessions && count > 0 && option_is_target(operands[0])) {
        return usage_refuse(error, "SESSIONS is missing before the target: %s", form->usage);
    }
    const int first = has_sessions ? 1 : 0;
    const bool is_bounded = plan->duration_ns != 0 || plan->transactions != 0;
    const bool can_lack_records = !is_run || is_bounded || plan->workload != NULL ||
                                  plan->records > 0; /* RECORDS may be from a file of options */
    uint64_t number;
    /* RECORDS can be missing if an option ends the run; if the run also has a script, a single
     * operand is the target */
    const bool may_be_records = count == first + 1 &&
                                units_parse_count(operands[first], UINT64_MAX, &number) &&
                                (plan->workload == NULL || !is_bounded);
    const bool has_records = is_run && (!can_lack_records || count > first + 1 || may_be_records);
    const int least = first + (can_lack_records ? 0 : 1);
    const int most = first + (has_records ? 1 : 0) + 1;
    if (count < least || count > most) {
        const char *usage = plan->workload != NULL ? FORM_OF_SCRIPT : FORM_OF_DURATION;
        usage = plan->stages.count > 0 ? FORM_OF_STAGES : usage;
        return usage_refuse(error, "%s operands: use %s, see append --help",
                            count < least ? "too few" : "too many",
                            is_run && can_lack_records ? usage : form->usage);
    }
    enum exit_code code = EXIT_CODE_OK;
    if (has_sessions) {
        code = parse_count("SESSIONS", operands[0], PLAN_SESSIONS_MAX, &number, error);
        plan->sessions = code == EXIT_CODE_OK ? (unsigned)number : 0;
        plan->is_sessions_operand = true;
    }
    if (code == EXIT_CODE_OK && has_records && count < most && plan->target.port == 0 &&
        plan->target_given == NULL) {
        code = refuse_port(plan, operands[first], error);
    }
    if (code == EXIT_CODE_OK && has_records && option_is_target(operands[first])) {
        return usage_refuse(error, "RECORDS or --duration is missing: use %s, or %s", form->usage,
                            FORM_OF_DURATION);
    }
    if (code == EXIT_CODE_OK && has_records) {
        code = options_read_records(plan, operands[first], error);
    }
    plan->target_given = count > most - 1 ? operands[most - 1] : plan->target_given;
    return code;
}

enum exit_code options_read(const struct command_form *form, int argc, char **argv,
                            struct given_list *given, struct words *operands, struct error *error)
{
    struct option longs[COUNT_OF(option_table) + 1];
    /* the leading ':' makes getopt return ':' for a missing value */
    char letters[2 * COUNT_OF(option_table) + 2] = ":";
    char *letter = letters + 1;
    size_t used = 0;
    for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
        if (option_is_of(entry, form->command)) {
            const int value_form =
                option_may_stand_alone(entry) ? optional_argument : required_argument;
            longs[used++] = (struct option){
                .name = entry->name,
                .has_arg = entry->argument == NULL ? no_argument : value_form,
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
    /* without this entry, getopt would complete --password to --password-file and use the password
     * as a file's name */
    longs[used++] = (struct option){"password", optional_argument, NULL, PASSWORD_OPTION};
    longs[used] = (struct option){0};
    opterr = 0;
    optind = 0; /* 0 makes getopt also reset its state from an earlier call; 1 does not */
    *operands = (struct words){.count = 0};
    given->count = 0;
    given->is_help = given->is_version = false;
    int code;
    while ((code = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        const struct option_entry *entry = option_table;
        while (code < FIRST_LONG && entry->name != NULL &&
               (entry->letter != code || !option_is_of(entry, form->command))) {
            entry++;
        }
        entry += code < FIRST_LONG ? 0 : code - FIRST_LONG;
        /* -h HOST names the host, as in psql. -h without a host and -? ask for help, as does -h for
         * a command that takes no host. */
        if ((code == '?' || code == ':') && (optopt == 'h' || optopt == '?')) {
            given->is_help = true;
        } else if (entry->name == NULL) {
            return refuse_option(form, code, argv[optind > 0 ? optind - 1 : 0], error);
        } else if (given->count == PLAN_GIVEN_MAX) {
            return usage_refuse(error, "more than %d options are given", PLAN_GIVEN_MAX);
        } else {
            given->entries[given->count++] = (struct given_option){entry, optarg};
            given->is_help = strcmp(entry->name, "help") == 0;
            given->is_version = strcmp(entry->name, "version") == 0;
        }
        if (given->is_help || given->is_version) {
            return EXIT_CODE_OK;
        }
    }
    *operands = (struct words){.count = argc - optind, .at = argv + optind};
    return EXIT_CODE_OK;
}
