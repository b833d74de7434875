#include "report/live.h"
#include "report/json.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/text.h"
#include "load/control.h"
#include "report/csv.h"
#include "report/expectations.h"
#include "report/figures.h"
#include "report/report.h"

enum {
    TOKEN_BYTES = 32,
    TOKEN_TEXT_BYTES = 2 * TOKEN_BYTES + 1,
    PLACE_BYTES = PLAN_HOST_BYTES + 16,
    STEPS_AHEAD = 64,    /* number of pieces of HTML that find_equal searches */
    CPUS_COUNTED = 4,    /* more CPUs do not increase the time that the page may use */
    SHARE_DIVISOR = 100, /* the page may use 1 / SHARE_DIVISOR of the CPU time */
    POLICY_BYTES = 512,
};

#define PERIOD_NS MONO_NS_PER_S
#define HOLD_NS (10 * MONO_NS_PER_S) /* longest time for which a request waits for a change */

/* At the end of the run, the outcome is rendered at once if a browser sent a request within this
 * time. */
#define RECENT_NS (15 * MONO_NS_PER_S)

enum phase {
    PHASE_PREPARING,
    PHASE_RUN,
    PHASE_SWEEP,
    PHASE_ENDING, /* the sessions have ended; the outcome is not known yet */
    PHASE_ENDED,
};

/* A rendered page, the same for all browsers. */
struct rendition {
    uint64_t seq;        /* number of the rendition; 0: nothing was rendered yet */
    struct buffer title; /* title of the page, in HTML */
    struct buffer body;  /* body of the page, in HTML */
    bool is_outcome;
};

enum live_answer {
    ANSWER_PAGE,
    ANSWER_FULL,  /* the whole body */
    ANSWER_STEPS, /* the changes since the previous body */
    ANSWER_SAME,
    ANSWER_NOT_FOUND,
    ANSWER_WRONG_METHOD,
    ANSWER_WRONG_HOST,
    ANSWER_FORBIDDEN,
    ANSWER_WRONG_TYPE,
    ANSWER_CHANGED, /* the result of the latest change of the run */
    ANSWERS,
    ANSWER_LATER, /* the request waits for a change of the page */
    ANSWER_CHANGE,
};

/* Answers that do not change. */
static const struct {
    unsigned code;
    const char *text;
} answers[ANSWERS] = {
    [ANSWER_PAGE] = {MHD_HTTP_OK, NULL},
    [ANSWER_FULL] = {MHD_HTTP_OK, NULL},
    [ANSWER_STEPS] = {MHD_HTTP_OK, NULL},
    [ANSWER_SAME] = {MHD_HTTP_OK, NULL},
    [ANSWER_NOT_FOUND] = {MHD_HTTP_NOT_FOUND, "not found: see /\n"},
    [ANSWER_WRONG_METHOD] = {MHD_HTTP_METHOD_NOT_ALLOWED,
                             "use GET for / and /live.json, POST for /control\n"},
    [ANSWER_WRONG_HOST] = {MHD_HTTP_MISDIRECTED_REQUEST,
                           "wrong Host: use the address and port that append printed\n"},
    [ANSWER_FORBIDDEN] = {MHD_HTTP_FORBIDDEN,
                          "open the whole address that append printed, with the part after #\n"},
    [ANSWER_WRONG_TYPE] = {MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
                           "POST /control takes only JSON: set Content-Type to application/json\n"},
};

struct live {
    char host[PLAN_HOST_BYTES];
    char name[256]; /* name by which browsers know this machine: `host`, or the machine's name */
    uint16_t port;
    char token[TOKEN_TEXT_BYTES];
    struct web *web;
    struct control *control; /* makes changes of the run; NULL: the run cannot be changed */
    bool takes_posts;        /* the page may change the run (--live-control) */

    pthread_mutex_t lock; /* guards the members from `phase` to `held` */
    enum phase phase;
    bool is_new;   /* the state has changed since it was rendered */
    bool is_noted; /* results[0] is newer than results[1] */
    const char *folder;
    const char *running; /* PHASE_SWEEP: name of the run in progress, or NULL */
    struct live_run run; /* results[0] is written by the measuring thread, results[1] is rendered */
    uint64_t held;
    /* copy of the run's expectations; only the thread of `web` compares them with figures */
    struct expectations expectations;

    /* The members below are only for the thread of `web`. */
    struct rendition now;
    uint64_t step_from; /* number of the rendition that ANSWER_STEPS changes into `now` */
    struct MHD_Response *responses[ANSWERS];
    int64_t due_ns;       /* earliest moment of the next rendering */
    int64_t cpu_ns;       /* CPU time of the thread at the last rendering */
    int64_t asked_ns;     /* moment of the latest request for the state; 0: never */
    int64_t answer_by_ns; /* latest moment to answer the waiting requests */
};

