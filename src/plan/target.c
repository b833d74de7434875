#include "plan/facts.h"
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/param.h>
#include <sys/stat.h>

#include "adapters/registry.h"
#include "base/mono.h"
#include "base/process.h"
#include "base/text.h"
#include "base/url.h"
#include "plan/options.h"

#define WAIT_PAUSE_NS (250 * MONO_NS_PER_MS)

/* Maximum times to wait for a server's answer in one protocol. */
enum {
    OWN_MS = 3000,  /* time for a protocol whose default port is the target's port */
    LATE_MS = 2000, /* time for each of the other protocols, when all are tried at the same time */
    /* time for each of the other protocols, when they are tried one after the other */
    OTHER_MS = 500,
    ADAPTERS_MAX = 16,
    SCHEME_BYTES = 64,
};

static enum exit_code choose_by_name(struct plan *plan, const char *name, struct error *error)
{
    char known[ERROR_TEXT_BYTES] = "";
    if (registry_load(name, plan->adapter_folder, &plan->adapter, error) != STATUS_OK) {
        return EXIT_CODE_USAGE;
    }
    for (const struct adapter *const *a = registry_adapters; *a != NULL; a++) {
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used == 0 ? "" : ", ", (*a)->name);
    }
    if (plan->adapter == NULL && plan->adapter_folder != NULL) {
        return usage_refuse(error,
                            "unknown adapter '%.50s': %.70s has no %.50s.so, this build has %s",
                            name, plan->adapter_folder, name, known);
    }
    return plan->adapter != NULL
               ? EXIT_CODE_OK
               : usage_refuse(error, "unknown adapter '%.60s': this build has %s", name, known);
}

/* Returns the adapter with this name, and loads it if necessary. Returns NULL if the adapter is
 * unknown or unusable. */
static const struct adapter *find_adapter(const struct plan *plan, const char *name)
{
    struct error ignored = {0};
    const struct adapter *adapter = NULL;
    registry_load(name, plan->adapter_folder, &adapter, &ignored);
    return adapter;
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
    error_clear(error);
    error_set(error, last.kind, last.native_code, last.sqlstate, "not ready within %s (--wait): %s",
              UNITS_NS(plan->wait_ns), last.text);
    error->limit = last.limit;
    return false;
}

/* One adapter's attempt to recognise the server. */
struct attempt {
    const struct adapter *adapter;
    const struct target *target;
    unsigned timeout_ms;
    enum status status;
    struct error reason;
    pthread_t thread;
    int start_code; /* 0 if the thread was started */
};

static void *try_adapter(void *argument)
{
    struct attempt *attempt = argument;
    const struct target *target = attempt->target;
    attempt->status = attempt->adapter->recognise(attempt->adapter, target->host, target->port,
                                                  attempt->timeout_ms, &attempt->reason);
    return NULL;
}

static void try_all(struct attempt *attempts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        attempts[i].start_code = thread_start(&attempts[i].thread, 0, try_adapter, &attempts[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (attempts[i].start_code == 0) {
            pthread_join(attempts[i].thread, NULL);
        } else {
            try_adapter(&attempts[i]);
        }
    }
}

/* Asks the server in the protocol of each adapter that can recognise a server. Tries the adapters
 * whose default port is the target's port first, because a server may answer them late after a
 * greeting in a wrong protocol: it waits for the rest of that greeting. */
static enum exit_code recognise_once(struct plan *plan, struct error *error)
{
    const struct target *target = &plan->target;
    const unsigned longest_ms = MIN(target->connect_timeout_s, OWN_MS / 1000) * 1000;
    char tried[ERROR_TEXT_BYTES] = "";
    bool is_over = false;
    /* The timeouts of three passes. The first pass tries the adapters of the port. The second pass
     * tries the others with a short timeout, because most servers do not answer in a wrong
     * protocol. The third pass is for slow servers, and tries the others again, all at the same
     * time. */
    const unsigned timeouts_ms[] = {longest_ms, OTHER_MS, MIN(longest_ms, LATE_MS)};
    for (size_t pass = 0; pass < COUNT_OF(timeouts_ms); pass++) {
        const bool is_quick = pass == 1, is_late = pass == 2;
        struct attempt attempts[ADAPTERS_MAX];
        size_t count = 0;
        for (const struct adapter *const *a = registry_adapters;
             *a != NULL && count < ADAPTERS_MAX && !is_over; a++) {
            if ((*a)->recognise != NULL && ((*a)->default_port == target->port) == (pass == 0)) {
                attempts[count++] = (struct attempt){
                    .adapter = *a, .target = target, .timeout_ms = timeouts_ms[pass]};
            }
        }
        if (is_late) {
            try_all(attempts, count);
        }
        for (size_t i = 0; i < count && !is_over; i++) {
            if (!is_late) {
                try_adapter(&attempts[i]);
            }
            const enum status status = attempts[i].status;
            if (status == STATUS_OK) {
                plan->adapter = attempts[i].adapter;
                return EXIT_CODE_OK;
            }
            if (interrupt_requested()) {
                return EXIT_CODE_INTERRUPTED;
            }
            if (is_quick && (status != STATUS_LOST || attempts[i].reason.kind == ERROR_TIMEOUT)) {
                continue;
            }
            if (status == STATUS_LOST) {
                *error = attempts[i].reason;
                /* continue only if the host is a folder of sockets, where each adapter has its own
                 * socket */
                is_over = target->host[0] != '/';
            } else {
                const size_t used = strlen(tried);
                error_clear(error);
                snprintf(tried + used, sizeof tried - used, "%s%s", used == 0 ? "" : ", ",
                         attempts[i].adapter->name);
            }
        }
    }
    if (!error_is_set(error)) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "the server on %s:%u was not recognised (tried: %s): name the database with a "
                  "URL or --adapter",
                  target->host, target->port, tried);
    }
    return EXIT_CODE_SERVER;
}

