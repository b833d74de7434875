/* Batches of known values: an ordinary one, the smallest, the largest and an odd one of each type.
 */
#ifndef CONTRACT_SAMPLES_H
#define CONTRACT_SAMPLES_H

#include "append/row.h"
#include "fixture.h"

struct samples; /* owns a batch and its values */

/* Sizes of columns of text are ones of bytes, not of characters. Before any samples are made. */
void samples_measure_bytes(bool is_wanted);

/* Dates and moments are those of 1970 to 2105. Before any samples are made. */
void samples_be_modern(bool is_wanted);

/* A column of this name counts up from one call to the next; NULL: none does. */
void samples_count_time(const struct column *time);

/* `row_count` rows for `table`, row r holding sample r modulo SAMPLE_COUNT. A column named id
 * counts up from `first_id`. NULLs: every nullable column but id. Never NULL (aborts). */
struct samples *samples_create(const struct table *table, size_t row_count, int first_id,
                               bool has_nulls);
void samples_destroy(struct samples *samples);
const struct batch *samples_batch(const struct samples *samples);

/* Fills an entry of `columns` a column with row `row` alone. */
void samples_pick(const struct samples *samples, size_t row, struct column_data *columns);

/* The text in one row of a TEXT, BYTES or JSON column. */
struct text_value samples_text(const struct samples *samples, size_t column, size_t row);

#endif
