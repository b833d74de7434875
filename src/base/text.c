#include "base/text.h"

#include <string.h>

enum {
    WORD_BYTES = 64
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Damerau's distance, no letter being part of two changes. Neither is longer than WORD_BYTES - 1.
 */
static size_t count_changes(const char *from, const char *to)
{
    size_t cost[WORD_BYTES][WORD_BYTES];
    const size_t rows = strlen(from), columns = strlen(to);
    for (size_t i = 0; i <= rows; i++) {
        for (size_t j = 0; j <= columns; j++) {
            cost[i][j] = i == 0 ? j : i;
            if (i == 0 || j == 0) {
                continue;
            }
            const size_t differs = from[i - 1] == to[j - 1] ? 0 : 1;
            cost[i][j] =
                least(cost[i - 1][j - 1] + differs, 1 + least(cost[i - 1][j], cost[i][j - 1]));
            if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
                cost[i][j] = least(cost[i][j], cost[i - 2][j - 2] + 1);
            }
        }
    }
    return cost[rows][columns];
}

void nearest_offer(struct nearest *nearest, const char *name)
{
    const size_t length = strlen(nearest->word);
    if (length < 2 || length >= WORD_BYTES || strlen(name) >= WORD_BYTES) {
        return;
    }
    const size_t changes =
        strncmp(nearest->word, name, length) == 0 ? 1 : count_changes(nearest->word, name);
    const size_t most = 1 + length / 3;
    if (changes <= most && changes < length &&
        (nearest->name == NULL || changes < nearest->changes)) {
        nearest->name = name;
        nearest->changes = changes;
    }
}

bool text_parse_integer(const char *text, size_t length, int64_t *number)
{
    const bool is_negative = length > 0 && text[0] == '-';
    const uint64_t most = (uint64_t)INT64_MAX + (is_negative ? 1 : 0);
    uint64_t value = 0;
    size_t i = is_negative ? 1 : 0;
    if (i == length) {
        return false;
    }
    for (; i < length; i++) {
        const unsigned digit = (unsigned)(unsigned char)text[i] - '0';
        if (digit > 9 || value > (most - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    if (is_negative) {
        *number = value == 0 ? 0 : -(int64_t)(value - 1) - 1;
    } else {
        *number = (int64_t)value;
    }
    return true;
}

/* Reads one character. Returns its bytes, 0 when they are not UTF-8. The terminator is never read
 * past: it is no continuation byte. */
static size_t decode(const char *text, uint32_t *code)
{
    static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char first = (unsigned char)text[0];
    if (first < 0x80) {
        *code = first;
        return 1;
    }
    const size_t length = first >= 0xf5 ? 0 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || length == 0) {
        return 0;
    }
    uint32_t value = first & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        const unsigned char next = (unsigned char)text[i];
        if ((next & 0xc0U) != 0x80U) {
            return 0;
        }
        value = (value << 6) | (next & 0x3fU);
    }
    if (value < lowest[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) {
        return 0;
    }
    *code = value;
    return length;
}

static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || (code >= 0x200b && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) ||
           code == 0xfeff || code == 0x061c;
}

/* Two columns for East Asian wide characters and emoji, else one. Not wcwidth: that knows only the
 * characters of the locale, and the program runs in "C". */
static unsigned width_of(uint32_t code)
{
    static const struct {
        uint32_t first;
        uint32_t last;
    } wide[] = {
        {0x1100, 0x115f},   {0x2e80, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},
        {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
        {0x1b000, 0x1b2ff}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd},
    };
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
        if (code >= wide[i].first && code <= wide[i].last) {
            return 2;
        }
    }
    return 1;
}

void text_add_utf8(struct buffer *buffer, const char *text)
{
    while (*text != '\0') {
        uint32_t code = 0;
        const size_t length = decode(text, &code);
        if (length > 0) {
            buffer_add(buffer, text, length);
        } else {
            buffer_add(buffer, "\xef\xbf\xbd", 3);
        }
        text += length > 0 ? length : 1;
    }
}

void text_clean_line(char *line, size_t size, const char *text, unsigned columns)
{
    static const char mark[] = "...";
    const unsigned mark_columns = columns < 3 ? columns : 3;
    size_t used = 0;
    size_t cut = 0; /* where the mark goes when the text turns out too wide */
    unsigned width = 0;
    while (*text != '\0') {
        uint32_t code = 0;
        size_t length = decode(text, &code);
        const bool is_shown = length > 0 && !is_control(code);
        const size_t step = length > 0 ? length : 1;
        const unsigned wide = is_shown ? width_of(code) : 1;
        length = is_shown ? length : 1;
        if (width + wide > columns) {
            if (cut + mark_columns < size) {
                memcpy(line + cut, mark, mark_columns);
                used = cut + mark_columns;
            }
            break;
        }
        if (used + length >= size) {
            break;
        }
        memcpy(line + used, is_shown ? text : "?", length);
        used += length;
        width += wide;
        if (width + mark_columns <= columns) {
            cut = used;
        }
        text += step;
    }
    line[used] = '\0';
}

size_t text_fit(const char *text, unsigned columns)
{
    size_t used = 0;
    unsigned width = 0;
    while (text[used] != '\0') {
        uint32_t code = 0;
        const size_t length = decode(text + used, &code);
        width += length > 0 ? width_of(code) : 1;
        if (width > columns) {
            break;
        }
        used += length > 0 ? length : 1;
    }
    return used;
}

unsigned text_width(const char *text)
{
    unsigned width = 0;
    while (*text != '\0') {
        uint32_t code = 0;
        const size_t length = decode(text, &code);
        width += length > 0 ? width_of(code) : 1;
        text += length > 0 ? length : 1;
    }
    return width;
}
