#include "load/generator.h"

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

#include "append/value_text.h"
#include "base/mono.h"
#include "base/process.h"
#include "base/random.h"
#include "base/text.h"
#include "plan/facts.h"

/*
 * Text that resembles real logs: host names and messages.
 *
 * Messages are templates in which groups of digits are replaced, so they differ in every row and
 * still look like a log. All output is ASCII: one character is one byte.
 */
enum {
    TEXT_MESSAGE_BYTES = 128, /* room for one message, including padding */
    TEXT_HOST_BYTES = 48,
    TEXT_HOSTS = 512,
    TEXT_TEMPLATES = 16,
    TEXT_PAIRS_MAX = 12,
    TOKEN_BYTES = 32,
    JSON_BYTES = 96,
    INTEGER_BYTES = 24,
    HOST_ROOM = 32,    /* a shorter text column gets tokens (hexadecimal digits) instead of host
                          names */
    MESSAGE_ROOM = 64, /* a shorter text column gets host names instead of messages */
};

/* A message, and the positions of the pairs of digits in it. The digits change from row to row. */
struct text_template {
    char bytes[TEXT_MESSAGE_BYTES];
    uint32_t length;
    uint32_t pair_count;
    uint8_t pairs[TEXT_PAIRS_MAX]; /* offset of each pair */
};

struct text_source {
    struct text_template templates[TEXT_TEMPLATES];
    char hosts[TEXT_HOSTS][TEXT_HOST_BYTES];
    uint8_t host_lengths[TEXT_HOSTS];
};

/* Each ## is replaced by two digits in every row. A single # is always the digit 4. */
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

static void text_source_init(struct text_source *source)
{
    static const char *const roles[] = {"web", "app", "db", "cache", "mq", "edge", "plc", "gw"};
    static const char *const sites[] = {"seoul-1", "busan-2", "fra-1", "iad-3"};
    for (size_t i = 0; i < TEXT_TEMPLATES; i++) {
        struct text_template *template = &source->templates[i];
        char *const bytes = template->bytes;
        template->length = (uint32_t)snprintf(bytes, sizeof template->bytes, "%s", patterns[i]);
        for (uint32_t at = 0; at < template->length; at++) {
            if (bytes[at] == '#' && bytes[at + 1] == '#' && template->pair_count < TEXT_PAIRS_MAX) {
                template->pairs[template->pair_count++] = (uint8_t)at;
                bytes[at + 1] = '2';
            }
            if (bytes[at] == '#') {
                bytes[at] = '4';
            }
        }
    }
    for (unsigned i = 0; i < TEXT_HOSTS; i++) {
        const int length = snprintf(source->hosts[i], TEXT_HOST_BYTES, "%s-%03u.%s.example.net",
                                    roles[i % 8], i / 8 % 16 + 1, sites[i / 128]);
        source->host_lengths[i] = (uint8_t)length;
    }
}

/* The rows of one batch. Its columns are filled one after the other. With constant data `step` is
 * 0, so every row is like the first. */
struct fill_rows {
    const struct text_source *text;
    uint64_t first_row;
    uint64_t step;
    size_t count;
    uint64_t session;
    /* number of sessions in the run; row r of session s has the serial number r × sessions + s */
    uint64_t sessions;
    uint64_t run_hash;
    int16_t run_tag;
};

struct fill_column {
    void (*fill)(const struct fill_column *column, const struct fill_rows *rows, void *values,
                 char *text);
    uint64_t key;   /* start value of the hashes of the column; differs between columns and seeds */
    uint64_t limit; /* in a decimal column, all values are below this number; in a text column, the
                       maximum length, 0: unlimited */
    bool is_identity;     /* the values identify rows: they differ even with constant data */
    size_t value_bytes;   /* size of an entry of the value array */
    size_t text_bytes;    /* memory for the text of one row; 0 = no text */
    size_t values_offset; /* offset of the value array in a row buffer */
    size_t text_offset;

