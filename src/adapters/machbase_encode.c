#include "adapters/machbase_encode.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

enum {
    VARIABLE_BYTES_MAX = 64 * 1024 * 1024 /* the library cuts what is longer */
};

/* Numbers without a sign are decimals that fit. */
static const struct {
    int type;
    enum column_type column;
    uint8_t precision;
    const char *name;
} types[] = {
    {MACHBASE_INT16, COLUMN_INT16, 0, "short"},
    {MACHBASE_INT32, COLUMN_INT32, 0, "integer"},
    {MACHBASE_INT64, COLUMN_INT64, 0, "long"},
    {MACHBASE_UINT16, COLUMN_DECIMAL, 4, "ushort"},
    {MACHBASE_UINT32, COLUMN_DECIMAL, 9, "uinteger"},
    {MACHBASE_UINT64, COLUMN_DECIMAL, 18, "ulong"},
    {MACHBASE_FLOAT, COLUMN_FLOAT32, 0, "float"},
    {MACHBASE_REAL, COLUMN_FLOAT32, 0, "float"},
    {MACHBASE_DOUBLE, COLUMN_FLOAT64, 0, "double"},
    {MACHBASE_VARCHAR, COLUMN_TEXT, 0, "varchar"},
    {MACHBASE_DATETIME, COLUMN_TIMESTAMP, 0, "datetime"},
    {MACHBASE_TEXT, COLUMN_TEXT, 0, "text"},
    {MACHBASE_JSON, COLUMN_JSON, 0, "json"},
    {MACHBASE_BINARY, COLUMN_BYTES, 0, "binary"},
    {MACHBASE_IP4, COLUMN_IP4, 0, "ipv4"},
    {MACHBASE_IP6, COLUMN_IP6, 0, "ipv6"},
};

/* The library cuts what is longer than the size, and of some types writes beyond it: a column that
 * has none cannot be written. */
static bool has_size(int type)
{
    return type == MACHBASE_VARCHAR || type == MACHBASE_TEXT || type == MACHBASE_JSON ||
           type == MACHBASE_BINARY;
}

void machbase_set_type(struct column *column, int type, unsigned long size)
{
    column->type = COLUMN_UNSUPPORTED;
    column->native_type = (uint32_t)type;
    column->size = 0;
    snprintf(column->type_name, sizeof column->type_name, "type %d", type);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i].type == type) {
            column->type = types[i].column;
            column->precision = types[i].precision;
            snprintf(column->type_name, sizeof column->type_name, "%s", types[i].name);
        }
    }
    if (has_size(type)) {
        column->size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
        column->type = size > 0 ? column->type : COLUMN_UNSUPPORTED;
    }
    if (type == MACHBASE_VARCHAR || (has_size(type) && size == 0)) {
        snprintf(column->type_name + strlen(column->type_name),
                 sizeof column->type_name - strlen(column->type_name), "(%lu)", size);
    }
}

void machbase_encode_null(const struct column *column, union machbase_value *value)
{
    memset(value, 0, sizeof *value); /* of addresses and all that has a length, this is NULL */
    switch (column->type) {
    case COLUMN_INT16:
        value->uint16 = (uint16_t)INT16_MAX + 1U;
        break;
    case COLUMN_INT32:
        value->uint32 = (uint32_t)INT32_MAX + 1U;
        break;
    case COLUMN_INT64:
        value->uint64 = (uint64_t)INT64_MAX + 1U;
        break;
    case COLUMN_FLOAT32:
        value->float32 = FLT_MAX;
        break;
    case COLUMN_FLOAT64:
        value->float64 = DBL_MAX;
        break;
    case COLUMN_DECIMAL:
        value->uint64 = UINT64_MAX; /* little-endian: of the narrower ones, too */
        break;
    case COLUMN_TIMESTAMP:
        value->time.ns = MACHBASE_TIME_NULL;
        break;
    default:
        break;
    }
}

/* What would be cut is not sent. A column's size is one of bytes. */
static bool encode_variable(const struct column *column, const struct text_value *text,
                            union machbase_value *value)
{
    value->variable.length = text->length;
    value->variable.data = text->bytes;
    return text->length <= column->size && text->length <= VARIABLE_BYTES_MAX;
}

static bool encode_unsigned(const struct column *column, int64_t number,
                            union machbase_value *value)
{
    const int64_t most = column->native_type == MACHBASE_UINT16   ? UINT16_MAX
                         : column->native_type == MACHBASE_UINT32 ? UINT32_MAX
                                                                  : INT64_MAX;
    value->uint64 = (uint64_t)number;
    return number >= 0 && number <= most;
}

bool machbase_encode(const struct column *column, union column_values values, size_t row,
                     union machbase_value *value)
{
    switch (column->type) {
    case COLUMN_INT16:
        value->int16 = values.int16[row];
        return true;
    case COLUMN_INT32:
        value->int32 = values.int32[row];
        return true;
    case COLUMN_INT64:
        value->int64 = values.int64[row];
        return true;
    case COLUMN_DECIMAL:
        return encode_unsigned(column, values.int64[row], value);
    case COLUMN_FLOAT32:
        value->float32 = values.float32[row];
        return true;
    case COLUMN_FLOAT64:
        value->float64 = values.float64[row];
        return true;
    case COLUMN_TIMESTAMP:
        value->time.ns = values.int64[row];
        return value->time.ns < MACHBASE_TIME_NOW || value->time.ns > MACHBASE_TIME_TEXT;
    case COLUMN_IP4:
        value->address.length = MACHBASE_ADDRESS_IP4;
        memcpy(value->address.bytes, values.ip4[row], sizeof values.ip4[row]);
        return true;
    case COLUMN_IP6:
        value->address.length = MACHBASE_ADDRESS_IP6;
        memcpy(value->address.bytes, values.ip6[row], sizeof values.ip6[row]);
        return true;
    case COLUMN_TEXT:
    case COLUMN_BYTES:
    case COLUMN_JSON:
        return encode_variable(column, &values.text[row], value);
    default:
        machbase_encode_null(column, value);
        return false;
    }
}
