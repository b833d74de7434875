#include "measure/procfs_text.h"

#include <string.h>

struct procfs_text procfs_text_of(const char *text, size_t length)
{
    return (struct procfs_text){.at = text, .end = text + length};
}

static size_t remaining(const struct procfs_text *text)
{
    return (size_t)(text->end - text->at);
}

bool procfs_text_line(struct procfs_text *text, struct procfs_text *line)
{
    if (remaining(text) == 0) {
        return false;
    }
    const char *line_break = memchr(text->at, '\n', remaining(text));
    if (line_break == NULL) {
        return false;
    }
    *line = (struct procfs_text){.at = text->at, .end = line_break};
    text->at = line_break + 1;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool procfs_text_word(struct procfs_text *text, struct procfs_text *word)
{
    while (text->at < text->end && is_blank(*text->at)) {
        text->at++;
    }
    word->at = text->at;
    while (text->at < text->end && !is_blank(*text->at)) {
        text->at++;
    }
    word->end = text->at;
    return word->at < word->end;
}

bool procfs_text_equals(struct procfs_text word, const char *expected)
{
    const size_t length = strlen(expected);
    return remaining(&word) == length && memcmp(word.at, expected, length) == 0;
}

static unsigned digit_value(char c)
{
    if (c >= '0' && c <= '9') {
        return (unsigned)(c - '0');
    }
    if (c >= 'A' && c <= 'F') {
        return (unsigned)(c - 'A') + 10;
    }
    if (c >= 'a' && c <= 'f') {
        return (unsigned)(c - 'a') + 10;
    }
    return UINT32_MAX;
}

bool procfs_text_number(struct procfs_text word, unsigned base, uint64_t *value)
{
    if (remaining(&word) == 0) {
        return false;
    }
    uint64_t number = 0;
    for (const char *at = word.at; at < word.end; at++) {
        const unsigned digit = digit_value(*at);
        if (digit >= base || number > (UINT64_MAX - digit) / base) {
            return false;
        }
        number = number * base + digit;
    }
    *value = number;
    return true;
}

bool procfs_text_take(struct procfs_text *text, uint64_t *value)
{
    struct procfs_text word;
    return procfs_text_word(text, &word) && procfs_text_number(word, 10, value);
}

bool procfs_text_find(struct procfs_text text, const char *name, uint64_t *value)
{
    struct procfs_text line;
    struct procfs_text word;
    while (procfs_text_line(&text, &line)) {
        if (procfs_text_word(&line, &word) && procfs_text_equals(word, name)) {
            return procfs_text_take(&line, value);
        }
    }
    return false;
}

bool procfs_text_take_signed(struct procfs_text *text, int64_t *value)
{
    struct procfs_text word;
    if (!procfs_text_word(text, &word)) {
        return false;
    }
    const bool is_negative = *word.at == '-';
    if (is_negative) {
        word.at++;
    }
    uint64_t magnitude;
    if (!procfs_text_number(word, 10, &magnitude) || magnitude > INT64_MAX) {
        return false;
    }
    *value = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}
