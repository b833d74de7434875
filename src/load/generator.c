#include "load/generator.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mono.h"
#include "base/random.h"
#include "load/generator_fill.h"

enum {
    ALIGNMENT = 16,
    BUFFERS_SOFT_LIMIT = 64,
    SESSIONS_PER_BUFFER = 64, /* where that is more */
};

/* How long a session waits for a buffer before one more is made: while buffers keep coming back,
 * and while they do not. Thousands of sessions that begin at the same moment would otherwise make
 * one each, for microseconds of use. */
#define BORROW_PATIENCE_NS MONO_NS_PER_S
#define STALL_PATIENCE_NS (10 * MONO_NS_PER_MS)

struct generator {
    const struct table *table;
    size_t buffer_rows;
    size_t buffer_bytes;
    uint64_t sessions;
    unsigned soft_limit; /* buffers that are made without waiting */
    uint64_t run_hash;
    int16_t run_tag;
    bool is_constant;
    struct text_source text;

    pthread_mutex_t lock; /* guards the next four */
    pthread_cond_t returned;
    struct row_buffer *free;
    unsigned made;
    unsigned waiting;
    uint64_t given_back; /* how often a buffer was */

    struct fill_column columns[]; /* table->column_count entries */
};

/* n1, n2 and n3 of a table shaped like syslog_table: 1, 2, 3; any other column: 0. Where the user
 * says the values of one of them, they tell no rows apart. */
static unsigned identity_of(const struct plan *plan, const struct table *table,
                            const struct column *column)
{
    struct column_item item;
    static const struct {
        const char *name;
        enum column_type type;
    } identities[] = {{"n1", COLUMN_INT16}, {"n2", COLUMN_INT32}, {"n3", COLUMN_INT64}};
    enum {
        COUNT = sizeof identities / sizeof identities[0]
    };
    unsigned found = 0;
    unsigned identity = 0;
    for (size_t c = 0; c < table->column_count; c++) {
        for (unsigned i = 0; i < COUNT; i++) {
            const struct column *candidate = &table->columns[c];
            if (strcasecmp(candidate->name, identities[i].name) != 0 ||
                candidate->type != identities[i].type ||
                column_item_of(plan->values, table, candidate, &item)) {
                continue;
            }
            found++;
            if (candidate == column) {
                identity = i + 1;
            }
        }
    }
    return found == COUNT ? identity : 0;
}

bool generator_identifies_rows(const struct plan *plan, const struct table *table)
{
    for (size_t c = 0; c < table->column_count; c++) {
        if (identity_of(plan, table, &table->columns[c]) > 0) {
            return true;
        }
    }
    return false;
}

static size_t align(size_t offset)
{
    return (offset + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static enum status choose_column(struct fill_column *fill, const struct plan *plan,
                                 const struct table *table, const struct column *column,
                                 struct error *error)
{
    struct column_item item;
    if (!column_item_of(plan->values, table, column, &item)) {
        const enum status status =
            fill_column_choose(fill, column, identity_of(plan, table, column));
        if (status != STATUS_OK) {
            error_set(
                error, ERROR_UNSUPPORTED, 0, NULL,
                "table '%.80s': column '%.80s' has type %s, for which append makes no values%s",
                table->name, column->name, column->type_name,
                column->is_nullable || column->has_default
                    ? ": leave it out with --skip-columns, or list some with --values"
                    : ": list some with --values");
        }
        return status;
    }
    const enum status status = fill_column_choose_values(fill, column, &item, error);
    if (status == STATUS_OK && fill->is_in_turn && fill->choice_count > 0 &&
        plan->records > fill->choice_count) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--values: column '%.100s' is unique and has %" PRIu64 " values for %" PRIu64
                  " rows",
                  column->name, fill->choice_count, plan->records);
        return STATUS_REJECTED;
    }
    return status;
}

/* Lays the value arrays and the text of all columns out in a row buffer. */
static enum status lay_out(struct generator *generator, const struct plan *plan,
                           struct error *error)
{
    const struct table *table = generator->table;
    const size_t rows = generator->buffer_rows;
    size_t offset =
        align(sizeof(struct row_buffer) + table->column_count * sizeof(struct column_data));
    for (size_t c = 0; c < table->column_count; c++) {
        struct fill_column *fill = &generator->columns[c];
        const struct column *column = &table->columns[c];
        const enum status status = choose_column(fill, plan, table, column, error);
        if (status != STATUS_OK) {
            return status;
        }
        fill->key = random_mix(plan->seed ^ random_mix(c + 1));
        fill->values_offset = offset;
        fill->text_offset = align(offset + rows * fill->value_bytes);
        offset = align(fill->text_offset + rows * fill->text_bytes);
    }
    generator->buffer_bytes = offset;
    return STATUS_OK;
}

/* And the generator with them. */
static void free_columns(struct generator *generator)
{
    for (size_t c = 0; c < generator->table->column_count; c++) {
        fill_column_fini(&generator->columns[c]);
    }
    free(generator);
}

