/* Machbase through its client library: the append protocol, and queries by prepared statements. */
#ifndef ADAPTERS_MACHBASE_H
#define ADAPTERS_MACHBASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/adapter.h"
#include "base/buffer.h"
#include "base/probe.h"

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

#endif
