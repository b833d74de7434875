/*
 * Changes that a user makes during a run, from the live page or with the command `append control`:
 *
 *   mark=TEXT   rate=N   sessions=N   pause   resume   stop
 *
 * Each change is written to events.csv before it takes effect, so the charts show a mark for the
 * change. `changes` in run.json lists all changes.
 *
 * The thread of the live page calls control_apply; the main thread calls the other functions,
 * unless a function says otherwise.
 */
#ifndef LOAD_CONTROL_H
#define LOAD_CONTROL_H

#include "load/load.h"

enum {
    CONTROL_TEXT_BYTES = 160, /* the longest text of a change */
    CONTROL_ANSWER_BYTES = 300,
};

struct control;

/* Creates the control of a run. `plan` is borrowed. Returns NULL if memory runs out. */
struct control *control_create(const struct plan *plan);

/* Allows changes from now on. Called when the sessions may start to work. `load` is borrowed until
 * control_close. */
void control_open(struct control *control, struct load *load);

/* Refuses changes from now on. Called when the sessions have finished. `control` may be NULL. */
void control_close(struct control *control);

/* Returns whether a change has set the rate or the number of working sessions, or paused the run.
 * Any thread may call it; `control` may be NULL. */
bool control_has_steered(const struct control *control);

/* Moves the list of changes to *result. `control` may be NULL. */
void control_take(struct control *control, struct result *result);

enum control_outcome {
    CONTROL_DONE,
    CONTROL_WRONG,   /* the change is unknown, or its value is not allowed */
    CONTROL_REFUSED, /* the run cannot make the change now */
};

/* Makes a change. `by` says where the change comes from. Writes one line into `answer`, without a
 * line break: what was done, or why nothing was done. */
enum control_outcome control_apply(struct control *control, const char *change, const char *by,
                                   char answer[CONTROL_ANSWER_BYTES]);

/* Frees the control. `control` may be NULL. */
void control_destroy(struct control *control);

#endif
