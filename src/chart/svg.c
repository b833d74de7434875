#include "chart/svg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chart/html.h"
#include "chart/script.h"

enum {
    COLOR_BYTES = 32 /* more than rgb(255, 255, 255) */
};

/* A part of the drawing that is looked at: [at, end). */
struct reader {
    struct buffer *page;
    const char *at;
    const char *end;
    size_t group; /* length of the page before a group that holds nothing yet; 0 = none */
};

static const char *find(const char *from, const char *end, const char *what)
{
    return memmem(from, (size_t)(end - from), what, strlen(what));
}

static bool begins(const struct reader *reader, const char *what)
{
    const size_t length = strlen(what);
    return (size_t)(reader->end - reader->at) >= length && memcmp(reader->at, what, length) == 0;
}

/* The page's name of a colour; NULL: it is none of the script's. */
static const char *ink_name(unsigned long blue, char name[16])
{
    static const char *const names[] = {
        [SCRIPT_INK_TEXT] = "--ink",
        [SCRIPT_INK_AXIS] = "--axis",
        [SCRIPT_INK_GRID] = "--grid",
        [SCRIPT_INK_MARK] = "--mark",
    };
    if (blue >= SCRIPT_INK_TEXT && blue <= SCRIPT_INK_MARK) {
        return names[blue];
    }
    if (blue < SCRIPT_INK_SERIES || blue >= SCRIPT_INK_SERIES + CHART_SERIES_MAX) {
        return NULL;
    }
    snprintf(name, 16, "--s%lu", blue - SCRIPT_INK_SERIES + 1);
    return name;
}

/* rgb(0, 0, N) of the script becomes a colour of the page. False: there is none here. */
static bool add_color(struct reader *reader)
{
    unsigned long parts[3] = {0};
    char text[COLOR_BYTES], name[16];
    if (!begins(reader, "rgb(")) {
        return false;
    }
    const size_t left = (size_t)(reader->end - reader->at);
    snprintf(text, sizeof text, "%.*s", (int)(left < sizeof text ? left : sizeof text - 1),
             reader->at);
    char *at = text + strlen("rgb(");
    for (size_t i = 0; i < 3; i++) {
        char *end;
        parts[i] = strtoul(at, &end, 10);
        if (end == at || *end != (i < 2 ? ',' : ')')) {
            return false;
        }
        at = end + 1;
    }
    const char *ink = parts[0] == 0 && parts[1] == 0 ? ink_name(parts[2], name) : NULL;
    if (ink == NULL) {
        return false;
    }
    buffer_add_format(reader->page, "var(%s)", ink);
    reader->at += at - text;
    return true;
}

/* Attributes that the page has no use for. */
static bool skip_attribute(struct reader *reader)
{
    static const char *const names[] = {" font-family=\"", " id=\"", " color=\"black\"",
                                        " color=\"white\""};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (begins(reader, names[i])) {
            const char *quote = memchr(reader->at, '"', (size_t)(reader->end - reader->at));
            const char *last = memchr(quote + 1, '"', (size_t)(reader->end - quote - 1));
            reader->at = last == NULL ? reader->end : last + 1;
            return true;
        }
    }
    return false;
}

static void add_tag(struct reader *reader)
{
    char byte = '\0';
    while (reader->at < reader->end && byte != '>') {
        if (begins(reader, "xlink:")) {
            reader->at += strlen("xlink:"); /* href alone needs no namespace */
        } else if (!skip_attribute(reader) && !add_color(reader)) {
            byte = *reader->at++;
            buffer_add(reader->page, byte == '\n' ? " " : &byte, 1);
        }
    }
}

/* What stands between two tags; line breaks and what indents them are nothing. */
static void add_between(struct reader *reader)
{
    const char *next = memchr(reader->at, '<', (size_t)(reader->end - reader->at));
    const char *const end = next == NULL ? reader->end : next;
    if (memchr(reader->at, '\n', (size_t)(end - reader->at)) == NULL) {
        buffer_add(reader->page, reader->at, (size_t)(end - reader->at));
    }
    reader->at = end;
}

/* An element that is left out, with all that is in it. */
static bool skip_element(struct reader *reader)
{
    static const char *const pairs[][2] = {{"<defs>", "</defs>"},
                                           {"<desc>", "</desc>"},
                                           {"<title>Gnuplot", "</title>"},
                                           {"<title>gnuplot_plot", "</title>"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (begins(reader, pairs[i][0])) {
            const char *last = find(reader->at, reader->end, pairs[i][1]);
            reader->at = last == NULL ? reader->end : last + strlen(pairs[i][1]);
            return true;
        }
    }
    return false;
}

/* A group that ends with nothing in it is taken back. */
static bool drop_empty_group(struct reader *reader)
{
    if (reader->group == 0 || !begins(reader, "</g>")) {
        return false;
    }
    reader->page->length = reader->group;
    reader->page->bytes[reader->group] = '\0';
    reader->group = 0;
    reader->at += strlen("</g>");
    return true;
}

static void add_body(struct reader *reader)
{
    while (reader->at < reader->end && !begins(reader, "</svg>") && !buffer_failed(reader->page)) {
        if (*reader->at != '<') {
            add_between(reader);
        } else if (!skip_element(reader) && !drop_empty_group(reader)) {
            const bool is_group = begins(reader, "<g ");
            reader->group = is_group ? reader->page->length : 0;
            add_tag(reader);
        }
    }
}

bool svg_add(struct buffer *page, const char *text, size_t length, const char *label)
{
    const char *const end = text + length;
    const char *svg = find(text, end, "<svg");
    const char *box = svg == NULL ? NULL : find(svg, end, "viewBox=\"");
    const char *body = box == NULL ? NULL : memchr(box, '>', (size_t)(end - box));
    if (body == NULL || find(body, end, "</svg>") == NULL) {
        return false;
    }
    box += strlen("viewBox=\"");
    const char *box_end = memchr(box, '"', (size_t)(body - box));
    if (box_end == NULL) {
        return false;
    }
    buffer_add_format(page, "<svg viewBox=\"%.*s\" role=\"img\" aria-label=\"",
                      (int)(box_end - box), box);
    html_add_text(page, label);
    buffer_add_text(page, "\">");
    struct reader reader = {.page = page, .at = body + 1, .end = end};
    add_body(&reader);
    buffer_add_text(page, "</svg>\n");
    return true;
}

void svg_add_shapes(struct buffer *page, const char *text, size_t length)
{
    const char *const end = text + length;
    const char *defs = find(text, end, "<defs>");
    const char *last = defs == NULL ? NULL : find(defs, end, "</defs>");
    if (last == NULL) {
        return;
    }
    static const char prefix[] = "xlink:";
    buffer_add_text(page, "<svg class=\"shapes\" aria-hidden=\"true\">");
    while (defs < last) {
        const char *next = find(defs, last, prefix);
        buffer_add(page, defs, (size_t)((next == NULL ? last : next) - defs));
        defs = next == NULL ? last : next + strlen(prefix);
    }
    buffer_add_text(page, "</defs></svg>\n");
}
