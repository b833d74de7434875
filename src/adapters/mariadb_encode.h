/* Values as MariaDB reads them in text. Pure functions, any thread. */
#ifndef ADAPTERS_MARIADB_ENCODE_H
#define ADAPTERS_MARIADB_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mysql.h>

#include "append/row.h"
#include "base/value_text.h"

enum {
    MARIADB_VALUE_BYTES = VALUE_TEXT_BYTES /* room that a value of fixed size needs as text */
};

/* How a column's values are written. */
enum mariadb_form {
    MARIADB_FORM_NUMBER, /* bare */
    MARIADB_FORM_QUOTED, /* dates, addresses in a column of text */
    MARIADB_FORM_RAW,    /* bytes of fixed size: addresses, UUIDs */
    MARIADB_FORM_TEXT,   /* text of the batch */
    MARIADB_FORM_BYTES,  /* bytes of the batch */
};

enum mariadb_form mariadb_form(const struct column *column);

/* Writes one value of a NUMBER or QUOTED column, not terminated, at most MARIADB_VALUE_BYTES.
 * Returns its length. */
size_t mariadb_write_value(const struct column *column, union column_values values, size_t row,
                           char *out);

/* The bytes of one value of a RAW column; returns how many. */
size_t mariadb_raw_value(const struct column *column, union column_values values, size_t row,
                         const uint8_t **bytes);

/* Date and time of a DATE, TIME or TIMESTAMP column, fractions cut to the column's digits. */
void mariadb_time_value(const struct column *column, union column_values values, size_t row,
                        MYSQL_TIME *time);

/* Writes two hexadecimal digits a byte. */
void mariadb_write_hex(const void *bytes, size_t length, char *out);

#endif
