/* Whether PostgreSQL listens on a port, without being a user of it. */
#include "adapters/postgresql_recognise.h"

#include <stdio.h>

#include "adapters/postgresql_conn.h"

/* PostgreSQL answers a question for TLS with one letter. Others greet first, with packets that can
 * begin with the same byte, so the length counts too. An error is 'E', its length and fields, the
 * first of which is 'S' with a text; older servers send 'E' and a text. */
enum probe_answer postgresql_judge(const unsigned char *answer, size_t length)
{
    if (length == 1) {
        return answer[0] == 'S' || answer[0] == 'N' || answer[0] == 'E' ? PROBE_YES : PROBE_NO;
    }
    if (length == 0 || answer[0] != 'E') {
        return length == 0 ? PROBE_MORE : PROBE_NO;
    }
    if (length <= 6) {
        return PROBE_MORE;
    }
    return (answer[5] == 'S' && answer[6] > ' ') || answer[1] > ' ' ? PROBE_YES : PROBE_NO;
}

enum status postgresql_recognise(const char *host, uint16_t port, unsigned timeout_ms,
                                 struct error *error)
{
    static const unsigned char request[8] = {0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f}; /* SSLRequest */
    char socket_name[24];
    const struct probe probe = {.protocol = "PostgreSQL's",
                                .socket_name = socket_name,
                                .question = request,
                                .question_bytes = sizeof request,
                                .judge = postgresql_judge};
    snprintf(socket_name, sizeof socket_name, ".s.PGSQL.%u", (unsigned)port);
    return probe_recognise(&probe, host, port, timeout_ms, error);
}
