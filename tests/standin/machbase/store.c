#include "store.h"

#include <stdlib.h>
#include <string.h>

#include "wire.h"

enum {
    CHUNK_BYTES = 256 * 1024,
    LENGTH_BYTES = 4,
};

void store_init(struct store *store)
{
    *store = (struct store){.tables_made = 0};
    pthread_mutex_init(&store->lock, NULL);
}

static void free_table(struct store_table *table)
{
    while (table->first != NULL) {
        struct store_chunk *next = table->first->next;
        free(table->first);
        table->first = next;
    }
    pthread_mutex_destroy(&table->lock);
    free(table->columns);
    free(table->keeps);
    free(table);
}

void store_fini(struct store *store)
{
    while (store->first != NULL) {
        struct store_table *next = store->first->next;
        free_table(store->first);
        store->first = next;
    }
    pthread_mutex_destroy(&store->lock);
}

struct store_table *store_make_table(const char *name, const struct row_column *columns,
                                     size_t column_count)
{
    struct store_table *table = calloc(1, sizeof *table);
    struct row_column *copy = calloc(column_count, sizeof *copy);
    bool *keeps = calloc(column_count, sizeof *keeps);
    if (table == NULL || copy == NULL || keeps == NULL) {
        free(table);
        free(copy);
        free(keeps);
        return NULL;
    }
    memcpy(copy, columns, column_count * sizeof *copy);
    memset(keeps, true, column_count * sizeof *keeps);
    memcpy(table->name, name, strnlen(name, sizeof table->name - 1));
    table->holders = 1;
    table->columns = copy;
    table->keeps = keeps;
    table->keeps_all = true;
    table->column_count = column_count;
    pthread_mutex_init(&table->lock, NULL);
    return table;
}

/* Under the store's lock. */
static struct store_table **find_link(struct store *store, const char *name)
{
    struct store_table **link = &store->first;
    while (*link != NULL && strcmp((*link)->name, name) != 0) {
        link = &(*link)->next;
    }
    return link;
}

bool store_add(struct store *store, struct store_table *table)
{
    pthread_mutex_lock(&store->lock);
    struct store_table **link = find_link(store, table->name);
    const bool is_new = *link == NULL;
    if (is_new) {
        table->id = ++store->tables_made;
        *link = table;
    }
    pthread_mutex_unlock(&store->lock);
    return is_new;
}

struct store_table *store_find(struct store *store, const char *name)
{
    pthread_mutex_lock(&store->lock);
    struct store_table *table = *find_link(store, name);
    if (table != NULL) {
        table->holders++;
    }
    pthread_mutex_unlock(&store->lock);
    return table;
}

void store_release(struct store *store, struct store_table *table)
{
    if (table == NULL) {
        return;
    }
    pthread_mutex_lock(&store->lock);
    const bool is_last = --table->holders == 0;
    pthread_mutex_unlock(&store->lock);
    if (is_last) {
        free_table(table);
    }
}

bool store_drop(struct store *store, const char *name)
{
    pthread_mutex_lock(&store->lock);
    struct store_table **link = find_link(store, name);
    struct store_table *table = *link;
    if (table != NULL) {
        *link = table->next;
    }
    pthread_mutex_unlock(&store->lock);
    store_release(store, table);
    return table != NULL;
}

/* Under the table's lock: the chunk that takes `length` bytes more. */
static struct store_chunk *make_room(struct store_table *table, size_t length)
{
    struct store_chunk *last = table->last;
    if (last != NULL && last->capacity - last->used >= length) {
        return last;
    }
    const size_t capacity = length > CHUNK_BYTES ? length : CHUNK_BYTES;
    struct store_chunk *chunk = malloc(sizeof *chunk + capacity);
    if (chunk == NULL) {
        return NULL;
    }
    *chunk = (struct store_chunk){.capacity = capacity};
    *(last != NULL ? &last->next : &table->first) = chunk;
    table->last = chunk;
    return chunk;
}

bool store_append(struct store_table *table, const struct buffer *rows, uint64_t count)
{
    if (count == 0) {
        return true;
    }
    pthread_mutex_lock(&table->lock);
    struct store_chunk *chunk = make_room(table, rows->length);
    if (chunk != NULL) {
        memcpy(chunk->bytes + chunk->used, rows->bytes, rows->length);
        chunk->used += rows->length;
        table->rows += count;
    }
    pthread_mutex_unlock(&table->lock);
    return chunk != NULL;
}

bool store_add_row(struct store_table *table, const struct row_value *values)
{
    static const uint8_t no_length[LENGTH_BYTES] = {0};
    struct buffer row;
    buffer_init(&row);
    buffer_add(&row, no_length, sizeof no_length);
    row_add(&row, values, table->column_count, table->keeps);
    const bool is_whole = !buffer_failed(&row);
    if (is_whole) {
        wire_put_le((uint8_t *)row.bytes, row.length - LENGTH_BYTES, LENGTH_BYTES);
    }
    const bool is_added = is_whole && store_append(table, &row, 1);
    buffer_fini(&row);
    return is_added;
}

uint64_t store_count(struct store_table *table)
{
    pthread_mutex_lock(&table->lock);
    const uint64_t rows = table->rows;
    pthread_mutex_unlock(&table->lock);
    return rows;
}

/* The bytes of the next row, which stay where they are as long as the table does. */
static const uint8_t *next_bytes(struct store_table *table, struct store_cursor *cursor,
                                 size_t *length)
{
    const uint8_t *bytes = NULL;
    pthread_mutex_lock(&table->lock);
    if (cursor->chunk == NULL) {
        cursor->chunk = table->first;
    }
    if (cursor->chunk != NULL && cursor->offset == cursor->chunk->used &&
        cursor->chunk->next != NULL) {
        cursor->chunk = cursor->chunk->next;
        cursor->offset = 0;
    }
    if (cursor->chunk != NULL && cursor->offset < cursor->chunk->used) {
        bytes = cursor->chunk->bytes + cursor->offset;
        *length = wire_get_u32(bytes);
        bytes += LENGTH_BYTES;
        cursor->offset += LENGTH_BYTES + *length;
    }
    pthread_mutex_unlock(&table->lock);
    return bytes;
}

bool store_next(struct store_table *table, struct store_cursor *cursor, struct row_value *values)
{
    size_t length = 0;
    const uint8_t *bytes = next_bytes(table, cursor, &length);
    struct row_reader reader;
    const char *why;
    if (bytes == NULL || !row_begin(&reader, bytes, length, table->column_count, &why)) {
        return false;
    }
    for (size_t c = 0; c < table->column_count; c++) {
        if (!row_take(&reader, &table->columns[c], &values[c], &why)) {
            return false;
        }
    }
    return true;
}
