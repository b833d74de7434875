#include "certify/rows.h"

#include <stdio.h>
#include <string.h>

#include "base/random.h"

/* The four kinds are equally frequent: kind 0 is a single row, kinds 1 and 2 are batches, and kind
 * 3 writes to both tables, or is a batch if the database has no transactions. */
enum {
    KINDS = 4
};

const char *const rows_table_names[ROWS_TABLES] = {"append_certify", "append_certify_2"};

static const struct column columns[ROWS_COLUMNS] = {
    [ROWS_SESSION] = {.name = "session_number", .type = COLUMN_INT32},
    [ROWS_NUMBER] = {.name = "transaction_number", .type = COLUMN_INT64},
    [ROWS_PLACE] = {.name = "place", .type = COLUMN_INT32},
    [ROWS_SIZE] = {.name = "row_count", .type = COLUMN_INT32},
    [ROWS_TEXT] = {.name = "content", .type = COLUMN_TEXT, .size = ROWS_TEXT_MAX},
    [ROWS_CHECKSUM] = {.name = "checksum", .type = COLUMN_INT64},
};

static uint64_t mix(uint64_t seed, uint64_t value)
{
    return random_mix(seed ^ random_mix(value));
}

static uint64_t mix_id(uint64_t seed, const struct rows_id *id)
{
    const uint64_t table_and_session = (uint64_t)id->table << 32 | id->session;
    const uint64_t place_and_size = (uint64_t)id->place << 32 | id->size;
    return mix(mix(mix(seed, table_and_session), id->number), place_and_size);
}

void rows_sizes(uint64_t seed, unsigned session, uint64_t number, bool has_transactions,
                unsigned sizes[ROWS_TABLES])
{
    const uint64_t drawn = mix(mix(seed, session), number);
    const unsigned kind = (unsigned)(drawn % KINDS);
    const uint64_t first = drawn >> 8 & 0xffffff, second = drawn >> 32;
    sizes[0] = 1;
    sizes[1] = 0;
    if (kind == KINDS - 1 && has_transactions) {
        sizes[0] = (unsigned)(1 + first % ROWS_SECOND_MAX);
        sizes[1] = (unsigned)(1 + second % ROWS_SECOND_MAX);
    } else if (kind > 0) {
        sizes[0] = (unsigned)(2 + first % (ROWS_FIRST_MAX - 1));
    }
}

unsigned rows_text(uint64_t seed, const struct rows_id *id, char text[ROWS_TEXT_MAX])
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+";
    uint64_t drawn = mix_id(seed, id);
    const unsigned length = (unsigned)(drawn % (ROWS_TEXT_MAX + 1));
    for (unsigned i = 0; i < length; i++) {
        if (i % 10 == 0) { /* one random number is enough for ten letters of 6 bits */
            drawn = random_mix(drawn);
        }
        text[i] = letters[drawn & 63];
        drawn >>= 6;
    }
    return length;
}

int64_t rows_checksum(uint64_t seed, const struct rows_id *id, const char *text, unsigned length)
{
    uint64_t sum = mix(mix_id(seed, id), length);
    for (unsigned i = 0; i < length; i += sizeof sum) {
        uint64_t word = 0;
        memcpy(&word, text + i, length - i < sizeof word ? length - i : sizeof word);
        sum = mix(sum, word);
    }
    return (int64_t)sum;
}

enum status rows_describe(struct table *table, unsigned number, struct error *error)
{
    enum status status = table_init(table, rows_table_names[number], error);
    for (size_t i = 0; i < ROWS_COLUMNS && status == STATUS_OK; i++) {
        status = table_add_column(table, &columns[i], error);
    }
    return status;
}

void rows_make(struct rows_batch *rows, const struct table *table, uint64_t seed,
               const struct rows_id *id)
{
    rows->batch = (struct batch){.table = table, .row_count = id->size, .columns = rows->columns};
    rows->columns[ROWS_SESSION].values.int32 = rows->sessions;
    rows->columns[ROWS_NUMBER].values.int64 = rows->numbers;
    rows->columns[ROWS_PLACE].values.int32 = rows->places;
    rows->columns[ROWS_SIZE].values.int32 = rows->sizes;
    rows->columns[ROWS_TEXT].values.text = rows->texts;
    rows->columns[ROWS_CHECKSUM].values.int64 = rows->checksums;
    for (unsigned i = 0; i < id->size; i++) {
        struct rows_id row = *id;
        row.place = i;
        rows->sessions[i] = (int32_t)row.session;
        rows->numbers[i] = (int64_t)row.number;
        rows->places[i] = (int32_t)i;
        rows->sizes[i] = (int32_t)row.size;
        const unsigned length = rows_text(seed, &row, rows->bytes[i]);
        rows->texts[i] = (struct text_value){rows->bytes[i], length};
        rows->checksums[i] = rows_checksum(seed, &row, rows->bytes[i], length);
    }
}
