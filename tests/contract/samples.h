/* Batches of known values. Each type has four samples: an ordinary, the smallest, the largest and
 * an odd value. */
#ifndef CONTRACT_SAMPLES_H
#define CONTRACT_SAMPLES_H

#include "append/row.h"
#include "fixture.h"

struct samples; /* owns a batch and its values */

/* Sets whether the sizes of text columns are in bytes instead of characters. Must be called before
 * samples are created. */
void samples_measure_in_bytes(bool is_wanted);

/* Sets whether dates and times lie between 1970 and 2105. Must be called before samples are
 * created. */
void samples_use_modern_times(bool is_wanted);

/* Sets whether the samples leave out the values that some databases take for NULL: the smallest
 * whole numbers, the largest floating-point numbers, and the time 1 ns before 1970. Must be called
 * before samples are created. */
void samples_leave_out_extremes(bool is_wanted);

/* Sets the column whose values count up in each batch and continue in the next batch. `time` is
 * NULL if there is no such column. */
void samples_count_time(const struct column *time);

/* Creates `row_count` rows for `table`. Row r has sample r modulo SAMPLE_COUNT. A column named id
 * counts up from `first_id`. With has_nulls, every nullable column except id is NULL. Aborts if
 * memory runs out, so that the result is never NULL. */
struct samples *samples_create(const struct table *table, size_t row_count, int first_id,
                               bool has_nulls);
void samples_destroy(struct samples *samples);
const struct batch *samples_batch(const struct samples *samples);

/* Fills columns[] with the values of row `row` alone. */
void samples_pick(const struct samples *samples, size_t row, struct column_data *columns);

/* Returns the text of a TEXT, BYTES or JSON column in one row. */
struct text_value samples_text(const struct samples *samples, size_t column, size_t row);

#endif