/* Completes the plan for a target that is a port with or without a host. The port may come from an
 * operand or from options. */
static enum exit_code resolve_port(struct plan *plan, const char *host, size_t length,
                                   uint16_t port, struct error *error)
{
    struct target *target = &plan->target;
    const bool is_other_port = target->port != 0 && target->port != port;
    if (port == 0) {
        return usage_refuse(error, "port '%.100s' is not a number from 1 to 65535",
                            plan->target_given);
    }
    if (is_other_port || (length > 0 && target->host != plan->url_text)) {
        return usage_refuse(error, "--%s contradicts the target '%.100s': leave one out",
                            is_other_port ? "port" : "host", plan->target_given);
    }
    target->port = port;
    if (length > 0 && plan->url_text == NULL) {
        plan->url_text = strndup(host, length);
        if (plan->url_text == NULL) {
            error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the target");
            return EXIT_CODE_CLIENT_LIMIT;
        }
        target->host = plan->url_text;
    } else if (target->host == NULL) {
        target->host = "127.0.0.1";
    }
    if (plan->adapter_name != NULL) {
        const enum exit_code code = choose_by_name(plan, plan->adapter_name, error);
        return code != EXIT_CODE_OK || plan->adapter->default_port != 0
                   ? code
                   : usage_refuse(error, "%s has no port: write the target as %s:...",
                                  plan->adapter->name, plan->adapter->name);
    }
    const enum exit_code code = recognise_once(plan, error);
    if (interrupt_requested()) {
        error_clear(error);
        error_set(error, ERROR_SYSTEM, 0, NULL, "interrupted before the first session");
        return EXIT_CODE_INTERRUPTED;
    }
    return code;
}

/* Returns the adapter for the scheme of "scheme:...", or NULL if the scheme is missing or unknown.
 * If `plan` is NULL, finds only built-in adapters. */
static const struct adapter *adapter_of(const struct plan *plan, const char *text)
{
    char scheme[SCHEME_BYTES];
    snprintf(scheme, sizeof scheme, "%.*s", (int)url_scheme_length(text), text);
    return plan == NULL ? registry_find(scheme) : find_adapter(plan, scheme);
}

/* Returns whether the text after the adapter's scheme is a file's path or a connection string.
 * "sqlite:5432" is therefore a file, but in "postgres:5432" the word "postgres" may also be a
 * host. */
static bool takes_path_or_string(const struct adapter *adapter)
{
    return adapter != NULL &&
           (adapter->flags & (ADAPTER_FILE | ADAPTER_STRING | ADAPTER_EMBEDDED)) != 0;
}

void target_redact(const char *text, char *out, size_t size)
{
    const struct adapter *adapter = adapter_of(NULL, text);
    if (adapter != NULL && (adapter->flags & ADAPTER_STRING) != 0) {
        url_redact_string(text, out, size);
    } else if (takes_path_or_string(adapter)) {
        snprintf(out, size, "%s", text);
    } else {
        url_redact(text, out, size);
    }
}

/* Compares two hosts; ignores case unless the host is a folder of sockets. */
static bool is_same_host(const char *a, const char *b)
{
    return (a[0] == '/' ? strcmp(a, b) : strcasecmp(a, b)) == 0;
}

