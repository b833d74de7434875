/*
 * Machbase's column types, and rows as APPEND_DATA carries them.
 *
 * A row, all little endian [run]:
 *
 *     u32 n, n NULL bytes, then the columns in order; n = columns / 8 + 1
 *
 * Column 0 is the arrival time, a datetime, 0 unless the client gives one. NULL bit of column c:
 * byte c / 8, mask 0x80 >> c % 8; a NULL column has no bytes. Fixed types have their own width,
 * datetime is i64 nanoseconds since 1970-01-01 UTC. Varchar, text and the like: u32 length, bytes.
 * Addresses: u8 4 and 4 bytes, u8 6 and 16 bytes; the client library sends a NULL ipv6 as 17 zero
 * bytes without a NULL bit.
 */
#ifndef MACHBASE_STANDIN_ROW_H
#define MACHBASE_STANDIN_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum {
    ROW_COLUMN_NAME_BYTES = 128,
    ROW_TABLE_COLUMNS_MAX = 512,
};

/* Numbers of the types in column descriptions [src, run]. */
enum row_type {
    ROW_INT16 = 4,
    ROW_UINT16 = 104,
    ROW_INT32 = 8,
    ROW_UINT32 = 108,
    ROW_INT64 = 12,
    ROW_UINT64 = 112,
    ROW_FLOAT = 16,
    ROW_DOUBLE = 20,
    ROW_DATETIME = 6,
    ROW_VARCHAR = 5,
    ROW_TEXT = 49,
    ROW_CLOB = 53,
    ROW_BLOB = 57,
    ROW_JSON = 61,
    ROW_BINARY = 97,
    ROW_IP4 = 32,
    ROW_IP6 = 36,
};

struct row_column {
    char name[ROW_COLUMN_NAME_BYTES]; /* upper case */
    enum row_type type;
    uint32_t size; /* of a varchar, bytes; 0 = none */
};

/* One value. */
struct row_value {
    enum row_type type;
    bool is_null;
    int64_t integer; /* signed and unsigned whole numbers, datetime */
    double number;   /* float and double */
    const uint8_t *bytes;
    uint32_t length; /* of variable types and addresses */
};

/* A row whose values are taken one after the other. */
struct row_reader {
    const uint8_t *nulls;
    const uint8_t *at;
    size_t left;
    size_t column; /* the next one; 0 = arrival time */
};

/* Type of a name in SQL, upper case; false = there is none such. */
bool row_type_of(const char *name, enum row_type *type);

/* Is it one of the types with a length? */
bool row_type_is_variable(enum row_type type);

/* Bytes of a value of a fixed type. */
size_t row_type_width(enum row_type type);

/* Bytes of a value: of fixed types all, of a varchar the most. */
uint32_t row_column_size(const struct row_column *column);

/* The word that describes a column: type << 56 | size << 28. The client library sends as many bytes
 * of a fixed value as this says, none when it says 0 [run]. */
uint64_t row_column_word(const struct row_column *column);

/* Begins to read a row of a table with `column_count` columns, the arrival time included. On false
 * `why` says what is wrong. */
bool row_begin(struct row_reader *reader, const uint8_t *bytes, size_t length, size_t column_count,
               const char **why);

/* The next value. On false `why` says what is wrong. */
bool row_take(struct row_reader *reader, const struct row_column *column, struct row_value *value,
              const char **why);

/* Adds a row with the values that are marked in `keeps`, the others as NULL. */
void row_add(struct buffer *out, const struct row_value *values, size_t count, const bool *keeps);

/* Adds a value as text: numbers so that they read back exactly, times in nanoseconds, addresses as
 * inet_ntop writes them, text as it is, bytes in hexadecimal. NULL adds nothing. */
void row_add_text(struct buffer *out, const struct row_value *value);

#endif
