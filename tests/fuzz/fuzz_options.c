/* The command line. Accepted values are in range and point to the given text. A refusal has an
 * error. Only the password file is opened, and its content is a part of the input. */
#include "fuzz/fuzz.h"

#include <errno.h>

#include "base/mono.h"
#include "commands/command.h"
#include "plan/command_line.h"
#include "plan/options.h"
#include "report/expectations.h"

/* The first byte of the input chooses the command; 's' chooses sweep. The lines up to the first NUL
 * are the arguments. The bytes after the NUL are the content of every file; without a NUL no file
 * exists. If the first byte chooses WAY_VALUE, the first line is the name of an option, and the
 * text after it is the option's value. */
enum {
    WAY_VALUE = 3,
    WAYS = 4,
    SWEEP_BYTE = 's', /* every other byte chooses way byte % WAYS */
    WORDS_MAX = 48
};

/* The content of every file that fopen below opens. NULL if no file exists. */
static char *file_content;
static size_t file_size;
static bool is_parsing;

/* Replaces fopen (the linker's option --wrap does this). Otherwise a fuzzer that guesses paths
 * would read real files or wait for a pipe. */
FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
    if (!is_parsing) {
        return __real_fopen(path, mode);
    }
    fuzz_require(mode[0] == 'r', "options only read files");
    if (file_content == NULL) {
        errno = ENOENT;
        return NULL;
    }
    return fmemopen(file_content, file_size, "r");
}

static void check_range(uint64_t value, uint64_t least, uint64_t most)
{
    fuzz_require(value >= least && value <= most, "an option's value is in its range");
}

static void check_ranges(const struct plan *plan)
{
    const int64_t day = 24 * 3600 * MONO_NS_PER_S;
    check_range(plan->sessions, 0, PLAN_SESSIONS_MAX);
    check_range(plan->records, 0, PLAN_RECORDS_MAX);
    check_range(plan->batch_rows, 1, PLAN_BATCH_ROWS_MAX);
    check_range(plan->read_every, 1, UINT32_MAX);
    check_range(plan->seed, 0, INT64_MAX);
    check_range(plan->rate_rows_per_s, 0, 1000000000);
    check_range((uint64_t)plan->duration_ns, 0, (uint64_t)(30 * day));
    check_range(plan->connect_concurrency, 1, PLAN_SESSIONS_MAX);
    check_range((uint64_t)plan->connect_timeout_ns, MONO_NS_PER_S, (uint64_t)day);
    check_range((uint64_t)plan->wait_ns, 0, (uint64_t)day);
    if (plan->progress_ns != 0) {
        check_range((uint64_t)plan->progress_ns, MONO_NS_PER_S, (uint64_t)day);
    }
    if (plan->sample_interval_ns != 0) {
        check_range((uint64_t)plan->sample_interval_ns, 100 * MONO_NS_PER_MS, (uint64_t)day);
    }
    if (plan->timeout_ns != 0) {
        check_range((uint64_t)plan->timeout_ns, 100 * MONO_NS_PER_MS, (uint64_t)day);
    }
    check_range((uint64_t)plan->server_pid, 0, INT32_MAX);
    check_range(plan->reconnect_tries, 1, 1000000);
    check_range(plan->idle_sessions, 0, PLAN_SESSIONS_MAX);
    check_range(plan->churn_batches, 0, UINT32_MAX);
    check_range(plan->min_sessions, 0, PLAN_SESSIONS_MAX);
    check_range(plan->min_percent, 0, 100);
    check_range(plan->search.first, 0, PLAN_SESSIONS_MAX);
    check_range(plan->search.max_sessions, 0, PLAN_SESSIONS_MAX);
    check_range((uint64_t)plan->search.hold_ns, 1, (uint64_t)day);
    check_range((uint64_t)plan->search.max_time_ns, 1, (uint64_t)(30 * day));
    check_range((uint64_t)plan->search.p99_bound_ns, 0, (uint64_t)day);
    check_range(plan->search.max_memory_bytes, 0, UINT64_C(1) << 50);
    check_range(plan->search.max_rows, 0, PLAN_RECORDS_MAX);
    check_range(plan->search.max_bytes, 0, UINT64_C(1) << 50);
    check_range(plan->stack_bytes, 0, UINT64_C(1) << 30);
    check_range(plan->read_mode, READ_COUNT, READ_QUERY);
    fuzz_require((plan->read_mode == READ_QUERY) <= (plan->read_sql != NULL),
                 "a read by query has its SQL");
    fuzz_require(plan->min_sessions == 0 || plan->min_percent == 0,
                 "--min-sessions is a number or a percentage, not both");
}

