#include "samples.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    LONG_TEXT_BYTES = 9001
}; /* more than two pieces of a long text in any adapter */

struct samples {
    struct batch batch;
    struct column_data *columns;
    char *long_text;
    char *long_bytes;
    char *long_json;
};

static bool measures_bytes;
static bool is_modern;
static bool leaves_out_extremes;
static const struct column *counted_time;

static const int16_t int16_samples[] = {1234, INT16_MIN, INT16_MAX, 0};
static const int32_t int32_samples[] = {123456, INT32_MIN, INT32_MAX, -1};
static const int64_t int64_samples[] = {1234567890123, INT64_MIN, INT64_MAX, -1};
static const float float32_samples[] = {1.5F, -FLT_MAX, FLT_MAX, 0.1F};
static const double float64_samples[] = {0.1, -DBL_MAX, DBL_MAX, -2.5};
static const int32_t date_samples[] = {19782, -719162, 2932896, -1};
static const int64_t time_samples[] = {45296789012345, 0, 86399999999999, 1000};
static const int64_t timestamp_samples[] = {1709210096789012345, INT64_MIN, INT64_MAX, -1};
static const int32_t modern_date_samples[] = {19782, 0, 49672, 1};
static const int64_t modern_samples[] = {1709210096789012345, 0, 4291747199999999999, 1};
/* Samples without the values that some databases take for NULL. */
static const int16_t inner_int16_samples[] = {1234, INT16_MIN + 1, INT16_MAX, 0};
static const int32_t inner_int32_samples[] = {123456, INT32_MIN + 1, INT32_MAX, -1};
static const int64_t inner_int64_samples[] = {1234567890123, INT64_MIN + 1, INT64_MAX, -1};
static const float inner_float32_samples[] = {1.5F, -FLT_MAX, FLT_MAX / 2, 0.1F};
static const double inner_float64_samples[] = {0.1, -DBL_MAX, DBL_MAX / 2, -2.5};
static const int64_t inner_timestamp_samples[] = {1709210096789012345, INT64_MIN, INT64_MAX, 1};
static const uint8_t ip4_samples[][4] = {
    {192, 0, 2, 7}, {0, 0, 0, 0}, {255, 255, 255, 255}, {10, 0, 0, 1}};
