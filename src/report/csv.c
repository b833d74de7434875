#include "report/csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void csv_begin(struct csv *csv, FILE *stream, bool is_header)
{
    *csv = (struct csv){.stream = stream, .is_header = is_header};
}

void csv_visit(struct csv *csv, csv_visitor *visitor, void *context)
{
    *csv = (struct csv){.visitor = visitor, .context = context};
}

static void put_cell(struct csv *csv, const char *text)
{
    if (csv->is_begun) {
        fputc(',', csv->stream);
    }
    csv->is_begun = true;
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, csv->stream);
        return;
    }
    fputc('"', csv->stream);
    for (const char *byte = text; *byte != '\0'; byte++) {
        if (*byte == '"') {
            fputc('"', csv->stream);
        }
        fputc(*byte, csv->stream);
    }
    fputc('"', csv->stream);
}

void csv_text(struct csv *csv, const char *column, const char *text)
{
    if (csv->visitor != NULL) {
        return;
    }
    if (csv->is_header) {
        put_cell(csv, column);
    } else {
        put_cell(csv, text == NULL ? "" : text);
    }
}

/* "" is a number that is not known. */
static void put_number(struct csv *csv, const char *column, const char *text)
{
    if (csv->visitor == NULL) {
        csv_text(csv, column, text);
    } else {
        csv->visitor(csv->context, column, text[0] != '\0', strtod(text, NULL));
    }
}

void csv_count(struct csv *csv, const char *column, uint64_t value)
{
    csv_count_if(csv, column, true, value);
}

void csv_decimal(struct csv *csv, const char *column, double value, int decimals)
{
    /* The largest double has 309 digits before the point. */
    char text[352] = "";
    if (isfinite(value)) {
        snprintf(text, sizeof text, "%.*f", decimals, value);
    }
    put_number(csv, column, text);
}

void csv_word(struct csv *csv, const char *column, const char *word, int number)
{
    csv_text(csv, column, word);
    if (csv->visitor != NULL) {
        csv->visitor(csv->context, column, true, number);
    }
}

void csv_empty(struct csv *csv, const char *column)
{
    csv_text(csv, column, NULL);
}

void csv_count_if(struct csv *csv, const char *column, bool is_known, uint64_t value)
{
    char text[24] = "";
    if (is_known) {
        snprintf(text, sizeof text, "%" PRIu64, value);
    }
    put_number(csv, column, text);
}

void csv_decimal_if(struct csv *csv, const char *column, bool is_known, double value, int decimals)
{
    csv_decimal(csv, column, is_known ? value : (double)NAN, decimals);
}

void csv_end(struct csv *csv)
{
    fputs("\r\n", csv->stream);
}
