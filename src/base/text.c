#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mono.h"

void buffer_init(struct buffer *buffer)
{
    memset(buffer, 0, sizeof *buffer);
}

void buffer_fini(struct buffer *buffer)
{
    free(buffer->bytes);
    buffer_init(buffer);
}

void buffer_clear(struct buffer *buffer)
{
    buffer->length = 0;
    buffer->has_failed = false;
    if (buffer->bytes != NULL) {
        buffer->bytes[0] = '\0';
    }
}

char *buffer_reserve(struct buffer *buffer, size_t bytes)
{
    const size_t needed = buffer->length + bytes + 1; /* + 1 for the terminator */
    if (!buffer->has_failed && needed > buffer->capacity) {
        size_t capacity = buffer->capacity == 0 ? 64 : buffer->capacity;
        while (capacity < needed) {
            capacity *= 2;
        }
        char *const moved = realloc(buffer->bytes, capacity);
        buffer->has_failed = moved == NULL;
        buffer->bytes = moved != NULL ? moved : buffer->bytes;
        buffer->capacity = moved != NULL ? capacity : buffer->capacity;
    }
    return buffer->has_failed ? NULL : buffer->bytes + buffer->length;
}

void buffer_add(struct buffer *buffer, const void *bytes, size_t length)
{
    char *const to = buffer_reserve(buffer, length);
    if (to != NULL) {
        if (length > 0) {
            memcpy(to, bytes, length);
        }
        buffer_end(buffer, to + length);
    }
}

void buffer_add_text(struct buffer *buffer, const char *text)
{
    buffer_add(buffer, text, strlen(text));
}

void buffer_add_format(struct buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0) {
        buffer->has_failed = true;
    } else if (buffer_reserve(buffer, (size_t)length) != NULL) {
        vsnprintf(buffer->bytes + buffer->length, (size_t)length + 1, format, again);
        buffer->length += (size_t)length;
    }
    va_end(again);
    va_end(arguments);
}

void buffer_add_identifier(struct buffer *buffer, const char *name, char quote)
{
    const size_t width = quote == '\0' ? 0 : 1;
    buffer_add(buffer, &quote, width);
    for (; *name != '\0'; name++) {
        buffer_add(buffer, name, *name == quote ? 1 : 0);
        buffer_add(buffer, name, 1);
    }
    buffer_add(buffer, &quote, width);
}

bool buffer_failed(const struct buffer *buffer)
{
    return buffer->has_failed;
}

const char *buffer_text(const struct buffer *buffer)
{
    return buffer->bytes == NULL || buffer->has_failed ? "" : buffer->bytes;
}

static ssize_t add_written(void *cookie, const char *bytes, size_t length)
{
    struct buffer *buffer = cookie;
    buffer_add(buffer, bytes, length);
    return buffer->has_failed ? 0 : (ssize_t)length;
}

FILE *buffer_open(struct buffer *buffer)
{
    return fopencookie(buffer, "w", (cookie_io_functions_t){.write = add_written});
}

struct suffix {
    const char *text;
    uint64_t factor;
};

static const struct suffix count_suffixes[] = {
    {"", 1},        {"k", 1000},       {"K", 1000},       {"m", 1000000},
    {"M", 1000000}, {"g", 1000000000}, {"G", 1000000000}, {NULL, 0},
};
static const struct suffix byte_suffixes[] = {
    {"", 1},         {"k", 1u << 10},   {"K", 1u << 10},   {"KiB", 1u << 10},
    {"m", 1u << 20}, {"M", 1u << 20},   {"MiB", 1u << 20}, {"g", 1u << 30},
    {"G", 1u << 30}, {"GiB", 1u << 30}, {NULL, 0},
};
static const struct suffix duration_suffixes[] = {
    {"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"min", 60000}, {"h", 3600000}, {NULL, 0},
};

/* Returns the factor of the suffix `text`, or 0 if the suffix is unknown. */
static uint64_t factor_of(const struct suffix *suffix, const char *text)
{
    while (suffix->text != NULL && strcmp(suffix->text, text) != 0) {
        suffix++;
    }
    return suffix->factor;
}

static bool parse_scaled(const char *text, const struct suffix *suffixes, uint64_t max,
                         uint64_t *value)
{
    char *end = NULL;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    const uint64_t factor = factor_of(suffixes, end);
    /* strtoull also accepts blanks and a minus sign */
    if (text[0] < '0' || text[0] > '9' || errno != 0 || factor == 0 || number > max / factor) {
        return false;
    }
    *value = number * factor;
    return true;
}

bool units_parse_count(const char *text, uint64_t max, uint64_t *value)
{
    return parse_scaled(text, count_suffixes, max, value);
}

bool units_parse_bytes(const char *text, uint64_t max, uint64_t *value)
{
    return parse_scaled(text, byte_suffixes, max, value);
}

bool units_parse_duration(const char *text, int64_t max_ns, int64_t *value_ns)
{
    char *end = NULL;
    errno = 0;
    const double number = strtod(text, &end);
    const uint64_t factor = factor_of(duration_suffixes, end);
    const double ns = number * (double)factor * (double)MONO_NS_PER_MS;
    /* strtod also accepts "0x10", "1e3", and texts that do not begin with a digit */
    if (text[0] < '0' || text[0] > '9' || errno != 0 || end != text + strspn(text, "0123456789.") ||
        factor == 0 || (ns > 0 && ns < 1) || ns >= 0x1p63 || llround(ns) > max_ns) {
        return false;
    }
    *value_ns = llround(ns);
    return true;
}

const char *units_format_count(uint64_t value, char text[UNITS_TEXT_BYTES])
{
    char *to = text + snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64, value);
    for (char *at = to - 3; at > text; at -= 3) {
        memmove(at + 1, at, (size_t)(++to - at));
        *at = ',';
    }
    return text;
}