/* Fills the ledgers of a run in progress, as far as the counters have the numbers. If the user has
 * changed the load (`is_steered`), the number of due batches is known only at the end, so the batch
 * ledger stays empty. */
static void fill_ledgers(struct result *result, const struct plan *plan, bool is_steered)
{
    const uint64_t *counters = result->totals.counters;
    struct session_ledger *sessions = &result->sessions;
    struct row_ledger *rows = &result->rows;
    struct batch_ledger *batches = &result->batches;
    *sessions = (struct session_ledger){.requested = plan_sessions_all(plan),
                                        .connected = counters[RECORDER_SESSIONS_CONNECTED],
                                        .dropped = counters[RECORDER_SESSIONS_DROPPED]};
    for (size_t i = 0; i < result->causes.count; i++) {
        const struct cause *cause = &result->causes.entries[i];
        const bool is_late = cause->error.kind == ERROR_TIMEOUT;
        sessions->timed_out += cause->phase == CAUSE_CONNECT && is_late ? cause->count : 0;
    }
    const uint64_t failed = counters[RECORDER_SESSIONS_FAILED];
    const uint64_t ended = counters[RECORDER_SESSIONS_ENDED];
    sessions->timed_out = MIN(sessions->timed_out, failed);
    sessions->refused = failed - sessions->timed_out;
    sessions->finished = ended - MIN(ended, failed + sessions->dropped);
    sessions->not_started =
        sessions->requested - MIN(sessions->requested, sessions->connected + failed);
    *rows = (struct row_ledger){.acknowledged = counters[RECORDER_ROWS_ACKNOWLEDGED],
                                .rejected = counters[RECORDER_ROWS_REJECTED],
                                .in_doubt = counters[RECORDER_ROWS_IN_DOUBT]};
    const uint64_t known = rows->acknowledged + rows->rejected + rows->in_doubt;
    rows->planned = plan->duration_ns == 0 ? MAX(plan->records, known) : known;
    rows->not_sent = rows->planned - known;
    *batches = (struct batch_ledger){.due = 0};
    if (plan_has_rate(plan) && plan->script == NULL && !is_steered) {
        const double due = ramp_sum(&plan->rate, result->append_ns) / (double)plan->batch_rows;
        batches->sent = counters[RECORDER_APPENDS];
        batches->due = MAX((uint64_t)fmax(due, 0), batches->sent);
        batches->not_sent = batches->due - batches->sent;
    }
}

static void copy_snapshot(struct recorder_snapshot *to, const struct recorder_snapshot *from)
{
    const size_t operations = MIN(to->operations, from->operations);
    memcpy(to->counters, from->counters, sizeof to->counters);
    memcpy(to->warm_up, from->warm_up, sizeof to->warm_up);
    memcpy(to->histograms, from->histograms, operations * sizeof *to->histograms);
    memcpy(to->counts, from->counts, operations * sizeof *to->counts);
    if (to->hosts_counters != NULL && from->hosts_counters != NULL) {
        memcpy(to->hosts_counters, from->hosts_counters,
               MIN(to->hosts, from->hosts) * sizeof *to->hosts_counters);
    }
}

void live_note(struct live *live, const struct progress_state *now,
               const struct resource_summary *resources, struct result *result)
{
    if (live == NULL) {
        return;
    }
    pthread_mutex_lock(&live->lock);
    struct result *to = live->run.results[0];
    const struct plan *plan = live->run.plan;
    const int64_t end_ns = now->interval->end_ns;
    const bool is_working = now->work_start_ns >= 0;
    copy_snapshot(&to->totals, now->total);
    causes_copy(&to->causes, &result->causes);
    waits_destroy(to->waits);
    to->waits = now->waits == NULL ? NULL : waits_copy(now->waits);
    memcpy(to->waits_note, result->waits_note, sizeof to->waits_note);
    while (to->stage_count < result->stage_count) {
        const size_t before = to->stage_count;
        result_add_stage(to, &result->stages[before]);
        if (to->stage_count == before) {
            break; /* out of memory */
        }
    }
    to->resources = *resources;
    to->started_wall_ns = mono_wall_ns() - end_ns;
    to->elapsed_ns = end_ns;
    to->connect_ns = is_working ? now->work_start_ns : end_ns;
    to->append_ns = end_ns - to->connect_ns;
    to->measured_ns = MAX(to->append_ns - plan->warm_up_ns, 0);
    fill_ledgers(to, plan, now->is_steered);
    to->throughput_rows_per_s =
        end_ns > 0 ? (double)to->rows.acknowledged / ((double)end_ns / (double)MONO_NS_PER_S) : 0;
    for (size_t i = 0; i < to->host_count; i++) {
        struct host_result *host = &to->hosts[i];
        host->counters = plan->host_count > 0 ? to->totals.hosts_counters[i] : to->totals.counters;
        host->elapsed_ns = to->elapsed_ns;
        host->measured_ns = to->measured_ns;
    }
    live->is_new = live->is_noted = true;
    pthread_mutex_unlock(&live->lock);
    web_wake(live->web);
}

