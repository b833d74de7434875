#include "runs/spread.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

struct spread spread_of(double *values, size_t count)
{
    if (count == 0) {
        return (struct spread){0};
    }
    qsort(values, count, sizeof *values, compare);
    const size_t middle = count / 2;
    const double upper = values[middle];
    return (struct spread){
        /* no sum of the two: it might not be finite */
        .median = count % 2 == 1 ? upper : values[middle - 1] + (upper - values[middle - 1]) / 2,
        .lowest = values[0],
        .highest = values[count - 1],
        .count = count,
    };
}
