#include "adapters/postgresql_wire.h"

#include <stdbool.h>
#include <string.h>

#include "adapters/dialect.h"

enum {
    EPOCH_DAYS = 10957, /* 1970-01-01 to PostgreSQL's epoch, 2000-01-01 */
    FAMILY_IP4 = 2,     /* PGSQL_AF_INET: the same on every platform */
    FAMILY_IP6 = 3,
    NUMERIC_BASE = 10000,
    NUMERIC_BASE_DIGITS = 4,
    NUMERIC_NEGATIVE = 0x4000,
    NUMERIC_GROUPS_MAX = 6, /* 19 decimal digits, the last group only partly used */
};

size_t postgresql_put16(unsigned char *out, uint16_t value)
{
    const uint16_t wire = __builtin_bswap16(value);
    memcpy(out, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? &wire : &value, sizeof wire);
    return sizeof wire;
}

size_t postgresql_put32(unsigned char *out, uint32_t value)
{
    const uint32_t wire = __builtin_bswap32(value);
    memcpy(out, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? &wire : &value, sizeof wire);
    return sizeof wire;
}

size_t postgresql_put64(unsigned char *out, uint64_t value)
{
    const uint64_t wire = __builtin_bswap64(value);
    memcpy(out, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? &wire : &value, sizeof wire);
    return sizeof wire;
}

/* Rounds down, so that times before an epoch stay within their microsecond. */
static int64_t microseconds(int64_t ns)
{
    return ns / 1000 - (ns % 1000 < 0);
}

static size_t put_float32(unsigned char *out, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return postgresql_put32(out, bits);
}

static size_t put_float64(unsigned char *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return postgresql_put64(out, bits);
}

/* A date that PostgreSQL cannot hold becomes one that it refuses: its two end values mean
 * infinity, and would be stored without a word. */
static size_t put_date(unsigned char *out, int32_t days)
{
    const int64_t shifted = (int64_t)days - EPOCH_DAYS;
    const int64_t lowest = (int64_t)INT32_MIN + 1;
    return postgresql_put32(out, (uint32_t)(shifted < lowest ? lowest : shifted));
}

static size_t put_address(unsigned char *out, const struct column *column, const uint8_t *address,
                          unsigned char bytes)
{
    out[0] = bytes == 4 ? FAMILY_IP4 : FAMILY_IP6;
    out[1] = (unsigned char)(bytes * 8); /* netmask: one host */
    out[2] = column->native_type == POSTGRESQL_CIDR;
    out[3] = bytes;
    memcpy(out + 4, address, bytes);
    return 4U + bytes;
}

/* numeric: base-10000 digits, the point between two of them. A scale that is no multiple of four
 * leaves the last digit partly used, so it is cut off first and shifted up. */
static size_t put_numeric(unsigned char *out, int64_t unscaled, unsigned scale)
{
    static const unsigned powers[NUMERIC_BASE_DIGITS] = {1, 10, 100, 1000};
    const bool is_negative = unscaled < 0;
    uint64_t rest = is_negative ? 0 - (uint64_t)unscaled : (uint64_t)unscaled;
    uint16_t groups[NUMERIC_GROUPS_MAX];
    int count = 0;
    int position = -(int)((scale + NUMERIC_BASE_DIGITS - 1) / NUMERIC_BASE_DIGITS);
    const unsigned partial = scale % NUMERIC_BASE_DIGITS;
    unsigned group = 0;

    if (partial > 0) {
        group = (unsigned)(rest % powers[partial]) * (NUMERIC_BASE / powers[partial]);
        rest /= powers[partial];
    } else {
        group = (unsigned)(rest % NUMERIC_BASE);
        rest /= NUMERIC_BASE;
    }
    while (rest > 0 || group > 0) {
        if (count > 0 || group > 0) {
            groups[count++] = (uint16_t)group;
        }
        group = (unsigned)(rest % NUMERIC_BASE);
        rest /= NUMERIC_BASE;
        position++;
    }

    size_t at = postgresql_put16(out, (uint16_t)count);
    at += postgresql_put16(out + at, (uint16_t)(count > 0 ? position - 1 : 0));
    at += postgresql_put16(out + at, is_negative && count > 0 ? NUMERIC_NEGATIVE : 0);
    at += postgresql_put16(out + at, (uint16_t)scale);
    while (count > 0) {
        at += postgresql_put16(out + at, groups[--count]);
    }
    return at;
}

static size_t put_time(unsigned char *out, const struct column *column, int64_t ns)
{
    size_t at = postgresql_put64(out, (uint64_t)microseconds(ns));
    if (column->native_type == POSTGRESQL_TIMETZ) {
        at += postgresql_put32(out + at, 0); /* UTC */
    }
    return at;
}

size_t postgresql_encode(const struct column *column, union column_values values, size_t row,
                         unsigned char *out)
{
    switch (column->type) {
    case COLUMN_BOOL:
        out[0] = values.boolean[row] != 0;
        return 1;
    case COLUMN_INT16:
        return postgresql_put16(out, (uint16_t)values.int16[row]);
    case COLUMN_INT32:
        return postgresql_put32(out, (uint32_t)values.int32[row]);
    case COLUMN_INT64:
        return postgresql_put64(out, (uint64_t)values.int64[row]);
    case COLUMN_FLOAT32:
        return put_float32(out, values.float32[row]);
    case COLUMN_FLOAT64:
        return put_float64(out, values.float64[row]);
    case COLUMN_DECIMAL:
        return put_numeric(out, values.int64[row], column->scale);
    case COLUMN_DATE:
        return put_date(out, values.int32[row]);
    case COLUMN_TIME:
        return put_time(out, column, values.int64[row]);
    case COLUMN_TIMESTAMP:
        return postgresql_put64(
            out, (uint64_t)(microseconds(values.int64[row]) - EPOCH_DAYS * INT64_C(86400000000)));
    case COLUMN_UUID:
        memcpy(out, values.uuid[row], 16);
        return 16;
    case COLUMN_IP4:
        return put_address(out, column, values.ip4[row], 4);
    case COLUMN_IP6:
        return put_address(out, column, values.ip6[row], 16);
    case COLUMN_UNSUPPORTED:
    case COLUMN_TEXT:
    case COLUMN_BYTES:
    case COLUMN_JSON:
    case COLUMN_TYPE_COUNT:
        break;
    }
    return 0;
}

/* PostgreSQL answers a question for TLS with one letter. Others greet first, with packets that can
 * begin with the same byte, so the length counts too. An error is 'E', its length and fields, the
 * first of which is 'S' with a text; older servers send 'E' and a text. */
enum probe_answer postgresql_judge(const unsigned char *answer, size_t length)
{
    if (length == 1) {
        return answer[0] == 'S' || answer[0] == 'N' || answer[0] == 'E' ? PROBE_YES : PROBE_NO;
    }
    if (length == 0 || answer[0] != 'E') {
        return length == 0 ? PROBE_MORE : PROBE_NO;
    }
    if (length <= 6) {
        return PROBE_MORE;
    }
    return (answer[5] == 'S' && answer[6] > ' ') || answer[1] > ' ' ? PROBE_YES : PROBE_NO;
}
