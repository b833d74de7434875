/* Batches of known values: an ordinary, the smallest, the largest and an odd value of each type. */
#ifndef CONTRACT_SAMPLES_H
#define CONTRACT_SAMPLES_H

#include "append/row.h"
#include "fixture.h"

struct samples; /* owns a batch and its values */

/* Sets whether the sizes of text columns are in bytes, not in characters. Call before creating
 * samples. */
void samples_measure_in_bytes(bool is_wanted);

/* Sets whether dates and times lie between 1970 and 2105. Call before creating samples. */
void samples_use_modern_times(bool is_wanted);

/* Sets the column that counts up from one call to the next; NULL: no column counts up. */
void samples_count_time(const struct column *time);

/* Creates `row_count` rows for `table`; row r has sample r modulo SAMPLE_COUNT. A column named id
 * counts up from `first_id`. With has_nulls, every nullable column except id is NULL. Never returns
 * NULL (aborts). */
struct samples *samples_create(const struct table *table, size_t row_count, int first_id,
                               bool has_nulls);
void samples_destroy(struct samples *samples);
const struct batch *samples_batch(const struct samples *samples);

/* Fills columns[] with the values of row `row` alone. */
void samples_pick(const struct samples *samples, size_t row, struct column_data *columns);

/* Returns the text in one row of a TEXT, BYTES or JSON column. */
struct text_value samples_text(const struct samples *samples, size_t column, size_t row);

#endif
