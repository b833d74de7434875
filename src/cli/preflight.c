#include "cli/preflight.h"

#include "base/interrupt.h"
#include "base/mono.h"
#include "limits/limits.h"
#include "limits/open_files.h"
#include "load/inquiry.h"
#include "report/check.h"

#define ROOM_LIMIT_NS (2 * MONO_NS_PER_S)
#define ROOM_PAUSE_NS (100 * MONO_NS_PER_MS)

enum {
    SPARE_FILES = 64 /* what connecting opens for a moment */
};

/* The fewest sessions with which the run is what was asked for. */
static uint64_t least_sessions(const struct plan *plan)
{
    return plan->has_min_sessions ? plan->min_sessions
                                  : (uint64_t)plan->sessions + plan->idle_sessions;
}

static enum exit_code judge(const struct plan *plan, const struct limit_list *list,
                            struct error *error)
{
    const struct limit *first = NULL;
    const uint64_t fitting = limits_sessions(list, false, &first);
    if (first == NULL || fitting >= least_sessions(plan)) {
        return EXIT_CODE_OK;
    }
    char line[CHECK_LINE_BYTES];
    check_conclusion((uint64_t)plan->sessions + plan->idle_sessions, fitting, first, line);
    error_set(error, ERROR_LIMIT, 0, NULL, "%s: see append check; --no-check goes on anyway", line);
    return first->side == LIMIT_CLIENT ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_SERVER;
}

enum exit_code preflight_client(const struct plan *plan, struct error *error)
{
    struct limits_question question;
    limits_ask(&question, plan, NULL, NULL);
    open_files_allow(question.sessions * question.files_per_session + question.other_files +
                     SPARE_FILES);
    if (plan->is_unchecked) {
        return EXIT_CODE_OK;
    }
    struct limit_list list;
    limits_read(&question, &list);
    return judge(plan, &list, error);
}

/* A server frees the place of a session only when it has noticed that the session has left. */
static bool may_get_room(const struct limit_list *list)
{
    const struct limit *first = NULL;
    limits_sessions(list, false, &first);
    return first != NULL && first->id == LIMIT_SESSIONS && first->used > 0 &&
           first->allowed >= first->needed;
}

enum exit_code preflight_server(const struct plan *plan, struct setup *setup, struct error *error)
{
    if (plan->is_unchecked || setup->connection.is_embedded) {
        return EXIT_CODE_OK;
    }
    struct limits_question question;
    limits_ask(&question, plan, &setup->connection, &setup->server);
    question.is_remote = setup->is_remote;
    const int64_t soon_ns = mono_now_ns() + ROOM_LIMIT_NS;
    const int64_t limit_ns = plan->wait_until_ns > soon_ns ? plan->wait_until_ns : soon_ns;
    for (;;) {
        struct limit_list list;
        limits_read(&question, &list);
        const enum exit_code code = judge(plan, &list, error);
        if (code == EXIT_CODE_OK || !may_get_room(&list) || mono_now_ns() >= limit_ns ||
            interrupt_requested()) {
            return code;
        }
        mono_sleep(ROOM_PAUSE_NS);
        struct inquiry inquiry;
        struct error ignored;
        error_clear(&ignored);
        if (inquiry_make(&inquiry, plan, &ignored) == EXIT_CODE_OK) {
            setup->server = inquiry.server;
        }
        error_clear(error);
    }
}
