#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "unit/unit.h"

#include "load/generator.h"
#include "plan/facts.h"
#include "unit/usage.h"

enum {
    ROWS = 100
};

static const struct column syslog_columns[] = {
    {.name = "tm", .type = COLUMN_TIMESTAMP},
    {.name = "n1", .type = COLUMN_INT16},
    {.name = "n2", .type = COLUMN_INT32},
    {.name = "n3", .type = COLUMN_INT64},
    {.name = "n4", .type = COLUMN_FLOAT32},
    {.name = "n5", .type = COLUMN_FLOAT64},
    {.name = "host", .type = COLUMN_TEXT, .size = 128},
    {.name = "msg", .type = COLUMN_TEXT, .size = 512},
    {.name = "ip4", .type = COLUMN_IP4},
    {.name = "ip6", .type = COLUMN_IP6},
};
enum {
    TM,
    N1,
    N2,
    N3,
    N4,
    N5,
    HOST,
    MSG,
    IP4,
    IP6,
    SYSLOG_COLUMNS
};

static void make_table(struct table *table, const struct column *columns, size_t count)
{
    assert_int_equal(table_init(table, "t", NULL), STATUS_OK);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(table_add_column(table, &columns[i], NULL), STATUS_OK);
    }
}

static struct plan make_plan(uint64_t seed)
{
    static struct facts facts[10];
    facts[seed] = (struct facts){.seed = seed, .run_tag = 77};
    return (struct plan){.facts = &facts[seed], .sessions = 10, .batch_rows = ROWS};
}

static struct generator *make_generator(const struct plan *plan, const struct table *table)
{
    struct generator *generator = NULL;
    assert_int_equal(generator_create(&generator, plan, table, NULL), STATUS_OK);
    return generator;
}

static void assert_same_text(struct text_value a, struct text_value b)
{
    assert_int_equal(a.length, b.length);
    assert_memory_equal(a.bytes, b.bytes, a.length);
}

TEST(test_identity_columns)
{
    struct table table;
    make_table(&table, syslog_columns, SYSLOG_COLUMNS);
    const struct plan plan = make_plan(1);
    struct generator *generator = make_generator(&plan, &table);
    struct row_buffer *buffer = generator_borrow(generator);
    generator_fill(generator, buffer, 7, 4200, ROWS);
    assert_int_equal(buffer->batch.row_count, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(buffer->batch.columns[N1].values.int16[i], 77);
        assert_int_equal(buffer->batch.columns[N2].values.int32[i], 7);
        assert_int_equal(buffer->batch.columns[N3].values.int64[i], 4200 + i);
    }
    generator_give_back(generator, buffer);
    generator_destroy(generator);
    table_fini(&table);
}

/* Rows do not depend on the batches that they are in, nor on the buffer. */
TEST(test_rows_are_a_function_of_their_number)
{
    struct table table;
    make_table(&table, syslog_columns, SYSLOG_COLUMNS);
    const struct plan plan = make_plan(1);
    struct generator *generator = make_generator(&plan, &table);
    struct row_buffer *a = generator_borrow(generator);
    struct row_buffer *b = generator_borrow(generator);
    assert_ptr_not_equal(a, b);
    generator_fill(generator, a, 3, 1000, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        generator_fill(generator, b, 3, 1000 + i, 1);
        const struct column_data *x = a->batch.columns, *y = b->batch.columns;
        assert_int_equal(x[TM].values.int64[i], y[TM].values.int64[0]);
        assert_true(x[N4].values.float32[i] == y[N4].values.float32[0]);
        assert_true(x[N5].values.float64[i] == y[N5].values.float64[0]);
        assert_same_text(x[HOST].values.text[i], y[HOST].values.text[0]);
        assert_same_text(x[MSG].values.text[i], y[MSG].values.text[0]);
        assert_memory_equal(x[IP4].values.ip4[i], y[IP4].values.ip4[0], 4);
        assert_memory_equal(x[IP6].values.ip6[i], y[IP6].values.ip6[0], 16);
    }
    generator_give_back(generator, a);
    generator_give_back(generator, b);
    struct row_buffer *again = generator_borrow(generator);
    assert_true(again == a || again == b);
    generator_give_back(generator, again);
    generator_destroy(generator);
    table_fini(&table);
}