/* Writes `value` with three significant digits; from 100 on, as a whole number. */
static const char *format_three(double value, const char *unit, char text[UNITS_TEXT_BYTES])
{
    int decimals = 0;
    if (value < 99.95) {
        decimals = value < 9.995 ? 2 : 1;
    }
    snprintf(text, UNITS_TEXT_BYTES, "%.*f %s", decimals, value, unit);
    return text;
}

const char *units_format_ns(int64_t ns, char text[UNITS_TEXT_BYTES])
{
    const double value = (double)ns;
    if (ns < 1000) {
        snprintf(text, UNITS_TEXT_BYTES, "%" PRId64 " ns", ns);
        return text;
    }
    if (value < 999.5e3) {
        return format_three(value / 1e3, "us", text);
    }
    return value < 999.5e6 ? format_three(value / 1e6, "ms", text)
                           : format_three(value / 1e9, "s", text);
}

const char *units_format_bytes(uint64_t bytes, char text[UNITS_TEXT_BYTES])
{
    const double kib = (double)bytes / 1024;
    if (bytes < 1024) {
        snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64 " B", bytes);
        return text;
    }
    if (kib < 999.5) {
        return format_three(kib, "KiB", text);
    }
    if (kib < 9999.5 * 1024) {
        return format_three(kib / 1024, "MiB", text);
    }
    return kib < 9999.5 * 1024 * 1024 ? format_three(kib / 1024 / 1024, "GiB", text)
                                      : format_three(kib / 1024 / 1024 / 1024, "TiB", text);
}

const char *units_format_seconds(uint64_t seconds, char text[UNITS_TEXT_BYTES])
{
    const uint64_t minutes = seconds / 60;
    if (minutes == 0) {
        snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64 "s", seconds);
    } else if (minutes < 60) {
        snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64 "m%02" PRIu64 "s", minutes, seconds % 60);
    } else {
        snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64 "h%02" PRIu64 "m", minutes / 60, minutes % 60);
    }
    return text;
}

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
    /* computes the restricted distance of Damerau and Levenshtein: no letter takes part in two
     * changes */
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

bool text_parse_two(const char *text, char mark, unsigned numbers[2])
{
    char *end, *last;
    const unsigned long first = strtoul(text, &end, 10);
    const unsigned long second = *end == mark ? strtoul(end + 1, &last, 10) : 0;
    if (end == text || *end != mark || last == end + 1 || first > UINT_MAX || second > UINT_MAX) {
        return false;
    }
    numbers[0] = (unsigned)first;
    numbers[1] = (unsigned)second;
    return true;
}

bool text_parse_integer(const char *text, size_t length, int64_t *number)
{
    const bool is_negative = length > 0 && text[0] == '-';
    int64_t value = 0; /* negative, because INT64_MIN has no positive counterpart */
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

#define UNKNOWN_CHARACTER "\xef\xbf\xbd" /* U+FFFD */

/* Decodes one character and returns the number of its bytes. For an invalid byte, sets *code to 0
 * and returns 1. Never reads past the terminating NUL, because NUL is not a continuation byte. */
static size_t decode(const char *text, uint32_t *code)
{
    static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char first = (unsigned char)text[0];
    size_t length = 2;
    if (first < 0x80) {
        length = 1;
    } else if (first >= 0xe0) {
        length = first >= 0xf0 ? 4 : 3;
    }
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

/* Returns whether a terminal must not receive the character. True also for code 0, which decode
 * sets for an invalid byte. */
static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || (code >= 0x200b && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) ||
           code == 0xfeff || code == 0x061c;
}

/* Returns the number of columns of a character: two for East Asian wide characters and emoji, else
 * one. Does not use wcwidth, because the program runs in the locale "C", in which wcwidth knows
 * only ASCII. */
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

void text_write_cell(FILE *stream, const char *before, const char *text)
{
    const char *quote = strpbrk(text, ",\"\r\n") == NULL ? "" : "\"";
    const char *unwritten = text;
    fputs(quote, stream);
    fputs(before, stream);
    while (*text != '\0') {
        uint32_t code;
        const char *const at = text;
        text += decode(text, &code);
        if (code == 0 || code == '"') {
            fwrite(unwritten, 1, (size_t)(at - unwritten), stream);
            fputs(code == 0 ? UNKNOWN_CHARACTER : "\"\"", stream);
            unwritten = text;
        }
    }
    fputs(unwritten, stream);
    fputs(quote, stream);
}

void text_add_utf8(struct buffer *buffer, const char *text)
{
    while (*text != '\0') {
        uint32_t code;
        const size_t length = decode(text, &code);
        buffer_add(buffer, code != 0 ? text : UNKNOWN_CHARACTER,
                   code != 0 ? length : strlen(UNKNOWN_CHARACTER));
        text += length;
    }
}

void text_clean_line(char *line, size_t size, const char *text, unsigned columns)
{
    const unsigned mark_columns = columns < 3 ? columns : 3;
    size_t used = 0;
    size_t cut = 0; /* where "..." goes if the text is too wide */
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
