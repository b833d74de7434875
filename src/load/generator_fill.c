#include "load/generator_fill.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/moment.h"
#include "base/mono.h"
#include "base/number_text.h"
#include "base/random.h"

/* 2024-01-01 00:00:00 UTC: values are functions of the seed, so not of today's date. */
#define EPOCH_S INT64_C(1704067200)
#define TICK_NS INT64_C(100000)

static uint64_t row_at(const struct fill_rows *rows, size_t i)
{
    return rows->first_row + i * rows->step;
}

/* The row's number in the whole run. */
static uint64_t serial_at(const struct fill_rows *rows, size_t i)
{
    return row_at(rows, i) * rows->sessions + rows->session;
}

static uint64_t hash_at(const struct fill_column *column, const struct fill_rows *rows, size_t i)
{
    return random_mix(column->key + serial_at(rows, i) * RANDOM_STEP);
}

/* A kind whose value is one expression of the row: `h` is the row's hash, `serial` its number. */
#define FILL_WITH(function, type, expression)                                                      \
    static void function(const struct fill_column *column, const struct fill_rows *rows,           \
                         void *values, char *text)                                                 \
    {                                                                                              \
        (void)text;                                                                                \
        type *const out = values;                                                                  \
        for (size_t i = 0; i < rows->count; i++) {                                                 \
            const uint64_t row = row_at(rows, i);                                                  \
            const uint64_t serial = row * rows->sessions + rows->session;                          \
            const uint64_t h = random_mix(column->key + serial * RANDOM_STEP);                     \
            (void)row;                                                                             \
            (void)serial;                                                                          \
            (void)h;                                                                               \
            out[i] = (type)(expression);                                                           \
        }                                                                                          \
    }

FILL_WITH(fill_run_tag, int16_t, rows->run_tag)
FILL_WITH(fill_session, int32_t, rows->session)
FILL_WITH(fill_row_number, int64_t, row)
FILL_WITH(fill_bool, uint8_t, h & 1)
FILL_WITH(fill_int16, int16_t, h >> 48)
FILL_WITH(fill_int32, int32_t, h >> 33)
FILL_WITH(fill_int64, int64_t, h >> 1)
FILL_WITH(fill_float32, float, (float)(h >> 40) * (100.0f / 16777216.0f))
FILL_WITH(fill_float64, double, (double)(h >> 11) * (1000.0 / 9007199254740992.0))
FILL_WITH(fill_decimal, int64_t, h % column->limit)
FILL_WITH(fill_date, int32_t, EPOCH_S / 86400 + (int64_t)(h % 366))
FILL_WITH(fill_time, int64_t, (int64_t)(h % UINT64_C(86400000000)) * 1000)
FILL_WITH(fill_timestamp, int64_t, EPOCH_S *MONO_NS_PER_S + (int64_t)serial * TICK_NS)
FILL_WITH(fill_unique_int16, int16_t, serial)
FILL_WITH(fill_unique_int32, int32_t, ((rows->run_hash >> 33) + serial) & INT32_MAX)
FILL_WITH(fill_unique_int64, int64_t, ((rows->run_hash >> 33) << 32) + serial)
FILL_WITH(fill_unique_float, float, serial)
FILL_WITH(fill_unique_double, double,
          (double)(rows->run_hash >> 44) * 4294967296.0 + (double)serial)
FILL_WITH(fill_unique_decimal, int64_t, serial % column->limit)
FILL_WITH(fill_unique_date, int32_t, serial % 2900000)
FILL_WITH(fill_unique_time, int64_t, (int64_t)(serial % UINT64_C(86400000000)) * 1000)

static void fill_ip4(const struct fill_column *column, const struct fill_rows *rows, void *values,
                     char *text)
{
    (void)text;
    uint8_t(*const out)[4] = values;
    for (size_t i = 0; i < rows->count; i++) {
        const uint32_t low = (uint32_t)(hash_at(column, rows, i) >> 40);
        const uint8_t address[4] = {10, (uint8_t)(low >> 16), (uint8_t)(low >> 8), (uint8_t)low};
        memcpy(out[i], address, sizeof address);
    }
}

