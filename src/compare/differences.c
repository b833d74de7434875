#include "compare/differences.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"

/* Shares of other programs that differ by no more are alike: percent of all CPUs. */
#define OTHERS_ALIKE 5

/* Above this, programs wait for CPUs. */
#define BUSY_PERCENT 90

enum {
    NAME_BYTES = 256
};

/* What says which run it is, or follows from that; not how it was made. */
static bool is_name_of_run(const char *name)
{
    static const char *const names[] = {"plan.out_folder", "plan.seed", "plan.run_tag",
                                        "plan.server_pid"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

bool differences_add_member(json_t *list, const char *name, const json_t *a, const json_t *b)
{
    if (a == NULL) {
        a = json_null();
    }
    if (b == NULL) {
        b = json_null();
    }
    if (json_equal(a, b)) {
        return true;
    }
    json_t *entry = json_object();
    const bool is_made = json_object_set_new(entry, "name", json_string(name)) == 0 &&
                         json_object_set_new(entry, "a", json_deep_copy(a)) == 0 &&
                         json_object_set_new(entry, "b", json_deep_copy(b)) == 0;
    if (!is_made) {
        json_decref(entry);
        return false;
    }
    return json_array_append_new(list, entry) == 0;
}

/* A text in which the run's own folder is not named: a database in it is the same in each run.
 * NULL: out of memory. */
static json_t *without_folder(const json_t *value, const char *folder)
{
    const char *text = json_string_value(value);
    const char *at = text == NULL || folder == NULL ? NULL : strstr(text, folder);
    if (at == NULL || folder[0] == '\0') {
        return value == NULL ? json_null() : json_deep_copy(value);
    }
    struct buffer buffer;
    buffer_init(&buffer);
    buffer_add(&buffer, text, (size_t)(at - text));
    buffer_add_text(&buffer, "DIR");
    buffer_add_text(&buffer, at + strlen(folder));
    json_t *changed = buffer_failed(&buffer) ? NULL : json_string(buffer_text(&buffer));
    buffer_fini(&buffer);
    return changed;
}

struct walk {
    json_t *list;
    const char *folders[2];
};

static bool add_value(const struct walk *walk, const char *name, const json_t *a, const json_t *b)
{
    json_t *first = without_folder(a, walk->folders[0]);
    json_t *second = without_folder(b, walk->folders[1]);
    const bool is_done =
        first != NULL && second != NULL && differences_add_member(walk->list, name, first, second);
    json_decref(first);
    json_decref(second);
    return is_done;
}

static bool add_members(const struct walk *walk, const char *name, json_t *a, json_t *b, int depth);

/* A list of named objects, such as columns, as an object of them. NULL: it is none. */
static json_t *by_name(const json_t *list)
{
    json_t *object = json_is_array(list) ? json_object() : NULL;
    for (size_t i = 0; object != NULL && i < json_array_size(list); i++) {
        json_t *entry = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(entry, "name"));
        if (name == NULL || json_object_set(object, name, entry) != 0) {
            json_decref(object);
            object = NULL;
        }
    }
    return object;
}

/* Two lists of named objects by what differs in them; when that is only their order, whole. */
static bool add_lists(const struct walk *walk, const char *name, const json_t *a, const json_t *b)
{
    const size_t before = json_array_size(walk->list);
    json_t *first = by_name(a);
    json_t *second = by_name(b);
    const bool is_done =
        first == NULL || second == NULL || add_members(walk, name, first, second, 1);
    json_decref(first);
    json_decref(second);
    return is_done && (json_array_size(walk->list) > before || add_value(walk, name, a, b));
}

static bool add_any(const struct walk *walk, const char *name, json_t *a, json_t *b, int depth)
{
    if (is_name_of_run(name)) {
        return true;
    }
    if (depth > 0 && json_is_array(a) && json_is_array(b)) {
        return add_lists(walk, name, a, b);
    }
    return depth > 0 && json_is_object(a) && json_is_object(b)
               ? add_members(walk, name, a, b, depth - 1)
               : add_value(walk, name, a, b);
}

/* Two objects, member by member, and those in them: as deep as the plan's target. */
static bool add_members(const struct walk *walk, const char *name, json_t *a, json_t *b, int depth)
{
    json_t *const sides[2] = {a, b};
    char path[NAME_BYTES];
    for (int side = 0; side < 2; side++) {
        for (void *at = json_object_iter(sides[side]); at != NULL;
             at = json_object_iter_next(sides[side], at)) {
            const char *key = json_object_iter_key(at);
            snprintf(path, sizeof path, "%s.%s", name, key);
            const bool is_seen = side == 1 && json_object_get(a, key) != NULL;
            if (!is_seen &&
                !add_any(walk, path, json_object_get(a, key), json_object_get(b, key), depth)) {
                return false;
            }
        }
    }
    return true;
}

static bool add_part(const struct walk *walk, const char *name, const struct saved_run *a,
                     const struct saved_run *b)
{
    /* copies: the library walks along no const object */
    json_t *first = json_deep_copy(saved_run_json(a, name));
    json_t *second = json_deep_copy(saved_run_json(b, name));
    const bool is_done = add_any(walk, name, first, second, 2);
    json_decref(first);
    json_decref(second);
    return is_done;
}

bool differences_add(json_t *list, const struct saved_run *a, const struct saved_run *b)
{
    static const char *const parts[] = {
        "plan",    "environment",    "connection",
        "table",   "server.version", "verification.rows_before",
        "version",
    };
    const struct walk walk = {
        .list = list,
        .folders = {json_string_value(saved_run_json(a, "plan.out_folder")),
                    json_string_value(saved_run_json(b, "plan.out_folder"))},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (!add_part(&walk, parts[i], a, b)) {
            return false;
        }
    }
    return true;
}

__attribute__((format(printf, 2, 3))) static bool add_line(json_t *list, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *line = json_vsprintf(format, arguments);
    va_end(arguments);
    return line != NULL && json_array_append_new(list, line) == 0;
}

static const char *text_of(const struct saved_run *run, const char *path)
{
    const char *text = json_string_value(saved_run_json(run, path));
    return text == NULL ? "" : text;
}

static bool add_outcome(json_t *list, const char *side, const struct saved_run *run,
                        bool *is_clouded)
{
    const char *verdict = text_of(run, "outcome.verdict");
    const json_int_t code = json_integer_value(saved_run_json(run, "outcome.exit_code"));
    if (strcmp(verdict, "VALID") != 0) {
        *is_clouded = *is_clouded || strcmp(verdict, "INVALID") == 0;
        return add_line(list, "%s is %s: %s", side, verdict,
                        text_of(run, "outcome.verdict_reason"));
    }
    return code == 0 || add_line(list, "%s ended with exit code %d: %s", side, (int)code,
                                 text_of(run, "outcome.exit_reason"));
}

struct load {
    bool is_known;
    double host;   /* percent of all CPUs of this machine, while sessions worked */
    double others; /* of these, neither the server's nor append's */
};

static struct load load_of(const struct saved_run *run)
{
    const json_t *host = saved_run_json(run, "resources.mean_host_cpu_percent");
    const json_t *client = saved_run_json(run, "resources.mean_client_cpu_percent");
    const json_t *server = saved_run_json(run, "resources.mean_server_cpu_percent");
    const double others =
        json_number_value(host) - json_number_value(client) - json_number_value(server);
    return (struct load){.is_known = host != NULL && client != NULL,
                         .host = json_number_value(host),
                         .others = others > 0 ? others : 0};
}

/* CPUs were short, and most of what they did was for other programs. */
static bool is_disturbed(const struct load *load)
{
    return load->is_known && load->host >= BUSY_PERCENT && load->others >= load->host / 2;
}

static bool add_load(json_t *list, const struct saved_run *a, const struct saved_run *b,
                     bool *is_clouded)
{
    const struct load first = load_of(a), second = load_of(b);
    const bool is_moved =
        first.is_known && second.is_known && fabs(first.others - second.others) > OTHERS_ALIKE;
    if (!is_moved && !is_disturbed(&first) && !is_disturbed(&second)) {
        return true;
    }
    *is_clouded = true;
    return add_line(list,
                    "other programs used %.0f %% of this machine's CPUs in A and %.0f %% in B: a "
                    "difference may be theirs",
                    first.others, second.others);
}

bool differences_add_cautions(json_t *list, const struct saved_run *a, const struct saved_run *b,
                              bool *is_clouded)
{
    if (!add_outcome(list, "A", a, is_clouded) || !add_outcome(list, "B", b, is_clouded)) {
        return false;
    }
    const json_t *first_rate = saved_run_json(a, "plan.rate_rows_per_s");
    const json_t *second_rate = saved_run_json(b, "plan.rate_rows_per_s");
    if ((first_rate != NULL || second_rate != NULL) && !json_equal(first_rate, second_rate) &&
        !add_line(list, "the pace follows --rate, which is not the same in both")) {
        return false;
    }
    return add_load(list, a, b, is_clouded);
}