static void check_refusal(const struct error *error)
{
    fuzz_require(error->kind == ERROR_USAGE, "a refused command line is a usage error");
    fuzz_require(error->text[0] != '\0' && strpbrk(error->text, "\n\r\t") == NULL,
                 "a refusal is one line");
}

/* Checks that the password is the whole first line of the file. */
static void check_password(const struct plan *plan)
{
    const char *password = plan->password;
    const size_t length = strlen(password);
    if (length == 0) {
        return;
    }
    fuzz_require(file_size >= length, "a password is a part of its file");
    const char *end = file_content + length;
    size_t left = file_size - length;
    if (left > 0 && *end == '\r') {
        end++;
        left--;
    }
    fuzz_require(memcmp(password, file_content, length) == 0 && (left == 0 || *end == '\n'),
                 "a password is the first line of its file");
}

static void check_text(const char *text, int count, char *const *words)
{
    bool is_given = text == NULL || strcmp(text, PLAN_DEFAULT_TABLE) == 0;
    for (int i = 0; i < count && !is_given; i++) {
        is_given = text >= words[i] && text <= words[i] + strlen(words[i]);
    }
    fuzz_require(is_given, "a text of the plan is from the command line");
}

static void check_list(const struct sweep_list *list, uint64_t most)
{
    fuzz_require(list->count <= SWEEP_LIST_MAX, "a list is within its limit");
    for (size_t i = 0; i < list->count; i++) {
        check_range(list->values[i], 1, most);
        for (size_t j = 0; j < i; j++) {
            fuzz_require(list->values[j] != list->values[i], "a list has each number once");
        }
    }
}

static void check_accepted(const struct plan *plan, int count, char *const *words)
{
    const char *const texts[] = {plan->target_given,  plan->adapter_name,    plan->target.host,
                                 plan->target.user,   plan->target.database, plan->table_name,
                                 plan->target.schema, plan->schema_file,     plan->engine,
                                 plan->target.method, plan->read_sql,        plan->out,
                                 plan->server_cgroup, plan->sweep.resume};
    check_password(plan);
    if (plan->is_help || plan->is_version) {
        return;
    }
    check_ranges(plan);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        check_text(texts[i], count, words);
    }
    fuzz_require(plan->sample_interval_ns > 0 || plan->command == COMMAND_FIND_MAX,
                 "only find-max leaves the sample interval open");
    fuzz_require((plan->sessions > 0) ==
                     (plan->command != COMMAND_FIND_MAX && plan->command != COMMAND_SWEEP),
                 "only find-max and sweep leave the number of sessions open");
    check_list(&plan->sweep.sessions, PLAN_SESSIONS_MAX);
    check_list(&plan->sweep.records, PLAN_RECORDS_MAX);
    check_range(plan->sweep.repeat, 1, SWEEP_LIST_MAX);
    const bool is_run = plan->command == COMMAND_RUN;
    fuzz_require(is_run ? plan->records > 0 || plan->duration_ns > 0 : plan->records == 0,
                 "a run has rows or a duration");
}

/* Parses the arguments in the same way as the commands do. */
static enum status parse(struct plan *plan, enum command command, int count, char **words,
                         struct error *error)
{
    static struct expectations expectations;
    const struct command_entry *entry = command_table;
    while (entry->form.command != command) {
        entry++;
    }
    if (command_line_read(plan, &entry->form, count, words, error) != EXIT_CODE_OK) {
        return STATUS_REJECTED;
    }
    return expectations_parse(&expectations, plan, error);
}