    /* The members below are for --values. */
    bool is_in_turn;       /* rows take the values one after the other, so that the rows differ */
    uint64_t choice_count; /* number of values; 0 = 2^64 */
    int64_t from;          /* lowest number of a range */
    int64_t unit;          /* the stored integer that means 1 in a decimal column */
    void *choices;         /* the listed values, encoded as in the value array; owned */
};

/* Start of the generated dates and times: 2024-01-01 00:00:00 UTC. It is fixed, so that values do
 * not depend on today's date. */
#define EPOCH_S INT64_C(1704067200)
#define TICK_NS INT64_C(100000)

/* Defines a function that fills a column with an expression of `row`, its serial number `serial` in
 * the run, its hash `h`, and its index `i` in the batch. */
#define FILL_WITH(function, type, expression)                                                      \
    static void function(const struct fill_column *column, const struct fill_rows *rows,           \
                         void *values, char *text)                                                 \
    {                                                                                              \
        (void)text;                                                                                \
        type *const out = values;                                                                  \
        for (size_t i = 0; i < rows->count; i++) {                                                 \
            const uint64_t row = rows->first_row + i * rows->step;                                 \
            const uint64_t serial = row * rows->sessions + rows->session;                          \
            const uint64_t h = random_mix(column->key + serial * RANDOM_STEP);                     \
            (void)row;                                                                             \
            (void)serial;                                                                          \
            (void)h;                                                                               \
            out[i] = (expression);                                                                 \
        }                                                                                          \
    }

FILL_WITH(fill_run_tag, int16_t, rows->run_tag)
FILL_WITH(fill_session, int32_t, (int32_t)rows->session)
FILL_WITH(fill_row_number, int64_t, (int64_t)row)
FILL_WITH(fill_bool, uint8_t, h & 1)
FILL_WITH(fill_int16, int16_t, (int16_t)(h >> 48))
FILL_WITH(fill_int32, int32_t, (int32_t)(h >> 33))
FILL_WITH(fill_int64, int64_t, (int64_t)(h >> 1))
FILL_WITH(fill_float32, float, (float)(h >> 40) * (100.0f / 16777216.0f))
FILL_WITH(fill_float64, double, (double)(h >> 11) * (1000.0 / 9007199254740992.0))
FILL_WITH(fill_decimal, int64_t, (int64_t)(h % column->limit))
FILL_WITH(fill_date, int32_t, (int32_t)(EPOCH_S / 86400 + (int64_t)(h % 366)))
FILL_WITH(fill_time, int64_t, (int64_t)(h % UINT64_C(86400000000)) * 1000)
FILL_WITH(fill_timestamp, int64_t, EPOCH_S *MONO_NS_PER_S + (int64_t)serial * TICK_NS)
FILL_WITH(fill_unique_int16, int16_t, (int16_t)serial)
FILL_WITH(fill_unique_int32, int32_t, (int32_t)(((rows->run_hash >> 33) + serial) & INT32_MAX))
FILL_WITH(fill_unique_int64, int64_t, (int64_t)(((rows->run_hash >> 33) << 32) + serial))
FILL_WITH(fill_unique_float, float, (float)serial)
FILL_WITH(fill_unique_double, double,
          (double)(rows->run_hash >> 44) * 4294967296.0 + (double)serial)
FILL_WITH(fill_unique_decimal, int64_t, (int64_t)(serial % column->limit))
FILL_WITH(fill_unique_date, int32_t, (int32_t)(serial % 2900000))
FILL_WITH(fill_unique_time, int64_t, (int64_t)(serial % UINT64_C(86400000000)) * 1000)

struct ip4 {
    uint8_t bytes[4];
};
FILL_WITH(fill_ip4, struct ip4,
          ((struct ip4){{10, (uint8_t)(h >> 56), (uint8_t)(h >> 48), (uint8_t)(h >> 40)}}))

