/* Ephemeral ports: each connection to one address and port needs another local port. */

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limits/reading.h"

static bool is_loopback(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
           strcmp(host, "localhost") == 0;
}

/* Connections in TIME_WAIT: mode 1 reuses their ports, mode 2 (as set by default) only those of
 * connections within the machine. */
static bool is_wait_reused(struct reading *reading, const char *host)
{
    uint64_t mode;
    if (!reading_number(reading, "sys/net/ipv4/tcp_tw_reuse", &mode)) {
        return false;
    }
    return mode == 1 || (mode == 2 && is_loopback(host));
}

static struct limits_destination find_destination(struct reading *reading)
{
    const struct limits_question *question = reading->question;
    const char *host = question->host == NULL ? "" : question->host;
    struct limits_destination destination = {.port = question->port,
                                             .is_wait_reused = is_wait_reused(reading, host)};
    struct in_addr address;
    struct in6_addr address6;
    if (inet_pton(AF_INET, host, &address) == 1) {
        destination.address = address.s_addr;
    } else if (inet_pton(AF_INET6, host, &address6) == 1) {
        memcpy(&destination.address, &address6.s6_addr[12], sizeof destination.address);
    }
    return destination;
}

static uint64_t count_in(const struct limits_ports *ports, const struct limits_port_range *range)
{
    uint64_t count = 0;
    for (unsigned port = range->low; port <= range->high; port++) {
        count += limits_ports_hold(ports, (uint16_t)port) ? 1 : 0;
    }
    return count;
}

static bool add_taken(struct reading *reading, const struct limits_destination *destination,
                      struct limits_ports *taken, uint64_t *waiting)
{
    static const char *const files[] = {"net/tcp", "net/tcp6"};
    *waiting = 0;
    bool is_read = false;
    for (size_t i = 0; i < 2; i++) {
        uint64_t found;
        /* a machine without IPv6 has no tcp6 */
        if (reading_load(reading, 0, files[i])) {
            if (!limits_parse_sockets(reading->text.bytes, reading->text.length, destination, taken,
                                      &found)) {
                return false;
            }
            is_read = true;
            *waiting += found;
        }
    }
    return is_read;
}

/* Both arrays on the heap: they are larger than a small thread's stack. */
struct survey {
    struct limits_ports reserved;
    struct limits_ports taken; /* reserved ones among them */
};

static void explain(const struct reading *reading, const struct limits_port_range *range,
                    uint64_t waiting, bool is_reused, struct limit *limit)
{
    const uint16_t port = reading->question->port;
    if (waiting > 0) {
        snprintf(limit->note, sizeof limit->note,
                 "%" PRIu64 " of the ports in use %s in TIME_WAIT, and %s free %s", waiting,
                 waiting == 1 ? "is" : "are", waiting == 1 ? "comes" : "come",
                 is_reused ? "in a second" : "in a minute");
    } else if (port >= range->low && port <= range->high && reading_has_server_here(reading)) {
        snprintf(limit->note, sizeof limit->note,
                 "the server's port %u is in the range: a connection may take it while the server "
                 "is restarted",
                 port);
    }
}

static void add_limit(struct reading *reading, const struct limits_port_range *range,
                      struct survey *survey)
{
    uint64_t waiting;
    const struct limits_destination destination = find_destination(reading);
    const uint64_t reserved = count_in(&survey->reserved, range);
    memcpy(&survey->taken, &survey->reserved, sizeof survey->taken);
    if (!add_taken(reading, &destination, &survey->taken, &waiting)) {
        return;
    }
    struct limit limit = {
        .id = LIMIT_PORTS,
        .side = LIMIT_CLIENT,
        .name = "ip_local_port_range",
        .where = "sysctl",
        .unit = "ports",
        .allowed = (uint64_t)(range->high - range->low) + 1 - reserved,
        .used = count_in(&survey->taken, range) - reserved,
    };
    explain(reading, range, waiting, destination.is_wait_reused, &limit);
    const uint64_t left = limit.allowed - limit.used;
    /* ports that wait come free while sessions connect: then it is not certain */
    limit.is_estimate =
        left < reading->question->sessions && left + waiting >= reading->question->sessions;
    /* the set-up's connection has been there before the sessions, and keeps its port for a while */
    const uint64_t set_up = reading->question->port != 0 && waiting == 0 ? 1 : 0;
    struct limit *entry = reading_add(reading, &limit, (struct need){.each = 1, .fixed = set_up});
    if (entry == NULL) {
        return;
    }
    if (range->low > 1024 || range->high < UINT16_MAX) {
        snprintf(entry->fix, sizeof entry->fix,
                 "sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"%s",
                 waiting > 0 ? "; sysctl -w net.ipv4.tcp_tw_reuse=1" : "");
    } else {
        snprintf(
            entry->fix, sizeof entry->fix,
            "the range cannot be larger: let the server listen on another address or port too");
    }
}

void ports_read(struct reading *reading)
{
    const struct limits_question *question = reading->question;
    struct limits_port_range range;
    if (!question->uses_tcp || question->files_per_session == 0 ||
        !reading_load(reading, 0, "sys/net/ipv4/ip_local_port_range") ||
        !limits_parse_port_range(reading->text.bytes, reading->text.length, &range)) {
        return;
    }
    struct survey *survey = calloc(1, sizeof *survey);
    if (survey == NULL) {
        return;
    }
    if (reading_load(reading, 0, "sys/net/ipv4/ip_local_reserved_ports") &&
        limits_parse_reserved(reading->text.bytes, reading->text.length, &survey->reserved)) {
        add_limit(reading, &range, survey);
    }
    free(survey);
}
