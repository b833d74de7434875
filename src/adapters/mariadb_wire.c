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
    FLAG_TYPES = 128, /* the types of the parameters are in the packet */
};

/* Bytes of any kind, not text: addresses and UUIDs, too, unless a column of text holds them. */
static bool is_binary(const struct column *column)
{
    const bool is_id =
        column->type == COLUMN_UUID || column->type == COLUMN_IP4 || column->type == COLUMN_IP6;
    return column->type == COLUMN_BYTES || (is_id && column->native_type != MYSQL_NATIVE_TEXT);
}

/* The bytes of a value: those of the batch, or written to `text`, VALUE_TEXT_BYTES. */
static struct text_value bytes_of(const struct column *column, union column_values values,
                                  size_t row, char *text)
{
    struct civil_time civil;
    int length = -1;
    switch (column->type) {
    case COLUMN_TEXT:
    case COLUMN_BYTES:
    case COLUMN_JSON:
        return values.text[row];
    case COLUMN_UUID:
    case COLUMN_IP4:
    case COLUMN_IP6:
        if (is_binary(column)) {
            const uint32_t width = column->type == COLUMN_IP4 ? 4 : 16;
            return (struct text_value){(const char *)values.any + row * width, width};
        }
        break;
    case COLUMN_FLOAT32: {
        /* Nine digits tell every float apart. The largest ones need all of the double's: rounded
         * up, they would be out of range. */
        const float value = values.float32[row];
        length = snprintf(text, VALUE_TEXT_BYTES, "%.*g", fabsf(value) > FLT_MAX / 2 ? 17 : 9,
                          (double)value);
        break;
    }
    case COLUMN_FLOAT64:
        length = snprintf(text, VALUE_TEXT_BYTES, "%.17g", values.float64[row]);
        break;
    case COLUMN_DATE:
    case COLUMN_TIMESTAMP:
        civil_time_of(column, values, row, &civil);
        if (civil.year < 0 || civil.year > YEAR_MAX) {
            /* one that the server refuses, rather than reads as another one */
            length = snprintf(text, VALUE_TEXT_BYTES, "%d-%02u-%02u", YEAR_MAX + 1, civil.month,
                              civil.day);
        }
        break;
    default:
        break;
    }
    const size_t bytes =
        length >= 0 ? (size_t)length : value_text_write(text, column, values, row, column->scale);
    return (struct text_value){text, (uint32_t)bytes};
}

void mariadb_add_literal(struct buffer *sql, const struct column *column,
                         const struct column_data *data, size_t row, bool has_escapes)
{
    static const char digits[] = "0123456789abcdef";
    char text[VALUE_TEXT_BYTES];
    if (data->is_null != NULL && data->is_null[row]) {
        buffer_add(sql, "NULL", 4);
        return;
    }
    const struct text_value value = bytes_of(column, data->values, row, text);
    if (column->type <= COLUMN_DECIMAL) {
        buffer_add(sql, value.bytes, value.length);
        return;
    }
    if (is_binary(column)) {
        char piece[256];
        size_t used = 0;
        buffer_add(sql, "x'", 2);
        for (uint32_t i = 0; i < value.length; i++) {
            const unsigned char byte = (unsigned char)value.bytes[i];
            piece[used++] = digits[byte >> 4];
            piece[used++] = digits[byte & 15];
            if (used == sizeof piece || i + 1 == value.length) {
                buffer_add(sql, piece, used);
                used = 0;
            }
        }
    } else {
        uint32_t done = 0;
        buffer_add(sql, "'", 1);
        for (uint32_t i = 0; i < value.length; i++) {
            if (value.bytes[i] == '\'' || (value.bytes[i] == '\\' && has_escapes)) {
                buffer_add(sql, value.bytes + done, i - done);
                buffer_add(sql, &value.bytes[i], 1); /* doubled */
                done = i;
            }
        }
        buffer_add(sql, value.bytes + done, value.length - done);
    }
    buffer_add(sql, "'", 1);
}

size_t mariadb_put_number(unsigned char *out, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        out[i] = (unsigned char)(value >> (8 * i));
    }
    return bytes;
}

