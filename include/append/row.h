/*
 * Rows as adapters see them: a table's columns, and batches of values in column arrays.
 *
 * Batches are borrowed: an adapter may read a batch until the adapter's function returns, and keeps
 * no pointer to the batch. A struct table is filled during set-up. Afterwards the struct does not
 * change, and any thread may read it.
 */
#ifndef APPEND_ROW_H
#define APPEND_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/api.h"
#include "append/error.h"

enum {
    ROW_NAME_BYTES = 260, /* size of the longest identifier with its '\0' */
    ROW_TYPE_NAME_BYTES = 80,
    ROW_BATCH_MAX = 256, /* maximum number of rows in a batch */
    ROW_COLUMNS_MAX = 1600,
};

/* The column types. Each entry: enumerator, name, the member of union column_values that holds the
 * values, the sort of value, and what a script may write in brackets after the name. */
#define COLUMN_TYPES(X)                                                                            \
    X(BOOL, "bool", boolean, NUMBER, NOTHING) /* 0 or 1 */                                         \
    X(INT16, "int16", int16, NUMBER, NOTHING)                                                      \
    X(INT32, "int32", int32, NUMBER, NOTHING)                                                      \
    X(INT64, "int64", int64, NUMBER, NOTHING)                                                      \
    X(FLOAT32, "float32", float32, NUMBER, NOTHING)                                                \
    X(FLOAT64, "float64", float64, NUMBER, NOTHING)                                                \
    /* an unscaled integer: value = int64 / 10^scale, |int64| < 10^18 */                           \
    X(DECIMAL, "decimal", int64, NUMBER, DIGITS)                                                   \
    X(TEXT, "text", text, TEXT, SIZE)        /* UTF-8, at most `size` characters when size > 0 */  \
    X(BYTES, "bytes", text, TEXT, SIZE)      /* any bytes, at most `size` of them when size > 0 */ \
    X(JSON, "json", text, TEXT, NOTHING)     /* one JSON value */                                  \
    X(DATE, "date", int32, MOMENT, NOTHING)  /* days since 1970-01-01 */                           \
    X(TIME, "time", int64, MOMENT, FRACTION) /* nanoseconds since midnight */                      \
    /* nanoseconds since 1970-01-01 00:00:00 UTC */                                                \
    X(TIMESTAMP, "timestamp", int64, MOMENT, FRACTION)                                             \
    X(UUID, "uuid", uuid, ADDRESS, UNKNOWN) /* 16 bytes in network order */                        \
    X(IP4, "ip4", ip4, ADDRESS, UNKNOWN)    /* 4 bytes in network order */                         \
    X(IP6, "ip6", ip6, ADDRESS, UNKNOWN)    /* 16 bytes in network order */

enum column_type {
    COLUMN_UNSUPPORTED, /* a type for which this program cannot generate values; see type_name */
#define COLUMN_TYPE(id, name, member, is, takes) COLUMN_##id,
    COLUMN_TYPES(COLUMN_TYPE)
#undef COLUMN_TYPE
    COLUMN_TYPE_COUNT,
};

/* The properties of a type; column_kinds is indexed by enum column_type. */
struct column_kind {
    const char *name;
    size_t bytes; /* size of one array element; for text, size of a struct text_value */
    enum {
        COLUMN_IS_OTHER,
        COLUMN_IS_NUMBER,
        COLUMN_IS_TEXT, /* text, bytes and JSON; each value is a struct text_value */
        COLUMN_IS_MOMENT,
        COLUMN_IS_ADDRESS,
    } is;
    enum {
        COLUMN_TAKES_UNKNOWN, /* the type cannot be used by scripts */
        COLUMN_TAKES_NOTHING,
        COLUMN_TAKES_SIZE, /* the type takes a size, as in text(20) */
        COLUMN_TAKES_DIGITS,
        COLUMN_TAKES_FRACTION,
    } takes;
};
extern const struct column_kind column_kinds[COLUMN_TYPE_COUNT] APPEND_API(column_kinds);

struct column {
    char name[ROW_NAME_BYTES];
    char type_name[ROW_TYPE_NAME_BYTES]; /* the type as the database writes it, for messages */
    enum column_type type;
    uint32_t size;     /* maximum length of a text in characters, or of bytes; 0 = no limit */
    uint8_t precision; /* COLUMN_DECIMAL: total digits; 0 = no limit */
    uint8_t scale;     /* COLUMN_DECIMAL: digits after the point; COLUMN_TIME and COLUMN_TIMESTAMP:
                          digits of the fraction of a second, if the adapter queries their number */
    uint32_t native_type; /* the adapter's own number of the type (PostgreSQL: its OID) */
    bool is_nullable;
    bool is_unique; /* a primary key or unique index has only this column, so values must differ */
    bool has_default;  /* the database fills the column when a statement leaves it out */
    bool is_generated; /* the database computes the values, so no statement may write them */
};

struct table {
    char name[ROW_NAME_BYTES];        /* the table's name as the user wrote it, unquoted */
    char engine[ROW_TYPE_NAME_BYTES]; /* storage engine; "" if the database has only one engine */
    bool is_missing; /* the table does not exist yet: the first row creates the table, with the
                        columns that this program declares */
    size_t column_count;
    struct column *columns; /* the columns; owned: table_fini frees the array */
};

/* Initialises an empty table. Fails with ERROR_USAGE when the name is empty or too long. */
enum status table_init(struct table *table, const char *name, struct error *error)
    APPEND_API(table_init);

/* Adds a copy of `column` to the table. Fails when memory runs out, or when the table already has
 * ROW_COLUMNS_MAX columns. */
enum status table_add_column(struct table *table, const struct column *column, struct error *error)
    APPEND_API(table_add_column);

/* Frees the table's memory. Accepts NULL and a table that is zeroed or already freed. */
void table_fini(struct table *table) APPEND_API(table_fini);

struct text_value {
    const char *bytes; /* the text or bytes, without a terminating '\0' */
    uint32_t length;   /* length in bytes */
};

/* An array of batch.row_count values; column.type says which member is valid. */
union column_values {
    const void *any;
    const uint8_t *boolean;
    const int16_t *int16;
    const int32_t *int32;
    const int64_t *int64;
    const float *float32;
    const double *float64;
    const struct text_value *text;
    const uint8_t (*uuid)[16];
    const uint8_t (*ip4)[4];
    const uint8_t (*ip6)[16];
};

struct column_data {
    union column_values values;
    const uint8_t *is_null; /* one entry for each row, 1 = NULL; NULL pointer = no row is NULL */
};

/* Returns whether the value of a row is NULL. */
static inline bool column_is_null(const struct column_data *data, size_t row)
{
    return data->is_null != NULL && data->is_null[row] != 0;
}

struct batch {
    const struct table *table;
    size_t row_count;                  /* number of rows: 1 … ROW_BATCH_MAX */
    const struct column_data *columns; /* table->column_count entries, in the table's order */
};

/* Returns the size of all values together, in bytes. The size of a text is its length, the size of
 * any other value is the size of an array element, and the size of a NULL is 0. */
uint64_t batch_bytes(const struct batch *batch) APPEND_API(batch_bytes);

#endif
