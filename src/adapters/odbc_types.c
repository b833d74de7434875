#include "adapters/odbc_types.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/odbc_bind.h"

enum {
    PRECISION_MAX = 255,
    FRACTION_DIGITS = 6,
    SIZE_MAX_KNOWN = 1 << 20, /* beyond it a length is the type's own, and no limit of the column */
};

/* Names of PostgreSQL, MariaDB and SQLite, where they say more than the number. Narrow integers
 * without a type of their own get values that fit. */
static const struct {
    const char *name;
    enum column_type type;
} names[] = {
    {"bool", COLUMN_BOOL},
    {"boolean", COLUMN_BOOL},
    {"tinyint", COLUMN_BOOL},
    {"int2", COLUMN_INT16},
    {"smallint", COLUMN_INT16},
    {"short", COLUMN_INT16},
    {"mediumint", COLUMN_INT16},
    {"int4", COLUMN_INT32},
    {"int", COLUMN_INT32},
    {"int8", COLUMN_INT64},
    {"integer", COLUMN_INT64}, /* SQLite's; the others call it int4 and int */
    {"bigint", COLUMN_INT64},
    {"long", COLUMN_INT64},
    {"float4", COLUMN_FLOAT32},
    {"float", COLUMN_FLOAT32},
    {"float8", COLUMN_FLOAT64},
    {"real", COLUMN_FLOAT64}, /* SQLite's */
    {"double", COLUMN_FLOAT64},
    {"double precision", COLUMN_FLOAT64},
    {"numeric", COLUMN_DECIMAL},
    {"decimal", COLUMN_DECIMAL},
    {"name", COLUMN_TEXT},
    {"char", COLUMN_TEXT},
    {"bpchar", COLUMN_TEXT},
    {"varchar", COLUMN_TEXT},
    {"tinytext", COLUMN_TEXT},
    {"text", COLUMN_TEXT},
    {"mediumtext", COLUMN_TEXT},
    {"longtext", COLUMN_TEXT},
    {"bytea", COLUMN_BYTES},
    {"binary", COLUMN_BYTES},
    {"varbinary", COLUMN_BYTES},
    {"tinyblob", COLUMN_BYTES},
    {"blob", COLUMN_BYTES},
    {"mediumblob", COLUMN_BYTES},
    {"longblob", COLUMN_BYTES},
    {"json", COLUMN_JSON},
    {"jsonb", COLUMN_JSON},
    {"json text", COLUMN_JSON},
    {"date", COLUMN_DATE},
    {"date text", COLUMN_DATE},
    {"time", COLUMN_TIME},
    {"timetz", COLUMN_TIME},
    {"time text", COLUMN_TIME},
    {"timestamp", COLUMN_TIMESTAMP},
    {"timestamptz", COLUMN_TIMESTAMP},
    {"timestamp text", COLUMN_TIMESTAMP},
    {"datetime", COLUMN_TIMESTAMP},
    {"datetime text", COLUMN_TIMESTAMP},
    {"uuid", COLUMN_UUID},
    {"uuid text", COLUMN_UUID},
    {"uniqueidentifier", COLUMN_UUID},
    {"inet", COLUMN_IP4},
    {"cidr", COLUMN_IP4},
    {"inet4", COLUMN_IP4},
    {"inet6", COLUMN_IP6},
    {"ipv4", COLUMN_IP4},
    {"ipv4 text", COLUMN_IP4},
    {"ipv6", COLUMN_IP6},
    {"ipv6 text", COLUMN_IP6},
    {"raw ipv4", COLUMN_IP4}, /* bytes, by the comment of the column */
    {"raw ipv6", COLUMN_IP6},
    {"raw uuid", COLUMN_UUID},
    {"enum", COLUMN_UNSUPPORTED},
    {"set", COLUMN_UNSUPPORTED},
    {"year", COLUMN_UNSUPPORTED},
};

