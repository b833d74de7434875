/* Whether Machbase listens on a port: both sides begin with a word of nine bytes. */
#include "adapters/machbase_recognise.h"

#include <string.h>

#include "adapters/machbase_conn.h"

static const char question[] = "CMI_INET0"; /* 0: this client is little-endian */
static const char answer[] = "CMI_READY";

enum {
    WORD_BYTES = 9
};

enum probe_answer machbase_judge(const unsigned char *bytes, size_t length)
{
    if (memcmp(bytes, answer, length < WORD_BYTES ? length : WORD_BYTES) != 0) {
        return PROBE_NO;
    }
    return length < WORD_BYTES ? PROBE_MORE : PROBE_YES;
}

enum status machbase_recognise(const char *host, uint16_t port, unsigned timeout_ms,
                               struct error *error)
{
    static const struct probe probe = {.protocol = "Machbase's",
                                       .socket_name = "",
                                       .question = question,
                                       .question_bytes = WORD_BYTES,
                                       .judge = machbase_judge};
    return probe_recognise(&probe, host, port, timeout_ms, error);
}
