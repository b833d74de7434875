/*
 * The vendor's client library, loaded at run time: what this adapter uses of it, and values of
 * columns as it takes them.
 *
 * The declarations are written after the vendor's documented interface for 64-bit Linux. Nothing of
 * the vendor is needed to build. Sizes and offsets that the library relies on are checked when this
 * is compiled.
 */
#ifndef ADAPTERS_MACHBASE_LIBRARY_H
#define ADAPTERS_MACHBASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "append/adapter.h"

/* Handles of an environment, a connection, a statement. */
typedef void *machbase_handle;

/* Results of all calls. 16 bits: the rest of the register is not defined. */
typedef short machbase_result;

enum machbase_results {
    MACHBASE_OK = 0,
    MACHBASE_OK_WITH_INFO = 1,
    MACHBASE_NO_DATA = 100,
    MACHBASE_ERROR = -1,
};

/* Arguments. */
enum {
    MACHBASE_NTS = -3, /* the text is terminated */
    MACHBASE_DROP = 1, /* frees a statement */
    MACHBASE_NO_PROMPT = 0,
    MACHBASE_C_CHAR = 1,     /* a column is wanted as text */
    MACHBASE_NULL_DATA = -1, /* indicator of a column */
};

/* Types of columns. */
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

/* Values that mean something else. */
enum {
    MACHBASE_TIME_NULL = -1, /* of a datetime; the others let the library make the time: */
    MACHBASE_TIME_TEXT = -2,
    MACHBASE_TIME_STRUCT = -3,
    MACHBASE_TIME_NOW = -4,
    MACHBASE_ADDRESS_NULL = 0, /* length of an address */
    MACHBASE_ADDRESS_IP4 = 4,
    MACHBASE_ADDRESS_IP6 = 6,
};

struct machbase_address {
    uint8_t length; /* MACHBASE_ADDRESS_... */
    uint8_t bytes[16];
    char *text;
};

struct machbase_variable {
    unsigned length; /* 0 = NULL */
    const void *data;
};

struct machbase_time {
    int64_t ns; /* since 1970 UTC, or MACHBASE_TIME_... */
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

_Static_assert(sizeof(void *) == 8 && sizeof(long) == 8, "the library is for 64-bit Linux");
_Static_assert(sizeof(machbase_result) == 2, "results have 16 bits");
_Static_assert(sizeof(struct tm) == 56, "struct tm as the library has it");
_Static_assert(sizeof(union machbase_value) == 80, "the size of a value");
_Static_assert(_Alignof(union machbase_value) == 8, "the alignment of a value");
_Static_assert(offsetof(struct machbase_address, length) == 0, "an address: length");
_Static_assert(offsetof(struct machbase_address, bytes) == 1, "an address: bytes");
_Static_assert(offsetof(struct machbase_address, text) == 24, "an address: text");
_Static_assert(sizeof(struct machbase_address) == 32, "an address: size");
_Static_assert(offsetof(struct machbase_variable, length) == 0, "a variable value: length");
_Static_assert(offsetof(struct machbase_variable, data) == 8, "a variable value: data");
_Static_assert(sizeof(struct machbase_variable) == 16, "a variable value: size");
_Static_assert(offsetof(struct machbase_time, ns) == 0, "a time: nanoseconds");
_Static_assert(offsetof(struct machbase_time, parts) == 8, "a time: struct tm");
_Static_assert(offsetof(struct machbase_time, text) == 64, "a time: text");
_Static_assert(offsetof(struct machbase_time, format) == 72, "a time: format");

/* Told of a row that the server refuses, by the call that reads the server's answer. */
typedef void (*machbase_on_error)(machbase_handle statement, int code, void *message, long length,
                                  void *row, long row_length);

/* The functions, by the names that they have in the library. */
struct machbase_functions {
    machbase_result (*SQLAllocEnv)(machbase_handle *environment);
    machbase_result (*SQLAllocConnect)(machbase_handle environment, machbase_handle *connection);
    machbase_result (*SQLAllocStmt)(machbase_handle connection, machbase_handle *statement);
    machbase_result (*SQLFreeStmt)(machbase_handle statement, unsigned short how);
    machbase_result (*SQLFreeConnect)(machbase_handle connection);
    machbase_result (*SQLFreeEnv)(machbase_handle environment);
    machbase_result (*SQLDriverConnect)(machbase_handle connection, void *window,
                                        unsigned char *text, short length, unsigned char *completed,
                                        short size, short *completed_length, unsigned short prompt);
    machbase_result (*SQLDisconnect)(machbase_handle connection);
    machbase_result (*SQLError)(machbase_handle environment, machbase_handle connection,
                                machbase_handle statement, unsigned char *state, int *code,
                                unsigned char *message, short size, short *length);
    machbase_result (*SQLPrepare)(machbase_handle statement, unsigned char *sql, int length);
    machbase_result (*SQLExecute)(machbase_handle statement);
    machbase_result (*SQLExecDirect)(machbase_handle statement, unsigned char *sql, int length);
    machbase_result (*SQLNumResultCols)(machbase_handle statement, short *columns);
    machbase_result (*SQLDescribeCol)(machbase_handle statement, unsigned short column,
                                      unsigned char *name, short size, short *length, short *type,
                                      unsigned long *column_size, short *digits, short *nullable);
    machbase_result (*SQLBindCol)(machbase_handle statement, unsigned short column, short type,
                                  void *buffer, long size, long *indicator);
    machbase_result (*SQLFetch)(machbase_handle statement);
    machbase_result (*SQLAppendOpen)(machbase_handle statement, unsigned char *table,
                                     int check_every);
    machbase_result (*SQLAppendDataV2)(machbase_handle statement, union machbase_value *row);
    machbase_result (*SQLAppendClose)(machbase_handle statement, long *successes, long *failures);
    machbase_result (*SQLAppendSetErrorCallback)(machbase_handle statement,
                                                 machbase_on_error on_error);
};

enum {
    MACHBASE_PATH_BYTES = 512
};

/* What adapter.load makes: read-only, shared by all threads. */
struct adapter_library {
    struct machbase_functions call;
    void *handle;
    char path[MACHBASE_PATH_BYTES]; /* of the file, as it was found */
};

enum status machbase_load(const char *client_lib, struct adapter_library **library,
                          struct error *error);
void machbase_unload(struct adapter_library *library);

/* One line for --version: which library would be loaded. */
void machbase_library_text(char *text, size_t size);

/* Sets the type, the size and the name of the type of a column; `type` as SQLDescribeCol has it. */
void machbase_set_type(struct column *column, int type, unsigned long size);

/* Makes *value the NULL of the column's type. */
void machbase_encode_null(const struct column *column, union machbase_value *value);

/* Makes *value the row's value; texts and bytes are borrowed. A value that is the type's own mark
 * for NULL is NULL, and so is an empty text. False: the library would store another one than this.
 */
bool machbase_encode(const struct column *column, union column_values values, size_t row,
                     union machbase_value *value);

/* The library by its declared arguments, which are writable and not written to. */
static inline unsigned char *machbase_text(const char *text)
{
    union {
        const char *text;
        unsigned char *argument;
    } borrowed = {text};
    return borrowed.argument;
}

static inline bool machbase_succeeded(machbase_result result)
{
    return result == MACHBASE_OK || result == MACHBASE_OK_WITH_INFO;
}

#endif
