#include "base/url.h"

#include <ctype.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Decodes %XX in place. `text` may be NULL. Returns false if a % is not followed by two hexadecimal
 * digits, or is followed by 00. */
static bool decode(char *text)
{
    char *to = text;
    for (const char *from = text; text != NULL && *from != '\0'; from++) {
        char c = *from;
        if (c == '%') {
            char digits[3] = "";
            memcpy(digits, from + 1, strnlen(from + 1, 2));
            c = (char)strtoul(digits, NULL, 16);
            if (strspn(digits, "0123456789abcdefABCDEF") != 2 || c == '\0') {
                return false;
            }
            from += 2;
        }
        *to++ = c;
    }
    if (to != NULL) {
        *to = '\0';
    }
    return true;
}

/* Copies and decodes `length` bytes. Returns false if the text does not fit, or is not valid
 * percent-encoding. */
static bool copy_decoded(char *to, size_t size, const char *from, size_t length)
{
    return (size_t)snprintf(to, size, "%.*s", (int)length, from) < size && decode(to);
}

bool url_query_next(const char **rest, struct url_parameter *parameter, bool *is_good)
{
    const char *start = *rest == NULL ? "" : *rest + strspn(*rest, "&");
    const size_t length = strcspn(start, "&");
    if (length == 0) {
        return false;
    }
    *rest = start + length;
    const char *equals = memchr(start, '=', length);
    const size_t key_length = equals == NULL ? length : (size_t)(equals - start);
    const char *value = equals == NULL ? start + length : equals + 1;
    parameter->value[0] = '\0';
    *is_good = copy_decoded(parameter->key, sizeof parameter->key, start, key_length) &&
               copy_decoded(parameter->value, sizeof parameter->value, value,
                            (size_t)(start + length - value));
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

/* Replaces the character at `mark` with NUL and returns the text after it. Returns NULL when `mark`
 * is NULL. */
static char *cut_at(char *mark)
{
    if (mark == NULL) {
        return NULL;
    }
    *mark = '\0';
    return mark + 1;
}

static const char *unless_empty(const char *text)
{
    return text == NULL || *text == '\0' ? NULL : text;
}

/* Parses host, host:port, [v6] or [v6]:port, in place. Returns false if `text` has none of these
 * forms, and sets *is_port_wrong if only the port is wrong. */
static bool parse_host(char *text, struct url_host *host, bool *is_port_wrong)
{
    char *port;
    if (text[0] == '[') {
        port = cut_at(strchr(text++, ']'));
        if (port == NULL || (*port != '\0' && *port != ':')) {
            return false;
        }
        port += *port == ':' ? 1 : 0;
    } else {
        port = cut_at(strrchr(text, ':'));
    }
    *is_port_wrong =
        unless_empty(port) != NULL && (!url_parse_port(port, &host->port) || host->port == 0);
    if (*is_port_wrong) {
        return false;
    }
    host->name = unless_empty(text);
    return decode(text);
}

/* Parses the list of hosts in place. Writes the reason to `fault` if the list is wrong. */
static void parse_hosts(struct url *url, char *list, char *fault, size_t size)
{
    char *rest = list;
    for (size_t i = 0; rest != NULL; i++) {
        char *text = rest;
        rest = cut_at(strchr(rest, ','));
        if (i == URL_HOSTS_MAX) {
            snprintf(fault, size, "the list has more than %d hosts", URL_HOSTS_MAX);
            return;
        }
        char shown[64];
        bool is_port_wrong = false;
        struct url_host *host = &url->hosts[i];
        url->host_count = i + 1;
        snprintf(shown, sizeof shown, "%s", text);
        if (!parse_host(text, host, &is_port_wrong)) {
            snprintf(fault, size, "'%s' in the list is not HOST, HOST:PORT or [IPv6]:PORT", shown);
            return;
        }
        if (host->name == NULL) {
            snprintf(fault, size, "host %zu of the list has no name", i + 1);
            return;
        }
    }
}

/* Parses user:password@host:port/database?query in place. Returns false if the text does not have
 * this form. Writes the reason to `fault` if a '#', the port or the list of hosts is wrong;
 * otherwise leaves `fault` "". */
static bool parse_authority(struct url *url, char *rest, char *fault, size_t size)
{
    /* A password may contain a '/', '?' or '#' that is not percent-encoded. An @ after such a
     * character, outside the value of a parameter, shows that the text has such a password. Without
     * this check, the beginning of the password would be parsed as host and port, and would be
     * shown. */
    const char *end = rest + strcspn(rest, "/?#");
    const char *stray = strchr(end, '@');
    const char *question = stray == NULL ? NULL : memchr(end, '?', (size_t)(stray - end));
    if (stray != NULL &&
        (question == NULL || memchr(question, '=', (size_t)(stray - question)) == NULL)) {
        return false;
    }
    url->query = unless_empty(cut_at(strchr(rest, '?')));
    if (strchr(rest, '#') != NULL) {
        snprintf(fault, size, "a '#' is not allowed (write %%23 for # in a name)");
        return false;
    }
    char *database = cut_at(strchr(rest, '/'));
    char *host = cut_at(strrchr(rest, '@'));
    char *user = host == NULL ? NULL : rest;
    char *password = user == NULL ? NULL : cut_at(strchr(user, ':'));
    host = host == NULL ? rest : host;
    url->database = unless_empty(database);
    url->password = password;
    url->user = unless_empty(user);
    if (!decode(database) || !decode(password) || !decode(user) ||
        strpbrk(host, "= ") !=
            NULL) { /* a connection string, perhaps with a password, instead of a URL */
        return false;
    }
    if (strchr(host, ',') != NULL) {
        parse_hosts(url, host, fault, size);
        return fault[0] == '\0';
    }
    struct url_host only = {.port = 0};
    bool is_port_wrong = false;
    const bool is_good = parse_host(host, &only, &is_port_wrong);
    if (is_port_wrong) {
        snprintf(fault, size, "the port is not a number from 1 to 65535");
    }
    url->host = only.name;
    url->port = only.port;
    return is_good;
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
    char fault[128] = "";
    if (has_slashes ? parse_authority(url, rest + 2, fault, sizeof fault) : *rest == '\0') {
        return STATUS_OK;
    }
    char shown[160];
    url_redact(text, shown, sizeof shown);
    if (fault[0] != '\0') {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "target '%s': %s: write %s://user@host:port%s/database", shown, fault,
                  url->scheme, url->host_count > 0 ? ",host:port" : "");
        url_fini(url);
        return STATUS_REJECTED;
    }
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

/* Returns the end of the query parameter at `from` if the parameter is a password, else NULL. A '#'
 * does not end the parameter, because for PostgreSQL's library a '#' is a part of the value. The
 * '&' before `from` may belong to a user's name; the key therefore begins after the last ':', '@'
 * or '?'. The key may be percent-encoded. */
static const char *end_of_secret(const char *from)
{
    char key[URL_KEY_BYTES];
    const size_t length = strcspn(from, "&");
    const char *equals = memchr(from, '=', length);
    const char *start = equals;
    while (start != NULL && start > from && strchr(":@?", start[-1]) == NULL) {
        start--;
    }
    const bool is_secret = start != NULL &&
                           copy_decoded(key, sizeof key, start, (size_t)(equals - start)) &&
                           (strcasestr(key, "password") != NULL || strcasestr(key, "pwd") != NULL);
    return is_secret ? from + length : NULL;
}

void url_redact(const char *text, char *out, size_t size)
{
    const size_t scheme = url_scheme_length(text);
    const char *start = strncmp(text + scheme, "://", 3) == 0 ? text + scheme + 3 : text;
    /* finds the last @: a password that is not percent-encoded may contain any character */
    const char *at = strrchr(start, '@');
    const char *colon = at == NULL ? NULL : memchr(start, ':', (size_t)(at - start));
    /* users and hosts cannot contain a '='. A text with a '=' here is a connection string with
     * unknown keys */
    const char *equals = start + strcspn(start, start == text ? "=" : "=/?#");
    const char *tail = text;
    size_t used = 0;
    while (*tail != '\0' && used + 1 < size) {
        if (colon != NULL && tail >= colon && tail < at) {
            /* the last @ may be inside the value of a password parameter */
            tail = at;
            for (const char *c = colon; c < at; c++) {
                const char *secret = *c == '?' || *c == '&' ? end_of_secret(c + 1) : NULL;
                tail = secret != NULL && secret > tail ? secret : tail;
            }
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
            /* the text before the '=' may be a user's name with a '&', followed by a password */
            used += (size_t)snprintf(out + used, size - used, "%.*s=***", (int)strcspn(tail, "=:"),
                                     tail);
            tail = secret;
        }
    }
    out[used < size ? used : size - 1] = '\0';
}

bool url_pair_next(const char **rest, struct url_pair *pair)
{
    const char *at = *rest + strspn(*rest, "; \t");
    if (*at == '\0') {
        return false;
    }
    const size_t length = strcspn(at, "=;");
    *pair = (struct url_pair){.key = at, .key_length = length, .is_closed = true};
    while (pair->key_length > 0 && at[pair->key_length - 1] == ' ') {
        pair->key_length--;
    }
    at += length;
    pair->has_value = *at == '=';
    at += pair->has_value ? 1 + strspn(at + 1, " ") : 0;
    pair->value = at;
    if (*at == '{') {
        for (at++; *at != '\0' && (at[0] != '}' || at[1] == '}');) {
            at += at[0] == '}' ? 2 : 1;
        }
        pair->is_closed = *at == '}';
    }
    *rest = at + strcspn(at, ";");
    pair->value_length = (size_t)(*rest - pair->value);
    return true;
}

bool url_pair_is(const struct url_pair *pair, const char *const *keys)
{
    while (*keys != NULL && (strlen(*keys) != pair->key_length ||
                             strncasecmp(*keys, pair->key, pair->key_length) != 0)) {
        keys++;
    }
    return *keys != NULL;
}

void url_redact_string(const char *text, char *out, size_t size)
{
    /* only harmless values are shown, because drivers have many keys for secrets */
    static const char *const shown[] = {
        "dsn",  "filedsn",  "driver", "server",   "servername", "host",   "port",    "uid",
        "user", "username", "db",     "database", "dbq",        "socket", "sslmode", NULL};
    const char *at = text + url_scheme_length(text);
    at += *at == ':' ? 1 : 0;
    size_t used = (size_t)snprintf(out, size, "%.*s", (int)(at - text), text);
    const char *end = at;
    struct url_pair pair;
    for (; used < size && url_pair_next(&end, &pair); at = end) {
        /* a text without '=' is the name of a data source, unless the text has an '@' like a URL */
        const bool is_shown = pair.has_value ? pair.is_closed && url_pair_is(&pair, shown)
                                             : memchr(pair.key, '@', pair.key_length) == NULL;
        const char *cut = end;
        if (!is_shown) {
            cut = pair.has_value ? strchr(pair.key, '=') + 1 : pair.key;
        }
        used += (size_t)snprintf(out + used, size - used, "%.*s%s", (int)(cut - at), at,
                                 is_shown ? "" : "***");
    }
    if (used < size) {
        snprintf(out + used, size - used, "%s", at);
    }
}

bool address_is_local(const char *host)
{
    if (host[0] == '\0' || host[0] == '/' || host[0] == '@') {
        return true;
    }
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    struct ifaddrs *interfaces = NULL;
    bool is_local = false;
    if (getaddrinfo(host, NULL, &hints, &found) != 0) {
        return false;
    }
    getifaddrs(&interfaces);
    for (const struct addrinfo *a = found; a != NULL && !is_local; a = a->ai_next) {
        char text[NI_MAXHOST], other[NI_MAXHOST];
        if (getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST)) {
            continue;
        }
        is_local = strncmp(text, "127.", 4) == 0 || strcmp(text, "::1") == 0;
        for (const struct ifaddrs *i = interfaces; i != NULL && !is_local; i = i->ifa_next) {
            is_local = i->ifa_addr != NULL && i->ifa_addr->sa_family == a->ai_family &&
                       getnameinfo(i->ifa_addr, a->ai_addrlen, other, sizeof other, NULL, 0,
                                   NI_NUMERICHOST) == 0 &&
                       strcmp(text, other) == 0;
        }
    }
    freeifaddrs(interfaces);
    freeaddrinfo(found);
    return is_local;
}
