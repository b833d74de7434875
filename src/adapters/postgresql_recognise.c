/* Whether PostgreSQL listens on a port, without being a user of it. */
#include "adapters/postgresql_recognise.h"

#include <stdio.h>
#include <unistd.h>

#include "adapters/postgresql_conn.h"
#include "base/probe.h"

/* PostgreSQL answers a question for TLS with one letter. Others greet first, with packets that can
 * begin with the same byte, so the length counts too. An error is 'E', its length and fields, the
 * first of which is 'S' with a text; older servers send 'E' and a text. */
bool postgresql_is_answer(const unsigned char *answer, size_t length)
{
    if (length == 1) {
        return answer[0] == 'S' || answer[0] == 'N' || answer[0] == 'E';
    }
    return length > 6 && answer[0] == 'E' &&
           ((answer[5] == 'S' && answer[6] > ' ') || answer[1] > ' ');
}

enum status postgresql_recognise(const char *host, uint16_t port, unsigned timeout_s,
                                 struct error *error)
{
    static const unsigned char request[8] = {0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f}; /* SSLRequest */
    char socket_name[24];
    unsigned char answer[16];
    int sock = -1;
    snprintf(socket_name, sizeof socket_name, ".s.PGSQL.%u", (unsigned)port);
    const enum status status = probe_connect(host, port, socket_name, timeout_s, &sock, error);
    if (status != STATUS_OK) {
        return status;
    }
    const size_t length =
        probe_ask(sock, request, sizeof request, answer, sizeof answer, timeout_s);
    close(sock);
    if (postgresql_is_answer(answer, length)) {
        return STATUS_OK;
    }
    error_set(error, ERROR_UNSUPPORTED, 0, NULL, "%.110s:%u does not speak PostgreSQL's protocol",
              host, (unsigned)port);
    return STATUS_REJECTED;
}
