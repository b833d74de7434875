/*
 * Values of columns as text: for databases that take, or keep, numbers, times and addresses so.
 */
#ifndef APPEND_VALUE_TEXT_H
#define APPEND_VALUE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/api.h"
#include "append/row.h"

enum {
    VALUE_TEXT_BYTES = 64,
    VALUE_DECIMAL_SCALE_MAX = 40,
};

/* A moment taken apart, UTC. */
struct civil_time {
    int64_t year; /* of the proleptic Gregorian calendar; 0 is 1 BC */
    unsigned month, day, hour, minute, second;
    uint32_t nanosecond;
};

/* COLUMN_DATE, COLUMN_TIME or COLUMN_TIMESTAMP; what the type does not have is 0. By eras of 400
 * years that begin on 1 March (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms"). */
void civil_time_of(const struct column *column, union column_values values, size_t row,
                   struct civil_time *time) APPEND_API(civil_time_of);

/* Writes any type but text, bytes and JSON: BOOL as 1 or 0, numbers as C reads them, FLOAT32 and
 * FLOAT64 as the shortest text that is read back as the same number, in the locale "C", the others
 * in the ISO 8601 or usual form, times with `digits` (0 to 9) of their fraction, the rest cut off.
 * Returns the bytes written, at most VALUE_TEXT_BYTES, not terminated; 0 for other types. */
size_t value_text_write(char *out, const struct column *column, union column_values values,
                        size_t row, unsigned digits) APPEND_API(value_text_write);

/* The same of one number; an integer takes 20 bytes at most. */
size_t value_text_integer(char *out, int64_t value) APPEND_API(value_text_integer);
size_t value_text_real(char *out, double value, bool is_float) APPEND_API(value_text_real);

/* Writes one word, of the form that value_text_write gives or a usual one, as the column's type
 * holds it; a text is borrowed. False: the column cannot hold it. */
bool value_text_read(const struct column *column, struct text_value word, void *out)
    APPEND_API(value_text_read);

/* Whether a text is short enough for its column. */
bool value_text_fits(const struct column *column, struct text_value text)
    APPEND_API(value_text_fits);

/* Stores a whole number as the type holds it. False: it does not fit. */
static inline bool value_store_integer(enum column_type type, int64_t number, void *out)
{
    switch (column_kinds[type].bytes) {
    case sizeof(int16_t):
        *(int16_t *)out = (int16_t)number;
        return number >= INT16_MIN && number <= INT16_MAX;
    case sizeof(int32_t):
        *(int32_t *)out = (int32_t)number;
        return number >= INT32_MIN && number <= INT32_MAX;
    default:
        *(int64_t *)out = number;
        return true;
    }
}

/* 10^0 to 10^19. */
extern const uint64_t value_powers_of_ten[20] APPEND_API(value_powers_of_ten);

/* The integers of a COLUMN_DECIMAL are below it. */
int64_t value_decimal_limit(const struct column *column) APPEND_API(value_decimal_limit);

#endif
