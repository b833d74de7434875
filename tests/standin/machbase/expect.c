#include "expect.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "load/generator.h"
#include "plan/plan.h"

enum {
    COLUMNS = 10,
    SESSION_COLUMN = 1 + 2, /* n2 behind the arrival time */
    ROW_COLUMN = 1 + 3,
    FIRST_BYTES = 600,
};
#define SERIALS_MAX (UINT64_C(1) << 36)

/* syslog_table, as the generator sees it. */
static const struct {
    const char *name;
    enum column_type type;
    enum row_type sent_as;
    uint32_t size;
} layout[COLUMNS] = {
    {"TM", COLUMN_TIMESTAMP, ROW_DATETIME, 0}, {"N1", COLUMN_INT16, ROW_INT16, 0},
    {"N2", COLUMN_INT32, ROW_INT32, 0},        {"N3", COLUMN_INT64, ROW_INT64, 0},
    {"N4", COLUMN_FLOAT32, ROW_FLOAT, 0},      {"N5", COLUMN_FLOAT64, ROW_DOUBLE, 0},
    {"HOST", COLUMN_TEXT, ROW_VARCHAR, 128},   {"MSG", COLUMN_TEXT, ROW_VARCHAR, 512},
    {"IP4", COLUMN_IP4, ROW_IP4, 0},           {"IP6", COLUMN_IP6, ROW_IP6, 0},
};

struct expect {
    struct table table;
    struct generator *generator;
    unsigned sessions;

    pthread_mutex_t lock; /* guards the rest */
    uint64_t *seen;       /* a bit a row of the run, by its number in the whole run */
    uint64_t seen_words;
    uint64_t rows;
    uint64_t distinct;
    uint64_t duplicates;
    uint64_t foreign;
    uint64_t wrong;
    uint64_t wrong_columns[COLUMNS];
    char first[FIRST_BYTES];
};

static bool make_generator(struct expect *expect, uint64_t seed)
{
    const struct plan plan = {
        .batch_rows = 1,
        .sessions = expect->sessions,
        .seed = seed,
        .run_tag = (int16_t)(1 + random_mix(seed) % INT16_MAX),
        .data_mode = DATA_VARIED,
    };
    struct error error;
    error_clear(&error);
    if (table_init(&expect->table, "SYSLOG_TABLE", &error) != STATUS_OK) {
        return false;
    }
    for (size_t c = 0; c < COLUMNS; c++) {
        struct column column = {.type = layout[c].type, .size = layout[c].size};
        snprintf(column.name, sizeof column.name, "%s", layout[c].name);
        if (table_add_column(&expect->table, &column, &error) != STATUS_OK) {
            return false;
        }
    }
    return generator_create(&expect->generator, &plan, &expect->table, &error) == STATUS_OK;
}

struct expect *expect_create(uint64_t seed, unsigned sessions)
{
    struct expect *expect = calloc(1, sizeof *expect);
    if (expect == NULL) {
        return NULL;
    }
    expect->sessions = sessions;
    pthread_mutex_init(&expect->lock, NULL);
    if (!make_generator(expect, seed)) {
        expect_destroy(expect);
        return NULL;
    }
    return expect;
}

void expect_destroy(struct expect *expect)
{
    if (expect == NULL) {
        return;
    }
    generator_destroy(expect->generator);
    table_fini(&expect->table);
    pthread_mutex_destroy(&expect->lock);
    free(expect->seen);
    free(expect);
}

/* Numbers are the same when their bits are. */
static uint64_t bits_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static bool is_same(const struct row_value *value, const union column_values *made)
{
    if (value->is_null) {
        return false;
    }
    switch (value->type) {
    case ROW_DATETIME:
    case ROW_INT64:
        return value->integer == *made->int64;
    case ROW_INT16:
        return value->integer == *made->int16;
    case ROW_INT32:
        return value->integer == *made->int32;
    case ROW_FLOAT:
        return bits_of(value->number) == bits_of((double)*made->float32);
    case ROW_DOUBLE:
        return bits_of(value->number) == bits_of(*made->float64);
    case ROW_VARCHAR:
        return value->length == made->text->length &&
               memcmp(value->bytes, made->text->bytes, value->length) == 0;
    case ROW_IP4:
        return memcmp(value->bytes, *made->ip4, sizeof *made->ip4) == 0;
    case ROW_IP6:
        return memcmp(value->bytes, *made->ip6, sizeof *made->ip6) == 0;
    default:
        return false;
    }
}

