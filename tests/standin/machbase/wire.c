#include "wire.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

enum {
    UNIT_HEADER_BYTES = 8,
    UNIT_ALIGNMENT = 8,
};

uint16_t wire_get_u16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

uint32_t wire_get_u32(const uint8_t *bytes)
{
    return (uint32_t)wire_get_u16(bytes) | (uint32_t)wire_get_u16(bytes + 2) << 16;
}

uint64_t wire_get_u64(const uint8_t *bytes)
{
    return (uint64_t)wire_get_u32(bytes) | (uint64_t)wire_get_u32(bytes + 4) << 32;
}

uint32_t wire_get_u32_be(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

void wire_put_be(uint8_t *bytes, uint64_t number, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        bytes[i] = (uint8_t)(number >> (8 * (width - 1 - i)));
    }
}

void wire_put_le(uint8_t *bytes, uint64_t number, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        bytes[i] = (uint8_t)(number >> (8 * i));
    }
}

/* The client waits with small messages for the acknowledgement of what it sent before: it gets that
 * at once, or each append would take a delayed acknowledgement's 40 ms [run]. */
static void acknowledge_at_once(int socket)
{
    const int one = 1;
    (void)setsockopt(socket, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof one);
}

bool wire_read(int socket, void *bytes, size_t length)
{
    size_t done = 0;
    while (done < length) {
        const ssize_t got = recv(socket, (char *)bytes + done, length - done, MSG_WAITALL);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        done += (size_t)got;
    }
    acknowledge_at_once(socket);
    return true;
}

/* Grows the body by what one packet brings. Read in pieces: the length is what the client says, and
 * memory is for what it sends. */
static enum wire_end receive_body(int socket, struct buffer *body, size_t length)
{
    uint8_t piece[16 * 1024];
    while (length > 0) {
        const size_t now = length < sizeof piece ? length : sizeof piece;
        if (!wire_read(socket, piece, now)) {
            return WIRE_END_CLOSED;
        }
        buffer_add(body, piece, now);
        if (buffer_failed(body)) {
            return WIRE_END_MEMORY;
        }
        length -= now;
    }
    return WIRE_END_NONE;
}

enum wire_end wire_receive(int socket, struct buffer *body, struct wire_message *message)
{
    buffer_clear(body);
    bool is_more = true;
    for (bool is_first = true; is_more; is_first = false) {
        uint8_t header[WIRE_HEADER_BYTES];
        if (!wire_read(socket, header, sizeof header)) {
            return WIRE_END_CLOSED;
        }
        const uint32_t word = wire_get_u32_be(header + 4);
        const uint32_t part = word >> 30;
        const size_t length = word & ((UINT32_C(1) << 30) - 1);
        const bool begins = part == WIRE_WHOLE || part == WIRE_FIRST;
        if (header[0] != 0 || begins != is_first || length > WIRE_MESSAGE_MAX - body->length ||
            (!is_first && header[3] != message->protocol)) {
            return WIRE_END_GARBAGE;
        }
        message->adds = (uint16_t)(header[1] << 8 | header[2]);
        message->protocol = header[3];
        message->statement = wire_get_u32_be(header + 8);
        const enum wire_end end = receive_body(socket, body, length);
        if (end != WIRE_END_NONE) {
            return end;
        }
        is_more = part == WIRE_FIRST || part == WIRE_MIDDLE;
    }
    message->body = (const uint8_t *)body->bytes;
    message->length = body->length;
    return WIRE_END_NONE;
}

struct wire_units wire_units(const struct wire_message *message)
{
    return (struct wire_units){.at = message->body, .left = message->length};
}

static bool is_variable(uint32_t type)
{
    return type == WIRE_STRING || type == WIRE_BINARY || type == WIRE_DATE || type == WIRE_ROWS ||
           type == WIRE_ODD_F1 || type == WIRE_ODD_F2;
}

bool wire_next(struct wire_units *units, struct wire_unit_value *unit)
{
    if (units->left == 0 || units->is_broken) {
        return false;
    }
    units->is_broken = true; /* until all of it is seen */
    if (units->left < UNIT_HEADER_BYTES + 8) {
        return false;
    }
    unit->id = wire_get_u32(units->at);
    unit->type = wire_get_u32(units->at + 4);
    unit->number = wire_get_u64(units->at + UNIT_HEADER_BYTES);
    unit->bytes = NULL;
    unit->length = 0;
    size_t taken = UNIT_HEADER_BYTES + 8;
    if (is_variable(unit->type)) {
        const size_t room = units->left - taken;
        const size_t padding = (size_t)(-unit->number % UNIT_ALIGNMENT);
        if (unit->number > room || padding > room - unit->number) {
            return false;
        }
        unit->bytes = units->at + taken;
        unit->length = (size_t)unit->number;
        taken += unit->length + padding;
    } else if (unit->type < 4 || unit->type > WIRE_UINT64) {
        return false;
    }
    units->at += taken;
    units->left -= taken;
    units->is_broken = false;
    return true;
}

bool wire_find(const struct wire_message *message, uint32_t id, bool is_fixed,
               struct wire_unit_value *unit)
{
    struct wire_units units = wire_units(message);
    while (wire_next(&units, unit)) {
        if (unit->id == id && (unit->bytes == NULL) == is_fixed) {
            return true;
        }
    }
    return false;
}

void wire_add_number(struct buffer *body, uint32_t id, uint32_t type, uint64_t number)
{
    uint8_t bytes[UNIT_HEADER_BYTES + 8];
    wire_put_le(bytes, id, 4);
    wire_put_le(bytes + 4, type, 4);
    wire_put_le(bytes + UNIT_HEADER_BYTES, number, 8);
    buffer_add(body, bytes, sizeof bytes);
}

void wire_add_bytes(struct buffer *body, uint32_t id, uint32_t type, const void *bytes,
                    size_t length)
{
    static const char zeroes[UNIT_ALIGNMENT] = {0};
    wire_add_number(body, id, type, length);
    buffer_add(body, bytes, length);
    buffer_add(body, zeroes, -length % UNIT_ALIGNMENT);
}

void wire_add_text(struct buffer *body, uint32_t id, const char *text)
{
    wire_add_bytes(body, id, WIRE_STRING, text, strlen(text));
}

void wire_add_result(struct buffer *body, uint64_t high_word, uint32_t code)
{
    wire_add_number(body, WIRE_RESULT, WIRE_UINT64, high_word << 32 | code);
}

void wire_add_message(struct buffer *out, enum wire_protocol protocol, uint32_t statement,
                      const struct buffer *body)
{
    size_t done = 0;
    do {
        const size_t left = body->length - done;
        const size_t length = left < WIRE_BODY_MAX ? left : WIRE_BODY_MAX;
        const bool is_first = done == 0;
        const bool is_last = length == left;
        const uint32_t part = is_first && is_last ? WIRE_WHOLE
                              : is_first          ? WIRE_FIRST
                              : is_last           ? WIRE_LAST
                                                  : WIRE_MIDDLE;
        uint8_t header[WIRE_HEADER_BYTES] = {0};
        header[3] = (uint8_t)protocol;
        wire_put_be(header + 4, part << 30 | length, 4);
        wire_put_be(header + 8, statement, 4);
        buffer_add(out, header, sizeof header);
        if (length > 0) {
            buffer_add(out, body->bytes + done, length);
        }
        done += length;
    } while (done < body->length);
}
