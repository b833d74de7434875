#include "base/url.h"

#include <ctype.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const int lower = tolower((unsigned char)c);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool url_decode(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        if (*from != '%') {
            *to++ = *from;
            continue;
        }
        const int high = hex_digit(from[1]);
        const int low = high < 0 ? -1 : hex_digit(from[2]);
        if (low < 0 || high * 16 + low == 0) {
            return false;
        }
        *to++ = (char)(high * 16 + low);
        from += 2;
    }
    *to = '\0';
    return true;
}

static bool take(char *to, size_t size, const char *from, size_t length)
{
    if (length >= size) {
        return false;
    }
    memcpy(to, from, length);
    to[length] = '\0';
    return url_decode(to);
}

bool url_query_next(const char **rest, struct url_parameter *parameter, bool *is_good)
{
    if (*rest == NULL) {
        return false;
    }
    const char *start = *rest + strspn(*rest, "&");
    const size_t length = strcspn(start, "&#");
    if (length == 0) {
        return false;
    }
    *rest = start + length;
    const char *equals = memchr(start, '=', length);
    const size_t key_length = equals == NULL ? length : (size_t)(equals - start);
    const char *value = equals == NULL ? start + length : equals + 1;
    parameter->value[0] = '\0';
    *is_good =
        take(parameter->key, sizeof parameter->key, start, key_length) &&
        take(parameter->value, sizeof parameter->value, value, (size_t)(start + length - value));
    return true;
}

bool url_parse_port(const char *text, uint16_t *port)
{
    const size_t length = strlen(text);
    if (length == 0 || strspn(text, "0123456789") != length) {
        return false;
    }
    const unsigned long number = length > 5 ? 0 : strtoul(text, NULL, 10);
    *port = number > UINT16_MAX ? 0 : (uint16_t)number;
    return true;
}

bool url_parse_place(const char *text, const char **host, size_t *length, uint16_t *port)
{
    const char *colon = strrchr(text, ':');
    const size_t all = colon == NULL ? 0 : (size_t)(colon - text);
    const bool is_bracketed = all > 2 && text[0] == '[' && text[all - 1] == ']';
    *host = text + (is_bracketed ? 1 : 0);
    *length = all - (is_bracketed ? 2 : 0);
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    size_t known = is_bracketed ? strspn(*host, "0123456789abcdefABCDEF:.") : 0;
    if (!is_bracketed || (*host)[known] == '%') {
        known += is_bracketed ? 1 : 0;
        known += strspn(*host + known, allowed);
    }
    return url_parse_port(colon == NULL ? text : colon + 1, port) &&
           (colon == NULL || (all > 0 && known == *length));
}

size_t url_scheme_length(const char *text)
{
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) ||
           (length > 0 && text[length] != '\0' && strchr("+-.", text[length]) != NULL)) {
        length++;
    }
    return isalpha((unsigned char)text[0]) && text[length] == ':' ? length : 0;
}

/* host, host:port, [v6], [v6]:port, or a list of these (which the client library must read). */
static bool parse_host(struct url *url, char *text)
{
    if (strpbrk(text, "= ") != NULL) {
        return false; /* a connection string gone astray, maybe with a password */
    }
    if (strchr(text, ',') != NULL) {
        return true;
    }
    char *port = NULL;
    if (text[0] == '[') {
        char *end = strchr(text, ']');
        if (end == NULL || (end[1] != '\0' && end[1] != ':')) {
            return false;
        }
        port = end[1] == ':' ? end + 2 : NULL;
        *end = '\0';
        text++;
    } else {
        char *colon = strrchr(text, ':');
        if (colon != NULL) {
            *colon = '\0';
            port = colon + 1;
        }
    }
    if (port != NULL && *port != '\0' && (!url_parse_port(port, &url->port) || url->port == 0)) {
        return false;
    }
    url->host = *text == '\0' ? NULL : text;
    return url_decode(text);
}

/* A '/', '?' or '#' of a password that was not percent-encoded would end it: its beginning would be
 * a host and a port, and be shown. Then an @ comes behind it, outside of a parameter's value. */
static bool has_stray_at(const char *rest)
{
    const char *end = rest + strcspn(rest, "/?#");
    const char *at = strchr(end, '@');
    if (at == NULL) {
        return false;
    }
    const char *question = memchr(end, '?', (size_t)(at - end));
    return question == NULL || memchr(question, '=', (size_t)(at - question)) == NULL;
}

