/* The parts of the page, each added by a function of its own. */
#ifndef CHART_PAGE_PARTS_H
#define CHART_PAGE_PARTS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "chart/drawings.h"
#include "chart/report_set.h"

struct page {
    struct buffer *html;
    const struct report_set *set;
    const struct drawings *drawings;
    bool has_failed; /* a drawing was no SVG */
};

/* The content of the page's <style>, line by line; ends with NULL. */
extern const char *const page_style[];

/* "valid", "degraded", "invalid": the class of a verdict. */
const char *page_verdict_class(const char *verdict);

/* Charts [first, first + count) in a grid. */
void page_add_charts(struct page *page, size_t first, size_t count);

/* "VALID" in its colour. */
void page_add_chip(struct buffer *html, const char *verdict);

/* A run's own section; folded where it is not the only one. */
void page_add_run(struct page *page, size_t index, bool is_only);

/* Ledgers, latencies, errors, limits, events. */
void page_add_run_tables(struct page *page, const struct report_run *run);

/* Environment, settings and files. */
void page_add_run_environment(struct page *page, const struct report_run *run);

/* The four tables of a sweep and its curves. */
void page_add_sweep(struct page *page, const struct report_sweep *entry);

/* All runs, a row each. */
void page_add_overview(struct page *page);

#endif