struct bytes16 {
    uint8_t bytes[16];
};

static struct bytes16 make_ip6(uint64_t interface)
{
    struct bytes16 value = {{0xfd, 0x00, 0x0a, 0x99, 0xe2, 0xd0, 0x00, 0x01}};
    memcpy(value.bytes + 8, &interface, sizeof interface);
    return value;
}
FILL_WITH(fill_ip6, struct bytes16, make_ip6(h))

/* Makes a UUID from two hashes, with the version and variant bits of a random UUID (RFC 9562,
 * 5.4). */
static struct bytes16 make_uuid(uint64_t high, uint64_t serial)
{
    struct bytes16 value;
    const uint64_t low = random_mix(high ^ serial);
    memcpy(value.bytes, &high, sizeof high);
    memcpy(value.bytes + 8, &low, sizeof low);
    value.bytes[6] = (uint8_t)((value.bytes[6] & 0x0f) | 0x40);
    value.bytes[8] = (uint8_t)((value.bytes[8] & 0x3f) | 0x80);
    return value;
}
FILL_WITH(fill_uuid, struct bytes16, make_uuid(h ^ rows->run_hash, serial))

/* Returns the text, shortened to the maximum length of the column. */
static struct text_value cut(const struct fill_column *column, const char *text, uint32_t length)
{
    const bool is_long = column->limit != 0 && length > column->limit;
    return (struct text_value){text, is_long ? (uint32_t)column->limit : length};
}

/* Writes the message for a hash to `out`, which has TEXT_MESSAGE_BYTES. */
static struct text_value make_message(const struct fill_column *column,
                                      const struct text_source *source, uint64_t hash, char *out)
{
    const struct text_template *template = &source->templates[hash % TEXT_TEMPLATES];
    memcpy(out, template->bytes, TEXT_MESSAGE_BYTES);
    /* replaces each pair of digits by the next two decimal digits of `fraction`, a number below 1
     * in units of 2^-56 */
    uint64_t fraction = hash >> 8;
    for (uint32_t i = 0; i < template->pair_count; i++) {
        fraction = (fraction & ((UINT64_C(1) << 56) - 1)) * 100;
        memcpy(out + template->pairs[i], value_digit_pairs + 2 * (fraction >> 56), 2);
    }
    return cut(column, out, template->length);
}
FILL_WITH(fill_message, struct text_value,
          make_message(column, rows->text, h, text + i * TEXT_MESSAGE_BYTES))
FILL_WITH(fill_host, struct text_value,
          cut(column, rows->text->hosts[h % TEXT_HOSTS], rows->text->host_lengths[h % TEXT_HOSTS]))

/* Writes two hashes as 32 hexadecimal digits. */
static char *write_token(uint64_t high, uint64_t low, char *out)
{
    static const char hex[] = "0123456789abcdef";
    for (unsigned i = 0; i < 16; i++) {
        out[15 - i] = hex[(low >> (4 * i)) & 15];
        out[31 - i] = hex[(high >> (4 * i)) & 15];
    }
    return out;
}
FILL_WITH(fill_token, struct text_value,
          cut(column, write_token(random_mix(h), h, text + i * TOKEN_BYTES), 16))

/* Makes a unique text. A short column gets the last digits of the serial number; a longer one also
 * gets digits of the run's hash. */
static struct text_value make_unique_text(const struct fill_column *column, uint64_t run_hash,
                                          uint64_t serial, char *out)
{
    struct text_value value = cut(column, write_token(run_hash, serial, out), TOKEN_BYTES);
    value.bytes += value.length < 16 ? 16 - value.length : 0;
    return value;
}
FILL_WITH(fill_unique_text, struct text_value,
          make_unique_text(column, rows->run_hash, serial, text + i * TOKEN_BYTES))

