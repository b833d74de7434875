/* Whole numbers as databases write them, for adapter.read_numbers. */
#ifndef BASE_NUMBER_TEXT_H
#define BASE_NUMBER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/error.h"

/* Reads text[0 … length-1], all of it: an optional '-' and digits. False: no number, or one that
 * int64_t does not hold. */
bool number_text_parse(const char *text, size_t length, int64_t *number);

/* Records why a value of a result was not taken; `column` from 0, `text` NULL for NULL. REJECTED.
 */
enum status number_text_refuse(size_t column, const char *text, size_t length, struct error *error);

/* Records that the query has `found` columns instead of `wanted`. REJECTED. */
enum status number_text_refuse_columns(size_t found, size_t wanted, struct error *error);

#endif
