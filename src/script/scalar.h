/*
 * Values of a script as columns have them: the types that a script can declare, and one value in
 * the form in which a batch holds it (include/append/row.h).
 */
#ifndef SCRIPT_SCALAR_H
#define SCRIPT_SCALAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/row.h"
#include "script/draw.h"

enum {
    SCALAR_NUMBER_BYTES = 40 /* a number as a text */
};

/* One value: what union column_values points at. */
union scalar {
    uint8_t boolean;
    int16_t int16;
    int32_t int32;
    int64_t int64;
    float float32;
    double float64;
    struct text_value text;
};

/* Reads a portable type, "decimal(10,2)", into a zeroed column. False: there is no such type. */
bool scalar_parse_type(const char *text, struct column *column);

/* Stores a value as the column's type. A text borrows the value's bytes; a number for a text is
 * written into `number` and borrows it. False: the value does not fit. */
bool scalar_store(const struct column *column, const struct draw_value *value, union scalar *at,
                  char number[SCALAR_NUMBER_BYTES]);

/* A value as a real number; false for a text that is not a number as a whole. */
bool scalar_to_real(const struct draw_value *value, double *real);

#endif