/* A length byte, and as much as is not zero at the end. */
static size_t put_time(unsigned char *out, const struct column *column, union column_values values,
                       size_t row)
{
    struct civil_time civil;
    size_t at = 1;
    civil_time_of(column, values, row, &civil);
    if (column->type == COLUMN_TIME) {
        at += mariadb_put_number(out + at, 0, 5); /* positive, no days */
    } else {
        /* a year that the server cannot hold becomes one that it refuses */
        const bool is_out = civil.year < 0 || civil.year > YEAR_MAX;
        at += mariadb_put_number(out + at, is_out ? YEAR_MAX + 1 : (uint64_t)civil.year, 2);
        out[at++] = (unsigned char)civil.month;
        out[at++] = (unsigned char)civil.day;
    }
    if (column->type != COLUMN_DATE) {
        unsigned long unit = 1; /* fractions are cut to the column's digits */
        for (unsigned digits = column->scale; digits < FRACTION_DIGITS; digits++) {
            unit *= 10;
        }
        const unsigned long microseconds = civil.nanosecond / 1000;
        out[at++] = (unsigned char)civil.hour;
        out[at++] = (unsigned char)civil.minute;
        out[at++] = (unsigned char)civil.second;
        at += mariadb_put_number(out + at, microseconds - microseconds % unit, 4);
    }
    out[0] = (unsigned char)(at - 1);
    return at;
}

static void add_value(struct buffer *packet, const struct column *column,
                      const struct column_data *data, size_t row)
{
    const union column_values values = data->values;
    unsigned char out[32] = {STMT_INDICATOR_NONE};
    char text[VALUE_TEXT_BYTES];
    size_t used = 1;
    uint32_t bits;
    uint64_t long_bits;
    if (data->is_null != NULL && data->is_null[row]) {
        out[0] = STMT_INDICATOR_NULL;
        buffer_add(packet, out, 1);
        return;
    }
    switch (column->type) {
    case COLUMN_BOOL:
        out[used++] = values.boolean[row] != 0;
        break;
    case COLUMN_INT16:
        used += mariadb_put_number(out + 1, (uint16_t)values.int16[row], 2);
        break;
    case COLUMN_INT32:
        used += mariadb_put_number(out + 1, (uint32_t)values.int32[row], 4);
        break;
    case COLUMN_INT64:
        used += mariadb_put_number(out + 1, (uint64_t)values.int64[row], 8);
        break;
    case COLUMN_FLOAT32:
        memcpy(&bits, &values.float32[row], sizeof bits);
        used += mariadb_put_number(out + 1, bits, sizeof bits);
        break;
    case COLUMN_FLOAT64:
        memcpy(&long_bits, &values.float64[row], sizeof long_bits);
        used += mariadb_put_number(out + 1, long_bits, sizeof long_bits);
        break;
    case COLUMN_DATE:
    case COLUMN_TIME:
    case COLUMN_TIMESTAMP:
        used += put_time(out + 1, column, values, row);
        break;
    default: {
        /* its length in front: one byte, or a mark and 2, 3 or 8 */
        const struct text_value value = bytes_of(column, values, row, text);
        const size_t bytes = value.length < 251           ? 0
                             : value.length <= UINT16_MAX ? 2
                             : value.length < 1U << 24    ? 3
                                                          : 8;
        out[used++] = (unsigned char)(bytes == 0 ? value.length : bytes == 8 ? 254 : 250 + bytes);
        used += mariadb_put_number(out + used, value.length, bytes);
        buffer_add(packet, out, used);
        buffer_add(packet, value.bytes, value.length);
        return;
    }
    }
    buffer_add(packet, out, used);
}

void mariadb_add_bulk(struct buffer *packet, unsigned long statement, const struct batch *batch)
{
    static const uint8_t types[COLUMN_TYPE_COUNT] = {
        [COLUMN_BOOL] = MYSQL_TYPE_TINY,          [COLUMN_INT16] = MYSQL_TYPE_SHORT,
        [COLUMN_INT32] = MYSQL_TYPE_LONG,         [COLUMN_INT64] = MYSQL_TYPE_LONGLONG,
        [COLUMN_FLOAT32] = MYSQL_TYPE_FLOAT,      [COLUMN_FLOAT64] = MYSQL_TYPE_DOUBLE,
        [COLUMN_DECIMAL] = MYSQL_TYPE_NEWDECIMAL, [COLUMN_DATE] = MYSQL_TYPE_DATE,
        [COLUMN_TIME] = MYSQL_TYPE_TIME,          [COLUMN_TIMESTAMP] = MYSQL_TYPE_DATETIME,
    };
    const struct table *table = batch->table;
    unsigned char head[MARIADB_ID_BYTES + 2];
    mariadb_put_number(head, statement, MARIADB_ID_BYTES);
    mariadb_put_number(head + MARIADB_ID_BYTES, FLAG_TYPES, 2);
    buffer_add(packet, head, sizeof head);
    for (size_t i = 0; i < table->column_count; i++) {
        const struct column *column = &table->columns[i];
        if (!column->is_generated) {
            mariadb_put_number(head,
                               types[column->type] != 0 ? types[column->type]
                               : is_binary(column)      ? MYSQL_TYPE_BLOB
                                                        : MYSQL_TYPE_VAR_STRING,
                               2);
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