static enum exit_code resolve_url(struct plan *plan, struct error *error)
{
    const char *const text = plan->target_given;
    struct target *target = &plan->target;
    char scheme[SCHEME_BYTES];
    const size_t length = url_scheme_length(text);
    if (length == 0 || length >= sizeof scheme) {
        char shown[160];
        url_redact(text, shown, sizeof shown);
        return usage_refuse(error,
                            "target '%s' is not a port, HOST:PORT or a URL such as "
                            "postgresql://user@host/db: see append --help",
                            shown);
    }
    snprintf(scheme, sizeof scheme, "%.*s", (int)length, text);
    const char *rest = text + length + 1;
    if (find_adapter(plan, scheme) == NULL && strspn(rest, "0123456789") > 0 &&
        strchr(rest, '/') != NULL) {
        return usage_refuse(
            error, "a database needs a whole URL, such as postgresql://%s:PORT/DATABASE", scheme);
    }
    if (choose_by_name(plan, scheme, error) != EXIT_CODE_OK) {
        return EXIT_CODE_USAGE;
    }
    if (plan->adapter_name != NULL && find_adapter(plan, plan->adapter_name) != plan->adapter) {
        return usage_refuse(error, "--adapter %s contradicts the target (%s:): leave --adapter out",
                            plan->adapter_name, scheme);
    }
    const unsigned flags = plan->adapter->flags;
    const bool has_path = (flags & (ADAPTER_FILE | ADAPTER_STRING)) != 0;
    struct url url;
    if (url_parse(&url, text, has_path || (flags & ADAPTER_EMBEDDED) != 0, error) != STATUS_OK) {
        return EXIT_CODE_USAGE;
    }
    plan->url_text = url.text;
    target->path = url.path != NULL && *url.path != '\0' ? url.path : NULL;
    if (target->path != NULL && !has_path) {
        return usage_refuse(error, "the target '%s:' takes no path: write only '%s:'", scheme,
                            scheme);
    }
    /* set only the parts that no option has set, because options take precedence over the URL */
    target->url = text;
    target->query = url.query;
    if (target->host == NULL) {
        plan->host_count = url.host_count;
    }
    for (size_t i = 0; i < plan->host_count; i++) {
        plan->hosts[i] = url.hosts[i];
        uint16_t *port = &plan->hosts[i].port;
        *port = *port != 0 ? *port : plan->adapter->default_port;
        *port = target->port != 0 ? target->port : *port;
        for (size_t k = 0; k < i; k++) {
            if (plan->hosts[k].port == *port &&
                is_same_host(plan->hosts[k].name, plan->hosts[i].name)) {
                return usage_refuse(error,
                                    "the list of hosts has %s twice, with port %u%s: name each "
                                    "host once",
                                    plan->hosts[i].name, (unsigned)*port,
                                    target->port != 0 ? " (--port applies to all)" : "");
            }
        }
    }
    const struct url_host only = {.name = url.host, .port = url.port};
    const struct url_host *first = plan->host_count > 0 ? &plan->hosts[0] : &only;
    target->host = target->host == NULL ? first->name : target->host;
    target->port = target->port == 0 ? first->port : target->port;
    target->user = target->user == NULL ? url.user : target->user;
    target->password = url.password;
    target->database = target->database == NULL ? url.database : target->database;
    return EXIT_CODE_OK;
}

struct target target_at(const struct plan *plan, unsigned host)
{
    struct target target = plan->target;
    target.library = plan->facts->library;
    if (host < plan->host_count) {
        target.host = plan->hosts[host].name;
        target.port = plan->hosts[host].port;
    }
    return target;
}

void target_name_host(const struct plan *plan, unsigned host, char *name, size_t size)
{
    const struct target target = target_at(plan, host);
    const char *text = target.host == NULL ? "" : target.host;
    const bool is_ipv6 = text[0] != '/' && strchr(text, ':') != NULL;
    snprintf(name, size, "%s%s%s:%u", is_ipv6 ? "[" : "", text, is_ipv6 ? "]" : "",
             (unsigned)target.port);
}

const struct adapter *target_find_other(const struct plan *plan)
{
    const struct target *target = &plan->target;
    const uint16_t port = target->port != 0 ? target->port : plan->adapter->default_port;
    for (const struct adapter *const *a = registry_adapters; *a != NULL; a++) {
        struct error ignored = {0};
        if (*a != plan->adapter && (*a)->recognise != NULL && !interrupt_requested() &&
            (*a)->recognise(*a, target->host, port, OTHER_MS, &ignored) == STATUS_OK) {
            return *a;
        }
    }
    return NULL;
}

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from == NULL ? "" : from);
}