/* Writes what run.json and summary.csv would contain now. Returns false if memory runs out. */
static bool describe_run(const struct live_run *run, uint64_t held, struct buffer *json,
                         struct buffer *summary)
{
    const struct search search = {.held = (unsigned)held};
    struct figure_set set;
    run->results[1]->problems[PROBLEM_EXPECTATION].code = EXIT_CODE_OK;
    expectations_judge(run->expectations, run->plan, run->results[1]);
    result_set_exit(run->results[1]);
    run->results[1]->expectations = run->expectations;
    FILE *stream = buffer_open(json);
    bool is_whole =
        stream != NULL && report_write_json(stream, run->plan, run->table, run->results[1],
                                            run->is_search ? &search : NULL);
    is_whole = stream != NULL && fclose(stream) == 0 && is_whole;
    figures_of_result(&set, run->plan, run->results[1]);
    stream = buffer_open(summary);
    if (stream != NULL) {
        csv_write_summary(stream, &set);
    }
    is_whole = stream != NULL && fclose(stream) == 0 && is_whole;
    return is_whole && !buffer_failed(json) && !buffer_failed(summary);
}

/* Reads the run as it is now. Returns false if its files cannot be read; *error says why. */
static bool read_run(struct live *live, struct report *report, struct error *error)
{
    struct buffer json = {0}, summary = {0};
    pthread_mutex_lock(&live->lock);
    if (live->is_noted) {
        struct result *const written = live->run.results[0];
        live->run.results[0] = live->run.results[1];
        live->run.results[1] = written;
        live->is_noted = false;
    }
    const struct live_run run = live->run;
    const uint64_t held = live->held;
    pthread_mutex_unlock(&live->lock);
    const bool is_described = describe_run(&run, held, &json, &summary);
    if (!is_described) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the live page");
    }
    const bool is_read =
        is_described && report_read_running(report, run.plan->out_folder, buffer_text(&json),
                                            buffer_text(&summary), error) == STATUS_OK;
    buffer_fini(&json);
    buffer_fini(&summary);
    return is_read;
}

/* A body of HTML in pieces. A new piece begins at each '<'. */
struct pieces {
    const char **at; /* beginnings of the pieces, and the end of the last piece; owned */
    size_t count;
};

static bool cut(const struct buffer *html, struct pieces *pieces)
{
    const char *text = buffer_text(html), *end = text + html->length;
    size_t most = 2;
    for (const char *next = text; (next = memchr(next, '<', (size_t)(end - next))) != NULL;
         next++) {
        most++;
    }
    pieces->at = calloc(most, sizeof *pieces->at);
    pieces->count = 0;
    if (pieces->at == NULL) {
        return false;
    }
    for (const char *next = text; next != NULL && next < end;) {
        pieces->at[pieces->count++] = next;
        next = memchr(next + 1, '<', (size_t)(end - next - 1));
    }
    pieces->at[pieces->count] = end;
    return true;
}

static size_t length_of(const struct pieces *pieces, size_t i)
{
    return (size_t)(pieces->at[i + 1] - pieces->at[i]);
}

static bool are_equal(const struct pieces *a, size_t i, const struct pieces *b, size_t j)
{
    return i < a->count && j < b->count && length_of(a, i) == length_of(b, j) &&
           memcmp(a->at[i], b->at[j], length_of(a, i)) == 0;
}

