/* What is sent to the port of the metrics: an answer never changes by what follows the head, and
 * never depends on bytes that have not come. */
#include "fuzz/fuzz.h"

#include <string.h>

#include "report/metrics_http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum metrics_http_answer answer = METRICS_HTTP_MORE;
    for (size_t length = 0; length <= size && length <= 8192; length++) {
        /* a block of its own, so that a byte read behind it shows */
        char *request = calloc(1, length + (length == 0 ? 1 : 0));
        fuzz_require(request != NULL, "there is memory for the request");
        if (length > 0) {
            memcpy(request, data, length);
        }
        const enum metrics_http_answer now = metrics_http_understand(request, length);
        free(request);
        fuzz_require(answer == METRICS_HTTP_MORE || now == answer, "an answer stays");
        answer = now;
        if (size > 512 && length < size && length > 512) {
            length += 97;
        }
    }
    if (answer == METRICS_HTTP_TEXT) {
        fuzz_require(size > 12 && memcmp(data, "GET /metrics", 12) == 0, "only to who asked");
    }
    return 0;
}
