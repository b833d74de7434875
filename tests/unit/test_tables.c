/* The tables of a report: the columns that people see are filled. */
#include "unit/unit.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "measure/levels.h"
#include "report/tables.h"

static struct figure_set set;
static const struct verification verification;

/* The tables that people see, and a record of each. */
static const struct {
    const struct report_table *table;
    const void *record;
} tables[] = {
    {&report_levels, &(const struct level){.sessions = 1}},
    {&report_hosts, &(const struct host_result){.name = "db"}},
    {&report_ranks, &(const struct rank_row){.number = 1}},
    {&report_transactions, &(const struct operation_row){.set = &set}},
    {&report_statements, &(const struct operation_row){.set = &set}},
    {&report_datasets, &(const struct dataset_row){"t", &verification}},
    {&report_invariants, &(const struct invariant_result){.claim = "sums are equal"}},
    {&report_findings, &(const struct finding){.name = "max_connections"}},
    {&report_expectations, &(const struct expectation){.is_met = true}},
};

static void fill(struct report_row *row, size_t i)
{
    static struct operation_list operations;
    operations = operation_list_all();
    set.operations.points = figure_points_default();
    *row = (struct report_row){.operations = &operations};
    tables[i].table->fill(row, tables[i].record);
}

/* Every column has a cell. A column without a cell would be empty on the page, and the text would
 * end there. */
TEST(test_columns_have_cells)
{
    static struct report_row row;
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        fill(&row, i);
        for (size_t k = 0; k < tables[i].table->column_count; k++) {
            const struct report_column *column = &tables[i].table->columns[k];
            bool is_there = false;
            for (size_t c = 0; c < row.count; c++) {
                const struct report_cell *cell = &row.cells[c];
                const char *member = cell->member == NULL ? cell->key : cell->member;
                const bool is_in_json = cell->place == IN_JSON || cell->place == IN_CSV_AND_JSON;
                is_there = is_there || strcmp(cell->key, column->key) == 0 ||
                           (column->text == NULL && is_in_json && cell->object == NULL &&
                            strcmp(member, column->key) == 0);
            }
            if (!is_there) {
                fail_msg("%s has no cell %s", tables[i].table->heading, column->key);
            }
        }
    }
}

/* The text finds a cell by its key, so the cells that it shows must have different keys. */
TEST(test_keys_differ)
{
    static struct report_row row;
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        fill(&row, i);
        for (size_t c = 0; c < row.count; c++) {
            const struct report_cell *cell = &row.cells[c];
            if (cell->object == NULL && report_row_find(&row, cell->key) != cell) {
                fail_msg("%s has two cells %s", tables[i].table->heading, cell->key);
            }
        }
    }
}

TEST(test_runs)
{
    const struct report_column all = {.key = "a", .page = {"a", AS_NUMBER}};
    const struct report_column with = {
        .key = "b", .page = {"b", AS_NUMBER}, .text = "b", .runs = WITH_SCRIPT};
    const struct report_column without = {.key = "c", .text = "c", .runs = WITHOUT_SCRIPT};
    assert_true(report_column_is_shown(&all, false, false));
    assert_true(report_column_is_shown(&all, false, true));
    assert_false(report_column_is_shown(&all, true, true));
    assert_true(report_column_is_shown(&with, true, true));
    assert_false(report_column_is_shown(&with, true, false));
    assert_false(report_column_is_shown(&without, true, true));
    assert_true(report_column_is_shown(&without, true, false));
    assert_false(report_column_is_shown(&without, false, false));
}

/* A value that a level lacks is shown as unknown, not as 0. An operation that a level lacks is
 * missing in the JSON. */
TEST(test_level)
{
    static struct report_row row;
    const struct level level = {.is_scripted = true,
                                .hold_ns = 1,
                                .rows = 7,
                                .append = {.count = 2, .p50_ns = 1500000},
                                .server_memory_bytes = -1};
    row = (struct report_row){.count = 0};
    report_levels.fill(&row, &level);
    assert_false(report_row_find(&row, "rows")->value.is_known);
    assert_int_equal(report_row_find(&row, "transactions")->value.count, 7);
    assert_false(report_row_find(&row, "append_p50_ms")->value.is_known);
    assert_int_equal(report_row_find(&row, "append_p50_ms")->place, IN_CSV);
    assert_true(report_row_find(&row, "transaction_p50_ms")->value.number == 1.5);
    assert_string_equal(report_row_find(&row, "transaction_p50_ms")->object, "transaction");
    assert_false(report_row_find(&row, "server_memory_mib")->value.is_known);
    assert_null(report_row_find(&row, "sessions_nowhere"));
}

/* Two tables of the report share one list in run.json. Each record of the list makes a row in only
 * one of the two tables. */
TEST(test_each_record_has_one_table)
{
    static const uint64_t counts[OPERATIONS + 2][OPERATION_COUNTS];
    static const struct script_metric trend = {.name = "t", .unit = "", .kind = SCRIPT_TREND};
    static const struct script_metric gauge = {.name = "g", .unit = "", .kind = SCRIPT_GAUGE};
    struct metric_sum sums[] = {{.metric = &trend}, {.metric = &gauge}};
    static struct result result;
    set = (struct figure_set){.operations = operation_list_all(), .counts = counts};
    operation_list_add(&set.operations, "move", OPERATION_IS_TRANSACTION);
    operation_list_add(&set.operations, "look", OPERATION_IS_READ);
    result.metrics = sums;
    result.metric_count = COUNT_OF(sums);
    const struct {
        const struct report_table *table;
        /* index of this table's record; the other record belongs to the other table */
        size_t record;
    } cases[] = {{&report_transactions, 0},
                 {&report_statements, 1},
                 {&report_trends, 0},
                 {&report_metrics, 1}};
    const struct report_source source = {.result = &result, .set = &set};
    EACH_CASE (i, cases, "%s", cases[i].table->heading) {
        const struct report_table *table = cases[i].table;
        union report_record room;
        for (size_t k = 0; k < 2; k++) {
            static struct report_row row;
            row = (struct report_row){.operations = &set.operations};
            table->fill(&row, table->record(&source, k, &room));
            assert_int_equal(report_row_is_of(&row, table), k == cases[i].record);
        }
        assert_null(table->record(&source, 2, &room));
    }
}
