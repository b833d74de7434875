/*
 * Column values as text, for databases that receive or store numbers, times and addresses as text.
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

/* A point in time as calendar fields, UTC. */
struct civil_time {
    int64_t year; /* year in the proleptic Gregorian calendar; 0 is 1 BC */
    unsigned month, day, hour, minute, second;
    uint32_t nanosecond;
};

/* Converts a COLUMN_DATE, COLUMN_TIME or COLUMN_TIMESTAMP; fields that the type does not have are
 * 0. Counts the days in eras of 400 years that begin on 1 March (H. Hinnant, "chrono-Compatible
 * Low-Level Date Algorithms"). */
void civil_time_of(const struct column *column, union column_values values, size_t row,
                   struct civil_time *time) APPEND_API(civil_time_of);

/* Writes a value of any type except text, bytes and JSON. BOOL is 1 or 0. Numbers have C's syntax;
 * FLOAT32 and FLOAT64 are the shortest text that reads back as the same number, in the locale "C".
 * The other types use ISO 8601 or their usual form; the fraction of a time is cut off after
 * `digits` (0 to 9) digits. Returns the number of bytes written, at most VALUE_TEXT_BYTES; there is
 * no terminating '\0'. Returns 0 for text, bytes and JSON. */
size_t value_text_write(char *out, const struct column *column, union column_values values,
                        size_t row, unsigned digits) APPEND_API(value_text_write);

/* Both functions write one number like value_text_write. An integer needs at most 20 bytes. */
size_t value_text_integer(char *out, int64_t value) APPEND_API(value_text_integer);
size_t value_text_real(char *out, double value, bool is_float) APPEND_API(value_text_real);

/* Parses `word`, which has the form that value_text_write writes or another usual form. Stores the
 * value in *out, an array element of the column's type. A text borrows the bytes of `word`. Returns
 * false if the column cannot hold the value. */
bool value_text_read(const struct column *column, struct text_value word, void *out)
    APPEND_API(value_text_read);

/* Returns true when a text is short enough for its column. */
bool value_text_fits(const struct column *column, struct text_value text)
    APPEND_API(value_text_fits);

/* Stores an integer in *out, an array element of `type`. Returns false if the integer does not
 * fit. */
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

/* The powers of ten from 10^0 to 10^19, indexed by the exponent. */
extern const uint64_t value_powers_of_ten[20] APPEND_API(value_powers_of_ten);

/* Returns a limit for a COLUMN_DECIMAL: the absolute values of its unscaled integers are less than
 * the limit. */
int64_t value_decimal_limit(const struct column *column) APPEND_API(value_decimal_limit);

#endif
