#include "report/csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/plan.h"
#include "ranks/merge.h"
#include "report/figures.h"

enum {
    DIGITS_MAX = 20 /* digits of the largest number */
};

void csv_begin(struct csv *csv, FILE *stream, bool is_header)
{
    *csv = (struct csv){.stream = stream, .is_header = is_header};
}

/* Returns whether a spreadsheet could read a cell as a formula. Text from a server or user may
 * begin like a formula. A number such as -1 is not a formula. */
static bool is_formula(const char *cell)
{
    char *end;
    strtod(cell, &end);
    return cell[0] != '\0' && strchr("=+-@\t\r", cell[0]) != NULL && (end == cell || *end != '\0');
}

void csv_text(struct csv *csv, const char *column, const char *text)
{
    const char *value = text == NULL ? "" : text;
    const char *cell = csv->is_header ? column : value;
    const bool is_guarded = is_formula(cell);
    if (csv->is_begun) {
        fputc(',', csv->stream);
    }
    csv->is_begun = true;
    text_write_cell(csv->stream, is_guarded ? "'" : "", cell);
}

void csv_count(struct csv *csv, const char *column, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    csv_text(csv, column, text);
}

void csv_decimal(struct csv *csv, const char *column, double value, int decimals)
{
    char text[FIGURE_TEXT_BYTES];
    snprintf(text, sizeof text, "%.*f", decimals, value);
    csv_text(csv, column, isfinite(value) ? text : NULL);
}

void csv_end(struct csv *csv)
{
    fputs("\r\n", csv->stream);
}

static void put_value(struct csv *csv, const char *column, enum figure_unit unit,
                      const struct figure_value *value)
{
    char text[FIGURE_TEXT_BYTES];
    csv_text(csv, column, figure_format(unit, value, text));
}

void csv_write_summary(FILE *stream, const struct figure_set *set)
{
    for (int line = 0; line < 2; line++) {
        struct csv csv;
        struct figure_cell cell;
        csv_begin(&csv, stream, line == 0);
        for (size_t at = 0; figure_next_cell(set, &at, &cell);) {
            put_value(&csv, cell.key, cell.unit, &cell.value);
        }
        csv_end(&csv);
    }
}

/* Writes the cells of a record as a line. If `record` is NULL, writes the names of the columns. */
static void write_row(FILE *stream, const struct report_table *table,
                      const struct operation_list *operations, const void *record)
{
    static const union {
        union report_record room;
#define X(id, name, table, type, ...) type of_##id;
        CSV_TABLE
#undef X
    } nothing;
    struct report_row row = {.operations = operations};
    struct csv csv;
    csv_begin(&csv, stream, record == NULL);
    table->fill(&row, record == NULL ? &nothing : record);
    for (size_t i = 0; i < row.count; i++) {
        const struct report_cell *cell = &row.cells[i];
        if (cell->place == IN_CSV || cell->place == IN_CSV_AND_JSON) {
            put_value(&csv, cell->key, cell->unit, &cell->value);
        }
    }
    csv_end(&csv);
}

const struct report_table *const csv_tables[CSV_FILES] = {
#define X(id, name, table, ...) [CSV_##id] = &(table),
    CSV_TABLE
#undef X
};

void csv_write(FILE *stream, enum csv_file file, const struct operation_list *operations,
               const void *record)
{
    write_row(stream, csv_tables[file], operations, record);
}

void csv_write_table(FILE *stream, const struct report_table *table,
                     const struct operation_list *operations, const struct report_source *source)
{
    union report_record room;
    const void *record;
    write_row(stream, table, operations, NULL);
    for (size_t i = 0; (record = table->record(source, i, &room)) != NULL; i++) {
        write_row(stream, table, operations, record);
    }
}

/* Writes the digits of a number and a comma. Returns a pointer to the byte after the comma. */
static char *put_digits(char *at, uint64_t number)
{
    char digits[DIGITS_MAX];
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    memcpy(at, digits + first, sizeof digits - first);
    at += sizeof digits - first;
    *at = ',';
    return at + 1;
}

/* Writes a time in ns and a comma. Writes only the comma if the time is negative, which means
 * unknown. Returns a pointer to the byte after the comma. */
static char *put_ns(char *at, int64_t ns)
{
    if (ns >= 0) {
        return put_digits(at, (uint64_t)ns);
    }
    *at = ',';
    return at + 1;
}

void csv_write_logged(FILE *stream, const struct transaction_log_row *row)
{
    char numbers[3 * (DIGITS_MAX + 1)];
    char *end = put_digits(put_digits(put_ns(numbers, row->end_ns), row->session), row->turn);
    fwrite(numbers, 1, (size_t)(end - numbers), stream);
    struct csv texts = {.stream = stream};
    csv_text(&texts, NULL, row->transaction);
    csv_text(&texts, NULL, row->outcome);
    numbers[0] = ',';
    end = put_digits(numbers + 1, row->tries);
    end = put_ns(put_ns(end, row->latency_ns), row->response_ns);
    end[-1] = '\r';
    end[0] = '\n';
    fwrite(numbers, 1, (size_t)(end + 1 - numbers), stream);
}

void hgrm_write(FILE *stream, const struct histogram *histogram)
{
    enum {
        SUB_BUCKETS = 128,
        /* in HdrHistogram a bucket has SUB_BUCKETS / 2 entries, and the first bucket has
         * SUB_BUCKETS entries */
        BUCKETS = HISTOGRAM_BUCKETS / (SUB_BUCKETS / 2) - 1
    };
    const double total = (double)histogram->total, mean = histogram_mean_ns(histogram);
    double level = 0, squares = 0;
    uint64_t seen = 0;
    fprintf(stream, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
            "1/(1-Percentile)");
    /* the last step of this loop is for the values above all buckets */
    for (size_t place = 0; place <= HISTOGRAM_BUCKETS; place++) {
        const bool is_over = place == HISTOGRAM_BUCKETS;
        const uint64_t count = is_over ? histogram->overflow : histogram->counts[place];
        const int64_t high = is_over ? histogram->max_ns : histogram_bucket_high_ns(place);
        const int64_t low = is_over ? histogram->max_ns : histogram_bucket_low_ns(place);
        const double distance = ((double)low + (double)high) / 2 - mean;
        squares += distance * distance * (double)count;
        seen += count;
        while (count > 0 && level < 100.0 && level <= 100.0 * (double)seen / total) {
            fprintf(stream, "%12.6f %2.12f %10" PRIu64 " %14.2f\n",
                    figures_ms(high < histogram->max_ns ? high : histogram->max_ns), level / 100.0,
                    seen, 1 / (1 - level / 100.0));
            const double halvings = floor(log2(100.0 / (100.0 - level))) + 1;
            level += 100.0 / (HGRM_TICKS * exp2(halvings));
            if (seen >= histogram->total) {
                break;
            }
        }
    }
    const double max = figures_ms(histogram->max_ns);
    if (histogram->total > 0) {
        fprintf(stream, "%12.6f %2.12f %10" PRIu64 "\n", max, 1.0, histogram->total);
    }
    fprintf(stream, "#[Mean    = %12.6f, StdDeviation   = %12.6f]\n", mean / 1e6,
            histogram->total > 0 ? sqrt(squares / total) / 1e6 : 0);
    fprintf(stream, "#[Max     = %12.6f, Total count    = %12" PRIu64 "]\n", max, histogram->total);
    fprintf(stream, "#[Buckets = %12d, SubBuckets     = %12d]\n", BUCKETS, SUB_BUCKETS);
}
