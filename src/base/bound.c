#include "base/bound.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789_"
#define NUMBER_CHARACTERS "0123456789."

enum {
    DIGITS_MAX = 18
};

/* Those of two characters first, so that "<=" is not read as "<". */
static const struct {
    const char *text;
    enum bound_relation relation;
} relations[] = {
    {"<=", BOUND_AT_MOST}, {">=", BOUND_AT_LEAST}, {"==", BOUND_EQUAL},
    {"!=", BOUND_UNEQUAL}, {"<", BOUND_BELOW},     {">", BOUND_ABOVE},
};
enum {
    RELATIONS = sizeof relations / sizeof relations[0]
};

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t\r\n");
}

static enum status refuse(const char *text, const char *what, struct error *error)
{
    error_set(error, ERROR_USAGE, 0, NULL,
              "bound '%.*s' %s: use NAME, then one of < <= > >= == !=, and a number with its unit",
              60, text, what);
    return STATUS_REJECTED;
}

/* Copies one bound without the blanks around it and moves *rest behind its comma. */
static bool take_text(char text[BOUND_TEXT_BYTES], const char **rest)
{
    const char *begin = skip_blanks(*rest);
    size_t length = strcspn(begin, ",");
    *rest = begin[length] == ',' ? begin + length + 1 : NULL;
    while (length > 0 && strchr(" \t\r\n", begin[length - 1]) != NULL) {
        length--;
    }
    const bool fits = length < BOUND_TEXT_BYTES;
    length = fits ? length : BOUND_TEXT_BYTES - 1;
    memcpy(text, begin, length);
    text[length] = '\0';
    return fits;
}

static bool take_relation(const char **at, enum bound_relation *relation)
{
    for (size_t i = 0; i < RELATIONS; i++) {
        const size_t length = strlen(relations[i].text);
        if (strncmp(*at, relations[i].text, length) == 0) {
            *relation = relations[i].relation;
            *at += length;
            return true;
        }
    }
    return false;
}

/* Digits with at most one point: strtod alone would take signs, "0x10", "1e3" and "inf". */
static bool take_number(const char **at, double *number)
{
    const size_t length = strspn(*at, NUMBER_CHARACTERS);
    if (**at < '0' || **at > '9' || length > DIGITS_MAX) {
        return false;
    }
    char digits[DIGITS_MAX + 1];
    memcpy(digits, *at, length);
    digits[length] = '\0';
    char *end = NULL;
    *number = strtod(digits, &end);
    *at += length;
    return *end == '\0' && isfinite(*number);
}

enum status bound_parse(struct bound *bound, const char **rest, struct error *error)
{
    *bound = (struct bound){0};
    if (!take_text(bound->text, rest)) {
        return refuse(bound->text, "is too long", error);
    }
    if (bound->text[0] == '\0') {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "a bound is empty: use NAME>=NUMBER, bounds apart by commas");
        return STATUS_REJECTED;
    }
    const char *at = bound->text;
    const size_t length = strspn(at, NAME_CHARACTERS);
    if (length == 0 || length >= sizeof bound->name) {
        return refuse(bound->text, "does not begin with the name of a figure", error);
    }
    memcpy(bound->name, at, length);
    at = skip_blanks(at + length);
    if (!take_relation(&at, &bound->relation)) {
        return refuse(bound->text, "has no relation after the name", error);
    }
    at = skip_blanks(at);
    bound->is_word = *at >= 'A' && *at <= 'Z';
    bound->number = 1;
    if (!bound->is_word && !take_number(&at, &bound->number)) {
        return refuse(bound->text, "has no number that can be read", error);
    }
    at = skip_blanks(at);
    if (strlen(at) >= sizeof bound->unit || strpbrk(at, "<>=!") != NULL) {
        return refuse(bound->text, "has text after the number that is no unit", error);
    }
    memcpy(bound->unit, at, strlen(at));
    return STATUS_OK;
}

bool bound_holds(enum bound_relation relation, double value, double limit)
{
    switch (relation) {
    case BOUND_BELOW:
        return value < limit;
    case BOUND_AT_MOST:
        return value <= limit;
    case BOUND_ABOVE:
        return value > limit;
    case BOUND_AT_LEAST:
        return value >= limit;
    case BOUND_EQUAL:
        return value == limit;
    case BOUND_UNEQUAL:
        return !isnan(value) && value != limit;
    }
    return false;
}

const char *bound_relation_text(enum bound_relation relation)
{
    for (size_t i = 0; i < RELATIONS; i++) {
        if (relations[i].relation == relation) {
            return relations[i].text;
        }
    }
    return "?";
}
