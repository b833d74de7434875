/* Values as MariaDB reads them in text and in packets, and what it says to strangers. */
#include "adapters/mariadb_wire.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <mysql.h>

#include "adapters/dialect.h"
#include "base/value_text.h"

enum {
    FRACTION_DIGITS = 6, /* most that the server keeps */
    YEAR_MAX = 9999,
};

/* How a column's values are written. */
enum form {
    FORM_NUMBER, /* bare */
    FORM_QUOTED, /* dates, addresses in a column of text */
    FORM_RAW,    /* bytes of fixed size: addresses, UUIDs */
    FORM_TEXT,   /* text of the batch */
    FORM_BYTES,  /* bytes of the batch */
};

static enum form form_of(const struct column *column)
{
    switch (column->type) {
    case COLUMN_DATE:
    case COLUMN_TIME:
    case COLUMN_TIMESTAMP:
        return FORM_QUOTED;
    case COLUMN_UUID:
    case COLUMN_IP4:
    case COLUMN_IP6:
        return column->native_type == MYSQL_NATIVE_TEXT ? FORM_QUOTED : FORM_RAW;
    case COLUMN_TEXT:
    case COLUMN_JSON:
        return FORM_TEXT;
    case COLUMN_BYTES:
        return FORM_BYTES;
    default:
        return FORM_NUMBER;
    }
}

/* Nine digits tell every float apart. The largest ones need all of the double's: rounded up, they
 * would be out of range. */
static size_t write_float(char *out, float value)
{
    const int digits = fabsf(value) > FLT_MAX / 2 ? 17 : 9;
    return (size_t)snprintf(out, VALUE_TEXT_BYTES, "%.*g", digits, (double)value);
}

/* Date and time of a DATE, TIME or TIMESTAMP column, fractions cut to the column's digits. */
static void time_value(const struct column *column, union column_values values, size_t row,
                       MYSQL_TIME *time)
{
    struct civil_time civil;
    civil_time_of(column, values, row, &civil);
    unsigned long unit = 1;
    for (unsigned digits = column->scale; digits < FRACTION_DIGITS; digits++) {
        unit *= 10;
    }
    const unsigned long microseconds = civil.nanosecond / 1000;
    *time = (MYSQL_TIME){
        /* a year that the server cannot hold becomes one that it refuses */
        .year = civil.year < 0 || civil.year > YEAR_MAX ? YEAR_MAX + 1 : (unsigned)civil.year,
        .month = civil.month,
        .day = civil.day,
        .hour = civil.hour,
        .minute = civil.minute,
        .second = civil.second,
        .second_part = microseconds - microseconds % unit,
    };
}

/* Writes two hexadecimal digits a byte. */
static void write_hex(const void *bytes, size_t length, char *out)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *from = bytes;
    for (size_t i = 0; i < length; i++) {
        out[2 * i] = digits[from[i] >> 4];
        out[2 * i + 1] = digits[from[i] & 15];
    }
}

/* The bytes of one value of a RAW column; returns how many. */
static size_t raw_value(const struct column *column, union column_values values, size_t row,
                        const uint8_t **bytes)
{
    switch (column->type) {
    case COLUMN_IP4:
        *bytes = values.ip4[row];
        return 4;
    case COLUMN_IP6:
        *bytes = values.ip6[row];
        return 16;
    default:
        *bytes = values.uuid[row];
        return 16;
    }
}

/* Writes one value of a NUMBER or QUOTED column, at most VALUE_TEXT_BYTES; returns its length. */
static size_t write_value(const struct column *column, union column_values values, size_t row,
                          char *out)
{
    struct civil_time time;
    switch (column->type) {
    case COLUMN_FLOAT32:
        return write_float(out, values.float32[row]);
    case COLUMN_FLOAT64:
        return (size_t)snprintf(out, VALUE_TEXT_BYTES, "%.17g", values.float64[row]);
    case COLUMN_DATE:
    case COLUMN_TIMESTAMP:
        civil_time_of(column, values, row, &time);
        if (time.year < 0 || time.year > YEAR_MAX) {
            /* one that the server refuses, rather than reads as another one */
            return (size_t)snprintf(out, VALUE_TEXT_BYTES, "%d-%02u-%02u", YEAR_MAX + 1, time.month,
                                    time.day);
        }
        return value_text_write(out, column, values, row, column->scale);
    default:
        return value_text_write(out, column, values, row, column->scale);
    }
}

/* Adds 'text' with what needs it escaped. */
static void add_quoted(struct buffer *sql, const char *text, size_t length, bool has_escapes)
{
    size_t done = 0;

    buffer_add(sql, "'", 1);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\'' || (text[i] == '\\' && has_escapes)) {
            buffer_add(sql, text + done, i - done);
            buffer_add(sql, &text[i], 1); /* doubled */
            done = i;
        }
    }
    buffer_add(sql, text + done, length - done);
    buffer_add(sql, "'", 1);
}