static void fill_ip6(const struct fill_column *column, const struct fill_rows *rows, void *values,
                     char *text)
{
    static const uint8_t prefix[8] = {0xfd, 0x00, 0x0a, 0x99, 0xe2, 0xd0, 0x00, 0x01};
    (void)text;
    uint8_t(*const out)[16] = values;
    for (size_t i = 0; i < rows->count; i++) {
        const uint64_t interface = hash_at(column, rows, i);
        memcpy(out[i], prefix, sizeof prefix);
        memcpy(out[i] + 8, &interface, sizeof interface);
    }
}

/* Two independent hashes, with the version and variant bits of a random UUID (RFC 9562, 5.4). */
static void fill_uuid(const struct fill_column *column, const struct fill_rows *rows, void *values,
                      char *text)
{
    (void)text;
    uint8_t(*const out)[16] = values;
    for (size_t i = 0; i < rows->count; i++) {
        const uint64_t high = hash_at(column, rows, i) ^ rows->run_hash;
        const uint64_t low = random_mix(high ^ serial_at(rows, i));
        memcpy(out[i], &high, sizeof high);
        memcpy(out[i] + 8, &low, sizeof low);
        out[i][6] = (uint8_t)((out[i][6] & 0x0f) | 0x40);
        out[i][8] = (uint8_t)((out[i][8] & 0x3f) | 0x80);
    }
}

static uint32_t cut(uint32_t length, uint64_t limit)
{
    return limit != 0 && length > limit ? (uint32_t)limit : length;
}

static void fill_message(const struct fill_column *column, const struct fill_rows *rows,
                         void *values, char *text)
{
    struct text_value *const out = values;
    for (size_t i = 0; i < rows->count; i++, text += TEXT_MESSAGE_BYTES) {
        const uint32_t length = text_write_message(rows->text, hash_at(column, rows, i), text);
        out[i] = (struct text_value){text, cut(length, column->limit)};
    }
}

static void fill_host(const struct fill_column *column, const struct fill_rows *rows, void *values,
                      char *text)
{
    (void)text;
    struct text_value *const out = values;
    for (size_t i = 0; i < rows->count; i++) {
        const size_t host = hash_at(column, rows, i) % TEXT_HOSTS;
        out[i] = (struct text_value){rows->text->hosts[host],
                                     cut(rows->text->host_lengths[host], column->limit)};
    }
}

enum {
    TOKEN_BYTES = 32
};

static void write_token(uint64_t high, uint64_t low, char *out)
{
    static const char hex[] = "0123456789abcdef";
    for (unsigned i = 0; i < 16; i++) {
        out[15 - i] = hex[(low >> (4 * i)) & 15];
        out[31 - i] = hex[(high >> (4 * i)) & 15];
    }
}

/* Short text: hexadecimal digits. */
static void fill_token(const struct fill_column *column, const struct fill_rows *rows, void *values,
                       char *text)
{
    struct text_value *const out = values;
    for (size_t i = 0; i < rows->count; i++, text += TOKEN_BYTES) {
        const uint64_t hash = hash_at(column, rows, i);
        write_token(random_mix(hash), hash, text);
        out[i] = (struct text_value){text, cut(16, column->limit)};
    }
}

/* The last digits of the row's number are the ones that fit; the run's hash follows. */
static void fill_unique_text(const struct fill_column *column, const struct fill_rows *rows,
                             void *values, char *text)
{
    struct text_value *const out = values;
    for (size_t i = 0; i < rows->count; i++, text += TOKEN_BYTES) {
        write_token(rows->run_hash, serial_at(rows, i), text);
        const uint32_t length = cut(TOKEN_BYTES, column->limit);
        out[i] = length < 16 ? (struct text_value){text + 16 - length, length}
                             : (struct text_value){text, length};
    }
}

enum {
    JSON_BYTES = 96
};

