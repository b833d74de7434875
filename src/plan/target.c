#include "plan/target.h"

#include <stdlib.h>
#include <string.h>

#include "adapters/registry.h"
#include "base/buffer.h"
#include "base/interrupt.h"
#include "base/mono.h"
#include "base/units.h"
#include "plan/url.h"

#define WAIT_PAUSE_NS (250 * MONO_NS_PER_MS)
#define LOCAL_HOST "127.0.0.1"

/* A server that says nothing for so long will not be recognised. */
enum {
    RECOGNISE_S = 5,
    OTHER_MS = 500, /* nor for so long when it is asked in a second protocol or third */
};

static const char *const embedded_default = "sqlite";

static enum exit_code unknown_adapter(const char *name, struct error *error)
{
    struct buffer known;
    buffer_init(&known);
    for (const struct adapter *const *a = registry_adapters; *a != NULL; a++) {
        buffer_add_format(&known, "%s%s", known.length == 0 ? "" : ", ", (*a)->name);
    }
    error_set(error, ERROR_USAGE, 0, NULL, "unknown adapter '%.60s': this build has %s", name,
              buffer_text(&known));
    buffer_fini(&known);
    return EXIT_CODE_USAGE;
}

static enum exit_code choose_by_name(struct plan *plan, const char *name, struct error *error)
{
    plan->adapter = registry_find(name);
    if (plan->adapter == NULL) {
        return unknown_adapter(name, error);
    }
    return registry_check(plan->adapter, error) == STATUS_OK ? EXIT_CODE_OK : EXIT_CODE_INTERNAL;
}

static enum exit_code interrupted(struct error *error)
{
    error_clear(error);
    error_set(error, ERROR_SYSTEM, 0, NULL, "interrupted before the first session");
    return EXIT_CODE_INTERRUPTED;
}

/* Asks the adapters that can tell: those whose port it usually is, or the others. The names of
 * those that could not tell go to *tried. */
static enum exit_code ask_adapters(struct plan *plan, bool is_usual, struct buffer *tried,
                                   struct error *error)
{
    const struct target *target = &plan->target;
    const unsigned timeout_s =
        target->connect_timeout_s < RECOGNISE_S ? target->connect_timeout_s : RECOGNISE_S;
    for (const struct adapter *const *a = registry_adapters; *a != NULL; a++) {
        if ((*a)->recognise == NULL || ((*a)->default_port == target->port) != is_usual) {
            continue;
        }
        struct error reason;
        error_clear(&reason);
        const enum status status =
            (*a)->recognise(target->host, target->port, timeout_s * 1000, &reason);
        if (status == STATUS_OK) {
            plan->adapter = *a;
            return EXIT_CODE_OK;
        }
        if (interrupt_requested()) {
            return EXIT_CODE_INTERRUPTED;
        }
        if (status == STATUS_LOST) {
            *error = reason;
            if (target->host[0] != '/') {
                return EXIT_CODE_SERVER;
            }
            continue; /* in a folder of sockets the next one looks for another name */
        }
        error_clear(error);
        buffer_add_format(tried, "%s%s", tried->length == 0 ? "" : ", ", (*a)->name);
    }
    if (error_is_set(error)) {
        return EXIT_CODE_SERVER;
    }
    if (!is_usual) {
        error_set(
            error, ERROR_UNSUPPORTED, 0, NULL,
            "whoever listens on %s:%u was not recognised (tried: %s); name the database with a "
            "URL or --adapter",
            target->host, target->port, buffer_text(tried));
    }
    return EXIT_CODE_SERVER;
}

bool target_wait(const struct plan *plan, struct error *error)
{
    if (plan->wait_ns == 0 || interrupt_requested()) {
        return false;
    }
    if (mono_now_ns() < plan->wait_until_ns) {
        mono_sleep(WAIT_PAUSE_NS);
        return !interrupt_requested();
    }
    const struct error last = *error;
    char text[UNITS_TEXT_BYTES];
    error_clear(error);
    error_set(error, last.kind, last.native_code, last.sqlstate, "not ready within %s: %s",
              units_format_ns(plan->wait_ns, text), last.text);
    return false;
}