TEST(test_seed_changes_rows)
{
    struct table table;
    make_table(&table, syslog_columns, SYSLOG_COLUMNS);
    const struct plan plans[] = {make_plan(1), make_plan(2)};
    double first[2];
    for (size_t i = 0; i < 2; i++) {
        struct generator *generator = make_generator(&plans[i], &table);
        struct row_buffer *buffer = generator_borrow(generator);
        generator_fill(generator, buffer, 0, 0, 1);
        first[i] = buffer->batch.columns[N5].values.float64[0];
        generator_give_back(generator, buffer);
        generator_destroy(generator);
    }
    assert_true(first[0] != first[1]);
    table_fini(&table);
}

static int compare_text(const void *a, const void *b)
{
    const struct text_value *x = a, *y = b;
    const uint32_t least = x->length < y->length ? x->length : y->length;
    const int order = memcmp(x->bytes, y->bytes, least);
    return order != 0 ? order : (x->length > y->length) - (x->length < y->length);
}

TEST(test_messages_vary_and_are_printable)
{
    struct table table;
    make_table(&table, syslog_columns, SYSLOG_COLUMNS);
    const struct plan plan = make_plan(9);
    struct generator *generator = make_generator(&plan, &table);
    struct row_buffer *buffer = generator_borrow(generator);
    generator_fill(generator, buffer, 0, 0, ROWS);
    struct text_value sorted[ROWS];
    memcpy(sorted, buffer->batch.columns[MSG].values.text, sizeof sorted);
    qsort(sorted, ROWS, sizeof sorted[0], compare_text);
    for (size_t i = 0; i < ROWS; i++) {
        assert_in_range(sorted[i].length, 40, 127);
        for (uint32_t c = 0; c < sorted[i].length; c++) {
            assert_true(isprint((unsigned char)sorted[i].bytes[c]) && sorted[i].bytes[c] != '#');
        }
        assert_true(i == 0 || compare_text(&sorted[i - 1], &sorted[i]) != 0);
    }
    generator_give_back(generator, buffer);
    generator_destroy(generator);
    table_fini(&table);
}

TEST(test_constant_data)
{
    struct table table;
    make_table(&table, syslog_columns, SYSLOG_COLUMNS);
    struct plan plan = make_plan(1);
    plan.data_mode = DATA_CONSTANT;
    struct generator *generator = make_generator(&plan, &table);
    struct row_buffer *buffer = generator_borrow(generator);
    generator_fill(generator, buffer, 5, 300, ROWS);
    const struct column_data *columns = buffer->batch.columns;
    for (size_t i = 1; i < ROWS; i++) {
        assert_int_equal(columns[TM].values.int64[i], columns[TM].values.int64[0]);
        assert_int_equal(columns[N2].values.int32[i], 5);
        assert_int_equal(columns[N3].values.int64[i], 300 + i);
        assert_same_text(columns[MSG].values.text[i], columns[MSG].values.text[0]);
        assert_memory_equal(columns[IP6].values.ip6[i], columns[IP6].values.ip6[0], 16);
    }
    generator_give_back(generator, buffer);
    generator_destroy(generator);
    table_fini(&table);
}