static bool is_inner_byte(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* Returns the length of a text in UTF-16 units, as JavaScript counts it. */
static json_int_t count_units(const char *text, size_t bytes)
{
    json_int_t units = 0;
    for (size_t i = 0; i < bytes; i++) {
        units += is_inner_byte(text[i]) ? 0 : 1;
        units += (unsigned char)text[i] >= 0xF0 ? 1 : 0;
    }
    return units;
}

/* Adds a step. If memory runs out, *steps becomes NULL. */
static void add_step(json_t **steps, json_t *step)
{
    if (json_array_append_new(*steps, step) != 0) {
        json_decref(*steps);
        *steps = NULL;
    }
}

/* Adds a step [n, text] that changes piece i of `from` into piece j of `to`. See make_steps. */
static void add_change(json_t **steps, const struct pieces *from, size_t i, const struct pieces *to,
                       size_t j)
{
    const size_t most = MIN(length_of(from, i), length_of(to, j));
    size_t kept = 0;
    while (kept < most && from->at[i][kept] == to->at[j][kept]) {
        kept++;
    }
    while (kept > 0 && kept < length_of(to, j) && is_inner_byte(to->at[j][kept])) {
        kept--;
    }
    add_step(steps, json_pack("[I, s%]", count_units(to->at[j], kept), to->at[j] + kept,
                              length_of(to, j) - kept));
}

/* Called when piece i of `from` and piece j of `to` differ. Finds out how many pieces of one body
 * to skip until the next pieces are equal. Returns n > 0 to skip (add) n pieces of `to`, or -n to
 * skip (leave out) n pieces of `from`. Returns 0 if STEPS_AHEAD pieces are not enough. */
static int find_equal(const struct pieces *from, size_t i, const struct pieces *to, size_t j)
{
    for (int ahead = 1; ahead <= STEPS_AHEAD; ahead++) {
        if (are_equal(from, i, to, j + (size_t)ahead)) {
            return ahead;
        }
        if (are_equal(from, i + (size_t)ahead, to, j)) {
            return -ahead;
        }
    }
    return 0;
}

/* Makes the steps that change one body into the next. A step is a number, a text or a pair. A
 * number n > 0 keeps n pieces. A number n < 0 leaves out -n pieces. A text adds a piece. A pair [n,
 * text] keeps the first n UTF-16 units of a piece and replaces the rest of the piece by the text.
 * Returns NULL if memory runs out. */
static json_t *make_steps(const struct pieces *from, const struct pieces *to)
{
    json_t *steps = json_array();
    size_t i = 0, j = 0;
    while (j < to->count) {
        size_t kept = 0;
        while (are_equal(from, i + kept, to, j + kept)) {
            kept++;
        }
        if (kept > 0) {
            add_step(&steps, json_integer((json_int_t)kept));
            i += kept;
            j += kept;
            continue;
        }
        const int ahead = find_equal(from, i, to, j);
        if (ahead < 0) {
            add_step(&steps, json_integer(ahead));
            i += (size_t)-ahead;
        } else if (ahead == 0 && i < from->count) {
            add_change(&steps, from, i++, to, j);
            j++;
        } else {
            add_step(&steps, json_stringn(to->at[j], length_of(to, j)));
            j++;
        }
    }
    return steps;
}

/* Replaces a response. If memory runs out, the response becomes NULL. */
static void set_response(struct live *live, enum live_answer answer, const char *type,
                         const char *text)
{
    struct MHD_Response *response = text == NULL ? NULL : web_response(type, text, strlen(text));
    if (live->responses[answer] != NULL) {
        MHD_destroy_response(live->responses[answer]);
    }
    live->responses[answer] = response;
    if (response == NULL) {
        return;
    }
    static const char *const headers[][2] = {{"Cache-Control", "no-store"},
                                             {"X-Content-Type-Options", "nosniff"},
                                             {"Referrer-Policy", "no-referrer"},
                                             {"Cross-Origin-Resource-Policy", "same-origin"},
                                             {"Cross-Origin-Opener-Policy", "same-origin"}};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        MHD_add_response_header(response, headers[i][0], headers[i][1]);
    }
}

static void set_json(struct live *live, enum live_answer answer, json_t *json)
{
    char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT);
    set_response(live, answer, "application/json", text);
    free(text);
    json_decref(json);
}

/* Makes the answers that depend on live->now. `before` is the previous rendition. */
static void make_answers(struct live *live, const struct rendition *before)
{
    const struct rendition *now = &live->now;
    const char *state = now->is_outcome ? "ended" : "running";
    struct pieces from = {0}, to = {0};
    json_t *steps = NULL;
    const json_int_t seq = (json_int_t)now->seq;
    live->step_from = before->seq;
    if (before->seq > 0 && cut(&before->body, &from) && cut(&now->body, &to)) {
        steps = make_steps(&from, &to);
    }
    free(from.at);
    free(to.at);
    set_json(live, ANSWER_FULL,
             json_pack("{sI, ss, ss, ss}", "seq", seq, "state", state, "title",
                       buffer_text(&now->title), "body", buffer_text(&now->body)));
    set_json(live, ANSWER_STEPS,
             steps == NULL
                 ? NULL
                 : json_pack("{sI, sI, ss, ss, so}", "seq", seq, "from", (json_int_t)before->seq,
                             "state", state, "title", buffer_text(&now->title), "steps", steps));
    set_json(live, ANSWER_SAME, json_pack("{sI, ss}", "seq", seq, "state", state));
}

/* Reads what the page shows in a phase. Returns false if there is nothing to show; *error says
 * why. */
static bool read_shown(struct live *live, enum phase phase, const char *folder, const char *running,
                       struct report *report, struct error *error)
{
    if (phase == PHASE_PREPARING) {
        error_set(
            error, ERROR_NOT_FOUND, 0, NULL,
            "The run has not begun: append is preparing the tables and connecting the sessions.");
        return false;
    }
    if (phase == PHASE_ENDING) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "The sessions have ended; append is counting the rows.");
        return false;
    }
    if (phase == PHASE_RUN) {
        return read_run(live, report, error);
    }
    return (phase == PHASE_SWEEP
                ? report_read_sweep_running(report, folder, running, error)
                : report_read(report, &folder, 1, false, false, error)) == STATUS_OK;
}