static const struct {
    int sql_type;
    enum column_type type;
} numbers[] = {
    {SQL_BIT, COLUMN_BOOL},
    {SQL_TINYINT, COLUMN_BOOL},
    {SQL_SMALLINT, COLUMN_INT16},
    {SQL_INTEGER, COLUMN_INT32},
    {SQL_BIGINT, COLUMN_INT64},
    {SQL_REAL, COLUMN_FLOAT32},
    {SQL_FLOAT, COLUMN_FLOAT64},
    {SQL_DOUBLE, COLUMN_FLOAT64},
    {SQL_DECIMAL, COLUMN_DECIMAL},
    {SQL_NUMERIC, COLUMN_DECIMAL},
    {SQL_CHAR, COLUMN_TEXT},
    {SQL_VARCHAR, COLUMN_TEXT},
    {SQL_LONGVARCHAR, COLUMN_TEXT},
    {SQL_WCHAR, COLUMN_TEXT},
    {SQL_WVARCHAR, COLUMN_TEXT},
    {SQL_WLONGVARCHAR, COLUMN_TEXT},
    {SQL_BINARY, COLUMN_BYTES},
    {SQL_VARBINARY, COLUMN_BYTES},
    {SQL_LONGVARBINARY, COLUMN_BYTES},
    {SQL_TYPE_DATE, COLUMN_DATE},
    {SQL_DATE, COLUMN_DATE},
    {SQL_TYPE_TIME, COLUMN_TIME},
    {SQL_TIME, COLUMN_TIME},
    {SQL_TYPE_TIMESTAMP, COLUMN_TIMESTAMP},
    {SQL_TIMESTAMP, COLUMN_TIMESTAMP},
    {SQL_GUID, COLUMN_UUID},
};

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Splits `DECIMAL (10,2)` into "decimal" and its numbers; returns how many there are. */
static int split_name(const char *written, char *name, size_t size, long long found[2])
{
    const char *bracket = strchr(written, '(');
    size_t length = bracket != NULL ? (size_t)(bracket - written) : strlen(written);
    int count = 0;

    length = length < size ? length : size - 1;
    for (size_t i = 0; i < length; i++) {
        name[i] = (char)tolower((unsigned char)written[i]);
    }
    while (length > 0 && name[length - 1] == ' ') {
        length--;
    }
    name[length] = '\0';
    while (bracket != NULL && count < 2) {
        char *end;
        found[count] = strtoll(bracket + 1, &end, 10);
        count += end != bracket + 1;
        bracket = *end == ',' && end != bracket + 1 ? end : NULL;
    }
    return count;
}

static enum column_type type_of(const char *name, int sql_type)
{
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(names[i].name, name) == 0) {
            return names[i].type;
        }
    }
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        if (numbers[i].sql_type == sql_type) {
            return numbers[i].type;
        }
    }
    return COLUMN_UNSUPPORTED;
}

static int64_t clamp(int64_t value, int64_t most)
{
    return value < 0 ? 0 : value > most ? most : value;
}

void odbc_set_type(struct column *column, const struct odbc_type *type)
{
    char name[ROW_TYPE_NAME_BYTES];
    long long found[2] = {0, 0};
    const int count = split_name(type->name, name, sizeof name, found);
    const int64_t size = type->size > 0 || count < 1 ? type->size : found[0];
    int64_t digits = type->digits;

    column->type = type_of(name, type->sql_type);
    column->size = 0;
    column->precision = 0;
    column->scale = 0;
    if (column->type == COLUMN_IP4 && (strcmp(name, "inet") == 0 || strcmp(name, "cidr") == 0) &&
        strchr(column->name, '6') != NULL) {
        column->type = COLUMN_IP6; /* it holds both kinds: the name is all there is to go by */
    }
    if (column->type == COLUMN_DECIMAL && size > 0) {
        digits = digits < 0 && count > 1 ? found[1] : digits;
        column->precision = (uint8_t)clamp(size, PRECISION_MAX);
        column->scale = (uint8_t)clamp(digits, PRECISION_MAX);
    } else if ((column->type == COLUMN_TEXT || column->type == COLUMN_BYTES) &&
               size < SIZE_MAX_KNOWN) {
        column->size = (uint32_t)clamp(size, SIZE_MAX_KNOWN);
    }
    column->native_type = odbc_native_type(
        type->sql_type, (int)clamp(digits < 0 ? FRACTION_DIGITS : digits, FRACTION_DIGITS));
    if (strncmp(name, "raw ", 4) == 0) {
        odbc_send_bytes(column);
    }
}
