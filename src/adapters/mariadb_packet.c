#include "adapters/mariadb_packet.h"

#include <string.h>

#include "adapters/mariadb_encode.h"

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
    const enum mariadb_form form = mariadb_form(column);
    return form == MARIADB_FORM_RAW || form == MARIADB_FORM_BYTES ? MYSQL_TYPE_BLOB
                                                                  : MYSQL_TYPE_VAR_STRING;
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
    mariadb_time_value(column, values, row, &time);
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
    char text[MARIADB_VALUE_BYTES];
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
    switch (mariadb_form(column)) {
    case MARIADB_FORM_TEXT:
    case MARIADB_FORM_BYTES:
        add_bytes(packet, data->values.text[row].bytes, data->values.text[row].length);
        break;
    case MARIADB_FORM_RAW:
        length = mariadb_raw_value(column, data->values, row, &raw);
        add_bytes(packet, raw, length);
        break;
    default:
        length = mariadb_write_value(column, data->values, row, text);
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
