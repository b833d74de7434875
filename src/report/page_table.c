#include "report/page_table.h"

#include "report/report.h"

void page_table_begin(struct buffer *html, const char *heading, const struct page_column *columns,
                      size_t count)
{
    buffer_add_format(
        html, "<h3>%s</h3>\n<div class=\"card scroll\"><table class=\"rows\"><thead><tr>", heading);
    for (size_t i = 0; i < count; i++) {
        buffer_add_format(html, "<th%s>%s</th>", columns[i].look == AS_NUMBER ? " class=\"n\"" : "",
                          columns[i].title);
    }
    buffer_add_text(html, "</tr></thead><tbody>\n");
}

void page_table_begin_row(struct buffer *html)
{
    buffer_add_text(html, "<tr>");
}

static void add_cell(struct buffer *html, const struct page_column *column, struct page_cell cell)
{
    static const char *const styles[] = {[AS_NUMBER] = "n", [AS_TEXT] = "", [AS_WORDS] = "words"};
    const bool is_name = column->look == AS_NAME;
    if (is_name) {
        buffer_add_text(html, "<th scope=\"row\">");
    } else {
        buffer_add_format(html, "<td class=\"%s\" data-name=\"%s\">", styles[column->look],
                          column->title);
    }
    if (cell.link != NULL) {
        buffer_add_format(html, "<a href=\"#%s\">", REPORT_ESCAPED(cell.link));
    }
    if (cell.chip != NULL) {
        page_add_chip(html, cell.chip, cell.text);
    } else {
        buffer_add_text(html, REPORT_ESCAPED(cell.text));
    }
    buffer_add_text(html, cell.link != NULL ? "</a>" : "");
    buffer_add_text(html, is_name ? "</th>" : "</td>");
}

void page_table_add_text(struct buffer *html, const struct page_column *column, const char *text)
{
    add_cell(html, column, (struct page_cell){.text = text});
}

void page_table_end_row(struct buffer *html)
{
    buffer_add_text(html, "</tr>\n");
}

void page_table_add_row(struct buffer *html, const struct page_column *columns, size_t count,
                        const struct page_cell *cells)
{
    page_table_begin_row(html);
    for (size_t i = 0; i < count; i++) {
        add_cell(html, &columns[i], cells[i]);
    }
    page_table_end_row(html);
}

void page_table_add_texts(struct buffer *html, const struct page_column *columns, size_t count,
                          const char *const *texts)
{
    page_table_begin_row(html);
    for (size_t i = 0; i < count; i++) {
        page_table_add_text(html, &columns[i], texts[i]);
    }
    page_table_end_row(html);
}

void page_table_end(struct buffer *html, const char *note)
{
    buffer_add_text(html, "</tbody></table>\n");
    page_add_note(html, note);
    buffer_add_text(html, "</div>\n");
}

void page_add_chip(struct buffer *html, const char *style, const char *text)
{
    buffer_add_format(html, "<span class=\"chip %s\">%s</span>", style, REPORT_ESCAPED(text));
}

void page_add_note(struct buffer *html, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        buffer_add_format(html, "<p class=\"note\">%s</p>\n", REPORT_ESCAPED(text));
    }
}
