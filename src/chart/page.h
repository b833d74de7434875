/*
 * report.html: one page that fetches nothing, with its style and charts in it. The same input gives
 * the same page.
 */
#ifndef CHART_PAGE_H
#define CHART_PAGE_H

#include "append/error.h"
#include "base/buffer.h"
#include "chart/report_set.h"

/* How a page begins: a file that does not begin so is no page of this program. */
#define PAGE_BEGIN "<!DOCTYPE html>\n<html lang=\"en\" data-made-by=\"append\">\n"

/* Draws the charts and adds the page. REJECTED: *error says why. */
enum status page_add(struct buffer *html, const struct report_set *set, struct error *error);

#endif
