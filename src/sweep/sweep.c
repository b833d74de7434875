#include "sweep/sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const struct sweep_figure_kind sweep_figures[SWEEP_FIGURES] = {
    {"max_cpu_percent", "max_cpu.csv", "Maximum CPU, % of all CPUs"},
    {"max_memory_mib", "max_memory.csv", "Maximum memory, MiB"},
    {"elapsed_s", "elapsed.csv", "Elapsed time, s"},
    {"throughput_rows_per_s", "throughput.csv", "Throughput, rows/s"},
};

static const struct {
    const char *name;
    const char *phrase;
} tables[] = {
    [SWEEP_TABLE_OWN] = {"own", "each run has a new database in its own folder"},
    [SWEEP_TABLE_NONE] = {"none", "the adapter keeps no rows"},
    [SWEEP_TABLE_MADE] = {"made", "made by the first run, dropped and made anew before each other"},
    [SWEEP_TABLE_RECREATED] = {"recreated", "dropped and made anew before each run"},
    [SWEEP_TABLE_KEPT] = {"kept", "kept: a run finds the rows of the runs before it"},
};

const char *sweep_table_phrase(enum sweep_table table)
{
    return tables[table].phrase;
}

const char *sweep_table_name(enum sweep_table table)
{
    return tables[table].name;
}

enum status sweep_init(struct sweep *sweep, const struct sweep_list *sessions,
                       const struct sweep_list *records, unsigned repeat, struct error *error)
{
    *sweep = (struct sweep){.sessions = *sessions, .records = *records, .repeat = repeat};
    const size_t cells = sessions->count * records->count;
    sweep->runs = calloc(cells * repeat, sizeof *sweep->runs);
    if (sweep->runs == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for %zu runs", cells * repeat);
        return STATUS_REJECTED;
    }
    sweep->run_count = cells * repeat;
    for (size_t i = 0; i < sweep->run_count; i++) {
        struct sweep_run *run = &sweep->runs[i];
        run->sessions = sessions->values[i % sessions->count];
        run->records = records->values[i / sessions->count % records->count];
        run->repeat = (unsigned)(i / cells) + 1;
        const int length = snprintf(run->name, sizeof run->name, "%" PRIu64 "x%" PRIu64,
                                    run->sessions, run->records);
        if (repeat > 1 && length > 0) {
            snprintf(run->name + length, sizeof run->name - (size_t)length, "-%u", run->repeat);
        }
    }
    return STATUS_OK;
}

void sweep_fini(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->run_count; i++) {
        csv_table_free(&sweep->runs[i].summary);
    }
    free(sweep->runs);
    sweep->runs = NULL;
    sweep->run_count = 0;
}

size_t sweep_count(const struct sweep *sweep, enum saved_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < sweep->run_count; i++) {
        count += sweep->runs[i].state == state ? 1 : 0;
    }
    return count;
}

uint64_t sweep_rows(const struct sweep *sweep)
{
    uint64_t rows = 0;
    for (size_t i = 0; i < sweep->run_count; i++) {
        rows += sweep->runs[i].records;
    }
    return rows;
}

const struct sweep_run *sweep_run_of(const struct sweep *sweep, size_t sessions, size_t records,
                                     unsigned repeat)
{
    return &sweep->runs[((repeat - 1) * sweep->records.count + records) * sweep->sessions.count +
                        sessions];
}

bool sweep_figure(const struct sweep *sweep, size_t sessions, size_t records, const char *column,
                  struct spread *figure)
{
    double values[SWEEP_LIST_MAX];
    size_t count = 0;
    for (unsigned repeat = 1; repeat <= sweep->repeat; repeat++) {
        const struct sweep_run *run = sweep_run_of(sweep, sessions, records, repeat);
        const struct csv_table *summary = &run->summary;
        if (run->state == SAVED_DONE &&
            csv_table_number(summary, 0, csv_table_column(summary, column), &values[count])) {
            count++;
        }
    }
    *figure = spread_of(values, count);
    return count > 0;
}

/* What weighs most comes first, as within a run: a defect, rows that are short, whose limit it was.
 */
static size_t rank(enum exit_code code)
{
    static const enum exit_code order[] = {
        EXIT_CODE_INTERNAL, EXIT_CODE_SHORT,   EXIT_CODE_CLIENT_LIMIT, EXIT_CODE_SERVER,
        EXIT_CODE_USAGE,    EXIT_CODE_INVALID, EXIT_CODE_EXPECTATION,
    };
    const size_t known = sizeof order / sizeof order[0];
    size_t place = 0;
    while (place < known && order[place] != code) {
        place++;
    }
    return place;
}

const struct sweep_run *sweep_worst(const struct sweep *sweep)
{
    const struct sweep_run *worst = NULL;
    for (size_t i = 0; i < sweep->run_count; i++) {
        const struct sweep_run *run = &sweep->runs[i];
        if (run->state != SAVED_PENDING && run->exit_code != EXIT_CODE_OK &&
            (worst == NULL || rank(run->exit_code) < rank(worst->exit_code))) {
            worst = run;
        }
    }
    return worst;
}
