/* From the target to what Connector/C wants to know before it connects. */
#include "adapters/mariadb_conn.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/url_query.h"

static enum status set_tls(MYSQL *mysql, const char *mode, struct mariadb_options *options,
                           struct error *error)
{
    static const char *const modes[] = {"off", "prefer", "require", "verify"};
    size_t found = 0;
    while (found < sizeof modes / sizeof *modes && strcmp(modes[found], mode) != 0) {
        found++;
    }
    if (found == sizeof modes / sizeof *modes) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "ssl=%.60s is not known: it can be off, prefer, require or verify", mode);
        return STATUS_FATAL;
    }
    const my_bool is_wanted = found > 0 ? 1 : 0;
    const my_bool is_verified = found == 3 ? 1 : 0;
    mysql_optionsv(mysql, MYSQL_OPT_SSL_ENFORCE, &is_wanted);
    mysql_optionsv(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &is_verified);
    /* Connector/C 3.3 goes on in clear when the server has no TLS: it is looked at afterwards. */
    options->needs_tls = found >= 2;
    return STATUS_OK;
}

static enum status set_socket(struct mariadb_options *options, const char *path,
                              struct error *error)
{
    static const char *const names[] = {"mysqld.sock", "mysql.sock", "mariadb.sock"};
    struct stat info;
    int length = snprintf(options->socket_path, sizeof options->socket_path, "%s", path);
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            length = snprintf(options->socket_path, sizeof options->socket_path, "%s/%s", path,
                              names[i]);
            if (access(options->socket_path, F_OK) == 0) {
                break;
            }
        }
    }
    if (length < 0 || (size_t)length >= sizeof options->socket_path) {
        error_set(error, ERROR_USAGE, 0, NULL, "the path of the socket is too long: %.160s", path);
        return STATUS_FATAL;
    }
    options->socket = options->socket_path;
    options->host = "localhost"; /* Connector/C's word for a Unix socket */
    return STATUS_OK;
}

static enum status set_parameter(MYSQL *mysql, const struct url_parameter *parameter,
                                 struct mariadb_options *options, struct error *error)
{
    static const struct {
        const char *key;
        enum mysql_option option;
    } files[] = {{"ssl-ca", MYSQL_OPT_SSL_CA},
                 {"ssl-cert", MYSQL_OPT_SSL_CERT},
                 {"ssl-key", MYSQL_OPT_SSL_KEY}};
    options->may_use_tls |= strncmp(parameter->key, "ssl", 3) == 0;
    if (strcmp(parameter->key, "ssl") == 0) {
        return set_tls(mysql, parameter->value, options, error);
    }
    if (strcmp(parameter->key, "socket") == 0) {
        return set_socket(options, parameter->value, error);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (strcmp(parameter->key, files[i].key) == 0) {
            mysql_optionsv(mysql, files[i].option, parameter->value);
            return STATUS_OK;
        }
    }
    error_set(error, ERROR_USAGE, 0, NULL,
              "parameter '%.60s' is not known: there are ssl, ssl-ca, ssl-cert, ssl-key and socket",
              parameter->key);
    return STATUS_FATAL;
}

static enum status set_parameters(MYSQL *mysql, const char *query, struct mariadb_options *options,
                                  struct error *error)
{
    struct url_parameter parameter;
    bool is_good = true;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && url_query_next(&query, &parameter, &is_good)) {
        if (!is_good) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "a parameter of the URL is too long or badly encoded");
            return STATUS_FATAL;
        }
        status = set_parameter(mysql, &parameter, options, error);
    }
    return status;
}

enum status mariadb_set_options(MYSQL *mysql, const struct target *target,
                                struct mariadb_options *options, struct error *error)
{
    /* Any time at all: then Connector/C waits by our own function, which counts. */
    const unsigned timeout_s = 1;
    const unsigned tcp = MYSQL_PROTOCOL_TCP;

    enum {
        TLS_BY_DEFAULT = 30400 /* of Connector/C */
    };
    memset(options, 0, sizeof *options);
    options->may_use_tls = mysql_get_client_version() >= TLS_BY_DEFAULT;
    mysql_optionsv(mysql, MYSQL_READ_DEFAULT_GROUP, "append");
    mysql_optionsv(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    mysql_optionsv(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &timeout_s);
    mysql_optionsv(mysql, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "append");
    enum status status = STATUS_OK;
    if (target->host != NULL && target->host[0] == '/') {
        status = set_socket(options, target->host, error);
    } else if (target->host != NULL && target->host[0] != '\0') {
        options->host = target->host;
    }
    if (status == STATUS_OK) {
        status = set_parameters(mysql, target->query, options, error);
    }
    if (options->socket == NULL &&
        (target->port != 0 || (options->host != NULL && strcmp(options->host, "localhost") != 0))) {
        mysql_optionsv(mysql, MYSQL_OPT_PROTOCOL, &tcp);
    }
    return status;
}