static int compare_int64(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

TEST(test_unique_columns_differ_in_the_run)
{
    enum {
        SESSIONS = 10,
        ID = 0,
        CODE = 1
    };
    static const struct column columns[] = {
        {.name = "id", .type = COLUMN_INT64, .is_unique = true},
        {.name = "code", .type = COLUMN_TEXT, .size = 8, .is_unique = true},
    };
    struct table table;
    make_table(&table, columns, 2);
    const struct plan plan = make_plan(3);
    struct generator *generator = make_generator(&plan, &table);
    struct row_buffer *buffers[SESSIONS];
    int64_t ids[SESSIONS * ROWS];
    struct text_value codes[SESSIONS * ROWS];
    for (unsigned s = 0; s < SESSIONS; s++) {
        buffers[s] = generator_borrow(generator);
        generator_fill(generator, buffers[s], s, 0, ROWS);
        memcpy(ids + s * ROWS, buffers[s]->batch.columns[ID].values.int64, ROWS * sizeof ids[0]);
        memcpy(codes + s * ROWS, buffers[s]->batch.columns[CODE].values.text,
               ROWS * sizeof codes[0]);
    }
    qsort(ids, SESSIONS * ROWS, sizeof ids[0], compare_int64);
    qsort(codes, SESSIONS * ROWS, sizeof codes[0], compare_text);
    for (size_t i = 1; i < SESSIONS * ROWS; i++) {
        assert_true(ids[i - 1] < ids[i]);
        assert_int_equal(codes[i].length, 8);
        assert_true(compare_text(&codes[i - 1], &codes[i]) != 0);
    }
    for (unsigned s = 0; s < SESSIONS; s++) {
        generator_give_back(generator, buffers[s]);
    }
    generator_destroy(generator);
    table_fini(&table);
}

TEST(test_sizes_and_precisions_are_kept)
{
    static const uint32_t sizes[] = {1, 5, 16, 31, 32, 63, 64, 100, 512};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const struct column columns[] = {
            {.name = "t", .type = COLUMN_TEXT, .size = sizes[s]},
            {.name = "b", .type = COLUMN_BYTES, .size = sizes[s]},
            {.name = "u", .type = COLUMN_TEXT, .size = sizes[s], .is_unique = true},
            {.name = "d", .type = COLUMN_DECIMAL, .precision = 3, .scale = 1},
        };
        struct table table;
        make_table(&table, columns, 4);
        const struct plan plan = make_plan(3);
        struct generator *generator = make_generator(&plan, &table);
        struct row_buffer *buffer = generator_borrow(generator);
        generator_fill(generator, buffer, 1, 12345, ROWS);
        for (size_t i = 0; i < ROWS; i++) {
            for (size_t c = 0; c < 3; c++) {
                assert_in_range(buffer->batch.columns[c].values.text[i].length, 1, sizes[s]);
            }
            assert_in_range(buffer->batch.columns[3].values.int64[i], 0, 999);
        }
        generator_give_back(generator, buffer);
        generator_destroy(generator);
        table_fini(&table);
    }
}

TEST(test_every_type_has_values_and_the_rest_is_named)
{
    const struct plan plan = make_plan(3);
    for (int type = COLUMN_BOOL; type < COLUMN_TYPE_COUNT; type++) {
        for (int unique = 0; unique < 2; unique++) {
            const struct column column = {
                .name = "c", .type = (enum column_type)type, .is_unique = unique != 0};
            struct table table;
            make_table(&table, &column, 1);
            struct generator *generator = make_generator(&plan, &table);
            struct row_buffer *buffer = generator_borrow(generator);
            generator_fill(generator, buffer, 0, 0, ROWS);
            generator_give_back(generator, buffer);
            generator_destroy(generator);
            table_fini(&table);
        }
    }
    const struct column column = {.name = "where", .type_name = "point"};
    struct table table;
    make_table(&table, &column, 1);
    struct generator *generator = NULL;
    struct error error;
    error_clear(&error);
    assert_int_equal(generator_create(&generator, &plan, &table, &error), STATUS_REJECTED);
    assert_non_null(strstr(error.text, "'where'"));
    assert_non_null(strstr(error.text, "point"));
    assert_non_null(strstr(error.text, "--values"));
    table_fini(&table);
}

/* One row of each type, from ranges and lists, with decimals, dates and addresses in the form that
 * adapters receive. */
