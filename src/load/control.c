#include "load/control.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/text.h"
#include "load/epoch.h"

enum {
    CHANGES_MAX = 1000,
    LINE_BYTES = CONTROL_TEXT_BYTES + 64,
};

struct control {
    const struct plan *plan;
    pthread_mutex_t lock;
    struct load *load; /* the load that changes apply to; NULL: changes are refused */
    bool has_opened;
    struct change *changes; /* changes that were made; owned */
    size_t count;
    atomic_bool has_steered; /* a change has begun a new epoch: see load/epoch.h */
};

/* A parsed change. */
struct order {
    const char *what;
    char from[CHANGE_VALUE_BYTES], to[CHANGE_VALUE_BYTES];
    char mark[LINE_BYTES]; /* the text of the event */
    struct epoch epoch;    /* the epoch that begins with the change */
    bool is_stop, is_mark;
};

struct control *control_create(const struct plan *plan)
{
    struct control *control = calloc(1, sizeof *control);
    struct change *changes = calloc(CHANGES_MAX, sizeof *changes);
    if (control == NULL || changes == NULL) {
        free(control);
        free(changes);
        return NULL;
    }
    control->plan = plan;
    control->changes = changes;
    pthread_mutex_init(&control->lock, NULL);
    return control;
}

void control_open(struct control *control, struct load *load)
{
    if (control != NULL) {
        pthread_mutex_lock(&control->lock);
        control->load = load;
        control->has_opened = true;
        pthread_mutex_unlock(&control->lock);
    }
}

void control_close(struct control *control)
{
    if (control != NULL) {
        pthread_mutex_lock(&control->lock);
        control->load = NULL;
        pthread_mutex_unlock(&control->lock);
    }
}

bool control_has_steered(const struct control *control)
{
    return control != NULL && atomic_load(&control->has_steered);
}

void control_take(struct control *control, struct result *result)
{
    if (control != NULL) {
        pthread_mutex_lock(&control->lock);
        result->changes = control->changes;
        result->change_count = control->count;
        control->changes = NULL;
        pthread_mutex_unlock(&control->lock);
    }
}

void control_destroy(struct control *control)
{
    if (control != NULL) {
        free(control->changes);
        pthread_mutex_destroy(&control->lock);
        free(control);
    }
}

/* Sets the answer. Returns `outcome`. */
__attribute__((format(printf, 3, 4))) static enum control_outcome
say(char answer[CONTROL_ANSWER_BYTES], enum control_outcome outcome, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(answer, CONTROL_ANSWER_BYTES, format, arguments);
    va_end(arguments);
    return outcome;
}

/* Returns the value of "NAME=VALUE"; NULL if `change` has another name. */
static const char *value_of(const char *change, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(change, name, length) == 0 && change[length] == '=' ? change + length + 1 : NULL;
}

static enum control_outcome read_rate(struct order *order, const char *value, char *answer)
{
    uint64_t rate;
    if (ramp_highest(&order->epoch.rate) <= 0) {
        return say(answer, CONTROL_WRONG, "the run has no rate: start it with --rate");
    }
    if (!units_parse_count(value, PLAN_RECORDS_MAX, &rate) || rate == 0) {
        return say(answer, CONTROL_WRONG,
                   "rate=%.40s: give a number per second of at least 1, such as 20k", value);
    }
    snprintf(order->from, sizeof order->from, "%.0f", order->epoch.rate.first);
    snprintf(order->to, sizeof order->to, "%llu", (unsigned long long)rate);
    snprintf(order->mark, sizeof order->mark, "rate %s/s", UNITS_COUNT(rate));
    order->what = "rate";
    order->epoch.rate.first = (double)rate;
    return CONTROL_DONE;
}

static enum control_outcome read_sessions(struct order *order, const char *value, unsigned most,
                                          char *answer)
{
    uint64_t sessions;
    if (!units_parse_count(value, most, &sessions) || sessions == 0) {
        return say(answer, CONTROL_WRONG, "sessions=%.40s: give a number from 1 to %u", value,
                   most);
    }
    snprintf(order->from, sizeof order->from, "%u",
             order->epoch.sessions < most ? order->epoch.sessions : most);
    snprintf(order->to, sizeof order->to, "%llu", (unsigned long long)sessions);
    snprintf(order->mark, sizeof order->mark, "%s %s at work", UNITS_COUNT(sessions),
             units_plural(sessions, "session", "sessions"));
    order->what = "sessions";
    order->epoch.sessions = (unsigned)sessions;
    return CONTROL_DONE;
}

static enum control_outcome read_pause(struct order *order, bool is_pause, char *answer)
{
    if (order->epoch.is_paused == is_pause) {
        return say(answer, CONTROL_REFUSED, "the run %s",
                   is_pause ? "is paused already" : "is not paused");
    }
    order->what = is_pause ? "pause" : "resume";
    snprintf(order->mark, sizeof order->mark, "%s", is_pause ? "paused" : "resumed");
    order->epoch.is_paused = is_pause;
    return CONTROL_DONE;
}

static enum control_outcome read_mark(struct order *order, const char *value, char *answer)
{
    text_clean_line(order->mark, sizeof order->mark, value, CONTROL_TEXT_BYTES);
    if (value[strspn(value, " \t")] == '\0') {
        return say(answer, CONTROL_WRONG, "mark= needs a text");
    }
    order->what = "mark";
    order->is_mark = true;
    return CONTROL_DONE;
}

