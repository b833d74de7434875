/*
 * The live page (--live): the page of report.html while the run goes on.
 *
 * The code that makes report.html also makes the live page, from the files that the run has written
 * so far, and from what run.json and summary.csv would contain at this moment. At the end, the live
 * page and report.html are made from the same files, so the two cannot differ.
 *
 * A thread serves the page (report/web.h). The thread renders the page only when a browser asks,
 * and only once for all browsers. It renders at most once a second, and less often if it would use
 * more than 1 % of the CPUs. A browser's request waits until the page has changed, so the last
 * answer arrives when the run ends. The run never waits for a browser.
 *
 *   GET /                     a page without data; its script asks for the rest
 *   GET /live.json?after=SEQ  {"seq": number of this state, "state": "running" | "ended", ...}
 *
 * If SEQ is still current, the object has only "seq" and "state". Otherwise, it also has "title"
 * and "body" (HTML), or "title", "from": SEQ and "steps". The steps change the body of SEQ into the
 * new body.
 *
 * A request must name this machine and the port in its Host header, which stops DNS rebinding, and
 * must not come from a page of another origin. The token is 32 random bytes that only the printed
 * address contains. Requests for data from other machines, and all changes by a page, need the
 * token.
 *
 * The measuring thread calls live_note. The main thread calls the other functions. Except in
 * live_begin, `live` may be NULL.
 */
#ifndef REPORT_LIVE_H
#define REPORT_LIVE_H

#include "measure/levels.h"
#include "measure/result.h"
#include "plan/plan.h"
#include "report/progress.h"
#include "report/web.h"

enum {
    LIVE_CLIENTS_MAX = 128,
    LIVE_RESULTS = 2,
    LIVE_FILES_MAX = LIVE_CLIENTS_MAX + WEB_OTHER_FILES + WEB_SOCKET_FILES,
};

struct live;
struct control;

/* Begins to serve the page, if the plan has --live, and to take changes of the run, if `control` is
 * not NULL. Called before the run, so that a wrong option is reported before the run. `control`
 * makes the changes. It is NULL without --control and --live-control. On EXIT_CODE_OK the caller
 * owns *live. *live is NULL if the plan does not have --live and `control` is NULL. `plan` and
 * `control` are borrowed. */
enum exit_code live_begin(struct live **live, const struct plan *plan, struct control *control,
                          struct error *error);

/* Prints the page's address on stderr. */
void live_announce(const struct live *live);

/* The run that the page shows. `plan` and `table` are borrowed until live_end. */
struct live_run {
    const struct plan *plan;
    const struct table *table;
    struct expectations *expectations; /* expectations of the run; live_show_run copies them */
    bool is_search;
    /* two results with the values that are known before the run; owned, freed with result_free */
    struct result *results[LIVE_RESULTS];
};

/* Shows a run whose sessions are about to start. */
void live_show_run(struct live *live, const struct live_run *run);

/* Shows the current files of a sweep's folder. The caller must call this function again when the
 * files have changed. `running` is the name of the run in progress, or NULL. `folder` and `running`
 * are borrowed. */
void live_show_sweep(struct live *live, const char *folder, const char *running);

/* Notes the state at the end of an interval. `result` has the causes and the stages of the run. */
void live_note(struct live *live, const struct progress_state *now,
               const struct resource_summary *resources, struct result *result);

/* Notes the number of sessions of the highest level at which a search succeeded so far. */
void live_note_held(struct live *live, uint64_t sessions);

/* Notes that the sessions have ended and that the outcome is being written. From this call on, the
 * page does not change before live_show_outcome. */
void live_end_run(struct live *live);

/* Shows the outcome, which is in the files of the folder. Does not wait for a browser. */
void live_show_outcome(struct live *live, const char *folder);

/* Stops the server and frees `live`. */
void live_end(struct live *live);

#endif
