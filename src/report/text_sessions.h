/* The lines of the report about single sessions: what became of their connections, and how evenly
 * they were served. */
#ifndef REPORT_TEXT_SESSIONS_H
#define REPORT_TEXT_SESSIONS_H

#include "measure/result.h"
#include "report/screen.h"

/* Adds a line for connections that were lost or opened anew, if there were any, and one for the
 * slowest and the fastest session, if there is more than one. */
void text_sessions_add(FILE *stream, const struct result *result);

#endif