/* Adds a text as valid UTF-8. */
static void add_clean(struct buffer *to, struct buffer *from)
{
    text_add_utf8(to, buffer_text(from));
    to->has_failed |= from->has_failed;
    buffer_fini(from);
}

/* Renders what the page shows. */
static void render(struct live *live)
{
    struct report report;
    struct error error = {.kind = ERROR_NONE};
    struct buffer body = {0}, title = {0};
    char text[REPORT_ESCAPED_BYTES];
    /* the first number depends on the time, because a browser may still show an earlier run that
     * used this port */
    const uint64_t first = (uint64_t)(mono_wall_ns() / MONO_NS_PER_MS);
    struct rendition next = {.seq = live->now.seq == 0 ? first : live->now.seq + 1};
    pthread_mutex_lock(&live->lock);
    const enum phase phase = live->phase;
    const char *folder = live->folder, *running = live->running;
    live->is_new = false;
    pthread_mutex_unlock(&live->lock);
    if (phase == PHASE_ENDING && live->now.seq > 0) {
        return; /* the page keeps its last state while the files of the outcome are written */
    }
    next.is_outcome = phase == PHASE_ENDED;
    const locale_t before_locale = units_use_point();
    if (read_shown(live, phase, folder, running, &report, &error)) {
        buffer_add_text(&title, page_title(&report, text));
        page_add_content(&body, &report);
        report_free(&report);
    } else {
        buffer_add_text(&title, "live");
        buffer_add_format(&body, "<p class=\"brand\">append report</p>\n<p class=\"sub\">%s</p>\n",
                          REPORT_ESCAPED(error.text));
    }
    add_clean(&next.body, &body);
    add_clean(&next.title, &title);
    uselocale(before_locale);
    if (!buffer_failed(&next.body) && !buffer_failed(&next.title)) {
        struct rendition before = live->now;
        live->now = next;
        make_answers(live, &before);
        next = before;
    }
    buffer_fini(&next.body);
    buffer_fini(&next.title);
    const int64_t cpu_ns = mono_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const int64_t rest_ns =
        (cpu_ns - live->cpu_ns) * SHARE_DIVISOR / MAX(MIN(cpus, CPUS_COUNTED), 1);
    live->cpu_ns = cpu_ns;
    live->due_ns = mono_now_ns() + MAX(rest_ns, PERIOD_NS);
}

/* Returns the phase. Sets *is_new to whether the page must be rendered again. */
static enum phase read_phase(struct live *live, bool *is_new)
{
    pthread_mutex_lock(&live->lock);
    const enum phase phase = live->phase;
    *is_new = live->is_new && phase != PHASE_ENDING;
    pthread_mutex_unlock(&live->lock);
    return phase;
}

/* Renders the page if this is due, and answers the waiting requests. Returns the moment of the next
 * call. */
static int64_t turn(void *context, struct web *web)
{
    struct live *live = context;
    const int64_t now_ns = mono_now_ns();
    bool is_new;
    const enum phase phase = read_phase(live, &is_new);
    const bool is_watched = live->asked_ns > 0 && now_ns - live->asked_ns < RECENT_NS;
    const bool is_due = phase == PHASE_ENDED ? is_watched : now_ns >= live->due_ns;
    if (is_new && is_due && (web_held(web) > 0 || phase == PHASE_ENDED)) {
        render(live);
        web_resume(web);
    } else if (web_held(web) > 0 && now_ns >= live->answer_by_ns) {
        web_resume(web);
    }
    if (web_held(web) == 0) {
        return INT64_MAX;
    }
    return is_new && phase != PHASE_ENDED ? MIN(live->due_ns, live->answer_by_ns)
                                          : live->answer_by_ns;
}

/* Returns whether two tokens are equal. The time for this does not depend on their content. */
static bool equals_token(const char *own, const char *given)
{
    unsigned difference = 0;
    if (given == NULL || strlen(given) != TOKEN_TEXT_BYTES - 1) {
        return false;
    }
    for (size_t i = 0; i < TOKEN_TEXT_BYTES - 1; i++) {
        difference |= (unsigned char)own[i] ^ (unsigned char)given[i];
    }
    return difference == 0;
}

/* Returns whether `place`, the value of a Host header, is `host` with the page's port. Port 80 may
 * be left out. */