static void fill_json(const struct fill_column *column, const struct fill_rows *rows, void *values,
                      char *text)
{
    struct text_value *const out = values;
    for (size_t i = 0; i < rows->count; i++, text += JSON_BYTES) {
        const uint64_t hash = hash_at(column, rows, i);
        const int length =
            snprintf(text, JSON_BYTES, "{\"session\":%llu,\"row\":%llu,\"value\":%u.%02u}",
                     (unsigned long long)rows->session, (unsigned long long)row_at(rows, i),
                     (unsigned)(hash >> 48), (unsigned)(hash % 100));
        out[i] = (struct text_value){text, (uint32_t)length};
    }
}

typedef void fill_function(const struct fill_column *, const struct fill_rows *, void *, char *);

struct kind {
    fill_function *fill;
    fill_function *fill_unique;
    size_t value_bytes;
    size_t text_bytes;
};

static const struct kind kinds[COLUMN_TYPE_COUNT] = {
    [COLUMN_BOOL] = {fill_bool, fill_bool, sizeof(uint8_t), 0},
    [COLUMN_INT16] = {fill_int16, fill_unique_int16, sizeof(int16_t), 0},
    [COLUMN_INT32] = {fill_int32, fill_unique_int32, sizeof(int32_t), 0},
    [COLUMN_INT64] = {fill_int64, fill_unique_int64, sizeof(int64_t), 0},
    [COLUMN_FLOAT32] = {fill_float32, fill_unique_float, sizeof(float), 0},
    [COLUMN_FLOAT64] = {fill_float64, fill_unique_double, sizeof(double), 0},
    [COLUMN_DECIMAL] = {fill_decimal, fill_unique_decimal, sizeof(int64_t), 0},
    [COLUMN_TEXT] = {fill_message, fill_unique_text, sizeof(struct text_value), TEXT_MESSAGE_BYTES},
    [COLUMN_BYTES] = {fill_token, fill_unique_text, sizeof(struct text_value), TOKEN_BYTES},
    [COLUMN_JSON] = {fill_json, fill_json, sizeof(struct text_value), JSON_BYTES},
    [COLUMN_DATE] = {fill_date, fill_unique_date, sizeof(int32_t), 0},
    [COLUMN_TIME] = {fill_time, fill_unique_time, sizeof(int64_t), 0},
    [COLUMN_TIMESTAMP] = {fill_timestamp, fill_timestamp, sizeof(int64_t), 0},
    [COLUMN_UUID] = {fill_uuid, fill_uuid, 16, 0},
    [COLUMN_IP4] = {fill_ip4, fill_ip4, 4, 0},
    [COLUMN_IP6] = {fill_ip6, fill_ip6, 16, 0},
};

static uint64_t decimal_limit(const struct column *column)
{
    unsigned digits = column->precision == 0 ? 9u + column->scale : column->precision;
    uint64_t limit = 1;
    for (digits = digits > 18 ? 18 : digits; digits > 0; digits--) {
        limit *= 10;
    }
    return limit;
}

/* Text is a host name where the column says so or has room for no more, and a token where it has
 * less than that. */
static void choose_text(struct fill_column *fill, const struct column *column)
{
    enum {
        HOST_ROOM = 32,
        MESSAGE_ROOM = 64
    };
    fill->limit = column->size;
    const bool is_host = strcmp(column->name, "host") == 0 || strcmp(column->name, "HOST") == 0;
    if (column->size != 0 && column->size < HOST_ROOM) {
        fill->fill = fill_token;
        fill->text_bytes = TOKEN_BYTES;
    } else if (is_host || (column->size != 0 && column->size < MESSAGE_ROOM)) {
        fill->fill = fill_host;
        fill->text_bytes = 0;
    }
}

