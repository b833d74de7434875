#include "load/generator.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mono.h"
#include "base/process.h"
#include "base/random.h"
#include "base/text.h"
#include "plan/columns.h"

/*
 * Text like that of real logs: host names and messages.
 *
 * Messages come from templates in which groups of digits are replaced; so they differ in every row
 * and still look like a log. All output is ASCII: one character is one byte.
 */
enum {
    TEXT_MESSAGE_BYTES = 128, /* memory for one message, padding included */
    TEXT_HOST_BYTES = 48,
    TEXT_HOSTS = 512,
    TEXT_TEMPLATES = 16,
    TEXT_PAIRS_MAX = 12,
};

/* A message with places for pairs of digits. */
struct text_template {
    char bytes[TEXT_MESSAGE_BYTES];
    uint32_t length;
    uint32_t pair_count;
    uint8_t pairs[TEXT_PAIRS_MAX]; /* offsets */
};

struct text_source {
    struct text_template templates[TEXT_TEMPLATES];
    char hosts[TEXT_HOSTS][TEXT_HOST_BYTES];
    uint8_t host_lengths[TEXT_HOSTS];
    char digits[200]; /* "00" … "99" */
};

/* Each ## becomes two digits. */
static const char *const patterns[TEXT_TEMPLATES] = {
    "sshd[##1##]: Accepted publickey for deploy from 10.2##.1##.2## port 5##2# ssh2: RSA "
    "SHA256:##ab##e7",
    "kernel: [##34##.##5##] eth0: link up, 1000 Mbps, full duplex, lpa 0x##E1",
    "nginx: 10.1##.2##.1## \"GET /api/v2/orders/##9## HTTP/1.1\" 200 ##4# rt=0.0## uct=0.0##",
    "systemd[1]: session-##1##.scope: Deactivated successfully, consumed ##.##s CPU time.",
    "postfix/smtpd[##3##]: connect from mail-##1.example.com[192.168.1##.2##], TLSv1.3 ##6 bits",
    "CRON[##0##]: (root) CMD (/usr/local/bin/rotate --keep ## --max-size ##M /var/log/app-##)",
    "app[##7##]: level=info msg=\"request completed\" status=200 duration_ms=##.## user_id=##8##",
    "app[##2##]: level=warn msg=\"retrying upstream call\" attempt=## backoff_ms=1## shard=s##-1##",
    "haproxy[##5##]: backend app/web-## 10.0.##.1##: ##/0/1/##/4# 200 2##1 - - ---- ##/##/1/0/0",
    "sensor gateway: line ## station ## torque 1##.## Nm angle 2##.# deg cycle ##41## result OK",
    "sensor gateway: line ## station ## temperature ##.## C pressure 1.## bar batch B##-##77",
    "dhcpd[##8##]: DHCPACK on 10.4##.1##.## to 3c:##:5a:##:7f:## via eth1.##",
    "auditd[##4##]: type=USER_LOGIN msg=audit(17##3##.##4:##): pid=##12 uid=0 res=success",
    "dockerd: time=\"2024-0#-1#T##:##:##.##Z\" level=info msg=\"ignoring event\" "
    "container=##c4##f9",
    "plc[##1##]: program P##-2## step ## done in ##4 us, queue depth ##, watchdog 0x##A##F",
    "smartd[##6##]: Device: /dev/sd##, SMART usage attribute: 194 Temperature changed from 1## to "
    "1##",
};

static void compile_template(struct text_template *template, const char *pattern)
{
    memset(template, 0, sizeof *template);
    template->length = (uint32_t)snprintf(template->bytes, sizeof template->bytes, "%s", pattern);
    for (uint32_t i = 0; i < template->length; i++) {
        if (template->bytes[i] != '#') {
            continue;
        }
        template->bytes[i] = '4';
        if (template->bytes[i + 1] == '#' && template->pair_count < TEXT_PAIRS_MAX) {
            template->pairs[template->pair_count++] = (uint8_t)i;
            template->bytes[i + 1] = '2';
        }
    }
}

