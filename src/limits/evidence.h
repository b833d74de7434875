/*
 * What shows that a limit was hit: limits, counters and the server's process as they were before
 * the sessions, when the first of them failed, and after. Main thread only; reading never fails,
 * what cannot be read is no evidence.
 */
#ifndef LIMITS_EVIDENCE_H
#define LIMITS_EVIDENCE_H

#include "limits/limits.h"
#include "measure/limit.h"
#include "measure/result.h"

struct evidence;

/* Before the first session. What the question points to outlives the evidence. NULL: no memory. */
struct evidence *evidence_begin(const struct limits_question *question);
void evidence_end(struct evidence *evidence); /* takes NULL */

/* While sessions fail for want of something: see on_shortage in load/driver.h. */
void evidence_capture(struct evidence *evidence);

/* True when sessions that connected again were refused for a setting: the server may have been
 * started with another value, and is worth asking once more. */
bool evidence_lacks_settings(const struct result *result);

/* What the server says of its settings after the sessions; outlives the evidence. */
void evidence_take_settings(struct evidence *evidence, const struct server_limits *server);

/* After the sessions: the limits that the causes and the evidence name, the one that cost the most
 * sessions first. Reads the causes, the ledger of sessions and the start of the result. */
void evidence_conclude(struct evidence *evidence, const struct result *result,
                       struct findings *findings);

#endif