static bool is_place(const struct live *live, const char *place, const char *host)
{
    char own[PLACE_BYTES];
    const bool is_v6 = strchr(host, ':') != NULL;
    snprintf(own, sizeof own, "%s%s%s:%u", is_v6 ? "[" : "", host, is_v6 ? "]" : "",
             (unsigned)live->port);
    if (strcasecmp(place, own) == 0) {
        return true;
    }
    if (live->port != 80) {
        return false;
    }
    own[strlen(own) - strlen(":80")] = '\0';
    return strcasecmp(place, own) == 0;
}

/* Returns whether the Host header names this machine by a loopback name, by live->name, or by the
 * address at which the request arrived. In an attack by DNS rebinding, the header has the name of
 * another site. */
static bool has_own_host(const struct live *live, const struct web_request *request)
{
    const char *given = web_header(request, "Host");
    const char *const hosts[] = {"127.0.0.1", "localhost", "::1", live->name, request->here};
    bool is_own = false;
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0] && given != NULL; i++) {
        is_own = is_own || is_place(live, given, hosts[i]);
    }
    return is_own;
}

/* Returns false if the Origin header says that the request comes from a page of another site. */
static bool has_own_origin(const struct web_request *request)
{
    static const char scheme[] = "http://";
    const char *origin = web_header(request, "Origin"), *host = web_header(request, "Host");
    return origin == NULL || (strncasecmp(origin, scheme, strlen(scheme)) == 0 && host != NULL &&
                              strcasecmp(origin + strlen(scheme), host) == 0);
}

static bool may_read(const struct live *live, const struct web_request *request)
{
    return request->is_loopback || equals_token(live->token, web_header(request, "X-Append-Token"));
}

/* Chooses the answer to a request for the state. */
static enum live_answer choose_state(struct live *live, const struct web_request *request)
{
    const char *after = web_parameter(request, "after");
    const uint64_t seq = after == NULL ? 0 : strtoull(after, NULL, 10);
    const int64_t now_ns = live->asked_ns = mono_now_ns();
    bool is_new;
    const enum phase phase = read_phase(live, &is_new);
    if (live->now.seq == 0 || (is_new && (now_ns >= live->due_ns || phase == PHASE_ENDED))) {
        render(live);
    }
    if (seq != live->now.seq) {
        const bool has_steps = seq == live->step_from && live->responses[ANSWER_STEPS] != NULL;
        return has_steps ? ANSWER_STEPS : ANSWER_FULL;
    }
    if (request->was_held || live->now.is_outcome) {
        return ANSWER_SAME;
    }
    live->answer_by_ns = web_held(request->web) == 0 ? now_ns + HOLD_NS : live->answer_by_ns;
    return ANSWER_LATER;
}

/* Returns whether a media type is JSON. Parameters such as "; charset=utf-8" are allowed. */
static bool is_json(const char *type)
{
    static const char json[] = "application/json";
    const size_t length = sizeof json - 1;
    if (strncasecmp(type, json, length) != 0) {
        return false;
    }
    const char next = type[length + strspn(type + length, " \t")];
    return next == '\0' || next == ';';
}

/* Chooses the answer to a request for a change. A page must send the token. A request through the
 * Unix socket does not need the token, because only the user can connect to the socket. */
static enum live_answer choose_change(const struct live *live, const struct web_request *request)
{
    const char *type = web_header(request, "Content-Type");
    if (live->control == NULL || !(request->is_socket || live->takes_posts)) {
        return ANSWER_NOT_FOUND;
    }
    if (strcmp(request->method, "POST") != 0) {
        return ANSWER_WRONG_METHOD;
    }
    if (!request->is_socket && !equals_token(live->token, web_header(request, "X-Append-Token"))) {
        return ANSWER_FORBIDDEN;
    }
    return type != NULL && is_json(type) ? ANSWER_CHANGE : ANSWER_WRONG_TYPE;
}

/* Converts the body {"rate": 20000} into the text "rate=20000", and {"pause": true} into "pause".
 * Returns false if the body is not an object with one member. */
static bool read_change(const struct web_request *request, char text[CONTROL_TEXT_BYTES + 1])
{
    json_t *json = json_loadb(request->body, request->body_bytes, JSON_REJECT_DUPLICATES, NULL);
    const bool is_one = json_is_object(json) && json_object_size(json) == 1;
    const char *name;
    json_t *value;
    int length = -1;
    json_object_foreach(is_one ? json : NULL, name, value)
    {
        if (json_is_true(value)) {
            length = snprintf(text, CONTROL_TEXT_BYTES + 1, "%s", name);
        } else if (json_is_integer(value)) {
            length = snprintf(text, CONTROL_TEXT_BYTES + 1, "%s=%lld", name,
                              (long long)json_integer_value(value));
        } else if (json_is_string(value)) {
            length =
                snprintf(text, CONTROL_TEXT_BYTES + 1, "%s=%s", name, json_string_value(value));
        }
    }
    json_decref(json);
    return length >= 0 && length <= CONTROL_TEXT_BYTES;
}