static void text_source_init(struct text_source *source)
{
    static const char *const roles[] = {"web", "app", "db", "cache", "mq", "edge", "plc", "gw"};
    static const char *const sites[] = {"seoul-1", "busan-2", "fra-1", "iad-3"};
    for (size_t i = 0; i < TEXT_TEMPLATES; i++) {
        compile_template(&source->templates[i], patterns[i]);
    }
    for (unsigned i = 0; i < TEXT_HOSTS; i++) {
        const int length = snprintf(source->hosts[i], TEXT_HOST_BYTES, "%s-%03u.%s.example.net",
                                    roles[i % 8], i / 8 % 16 + 1, sites[i / 128]);
        source->host_lengths[i] = (uint8_t)length;
    }
    for (unsigned i = 0; i < 100; i++) {
        source->digits[2 * i] = (char)('0' + i / 10);
        source->digits[2 * i + 1] = (char)('0' + i % 10);
    }
}

/* Writes the message of `hash` into TEXT_MESSAGE_BYTES bytes and returns its length. */
static uint32_t text_write_message(const struct text_source *source, uint64_t hash, char *out)
{
    const struct text_template *template = &source->templates[hash % TEXT_TEMPLATES];
    memcpy(out, template->bytes, TEXT_MESSAGE_BYTES);
    /* each pair takes the next two decimal digits of a fraction in 0 … 1 */
    uint64_t fraction = hash >> 8;
    for (uint32_t i = 0; i < template->pair_count; i++) {
        fraction = (fraction & ((UINT64_C(1) << 56) - 1)) * 100;
        memcpy(out + template->pairs[i], source->digits + 2 * (fraction >> 56), 2);
    }
    return template->length;
}

/* How one column is filled: the kinds of values and the loop of each. A column is filled for all
 * rows of a batch at a time. */
/* The rows of one batch. With constant data `step` is 0: every row is the first one. */
struct fill_rows {
    const struct text_source *text;
    uint64_t first_row;
    uint64_t step;
    size_t count;
    uint64_t session;
    uint64_t sessions; /* of the run: row r of session s has number r × sessions + s in it */
    uint64_t run_hash;
    int16_t run_tag;
};

struct fill_column {
    void (*fill)(const struct fill_column *column, const struct fill_rows *rows, void *values,
                 char *text);
    uint64_t key;         /* differs for each column and seed */
    uint64_t limit;       /* decimals: values stay below it; text: longest value */
    bool is_identity;     /* tells rows apart: differs in constant data, too */
    size_t value_bytes;   /* of one entry of the value array */
    size_t text_bytes;    /* memory for the text of one row; 0 = none */
    size_t values_offset; /* in a row buffer */
    size_t text_offset;

    /* of --values */
    bool is_in_turn;       /* the rows take them one after the other, so that they differ */
    uint64_t choice_count; /* 0 = 2^64 */
    int64_t from;          /* of a range of numbers */
    int64_t unit;          /* that a decimal column makes of 1 */
    void *choices;         /* words, as the value array holds them; owned */
};

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

/* Picks the kind for a column by its type; `identity`: 1, 2 or 3 when it is n1, n2 or n3 of a table
 * shaped like syslog_table, else 0. REJECTED: no values of that type can be made. */
static enum status fill_column_choose(struct fill_column *fill, const struct column *column,
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
    return text_parse_integer(digits, whole + column->scale, value) &&
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
        return text_parse_integer(text, word.length, &number) && store_number(column, number, out);
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

/* Frees what the column owns. */
static void fill_column_fini(struct fill_column *fill)
{
    free(fill->choices);
    fill->choices = NULL;
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

/* The same for a column whose values the user has said, in `item`, whose text is borrowed and
 * outlives the generator. REJECTED: *error says which value the column cannot hold. */
static enum status fill_column_choose_values(struct fill_column *fill, const struct column *column,
                                             const struct column_item *item, struct error *error)
{
    int64_t from, to;
    fill->is_in_turn = column->is_unique;
    fill->is_identity = column->is_unique;
    fill->value_bytes = kinds[column->type].value_bytes;
    return column_item_range(item, &from, &to) ? choose_range(fill, column, item, error)
                                               : choose_words(fill, column, item, error);
}

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
    pthread_mutex_init(&g->lock, NULL);
    thread_cond_init(&g->returned);
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
