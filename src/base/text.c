#include "base/text.h"

#include <string.h>

enum {
    WORD_BYTES = 64
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

void nearest_offer(struct nearest *nearest, const char *name)
{
    size_t cost[WORD_BYTES][WORD_BYTES];
    const char *const word = nearest->word;
    const size_t length = strlen(word), columns = strlen(name);
    if (length < 2 || length >= WORD_BYTES || columns >= WORD_BYTES) {
        return;
    }
    /* Damerau's distance, no letter being part of two changes */
    for (size_t i = 0; i <= length; i++) {
        for (size_t j = 0; j <= columns; j++) {
            cost[i][j] = i == 0 ? j : i;
            if (i > 0 && j > 0) {
                cost[i][j] = least(cost[i - 1][j - 1] + (word[i - 1] == name[j - 1] ? 0 : 1),
                                   1 + least(cost[i - 1][j], cost[i][j - 1]));
            }
            if (i > 1 && j > 1 && word[i - 1] == name[j - 2] && word[i - 2] == name[j - 1]) {
                cost[i][j] = least(cost[i][j], cost[i - 2][j - 2] + 1);
            }
        }
    }
    const size_t changes = strncmp(word, name, length) == 0 ? 1 : cost[length][columns];
    if (changes <= 1 + length / 3 && changes < length &&
        (nearest->name == NULL || changes < nearest->changes)) {
        nearest->name = name;
        nearest->changes = changes;
    }
}

bool text_parse_integer(const char *text, size_t length, int64_t *number)
{
    const bool is_negative = length > 0 && text[0] == '-';
    int64_t value = 0; /* below 0: there is one more of them */
    for (size_t i = is_negative ? 1 : 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, text[i] - '0', &value)) {
            return false;
        }
    }
    if (length == (is_negative ? 1 : 0) || (!is_negative && value == INT64_MIN)) {
        return false;
    }
    *number = is_negative ? value : -value;
    return true;
}

/* Reads one character; returns its bytes. A byte that is not UTF-8 is one of code 0. The terminator
 * is never read past: it is no continuation byte. */
static size_t decode(const char *text, uint32_t *code)
{
    static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char first = (unsigned char)text[0];
    const size_t length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    uint32_t value = length == 1 ? first : first & (0x7fU >> length);
    *code = 0;
    for (size_t i = 1; i < length; i++) {
        const unsigned char next = (unsigned char)text[i];
        if ((next & 0xc0U) != 0x80U) {
            return 1;
        }
        value = (value << 6) | (next & 0x3fU);
    }
    if ((length > 1 && (first < 0xc2 || first >= 0xf5)) || value < lowest[length] ||
        value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) {
        return 1;
    }
    *code = value;
    return length;
}

/* Also what is not UTF-8. */
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
    static const uint32_t wide[][2] = {
        {0x1100, 0x115f},   {0x2e80, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},
        {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
        {0x1b000, 0x1b2ff}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd},
    };
    size_t i = 0;
    while (i < COUNT_OF(wide) && (code < wide[i][0] || code > wide[i][1])) {
        i++;
    }
    return i < COUNT_OF(wide) ? 2 : 1;
}

void text_add_utf8(struct buffer *buffer, const char *text)
{
    while (*text != '\0') {
        uint32_t code;
        const size_t length = decode(text, &code);
        buffer_add(buffer, code != 0 ? text : "\xef\xbf\xbd", code != 0 ? length : 3);
        text += length;
    }
}

void text_clean_line(char *line, size_t size, const char *text, unsigned columns)
{
    const unsigned mark_columns = columns < 3 ? columns : 3;
    size_t used = 0;
    size_t cut = 0; /* where the mark goes when the text turns out too wide */
    unsigned width = 0;
    while (*text != '\0') {
        uint32_t code;
        const size_t step = decode(text, &code);
        const bool is_shown = !is_control(code);
        const size_t length = is_shown ? step : 1;
        width += width_of(code);
        if (width > columns && cut + mark_columns < size) {
            memcpy(line + cut, "...", mark_columns);
            used = cut + mark_columns;
        }
        if (width > columns || used + length >= size) {
            break;
        }
        memcpy(line + used, is_shown ? text : "?", length);
        used += length;
        cut = width + mark_columns <= columns ? used : cut;
        text += step;
    }
    line[used] = '\0';
}

size_t text_fit(const char *text, unsigned columns)
{
    size_t used = 0;
    for (unsigned width = 0; text[used] != '\0';) {
        uint32_t code;
        const size_t length = decode(text + used, &code);
        width += width_of(code);
        if (width > columns) {
            break;
        }
        used += length;
    }
    return used;
}

unsigned text_width(const char *text)
{
    unsigned width = 0;
    for (uint32_t code; *text != '\0'; width += width_of(code)) {
        text += decode(text, &code);
    }
    return width;
}
