/* Machbase through its client library: connection strings, column types, values and SQL. */
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

/* Checks whether these bytes are Machbase's answer to a client's greeting. */
enum probe_answer machbase_recognise(const unsigned char *bytes, size_t length);

/* A struct target in this adapter's form. Its strings are borrowed from the struct target, or are
 * in `alternatives`. */
struct machbase_target {
    const char *host;
    uint16_t port;
    const char *user;
    const char *password;
    bool has_delay;          /* ?nodelay=0: small packets may wait for earlier packets */
    char alternatives[1024]; /* host:port,host:port; "" = none */
};

/* Reads the target. Returns FATAL if Machbase or its library does not support a part of it. */
enum status machbase_target_read(struct machbase_target *place, const struct target *target,
                                 struct error *error);

/* Writes the connection string; `address` is the host's numeric IPv4 address. */
void machbase_string_build(struct buffer *text, const struct machbase_target *place,
                           const char *address, unsigned timeout_s);

/* Column types. This enum and the types below it follow the vendor's documented interface for
 * 64-bit Linux. */
enum machbase_type {
    MACHBASE_INT32 = 4,
    MACHBASE_INT16 = 5,
    MACHBASE_FLOAT = 6, /* a number of 4 bytes */
    MACHBASE_REAL = 7,
    MACHBASE_DOUBLE = 8,
    MACHBASE_VARCHAR = 12,
    MACHBASE_DATETIME = 93,
    MACHBASE_INT64 = -5,
    MACHBASE_BINARY = -2, /* the type binary, and also clob and blob */
    MACHBASE_TEXT = 2100,
    MACHBASE_JSON = 2101,
    MACHBASE_IP4 = 2104,
    MACHBASE_IP6 = 2106,
    MACHBASE_UINT16 = 2201,
    MACHBASE_UINT32 = 2202,
    MACHBASE_UINT64 = 2203,
};

struct machbase_address {
    uint8_t length; /* version of IP, 4 or 6; 0 = NULL */
    uint8_t bytes[16];
    char *text;
};

struct machbase_variable {
    unsigned length; /* length in bytes; 0 = NULL */
    const void *data;
};

struct machbase_time {
    int64_t ns; /* time since 1970-01-01 UTC; -1: NULL; -2 to -4: the library reads the time from
                   another member, or uses the current time */
    struct tm parts;
    char *text;
    char *format;
};

/* The value of one column in a row that is sent. The library overwrites members, so all members
 * that the library reads are set again for every row. */
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

/* Sets a column's type, size and type name; `type` is a type as SQLDescribeCol reports it. */
void machbase_set_type(struct column *column, int type, unsigned long size);

/* Sets *value to the NULL of the column's type. */
void machbase_encode_null(const struct column *column, union machbase_value *value);

/* Sets *value to the row's value; texts and bytes are not copied. Returns false if the library
 * would store a different value, because it truncates long texts and reserves some values, for
 * example for NULL. An empty text is stored as NULL. */
bool machbase_encode(const struct column *column, union column_values values, size_t row,
                     union machbase_value *value);

/* Writes `sql`, replacing each ? by a value of a one-row batch. Returns false if `sql` has
 * more or fewer ? than there are values, or if a value cannot be written: bytes, or a text with a
 * NUL byte. */
bool machbase_write_values(struct buffer *text, const char *sql, const struct batch *values);

/* Implements connection_info.declare_column. A log table has no key and does not number its
 * rows. */
bool machbase_declare_column(const struct column *column, bool is_numbered, char *text,
                             size_t size);

#endif