/* Makes a change and answers {"done": what was done} or {"error": why not}. */
static void answer_change(struct live *live, const struct web_request *request)
{
    static const unsigned codes[] = {[CONTROL_DONE] = MHD_HTTP_OK,
                                     [CONTROL_WRONG] = MHD_HTTP_BAD_REQUEST,
                                     [CONTROL_REFUSED] = MHD_HTTP_CONFLICT};
    char change[CONTROL_TEXT_BYTES + 1], said[CONTROL_ANSWER_BYTES];
    enum control_outcome outcome = CONTROL_WRONG;
    snprintf(said, sizeof said,
             "send one change in JSON, of up to %d bytes, for example {\"rate\": 20000}",
             (int)CONTROL_TEXT_BYTES);
    if (read_change(request, change)) {
        outcome = control_apply(live->control, change,
                                request->is_socket ? "append control" : "page", said);
    }
    struct buffer clean = {0};
    text_add_utf8(&clean, said);
    json_t *json =
        json_pack("{ss}", outcome == CONTROL_DONE ? "done" : "error", buffer_text(&clean));
    set_json(live, ANSWER_CHANGED, json);
    buffer_fini(&clean);
    if (live->responses[ANSWER_CHANGED] != NULL) {
        web_reply(request, codes[outcome], live->responses[ANSWER_CHANGED]);
    } else {
        web_reply(request, answers[ANSWER_NOT_FOUND].code, live->responses[ANSWER_NOT_FOUND]);
    }
}

static enum live_answer choose(struct live *live, const struct web_request *request)
{
    const bool is_read =
        strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
    const bool is_state = strcmp(request->path, "/live.json") == 0;
    const bool is_change = strcmp(request->path, "/control") == 0;
    if (request->is_socket) {
        return is_change ? choose_change(live, request) : ANSWER_NOT_FOUND;
    }
    if (!has_own_host(live, request)) {
        return ANSWER_WRONG_HOST;
    }
    if (!has_own_origin(request) || (is_state && !may_read(live, request))) {
        return ANSWER_FORBIDDEN;
    }
    if (is_change) {
        return choose_change(live, request);
    }
    if (!is_state && strcmp(request->path, "/") != 0) {
        return ANSWER_NOT_FOUND;
    }
    if (!is_read) {
        return ANSWER_WRONG_METHOD;
    }
    return is_state ? choose_state(live, request) : ANSWER_PAGE;
}

static bool answer(void *context, const struct web_request *request)
{
    struct live *live = context;
    const enum live_answer chosen = choose(live, request);
    if (chosen == ANSWER_LATER) {
        return false;
    }
    if (chosen == ANSWER_CHANGE) {
        answer_change(live, request);
        return true;
    }
    /* the response is missing if memory ran out */
    const bool is_missing = live->responses[chosen] == NULL;
    const enum live_answer given = is_missing ? ANSWER_NOT_FOUND : chosen;
    web_reply(request, answers[given].code, live->responses[given]);
    return true;
}

/* Makes the answers that do not change. Returns false if memory runs out. */
static bool make_fixed_answers(struct live *live)
{
    struct buffer page = {0};
    char policy[POLICY_BYTES];
    page_add_live(&page, live->takes_posts);
    set_response(live, ANSWER_PAGE, "text/html; charset=utf-8",
                 buffer_failed(&page) ? NULL : buffer_text(&page));
    buffer_fini(&page);
    bool is_whole = live->responses[ANSWER_PAGE] != NULL;
    if (is_whole) {
        snprintf(policy, sizeof policy,
                 "default-src 'none'; script-src '%s' '%s'; style-src '%s'; connect-src 'self'; "
                 "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
                 page_js_hash, live_js_hash, page_css_hash);
        MHD_add_response_header(live->responses[ANSWER_PAGE], "Content-Security-Policy", policy);
    }
    for (int i = 0; i < ANSWERS; i++) {
        if (answers[i].text != NULL) {
            set_response(live, (enum live_answer)i, "text/plain; charset=utf-8", answers[i].text);
            is_whole = is_whole && live->responses[i] != NULL;
        }
    }
    if (is_whole) {
        MHD_add_response_header(live->responses[ANSWER_WRONG_METHOD], "Allow", "GET, HEAD, POST");
    }
    return is_whole;
}

/* Makes the random token. Returns false with errno set if the system does not give random bytes. */
static bool draw_token(struct live *live)
{
    unsigned char bytes[TOKEN_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
        return false;
    }
    for (size_t i = 0; i < TOKEN_BYTES; i++) {
        snprintf(live->token + 2 * i, 3, "%02x", bytes[i]);
    }
    return true;
}

