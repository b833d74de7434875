#include "report/text_findings.h"

#include <stdio.h>

#include "base/units.h"

enum {
    FINDINGS_SHOWN = 2
};

static void add_finding(FILE *stream, const struct finding *finding)
{
    char count[UNITS_TEXT_BYTES];
    char text[SCREEN_TEXT_BYTES];
    const bool is_delay = finding->sessions == 0 && finding->tries > 0; /* all got in at last */
    const uint64_t number = is_delay ? finding->tries : finding->sessions;
    const char *one = is_delay ? "try" : "session";
    const char *many = is_delay ? "tries" : "sessions";
    snprintf(text, sizeof text, "%s (%s), %s%s %s: %s", finding->name,
             limit_side_name(finding->side), is_delay ? "delayed " : "",
             units_format_count(number, count), number == 1 ? one : many, finding->evidence);
    screen_add_wrapped(stream, "Limit", SCREEN_LABEL_COLUMNS, text);
    if (finding->fix[0] != '\0') {
        snprintf(text, sizeof text, "to raise it: %s", finding->fix);
        screen_add_wrapped(stream, "", SCREEN_LABEL_COLUMNS, text);
    }
}

void text_findings_add(FILE *stream, const struct findings *findings)
{
    for (size_t i = 0; i < findings->count && i < FINDINGS_SHOWN; i++) {
        add_finding(stream, &findings->entries[i]);
    }
    if (findings->count > FINDINGS_SHOWN) {
        screen_add(stream, "%*s%zu more: see findings in the JSON file", SCREEN_LABEL_COLUMNS, "",
                   findings->count - FINDINGS_SHOWN);
    }
}
