/*
 * A target as the user writes it: a port, scheme://user:password@host:port/database?parameters, or
 * scheme:path. In place of a host there can be several: host:port,host:port.
 */
#ifndef BASE_URL_H
#define BASE_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/error.h"
#include "append/url.h"

enum {
    URL_HOSTS_MAX = 64
};

struct url_host {
    const char *name; /* without the brackets of an IPv6 address */
    uint16_t port;    /* 0: none is given */
};

/* Members that are not in the text are NULL or 0. All strings point into `text`. */
struct url {
    char *text; /* owned */
    const char *scheme;
    const char *path; /* scheme:path only: what follows the colon */
    const char *user, *password;
    const char *host; /* NULL also for a list of hosts */
    uint16_t port;
    size_t host_count; /* of a list, else 0 */
    struct url_host hosts[URL_HOSTS_MAX];
    const char *database;
    const char *query; /* behind '?', still encoded */
};

/* True when the text is digits only; then *port is the number, or 0 when it is no valid port. */
bool url_parse_port(const char *text, uint16_t *port);

/* Takes a URL apart, percent-decoding its parts. `is_file`: what follows the scheme is a path.
 * REJECTED: not a URL, *error says why. On OK the caller ends it with url_fini. */
enum status url_parse(struct url *url, const char *text, bool is_file, struct error *error);
void url_fini(struct url *url);

/* Length of the scheme in "scheme:…"; 0 when the text does not begin with one. */
size_t url_scheme_length(const char *text);

/* True for "port", "host:port" and "[v6]:port": the host begins at *host, and *length is 0 when
 * none is named; *port is 0 when it is no valid one. */
bool url_parse_place(const char *text, const char **host, size_t *length, uint16_t *port);

/* Writes the URL without its password. Of a text that is none, such as "host=h password=p", only
 * what comes before the first '=' is shown. */
void url_redact(const char *text, char *out, size_t size);

/* A pair of a connection string as ODBC has them: `Key=value;Key={value; with }} in it};…`. */
struct url_pair {
    const char *key;
    size_t key_length; /* without blanks around it */
    const char *value; /* with its braces */
    size_t value_length;
    bool has_value; /* there is a '=' */
    bool is_closed; /* false: a brace without its end makes the value swallow what follows */
};

/* Takes the next pair off *rest, which is then at its ';' or the end; false: there is none. */
bool url_pair_next(const char **rest, struct url_pair *pair);

/* Whether the key is one of `keys` (NULL-terminated), without regard to case. */
bool url_pair_is(const struct url_pair *pair, const char *const *keys);

/* As url_redact, for "scheme:KEY=value;KEY={value};...": only keys of places and users keep their
 * value. */
void url_redact_string(const char *text, char *out, size_t size);

/* True for a socket folder ("/run/postgresql", "@abstract"), "", loopback addresses and addresses
 * of this machine's interfaces. Resolves names, so it may take as long as the resolver does; a name
 * that does not resolve is not this machine. */
bool address_is_local(const char *host);

#endif
