/* Whether Machbase listens on a port: both sides begin with a word of nine bytes. */
#include "adapters/machbase_recognise.h"

#include <string.h>
#include <unistd.h>

#include "adapters/machbase_conn.h"
#include "base/probe.h"

static const char question[] = "CMI_INET0"; /* 0: this client is little-endian */
static const char answer[] = "CMI_READY";

enum {
    WORD_BYTES = 9
};

bool machbase_is_answer(const unsigned char *bytes, size_t length)
{
    return length >= WORD_BYTES && memcmp(bytes, answer, WORD_BYTES) == 0;
}

enum status machbase_recognise(const char *host, uint16_t port, unsigned timeout_s,
                               struct error *error)
{
    unsigned char bytes[64];
    int sock = -1;
    const enum status status = probe_connect(host, port, "", timeout_s, &sock, error);
    if (status != STATUS_OK) {
        return status;
    }
    const size_t length = probe_ask(sock, question, WORD_BYTES, bytes, sizeof bytes, timeout_s);
    close(sock);
    if (machbase_is_answer(bytes, length)) {
        return STATUS_OK;
    }
    error_set(error, ERROR_UNSUPPORTED, 0, NULL, "%.110s:%u does not speak Machbase's protocol",
              host, (unsigned)port);
    return STATUS_REJECTED;
}
