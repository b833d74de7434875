#include "chart/html.h"

#include <stdio.h>
#include <string.h>

#include "report/clean.h"

void html_add_short(struct buffer *page, const char *text, unsigned columns)
{
    char copy[HTML_TEXT_BYTES], clean[HTML_TEXT_BYTES];
    snprintf(copy, sizeof copy, "%s", text == NULL ? "" : text);
    for (char *at = strpbrk(copy, "\t\r\n"); at != NULL; at = strpbrk(at, "\t\r\n")) {
        *at = ' '; /* a query may have lines */
    }
    clean_line(clean, sizeof clean, copy, columns);
    for (const char *at = clean; *at != '\0'; at++) {
        switch (*at) {
        case '&':
            buffer_add_text(page, "&amp;");
            break;
        case '<':
            buffer_add_text(page, "&lt;");
            break;
        case '>':
            buffer_add_text(page, "&gt;");
            break;
        case '"':
            buffer_add_text(page, "&quot;");
            break;
        case '\'':
            buffer_add_text(page, "&#39;");
            break;
        default:
            buffer_add(page, at, 1);
        }
    }
}

void html_add_text(struct buffer *page, const char *text)
{
    html_add_short(page, text, HTML_TEXT_BYTES);
}

void html_add_pair(struct buffer *page, const char *name, const char *value)
{
    if (value == NULL || value[0] == '\0') {
        return;
    }
    buffer_add_text(page, "<tr><th scope=\"row\">");
    html_add_text(page, name);
    buffer_add_text(page, "</th><td>");
    html_add_text(page, value);
    buffer_add_text(page, "</td></tr>\n");
}
