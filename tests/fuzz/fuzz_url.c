/* Targets. The parts of a target are parts of the text, and the shown text does not depend on a
 * password. */
#include "fuzz/fuzz.h"

#include <arpa/inet.h>

#include "base/url.h"
#include "plan/options.h"

/* A part of the text. */
struct span {
    size_t at;
    size_t length;
};

enum {
    SHOWN_BYTES = 640
};

/* Finds the password of scheme://user:password@... The length is 0 without a password. */
static struct span password_of(const char *text)
{
    const size_t scheme = url_scheme_length(text);
    if (scheme == 0 || strncmp(text + scheme, "://", 3) != 0) {
        return (struct span){0, 0};
    }
    const char *start = text + scheme + 3;
    const char *colon = NULL;
    const char *at = NULL;
    for (const char *c = start; *c != '\0' && strchr("/?#", *c) == NULL; c++) {
        colon = colon == NULL && *c == ':' ? c : colon;
        at = *c == '@' ? c : at;
    }
    if (colon == NULL || at == NULL || at < colon + 1) {
        return (struct span){0, 0};
    }
    return (struct span){(size_t)(colon + 1 - text), (size_t)(at - colon - 1)};
}

/* Finds the value of a parameter that is a password. The length is 0 without a password. */
static struct span secret_of(const char *text)
{
    const char *query = strchr(text, '?');
    const char *hash = strchr(text, '#');
    if (query == NULL || (hash != NULL && hash < query)) {
        return (struct span){0, 0};
    }
    const char *rest = query + 1;
    struct url_parameter parameter;
    bool is_good = false;
    for (const char *from = rest; url_query_next(&rest, &parameter, &is_good); from = rest) {
        const char *equals = memchr(from, '=', (size_t)(rest - from));
        if (is_good && equals != NULL && strcmp(parameter.key, "password") == 0) {
            return (struct span){(size_t)(equals + 1 - text), (size_t)(rest - equals - 1)};
        }
    }
    return (struct span){0, 0};
}

/* Writes the text that the program shows for a target, in reports or when it refuses the target. */
static void show(const char *text, char shown[SHOWN_BYTES])
{
    static struct plan plan;
    struct error error;
    error_clear(&error);
    options_init(&plan, COMMAND_RUN);
    plan.target_given = text;
    const enum exit_code code = target_resolve(&plan, &error);
    const bool is_server =
        code == EXIT_CODE_OK &&
        (plan.adapter->flags & (ADAPTER_EMBEDDED | ADAPTER_FILE | ADAPTER_STRING)) == 0;
    snprintf(shown, SHOWN_BYTES, "%s", is_server ? plan.display_target : error.text);
    free(plan.url_text);
}

static void check_hidden(const char *text, struct span span)
{
    char shown[2][SHOWN_BYTES];
    uint16_t port;
    if (span.length == 0 || url_parse_port(text, &port)) {
        return;
    }
    char *other = fuzz_change(text, span.at, span.length);
    /* skip passwords that look like parameters */
    if (memchr(text + span.at, '=', span.length) == NULL) {
        url_redact(text, shown[0], sizeof shown[0]);
        url_redact(other, shown[1], sizeof shown[1]);
        fuzz_require(strcmp(shown[0], shown[1]) == 0, "a URL is shown without its password");
        show(text, shown[0]);
        show(other, shown[1]);
        fuzz_require(strcmp(shown[0], shown[1]) == 0, "a target is shown without its password");
    }
    free(other);
}

static void check_part(const struct url *url, const char *part, size_t length)
{
    fuzz_require(part == NULL || (part >= url->text && part + strlen(part) <= url->text + length),
                 "a part of a URL is a part of its text");
}

static void check_parse(const char *text, bool is_file)
{
    struct url url;
    struct error error;
    error_clear(&error);
    if (url_parse(&url, text, is_file, &error) != STATUS_OK) {
        fuzz_require(error.kind == ERROR_USAGE && url.text == NULL,
                     "a refused URL is a usage error and owns nothing");
        return;
    }
    const char *const parts[] = {url.scheme,   url.path, url.user, url.password,
                                 url.database, url.host, url.query};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        check_part(&url, parts[i], strlen(text));
    }
    for (size_t i = 0; i < url.host_count; i++) {
        fuzz_require(url.hosts[i].name != NULL, "each host of a list has a name");
        check_part(&url, url.hosts[i].name, strlen(text));
    }
    fuzz_require(url.host_count != 1 && (url.host_count == 0 || url.host == NULL),
                 "a single host is not a list");
    fuzz_require(!is_file || (url.path != NULL && url.host == NULL), "a file is a path");
    struct url_parameter parameter;
    bool is_good = false;
    const char *rest = url.query;
    for (const char *from = rest; url_query_next(&rest, &parameter, &is_good); from = rest) {
        fuzz_require(rest > from, "each parameter moves on in the text");
        fuzz_require(!is_good || (strlen(parameter.key) < URL_KEY_BYTES &&
                                  strlen(parameter.value) < URL_VALUE_BYTES),
                     "a parameter fits");
    }
    url_fini(&url);
}

/* Checks an address, but only if it does not need the resolver. */
static void check_address(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, host, &v4) == 1) {
        fuzz_require(address_is_local(host) || ntohl(v4.s_addr) >> 24 != 127,
                     "127.0.0.0/8 is this machine");
    } else if (inet_pton(AF_INET6, host, &v6) == 1) {
        fuzz_require(address_is_local(host) || !IN6_IS_ADDR_LOOPBACK(&v6), "::1 is this machine");
    } else if (host[0] == '\0' || host[0] == '/' || host[0] == '@') {
        fuzz_require(address_is_local(host), "a socket is on this machine");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    char shown[SHOWN_BYTES];
    const size_t scheme = url_scheme_length(text);
    fuzz_require(scheme == 0 || text[scheme] == ':', "a scheme ends in a colon");
    for (size_t bytes = 1; bytes < 64; bytes += 9) {
        url_redact(text, shown, bytes);
        fuzz_require(strlen(shown) < bytes, "a redacted URL is cut to the buffer");
        url_redact_string(text, shown, bytes);
        fuzz_require(strlen(shown) < bytes, "a redacted text is cut to the buffer");
    }
    if (scheme > 0) {
        check_parse(text, false);
        check_parse(text, true);
    }
    check_hidden(text, password_of(text));
    check_hidden(text, secret_of(text));
    check_address(text);
    free(text);
    return 0;
}
