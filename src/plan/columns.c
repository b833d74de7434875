#include "plan/plan.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

static struct text_value trimmed(const char *text, size_t length)
{
    while (length > 0 && text[0] == ' ') {
        text++;
        length--;
    }
    while (length > 0 && text[length - 1] == ' ') {
        length--;
    }
    return (struct text_value){text, (uint32_t)length};
}

bool column_item_next(const char **list, struct column_item *item)
{
    const char *const text = *list;
    if (text == NULL) {
        return false;
    }
    const size_t length = strcspn(text, ",");
    const char *const equals = memchr(text, '=', length);
    const size_t name_length = equals == NULL ? length : (size_t)(equals - text);
    item->name = trimmed(text, name_length);
    item->values = equals == NULL ? (struct text_value){text + length, 0}
                                  : trimmed(equals + 1, length - name_length - 1);
    *list = text[length] == ',' ? text + length + 1 : NULL;
    return true;
}

enum exit_code column_items_check(const char *option, const char *list, bool with_values,
                                  struct error *error)
{
    struct column_item item;
    while (column_item_next(&list, &item)) {
        struct text_value rest = item.values, word;
        int64_t from, to;
        bool is_valid = item.name.length > 0 && with_values == (rest.length > 0);
        if (column_item_range(&item, &from, &to)) {
            is_valid = is_valid && from <= to;
        } else {
            while (with_values && column_word_next(&rest, &word)) {
                is_valid = is_valid && word.length > 0;
            }
        }
        if (!is_valid) {
            const char *const end = with_values && item.values.length > 0
                                        ? item.values.bytes + item.values.length
                                        : item.name.bytes + item.name.length;
            return usage_refuse(
                error, "--%s: '%.*s' is not %s", option,
                (int)(end - item.name.bytes > 60 ? 60 : end - item.name.bytes), item.name.bytes,
                with_values ? "COLUMN=FROM..TO with whole numbers, or COLUMN=WORD|WORD|…"
                            : "the name of a column");
        }
    }
    return EXIT_CODE_OK;
}

const struct column *column_find(const struct table *table, const char *name, size_t length)
{
    const struct column *found = NULL;
    for (size_t c = 0; c < table->column_count; c++) {
        const struct column *column = &table->columns[c];
        if (strlen(column->name) != length || strncasecmp(column->name, name, length) != 0) {
            continue;
        }
        if (memcmp(column->name, name, length) == 0) {
            return column;
        }
        found = found == NULL ? column : found;
    }
    return found;
}

const struct column *column_item_find(const struct column_item *item, const struct table *table)
{
    return column_find(table, item->name.bytes, item->name.length);
}

bool column_item_of(const char *list, const struct table *table, const struct column *column,
                    struct column_item *item)
{
    while (column_item_next(&list, item)) {
        if (column_item_find(item, table) == column) {
            return true;
        }
    }
    return false;
}

bool column_item_range(const struct column_item *item, int64_t *from, int64_t *to)
{
    const char *const text = item->values.bytes;
    const size_t length = item->values.length;
    const char *const dots = memmem(text, length, "..", 2);
    return dots != NULL && text_parse_integer(text, (size_t)(dots - text), from) &&
           text_parse_integer(dots + 2, length - (size_t)(dots + 2 - text), to);
}

bool column_word_next(struct text_value *values, struct text_value *word)
{
    if (values->bytes == NULL) {
        return false;
    }
    const char *const bar = memchr(values->bytes, '|', values->length);
    const size_t length = bar == NULL ? values->length : (size_t)(bar - values->bytes);
    *word = trimmed(values->bytes, length);
    *values = bar == NULL ? (struct text_value){NULL, 0}
                          : (struct text_value){bar + 1, values->length - (uint32_t)length - 1};
    return true;
}
