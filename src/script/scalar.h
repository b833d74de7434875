/*
 * Converts the names of types that a script can declare, and a script's single values, to the form
 * in which batches hold values (include/append/row.h).
 */
#ifndef SCRIPT_SCALAR_H
#define SCRIPT_SCALAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/row.h"
#include "script/draw.h"

enum {
    SCALAR_NUMBER_BYTES = 40 /* size of a number written as text */
};

/* A single value, an element of the array to which union column_values points. */
union scalar {
    uint8_t boolean;
    int16_t int16;
    int32_t int32;
    int64_t int64;
    float float32;
    double float64;
    struct text_value text;
};

/* Reads a portable type, for example "decimal(10,2)", into a zeroed column. Returns false if the
 * type is unknown. */
bool scalar_parse_type(const char *text, struct column *column);

/* Converts a value to the column's type and stores it. A text borrows the value's bytes. A number
 * for a text column is written to `number`, and the text borrows `number`. Returns false if the
 * value does not fit. */
bool scalar_store(const struct column *column, const struct draw_value *value, union scalar *at,
                  char number[SCALAR_NUMBER_BYTES]);

/* Converts a value to a real number. Returns false if the value is a text that is not a number. */
bool scalar_to_real(const struct draw_value *value, double *real);

#endif