enum status generator_create(struct generator **generator, const struct plan *plan,
                             const struct table *table, struct error *error)
{
    struct generator *g = calloc(1, sizeof *g + table->column_count * sizeof(struct fill_column));
    if (g == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the row generator");
        return STATUS_FATAL;
    }
    g->table = table;
    g->buffer_rows = plan->batch_rows < ROW_BATCH_MAX ? (size_t)plan->batch_rows : ROW_BATCH_MAX;
    g->sessions = plan->sessions;
    g->soft_limit = plan->sessions / SESSIONS_PER_BUFFER;
    if (g->soft_limit < BUFFERS_SOFT_LIMIT) {
        g->soft_limit = BUFFERS_SOFT_LIMIT;
    }
    g->run_hash = random_mix(~plan->seed);
    g->run_tag = plan->run_tag;
    g->is_constant = plan->data_mode == DATA_CONSTANT;
    text_source_init(&g->text);
    const enum status status = lay_out(g, plan, error);
    if (status != STATUS_OK) {
        free_columns(g);
        return status;
    }
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->returned, &monotonic);
    pthread_condattr_destroy(&monotonic);
    *generator = g;
    return STATUS_OK;
}

void generator_destroy(struct generator *generator)
{
    if (generator == NULL) {
        return;
    }
    while (generator->free != NULL) {
        struct row_buffer *next = generator->free->next;
        free(generator->free);
        generator->free = next;
    }
    pthread_cond_destroy(&generator->returned);
    pthread_mutex_destroy(&generator->lock);
    free_columns(generator);
}

size_t generator_buffer_rows(const struct generator *generator)
{
    return generator->buffer_rows;
}

/* Under the lock. */
static void wait_for_free(struct generator *generator)
{
    const int64_t end_ns = mono_now_ns() + BORROW_PATIENCE_NS;
    uint64_t seen = 0;
    generator->waiting++;
    do {
        const struct timespec limit = mono_timespec(mono_now_ns() + STALL_PATIENCE_NS);
        int rc = 0;
        seen = generator->given_back;
        while (generator->free == NULL && rc == 0) {
            rc = pthread_cond_timedwait(&generator->returned, &generator->lock, &limit);
        }
    } while (generator->free == NULL && generator->given_back != seen && mono_now_ns() < end_ns);
    generator->waiting--;
}

/* A buffer from the pool, or NULL when the caller is to make one. */
static struct row_buffer *take_free(struct generator *generator)
{
    pthread_mutex_lock(&generator->lock);
    if (generator->free == NULL && generator->made >= generator->soft_limit) {
        wait_for_free(generator);
    }
    struct row_buffer *buffer = generator->free;
    if (buffer != NULL) {
        generator->free = buffer->next;
    } else {
        generator->made++;
    }
    pthread_mutex_unlock(&generator->lock);
    return buffer;
}

static struct row_buffer *make_buffer(struct generator *generator)
{
    struct row_buffer *buffer = malloc(generator->buffer_bytes);
    if (buffer == NULL) {
        pthread_mutex_lock(&generator->lock);
        generator->made--;
        pthread_mutex_unlock(&generator->lock);
        return NULL;
    }
    buffer->batch.table = generator->table;
    buffer->batch.columns = buffer->columns;
    for (size_t c = 0; c < generator->table->column_count; c++) {
        const struct fill_column *fill = &generator->columns[c];
        buffer->columns[c] = (struct column_data){
            .values.any = (const char *)buffer + fill->values_offset, .is_null = NULL};
    }
    return buffer;
}

struct row_buffer *generator_borrow(struct generator *generator)
{
    struct row_buffer *buffer = take_free(generator);
    return buffer != NULL ? buffer : make_buffer(generator);
}

void generator_give_back(struct generator *generator, struct row_buffer *buffer)
{
    pthread_mutex_lock(&generator->lock);
    buffer->next = generator->free;
    generator->free = buffer;
    generator->given_back++;
    if (generator->waiting > 0) {
        pthread_cond_signal(&generator->returned);
    }
    pthread_mutex_unlock(&generator->lock);
}

void generator_fill(const struct generator *generator, struct row_buffer *buffer, unsigned session,
                    uint64_t first_row, size_t count)
{
    const struct fill_rows rows = {
        .text = &generator->text,
        .first_row = first_row,
        .step = 1,
        .count = count,
        .session = session,
        .sessions = generator->sessions,
        .run_hash = generator->run_hash,
        .run_tag = generator->run_tag,
    };
    struct fill_rows same = rows;
    same.first_row = 0;
    same.session = 0;
    same.step = 0;
    for (size_t c = 0; c < generator->table->column_count; c++) {
        const struct fill_column *fill = &generator->columns[c];
        const bool is_same = generator->is_constant && !fill->is_identity;
        fill->fill(fill, is_same ? &same : &rows, (char *)buffer + fill->values_offset,
                   (char *)buffer + fill->text_offset);
    }
    buffer->batch.row_count = count;
}

double generator_row_bytes(struct generator *generator)
{
    struct row_buffer *buffer = generator_borrow(generator);
    if (buffer == NULL) {
        return 0;
    }
    const size_t rows = generator->buffer_rows;
    uint64_t bytes = 0;
    generator_fill(generator, buffer, 0, 0, rows);
    for (size_t c = 0; c < generator->table->column_count; c++) {
        const struct fill_column *fill = &generator->columns[c];
        const enum column_type type = generator->table->columns[c].type;
        const bool is_text = type == COLUMN_TEXT || type == COLUMN_BYTES || type == COLUMN_JSON;
        bytes += is_text ? 0 : rows * fill->value_bytes;
        for (size_t row = 0; row < rows && is_text; row++) {
            bytes += buffer->columns[c].values.text[row].length;
        }
    }
    generator_give_back(generator, buffer);
    return (double)bytes / (double)rows;
}