TEST(test_values_have_the_type_of_their_column)
{
    static const struct column columns[] = {
        {.name = "small", .type = COLUMN_INT16},
        {.name = "big", .type = COLUMN_INT64},
        {.name = "flag", .type = COLUMN_BOOL},
        {.name = "real", .type = COLUMN_FLOAT64},
        {.name = "day", .type = COLUMN_DATE},
        {.name = "at", .type = COLUMN_TIMESTAMP},
        {.name = "word", .type = COLUMN_TEXT, .size = 4},
        {.name = "price", .type = COLUMN_DECIMAL, .precision = 6, .scale = 2},
        {.name = "whole", .type = COLUMN_DECIMAL, .precision = 6, .scale = 2},
        {.name = "id", .type = COLUMN_UUID},
        {.name = "ip", .type = COLUMN_IP4},
    };
    struct plan plan = make_plan(4);
    plan.values = "small=-3..-3, BIG = 9223372036854775807, flag=false, real=-2.5e3,"
                  "day=1970-01-03, at=1970-01-01T00:00:01Z, word=\xc3\xbc"
                  "ber, price=-12.5, whole=7..7,"
                  "id=00010203-0405-0607-0809-0A0b0c0d0e0f, ip=192.0.2.1";
    struct table table;
    make_table(&table, columns, sizeof columns / sizeof columns[0]);
    struct generator *generator = make_generator(&plan, &table);
    struct row_buffer *buffer = generator_borrow(generator);
    generator_fill(generator, buffer, 3, 8, 2);
    const struct column_data *data = buffer->batch.columns;
    assert_int_equal(data[0].values.int16[1], -3);
    assert_true(data[1].values.int64[1] == INT64_MAX);
    assert_int_equal(data[2].values.boolean[1], 0);
    assert_true(data[3].values.float64[1] == -2500.0);
    assert_int_equal(data[4].values.int32[1], 2);
    assert_true(data[5].values.int64[1] == INT64_C(1000000000));
    assert_same_text(data[6].values.text[1], (struct text_value){"\xc3\xbc"
                                                                 "ber",
                                                                 5});
    assert_int_equal(data[7].values.int64[1], -1250);
    assert_int_equal(data[8].values.int64[1], 700);
    for (size_t i = 0; i < 16; i++) {
        assert_int_equal(data[9].values.uuid[1][i], i);
    }
    assert_memory_equal(data[10].values.ip4[1], ((const uint8_t[]){192, 0, 2, 1}), 4);
    /* the word has 5 bytes */
    assert_true(generator_row_bytes(generator) == 2 + 8 + 1 + 8 + 4 + 8 + 5 + 8 + 8 + 16 + 4);
    generator_give_back(generator, buffer);
    generator_destroy(generator);
    table_fini(&table);
}

/* All values of the list occur, and no other values. A row has the same values, whatever batch it
 * is in. */
TEST(test_values_follow_from_the_row)
{
    static const struct column columns[] = {
        {.name = "status", .type = COLUMN_TEXT},
        {.name = "parent", .type = COLUMN_INT32},
        {.name = "key", .type = COLUMN_INT32, .is_unique = true},
    };
    struct plan plan = make_plan(4);
    plan.values = "status=ok|failed|new,parent=5..9,key=100..1099";
    plan.records = 1000;
    struct table table;
    make_table(&table, columns, 3);
    struct generator *generator = make_generator(&plan, &table);
    struct row_buffer *buffer = generator_borrow(generator), *single = generator_borrow(generator);
    unsigned parents[10] = {0}, lengths[7] = {0};
    bool is_used[1000] = {false};
    for (unsigned session = 0; session < plan.sessions; session++) {
        generator_fill(generator, buffer, session, 0, ROWS);
        for (size_t i = 0; i < ROWS; i++) {
            const int32_t parent = buffer->batch.columns[1].values.int32[i];
            const int32_t key = buffer->batch.columns[2].values.int32[i] - 100;
            assert_in_range(parent, 5, 9);
            parents[parent]++;
            lengths[buffer->batch.columns[0].values.text[i].length]++;
            assert_in_range(key, 0, 999);
            assert_false(is_used[key]);
            is_used[key] = true;
        }
        generator_fill(generator, single, session, 42, 1);
        assert_int_equal(single->batch.columns[1].values.int32[0],
                         buffer->batch.columns[1].values.int32[42]);
    }
    for (int parent = 5; parent <= 9; parent++) {
        assert_in_range(parents[parent], 100, 300);
    }
    assert_int_equal(lengths[2] + lengths[3] + lengths[6], 1000);
    assert_true(lengths[2] > 200 && lengths[3] > 200 && lengths[6] > 200);
    generator_give_back(generator, buffer);
    generator_give_back(generator, single);
    generator_destroy(generator);
    table_fini(&table);
}

