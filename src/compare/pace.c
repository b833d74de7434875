#include "compare/pace.h"

/* Rows that were in at a time since the start of the run. */
struct point {
    double s;
    double rows;
};

/* Walks along the points of a run. */
struct walk {
    const struct csv_table *intervals;
    size_t row;
    size_t end_column, rows_column;
    struct point from, to; /* of the piece that is walked along */
    struct point last;
    double rows; /* of all intervals so far */
};

bool pace_of_run(const struct saved_run *run, double *rows_per_s, double *append_s)
{
    double rows;
    if (!saved_run_figure(run, "rows_acknowledged", &rows) ||
        !saved_run_figure(run, "append_s", append_s) || !(*append_s > 0)) {
        return false;
    }
    *rows_per_s = rows / *append_s;
    return true;
}

size_t pace_count_slices(double a_append_s, double b_append_s)
{
    const double least = a_append_s < b_append_s ? a_append_s : b_append_s;
    return least >= STATISTICS_SLICES_MAX ? STATISTICS_SLICES_MAX : (size_t)least;
}

/* Goes on to the next end of an interval within the run, or to the last answer. False: a row of the
 * file is no interval. */
static bool step(struct walk *walk)
{
    walk->from = walk->to;
    while (walk->row < walk->intervals->rows) {
        double end_s, rows;
        if (!csv_table_number(walk->intervals, walk->row, walk->end_column, &end_s) ||
            !csv_table_number(walk->intervals, walk->row, walk->rows_column, &rows)) {
            return false;
        }
        walk->row++;
        walk->rows += rows;
        if (end_s > walk->from.s && end_s < walk->last.s) {
            walk->to = (struct point){end_s, walk->rows};
            return true;
        }
    }
    walk->to = walk->last;
    return true;
}

/* Rows that were in at a time, which must not be before that of an earlier call. */
static bool rows_at(struct walk *walk, double s, double *rows)
{
    while (s > walk->to.s && walk->to.s < walk->last.s) {
        if (!step(walk)) {
            return false;
        }
    }
    const double length = walk->to.s - walk->from.s;
    const double share = length > 0 ? (s - walk->from.s) / length : 1;
    *rows = walk->from.rows + (share < 1 ? share : 1) * (walk->to.rows - walk->from.rows);
    return true;
}

static bool has_all_rows(const struct walk *walk)
{
    double sum = 0;
    for (size_t row = 0; row < walk->intervals->rows; row++) {
        double rows;
        if (!csv_table_number(walk->intervals, row, walk->rows_column, &rows)) {
            return false;
        }
        sum += rows;
    }
    return sum == walk->last.rows;
}

bool pace_cut(const struct saved_run *run, size_t count, double slices[STATISTICS_SLICES_MAX])
{
    double connect_s, append_s, rows;
    if (!saved_run_figure(run, "connect_s", &connect_s) ||
        !saved_run_figure(run, "append_s", &append_s) || !(append_s > 0) ||
        !saved_run_figure(run, "rows_acknowledged", &rows)) {
        return false;
    }
    struct walk walk = {
        .intervals = &run->intervals,
        .end_column = csv_table_column(&run->intervals, "end_s"),
        .rows_column = csv_table_column(&run->intervals, "rows"),
        .from = {connect_s, 0},
        .to = {connect_s, 0},
        .last = {connect_s + append_s, rows},
    };
    if (!has_all_rows(&walk)) {
        return false;
    }
    const double length = append_s / (double)count;
    double earlier = 0;
    for (size_t i = 0; i < count; i++) {
        double later = rows;
        if (i + 1 < count && !rows_at(&walk, connect_s + (double)(i + 1) * length, &later)) {
            return false;
        }
        slices[i] = (later - earlier) / length;
        earlier = later;
    }
    return true;
}
