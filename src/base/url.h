/*
 * A target as the user writes it: a port, scheme://user:password@host:port/database?parameters, or
 * scheme:path. Instead of one host a URL can have a list: host:port,host:port.
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
    const char *name; /* name or address of the host, without the brackets of an IPv6 address */
    uint16_t port;    /* 0 = the URL does not give the port of this host */
};

/* A URL divided into its parts. The members for missing parts are NULL or 0. All strings point into
 * `text`. */
struct url {
    char *text; /* copy of the URL, cut into its parts; owned */
    const char *scheme;
    const char *path; /* text after the colon of scheme:path; NULL for other URLs */
    const char *user, *password;
    /* name or address of the host; NULL if the URL has no host or has a list of hosts */
    const char *host;
    uint16_t port;
    size_t host_count; /* number of hosts in the list; 0 = the URL has no list */
    struct url_host hosts[URL_HOSTS_MAX];
    const char *database;
    const char *query; /* the text after '?', still percent-encoded */
};

/* Returns whether the text consists of digits, and sets *port to the number, or to 0 if the number
 * is too large for a port. */
bool url_parse_port(const char *text, uint16_t *port);

/* Parses a URL and decodes its parts. With `is_file`, the text after the scheme is a path. Returns
 * REJECTED with the reason in *error if the URL is not valid. After OK the caller frees *url with
 * url_fini. */
enum status url_parse(struct url *url, const char *text, bool is_file, struct error *error);
void url_fini(struct url *url);

/* Returns the length of the scheme in "scheme:…"; 0 when the text has no scheme. */
size_t url_scheme_length(const char *text);

/* Parses "port", "host:port" or "[v6]:port". Returns false if the text has none of these forms.
 * Sets *host to the beginning of the host within `text`, and *length to the length of the host, or
 * 0 if the text has no host. Sets *port to 0 when the port is not valid. */
bool url_parse_place(const char *text, const char **host, size_t *length, uint16_t *port);

/* Writes the URL with its passwords replaced. For a text that is not a URL, for example "host=h
 * password=p", writes only the text before the first '='. */
void url_redact(const char *text, char *out, size_t size);

/* A pair of an ODBC connection string: `Key=value;Key={value; with }} in it};…`. */
struct url_pair {
    const char *key;
    size_t key_length; /* length of the key, without the blanks around it */
    const char *value; /* value, with its braces */
    size_t value_length;
    bool has_value; /* the pair has a '=' */
    /* false = a '{' has no '}'; the value continues to the end of the text */
    bool is_closed;
};

/* Parses the next pair at *rest, and moves *rest to the ';' after this pair or to the end of the
 * text. Returns false if there are no more pairs. */
bool url_pair_next(const char **rest, struct url_pair *pair);

/* Returns whether the key is one of `keys` (ends with NULL), ignoring case. */
bool url_pair_is(const struct url_pair *pair, const char *const *keys);

/* Writes a connection string "scheme:KEY=value;KEY={value};...". Shows only the values of harmless
 * keys, such as hosts, databases and users. */
void url_redact_string(const char *text, char *out, size_t size);

/* Returns whether `host` is this machine: a socket folder ("/run/postgresql", "@abstract"), "", a
 * loopback address or an address of one of this machine's interfaces. Resolves `host` if it is a
 * name, which can take as long as the resolver needs. Returns false if the name does not
 * resolve. */
bool address_is_local(const char *host);

#endif