static enum exit_code recognise_once(struct plan *plan, struct error *error)
{
    struct buffer tried;
    buffer_init(&tried);
    /* some servers wait for more of a greeting that is not theirs: then the others are late */
    enum exit_code code = ask_adapters(plan, true, &tried, error);
    if (code == EXIT_CODE_SERVER && (!error_is_set(error) || plan->target.host[0] == '/')) {
        code = ask_adapters(plan, false, &tried, error);
    }
    buffer_fini(&tried);
    return code;
}

static enum exit_code recognise(struct plan *plan, struct error *error)
{
    for (;;) {
        const enum exit_code code = recognise_once(plan, error);
        if (code != EXIT_CODE_SERVER || error->kind == ERROR_UNSUPPORTED ||
            !target_wait(plan, error)) {
            return interrupt_requested() ? interrupted(error) : code;
        }
        error_clear(error);
    }
}

/* The option for one place contradicts the target that names another. */
static enum exit_code refuse_place(const char *option, const struct config *config,
                                   struct error *error)
{
    error_set(error, ERROR_USAGE, 0, NULL, "--%s contradicts the target '%.100s': leave one out",
              option, config->target);
    return EXIT_CODE_USAGE;
}

/* A port, with or without a host: by the target, or by the options alone. */
static enum exit_code resolve_place(struct plan *plan, const struct config *config,
                                    const char *host, size_t length, struct error *error)
{
    if (plan->target.port == 0) {
        error_set(error, ERROR_USAGE, 0, NULL, "port '%.100s' is not in 1 … 65535", config->target);
        return EXIT_CODE_USAGE;
    }
    if (config->port != 0 && config->port != plan->target.port) {
        return refuse_place("port", config, error);
    }
    if (length > 0 && config->host != NULL) {
        return refuse_place("host", config, error);
    }
    plan->target.host = config->host == NULL ? LOCAL_HOST : config->host;
    if (length > 0) {
        plan->url_text = strndup(host, length);
        if (plan->url_text == NULL) {
            error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the target");
            return EXIT_CODE_CLIENT_LIMIT;
        }
        plan->target.host = plan->url_text;
    }
    if (config->adapter == NULL) {
        return recognise(plan, error);
    }
    const enum exit_code code = choose_by_name(plan, config->adapter, error);
    if (code == EXIT_CODE_OK && plan->adapter->default_port == 0) {
        error_set(error, ERROR_USAGE, 0, NULL, "%s has no port: write %s:...", plan->adapter->name,
                  plan->adapter->name);
        return EXIT_CODE_USAGE;
    }
    return code;
}

/* The adapter of "scheme:..."; NULL: the text has no scheme, or one that nobody knows. */
static const struct adapter *adapter_of(const char *text)
{
    char scheme[64];
    snprintf(scheme, sizeof scheme, "%.*s", (int)url_scheme_length(text), text);
    return registry_find(scheme);
}

/* "postgres:5432" may be a host of that name, "sqlite:5432" is a file. */
static bool is_text_of_its_own(const struct adapter *adapter)
{
    return adapter != NULL &&
           (adapter->flags & (ADAPTER_FILE | ADAPTER_STRING | ADAPTER_EMBEDDED)) != 0;
}

void target_redact(const char *text, char *out, size_t size)
{
    const struct adapter *adapter = adapter_of(text);
    if (adapter != NULL && (adapter->flags & ADAPTER_STRING) != 0) {
        url_redact_string(text, out, size);
    } else if (is_text_of_its_own(adapter)) {
        snprintf(out, size, "%s", text);
    } else {
        url_redact(text, out, size);
    }
}