enum status fill_column_choose(struct fill_column *fill, const struct column *column,
                               unsigned identity)
{
    static const struct kind identities[] = {
        {NULL, NULL, 0, 0},
        {fill_run_tag, fill_run_tag, sizeof(int16_t), 0},
        {fill_session, fill_session, sizeof(int32_t), 0},
        {fill_row_number, fill_row_number, sizeof(int64_t), 0},
    };
    const bool is_known = identity > 0 && identity < sizeof identities / sizeof identities[0];
    const struct kind *kind = is_known ? &identities[identity] : &kinds[column->type];
    if (kind->fill == NULL) {
        return STATUS_REJECTED;
    }
    fill->fill = column->is_unique ? kind->fill_unique : kind->fill;
    fill->is_identity = is_known || column->is_unique;
    fill->value_bytes = kind->value_bytes;
    fill->text_bytes = kind->text_bytes;
    if (column->type == COLUMN_DECIMAL) {
        fill->limit = decimal_limit(column);
    }
    if (column->type == COLUMN_BYTES) {
        fill->limit = column->size;
    }
    if (column->type == COLUMN_TEXT && column->is_unique) {
        fill->limit = column->size;
        fill->text_bytes = TOKEN_BYTES;
    } else if (column->type == COLUMN_TEXT) {
        choose_text(fill, column);
    }
    return STATUS_OK;
}

/* Which of the values a row gets. */
static uint64_t choice_of(const struct fill_column *column, uint64_t hash, uint64_t serial)
{
    const uint64_t number = column->is_in_turn ? serial : hash;
    return column->choice_count == 0 ? number : number % column->choice_count;
}

static int64_t range_value(const struct fill_column *column, uint64_t hash, uint64_t serial)
{
    return (int64_t)((uint64_t)column->from + choice_of(column, hash, serial));
}

FILL_WITH(fill_range_int8, uint8_t, range_value(column, h, serial))
FILL_WITH(fill_range_int16, int16_t, range_value(column, h, serial))
FILL_WITH(fill_range_int32, int32_t, range_value(column, h, serial))
FILL_WITH(fill_range_int64, int64_t, range_value(column, h, serial))
FILL_WITH(fill_range_float32, float, range_value(column, h, serial))
FILL_WITH(fill_range_float64, double, range_value(column, h, serial))
FILL_WITH(fill_range_decimal, int64_t, range_value(column, h, serial) * column->unit)

enum {
    INTEGER_BYTES = 24
};

static void fill_range_text(const struct fill_column *column, const struct fill_rows *rows,
                            void *values, char *text)
{
    struct text_value *const out = values;
    for (size_t i = 0; i < rows->count; i++, text += INTEGER_BYTES) {
        const int length =
            snprintf(text, INTEGER_BYTES, "%" PRId64,
                     range_value(column, hash_at(column, rows, i), serial_at(rows, i)));
        out[i] = (struct text_value){text, (uint32_t)length};
    }
}

static void fill_word(const struct fill_column *column, const struct fill_rows *rows, void *values,
                      char *text)
{
    (void)text;
    const size_t bytes = column->value_bytes;
    for (size_t i = 0; i < rows->count; i++) {
        const uint64_t choice = choice_of(column, hash_at(column, rows, i), serial_at(rows, i));
        memcpy((char *)values + i * bytes, (const char *)column->choices + choice * bytes, bytes);
    }
}

/* Whole units times 10^scale; false: that is beyond what a decimal column holds. */
static bool scale_up(const struct column *column, int64_t *unit)
{
    *unit = 1;
    for (unsigned i = 0; i < column->scale; i++) {
        if (__builtin_mul_overflow(*unit, 10, unit)) {
            return false;
        }
    }
    return true;
}

static bool fits_text(const struct column *column, struct text_value text)
{
    uint32_t characters = 0;
    for (uint32_t i = 0; i < text.length; i++) {
        const bool is_inside = column->type != COLUMN_BYTES && (text.bytes[i] & 0xc0) == 0x80;
        characters += is_inside ? 0 : 1;
    }
    return column->size == 0 || characters <= column->size;
}

