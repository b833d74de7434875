/* PostgreSQL's bytes: the binary formats of single values, and what it says to strangers. Pure
 * functions; any thread. */
#ifndef ADAPTERS_POSTGRESQL_WIRE_H
#define ADAPTERS_POSTGRESQL_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "append/row.h"
#include "base/probe.h"

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

/* Whether these bytes are PostgreSQL's answer to a question for TLS. */
enum probe_answer postgresql_judge(const unsigned char *answer, size_t length);

#endif
