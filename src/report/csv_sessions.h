/* The lines of sessions.csv. */
#ifndef REPORT_CSV_SESSIONS_H
#define REPORT_CSV_SESSIONS_H

#include "measure/session_summary.h"
#include "report/csv.h"

/* Adds the cells of one session to a line that was begun; of a header, the values do not matter but
 * must be readable. What does not apply to a session is empty. */
void csv_sessions_row(struct csv *csv, const struct session_summary *session);

#endif