/* Whether the column holds a whole number, as a number or as text. */
static bool fits_number(const struct column *column, int64_t number)
{
    char text[INTEGER_BYTES];
    int64_t unit;
    switch (column->type) {
    case COLUMN_BOOL:
        return number == 0 || number == 1;
    case COLUMN_INT16:
        return number >= INT16_MIN && number <= INT16_MAX;
    case COLUMN_INT32:
        return number >= INT32_MIN && number <= INT32_MAX;
    case COLUMN_INT64:
    case COLUMN_FLOAT32:
    case COLUMN_FLOAT64:
        return true;
    case COLUMN_DECIMAL:
        return scale_up(column, &unit) && !__builtin_mul_overflow(number, unit, &number) &&
               number < (int64_t)decimal_limit(column) && number > -(int64_t)decimal_limit(column);
    case COLUMN_TEXT:
    case COLUMN_BYTES:
    case COLUMN_JSON:
        snprintf(text, sizeof text, "%" PRId64, number);
        return fits_text(column, (struct text_value){text, (uint32_t)strlen(text)});
    default:
        return false;
    }
}

static bool parse_decimal(const struct column *column, const char *text, int64_t *value)
{
    char digits[64];
    const size_t whole = strcspn(text, ".");
    const size_t fraction = text[whole] == '.' ? strlen(text + whole + 1) : 0;
    if (fraction > column->scale || whole + column->scale >= sizeof digits) {
        return false;
    }
    memcpy(digits, text, whole);
    memset(digits + whole, '0', column->scale);
    memcpy(digits + whole, text + whole + 1, fraction);
    const int64_t limit = (int64_t)decimal_limit(column);
    return number_text_parse(digits, whole + column->scale, value) &&
           *value<limit && * value> - limit;
}

static bool parse_uuid(const char *text, uint8_t value[16])
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    size_t count = 0;
    for (; *text != '\0'; text++) {
        const char *const digit = strchr(digits, *text);
        if (*text == '-' || *text == '{' || *text == '}') {
            continue;
        }
        if (digit == NULL || count == 32) {
            return false;
        }
        value[count / 2] = (uint8_t)(value[count / 2] << 4 | ((digit - digits) & 15));
        count++;
    }
    return count == 32;
}

/* "2026-01-31" or "2026-01-31T12:00:00Z", as nanoseconds since 1970. */
static bool parse_time(const char *text, int64_t *ns)
{
    char moment_text[48];
    struct moment moment;
    snprintf(moment_text, sizeof moment_text, "%s%s", text,
             strchr(text, 'T') == NULL ? "T00:00:00Z" : "");
    *ns = 0;
    return moment_parse(moment_text, &moment) && (*ns = moment.ns, true);
}

static bool parse_bool(const char *text, uint8_t *value)
{
    *value = strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0;
    return *value || strcasecmp(text, "false") == 0 || strcmp(text, "0") == 0;
}

static bool parse_float(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return *end == '\0' && isfinite(*value);
}

/* Writes a whole number as the column's type holds it. */
static bool store_number(const struct column *column, int64_t number, void *out)
{
    if (column->type == COLUMN_INT16) {
        *(int16_t *)out = (int16_t)number;
    } else if (column->type == COLUMN_INT32) {
        *(int32_t *)out = (int32_t)number;
    } else {
        *(int64_t *)out = number;
    }
    return fits_number(column, number);
}

