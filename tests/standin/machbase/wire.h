/*
 * Machbase's client protocol as its client library speaks it: messages of units over TCP.
 *
 * How each fact is known is marked [run] seen with the vendor's client library (the wheel
 * machbaseAPI 1.12) as the client of a server such as this one, [src] read in the vendor's public
 * clients (Python machbaseapi 2.4, Go). No real Machbase server was asked.
 *
 * Both sides greet with 9 bytes, WIRE_HELLO and WIRE_READY [run]; the last byte of WIRE_HELLO tells
 * the client's byte order, '0' = little endian. The client library takes a greeting that does not
 * come in one piece for a failure; of messages it reads any pieces [run].
 *
 * Then messages follow, in packets whose bodies are joined. A packet, all big endian [run]:
 *
 *     u8 0, u16 adds, u8 protocol, u32 part << 30 | length of the body, u32 statement, u32 0
 *
 * The joined body is a row of units, all little endian [run]:
 *
 *     u32 id, u32 type, then a value in 8 bytes, or u64 length, bytes, zeroes up to 8 bytes
 *
 * Every request has one reply, but for APPEND_DATA, which has one for each row that is refused
 * [run]. A reply begins with WIRE_RESULT. Where that is no WIRE_OK a WIRE_MESSAGE follows, and the
 * request has failed; as the reply to APPEND_CLOSE the client library takes that for a lost link,
 * "Cannot read column meta." [run].
 *
 * A server does not hang up right after a reply: the client library looks for the end of the
 * connection before it believes what it has read [run].
 */
#ifndef MACHBASE_STANDIN_WIRE_H
#define MACHBASE_STANDIN_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define WIRE_HELLO "CMI_INET0"
#define WIRE_READY "CMI_READY"

enum {
    WIRE_GREETING_BYTES = 9,
    WIRE_HEADER_BYTES = 16,
    WIRE_BODY_MAX = 0xFFF0,       /* of a packet: what the client library sends at most [run] */
    WIRE_MESSAGE_MAX = 64 << 20,  /* of all parts together: this server's own limit */
    WIRE_PIECE_BYTES = 48 * 1024, /* rows of a result that go into one packet */
};

/* What a message is about [src], all but EXECARRAY and APPEND_BATCH [run]. */
enum wire_protocol {
    WIRE_CONNECT = 0,
    WIRE_DISCONNECT = 1,
    WIRE_PREPARE = 6,
    WIRE_EXECUTE = 7,
    WIRE_EXECDIRECT = 8,
    WIRE_FETCH = 9,
    WIRE_FREE = 10,
    WIRE_APPEND_OPEN = 11,
    WIRE_APPEND_DATA = 12,
    WIRE_APPEND_CLOSE = 13,
};

enum wire_part {
    WIRE_WHOLE = 0,
    WIRE_FIRST = 1,
    WIRE_MIDDLE = 2,
    WIRE_LAST = 3,
};

/* Ids of units [src, run]. The same number means different things in different messages. */
enum wire_unit {
    WIRE_VERSION = 0x01,
    WIRE_ENDIAN = 0x05,
    WIRE_USER = 0x06,
    WIRE_PASSWORD = 0x07,
    WIRE_RESULT = 0x10,
    WIRE_MESSAGE = 0x11,
    WIRE_MORE = 0x12,
    WIRE_SQL = 0x20, /* PREPARE */
    WIRE_PARAMETERS = 0x21,
    WIRE_STATEMENT = 0x22,
    WIRE_ROW = 0x23, /* APPEND_DATA; the rows concerned, in the reply to a statement */
    WIRE_COLUMNS = 0x24,
    WIRE_TABLE = 0x25,
    WIRE_NAME = 0x26,
    WIRE_TYPE = 0x27,
    WIRE_DIRECT_SQL = 0x40, /* EXECDIRECT; the number of the connection, in the reply to CONNECT */
    WIRE_FETCH_STATEMENT = 0x50,
    WIRE_FETCH_ROWS = 0x51,
    WIRE_FETCH_ROW = 0x52,
    WIRE_FREE_STATEMENT = 0x60,
    WIRE_SUCCESSES = 0x61,
    WIRE_FAILURES = 0x62,
    WIRE_STATEMENT_TYPE = 0xC8,
};

/* Types of units [src]. The low bit of the fixed ones says unsigned. */
enum wire_type {
    WIRE_STRING = 2,
    WIRE_BINARY = 3,
    WIRE_INT32 = 8,
    WIRE_UINT32 = 9,
    WIRE_INT64 = 10,
    WIRE_UINT64 = 11,
    WIRE_DATE = 12,
    WIRE_ROWS = 13,
    WIRE_ODD_F1 = 0xF1,
    WIRE_ODD_F2 = 0xF2,
};

/* High words of a WIRE_RESULT, whose low word is the error's number [run]. */
#define WIRE_OK UINT64_C(0x724F4B5F)
#define WIRE_ERROR UINT64_C(0x72434D5F)
#define WIRE_END UINT64_C(0x724C5354)

/* A message that came in. The body belongs to the buffer it was read into. */
struct wire_message {
    uint8_t protocol;
    uint16_t adds;
    uint32_t statement;
    const uint8_t *body;
    size_t length;
};

struct wire_unit_value {
    uint32_t id;
    uint32_t type;
    uint64_t number;      /* fixed types: 8 bytes, low bytes first */
    const uint8_t *bytes; /* variable types: not terminated; NULL with a fixed type */
    size_t length;
};

/* Walks over the units of a body. */
struct wire_units {
    const uint8_t *at;
    size_t left;
    bool is_broken; /* the body is no row of units */
};

/* How a read ended. */
enum wire_end {
    WIRE_END_NONE,    /* a whole message is there */
    WIRE_END_CLOSED,  /* the client hung up, between messages or inside one */
    WIRE_END_GARBAGE, /* what came is no packet of this protocol */
    WIRE_END_MEMORY,
};

/* Reads exactly `length` bytes; false = the connection ended before. */
bool wire_read(int socket, void *bytes, size_t length);

/* Reads a whole message into `body`, all parts joined. */
enum wire_end wire_receive(int socket, struct buffer *body, struct wire_message *message);

/* The units of a message. wire_next returns false at the end, and where the units are broken. */
struct wire_units wire_units(const struct wire_message *message);
bool wire_next(struct wire_units *units, struct wire_unit_value *unit);

/* The first unit with this id and of a fixed (is_fixed) or variable type; false = there is none. */
bool wire_find(const struct wire_message *message, uint32_t id, bool is_fixed,
               struct wire_unit_value *unit);

/* Add a unit to a body. */
void wire_add_number(struct buffer *body, uint32_t id, uint32_t type, uint64_t number);
void wire_add_bytes(struct buffer *body, uint32_t id, uint32_t type, const void *bytes,
                    size_t length);
void wire_add_text(struct buffer *body, uint32_t id, const char *text);
void wire_add_result(struct buffer *body, uint64_t high_word, uint32_t code);

/* Appends the packets of a message with this body to `out`. */
void wire_add_message(struct buffer *out, enum wire_protocol protocol, uint32_t statement,
                      const struct buffer *body);

/* Little and big endian numbers of any place in memory. */
uint16_t wire_get_u16(const uint8_t *bytes);
uint32_t wire_get_u32(const uint8_t *bytes);
uint64_t wire_get_u64(const uint8_t *bytes);
uint32_t wire_get_u32_be(const uint8_t *bytes);
void wire_put_le(uint8_t *bytes, uint64_t number, size_t width);
void wire_put_be(uint8_t *bytes, uint64_t number, size_t width);

#endif