/* Under the lock. */
static void note_wrong(struct expect *expect, const struct row_value *values, size_t column)
{
    expect->wrong_columns[column]++;
    if (expect->first[0] != '\0') {
        return;
    }
    struct buffer text;
    buffer_init(&text);
    row_add_text(&text, &values[1 + column]);
    snprintf(expect->first, sizeof expect->first,
             "session %" PRId64 " row %" PRId64 " column %s is \"%s\"%s",
             values[SESSION_COLUMN].integer, values[ROW_COLUMN].integer, layout[column].name,
             buffer_text(&text), values[1 + column].is_null ? " (NULL)" : "");
    for (char *c = expect->first; *c != '\0'; c++) {
        *c = (unsigned char)*c < ' ' ? '?' : *c;
    }
    buffer_fini(&text);
}

/* Under the lock: notes that a row of the run is here. */
static void note_serial(struct expect *expect, uint64_t serial)
{
    const uint64_t word = serial / 64;
    const uint64_t bit = UINT64_C(1) << serial % 64;
    if (word >= expect->seen_words) {
        const uint64_t words = word * 2 + 1024;
        uint64_t *seen = realloc(expect->seen, words * sizeof *seen);
        if (seen == NULL) {
            expect->foreign++;
            return;
        }
        memset(seen + expect->seen_words, 0, (words - expect->seen_words) * sizeof *seen);
        expect->seen = seen;
        expect->seen_words = words;
    }
    const bool is_first = (expect->seen[word] & bit) == 0;
    expect->seen[word] |= bit;
    expect->distinct += is_first ? 1 : 0;
    expect->duplicates += is_first ? 0 : 1;
}

/* Is it a table of this layout? */
static bool is_table(const struct store_table *table)
{
    bool is_same_layout = table->column_count == 1 + COLUMNS;
    for (size_t c = 0; c < COLUMNS && is_same_layout; c++) {
        is_same_layout = table->columns[1 + c].type == layout[c].sent_as &&
                         strcmp(table->columns[1 + c].name, layout[c].name) == 0;
    }
    return is_same_layout;
}

/* Which columns differ from what the generator makes. */
static bool find_wrong(const struct expect *expect, const struct row_value *values,
                       bool is_wrong[COLUMNS])
{
    struct row_buffer *made = generator_borrow(expect->generator);
    bool is_any = made == NULL;
    if (made == NULL) {
        return true;
    }
    generator_fill(expect->generator, made, (unsigned)values[SESSION_COLUMN].integer,
                   (uint64_t)values[ROW_COLUMN].integer, 1);
    for (size_t c = 0; c < COLUMNS; c++) {
        is_wrong[c] = !is_same(&values[1 + c], &made->columns[c].values);
        is_any = is_any || is_wrong[c];
    }
    generator_give_back(expect->generator, made);
    return is_any;
}

void expect_row(struct expect *expect, const struct store_table *table,
                const struct row_value *values)
{
    if (!is_table(table)) {
        return;
    }
    const struct row_value *session = &values[SESSION_COLUMN];
    const struct row_value *row = &values[ROW_COLUMN];
    const bool is_of_run = !session->is_null && !row->is_null && session->integer >= 0 &&
                           session->integer < (int64_t)expect->sessions && row->integer >= 0 &&
                           (uint64_t)row->integer < SERIALS_MAX / expect->sessions;
    bool is_wrong[COLUMNS] = {false};
    const bool is_any = is_of_run && find_wrong(expect, values, is_wrong);
    pthread_mutex_lock(&expect->lock);
    expect->rows++;
    if (is_of_run) {
        note_serial(expect, (uint64_t)row->integer * expect->sessions + (uint64_t)session->integer);
    } else {
        expect->foreign++;
    }
    expect->wrong += is_any ? 1 : 0;
    for (size_t c = 0; c < COLUMNS && is_any; c++) {
        if (is_wrong[c]) {
            note_wrong(expect, values, c);
        }
    }
    pthread_mutex_unlock(&expect->lock);
}

void expect_report(struct expect *expect, struct buffer *text)
{
    pthread_mutex_lock(&expect->lock);
    buffer_add_format(text,
                      "rows=%" PRIu64 "\ndistinct=%" PRIu64 "\nduplicates=%" PRIu64
                      "\nforeign=%" PRIu64 "\nwrong=%" PRIu64 "\n",
                      expect->rows, expect->distinct, expect->duplicates, expect->foreign,
                      expect->wrong);
    for (size_t c = 0; c < COLUMNS; c++) {
        buffer_add_format(text, "wrong.%s=%" PRIu64 "\n", layout[c].name, expect->wrong_columns[c]);
    }
    buffer_add_format(text, "first=%s\n", expect->first);
    pthread_mutex_unlock(&expect->lock);
}