static struct text_value make_json(uint64_t session, uint64_t row, uint64_t hash, char *out)
{
    const int length =
        snprintf(out, JSON_BYTES, "{\"session\":%" PRIu64 ",\"row\":%" PRIu64 ",\"value\":%u.%02u}",
                 session, row, (unsigned)(hash >> 48), (unsigned)(hash % 100));
    return (struct text_value){out, (uint32_t)length};
}
FILL_WITH(fill_json, struct text_value, make_json(rows->session, row, h, text + i * JSON_BYTES))

/* Returns the index of the value that --values gives to a row. */
static uint64_t choice_number(const struct fill_column *column, uint64_t hash, uint64_t serial)
{
    const uint64_t number = column->is_in_turn ? serial : hash;
    return column->choice_count == 0 ? number : number % column->choice_count;
}

static int64_t range_value(const struct fill_column *column, uint64_t hash, uint64_t serial)
{
    return (int64_t)((uint64_t)column->from + choice_number(column, hash, serial));
}

FILL_WITH(fill_range_bool, uint8_t, (uint8_t)range_value(column, h, serial))
FILL_WITH(fill_range_int16, int16_t, (int16_t)range_value(column, h, serial))
FILL_WITH(fill_range_int32, int32_t, (int32_t)range_value(column, h, serial))
FILL_WITH(fill_range_int64, int64_t, range_value(column, h, serial))
FILL_WITH(fill_range_float32, float, (float)range_value(column, h, serial))
FILL_WITH(fill_range_float64, double, (double)range_value(column, h, serial))
FILL_WITH(fill_range_decimal, int64_t, range_value(column, h, serial) * column->unit)

static struct text_value make_integer(int64_t number, char *out)
{
    return (struct text_value){out, (uint32_t)value_text_integer(out, number)};
}
FILL_WITH(fill_range_text, struct text_value,
          make_integer(range_value(column, h, serial), text + i * INTEGER_BYTES))

static void fill_word(const struct fill_column *column, const struct fill_rows *rows, void *values,
                      char *text)
{
    (void)text;
    const size_t bytes = column->value_bytes;
    for (size_t i = 0; i < rows->count; i++) {
        const uint64_t serial = (rows->first_row + i * rows->step) * rows->sessions + rows->session;
        const uint64_t hash = random_mix(column->key + serial * RANDOM_STEP);
        memcpy((char *)values + i * bytes,
               (const char *)column->choices + choice_number(column, hash, serial) * bytes, bytes);
    }
}

typedef void fill_function(const struct fill_column *, const struct fill_rows *, void *, char *);

/* The functions that make the values of each type. */
static const struct kind {
    fill_function *fill;
    fill_function *fill_unique;
    fill_function *fill_range; /* NULL if --values does not support ranges of this type */
    size_t text_bytes;
} kinds[COLUMN_TYPE_COUNT] = {
    [COLUMN_BOOL] = {fill_bool, fill_bool, fill_range_bool, 0},
    [COLUMN_INT16] = {fill_int16, fill_unique_int16, fill_range_int16, 0},
    [COLUMN_INT32] = {fill_int32, fill_unique_int32, fill_range_int32, 0},
    [COLUMN_INT64] = {fill_int64, fill_unique_int64, fill_range_int64, 0},
    [COLUMN_FLOAT32] = {fill_float32, fill_unique_float, fill_range_float32, 0},
    [COLUMN_FLOAT64] = {fill_float64, fill_unique_double, fill_range_float64, 0},
    [COLUMN_DECIMAL] = {fill_decimal, fill_unique_decimal, fill_range_decimal, 0},
    [COLUMN_TEXT] = {fill_message, fill_unique_text, fill_range_text, TEXT_MESSAGE_BYTES},
    [COLUMN_BYTES] = {fill_token, fill_unique_text, fill_range_text, TOKEN_BYTES},
    [COLUMN_JSON] = {fill_json, fill_json, fill_range_text, JSON_BYTES},
    [COLUMN_DATE] = {fill_date, fill_unique_date, NULL, 0},
    [COLUMN_TIME] = {fill_time, fill_unique_time, NULL, 0},
    [COLUMN_TIMESTAMP] = {fill_timestamp, fill_timestamp, NULL, 0},
    [COLUMN_UUID] = {fill_uuid, fill_uuid, NULL, 0},
    [COLUMN_IP4] = {fill_ip4, fill_ip4, NULL, 0},
    [COLUMN_IP6] = {fill_ip6, fill_ip6, NULL, 0},
};

