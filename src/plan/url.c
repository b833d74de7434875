#include "plan/url.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

size_t url_scheme_length(const char *text)
{
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) ||
           (length > 0 && text[length] != '\0' && strchr("+-.", text[length]) != NULL)) {
        length++;
    }
    return isalpha((unsigned char)text[0]) && text[length] == ':' ? length : 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const int lower = tolower((unsigned char)c);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Decodes %XX in place. False: a % without two hex digits, or an encoded NUL. */
static bool decode(char *text)
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

/* host, host:port, [v6], [v6]:port, or a list of these (which the client library must read). */
static bool parse_host(struct url *url, char *text)
{
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
    return decode(text);
}

static bool parse_authority(struct url *url, char *rest)
{
    rest[strcspn(rest, "?#")] = '\0';
    char *slash = strchr(rest, '/');
    if (slash != NULL) {
        *slash = '\0';
        url->database = slash[1] == '\0' ? NULL : slash + 1;
        if (!decode(slash + 1)) {
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
        if (!decode(colon + 1)) {
            return false;
        }
    }
    url->user = *rest == '\0' ? NULL : rest;
    return decode(rest) && parse_host(url, at + 1);
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
              "target '%s' is not a URL: write %s://user@host:port/database, with %%40 for @ and "
              "%%25 for %% in a password",
              shown, url->scheme);
    url_fini(url);
    return STATUS_REJECTED;
}

void url_fini(struct url *url)
{
    free(url->text);
    *url = (struct url){0};
}

/* Copies the part of a query whose key is a password as "key=***". */
static const char *skip_secret(const char *from, char *out, size_t size)
{
    static const char *const keys[] = {"password=", "sslpassword="};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const size_t length = strlen(keys[i]);
        if (strncmp(from, keys[i], length) == 0) {
            snprintf(out, size, "%s***", keys[i]);
            return from + strcspn(from, "&#");
        }
    }
    out[0] = '\0';
    return from;
}

void url_redact(const char *text, char *out, size_t size)
{
    const size_t scheme = url_scheme_length(text);
    const char *start = strncmp(text + scheme, "://", 3) == 0 ? text + scheme + 3 : text;
    /* the last @ of all: a password that was not percent-encoded may hold any character */
    const char *at = strrchr(start, '@');
    const char *colon = at == NULL ? NULL : memchr(start, ':', (size_t)(at - start));
    const char *tail = text;
    size_t used = 0;
    if (colon != NULL) {
        used = (size_t)snprintf(out, size, "%.*s", (int)(colon - text), text);
        tail = at;
    }
    while (*tail != '\0' && used + 24 < size) {
        out[used++] = *tail++;
        if (out[used - 1] == '?' || out[used - 1] == '&') {
            tail = skip_secret(tail, out + used, size - used);
            used += strlen(out + used);
        }
    }
    out[used < size ? used : size - 1] = '\0';
}