enum exit_code live_begin(struct live **live, const struct plan *plan, struct control *control,
                          struct error *error)
{
    *live = NULL;
    if (plan->live == NULL && control == NULL) {
        return EXIT_CODE_OK;
    }
    struct live *made = calloc(1, sizeof *made);
    if (made == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for %s",
                  plan->live != NULL ? "--live" : "--control");
        return EXIT_CODE_CLIENT_LIMIT;
    }
    pthread_mutex_init(&made->lock, NULL);
    snprintf(made->host, sizeof made->host, "%s", plan->live_host);
    snprintf(made->name, sizeof made->name, "%s", plan->live_host);
    if (strcmp(made->host, "0.0.0.0") == 0 || strcmp(made->host, "::") == 0) {
        /* uses the name of this machine, because a browser cannot open a wildcard address */
        gethostname(made->name, sizeof made->name - 1);
    }
    made->port = plan->live_port;
    made->is_new = true;
    made->control = control;
    made->takes_posts = plan->is_live_control;
    const struct web_site site = {.option = plan->live != NULL ? "--live" : "--control",
                                  .host = plan->live != NULL ? made->host : NULL,
                                  .port = made->port,
                                  .folder = control != NULL ? plan->out_folder : NULL,
                                  .clients_max = LIVE_CLIENTS_MAX,
                                  .answer = answer,
                                  .turn = turn,
                                  .context = made};
    const int failure = draw_token(made) ? ENOMEM : errno;
    const bool is_made = made->token[0] != '\0' && make_fixed_answers(made);
    if (!is_made) {
        error_set(error, ERROR_SYSTEM, failure, NULL, "cannot serve the live page (%s): %s",
                  site.option, strerror(failure));
    }
    made->web = is_made ? web_start(&site, error) : NULL;
    if (made->web == NULL) {
        live_end(made);
        return error->kind == ERROR_USAGE ? EXIT_CODE_USAGE : EXIT_CODE_CLIENT_LIMIT;
    }
    *live = made;
    return EXIT_CODE_OK;
}

void live_announce(const struct live *live)
{
    if (live != NULL && live->port > 0) {
        const bool is_v6 = strchr(live->name, ':') != NULL;
        notice_print("live page: http://%s%s%s:%u/#%s", is_v6 ? "[" : "", live->name,
                     is_v6 ? "]" : "", (unsigned)live->port, live->token);
    }
}

/* Changes the phase, and wakes the thread of `web`. */
static void set_phase(struct live *live, enum phase phase, const char *folder)
{
    pthread_mutex_lock(&live->lock);
    live->phase = phase;
    live->folder = folder;
    live->is_new = true;
    pthread_mutex_unlock(&live->lock);
    web_wake(live->web);
}

void live_show_run(struct live *live, const struct live_run *run)
{
    if (live == NULL) {
        return;
    }
    for (size_t i = 0; i < LIVE_RESULTS; i++) {
        struct result *result = run->results[i];
        result->verdict = VERDICT_RUNNING;
        result->stop_reason = STOP_NOT_YET;
        result->rate_achieved_percent = -1;
        result->table_bytes_before = result->table_bytes_after = -1;
        snprintf(result->verdict_reason, sizeof result->verdict_reason,
                 "the run is still going on: its verdict is known at the end");
    }
    pthread_mutex_lock(&live->lock);
    live->run = *run;
    live->expectations = *run->expectations;
    live->run.expectations = &live->expectations;
    pthread_mutex_unlock(&live->lock);
    set_phase(live, PHASE_RUN, NULL);
}

void live_show_sweep(struct live *live, const char *folder, const char *running)
{
    if (live != NULL) {
        pthread_mutex_lock(&live->lock);
        live->running = running;
        pthread_mutex_unlock(&live->lock);
        set_phase(live, PHASE_SWEEP, folder);
    }
}

void live_note_held(struct live *live, uint64_t sessions)
{
    if (live != NULL) {
        pthread_mutex_lock(&live->lock);
        live->held = sessions;
        live->is_new = true;
        pthread_mutex_unlock(&live->lock);
        web_wake(live->web);
    }
}

void live_end_run(struct live *live)
{
    if (live != NULL) {
        set_phase(live, PHASE_ENDING, NULL);
    }
}

void live_show_outcome(struct live *live, const char *folder)
{
    if (live != NULL) {
        set_phase(live, PHASE_ENDED, folder);
    }
}

void live_end(struct live *live)
{
    if (live == NULL) {
        return;
    }
    web_stop(live->web);
    for (int i = 0; i < ANSWERS; i++) {
        if (live->responses[i] != NULL) {
            MHD_destroy_response(live->responses[i]);
        }
    }
    buffer_fini(&live->now.body);
    buffer_fini(&live->now.title);
    result_free(live->run.results[0]);
    result_free(live->run.results[1]);
    pthread_mutex_destroy(&live->lock);
    free(live);
}
