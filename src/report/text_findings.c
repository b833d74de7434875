#include "report/text_findings.h"

#include <stdio.h>

#include "base/units.h"

enum {
    FINDINGS_SHOWN = 2
};

static void add_finding(struct screen *screen, const struct finding *finding, size_t lines)
{
    char count[UNITS_TEXT_BYTES];
    char text[SCREEN_TEXT_BYTES];
    snprintf(text, sizeof text, "%s (%s), %s session%s: %s", finding->name,
             limit_side_name(finding->side), units_format_count(finding->sessions, count),
             finding->sessions == 1 ? "" : "s", finding->evidence);
    screen_add_wrapped(screen, "Limit", SCREEN_LABEL_COLUMNS, lines, text);
    if (finding->fix[0] != '\0') {
        snprintf(text, sizeof text, "to raise it: %s", finding->fix);
        screen_add_wrapped(screen, "", SCREEN_LABEL_COLUMNS, lines, text);
    }
}

void text_findings_add(struct screen *screen, const struct findings *findings, size_t lines)
{
    for (size_t i = 0; i < findings->count && i < FINDINGS_SHOWN; i++) {
        add_finding(screen, &findings->entries[i], lines);
    }
    if (findings->count > FINDINGS_SHOWN) {
        screen_add(screen, "%*s%zu more: see findings in the JSON file", SCREEN_LABEL_COLUMNS, "",
                   findings->count - FINDINGS_SHOWN);
    }
}