static void add_hex(struct buffer *sql, const void *bytes, size_t length)
{
    char piece[256];
    const unsigned char *from = bytes;
    buffer_add(sql, "x'", 2);
    while (length > 0) {
        const size_t part = length < sizeof piece / 2 ? length : sizeof piece / 2;
        write_hex(from, part, piece);
        buffer_add(sql, piece, 2 * part);
        from += part;
        length -= part;
    }
    buffer_add(sql, "'", 1);
}

void mariadb_add_literal(struct buffer *sql, const struct column *column,
                         const struct column_data *data, size_t row, bool has_escapes)
{
    char text[VALUE_TEXT_BYTES + 2];
    const uint8_t *raw;
    size_t length;

    if (data->is_null != NULL && data->is_null[row]) {
        buffer_add(sql, "NULL", 4);
        return;
    }
    switch (form_of(column)) {
    case FORM_NUMBER:
        length = write_value(column, data->values, row, text);
        buffer_add(sql, text, length);
        break;
    case FORM_QUOTED:
        length = write_value(column, data->values, row, text + 1);
        text[0] = '\'';
        text[length + 1] = '\'';
        buffer_add(sql, text, length + 2);
        break;
    case FORM_RAW:
        length = raw_value(column, data->values, row, &raw);
        add_hex(sql, raw, length);
        break;
    case FORM_TEXT:
        add_quoted(sql, data->values.text[row].bytes, data->values.text[row].length, has_escapes);
        break;
    case FORM_BYTES:
        add_hex(sql, data->values.text[row].bytes, data->values.text[row].length);
        break;
    }
}

enum {
    FLAG_TYPES = 128, /* the types of the parameters are in the packet */
};

static enum enum_field_types wire_type(const struct column *column)
{
    switch (column->type) {
    case COLUMN_BOOL:
        return MYSQL_TYPE_TINY;
    case COLUMN_INT16:
        return MYSQL_TYPE_SHORT;
    case COLUMN_INT32:
        return MYSQL_TYPE_LONG;
    case COLUMN_INT64:
        return MYSQL_TYPE_LONGLONG;
    case COLUMN_FLOAT32:
        return MYSQL_TYPE_FLOAT;
    case COLUMN_FLOAT64:
        return MYSQL_TYPE_DOUBLE;
    case COLUMN_DECIMAL:
        return MYSQL_TYPE_NEWDECIMAL;
    case COLUMN_DATE:
        return MYSQL_TYPE_DATE;
    case COLUMN_TIME:
        return MYSQL_TYPE_TIME;
    case COLUMN_TIMESTAMP:
        return MYSQL_TYPE_DATETIME;
    default:
        break;
    }
    const enum form form = form_of(column);
    return form == FORM_RAW || form == FORM_BYTES ? MYSQL_TYPE_BLOB : MYSQL_TYPE_VAR_STRING;
}

size_t mariadb_put_number(unsigned char *out, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        out[i] = (unsigned char)(value >> (8 * i));
    }
    return bytes;
}

size_t mariadb_put_length(unsigned char *out, uint64_t length)
{
    if (length < 251) {
        return mariadb_put_number(out, length, 1);
    }
    const size_t bytes = length <= UINT16_MAX ? 2 : length < 1U << 24 ? 3 : 8;
    out[0] = (unsigned char)(bytes == 8 ? 254 : 250 + bytes);
    return 1 + mariadb_put_number(out + 1, length, bytes);
}

static size_t put_float(unsigned char *out, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return mariadb_put_number(out, bits, sizeof bits);
}

static size_t put_double(unsigned char *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return mariadb_put_number(out, bits, sizeof bits);
}

/* A length byte, and as much as is not zero at the end. */
static size_t put_time(unsigned char *out, const struct column *column, union column_values values,
                       size_t row)
{
    MYSQL_TIME time;
    size_t at = 1;
    time_value(column, values, row, &time);
    if (column->type == COLUMN_TIME) {
        at += mariadb_put_number(out + at, 0, 5); /* positive, no days */
    } else {
        at += mariadb_put_number(out + at, time.year, 2);
        at += mariadb_put_number(out + at, time.month, 1);
        at += mariadb_put_number(out + at, time.day, 1);
    }
    if (column->type != COLUMN_DATE) {
        at += mariadb_put_number(out + at, time.hour, 1);
        at += mariadb_put_number(out + at, time.minute, 1);
        at += mariadb_put_number(out + at, time.second, 1);
        at += mariadb_put_number(out + at, time.second_part, 4);
    }
    out[0] = (unsigned char)(at - 1);
    return at;
}

