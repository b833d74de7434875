/* The lines of the report that account for every session and every row. */
#ifndef REPORT_TEXT_LEDGER_H
#define REPORT_TEXT_LEDGER_H

#include "measure/result.h"
#include "report/screen.h"

/* Adds both ledgers, each as a sum that the reader can check, and what count(*) said. */
void text_ledger_add(FILE *stream, const struct result *result);

#endif