/* Parses a change into *order. The caller has copied the latest epoch to order->epoch. */
static enum control_outcome read_order(struct order *order, const struct plan *plan,
                                       const char *change, char *answer)
{
    const char *value;
    if ((value = value_of(change, "mark")) != NULL) {
        return read_mark(order, value, answer);
    }
    if ((value = value_of(change, "rate")) != NULL) {
        return read_rate(order, value, answer);
    }
    if ((value = value_of(change, "sessions")) != NULL) {
        return read_sessions(order, value, plan->sessions, answer);
    }
    if (strcmp(change, "pause") == 0 || strcmp(change, "resume") == 0) {
        return read_pause(order, change[0] == 'p', answer);
    }
    if (strcmp(change, "stop") == 0) {
        order->what = "stop";
        order->is_stop = true;
        snprintf(order->mark, sizeof order->mark, "stopped by hand");
        return CONTROL_DONE;
    }
    return say(answer, CONTROL_WRONG,
               "unknown change '%.40s': use mark=TEXT, rate=N, sessions=N, pause, resume or stop",
               change);
}

/* Adds a line to a file, completely or not at all. The user may also add lines to this file.
 * Returns 0 or errno. */
static int add_line(const char *path, const struct buffer *line)
{
    const int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) {
        return errno;
    }
    const ssize_t written = write(file, line->bytes, line->length);
    int number = written < 0 ? errno : 0;
    if (written >= 0 && (size_t)written < line->length) {
        struct stat about;
        number = ENOSPC;
        /* remove the part that was written, unless the user has added a line after it */
        const off_t end = lseek(file, 0, SEEK_CUR);
        if (fstat(file, &about) == 0 && about.st_size == end &&
            ftruncate(file, end - written) != 0) {
            number = errno;
        }
    }
    close(file);
    return number;
}

/* Adds a line to events.csv. Returns 0 or errno. */
static int write_event(const struct plan *plan, int64_t at_ns, const char *text)
{
    char path[PLAN_PATH_BYTES + 16];
    struct buffer line = {0};
    FILE *stream = buffer_open(&line);
    if (stream == NULL) {
        return ENOMEM;
    }
    fprintf(stream, "%.3f,", (double)at_ns / (double)MONO_NS_PER_S);
    text_write_cell(stream, "", text);
    fputc('\n', stream);
    snprintf(path, sizeof path, "%s/events.csv", plan->out_folder);
    const int number = fclose(stream) != 0 || buffer_failed(&line) ? ENOMEM : add_line(path, &line);
    buffer_fini(&line);
    return number;
}

/* Records the change, then makes it. */
static enum control_outcome carry_out(struct control *control, const struct order *order,
                                      const char *by, char *answer)
{
    struct load *load = control->load;
    const bool has_epoch = !order->is_stop && !order->is_mark;
    struct epoch *epoch = has_epoch ? epoch_copy(&order->epoch) : NULL;
    if (has_epoch && epoch == NULL) {
        return say(answer, CONTROL_REFUSED, "out of memory");
    }
    const int64_t at_ns = mono_now_ns() - load->start_ns;
    const locale_t before = units_use_point();
    const int number = write_event(control->plan, at_ns, order->mark);
    uselocale(before);
    if (number != 0) {
        free(epoch);
        return say(answer, CONTROL_REFUSED, "the change cannot be recorded in events.csv: %s",
                   strerror(number));
    }
    struct change *change = &control->changes[control->count++];
    *change = (struct change){.at_ns = at_ns, .what = order->what};
    snprintf(change->from, sizeof change->from, "%s", order->from);
    snprintf(change->to, sizeof change->to, "%s", order->to);
    snprintf(change->text, sizeof change->text, "%.*s", (int)sizeof change->text - 1, order->mark);
    snprintf(change->by, sizeof change->by, "%s", by);
    if (order->is_stop) {
        gate_stop(&load->gate, STOP_CONTROL);
    } else if (epoch != NULL) {
        epoch_add(&load->first_epoch, epoch);
        atomic_store(&control->has_steered, true);
        gate_note_change(&load->gate);
    }
    return say(answer, CONTROL_DONE, "%.3f s: %s", (double)at_ns / (double)MONO_NS_PER_S,
               order->mark);
}

/* Returns how many entries of the list of changes must stay free after a change. Marks leave a
 * fifth of the list to other changes. Changes other than "stop" leave the last entry to "stop". */
static size_t places_kept(const char *change)
{
    if (strcmp(change, "stop") == 0) {
        return 0;
    }
    return value_of(change, "mark") != NULL ? CHANGES_MAX / 5 : 1;
}

enum control_outcome control_apply(struct control *control, const char *change, const char *by,
                                   char answer[CONTROL_ANSWER_BYTES])
{
    struct order order = {.what = ""};
    enum control_outcome outcome;
    pthread_mutex_lock(&control->lock);
    struct load *load = control->load;
    if (load == NULL || gate_is_stopped(&load->gate)) {
        outcome = say(answer, CONTROL_REFUSED, "%s",
                      control->has_opened ? "the sessions of the run have finished"
                                          : "the run has not begun: its sessions are connecting");
    } else if (control->count >= CHANGES_MAX - places_kept(change)) {
        outcome =
            say(answer, CONTROL_REFUSED, "the run already has %zu changes; it accepts no more %s",
                control->count, value_of(change, "mark") != NULL ? "marks" : "changes except stop");
    } else {
        const struct epoch *latest = epoch_latest(&load->first_epoch);
        order.epoch.rate = latest->rate;
        order.epoch.sessions = latest->sessions;
        order.epoch.is_paused = latest->is_paused;
        outcome = read_order(&order, control->plan, change, answer);
        outcome = outcome == CONTROL_DONE ? carry_out(control, &order, by, answer) : outcome;
    }
    pthread_mutex_unlock(&control->lock);
    return outcome;
}
