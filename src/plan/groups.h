/*
 * Groups of sessions: a transaction can have sessions of its own, and a rate of its own.
 *
 * Group 0 has the sessions that draw their transactions by weight; group i + 1 has the sessions of
 * transaction i. A transaction asks for a number of sessions, which are the first sessions of the
 * run, or for a share of all sessions. The sessions of groups with a share are spread evenly among
 * the sessions of group 0, because a step of find-max and a stage use only the first N sessions of
 * the run, and the shares should also be right for these N, as far as whole numbers allow.
 */
#ifndef PLAN_GROUPS_H
#define PLAN_GROUPS_H

#include "plan/plan.h"

/* The place of a session. */
struct group_place {
    unsigned group;
    unsigned member; /* number of the session among the sessions of the group, from 0 */
};

struct plan_group {
    unsigned sessions;
    /* transactions/s of all sessions of the group together; constant 0 = no rate */
    struct ramp rate;
};

/* Assigns all sessions of the plan to groups, if a transaction of the script has sessions or a rate
 * of its own. Fills plan->places and plan->groups, which the plan owns. Returns EXIT_CODE_USAGE if
 * the plan has too few sessions, a session has no transaction, or an option contradicts the groups;
 * EXIT_CODE_CLIENT_LIMIT if memory runs out. */
enum exit_code groups_assign(struct plan *plan, struct error *error);

/* Returns the group and the member number of session `index`. Without groups these are group 0 and
 * member `index`. */
struct group_place plan_place(const struct plan *plan, unsigned index);

#endif
