#include "row.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "wire.h"

struct type_name {
    const char *name;
    enum row_type type;
};

static const struct type_name type_names[] = {
    {"SHORT", ROW_INT16},   {"INT16", ROW_INT16},       {"USHORT", ROW_UINT16},
    {"UINT16", ROW_UINT16}, {"INTEGER", ROW_INT32},     {"INT", ROW_INT32},
    {"INT32", ROW_INT32},   {"UINTEGER", ROW_UINT32},   {"UINT", ROW_UINT32},
    {"UINT32", ROW_UINT32}, {"LONG", ROW_INT64},        {"INT64", ROW_INT64},
    {"ULONG", ROW_UINT64},  {"UINT64", ROW_UINT64},     {"FLOAT", ROW_FLOAT},
    {"DOUBLE", ROW_DOUBLE}, {"DATETIME", ROW_DATETIME}, {"VARCHAR", ROW_VARCHAR},
    {"TEXT", ROW_TEXT},     {"CLOB", ROW_CLOB},         {"BLOB", ROW_BLOB},
    {"JSON", ROW_JSON},     {"BINARY", ROW_BINARY},     {"IPV4", ROW_IP4},
    {"IPV6", ROW_IP6},
};

bool row_type_of(const char *name, enum row_type *type)
{
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++) {
        if (strcmp(type_names[i].name, name) == 0) {
            *type = type_names[i].type;
            return true;
        }
    }
    return false;
}

bool row_type_is_variable(enum row_type type)
{
    return (type & 1) != 0;
}

size_t row_type_width(enum row_type type)
{
    switch (type) {
    case ROW_INT16:
    case ROW_UINT16:
        return 2;
    case ROW_INT32:
    case ROW_UINT32:
    case ROW_FLOAT:
        return 4;
    case ROW_IP4:
        return 5;
    case ROW_IP6:
        return 17;
    default:
        return 8;
    }
}

uint32_t row_column_size(const struct row_column *column)
{
    return row_type_is_variable(column->type) ? column->size
                                              : (uint32_t)row_type_width(column->type);
}

uint64_t row_column_word(const struct row_column *column)
{
    return (uint64_t)column->type << 56 | (uint64_t)row_column_size(column) << 28;
}

bool row_begin(struct row_reader *reader, const uint8_t *bytes, size_t length, size_t column_count,
               const char **why)
{
    *why = "the row ends too early";
    if (length < 4) {
        return false;
    }
    const size_t nulls = wire_get_u32(bytes);
    if (nulls != column_count / 8 + 1) {
        *why = "the row has another number of NULL bytes than the table's columns need";
        return false;
    }
    if (length - 4 < nulls) {
        return false;
    }
    *reader = (struct row_reader){
        .nulls = bytes + 4, .at = bytes + 4 + nulls, .left = length - 4 - nulls};
    return true;
}

/* Takes the bytes of a value. */
static bool take_bytes(struct row_reader *reader, const struct row_column *column,
                       struct row_value *value)
{
    size_t head = 0;
    if (row_type_is_variable(column->type)) {
        if (reader->left < 4) {
            return false;
        }
        head = 4;
        value->length = wire_get_u32(reader->at);
    } else {
        value->length = (uint32_t)row_type_width(column->type);
    }
    if (value->length > reader->left - head) {
        return false;
    }
    value->bytes = reader->at + head;
    reader->at += head + value->length;
    reader->left -= head + value->length;
    return true;
}

/* An address begins with 4 or 6, and a zero there is the client library's NULL. */
static const char *take_address(struct row_value *value)
{
    const uint8_t family = value->bytes[0];
    const uint8_t expected = value->type == ROW_IP4 ? 4 : 6;
    value->bytes++;
    value->length--;
    if (family == expected) {
        return NULL;
    }
    value->is_null = family == 0;
    for (uint32_t i = 0; i < value->length; i++) {
        value->is_null = value->is_null && value->bytes[i] == 0;
    }
    return value->is_null ? NULL : "an address is of neither family";
}

static void take_number(struct row_value *value)
{
    uint64_t bits = 0;
    for (uint32_t i = 0; i < value->length; i++) {
        bits |= (uint64_t)value->bytes[i] << (8 * i);
    }
    const uint32_t low = (uint32_t)bits;
    float single;
    switch (value->type) {
    case ROW_INT16:
        value->integer = (int16_t)bits;
        break;
    case ROW_INT32:
        value->integer = (int32_t)bits;
        break;
    case ROW_FLOAT:
        memcpy(&single, &low, sizeof single);
        value->number = (double)single;
        break;
    case ROW_DOUBLE:
        memcpy(&value->number, &bits, sizeof bits);
        break;
    default:
        value->integer = (int64_t)bits;
        break;
    }
}