static enum exit_code resolve_url(struct plan *plan, const struct config *config,
                                  struct error *error)
{
    char scheme[64];
    const size_t length = url_scheme_length(config->target);
    if (length == 0 || length >= sizeof scheme) {
        char shown[160];
        url_redact(config->target, shown, sizeof shown);
        error_set(error, ERROR_USAGE, 0, NULL,
                  "target '%s' is not a port, HOST:PORT or a URL such as "
                  "postgresql://user@host/db: see append --help",
                  shown);
        return EXIT_CODE_USAGE;
    }
    snprintf(scheme, sizeof scheme, "%.*s", (int)length, config->target);
    const char *rest = config->target + length + 1;
    if (registry_find(scheme) == NULL && strspn(rest, "0123456789") > 0 &&
        strchr(rest, '/') != NULL) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "a database needs a whole URL, such as postgresql://%s:PORT/DATABASE", scheme);
        return EXIT_CODE_USAGE;
    }
    const enum exit_code code = choose_by_name(plan, scheme, error);
    if (code != EXIT_CODE_OK) {
        return code;
    }
    if (config->adapter != NULL && registry_find(config->adapter) != plan->adapter) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--adapter %s contradicts the target's %s:", config->adapter, scheme);
        return EXIT_CODE_USAGE;
    }
    const unsigned flags = plan->adapter->flags;
    const bool has_path = (flags & (ADAPTER_FILE | ADAPTER_STRING)) != 0;
    struct url url;
    if (url_parse(&url, config->target, has_path || (flags & ADAPTER_EMBEDDED) != 0, error) !=
        STATUS_OK) {
        return EXIT_CODE_USAGE;
    }
    if (url.path != NULL && *url.path != '\0' && !has_path) {
        error_set(error, ERROR_USAGE, 0, NULL, "%s: takes no path: write %s:", scheme, scheme);
        url_fini(&url);
        return EXIT_CODE_USAGE;
    }
    plan->url_text = url.text;
    plan->target.url = config->target;
    plan->target.path = url.path != NULL && *url.path != '\0' ? url.path : NULL;
    plan->target.host = url.host;
    plan->target.port = url.port;
    plan->target.user = url.user;
    plan->target.password = url.password;
    plan->target.database = url.database;
    plan->target.query = url.query;
    return EXIT_CODE_OK;
}

/* Options win over the URL. */
static void apply_options(struct target *target, const struct config *config)
{
    if (config->host != NULL) {
        target->host = config->host;
    }
    if (config->port != 0) {
        target->port = config->port;
    }
    if (config->user != NULL) {
        target->user = config->user;
    }
    if (config->password != NULL) {
        target->password = config->password;
    } else if (target->password == NULL && config->default_password != NULL &&
               config->default_password[0] != '\0') {
        target->password = config->default_password;
    }
    if (config->database != NULL) {
        target->database = config->database;
    }
    target->schema = config->schema;
    target->client_lib = config->client_lib;
}

static void write_place(struct plan *plan, const struct connection_info *place)
{
    char *const out = plan->display_target;
    const size_t size = sizeof plan->display_target;
    const bool is_ipv6 = place->host[0] != '/' && strchr(place->host, ':') != NULL;
    size_t used =
        (size_t)snprintf(out, size, is_ipv6 ? "%s://%s%s[%s]" : "%s://%s%s%s", plan->adapter->name,
                         place->user, place->user[0] == '\0' ? "" : "@", place->host);
    if (place->port != 0 && used < size) {
        used += (size_t)snprintf(out + used, size - used, ":%u", place->port);
    }
    if (place->database[0] != '\0' && used < size) {
        snprintf(out + used, size - used, "/%s", place->database);
    }
}

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from == NULL ? "" : from);
}

const struct adapter *target_find_other(const struct plan *plan)
{
    const struct target *target = &plan->target;
    const uint16_t port = target->port != 0 ? target->port : plan->adapter->default_port;
    for (const struct adapter *const *a = registry_adapters; *a != NULL; a++) {
        struct error ignored;
        error_clear(&ignored);
        if (*a != plan->adapter && (*a)->recognise != NULL && !interrupt_requested() &&
            (*a)->recognise(target->host, port, OTHER_MS, &ignored) == STATUS_OK) {
            return *a;
        }
    }
    return NULL;
}

