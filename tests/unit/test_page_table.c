/* Tables of a page: the look of each column, and texts that look like HTML. */
#include "unit/unit.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "report/page_table.h"

#define HOSTILE "<script>\"&'"
#define ESCAPED "&lt;script&gt;&quot;&amp;&#39;"

static const struct page_column columns[] = {
    {"size", AS_NUMBER}, {"of", AS_NAME}, {"kind", AS_TEXT}, {"why", AS_WORDS}};

static void expect_html(struct buffer *html, const char *expected)
{
    assert_false(html->has_failed);
    assert_string_equal(buffer_text(html), expected);
    buffer_fini(html);
}

TEST(test_hostile_texts)
{
    struct buffer html = {0};
    page_table_begin(&html, "Sizes", columns, COUNT_OF(columns));
    PAGE_TABLE_ROW(&html, columns, HOSTILE, HOSTILE, HOSTILE, HOSTILE);
    PAGE_TABLE_ROW(&html, columns, NULL, "", "a\nb\x1b[0m", "\xff");
    page_table_end(&html, HOSTILE);
    expect_html(
        &html, "<h3>Sizes</h3>\n<div class=\"card scroll\"><table class=\"rows\"><thead><tr>"
               "<th class=\"n\">size</th><th>of</th><th>kind</th><th>why</th></tr></thead><tbody>\n"
               "<tr><td class=\"n\" data-name=\"size\">" ESCAPED "</td><th scope=\"row\">" ESCAPED
               "</th><td class=\"\" data-name=\"kind\">" ESCAPED
               "</td><td class=\"words\" data-name=\"why\">" ESCAPED "</td></tr>\n"
               "<tr><td class=\"n\" data-name=\"size\"></td><th scope=\"row\"></th>"
               "<td class=\"\" data-name=\"kind\">a b?[0m</td>"
               "<td class=\"words\" data-name=\"why\">?</td></tr>\n"
               "</tbody></table>\n<p class=\"note\">" ESCAPED "</p>\n</div>\n");
}

/* A link and a chip are made of texts, which are escaped in the same way. */
TEST(test_links_and_chips)
{
    struct buffer html = {0};
    const struct page_cell cells[] = {{.text = HOSTILE, .link = HOSTILE},
                                      {.text = HOSTILE, .chip = "valid"}};
    page_table_add_row(&html, &columns[1], COUNT_OF(cells), cells);
    expect_html(&html, "<tr><th scope=\"row\"><a href=\"#" ESCAPED "\">" ESCAPED "</a></th>"
                       "<td class=\"\" data-name=\"kind\"><span class=\"chip valid\">" ESCAPED
                       "</span></td></tr>\n");
}

TEST(test_no_note)
{
    struct buffer html = {0};
    page_table_end(&html, NULL);
    page_table_end(&html, "");
    expect_html(&html, "</tbody></table>\n</div>\n</tbody></table>\n</div>\n");
}
