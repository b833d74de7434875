/*
 * What the stand-in does wrong, and when. A rule is ACTION=STEP[@WHEN][:NUMBER[:TEXT]].
 *
 * ACTION  drop     hangs up instead of doing what was asked
 *         reset    the same, and the client sees a reset
 *         partial  does it, sends the first half of the reply, hangs up
 *         garbage  does it, sends as many other bytes instead of the reply
 *         chop     does it, sends the reply byte by byte
 *         stall    never goes on with this connection
 *         delay    does it NUMBER milliseconds later
 *         error    answers with error NUMBER and TEXT instead of doing it
 *         lose     says that the row is kept, and does not keep it
 *         double   keeps the row twice
 *         lie      says at the end of an append that NUMBER rows fewer are kept than are
 * STEP    accept handshake login execute count fetch free open data row close disconnect
 *         execute is any statement but count(*), data a packet of rows, row one row
 * WHEN    N   the N-th time, counted over all connections since the rule was made
 *         N+  from then on
 *         %N  each N-th time
 *         every time, when it is left out
 *
 * What goes together: lose and double with row, lie with close, error with all but accept and
 * handshake, partial, garbage and chop with all but accept and row, the others with all but row.
 * The first rule that applies wins; each counts its own steps. Any thread.
 */
#ifndef MACHBASE_STANDIN_RULES_H
#define MACHBASE_STANDIN_RULES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RULES_MAX = 16,
    RULES_TEXT_BYTES = 200,
};

enum rule_step {
    STEP_ACCEPT,
    STEP_HANDSHAKE,
    STEP_LOGIN,
    STEP_EXECUTE,
    STEP_COUNT,
    STEP_FETCH,
    STEP_FREE,
    STEP_OPEN,
    STEP_DATA,
    STEP_ROW,
    STEP_CLOSE,
    STEP_DISCONNECT,
    STEP_NONE,
};

enum rule_action {
    ACTION_NONE,
    ACTION_DROP,
    ACTION_RESET,
    ACTION_PARTIAL,
    ACTION_GARBAGE,
    ACTION_CHOP,
    ACTION_STALL,
    ACTION_DELAY,
    ACTION_ERROR,
    ACTION_LOSE,
    ACTION_DOUBLE,
    ACTION_LIE,
};

/* What is to be done now. */
struct rule_hit {
    enum rule_action action;
    uint32_t number;
    char text[RULES_TEXT_BYTES];
};

struct rule {
    enum rule_step step;
    struct rule_hit hit;
    uint64_t first;  /* 1 … */
    uint64_t period; /* 0 = only the first time */
    uint64_t seen;
};

struct rules {
    pthread_mutex_t lock;
    struct rule rules[RULES_MAX];
    size_t count;
    atomic_bool has_row; /* any rule about rows: they are too many to ask for nothing */
};

void rules_init(struct rules *rules);
void rules_fini(struct rules *rules);

/* Adds a rule; false = it is none, or there are too many. */
bool rules_add(struct rules *rules, const char *text);
void rules_clear(struct rules *rules);

/* Counts a step and says what applies. */
struct rule_hit rules_meet(struct rules *rules, enum rule_step step);

#endif
