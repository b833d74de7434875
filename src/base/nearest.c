#include "base/nearest.h"

#include <string.h>

enum {
    WORD_BYTES = 64
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Damerau's distance, no letter being part of two changes. Neither is longer than WORD_BYTES - 1.
 */
static size_t count_changes(const char *from, const char *to)
{
    size_t cost[WORD_BYTES][WORD_BYTES];
    const size_t rows = strlen(from), columns = strlen(to);
    for (size_t i = 0; i <= rows; i++) {
        for (size_t j = 0; j <= columns; j++) {
            cost[i][j] = i == 0 ? j : i;
            if (i == 0 || j == 0) {
                continue;
            }
            const size_t differs = from[i - 1] == to[j - 1] ? 0 : 1;
            cost[i][j] =
                least(cost[i - 1][j - 1] + differs, 1 + least(cost[i - 1][j], cost[i][j - 1]));
            if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
                cost[i][j] = least(cost[i][j], cost[i - 2][j - 2] + 1);
            }
        }
    }
    return cost[rows][columns];
}

void nearest_offer(struct nearest *nearest, const char *name)
{
    const size_t length = strlen(nearest->word);
    if (length < 2 || length >= WORD_BYTES || strlen(name) >= WORD_BYTES) {
        return;
    }
    const size_t changes =
        strncmp(nearest->word, name, length) == 0 ? 1 : count_changes(nearest->word, name);
    const size_t most = 1 + length / 3;
    if (changes <= most && changes < length &&
        (nearest->name == NULL || changes < nearest->changes)) {
        nearest->name = name;
        nearest->changes = changes;
    }
}