static const uint8_t ip6_samples[][16] = {
    {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {0},
    {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
    {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
};
static const uint8_t uuid_samples[][16] = {
    {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32,
     0x10},
    {0},
    {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
    {1},
};

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static int64_t decimal_sample(const struct column *column, size_t sample)
{
    const unsigned digits =
        column->precision > 0 && column->precision < 18 ? column->precision : 18;
    int64_t limit = 1;
    for (unsigned i = 0; i < digits; i++) {
        limit *= 10;
    }
    switch (sample) {
    case SAMPLE_ORDINARY:
        return 1234567 % limit;
    case SAMPLE_SMALLEST:
        return 1 - limit;
    case SAMPLE_LARGEST:
        return limit - 1;
    default:
        return 0;
    }
}

static struct text_value text_sample(const struct samples *samples, const struct column *column,
                                     size_t sample)
{
    static const char *const json[] = {"{\"a\": [1, \"x\"]}", "0", "", "null"};
    static const char ordinary[] = "a \"b\" \\ 'c'\t,;\n\xc5\xbc\xc3\xb3\xc5\x82w";
    static const char odd[] = "\\N";
    const char *text = "";
    size_t length = 0;

    if (column->type == COLUMN_JSON) {
        text = sample == SAMPLE_LARGEST ? samples->long_json : json[sample];
        length = strlen(text);
    } else if (sample == SAMPLE_LARGEST) {
        text = column->type == COLUMN_BYTES ? samples->long_bytes : samples->long_text;
        /* if the column's limit is in characters, the text has characters of two bytes each */
        length = column->type == COLUMN_BYTES || measures_bytes ? column->size : column->size * 2U;
        if (column->size == 0 || column->size > LONG_TEXT_BYTES / 2) {
            length = LONG_TEXT_BYTES - 1;
        }
    } else if (sample != SAMPLE_SMALLEST) {
        text = sample == SAMPLE_ODD ? odd : ordinary;
        length = strlen(text);
    }
    return (struct text_value){text, (uint32_t)length};
}

#define CYCLE(table, type)                                                                         \
    do {                                                                                           \
        for (size_t r = 0; r < rows; r++)                                                          \
            memcpy((char *)values + r * sizeof(type), &(table)[r % SAMPLE_COUNT], sizeof(type));   \
    } while (0)

static void *make_values(const struct samples *samples, const struct column *column, int first_id)
{
    static int64_t moment = 1709210096789012345;
    const size_t rows = samples->batch.row_count;
    const bool is_counted = counted_time != NULL && strcmp(column->name, counted_time->name) == 0;
    const int64_t *edge_samples = leaves_out_extremes ? inner_timestamp_samples : timestamp_samples;
    void *values = allocate(rows, sizeof(struct text_value));
    switch (column->type) {
    case COLUMN_BOOL:
        for (size_t r = 0; r < rows; r++) {
            ((uint8_t *)values)[r] = r % SAMPLE_COUNT != SAMPLE_SMALLEST;
        }
        break;
    case COLUMN_INT16:
        CYCLE(leaves_out_extremes ? inner_int16_samples : int16_samples, int16_t);
        break;
    case COLUMN_INT32:
        CYCLE(leaves_out_extremes ? inner_int32_samples : int32_samples, int32_t);
        for (size_t r = 0; r < rows && strcasecmp(column->name, "id") == 0; r++) {
            ((int32_t *)values)[r] = first_id + (int32_t)r;
        }
        break;
    case COLUMN_INT64:
        CYCLE(leaves_out_extremes ? inner_int64_samples : int64_samples, int64_t);
        break;
    case COLUMN_FLOAT32:
        CYCLE(leaves_out_extremes ? inner_float32_samples : float32_samples, float);
        break;
    case COLUMN_FLOAT64:
        CYCLE(leaves_out_extremes ? inner_float64_samples : float64_samples, double);
        break;
    case COLUMN_DECIMAL:
        for (size_t r = 0; r < rows; r++) {
            ((int64_t *)values)[r] = decimal_sample(column, r % SAMPLE_COUNT);
        }
        break;
    case COLUMN_DATE:
        CYCLE(is_modern ? modern_date_samples : date_samples, int32_t);
        break;
    case COLUMN_TIME:
        CYCLE(time_samples, int64_t);
        break;
    case COLUMN_TIMESTAMP:
        CYCLE(is_modern ? modern_samples : edge_samples, int64_t);
        for (size_t r = 0; r < rows && is_counted; r++) {
            ((int64_t *)values)[r] = ++moment;
        }
        break;
    case COLUMN_UUID:
        CYCLE(uuid_samples, uuid_samples[0]);
        break;
    case COLUMN_IP4:
        CYCLE(ip4_samples, ip4_samples[0]);
        break;
    case COLUMN_IP6:
        CYCLE(ip6_samples, ip6_samples[0]);
        break;
    default:
        for (size_t r = 0; r < rows; r++) {
            ((struct text_value *)values)[r] = text_sample(samples, column, r % SAMPLE_COUNT);
        }
    }
    return values;
}

void samples_measure_in_bytes(bool is_wanted)
{
    measures_bytes = is_wanted;
}

void samples_use_modern_times(bool is_wanted)
{
    is_modern = is_wanted;
}

void samples_leave_out_extremes(bool is_wanted)
{
    leaves_out_extremes = is_wanted;
}

void samples_count_time(const struct column *time)
{
    counted_time = time;
}

struct samples *samples_create(const struct table *table, size_t row_count, int first_id,
                               bool has_nulls)
{
    struct samples *samples = allocate(1, sizeof *samples);
    samples->long_text = allocate(1, LONG_TEXT_BYTES);
    samples->long_bytes = allocate(1, LONG_TEXT_BYTES);
    samples->long_json = allocate(1, LONG_TEXT_BYTES);
    for (size_t i = 0; i + 1 < LONG_TEXT_BYTES; i++) {
        samples->long_text[i] = i % 2 == 0 ? '\xc3' : '\xa9';
        samples->long_bytes[i] = (char)(i * 7);
        samples->long_json[i] = i == 0 || i + 2 == LONG_TEXT_BYTES ? '"' : 'j';
    }
    samples->columns = allocate(table->column_count, sizeof *samples->columns);
    samples->batch.table = table;
    samples->batch.row_count = row_count;
    samples->batch.columns = samples->columns;
    for (size_t i = 0; i < table->column_count; i++) {
        const struct column *column = &table->columns[i];
        samples->columns[i].values.any = make_values(samples, column, first_id);
        if (has_nulls && column->is_nullable) {
            uint8_t *is_null = allocate(row_count, 1);
            memset(is_null, 1, row_count);
            samples->columns[i].is_null = is_null;
        }
    }
    return samples;
}

void samples_destroy(struct samples *samples)
{
    for (size_t i = 0; i < samples->batch.table->column_count; i++) {
        union {
            const void *borrowed;
            void *owned;
        } values = {samples->columns[i].values.any}, nulls = {samples->columns[i].is_null};
        free(values.owned);
        free(nulls.owned);
    }
    free(samples->columns);
    free(samples->long_text);
    free(samples->long_bytes);
    free(samples->long_json);
    free(samples);
}

const struct batch *samples_batch(const struct samples *samples)
{
    return &samples->batch;
}

void samples_pick(const struct samples *samples, size_t row, struct column_data *columns)
{
    static const size_t sizes[COLUMN_TYPE_COUNT] = {
        [COLUMN_BOOL] = 1,
        [COLUMN_INT16] = sizeof(int16_t),
        [COLUMN_INT32] = sizeof(int32_t),
        [COLUMN_INT64] = sizeof(int64_t),
        [COLUMN_FLOAT32] = sizeof(float),
        [COLUMN_FLOAT64] = sizeof(double),
        [COLUMN_DECIMAL] = sizeof(int64_t),
        [COLUMN_TEXT] = sizeof(struct text_value),
        [COLUMN_BYTES] = sizeof(struct text_value),
        [COLUMN_JSON] = sizeof(struct text_value),
        [COLUMN_DATE] = sizeof(int32_t),
        [COLUMN_TIME] = sizeof(int64_t),
        [COLUMN_TIMESTAMP] = sizeof(int64_t),
        [COLUMN_UUID] = 16,
        [COLUMN_IP4] = 4,
        [COLUMN_IP6] = 16,
    };
    const struct table *table = samples->batch.table;
    for (size_t i = 0; i < table->column_count; i++) {
        const struct column_data *all = &samples->columns[i];
        columns[i].values.any = (const char *)all->values.any + row * sizes[table->columns[i].type];
        columns[i].is_null = all->is_null != NULL ? all->is_null + row : NULL;
    }
}

struct text_value samples_text(const struct samples *samples, size_t column, size_t row)
{
    return samples->columns[column].values.text[row];
}