TEST(test_values_that_a_column_cannot_hold)
{
    static const struct {
        struct column column;
        const char *values, *refused;
    } cases[] = {
        {{.name = "c", .type = COLUMN_INT16}, "c=1..40000", "1..40000"},
        {{.name = "c", .type = COLUMN_INT16}, "c=1|40000", "40000"},
        {{.name = "c", .type = COLUMN_INT32}, "c=1|ok", "ok"},
        {{.name = "c", .type = COLUMN_BOOL}, "c=0..2", "0..2"},
        {{.name = "c", .type = COLUMN_BOOL}, "c=maybe", "maybe"},
        {{.name = "c", .type = COLUMN_FLOAT32}, "c=1e99", "1e99"},
        {{.name = "c", .type = COLUMN_FLOAT64}, "c=1x", "1x"},
        {{.name = "c", .type = COLUMN_FLOAT64}, "c=0x10", "0x10"},
        {{.name = "c", .type = COLUMN_DECIMAL, .precision = 4, .scale = 2}, "c=-|1", "-"},
        {{.name = "c", .type = COLUMN_DECIMAL, .precision = 4, .scale = 2}, "c=.", "."},
        {{.name = "c", .type = COLUMN_DECIMAL, .precision = 4, .scale = 2}, "c=100", "100"},
        {{.name = "c", .type = COLUMN_DECIMAL, .precision = 4, .scale = 2}, "c=1.234", "1.234"},
        {{.name = "c", .type = COLUMN_DECIMAL, .precision = 4, .scale = 2}, "c=1..100", "1..100"},
        {{.name = "c", .type = COLUMN_DECIMAL, .scale = 40}, "c=1..2", "1..2"},
        {{.name = "c", .type = COLUMN_TEXT, .size = 3}, "c=ok|long", "long"},
        {{.name = "c", .type = COLUMN_TEXT, .size = 3}, "c=1..1000", "1..1000"},
        {{.name = "c", .type = COLUMN_DATE}, "c=2026-02-31", "2026-02-31"},
        {{.name = "c", .type = COLUMN_DATE}, "c=2026-02-01T00:00:00Z", "2026-02-01T00:00:00Z"},
        {{.name = "c", .type = COLUMN_DATE}, "c=1..5", "1..5"},
        {{.name = "c", .type = COLUMN_TIME}, "c=12:00", "12:00"},
        {{.name = "c", .type = COLUMN_UUID}, "c=0001", "0001"},
        {{.name = "c", .type = COLUMN_IP4}, "c=1.2.3", "1.2.3"},
        {{.name = "c", .type = COLUMN_INT32, .is_unique = true}, "c=1..9", "9 values for 10 rows"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan plan = make_plan(1);
        plan.records = 10;
        plan.values = cases[i].values;
        struct table table;
        make_table(&table, &cases[i].column, 1);
        struct generator *generator = NULL;
        struct error error;
        error_clear(&error);
        assert_int_equal(generator_create(&generator, &plan, &table, &error), STATUS_REJECTED);
        assert_usage(&error);
        assert_non_null(strstr(error.text, "'c'"));
        assert_non_null(strstr(error.text, cases[i].refused));
        table_fini(&table);
    }
}

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < length; i++) {
        hash = random_mix(hash ^ at[i]);
    }
    return hash;
}

/* Returns a hash of all values of 200 rows of two sessions. */
static uint64_t hash_of_rows(const struct plan *plan, const struct column *column)
{
    struct table table;
    uint64_t hash = 0;
    make_table(&table, column, 1);
    struct generator *generator = make_generator(plan, &table);
    struct row_buffer *buffer = generator_borrow(generator);
    const size_t bytes = column_kinds[column->type].bytes;
    for (unsigned session = 2; session < 4; session++) {
        generator_fill(generator, buffer, session, 1000, ROWS);
        const struct column_data *data = &buffer->batch.columns[0];
        for (size_t i = 0; i < ROWS; i++) {
            if (column_kinds[column->type].is == COLUMN_IS_TEXT) {
                const struct text_value *text = &data->values.text[i];
                hash = hash_bytes(hash, text->bytes, text->length);
            } else {
                hash = hash_bytes(hash, (const char *)data->values.any + i * bytes, bytes);
            }
        }
    }
    generator_give_back(generator, buffer);
    generator_destroy(generator);
    table_fini(&table);
    return hash;
}

