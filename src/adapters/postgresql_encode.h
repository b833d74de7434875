/* PostgreSQL's binary formats of single values. Pure functions; any thread. */
#ifndef ADAPTERS_POSTGRESQL_ENCODE_H
#define ADAPTERS_POSTGRESQL_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "append/row.h"

/* Type numbers of PostgreSQL's catalogue that are fixed for ever (pg_type.dat). */
enum postgresql_oid {
    POSTGRESQL_BOOL = 16,
    POSTGRESQL_BYTEA = 17,
    POSTGRESQL_NAME = 19,
    POSTGRESQL_INT8 = 20,
    POSTGRESQL_INT2 = 21,
    POSTGRESQL_INT4 = 23,
    POSTGRESQL_TEXT = 25,
    POSTGRESQL_JSON = 114,
    POSTGRESQL_CIDR = 650,
    POSTGRESQL_FLOAT4 = 700,
    POSTGRESQL_FLOAT8 = 701,
    POSTGRESQL_INET = 869,
    POSTGRESQL_BPCHAR = 1042,
    POSTGRESQL_VARCHAR = 1043,
    POSTGRESQL_DATE = 1082,
    POSTGRESQL_TIME = 1083,
    POSTGRESQL_TIMESTAMP = 1114,
    POSTGRESQL_TIMESTAMPTZ = 1184,
    POSTGRESQL_TIMETZ = 1266,
    POSTGRESQL_NUMERIC = 1700,
    POSTGRESQL_UUID = 2950,
    POSTGRESQL_JSONB = 3802,
};

/* Most bytes that postgresql_encode writes: a numeric of 19 decimal digits. */
enum {
    POSTGRESQL_FIXED_MAX = 24
};

/* Big-endian stores; return the bytes written. */
size_t postgresql_put16(unsigned char *out, uint16_t value);
size_t postgresql_put32(unsigned char *out, uint32_t value);
size_t postgresql_put64(unsigned char *out, uint64_t value);

/* Writes one value of any type but TEXT, BYTES and JSON, without its length word; returns its
 * length, at most POSTGRESQL_FIXED_MAX. */
size_t postgresql_encode(const struct column *column, union column_values values, size_t row,
                         unsigned char *out);

#endif
