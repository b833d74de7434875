/*
 * Text like that of real logs: host names and messages.
 *
 * Messages come from templates in which groups of digits are replaced; so they differ in every row
 * and still look like a log. All output is ASCII: one character is one byte.
 */
#ifndef LOAD_GENERATOR_TEXT_H
#define LOAD_GENERATOR_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum {
    TEXT_MESSAGE_BYTES = 128, /* memory for one message, padding included */
    TEXT_HOST_BYTES = 48,
    TEXT_HOSTS = 512,
    TEXT_TEMPLATES = 16,
    TEXT_PAIRS_MAX = 12,
};

/* A message with places for pairs of digits. */
struct text_template {
    char bytes[TEXT_MESSAGE_BYTES];
    uint32_t length;
    uint32_t pair_count;
    uint8_t pairs[TEXT_PAIRS_MAX]; /* offsets */
};

struct text_source {
    struct text_template templates[TEXT_TEMPLATES];
    char hosts[TEXT_HOSTS][TEXT_HOST_BYTES];
    uint8_t host_lengths[TEXT_HOSTS];
    char digits[200]; /* "00" … "99" */
};

void text_source_init(struct text_source *source);

/* Writes the message of `hash` into TEXT_MESSAGE_BYTES bytes and returns its length. */
uint32_t text_write_message(const struct text_source *source, uint64_t hash, char *out);

#endif
