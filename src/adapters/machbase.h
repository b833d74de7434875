/* Machbase through its client library: the append protocol, and queries by prepared statements. */
#ifndef ADAPTERS_MACHBASE_H
#define ADAPTERS_MACHBASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "append/adapter.h"
#include "append/client_socket.h"
#include "base/text.h"

extern const struct adapter adapter_machbase;

/* Whether these bytes are Machbase's answer to its clients' first word. */
enum probe_answer machbase_judge(const unsigned char *bytes, size_t length);

/* A target as this adapter takes it. Texts are borrowed from the target, or in `alternatives`. */
struct machbase_place {
    const char *host;
    uint16_t port;
    const char *user;
    const char *password;
    bool has_delay;          /* ?nodelay=0: small packets may wait for the ones before them */
    char alternatives[1024]; /* host:port,host:port; "" = none */
};

/* Reads the target; FATAL: something of it that Machbase or its library cannot do. */
enum status machbase_place_read(struct machbase_place *place, const struct target *target,
                                struct error *error);

/* Writes the connection string; `address` is the host's IPv4 address in numbers. */
void machbase_string_build(struct buffer *text, const struct machbase_place *place,
                           const char *address, unsigned timeout_s);

/* Types of columns. Here and below: after the vendor's documented interface for 64-bit Linux. */
enum machbase_type {
    MACHBASE_INT32 = 4,
    MACHBASE_INT16 = 5,
    MACHBASE_FLOAT = 6, /* 4 bytes */
    MACHBASE_REAL = 7,
    MACHBASE_DOUBLE = 8,
    MACHBASE_VARCHAR = 12,
    MACHBASE_DATETIME = 93,
    MACHBASE_INT64 = -5,
    MACHBASE_BINARY = -2, /* and clob, blob */
    MACHBASE_TEXT = 2100,
    MACHBASE_JSON = 2101,
    MACHBASE_IP4 = 2104,
    MACHBASE_IP6 = 2106,
    MACHBASE_UINT16 = 2201,
    MACHBASE_UINT32 = 2202,
    MACHBASE_UINT64 = 2203,
};

struct machbase_address {
    uint8_t length; /* 4, 6; 0 = NULL */
    uint8_t bytes[16];
    char *text;
};

struct machbase_variable {
    unsigned length; /* 0 = NULL */
    const void *data;
};

struct machbase_time {
    int64_t ns; /* since 1970 UTC; -1 = NULL; -2 to -4: it is in one of the others, or now */
    struct tm parts;
    char *text;
    char *format;
};

/* One column of a row to append. The library writes into it: all that it reads is set again for
 * every row. */
union machbase_value {
    int16_t int16;
    uint16_t uint16;
    int32_t int32;
    uint32_t uint32;
    int64_t int64;
    uint64_t uint64;
    float float32;
    double float64;
    struct machbase_address address;
    struct machbase_variable variable;
    struct machbase_time time;
};

/* Sets the type, the size and the name of the type of a column; `type` as SQLDescribeCol has it. */
void machbase_set_type(struct column *column, int type, unsigned long size);

/* Makes *value the NULL of the column's type. */
void machbase_encode_null(const struct column *column, union machbase_value *value);

/* Makes *value the row's value; texts and bytes are borrowed. A value that is the type's own mark
 * for NULL is NULL, and so is an empty text. False: the library would store another one than this.
 */
bool machbase_encode(const struct column *column, union column_values values, size_t row,
                     union machbase_value *value);

/* Writes `sql` with the values of a row of one in place of its ?. False: there are not as many, or
 * one has a type that cannot be written. */
bool machbase_write_values(struct buffer *text, const char *sql, const struct batch *values);

/* See connection_info. A log table has no key, and no number of its own. */
bool machbase_declare_column(const struct column *column, bool is_numbered, char *text,
                             size_t size);

#endif
