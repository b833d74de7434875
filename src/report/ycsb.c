#include "report/formats.h"

#include <errno.h>
#include <inttypes.h>
#include <strings.h>

#include "base/mono.h"
#include "base/text.h"
#include "report/figures.h"

enum {
    NS_PER_US = 1000
};

/* Returns whether a statement has the same name as the transaction, without regard to case. YCSB's
 * output then has only the statement, because both are one operation of YCSB. */
static bool is_named_as_statement(const struct operation_list *list, size_t transaction)
{
    for (size_t i = OPERATIONS; i < list->count; i++) {
        if (list->entries[i].kind != OPERATION_IS_TRANSACTION &&
            strcasecmp(list->entries[i].name, list->entries[transaction].name) == 0) {
            return true;
        }
    }
    return false;
}

static void put_times(FILE *stream, const char *name, const struct histogram *histogram)
{
    static const struct {
        const char *key;
        double quantile;
    } points[] = {{"50th", 0.5}, {"95th", 0.95}, {"99th", 0.99}};
    size_t first = 0;
    while (first < HISTOGRAM_BUCKETS && histogram->counts[first] == 0) {
        first++;
    }
    const int64_t least_ns =
        first == HISTOGRAM_BUCKETS ? HISTOGRAM_LIMIT_NS : histogram_bucket_low_ns(first);
    fprintf(stream, "[%s], AverageLatency(us), %.3f\n", name,
            histogram_mean_ns(histogram) / NS_PER_US);
    fprintf(stream, "[%s], MinLatency(us), %" PRId64 "\n", name, least_ns / NS_PER_US);
    fprintf(stream, "[%s], MaxLatency(us), %" PRId64 "\n", name, histogram->max_ns / NS_PER_US);
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        fprintf(stream, "[%s], %sPercentileLatency(us), %" PRId64 "\n", name, points[i].key,
                histogram_quantile_ns(histogram, points[i].quantile) / NS_PER_US);
    }
}

static void put_operation(FILE *stream, const struct operation *operation,
                          const struct histogram *histogram, const uint64_t *counts)
{
    const bool is_transaction = operation->kind == OPERATION_IS_TRANSACTION;
    const uint64_t missed = is_transaction ? 0 : counts[COUNT_EMPTY];
    const struct {
        const char *status;
        uint64_t count;
    } returns[] = {
        {"OK", is_transaction ? counts[COUNT_COMMITTED] : counts[COUNT_ANSWERED] - missed},
        {"NOT_FOUND", missed},
        {"ERROR", is_transaction ? counts[COUNT_FAILED] + counts[COUNT_IN_DOUBT]
                                 : counts[COUNT_REFUSED] + counts[COUNT_UNANSWERED]}};
    uint64_t ended = 0;
    for (size_t i = 0; i < sizeof returns / sizeof returns[0]; i++) {
        ended += returns[i].count;
    }
    if (ended == 0) {
        return;
    }
    fprintf(stream, "[%s], Operations, %" PRIu64 "\n", operation->name, histogram->total);
    if (histogram->total > 0) {
        put_times(stream, operation->name, histogram);
    }
    for (size_t i = 0; i < sizeof returns / sizeof returns[0]; i++) {
        if (returns[i].count > 0) {
            fprintf(stream, "[%s], Return=%s, %" PRIu64 "\n", operation->name, returns[i].status,
                    returns[i].count);
        }
    }
}

bool ycsb_write(FILE *stream, const struct plan *plan, const struct result *result)
{
    const locale_t before = units_use_point();
    struct figure_set set;
    double per_s;
    figures_of_result(&set, plan, result);
    fprintf(stream, "[OVERALL], RunTime(ms), %" PRId64 "\n", result->measured_ns / MONO_NS_PER_MS);
    if (figure_get(&set, FIGURE_TRANSACTIONS_PER_S, &per_s)) {
        fprintf(stream, "[OVERALL], Throughput(ops/sec), %.3f\n", per_s);
    }
    for (size_t i = OPERATIONS; i < set.operations.count; i++) {
        const struct operation *operation = &set.operations.entries[i];
        if (operation->kind != OPERATION_IS_TRANSACTION ||
            !is_named_as_statement(&set.operations, i)) {
            put_operation(stream, operation, recorder_histogram(&result->totals, i),
                          result->totals.counts[i]);
        }
    }
    const bool is_written = fflush(stream) == 0 && ferror(stream) == 0;
    const int number = errno;
    uselocale(before);
    errno = number;
    return is_written;
}
