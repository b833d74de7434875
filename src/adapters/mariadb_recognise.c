/* Whether MariaDB, MySQL or one of their kin listens on a port: the server speaks first. */
#include "adapters/mariadb_recognise.h"

#include <string.h>
#include <unistd.h>

#include "adapters/mariadb_conn.h"
#include "base/probe.h"

enum {
    HEADER_BYTES = 4, /* length of the packet in 3 bytes, its number */
    PROTOCOL = 10,
    ERROR_PACKET = 0xff, /* too many connections, host blocked: it does not greet everybody */
    ERROR_NUMBER_MIN = 1000,
    ERROR_NUMBER_MAX = 4999,
};

/* A greeting is packet 0: the number of the protocol, and the server's version as a text. */
bool mariadb_is_greeting(const unsigned char *bytes, size_t length)
{
    if (length < HEADER_BYTES + 3 || bytes[3] != 0) {
        return false;
    }
    const size_t packet = bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16;
    if (packet < 3 || packet > 1024) {
        return false;
    }
    if (bytes[HEADER_BYTES] == ERROR_PACKET) {
        const unsigned number = bytes[5] | (unsigned)bytes[6] << 8;
        return number >= ERROR_NUMBER_MIN && number <= ERROR_NUMBER_MAX;
    }
    const unsigned char *version = bytes + HEADER_BYTES + 1;
    const size_t rest = length - HEADER_BYTES - 1;
    return bytes[HEADER_BYTES] == PROTOCOL && version[0] >= '0' && version[0] <= '9' &&
           memchr(version, '\0', rest) != NULL;
}

enum status mariadb_recognise(const char *host, uint16_t port, unsigned timeout_s,
                              struct error *error)
{
    unsigned char bytes[256];
    int sock = -1;
    const enum status status = probe_connect(host, port, "mysqld.sock", timeout_s, &sock, error);
    if (status != STATUS_OK) {
        return status;
    }
    const size_t length = probe_ask(sock, NULL, 0, bytes, sizeof bytes, timeout_s);
    close(sock);
    if (mariadb_is_greeting(bytes, length)) {
        return STATUS_OK;
    }
    error_set(error, ERROR_UNSUPPORTED, 0, NULL, "%.110s:%u does not speak MySQL's protocol", host,
              (unsigned)port);
    return STATUS_REJECTED;
}
