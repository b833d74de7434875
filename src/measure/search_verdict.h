/*
 * What a search came to: verdict and exit code.
 *
 * A limit that was found is a result, whoever's it is: exit code 0. So is a bound of the user that
 * was reached when some level had held. Nothing held: 3 or 4, by whose limit it was. Lost or
 * uncounted rows: 1. A server that is gone: 4. A signal: 130.
 */
#ifndef MEASURE_SEARCH_VERDICT_H
#define MEASURE_SEARCH_VERDICT_H

#include "measure/levels.h"
#include "measure/result.h"

/* Sets verdict, verdict_reason, exit_code and exit_reason from the rest. */
void search_judge(const struct search *search, struct result *result, bool was_interrupted);

#endif