static void add_bytes(struct buffer *packet, const void *bytes, size_t length)
{
    unsigned char prefix[10] = {STMT_INDICATOR_NONE};
    buffer_add(packet, prefix, 1 + mariadb_put_length(prefix + 1, length));
    buffer_add(packet, bytes, length);
}

/* A value of fixed size, in the way its bytes stand in the batch. */
static size_t put_value(unsigned char *out, const struct column *column, union column_values values,
                        size_t row)
{
    switch (column->type) {
    case COLUMN_BOOL:
        return mariadb_put_number(out, values.boolean[row] != 0, 1);
    case COLUMN_INT16:
        return mariadb_put_number(out, (uint16_t)values.int16[row], 2);
    case COLUMN_INT32:
        return mariadb_put_number(out, (uint32_t)values.int32[row], 4);
    case COLUMN_INT64:
        return mariadb_put_number(out, (uint64_t)values.int64[row], 8);
    case COLUMN_FLOAT32:
        return put_float(out, values.float32[row]);
    case COLUMN_FLOAT64:
        return put_double(out, values.float64[row]);
    case COLUMN_DATE:
    case COLUMN_TIME:
    case COLUMN_TIMESTAMP:
        return put_time(out, column, values, row);
    default:
        return 0;
    }
}

static void add_value(struct buffer *packet, const struct column *column,
                      const struct column_data *data, size_t row)
{
    unsigned char out[32] = {STMT_INDICATOR_NONE};
    char text[VALUE_TEXT_BYTES];
    const uint8_t *raw;
    size_t length;

    if (data->is_null != NULL && data->is_null[row]) {
        out[0] = STMT_INDICATOR_NULL;
        buffer_add(packet, out, 1);
        return;
    }
    length = put_value(out + 1, column, data->values, row);
    if (length > 0) {
        buffer_add(packet, out, 1 + length);
        return;
    }
    switch (form_of(column)) {
    case FORM_TEXT:
    case FORM_BYTES:
        add_bytes(packet, data->values.text[row].bytes, data->values.text[row].length);
        break;
    case FORM_RAW:
        length = raw_value(column, data->values, row, &raw);
        add_bytes(packet, raw, length);
        break;
    default:
        length = write_value(column, data->values, row, text);
        add_bytes(packet, text, length);
    }
}

void mariadb_add_bulk(struct buffer *packet, unsigned long statement, const struct batch *batch)
{
    const struct table *table = batch->table;
    unsigned char head[MARIADB_ID_BYTES + 2];

    mariadb_put_number(head, statement, MARIADB_ID_BYTES);
    mariadb_put_number(head + MARIADB_ID_BYTES, FLAG_TYPES, 2);
    buffer_add(packet, head, sizeof head);
    for (size_t i = 0; i < table->column_count; i++) {
        if (!table->columns[i].is_generated) {
            mariadb_put_number(head, (uint64_t)wire_type(&table->columns[i]), 2);
            buffer_add(packet, head, 2);
        }
    }
    for (size_t row = 0; row < batch->row_count; row++) {
        for (size_t i = 0; i < table->column_count; i++) {
            if (!table->columns[i].is_generated) {
                add_value(packet, &table->columns[i], &batch->columns[i], row);
            }
        }
    }
}

enum {
    HEADER_BYTES = 4, /* length of the packet in 3 bytes, its number */
    PROTOCOL = 10,
    ERROR_PACKET = 0xff, /* too many connections, host blocked: it does not greet everybody */
    ERROR_NUMBER_MIN = 1000,
    ERROR_NUMBER_MAX = 4999,
};

/* A greeting is packet 0: the number of the protocol, and the server's version as a text. */
enum probe_answer mariadb_judge(const unsigned char *bytes, size_t length)
{
    if (length < HEADER_BYTES) {
        return PROBE_MORE;
    }
    const size_t packet = bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16;
    const size_t rest = length - HEADER_BYTES;
    const enum probe_answer unfinished = rest < packet ? PROBE_MORE : PROBE_NO;
    if (bytes[3] != 0 || packet < 3 || packet > 1024) {
        return PROBE_NO;
    }
    if (rest < 3) {
        return unfinished;
    }
    const unsigned char *version = bytes + HEADER_BYTES + 1;
    if (bytes[HEADER_BYTES] == ERROR_PACKET) {
        const unsigned number = version[0] | (unsigned)version[1] << 8;
        return number >= ERROR_NUMBER_MIN && number <= ERROR_NUMBER_MAX ? PROBE_YES : PROBE_NO;
    }
    if (bytes[HEADER_BYTES] != PROTOCOL || version[0] < '0' || version[0] > '9') {
        return PROBE_NO;
    }
    return memchr(version, '\0', rest - 1) != NULL ? PROBE_YES : unfinished;
}