static bool parse_authority(struct url *url, char *rest)
{
    if (has_stray_at(rest)) {
        return false;
    }
    rest[strcspn(rest, "#")] = '\0';
    char *question = strchr(rest, '?');
    if (question != NULL) {
        *question = '\0';
        url->query = question[1] == '\0' ? NULL : question + 1;
    }
    char *slash = strchr(rest, '/');
    if (slash != NULL) {
        *slash = '\0';
        url->database = slash[1] == '\0' ? NULL : slash + 1;
        if (!url_decode(slash + 1)) {
            return false;
        }
    }
    char *at = strrchr(rest, '@');
    if (at == NULL) {
        return parse_host(url, rest);
    }
    *at = '\0';
    char *colon = strchr(rest, ':');
    if (colon != NULL) {
        *colon = '\0';
        url->password = colon + 1;
        if (!url_decode(colon + 1)) {
            return false;
        }
    }
    url->user = *rest == '\0' ? NULL : rest;
    return url_decode(rest) && parse_host(url, at + 1);
}

enum status url_parse(struct url *url, const char *text, bool is_file, struct error *error)
{
    *url = (struct url){0};
    const size_t scheme = url_scheme_length(text);
    url->text = strdup(text);
    if (url->text == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the target");
        return STATUS_FATAL;
    }
    url->text[scheme] = '\0';
    url->scheme = url->text;
    char *rest = url->text + scheme + 1;
    const bool has_slashes = strncmp(rest, "//", 2) == 0;
    if (is_file) {
        url->path = has_slashes ? rest + 2 : rest;
        return STATUS_OK;
    }
    if (has_slashes ? parse_authority(url, rest + 2) : *rest == '\0') {
        return STATUS_OK;
    }
    char shown[160];
    url_redact(text, shown, sizeof shown);
    error_set(error, ERROR_USAGE, 0, NULL,
              "target '%s' is not a URL: write %s://user@host:port/database, with %%40 for @, "
              "%%2F for /, %%3F for ?, %%23 for # and %%25 for %% in a name or password",
              shown, url->scheme);
    url_fini(url);
    return STATUS_REJECTED;
}

void url_fini(struct url *url)
{
    free(url->text);
    *url = (struct url){0};
}

/* A key may be percent-encoded too. */
static bool is_secret_key(const char *from, size_t length)
{
    char key[URL_KEY_BYTES];
    if (length >= sizeof key) {
        return false;
    }
    memcpy(key, from, length);
    key[length] = '\0';
    return url_decode(key) &&
           (strcasestr(key, "password") != NULL || strcasestr(key, "pwd") != NULL);
}

/* Behind a parameter of a query that is a password; NULL when it is none. A '#' does not end it:
 * PostgreSQL's library takes it for a part of the value. A user's name may hold a '&', and what
 * follows the name is no part of a key. */
static const char *end_of_secret(const char *from)
{
    const size_t length = strcspn(from, "&");
    const char *equals = memchr(from, '=', length);
    const char *key = equals;
    while (key != NULL && key > from && strchr(":@?", key[-1]) == NULL) {
        key--;
    }
    return key != NULL && is_secret_key(key, (size_t)(equals - key)) ? from + length : NULL;
}

/* The first character to show again behind a password from `colon` to `at`, which may itself be
 * within a parameter that is a password. */
static const char *skip_password(const char *colon, const char *at)
{
    const char *end = at;
    for (const char *c = colon; c < at; c++) {
        const char *secret = *c == '?' || *c == '&' ? end_of_secret(c + 1) : NULL;
        end = secret != NULL && secret > end ? secret : end;
    }
    return end;
}