/* A seed gives the same rows in every version of append. */
TEST(test_rows_of_a_seed)
{
    static const struct {
        struct column column;
        const char *values;
        bool is_constant;
        uint64_t hash;
    } cases[] = {
        {{.name = "c", .type = COLUMN_BOOL}, NULL, false, UINT64_C(0x4d82ad116eec3cc0)},
        {{.name = "c", .type = COLUMN_BOOL, .is_unique = true},
         NULL,
         false,
         UINT64_C(0x4d82ad116eec3cc0)},
        {{.name = "c", .type = COLUMN_BOOL}, NULL, true, UINT64_C(0x3ef7cd94c979498a)},
        {{.name = "c", .type = COLUMN_INT16}, NULL, false, UINT64_C(0xfbf804138ab9cb85)},
        {{.name = "c", .type = COLUMN_INT16, .is_unique = true},
         NULL,
         false,
         UINT64_C(0x7bc831154ff6b69d)},
        {{.name = "c", .type = COLUMN_INT16}, NULL, true, UINT64_C(0x28ddd36665f4f101)},
        {{.name = "c", .type = COLUMN_INT32}, NULL, false, UINT64_C(0x33f61b9a67bf0b4f)},
        {{.name = "c", .type = COLUMN_INT32, .is_unique = true},
         NULL,
         false,
         UINT64_C(0x38ca0ae5ff009aad)},
        {{.name = "c", .type = COLUMN_INT32}, NULL, true, UINT64_C(0x996c163fd556b099)},
        {{.name = "c", .type = COLUMN_INT64}, NULL, false, UINT64_C(0x34cb4712969cb6bf)},
        {{.name = "c", .type = COLUMN_INT64, .is_unique = true},
         NULL,
         false,
         UINT64_C(0x1a69846c65ddfa95)},
        {{.name = "c", .type = COLUMN_INT64}, NULL, true, UINT64_C(0xd9f9204160ed458a)},
        {{.name = "c", .type = COLUMN_FLOAT32}, NULL, false, UINT64_C(0x60f7ef15f482dd2c)},
        {{.name = "c", .type = COLUMN_FLOAT32, .is_unique = true},
         NULL,
         false,
         UINT64_C(0x98d9d4ef9211430e)},
        {{.name = "c", .type = COLUMN_FLOAT32}, NULL, true, UINT64_C(0x9b3013eac0d18d5a)},
        {{.name = "c", .type = COLUMN_FLOAT64}, NULL, false, UINT64_C(0x3bacf6771ede792c)},
        {{.name = "c", .type = COLUMN_FLOAT64, .is_unique = true},
         NULL,
         false,
         UINT64_C(0xa7179cb3b8b41c73)},
        {{.name = "c", .type = COLUMN_FLOAT64}, NULL, true, UINT64_C(0xafccbe8b7bc8417c)},
        {{.name = "c", .type = COLUMN_DECIMAL}, NULL, false, UINT64_C(0xcd62533d4dc39e0d)},
        {{.name = "c", .type = COLUMN_DECIMAL, .is_unique = true},
         NULL,
         false,
         UINT64_C(0x9ff97a195e8d0fd0)},
        {{.name = "c", .type = COLUMN_DECIMAL}, NULL, true, UINT64_C(0x9feb9b289f56a285)},
        {{.name = "c", .type = COLUMN_TEXT}, NULL, false, UINT64_C(0xf19ad50db0a02da2)},
        {{.name = "c", .type = COLUMN_TEXT, .is_unique = true},
         NULL,
         false,
         UINT64_C(0xe90c318f49033c5c)},
        {{.name = "c", .type = COLUMN_TEXT}, NULL, true, UINT64_C(0x7680073157d83af5)},
        {{.name = "c", .type = COLUMN_BYTES}, NULL, false, UINT64_C(0xf02e5fd48785698b)},
        {{.name = "c", .type = COLUMN_BYTES, .is_unique = true},
         NULL,
         false,
         UINT64_C(0xe90c318f49033c5c)},
        {{.name = "c", .type = COLUMN_BYTES}, NULL, true, UINT64_C(0x35f51d482f2883d7)},
        {{.name = "c", .type = COLUMN_JSON}, NULL, false, UINT64_C(0x28f77fef1184896b)},
        {{.name = "c", .type = COLUMN_JSON, .is_unique = true},
         NULL,
         false,
         UINT64_C(0x28f77fef1184896b)},
        {{.name = "c", .type = COLUMN_JSON}, NULL, true, UINT64_C(0x48147fe82d040759)},
        {{.name = "c", .type = COLUMN_DATE}, NULL, false, UINT64_C(0x8b209a5743083633)},
        {{.name = "c", .type = COLUMN_DATE, .is_unique = true},
         NULL,
         false,
         UINT64_C(0x9ccbbd4101475555)},
        {{.name = "c", .type = COLUMN_DATE}, NULL, true, UINT64_C(0xc0a4f4e35b0f28b8)},
        {{.name = "c", .type = COLUMN_TIME}, NULL, false, UINT64_C(0x8c863a60333045ff)},
        {{.name = "c", .type = COLUMN_TIME, .is_unique = true},
         NULL,
         false,
         UINT64_C(0xa08c7da988fc6ea2)},
        {{.name = "c", .type = COLUMN_TIME}, NULL, true, UINT64_C(0xdd5e46a2cfc1e0b2)},
        {{.name = "c", .type = COLUMN_TIMESTAMP}, NULL, false, UINT64_C(0x31ab49f4d51c9ea4)},
        {{.name = "c", .type = COLUMN_TIMESTAMP, .is_unique = true},
         NULL,
         false,
         UINT64_C(0x31ab49f4d51c9ea4)},
        {{.name = "c", .type = COLUMN_TIMESTAMP}, NULL, true, UINT64_C(0xe66348c68034291e)},
        {{.name = "c", .type = COLUMN_UUID}, NULL, false, UINT64_C(0xcf20709d5f333601)},
        {{.name = "c", .type = COLUMN_UUID, .is_unique = true},
         NULL,
         false,
         UINT64_C(0xcf20709d5f333601)},
        {{.name = "c", .type = COLUMN_UUID}, NULL, true, UINT64_C(0x2465398821df83bc)},
        {{.name = "c", .type = COLUMN_IP4}, NULL, false, UINT64_C(0x1dfa90a61ef77953)},
        {{.name = "c", .type = COLUMN_IP4, .is_unique = true},
         NULL,
         false,
         UINT64_C(0x1dfa90a61ef77953)},
        {{.name = "c", .type = COLUMN_IP4}, NULL, true, UINT64_C(0xa2cbc042c9659fe2)},
        {{.name = "c", .type = COLUMN_IP6}, NULL, false, UINT64_C(0x64d107456357db58)},
        {{.name = "c", .type = COLUMN_IP6, .is_unique = true},
         NULL,
         false,
         UINT64_C(0x64d107456357db58)},
        {{.name = "c", .type = COLUMN_IP6}, NULL, true, UINT64_C(0x549acabfdc2bb4cd)},
        {{.name = "c", .type = COLUMN_DECIMAL, .precision = 5, .scale = 2},
         NULL,
         false,
         UINT64_C(0x586acee26692ba5f)},
        {{.name = "c", .type = COLUMN_DECIMAL, .precision = 18, .scale = 18},
         NULL,
         false,
         UINT64_C(0xdd844eaef21e181c)},
        {{.name = "c", .type = COLUMN_TEXT, .size = 1}, NULL, false, UINT64_C(0x6c1170ef1ed88ccf)},
        {{.name = "c", .type = COLUMN_TEXT, .size = 40}, NULL, false, UINT64_C(0x85af737d6e2ce10d)},
        {{.name = "c", .type = COLUMN_TEXT, .size = 9, .is_unique = true},
         NULL,
         false,
         UINT64_C(0xaba151e005d1846a)},
        {{.name = "c", .type = COLUMN_BYTES, .size = 5}, NULL, false, UINT64_C(0x62dccf4d8253bb47)},
        {{.name = "c", .type = COLUMN_BYTES, .size = 30, .is_unique = true},
         NULL,
         false,
         UINT64_C(0x3a3e35dd5ae2a37)},
        {{.name = "c", .type = COLUMN_TIME, .scale = 3}, NULL, false, UINT64_C(0x8c863a60333045ff)},
        {{.name = "c", .type = COLUMN_TIMESTAMP, .scale = 6},
         NULL,
         false,
         UINT64_C(0x31ab49f4d51c9ea4)},
        {{.name = "c", .type = COLUMN_TIMESTAMP, .scale = 6, .is_unique = true},
         NULL,
         false,
         UINT64_C(0x31ab49f4d51c9ea4)},
        {{.name = "c", .type = COLUMN_BOOL}, "c=0..1", false, UINT64_C(0x4d82ad116eec3cc0)},
        {{.name = "c", .type = COLUMN_INT16}, "c=-5..5", false, UINT64_C(0x6a04d755c0ec3e96)},
        {{.name = "c", .type = COLUMN_INT32}, "c=100..30000", false, UINT64_C(0x63ed7ef0c7993434)},
        {{.name = "c", .type = COLUMN_INT64},
         "c=-9000000000..9000000000",
         false,
         UINT64_C(0x16e22bf70248ea3f)},
        {{.name = "c", .type = COLUMN_FLOAT32}, "c=1..9", false, UINT64_C(0x9f48cadcdbce749e)},
        {{.name = "c", .type = COLUMN_FLOAT64}, "c=-9..100", false, UINT64_C(0xe34604633db62c1a)},
        {{.name = "c", .type = COLUMN_DECIMAL, .precision = 9, .scale = 2},
         "c=1..9",
         false,
         UINT64_C(0xe6afdea19b8e4146)},
        {{.name = "c", .type = COLUMN_TEXT}, "c=1..1000", false, UINT64_C(0x38f31b84314f0324)},
        {{.name = "c", .type = COLUMN_TEXT}, "c=a|bb|ccc", false, UINT64_C(0x3b1f7466e16e770)},
        {{.name = "c", .type = COLUMN_FLOAT64},
         "c=1.5|2.5|-3",
         false,
         UINT64_C(0xb6508f84f6dcd44d)},
        {{.name = "c", .type = COLUMN_INT16}, "c=1|2|3|5|8", false, UINT64_C(0x49ddb12a077ee369)},
        {{.name = "c", .type = COLUMN_DATE},
         "c=2020-01-01|2021-02-03",
         false,
         UINT64_C(0x19615d606a8be47b)},
        {{.name = "c", .type = COLUMN_JSON}, "c={}|[]", false, UINT64_C(0xa7146b3a10fd4d80)},
        {{.name = "c", .type = COLUMN_INT16, .is_unique = true},
         "c=0..30000",
         false,
         UINT64_C(0x7bc831154ff6b69d)},
        {{.name = "c", .type = COLUMN_INT32, .is_unique = true},
         "c=5..1000000",
         false,
         UINT64_C(0x4564358da61ae38)},
        {{.name = "c", .type = COLUMN_INT64, .is_unique = true},
         "c=0..99999999999",
         false,
         UINT64_C(0x9ff97a195e8d0fd0)},
        {{.name = "c", .type = COLUMN_FLOAT32, .is_unique = true},
         "c=1..1000000",
         false,
         UINT64_C(0x43ace3ad44ac26a0)},
        {{.name = "c", .type = COLUMN_FLOAT64, .is_unique = true},
         "c=1..1000000",
         false,
         UINT64_C(0xe9f495ec774da1f3)},
        {{.name = "c", .type = COLUMN_TEXT, .is_unique = true},
         "c=1..1000000",
         false,
         UINT64_C(0xc6320a8811f35d66)},
        {{.name = "c", .type = COLUMN_DECIMAL, .is_unique = true, .precision = 12, .scale = 2},
         "c=1..1000000",
         false,
         UINT64_C(0xa37656b5bd02ff73)},
    };
    EACH_CASE (i, cases, "row %zu, type %d, values %s", i, (int)cases[i].column.type,
               cases[i].values == NULL ? "none" : cases[i].values) {
        struct plan plan = make_plan(5);
        plan.values = cases[i].values;
        plan.records = cases[i].column.is_unique && cases[i].values != NULL ? 20000 : 0;
        plan.data_mode = cases[i].is_constant ? DATA_CONSTANT : DATA_VARIED;
        assert_int_equal(hash_of_rows(&plan, &cases[i].column), cases[i].hash);
    }
}
