/*
 * Rows as adapters see them: a table's columns, and batches of values in column arrays.
 *
 * Batches are borrowed: an adapter may read them until its call returns and keeps no pointer.
 * A struct table is filled once during set-up and read-only afterwards, by any thread.
 */
#ifndef APPEND_ROW_H
#define APPEND_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/error.h"

enum {
    ROW_NAME_BYTES = 260, /* longest identifier with its terminator */
    ROW_TYPE_NAME_BYTES = 80,
    ROW_BATCH_MAX = 256, /* most rows in one batch */
    ROW_COLUMNS_MAX = 1600,
};

/* How a value is held. The comment names the member of union column_values. */
enum column_type {
    COLUMN_UNSUPPORTED, /* exists in the database, cannot be generated; see type_name */
    COLUMN_BOOL,        /* boolean: 0 or 1 */
    COLUMN_INT16,       /* int16 */
    COLUMN_INT32,       /* int32 */
    COLUMN_INT64,       /* int64 */
    COLUMN_FLOAT32,     /* float32 */
    COLUMN_FLOAT64,     /* float64 */
    COLUMN_DECIMAL,     /* int64: unscaled, value = int64 / 10^scale, |int64| < 10^18 */
    COLUMN_TEXT,        /* text: UTF-8, at most `size` characters when size > 0 */
    COLUMN_BYTES,       /* text: any bytes, at most `size` bytes when size > 0 */
    COLUMN_JSON,        /* text: one JSON value */
    COLUMN_DATE,        /* int32: days since 1970-01-01 */
    COLUMN_TIME,        /* int64: nanoseconds since midnight */
    COLUMN_TIMESTAMP,   /* int64: nanoseconds since 1970-01-01 00:00:00 UTC */
    COLUMN_UUID,        /* uuid: 16 bytes in network order */
    COLUMN_IP4,         /* ip4: 4 bytes in network order */
    COLUMN_IP6,         /* ip6: 16 bytes in network order */
    COLUMN_TYPE_COUNT,
};

struct column {
    char name[ROW_NAME_BYTES];
    char type_name[ROW_TYPE_NAME_BYTES]; /* as the database writes it, for messages */
    enum column_type type;
    uint32_t size;        /* longest text in characters or bytes; 0 = no limit */
    uint8_t precision;    /* COLUMN_DECIMAL: digits in all; 0 = no limit */
    uint8_t scale;        /* COLUMN_DECIMAL: digits behind the point; COLUMN_TIME and TIMESTAMP: the
                             same of a second, where the adapter asks */
    uint32_t native_type; /* the adapter's own number for the type (PostgreSQL: its OID) */
    bool is_nullable;
    bool is_unique;    /* alone it is a primary key or unique index: values must differ */
    bool has_default;  /* the database fills it when it is left out of the statement */
    bool is_generated; /* the database computes it; it cannot be written */
};

struct table {
    char name[ROW_NAME_BYTES];        /* as the user wrote it, unquoted */
    char engine[ROW_TYPE_NAME_BYTES]; /* storage engine; "" where there is only one */
    bool is_missing; /* its first row makes it: the columns are those that append gives it */
    size_t column_count;
    struct column *columns; /* owned: table_fini frees it */
};

/* Prepares an empty table. Fails with ERROR_USAGE when the name is empty or too long. */
enum status table_init(struct table *table, const char *name, struct error *error);

/* Appends a copy of `column`. Fails when memory or ROW_COLUMNS_MAX is exhausted. */
enum status table_add_column(struct table *table, const struct column *column, struct error *error);

/* Frees what the table owns. Takes NULL and a table that was zeroed or freed before. */
void table_fini(struct table *table);

struct text_value {
    const char *bytes; /* not terminated */
    uint32_t length;   /* bytes */
};

/* One array of batch.row_count values; column.type says which member is valid. */
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
    const uint8_t *is_null; /* 1 = NULL, an entry a row; NULL pointer = no row is NULL */
};

struct batch {
    const struct table *table;
    size_t row_count;                  /* 1 … ROW_BATCH_MAX */
    const struct column_data *columns; /* table->column_count entries, in the table's order */
};

/* Bytes of all values, as the arrays above hold them; of a text its own. NULL has none. */
uint64_t batch_bytes(const struct batch *batch);

#endif
