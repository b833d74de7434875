#include "measure/fairness.h"

void fairness_find(struct fairness *fairness, const struct session_summary *list, size_t count)
{
    *fairness = (struct fairness){0};
    for (size_t i = 0; i < count; i++) {
        const double rows_per_s = session_rows_per_s(&list[i]);
        if (list[i].is_idle || rows_per_s < 0) {
            continue;
        }
        if (fairness->sessions == 0 || rows_per_s < fairness->slowest_rows_per_s) {
            fairness->slowest_rows_per_s = rows_per_s;
            fairness->slowest_session = list[i].index;
        }
        if (fairness->sessions == 0 || rows_per_s > fairness->fastest_rows_per_s) {
            fairness->fastest_rows_per_s = rows_per_s;
            fairness->fastest_session = list[i].index;
        }
        if (fairness->sessions == 0 || list[i].longest_gap_ns > fairness->longest_gap_ns) {
            fairness->longest_gap_ns = list[i].longest_gap_ns;
            fairness->longest_gap_session = list[i].index;
        }
        fairness->sessions++;
    }
}