/* The columns that identify rows, as in syslog_table: n1, n2 and n3. */
static const struct {
    const char *name;
    enum column_type type;
    fill_function *fill;
} identities[] = {{"n1", COLUMN_INT16, fill_run_tag},
                  {"n2", COLUMN_INT32, fill_session},
                  {"n3", COLUMN_INT64, fill_row_number}};

/* Chooses how to fill a column without --values, by its type. `identity` is the function to use if
 * the column identifies rows, and NULL otherwise. Returns REJECTED if no function can make values
 * of the type. */
static enum status choose_kind(struct fill_column *fill, const struct table *table,
                               const struct column *column, fill_function *identity,
                               struct error *error)
{
    const struct kind *kind = &kinds[column->type];
    const uint32_t size = column->size;
    fill->fill = column->is_unique ? kind->fill_unique : kind->fill;
    if (identity != NULL) {
        fill->fill = identity;
    }
    fill->is_identity = identity != NULL || column->is_unique;
    fill->value_bytes = column_kinds[column->type].bytes;
    fill->text_bytes = kind->text_bytes;
    fill->limit = column->type == COLUMN_DECIMAL ? (uint64_t)value_decimal_limit(column) : size;
    if (kind->fill == NULL) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "table '%.80s': append cannot generate values for column '%.80s' of type %s%s",
                  table->name, column->name, column->type_name,
                  column->is_nullable || column->has_default
                      ? ": omit it with --skip-columns, or list values with --values"
                      : ": list values with --values");
        return STATUS_REJECTED;
    }
    /* A text column gets host names if its name is "host" or if it is too short for messages. It
     * gets tokens if it is too short for host names. */
    const bool is_host = strcmp(column->name, "host") == 0 || strcmp(column->name, "HOST") == 0;
    if (column->type != COLUMN_TEXT) {
        return STATUS_OK;
    }
    if (column->is_unique || (size != 0 && size < HOST_ROOM)) {
        fill->fill = column->is_unique ? fill_unique_text : fill_token;
        fill->text_bytes = TOKEN_BYTES;
    } else if (is_host || (size != 0 && size < MESSAGE_ROOM)) {
        fill->fill = fill_host;
        fill->text_bytes = 0;
    }
    return STATUS_OK;
}

static enum status refuse_value(const struct column *column, struct text_value value,
                                struct error *error)
{
    error_set(error, ERROR_USAGE, 0, NULL,
              "--values: column '%.100s' has type %s, which cannot hold '%.*s'", column->name,
              column->type_name, value.length > 40 ? 40 : (int)value.length, value.bytes);
    return STATUS_REJECTED;
}

/* Chooses how to fill a column with --values. `item` has the values; their text is borrowed and
 * must outlive the generator. Returns REJECTED if the column cannot hold a value, or is unique and
 * has fewer values than rows. */
