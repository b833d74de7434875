#include "adapters/machbase_string.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/url_query.h"

enum {
    DEFAULT_PORT = 5656
};
static const char default_host[] = "127.0.0.1";
static const char default_user[] = "SYS";
static const char default_password[] = "MANAGER";

static enum status refuse(struct error *error, const char *text)
{
    error_set(error, ERROR_USAGE, 0, NULL, "%s", text);
    return STATUS_FATAL;
}

static enum status take_parameter(struct machbase_place *place,
                                  const struct url_parameter *parameter, struct error *error)
{
    if (strcmp(parameter->key, "alternative_servers") == 0) {
        snprintf(place->alternatives, sizeof place->alternatives, "%s", parameter->value);
        return STATUS_OK;
    }
    if (strcmp(parameter->key, "nodelay") == 0 &&
        (strcmp(parameter->value, "0") == 0 || strcmp(parameter->value, "1") == 0)) {
        place->has_delay = parameter->value[0] == '0';
        return STATUS_OK;
    }
    error_set(error, ERROR_USAGE, 0, NULL,
              "machbase has no URL parameter %.60s=%.60s: there are "
              "alternative_servers=HOST:PORT,HOST:PORT and nodelay=0|1",
              parameter->key, parameter->value);
    return STATUS_FATAL;
}

static enum status take_query(struct machbase_place *place, const char *query, struct error *error)
{
    struct url_parameter parameter;
    bool is_good = true;
    while (url_query_next(&query, &parameter, &is_good)) {
        if (!is_good) {
            return refuse(error, "a URL parameter is too long or badly encoded");
        }
        if (take_parameter(place, &parameter, error) != STATUS_OK) {
            return STATUS_FATAL;
        }
    }
    return STATUS_OK;
}

static enum status check_target(const struct target *target, struct error *error)
{
    if (target->schema != NULL || target->database != NULL) {
        return refuse(error, "machbase has one database, and takes neither its name nor a schema: "
                             "write machbase://user@host:port");
    }
    if (target->host != NULL && target->host[0] == '/') {
        return refuse(error, "machbase is reached by TCP: give a host and a port");
    }
    if (target->host == NULL && target->url != NULL && strchr(target->url, ',') != NULL &&
        strchr(target->url, '?') == NULL) {
        return refuse(error, "machbase takes one host, and others as "
                             "?alternative_servers=HOST:PORT,HOST:PORT");
    }
    return STATUS_OK;
}

/* The library splits its text at these, quotes or not. */
static bool is_plain(const char *value)
{
    return value[0] != '\0' && strpbrk(value, ";= \t\r\n") == NULL;
}

/* The library's own default. */
static uint16_t port_by_default(void)
{
    const char *text = getenv("MACHBASE_PORT_NO");
    const unsigned long number = text != NULL ? strtoul(text, NULL, 10) : 0;
    return number > 0 && number <= UINT16_MAX ? (uint16_t)number : DEFAULT_PORT;
}

enum status machbase_place_read(struct machbase_place *place, const struct target *target,
                                struct error *error)
{
    *place = (struct machbase_place){
        .host = target->host != NULL ? target->host : default_host,
        .port = target->port != 0 ? target->port : port_by_default(),
        .user = target->user != NULL ? target->user : default_user,
        .password = target->password != NULL ? target->password : default_password,
    };
    enum status status = check_target(target, error);
    if (status == STATUS_OK) {
        status = take_query(place, target->query, error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    if (!is_plain(place->user) || !is_plain(place->password)) {
        return refuse(error, "Machbase's client library takes no user and no password that is "
                             "empty or has a blank, ';' or '=' in it");
    }
    if (place->alternatives[0] != '\0' && !is_plain(place->alternatives)) {
        return refuse(error, "alternative_servers has to be HOST:PORT,HOST:PORT");
    }
    return STATUS_OK;
}

/* Every key is given, because of some the library has other defaults with other versions; DSN,
 * which it takes for a host in its manual, it passes over. COMPRESS stays off: rows that it
 * compresses cannot be read. */
void machbase_string_build(struct buffer *text, const struct machbase_place *place,
                           const char *address, unsigned timeout_s)
{
    buffer_add_format(text, "SERVER=%s;PORT_NO=%u;UID=%s;PWD=%s;CONNTYPE=1;CONNECTION_TIMEOUT=%u;",
                      address, (unsigned)place->port, place->user, place->password, timeout_s);
    if (place->alternatives[0] != '\0') {
        buffer_add_format(text, "ALTERNATIVE_SERVERS=%s;", place->alternatives);
    }
}
