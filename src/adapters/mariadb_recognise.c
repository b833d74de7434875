/* Whether MariaDB, MySQL or one of their kin listens on a port: the server speaks first. */
#include "adapters/mariadb_recognise.h"

#include <string.h>

#include "adapters/mariadb_conn.h"

enum {
    HEADER_BYTES = 4, /* length of the packet in 3 bytes, its number */
    PROTOCOL = 10,
    ERROR_PACKET = 0xff, /* too many connections, host blocked: it does not greet everybody */
    ERROR_NUMBER_MIN = 1000,
    ERROR_NUMBER_MAX = 4999,
};

/* A greeting is packet 0: the number of the protocol, and the server's version as a text. */
enum probe_answer mariadb_judge(const unsigned char *bytes, size_t length)
{
    if (length < HEADER_BYTES) {
        return PROBE_MORE;
    }
    const size_t packet = bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16;
    const size_t rest = length - HEADER_BYTES;
    const enum probe_answer unfinished = rest < packet ? PROBE_MORE : PROBE_NO;
    if (bytes[3] != 0 || packet < 3 || packet > 1024) {
        return PROBE_NO;
    }
    if (rest < 3) {
        return unfinished;
    }
    const unsigned char *version = bytes + HEADER_BYTES + 1;
    if (bytes[HEADER_BYTES] == ERROR_PACKET) {
        const unsigned number = version[0] | (unsigned)version[1] << 8;
        return number >= ERROR_NUMBER_MIN && number <= ERROR_NUMBER_MAX ? PROBE_YES : PROBE_NO;
    }
    if (bytes[HEADER_BYTES] != PROTOCOL || version[0] < '0' || version[0] > '9') {
        return PROBE_NO;
    }
    return memchr(version, '\0', rest - 1) != NULL ? PROBE_YES : unfinished;
}

enum status mariadb_recognise(const char *host, uint16_t port, unsigned timeout_ms,
                              struct error *error)
{
    static const struct probe probe = {
        .protocol = "MySQL's", .socket_name = "mysqld.sock", .judge = mariadb_judge};
    return probe_recognise(&probe, host, port, timeout_ms, error);
}