void target_fill_connection(const struct plan *plan, struct connection_info *connection)
{
    const struct adapter *adapter = plan->adapter;
    const struct target *target = &plan->target;
    *connection = (struct connection_info){
        .port = target->port == 0 ? adapter->default_port : target->port,
        .is_embedded = (adapter->flags & ADAPTER_EMBEDDED) != 0,
        .identifier_quote = adapter->identifier_quote,
        .method = target->method == NULL && adapter->methods != NULL ? adapter->methods[0]
                                                                     : target->method,
    };
    copy_text(connection->host, sizeof connection->host, target->host);
    copy_text(connection->user, sizeof connection->user, target->user);
    copy_text(connection->database, sizeof connection->database, target->database);
    copy_text(connection->dialect, sizeof connection->dialect, adapter->name);
}

/* Writes "scheme://user@host:port/database" to `text`. Leaves `text` unchanged if the target is not
 * exactly one server. */
static void show_place(const struct plan *plan, const struct connection_info *place, char *text)
{
    const bool is_ipv6 = place->host[0] != '/' && strchr(place->host, ':') != NULL;
    char port[8] = "";
    if ((plan->adapter->flags & (ADAPTER_STRING | ADAPTER_EMBEDDED)) != 0 || plan->host_count > 0) {
        return;
    }
    if (place->port != 0) {
        snprintf(port, sizeof port, ":%u", place->port);
    }
    snprintf(text, PLAN_TARGET_BYTES, "%s://%s%s%s%s%s%s%s%s", plan->adapter->name, place->user,
             place->user[0] == '\0' ? "" : "@", is_ipv6 ? "[" : "", place->host, is_ipv6 ? "]" : "",
             port, place->database[0] == '\0' ? "" : "/", place->database);
}

void facts_set_target(struct facts *facts, const struct plan *plan,
                      const struct connection_info *place)
{
    show_place(plan, place, facts->target);
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
    } else if (target->url != NULL && (target->host == NULL || plan->host_count > 0)) {
        url_redact(target->url, out, size);
    } else {
        struct connection_info place;
        target_fill_connection(plan, &place);
        place.port = target->port;
        show_place(plan, &place, out);
    }
}

enum exit_code target_resolve(struct plan *plan, struct error *error)
{
    struct target *target = &plan->target;
    const char *const given = plan->target_given;
    target->answer_timeout_ms = (unsigned)(plan->timeout_ns / MONO_NS_PER_MS);
    target->connect_timeout_s =
        (unsigned)((plan->connect_timeout_ns + MONO_NS_PER_S - 1) / MONO_NS_PER_S);
    target->is_cancelled = interrupt_requested;
    enum exit_code code;
    const char *host = NULL;
    size_t length = 0;
    uint16_t port = target->port;
    struct stat about;
    if (plan->adapter_folder != NULL &&
        (stat(plan->adapter_folder, &about) != 0 || !S_ISDIR(about.st_mode))) {
        return usage_refuse(error, "--adapter-folder: '%.150s' is not a folder",
                            plan->adapter_folder);
    }
    if (given == NULL && port == 0) {
        code =
            choose_by_name(plan, plan->adapter_name == NULL ? "sqlite" : plan->adapter_name, error);
    } else if (given == NULL || (!takes_path_or_string(adapter_of(plan, given)) &&
                                 url_parse_place(given, &host, &length, &port))) {
        code = resolve_port(plan, host, length, port, error);
    } else {
        code = resolve_url(plan, error);
    }
    if (code != EXIT_CODE_OK) {
        return code;
    }
    const char *default_password = getenv("APPEND_PASSWORD");
    if (plan->password[0] != '\0') {
        target->password = plan->password;
    } else if (target->password == NULL && default_password != NULL &&
               default_password[0] != '\0') {
        target->password = default_password;
    }
    if (option_is_given(plan, "host-policy") && plan->host_count == 0) {
        return usage_refuse(error, "--host-policy needs several hosts in the target: "
                                   "postgresql://user@host,host/database");
    }
    target->scheme = plan->adapter->name;
    describe_target(plan);
    return EXIT_CODE_OK;
}

enum exit_code target_default_path(struct plan *plan, struct error *error)
{
    if ((plan->adapter->flags & ADAPTER_FILE) == 0 || plan->target.path != NULL) {
        return EXIT_CODE_OK;
    }
    if ((plan->command & (COMMAND_PREPARE | COMMAND_CLEANUP | COMMAND_DRY_RUN)) != 0) {
        return usage_refuse(error, "TARGET is missing: name a server, or %s:FILE",
                            plan->adapter->name);
    }
    if (asprintf(&plan->owned_path, "%s/append.db", plan->out_folder) < 0) {
        plan->owned_path = NULL;
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the path of the database");
        return EXIT_CODE_CLIENT_LIMIT;
    }
    plan->target.path = plan->owned_path;
    describe_target(plan);
    return EXIT_CODE_OK;
}