void target_fill_connection(const struct plan *plan, struct connection_info *connection)
{
    const struct adapter *adapter = plan->adapter;
    const struct target *target = &plan->target;
    *connection = (struct connection_info){
        .port = target->port == 0 ? adapter->default_port : target->port,
        .is_embedded = (adapter->flags & ADAPTER_EMBEDDED) != 0,
        .identifier_quote = adapter->identifier_quote,
    };
    copy_text(connection->host, sizeof connection->host, target->host);
    copy_text(connection->user, sizeof connection->user, target->user);
    copy_text(connection->database, sizeof connection->database, target->database);
    copy_text(connection->dialect, sizeof connection->dialect, adapter->name);
    connection->method = target->method;
    if (target->method == NULL && adapter->methods != NULL) {
        connection->method = adapter->methods[0];
    }
}

static void describe_target(struct plan *plan)
{
    const struct target *target = &plan->target;
    char *const out = plan->display_target;
    const size_t size = sizeof plan->display_target;
    if ((plan->adapter->flags & ADAPTER_STRING) != 0) {
        url_redact_string(target->url, out, size);
    } else if ((plan->adapter->flags & ADAPTER_EMBEDDED) != 0) {
        snprintf(out, size, "%s:%s", plan->adapter->name, target->path == NULL ? "" : target->path);
    } else if (target->url != NULL && target->host == NULL) {
        url_redact(target->url, out, size);
    } else {
        struct connection_info place;
        target_fill_connection(plan, &place);
        place.port = target->port;
        write_place(plan, &place);
    }
}

void target_show_connection(struct plan *plan, const struct connection_info *connection)
{
    if ((plan->adapter->flags & (ADAPTER_STRING | ADAPTER_EMBEDDED)) == 0) {
        write_place(plan, connection);
    }
}

enum exit_code target_resolve(struct plan *plan, const struct config *config, struct error *error)
{
    const int64_t timeout_s = (config->connect_timeout_ns + MONO_NS_PER_S - 1) / MONO_NS_PER_S;
    plan->target.answer_timeout_ms = (unsigned)(config->timeout_ns / MONO_NS_PER_MS);
    plan->target.connect_timeout_s = timeout_s < 1 ? 1 : (unsigned)timeout_s;
    enum exit_code code = EXIT_CODE_OK;
    const char *host = NULL;
    size_t length = 0;
    plan->target.port = config->port;
    if (config->target == NULL && config->port == 0) {
        code = choose_by_name(plan, config->adapter == NULL ? embedded_default : config->adapter,
                              error);
    } else if (config->target == NULL ||
               (!is_text_of_its_own(adapter_of(config->target)) &&
                url_parse_place(config->target, &host, &length, &plan->target.port))) {
        code = resolve_place(plan, config, host, length, error);
    } else {
        code = resolve_url(plan, config, error);
    }
    if (code != EXIT_CODE_OK) {
        return code;
    }
    plan->target.scheme = plan->adapter->name;
    plan->target.is_cancelled = interrupt_requested;
    apply_options(&plan->target, config);
    describe_target(plan);
    return EXIT_CODE_OK;
}

enum exit_code target_settle_path(struct plan *plan, struct error *error)
{
    if ((plan->adapter->flags & ADAPTER_FILE) == 0 || plan->target.path != NULL) {
        return EXIT_CODE_OK;
    }
    const size_t size = strlen(plan->out_folder) + sizeof "/append.db";
    char *path = malloc(size);
    if (path == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the path of the database");
        return EXIT_CODE_INTERNAL;
    }
    snprintf(path, size, "%s/append.db", plan->out_folder);
    plan->owned_path = path;
    plan->target.path = path;
    describe_target(plan);
    return EXIT_CODE_OK;
}
