/*
 * GET /metrics: a text, given to whoever asks on a TCP port. One thread serves all; the text is
 * replaced by another one at any time.
 *
 * It is HTTP/1.1 as far as a scraper needs it: one request a connection, GET and HEAD, no body. A
 * client has CLIENT_TIME_NS for all of it and is one of at most CLIENTS_MAX: one more takes the
 * place of the oldest. What is no request gets 400, and nobody can keep the thread from serving the
 * others.
 */
#ifndef REPORT_METRICS_HTTP_H
#define REPORT_METRICS_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "append/error.h"

enum {
    METRICS_HTTP_CLIENTS_MAX = 16,
    METRICS_HTTP_LISTENERS_MAX = 2,
    /* the wake-up, and one more client before the oldest goes */
    METRICS_HTTP_FILES_MAX = METRICS_HTTP_LISTENERS_MAX + METRICS_HTTP_CLIENTS_MAX + 2
};

struct metrics_http;

/* Listens on an address of `host` and starts the thread. NULL: *error says why. */
struct metrics_http *metrics_http_start(const char *host, uint16_t port, struct error *error);

/* What is given out from now on; copied. Any thread. Without memory the old text stays. */
void metrics_http_publish(struct metrics_http *http, const char *text, size_t length);

/* Ends the thread and every connection at once. Takes NULL. */
void metrics_http_stop(struct metrics_http *http);

/* What a request is answered with. */
enum metrics_http_answer {
    METRICS_HTTP_MORE,      /* it is not whole yet */
    METRICS_HTTP_TEXT,      /* GET /metrics */
    METRICS_HTTP_HEAD,      /* HEAD /metrics */
    METRICS_HTTP_INDEX,     /* GET / */
    METRICS_HTTP_NOT_FOUND, /* another path */
    METRICS_HTTP_METHOD,    /* another method */
    METRICS_HTTP_BAD,       /* no HTTP request */
};

/* Reads the head of a request, of which `length` bytes are there. */
enum metrics_http_answer metrics_http_understand(const char *request, size_t length);

#endif