void url_redact(const char *text, char *out, size_t size)
{
    const size_t scheme = url_scheme_length(text);
    const char *start = strncmp(text + scheme, "://", 3) == 0 ? text + scheme + 3 : text;
    /* the last @ of all: a password that was not percent-encoded may hold any character */
    const char *at = strrchr(start, '@');
    const char *colon = at == NULL ? NULL : memchr(start, ':', (size_t)(at - start));
    /* no user or host has a '=': it is a connection string of some library, with any keys */
    const char *equals = start + strcspn(start, start == text ? "=" : "=/?#");
    const char *tail = text;
    size_t used = 0;
    while (*tail != '\0' && used + 1 < size) {
        if (colon != NULL && tail >= colon && tail < at) {
            tail = skip_password(colon, at);
            continue;
        }
        if (tail == equals && *tail == '=') {
            used += (size_t)snprintf(out + used, size - used, "=***");
            break;
        }
        out[used++] = *tail++;
        const bool is_key = out[used - 1] == '?' || out[used - 1] == '&';
        const char *secret = is_key ? end_of_secret(tail) : NULL;
        if (secret != NULL) {
            /* what looks like a key may be a user's name with a '&', and a password behind it */
            used += (size_t)snprintf(out + used, size - used, "%.*s=***", (int)strcspn(tail, "=:"),
                                     tail);
            tail = secret;
        }
    }
    out[used < size ? used : size - 1] = '\0';
}

/* Of a connection string only what is known to be harmless is shown: drivers have many keys for
 * secrets. */
static bool is_shown_key(const char *key, size_t length)
{
    static const char *const shown[] = {"dsn",  "filedsn",  "driver", "server", "servername",
                                        "host", "port",     "uid",    "user",   "username",
                                        "db",   "database", "dbq",    "socket", "sslmode"};
    while (length > 0 && key[length - 1] == ' ') {
        length--;
    }
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        if (strlen(shown[i]) == length && strncasecmp(shown[i], key, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Behind a value: at its semicolon or the end. In {braces} }} is one brace of the value; a brace
 * that is never closed makes the value swallow what follows, which is_closed tells. */
static const char *skip_value(const char *at, bool *is_closed)
{
    *is_closed = true;
    at += strspn(at, " ");
    if (*at == '{') {
        at++;
        while (*at != '\0' && (at[0] != '}' || at[1] == '}')) {
            at += at[0] == '}' ? 2 : 1;
        }
        *is_closed = *at == '}';
    }
    return at + strcspn(at, ";");
}

void url_redact_string(const char *text, char *out, size_t size)
{
    const char *at = text + url_scheme_length(text);
    at += *at == ':' ? 1 : 0;
    size_t used = (size_t)snprintf(out, size, "%.*s", (int)(at - text), text);
    while (*at != '\0' && used < size) {
        const size_t key = strcspn(at, "=;");
        const bool has_value = at[key] == '=';
        const char *value = at + key + (has_value ? 1 : 0);
        bool is_closed = true;
        const char *end = has_value ? skip_value(value, &is_closed) : value;
        /* a text without '=' is the name of a data source, unless it is a URL gone astray */
        const bool is_shown =
            has_value ? is_closed && is_shown_key(at, key) : memchr(at, '@', key) == NULL;
        const char *cut = is_shown ? end : has_value ? value : at;
        used += (size_t)snprintf(out + used, size - used, "%.*s%s%s", (int)(cut - at), at,
                                 is_shown ? "" : "***", *end == ';' ? ";" : "");
        at = *end == ';' ? end + 1 : end;
    }
}

/* True for loopback, and for the address of an interface of this machine. */
static bool is_own(const struct sockaddr *address, socklen_t length)
{
    char text[NI_MAXHOST], other[NI_MAXHOST];
    struct ifaddrs *interfaces = NULL;
    if (getnameinfo(address, length, text, sizeof text, NULL, 0, NI_NUMERICHOST) != 0) {
        return false;
    }
    bool is_found = strncmp(text, "127.", 4) == 0 || strcmp(text, "::1") == 0;
    if (is_found || getifaddrs(&interfaces) != 0) {
        return is_found;
    }
    for (const struct ifaddrs *i = interfaces; i != NULL && !is_found; i = i->ifa_next) {
        is_found =
            i->ifa_addr != NULL && i->ifa_addr->sa_family == address->sa_family &&
            getnameinfo(i->ifa_addr, length, other, sizeof other, NULL, 0, NI_NUMERICHOST) == 0 &&
            strcmp(text, other) == 0;
    }
    freeifaddrs(interfaces);
    return is_found;
}

bool address_is_local(const char *host)
{
    if (host[0] == '\0' || host[0] == '/' || host[0] == '@') {
        return true;
    }
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, NULL, &hints, &found) != 0) {
        return false;
    }
    bool is_local = false;
    for (const struct addrinfo *a = found; a != NULL && !is_local; a = a->ai_next) {
        is_local = is_own(a->ai_addr, a->ai_addrlen);
    }
    freeaddrinfo(found);
    return is_local;
}
