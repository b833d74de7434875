#include "load/epoch.h"

#include <stdlib.h>
#include <sys/param.h>

#include "base/mono.h"

struct epoch *epoch_latest(struct epoch *first)
{
    struct epoch *latest = first;
    for (struct epoch *next = first; next != NULL; next = atomic_load(&next->next)) {
        latest = next;
    }
    return latest;
}

struct epoch *epoch_copy(const struct epoch *wanted)
{
    struct epoch *copy = malloc(sizeof *copy);
    if (copy != NULL) {
        copy->start_ns = 0;
        copy->rate = wanted->rate;
        copy->sessions = wanted->sessions;
        copy->is_paused = wanted->is_paused;
        atomic_init(&copy->next, NULL);
    }
    return copy;
}

void epoch_add(struct epoch *first, struct epoch *added)
{
    added->start_ns = mono_now_ns();
    atomic_store(&epoch_latest(first)->next, added);
}

double epoch_mean_rate(const struct epoch *first, int64_t go_ns, int64_t from_ns, int64_t until_ns)
{
    double sum = 0;
    for (const struct epoch *epoch = first; epoch != NULL; epoch = atomic_load(&epoch->next)) {
        const struct epoch *next = atomic_load(&epoch->next);
        const int64_t start_ns = epoch->start_ns == 0 ? go_ns : epoch->start_ns;
        const int64_t begin_ns = MAX(start_ns, from_ns);
        const int64_t end_ns = next == NULL ? until_ns : MIN(next->start_ns, until_ns);
        if (end_ns > begin_ns && !epoch->is_paused) {
            sum += ramp_sum(&epoch->rate, end_ns - start_ns) -
                   ramp_sum(&epoch->rate, begin_ns - start_ns);
        }
    }
    const double s = (double)(until_ns - from_ns) / (double)MONO_NS_PER_S;
    return s > 0 ? sum / s : 0;
}

void epoch_fini(struct epoch *first)
{
    struct epoch *next = atomic_load(&first->next);
    while (next != NULL) {
        struct epoch *after = atomic_load(&next->next);
        free(next);
        next = after;
    }
    atomic_store(&first->next, NULL);
}
