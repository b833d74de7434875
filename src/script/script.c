#include "script/internal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process.h"

enum {
    SOURCE_BYTES_MAX = 1 << 20,
};

/* Time between two checks of whether the top level still runs and has time left. */
#define CHECK_NS (20 * MONO_NS_PER_MS)

/* Reads a whole file into memory that the caller frees, with a NUL after its *length bytes. Returns
 * NULL with the reason in *error. */
static char *read_source(const char *path, size_t *length, struct error *error)
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *text = NULL;
    if (fd < 0 || fstat(fd, &about) != 0) {
        error_set(error, ERROR_USAGE, errno, NULL, "script '%s': %s", path, strerror(errno));
    } else if (!S_ISREG(about.st_mode)) {
        error_set(error, ERROR_USAGE, 0, NULL, "script '%s' is %s: name a Lua file", path,
                  S_ISDIR(about.st_mode) ? "a folder" : "not a regular file");
    } else if (about.st_size > SOURCE_BYTES_MAX) {
        error_set(error, ERROR_USAGE, 0, NULL, "script '%s' is larger than %s, the limit", path,
                  UNITS_BYTES(SOURCE_BYTES_MAX));
    } else {
        const size_t size = (size_t)about.st_size;
        text = calloc(1, size + 1);
        ssize_t got = text == NULL ? -1 : 1;
        for (*length = 0; got > 0 && *length < size; *length += (size_t)MAX(got, 0)) {
            got = read(fd, text + *length, size - *length);
        }
        if (text == NULL) {
            state_out_of_memory(error);
        } else if (got < 0) {
            error_set(error, ERROR_USAGE, errno, NULL, "script '%s': %s", path, strerror(errno));
            free(text);
            text = NULL;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return text;
}

bool script_is_file(const char *name)
{
    const size_t length = strlen(name);
    return strchr(name, '/') != NULL || (length > 4 && strcmp(name + length - 4, ".lua") == 0);
}

/* Reads the script `name` into source->text and fills chunk_name. */
static enum status find_source(struct script_source *source, const char *name, struct error *error)
{
    struct buffer chunk = {0};
    struct nearest nearest = {.word = name};
    if (script_is_file(name)) {
        buffer_add_format(&chunk, "@%s", name);
        source->text = read_source(name, &source->length, error);
    } else {
        char names[ERROR_TEXT_BYTES / 2] = "";
        buffer_add_format(&chunk, "@%s.lua", name);
        for (const struct script_built_in *entry = script_built_ins; entry->name != NULL; entry++) {
            const size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, "%s%s", used == 0 ? "" : ", ", entry->name);
            nearest_offer(&nearest, entry->name);
            if (strcmp(entry->name, name) == 0) {
                source->text = strdup(entry->text);
                source->length = strlen(entry->text);
            }
        }
        if (source->text == NULL) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "unknown workload '%.40s'%s%s%s: use %s, or a script's path "
                      "(./mine.lua)",
                      name, nearest.name == NULL ? "" : " (did you mean ",
                      nearest.name == NULL ? "" : nearest.name, nearest.name == NULL ? "" : "?)",
                      names);
        }
    }
    source->chunk_name = chunk.bytes;
    if (source->text == NULL || source->chunk_name == NULL) {
        state_out_of_memory(error);
        return STATUS_REJECTED;
    }
    if (source->text[0] == LUA_SIGNATURE[0]) {
        error_set(error, ERROR_USAGE, 0, NULL, "script '%s' is compiled: give its source text",
                  name);
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

/* Returns whether `text`, a script's source, may use a method or field with the name `append`. */
static bool names_append(const char *text)
{
    for (const char *at = text; (at = strstr(at, "append")) != NULL; at++) {
        const char *before = at;
        while (before > text && isspace((unsigned char)before[-1])) {
            before--;
        }
        if (before > text && strchr(":.\"'[", before[-1]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Checks that each --set NAME=VALUE has a value and names a declared parameter. */
static enum status check_sets(const struct script *script, struct error *error)
{
    for (size_t i = 0; i < script->source->set_count; i++) {
        const struct script_set *set = &script->source->sets[i];
        char name[SCRIPT_NAME_BYTES];
        if (set->is_used) {
            continue;
        }
        snprintf(name, sizeof name, "%s", set->name);
        struct nearest nearest = {.word = name};
        for (size_t p = 0; p < script->param_count; p++) {
            nearest_offer(&nearest, script->params[p].name);
        }
        if (set->value == NULL) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "--set '%s' is not NAME=VALUE (see append help %s)", name, script->name);
        } else {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "%s has no parameter '%s'%s%s%s: see append help %s", script->name, name,
                      nearest.name == NULL ? "" : " (did you mean ",
                      nearest.name == NULL ? "" : nearest.name, nearest.name == NULL ? "" : "?)",
                      script->name);
        }
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

static enum status declare(struct script *script, struct error *error)
{
    struct script_source *source = script->source;
    const struct script_place place = {.sessions = 1, .dialect = ""};
    struct script_state *state = state_create(script, script, &place);
    pthread_mutex_lock(&source->lock);
    source->main = state; /* abandon_loading, which runs in another thread, needs the state */
    pthread_mutex_unlock(&source->lock);
    if (state == NULL) {
        return state_out_of_memory(error);
    }
    if (state_run_script(state, error) != STATUS_OK || check_sets(script, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    double weight = 0;
    for (size_t i = 0; i < script->transaction_count; i++) {
        weight += script->transactions[i].weight + script->transactions[i].sessions;
    }
    if (!(weight > 0)) {
        error_set(
            error, ERROR_USAGE, 0, NULL,
            script->transaction_count == 0
                ? "%s: the script declares no transaction: add transaction(\"name\", function)"
                : "%s: every transaction has weight 0: give at least one transaction a weight "
                  "above 0",
            source->chunk_name + 1);
        return STATUS_REJECTED;
    }
    script->names_append = names_append(source->text);
    declare_hash(script);
    state->declaring = NULL;
    return STATUS_OK;
}

/*
 * The work of a separate thread, which runs the top level of the script. If the thread calls a C
 * function that never returns, the thread cannot be stopped. script_load then fails, and abandons
 * the thread: it stops waiting for the thread and never frees the thread's memory. An abandoned
 * thread changes nothing that other threads see, and ends when it next calls check_time.
 */
struct loading {
    struct script *script;
    struct error error; /* belongs to the thread until the thread has ended */
    enum status status;
    pthread_mutex_t lock; /* lock for has_ended */
    pthread_cond_t ended;
    bool has_ended;
};

static void *run_loading(void *argument)
{
    struct loading *loading = argument;
    struct script *script = loading->script;
    loading->status = find_source(script->source, script->name, &loading->error);
    if (loading->status == STATUS_OK) {
        loading->status = declare(script, &loading->error);
    }
    pthread_mutex_lock(&loading->lock);
    loading->has_ended = true;
    pthread_cond_signal(&loading->ended);
    pthread_mutex_unlock(&loading->lock);
    return NULL;
}

/* Waits until the thread has ended. Returns false if the thread still runs more than ENDING_NS
 * after the user interrupted the program or after the thread used up its CPU time ALONE_NS. */
static bool await_loading(struct loading *loading, pthread_t thread)
{
    clockid_t clock;
    const bool has_clock = pthread_getcpuclockid(thread, &clock) == 0;
    int64_t interrupted_ns = 0;
    bool keeps_waiting = true;
    pthread_mutex_lock(&loading->lock);
    while (!loading->has_ended && keeps_waiting) {
        const int64_t now_ns = mono_now_ns();
        const struct timespec until = mono_timespec(now_ns + CHECK_NS);
        interrupted_ns = interrupted_ns == 0 && interrupt_requested() ? now_ns : interrupted_ns;
        /* the thread ends by itself within ENDING_NS, unless it is in a long call of one of Lua's C
         * functions */
        keeps_waiting = interrupted_ns > 0
                            ? now_ns - interrupted_ns < ENDING_NS
                            : !has_clock || mono_clock_ns(clock) < ALONE_NS + ENDING_NS;
        if (keeps_waiting) {
            pthread_cond_timedwait(&loading->ended, &loading->lock, &until);
        }
    }
    const bool has_ended = loading->has_ended;
    pthread_mutex_unlock(&loading->lock);
    return has_ended;
}

/* Abandons the thread and fills *error. The memory that the thread may use is never freed. */
static void abandon_loading(struct loading *loading, pthread_t thread, struct error *error)
{
    struct script_source *source = loading->script->source;
    char place[SCRIPT_PLACE_BYTES] = "";
    atomic_store(&source->is_abandoned, true);
    pthread_detach(thread);
    pthread_mutex_lock(&source->lock);
    if (source->main != NULL) {
        snprintf(place, sizeof place, "%s", source->main->slow_place);
    }
    pthread_mutex_unlock(&source->lock);
    if (interrupt_requested()) {
        state_set_interrupted(error, place, strlen(place));
    } else {
        error_set(error, ERROR_USAGE, 0, NULL, "%s: " TEXT_ENDLESS,
                  place[0] == '\0' ? loading->script->name : place);
    }
}

static void loading_free(struct loading *loading)
{
    if (loading != NULL) {
        pthread_cond_destroy(&loading->ended);
        pthread_mutex_destroy(&loading->lock);
        free(loading);
    }
}

/* Splits copies of the texts "name=value,name=value" into source->sets. Returns false if memory
 * runs out. */
static bool parse_sets(struct script_source *source, const char *const *texts, size_t count)
{
    struct buffer all = {0};
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        buffer_add_format(&all, "%s%s", i == 0 ? "" : ",", texts[i]);
        most += strlen(texts[i]) + 1;
    }
    source->set_text = all.bytes;
    source->sets = calloc(most + 1, sizeof *source->sets);
    if (buffer_failed(&all) || source->sets == NULL) {
        return false;
    }
    for (char *at = count == 0 ? NULL : all.bytes, *next; at != NULL; at = next) {
        struct script_set *set = &source->sets[source->set_count++];
        next = strchr(at, ',');
        if (next != NULL) {
            *next++ = '\0';
        }
        char *value = strchr(at, '=');
        if (value != NULL) {
            *value++ = '\0';
        }
        *set = (struct script_set){.name = at, .value = value};
    }
    return true;
}

struct script *script_load(const char *name, const char *const *sets, size_t set_count,
                           struct error *error)
{
    struct script *script = calloc(1, sizeof *script);
    struct script_source *source = calloc(1, sizeof *source);
    struct loading *loading = calloc(1, sizeof *loading);
    if (script == NULL || source == NULL || loading == NULL) {
        free(script);
        free(source);
        free(loading);
        state_out_of_memory(error);
        return NULL;
    }
    pthread_mutex_init(&source->lock, NULL);
    pthread_mutex_init(&loading->lock, NULL);
    thread_cond_init(&loading->ended);
    script->name = name;
    script->source = source;
    loading->script = script;
    pthread_t thread;
    if (!parse_sets(source, sets, set_count)) {
        loading->status = state_out_of_memory(&loading->error);
    } else if (thread_start(&thread, 0, run_loading, loading) != 0) {
        /* no thread could be created, so only a second Ctrl-C can end a C function that never
         * returns */
        run_loading(loading);
    } else if (await_loading(loading, thread)) {
        pthread_join(thread, NULL);
    } else {
        abandon_loading(loading, thread, error);
        return NULL;
    }
    const enum status status = loading->status;
    if (status != STATUS_OK) {
        *error = loading->error;
        script_destroy(script);
        script = NULL;
    }
    loading_free(loading);
    return script;
}

void script_share(struct script *script, unsigned place, unsigned ranks)
{
    for (size_t i = 0; i < script->counter_count; i++) {
        counter_share(script->counters[i], place, ranks);
    }
}

const char *script_text(const struct script *script)
{
    return script->source->text;
}

void script_destroy(struct script *script)
{
    if (script == NULL) {
        return;
    }
    struct script_source *source = script->source;
    script_print_end();
    script_state_destroy(source->main);
    for (size_t i = 0; i < script->dataset_count; i++) {
        table_fini(&script->datasets[i].table);
        table_fini(&source->load_tables[i]);
        free(script->datasets[i].columns);
        free(script->datasets[i].create.entries);
        free(script->datasets[i].options.entries);
        free(script->datasets[i].indexes.entries);
        free(script->datasets[i].foreign_keys);
    }
    for (size_t i = 0; i < script->statement_count; i++) {
        table_fini(&script->statements[i].parameters);
        free(script->statements[i].sql.entries);
    }
    for (size_t i = 0; i < script->invariant_count; i++) {
        free(script->invariants[i].sql.entries);
    }
    for (size_t i = 0; i < script->counter_count; i++) {
        counter_destroy(script->counters[i]);
    }
    for (size_t i = 0; i < source->string_count; i++) {
        buffer_fini(&source->strings[i]);
    }
    buffer_fini(&script->param_list);
    free(script->params);
    free(script->datasets);
    free(script->statements);
    free(script->transactions);
    free(script->operations);
    free(script->invariants);
    free(script->metrics);
    free(script->counters);
    free(source->text);
    free(source->chunk_name);
    buffer_fini(&source->code);
    free(source->strings);
    free(source->load_tables);
    free(source->set_text);
    free(source->sets);
    free(source->dialect);
    free(source->statements);
    pthread_mutex_destroy(&source->lock);
    free(source);
    free(script);
}