bool row_take(struct row_reader *reader, const struct row_column *column, struct row_value *value,
              const char **why)
{
    const size_t c = reader->column++;
    *value = (struct row_value){.type = column->type};
    if ((reader->nulls[c / 8] & (0x80 >> c % 8)) != 0) {
        value->is_null = true;
        return true;
    }
    if (!take_bytes(reader, column, value)) {
        *why = "the row ends too early";
        return false;
    }
    if (column->type == ROW_IP4 || column->type == ROW_IP6) {
        *why = take_address(value);
        return *why == NULL;
    }
    if (!row_type_is_variable(column->type)) {
        take_number(value);
    } else if (column->size > 0 && value->length > column->size) {
        *why = "a value is longer than its column";
        return false;
    }
    return true;
}

static void add_number(struct buffer *out, const struct row_value *value)
{
    uint64_t bits = (uint64_t)value->integer;
    if (value->type == ROW_FLOAT) {
        const float single = (float)value->number;
        uint32_t low;
        memcpy(&low, &single, sizeof low);
        bits = low;
    } else if (value->type == ROW_DOUBLE) {
        memcpy(&bits, &value->number, sizeof bits);
    }
    uint8_t bytes[8];
    wire_put_le(bytes, bits, sizeof bytes);
    buffer_add(out, bytes, row_type_width(value->type));
}

static void add_value(struct buffer *out, const struct row_value *value)
{
    const bool is_address = value->type == ROW_IP4 || value->type == ROW_IP6;
    if (!is_address && !row_type_is_variable(value->type)) {
        add_number(out, value);
        return;
    }
    uint8_t head[4];
    wire_put_le(head, is_address ? (value->type == ROW_IP4 ? 4 : 6) : value->length, sizeof head);
    buffer_add(out, head, is_address ? 1 : sizeof head);
    buffer_add(out, value->bytes, value->length);
}

void row_add(struct buffer *out, const struct row_value *values, size_t count, const bool *keeps)
{
    uint8_t nulls[ROW_TABLE_COLUMNS_MAX / 8 + 1] = {0};
    const size_t null_bytes = count / 8 + 1;
    uint8_t head[4];
    wire_put_le(head, null_bytes, sizeof head);
    for (size_t c = 0; c < count; c++) {
        if (!keeps[c] || values[c].is_null) {
            nulls[c / 8] = (uint8_t)(nulls[c / 8] | 0x80 >> c % 8);
        }
    }
    buffer_add(out, head, sizeof head);
    buffer_add(out, nulls, null_bytes);
    for (size_t c = 0; c < count; c++) {
        if (keeps[c] && !values[c].is_null) {
            add_value(out, &values[c]);
        }
    }
}

static void add_hexadecimal(struct buffer *out, const struct row_value *value)
{
    for (uint32_t i = 0; i < value->length; i++) {
        buffer_add_format(out, "%02x", value->bytes[i]);
    }
}

static void add_address(struct buffer *out, const struct row_value *value)
{
    char text[INET6_ADDRSTRLEN];
    const int family = value->type == ROW_IP4 ? AF_INET : AF_INET6;
    if (inet_ntop(family, value->bytes, text, sizeof text) != NULL) {
        buffer_add_text(out, text);
    }
}

void row_add_text(struct buffer *out, const struct row_value *value)
{
    if (value->is_null) {
        return;
    }
    switch (value->type) {
    case ROW_INT16:
    case ROW_UINT16:
    case ROW_INT32:
    case ROW_UINT32:
    case ROW_INT64:
    case ROW_DATETIME:
        buffer_add_format(out, "%" PRId64, value->integer);
        break;
    case ROW_UINT64:
        buffer_add_format(out, "%" PRIu64, (uint64_t)value->integer);
        break;
    case ROW_FLOAT:
        buffer_add_format(out, "%.9g", value->number);
        break;
    case ROW_DOUBLE:
        buffer_add_format(out, "%.17g", value->number);
        break;
    case ROW_IP4:
    case ROW_IP6:
        add_address(out, value);
        break;
    case ROW_BINARY:
    case ROW_BLOB:
        add_hexadecimal(out, value);
        break;
    default:
        buffer_add(out, value->bytes, value->length);
        break;
    }
}