static enum status choose_values(struct fill_column *fill, const struct column *column,
                                 const struct column_item *item, uint64_t records,
                                 struct error *error)
{
    const struct kind *kind = &kinds[column->type];
    struct text_value rest = item->values, word;
    char number[INTEGER_BYTES];
    struct text_value scratch = {NULL, 0}; /* room as large as the largest value */
    int64_t to;
    fill->is_in_turn = column->is_unique;
    fill->is_identity = column->is_unique;
    fill->value_bytes = column_kinds[column->type].bytes;
    if (column_item_range(item, &fill->from, &to)) {
        if (!value_text_read(column, make_integer(fill->from, number), &scratch) ||
            !value_text_read(column, make_integer(to, number), &scratch)) {
            return refuse_value(column, item->values, error);
        }
        fill->fill = kind->fill_range;
        fill->text_bytes = column_kinds[column->type].is == COLUMN_IS_TEXT ? INTEGER_BYTES : 0;
        fill->choice_count = (uint64_t)to - (uint64_t)fill->from + 1;
        fill->unit = column->scale <= 18 ? (int64_t)value_powers_of_ten[column->scale] : 0;
    } else {
        while (column_word_next(&rest, &word)) {
            fill->choice_count++;
        }
        fill->fill = fill_word;
        fill->choices = calloc(fill->choice_count, fill->value_bytes);
        if (fill->choices == NULL) {
            error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the values of --values");
            return STATUS_FATAL;
        }
        rest = item->values;
        for (char *out = fill->choices; column_word_next(&rest, &word); out += fill->value_bytes) {
            if (!value_text_read(column, word, out)) {
                return refuse_value(column, word, error);
            }
        }
    }
    if (fill->is_in_turn && fill->choice_count > 0 && records > fill->choice_count) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--values: column '%.100s' is unique, but has only %" PRIu64
                  " values for %" PRIu64 " rows",
                  column->name, fill->choice_count, records);
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

enum {
    ALIGNMENT = 16,
    BUFFERS_SOFT_LIMIT = 64,
    /* the soft limit is the number of sessions divided by this number, but at least
     * BUFFERS_SOFT_LIMIT */
    SESSIONS_PER_BUFFER = 64,
};

/* If soft_limit buffers exist and all are in use, a session waits until a buffer is returned, but
 * at most BORROW_PATIENCE_NS, and only STALL_PATIENCE_NS if no buffer is returned in this time.
 * After the wait it allocates a new buffer. Without the wait, thousands of sessions that begin at
 * the same moment would each allocate a buffer that they need for microseconds. */
#define BORROW_PATIENCE_NS MONO_NS_PER_S
#define STALL_PATIENCE_NS (10 * MONO_NS_PER_MS)

struct generator {
    const struct table *table;
    size_t buffer_rows;
    size_t buffer_bytes;
    unsigned soft_limit;   /* number of buffers that may be allocated before a thread waits for a
                              returned buffer */
    struct fill_rows rows; /* the members that are the same for all batches */
    bool is_constant;
    struct text_source text;

    pthread_mutex_t lock; /* guards the members below, except `columns` */
    pthread_cond_t returned;
    struct row_buffer *free;
    unsigned made;
    unsigned waiting;
    uint64_t given_back; /* number of returned buffers */

    struct fill_column columns[]; /* table->column_count entries */
};

/* Returns the function that fills a column that identifies rows. Returns NULL if the column does
 * not identify rows, or if --values has values for it. */
static fill_function *identity_of(const struct plan *plan, const struct table *table,
                                  const struct column *column)
{
    struct column_item item;
    for (size_t i = 0; i < COUNT_OF(identities); i++) {
        if (strcasecmp(column->name, identities[i].name) == 0 &&
            column->type == identities[i].type &&
            !column_item_of(plan->values, table, column, &item)) {
            return identities[i].fill;
        }
    }
    return NULL;
}

bool generator_identifies_rows(const struct plan *plan, const struct table *table)
{
    size_t found = 0;
    for (size_t c = 0; c < table->column_count; c++) {
        found += identity_of(plan, table, &table->columns[c]) != NULL ? 1 : 0;
    }
    return found == COUNT_OF(identities);
}