/* Writes one word as the column's type holds it. False: it cannot. */
static bool parse_word(const struct column *column, struct text_value word, void *out)
{
    char text[64];
    int64_t number = 0;
    double real = 0;
    bool is_parsed;
    if (column->type == COLUMN_TEXT || column->type == COLUMN_BYTES ||
        column->type == COLUMN_JSON) {
        *(struct text_value *)out = word;
        return fits_text(column, word);
    }
    if (word.length >= sizeof text) {
        return false;
    }
    memcpy(text, word.bytes, word.length);
    text[word.length] = '\0';
    switch (column->type) {
    case COLUMN_BOOL:
        return parse_bool(text, out);
    case COLUMN_INT16:
    case COLUMN_INT32:
    case COLUMN_INT64:
        return number_text_parse(text, word.length, &number) && store_number(column, number, out);
    case COLUMN_FLOAT32:
        is_parsed = parse_float(text, &real);
        *(float *)out = (float)real;
        return is_parsed && isfinite(*(float *)out);
    case COLUMN_FLOAT64:
        return parse_float(text, out);
    case COLUMN_DECIMAL:
        return parse_decimal(column, text, out);
    case COLUMN_DATE:
        is_parsed = parse_time(text, &number);
        *(int32_t *)out = (int32_t)(number / (86400 * MONO_NS_PER_S));
        return is_parsed && strchr(text, 'T') == NULL;
    case COLUMN_TIMESTAMP:
        return parse_time(text, out);
    case COLUMN_UUID:
        return parse_uuid(text, out);
    case COLUMN_IP4:
        return inet_pton(AF_INET, text, out) == 1;
    case COLUMN_IP6:
        return inet_pton(AF_INET6, text, out) == 1;
    default:
        return false;
    }
}

static enum status refuse_value(const struct column *column, struct text_value value,
                                struct error *error)
{
    error_set(error, ERROR_USAGE, 0, NULL,
              "--values: column '%.100s' has type %s, which does not hold '%.*s'", column->name,
              column->type_name, value.length > 40 ? 40 : (int)value.length, value.bytes);
    return STATUS_REJECTED;
}

static enum status choose_range(struct fill_column *fill, const struct column *column,
                                const struct column_item *item, struct error *error)
{
    static fill_function *const ranges[COLUMN_TYPE_COUNT] = {
        [COLUMN_BOOL] = fill_range_int8,       [COLUMN_INT16] = fill_range_int16,
        [COLUMN_INT32] = fill_range_int32,     [COLUMN_INT64] = fill_range_int64,
        [COLUMN_FLOAT32] = fill_range_float32, [COLUMN_FLOAT64] = fill_range_float64,
        [COLUMN_DECIMAL] = fill_range_decimal, [COLUMN_TEXT] = fill_range_text,
        [COLUMN_BYTES] = fill_range_text,      [COLUMN_JSON] = fill_range_text,
    };
    int64_t from, to;
    column_item_range(item, &from, &to);
    if (!fits_number(column, from) || !fits_number(column, to)) {
        return refuse_value(column, item->values, error);
    }
    fill->fill = ranges[column->type];
    fill->text_bytes = fill->fill == fill_range_text ? INTEGER_BYTES : 0;
    fill->from = from;
    fill->choice_count = (uint64_t)to - (uint64_t)from + 1;
    scale_up(column, &fill->unit);
    return STATUS_OK;
}

static enum status choose_words(struct fill_column *fill, const struct column *column,
                                const struct column_item *item, struct error *error)
{
    struct text_value rest = item->values, word;
    while (column_word_next(&rest, &word)) {
        fill->choice_count++;
    }
    fill->fill = fill_word;
    fill->text_bytes = 0;
    fill->choices = calloc(fill->choice_count, fill->value_bytes);
    if (fill->choices == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the values of --values");
        return STATUS_FATAL;
    }
    rest = item->values;
    for (char *out = fill->choices; column_word_next(&rest, &word); out += fill->value_bytes) {
        if (!parse_word(column, word, out)) {
            fill_column_fini(fill);
            return refuse_value(column, word, error);
        }
    }
    return STATUS_OK;
}

enum status fill_column_choose_values(struct fill_column *fill, const struct column *column,
                                      const struct column_item *item, struct error *error)
{
    int64_t from, to;
    fill->is_in_turn = column->is_unique;
    fill->is_identity = column->is_unique;
    fill->value_bytes = kinds[column->type].value_bytes;
    return column_item_range(item, &from, &to) ? choose_range(fill, column, item, error)
                                               : choose_words(fill, column, item, error);
}

void fill_column_fini(struct fill_column *fill)
{
    free(fill->choices);
    fill->choices = NULL;
}