static void run_words(enum command command, int count, char **words)
{
    static struct plan plan;
    enum status first = STATUS_OK;
    /* parse twice, because getopt keeps state and sorts the arguments */
    for (int i = 0; i < 2; i++) {
        struct error error;
        error_clear(&error);
        is_parsing = true;
        const enum status status = parse(&plan, command, count, words, &error);
        is_parsing = false;
        if (status == STATUS_OK) {
            check_accepted(&plan, count, words);
        } else {
            check_refusal(&error);
        }
        fuzz_require(i == 0 || status == first, "parsing again gives the same result");
        first = status;
    }
}

static void split_words(enum command command, const uint8_t *data, size_t size)
{
    char **words = calloc(WORDS_MAX + 1, sizeof *words);
    char *text = fuzz_text(data, size);
    int count = 0;
    fuzz_require(words != NULL, "there is memory for the words");
    words[count++] = strdup("append");
    for (const char *line = text; line != NULL && count < WORDS_MAX;) {
        const char *end = strchr(line, '\n');
        words[count++] = end == NULL ? strdup(line) : strndup(line, (size_t)(end - line));
        line = end == NULL ? NULL : end + 1;
    }
    run_words(command, count, words);
    for (int i = 0; i < count; i++) {
        free(words[i]);
    }
    free(words);
    free(text);
}

static bool is_strict(const char *text, const char *argument)
{
    static const char *const counts[] = {"", "k", "K", "m", "M", "g", "G", NULL};
    static const char *const shares[] = {"", "k", "K", "m", "M", "g", "G", "%", NULL};
    static const char *const times[] = {"", "ms", "s", "m", "min", "h", NULL};
    const bool is_time = strcmp(argument, "T") == 0;
    const char *const *suffixes = is_time ? times : NULL;
    if (strcmp(argument, "N") == 0 || strcmp(argument, "PID") == 0) {
        suffixes = counts;
    } else if (strcmp(argument, "N|N%") == 0) {
        suffixes = shares;
    }
    if (suffixes == NULL) {
        return true;
    }
    const size_t length = strspn(text, is_time ? "0123456789." : "0123456789");
    while (*suffixes != NULL && strcmp(text + length, *suffixes) != 0) {
        suffixes++;
    }
    return length > 0 && *suffixes != NULL;
}

static void run_value(char *name)
{
    char *line_break = strchr(name, '\n');
    if (line_break == NULL) {
        return;
    }
    *line_break = '\0';
    const char *value = line_break + 1;
    const struct option_entry *entry = option_table;
    while (entry->name != NULL && strcmp(entry->name, name) != 0) {
        entry++;
    }
    if (entry->name == NULL) {
        return;
    }
    static struct plan plan;
    static struct expectations expectations;
    struct error error;
    error_clear(&error);
    options_init(&plan, COMMAND_RUN);
    is_parsing = true;
    enum status status = STATUS_REJECTED;
    const enum exit_code code = option_take(&plan, entry, value, &error);
    is_parsing = false;
    if (code == EXIT_CODE_OK) {
        status = expectations_parse(&expectations, &plan, &error);
    }
    if (status == STATUS_OK) {
        check_ranges(&plan);
        check_password(&plan);
        fuzz_require(entry->argument == NULL || is_strict(value, entry->argument),
                     "a value is read as a whole");
    } else {
        check_refusal(&error);
        fuzz_require(strstr(error.text, entry->name) != NULL, "a refusal names the option");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum command commands[] = {COMMAND_RUN, COMMAND_CHECK, COMMAND_FIND_MAX};
    if (size < 2) {
        return 0;
    }
    const unsigned way = data[0] % WAYS;
    const uint8_t *nul = memchr(data + 1, '\0', size - 1);
    if (nul != NULL) {
        file_size = (size_t)(data + size - nul - 1);
        file_content = malloc(file_size > 0 ? file_size : 1);
        fuzz_require(file_content != NULL, "there is memory for the file");
        memcpy(file_content, nul + 1, file_size);
    }
    if (way == WAY_VALUE && data[0] != SWEEP_BYTE) {
        char *name = fuzz_text(data + 1, size - 1);
        run_value(name);
        free(name);
    } else {
        split_words(data[0] == SWEEP_BYTE ? COMMAND_SWEEP : commands[way], data + 1, size - 1);
    }
    free(file_content);
    file_content = NULL;
    file_size = 0;
    return 0;
}