static size_t align(size_t offset)
{
    return (offset + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

enum status generator_create(struct generator **generator, const struct plan *plan,
                             const struct table *table, struct error *error)
{
    const bool has_identity = generator_identifies_rows(plan, table);
    struct generator *g = calloc(1, sizeof *g + table->column_count * sizeof(struct fill_column));
    if (g == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the row generator");
        return STATUS_FATAL;
    }
    g->table = table;
    g->buffer_rows = plan->batch_rows < ROW_BATCH_MAX ? (size_t)plan->batch_rows : ROW_BATCH_MAX;
    g->soft_limit = plan_share(plan).count / SESSIONS_PER_BUFFER;
    if (g->soft_limit < BUFFERS_SOFT_LIMIT) {
        g->soft_limit = BUFFERS_SOFT_LIMIT;
    }
    g->rows = (struct fill_rows){.text = &g->text,
                                 .sessions = plan->sessions,
                                 .run_hash = random_mix(~plan->facts->seed),
                                 .run_tag = plan->facts->run_tag};
    g->is_constant = plan->data_mode == DATA_CONSTANT;
    text_source_init(&g->text);
    pthread_mutex_init(&g->lock, NULL);
    thread_cond_init(&g->returned);
    /* choose how to fill the columns, and place their values and texts in a row buffer */
    g->buffer_bytes =
        align(sizeof(struct row_buffer) + table->column_count * sizeof(struct column_data));
    for (size_t c = 0; c < table->column_count; c++) {
        struct fill_column *fill = &g->columns[c];
        const struct column *column = &table->columns[c];
        struct column_item item;
        const enum status status =
            column_item_of(plan->values, table, column, &item)
                ? choose_values(fill, column, &item, plan->records, error)
                : choose_kind(fill, table, column,
                              has_identity ? identity_of(plan, table, column) : NULL, error);
        if (status != STATUS_OK) {
            generator_destroy(g);
            return status;
        }
        fill->key = random_mix(plan->facts->seed ^ random_mix(c + 1));
        fill->values_offset = g->buffer_bytes;
        fill->text_offset = align(fill->values_offset + g->buffer_rows * fill->value_bytes);
        g->buffer_bytes = align(fill->text_offset + g->buffer_rows * fill->text_bytes);
    }
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
    for (size_t c = 0; c < generator->table->column_count; c++) {
        free(generator->columns[c].choices);
    }
    free(generator);
}

size_t generator_buffer_rows(const struct generator *generator)
{
    return generator->buffer_rows;
}

/* Waits until a buffer is returned, or until the time for this is over. The caller holds the
 * lock. */
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

struct row_buffer *generator_borrow(struct generator *generator)
{
    pthread_mutex_lock(&generator->lock);
    if (generator->free == NULL && generator->made >= generator->soft_limit) {
        wait_for_free(generator);
    }
    struct row_buffer *buffer = generator->free;
    if (buffer != NULL) {
        generator->free = buffer->next;
        pthread_mutex_unlock(&generator->lock);
        return buffer;
    }
    generator->made++;
    pthread_mutex_unlock(&generator->lock);
    buffer = malloc(generator->buffer_bytes);
    if (buffer == NULL) {
        pthread_mutex_lock(&generator->lock);
        generator->made--;
        pthread_mutex_unlock(&generator->lock);
        return NULL;
    }
    buffer->batch.table = generator->table;
    buffer->batch.columns = buffer->columns;
    for (size_t c = 0; c < generator->table->column_count; c++) {
        const size_t offset = generator->columns[c].values_offset;
        buffer->columns[c] = (struct column_data){.values.any = (const char *)buffer + offset};
    }
    return buffer;
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
    struct fill_rows same = generator->rows;
    same.count = count;
    struct fill_rows rows = same;
    rows.first_row = first_row;
    rows.step = 1;
    rows.session = session;
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
    generator_fill(generator, buffer, 0, 0, rows);
    const uint64_t bytes = batch_bytes(&buffer->batch);
    generator_give_back(generator, buffer);
    return (double)bytes / (double)rows;
}
