#include <string.h>

#include "base/moment.h"
#include "cli/option_group.h"
#include "plan/plan.h"
#include "plan/url.h"

enum {
    CONTAINER_NAME_MAX = 100
};

STORE(store_mark)
{
    struct config *config = &options->config;
    const char *equals = strchr(value, '=');
    char time[MOMENT_TEXT_BYTES] = "";
    struct mark mark = {0};
    if (equals != NULL && (size_t)(equals - value) < sizeof time) {
        memcpy(time, value, (size_t)(equals - value));
        mark.text = equals + 1;
    }
    if (mark.text == NULL || mark.text[0] == '\0' || strpbrk(mark.text, "\r\n") != NULL ||
        !moment_parse(time, &mark.moment)) {
        return option_refuse(error, "mark", value, "TIME=TEXT, TIME " MOMENT_FORM);
    }
    if (config->mark_count == CONFIG_MARKS_MAX) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--mark can be given %d times: append lines to the "
                  "run's events.csv for more",
                  CONFIG_MARKS_MAX);
        return STATUS_REJECTED;
    }
    config->marks[config->mark_count++] = mark;
    return STATUS_OK;
}

/* PORT, HOST:PORT or [ADDRESS]:PORT */
STORE(store_metrics)
{
    struct config *config = &options->config;
    const char *host;
    size_t length;
    uint16_t port;
    if (!url_parse_place(value, &host, &length, &port) || port == 0 ||
        length >= sizeof config->metrics_host) {
        return option_refuse(error, "metrics", value,
                             "PORT or HOST:PORT (9464, 0.0.0.0:9464, [::1]:9464)");
    }
    if (length == 0) {
        host = "127.0.0.1";
        length = strlen(host);
    }
    memcpy(config->metrics_host, host, length);
    config->metrics_host[length] = '\0';
    config->metrics_port = port;
    return STATUS_OK;
}

STORE(store_metrics_file)
{
    if (strlen(value) >= PLAN_PATH_BYTES) {
        return option_refuse(error, "metrics-file", value, "a path that is short enough");
    }
    return option_store_text("metrics-file", value, &options->config.metrics_file, error);
}

/* As Docker and Podman have names and ids: it becomes a word of their command line. */
STORE(store_container)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    if (value[0] == '\0' || strlen(value) > CONTAINER_NAME_MAX ||
        strspn(value, allowed) != strlen(value) || strchr("_.-", value[0]) != NULL) {
        return option_refuse(error, "container", value, "a name or id of a container");
    }
    options->config.container = value;
    return STATUS_OK;
}

static const struct option_entry entries[] = {
    {COMMANDS_ALL, "container", "NAME", "server's container, of docker or podman", store_container},
    {COMMANDS_LOAD, "metrics", "[HOST:]PORT", "serve /metrics for Prometheus meanwhile",
     store_metrics},
    {COMMANDS_LOAD, "metrics-file", "FILE", "the same into a file, for node_exporter",
     store_metrics_file},
    {COMMAND_RUN, "mark", "TIME=TEXT", "line in the charts; more: the run's events.csv",
     store_mark},
};

const struct option_group option_group_observe = {"Watching a run", entries,
                                                  sizeof entries / sizeof entries[0]};
