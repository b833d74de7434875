#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mono.h"
#include "cli/option_group.h"
#include "plan/plan.h"
#include "plan/url.h"

STORE(store_adapter)
{
    return option_store_text("adapter", value, &options->config.adapter, error);
}

STORE(store_host)
{
    return option_store_text("host", value, &options->config.host, error);
}

/* In MariaDB's client -p is the password: what was given is not shown. */
STORE(store_port)
{
    if (url_parse_port(value, &options->config.port) && options->config.port != 0) {
        return STATUS_OK;
    }
    error_set(error, ERROR_USAGE, 0, NULL,
              "--port (-p) is not given a number from 1 to 65535; a password goes into "
              "--password-file FILE or APPEND_PASSWORD");
    return STATUS_REJECTED;
}

STORE(store_user)
{
    return option_store_text("user", value, &options->config.user, error);
}

/* The first line of the file, without its end. */
STORE(store_password_file)
{
    FILE *file = fopen(value, "re");
    if (file == NULL) {
        error_set(error, ERROR_USAGE, errno, NULL, "--password-file %s: %s", value,
                  strerror(errno));
        return STATUS_REJECTED;
    }
    size_t length = 0;
    int byte;
    errno = 0;
    while ((byte = getc(file)) != EOF && byte != '\n' && byte != '\0' &&
           length < sizeof options->password - 1) {
        options->password[length++] = (char)byte;
    }
    const int number = ferror(file) ? errno : 0; /* a folder can be opened, too */
    fclose(file);
    if (number != 0) {
        error_set(error, ERROR_USAGE, number, NULL, "--password-file %s: %s", value,
                  strerror(number));
        return STATUS_REJECTED;
    }
    const bool is_whole = byte == EOF || byte == '\n';
    if (is_whole && length > 0 && options->password[length - 1] == '\r') {
        length--;
    }
    if (!is_whole || length == 0) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--password-file %s: its first line must have 1 to %zu bytes, none of them NUL",
                  value, sizeof options->password - 2);
        return STATUS_REJECTED;
    }
    options->password[length] = '\0';
    options->config.password = options->password;
    return STATUS_OK;
}

STORE(store_database)
{
    return option_store_text("database", value, &options->config.database, error);
}

STORE(store_schema)
{
    return option_store_text("schema", value, &options->config.schema, error);
}

STORE(store_client_lib)
{
    return option_store_text("client-lib", value, &options->config.client_lib, error);
}

STORE(store_connect_concurrency)
{
    return option_store_count("connect-concurrency", value, PLAN_SESSIONS_MAX,
                              &options->config.connect_concurrency, error);
}

STORE(store_connect_timeout)
{
    int64_t timeout_ns;
    if (option_store_duration("connect-timeout", value, OPTION_DAY_NS, &timeout_ns, error) !=
        STATUS_OK) {
        return STATUS_REJECTED;
    }
    if (timeout_ns < MONO_NS_PER_S) {
        return option_refuse(error, "connect-timeout", value, "at least 1 s");
    }
    options->config.connect_timeout_ns = timeout_ns;
    return STATUS_OK;
}

STORE(store_wait)
{
    return option_store_duration("wait", value, OPTION_DAY_NS, &options->config.wait_ns, error);
}

static const struct option_entry entries[] = {
    {COMMANDS_ALL, "adapter", "NAME", "database behind a port (found out otherwise)",
     store_adapter},
    {COMMANDS_ALL, "host", "NAME", "server's host, or folder of its socket", store_host},
    {COMMANDS_ALL, "port", "N", "server's port, in place of TARGET", store_port},
    {COMMANDS_ALL, "user", "NAME", "user of the database", store_user},
    {COMMANDS_ALL, "password-file", "FILE", "file whose first line is the password",
     store_password_file},
    {COMMANDS_ALL, "database", "NAME", "database to connect to", store_database},
    {COMMANDS_LOAD, "schema", "NAME", "schema in which the table lives", store_schema},
    {COMMANDS_ALL, "client-lib", "FILE|DIR", "machbase: client library ($MACHBASE_HOME/lib)",
     store_client_lib},
    {COMMANDS_ALL, "connect-concurrency", "N", "sessions that connect at a time (64)",
     store_connect_concurrency},
    {COMMANDS_ALL, "connect-timeout", "T", "time for one connect, whole seconds (30)",
     store_connect_timeout},
    {COMMANDS_LOAD, "wait", "T", "wait for the server to let the first session in", store_wait},
};

const struct option_group option_group_connection = {"Connection", entries,
                                                     sizeof entries / sizeof entries[0]};
