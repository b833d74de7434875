/* Answers of HTTP servers: an answer is read in the same way however it is divided into parts, and
 * reading stops at the end of the answer. */
#include "fuzz/fuzz.h"

#include "adapters/http.h"

/* The state of reading an answer. */
struct reading {
    struct http_answer answer;
    struct buffer body;
    size_t used;
    size_t enough; /* bytes of the body after which reading stops; 0: the whole body */
};

static bool collect(void *context, char *bytes, size_t length)
{
    struct reading *reading = context;
    fuzz_require(length > 0, "a part is not empty");
    bytes[0] = bytes[0]; /* the part must be writable */
    buffer_add(&reading->body, bytes, length);
    return reading->enough == 0 || reading->body.length < reading->enough;
}

/* Reads the answer in parts of `step` bytes, each in its own block. */
static void read_in_parts(struct reading *reading, const uint8_t *data, size_t size, size_t step)
{
    reading->answer.take = collect;
    reading->answer.context = reading;
    for (size_t at = 0; at < size && reading->answer.phase < HTTP_WHOLE; at += step) {
        const size_t length = step < size - at ? step : size - at;
        char *part = malloc(length);
        fuzz_require(part != NULL, "there is memory for a part");
        memcpy(part, data + at, length);
        const size_t used = http_answer_read(&reading->answer, part, length);
        fuzz_require(used <= length, "no byte after the part is read");
        fuzz_require(used == length || reading->answer.phase >= HTTP_WHOLE,
                     "every byte before the end of the answer is read");
        reading->used += used;
        free(part);
    }
}

static void check_headers(const struct http_answer *answer)
{
    static const char *const names[] = {"Content-Length", "x", "", "Location"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        size_t length = 0;
        const char *value = http_answer_header(answer, names[i], &length);
        fuzz_require(value == NULL ||
                         value + length + 2 <= answer->head.bytes + answer->head.length,
                     "a value is within the headers, followed by a line break");
        fuzz_require(value == NULL || memchr(value, '\n', length) == NULL, "a value is one line");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    const size_t step = 1 + data[0] % 16, enough = data[1] % 8;
    struct reading whole = {.enough = enough}, cut = {.enough = enough};
    read_in_parts(&whole, data + 2, size - 2, size);
    read_in_parts(&cut, data + 2, size - 2, step);
    const struct http_answer *a = &whole.answer, *b = &cut.answer;
    fuzz_require(a->status == b->status, "the status does not depend on the cuts");
    fuzz_require((a->fault == NULL) == (b->fault == NULL), "a fault does not depend on the cuts");
    fuzz_require(a->fault == NULL || strcmp(a->fault, b->fault) == 0,
                 "the text of a fault does not depend on the cuts");
    if (enough == 0) {
        fuzz_require(a->phase == b->phase, "the phase does not depend on the cuts");
        fuzz_require(strcmp(buffer_text(&whole.body), buffer_text(&cut.body)) == 0 &&
                         whole.body.length == cut.body.length,
                     "the body does not depend on the cuts");
        fuzz_require(a->phase != HTTP_WHOLE || whole.used == cut.used,
                     "the end does not depend on the cuts");
    }
    fuzz_require(a->fault == NULL || a->phase == HTTP_CUT, "reading stops at a fault");
    fuzz_require(a->phase != HTTP_WHOLE || (a->status >= 200 && a->status <= 599),
                 "a whole answer has a status");
    if (a->status != 0) {
        check_headers(a);
    }
    const bool is_whole = a->phase == HTTP_WHOLE || a->phase == HTTP_TO_END;
    fuzz_require(http_answer_end(&whole.answer) == is_whole,
                 "the end of the connection completes an answer without a length");
    http_answer_clear(&whole.answer);
    fuzz_require(a->phase == HTTP_HEAD && a->status == 0 && a->head.length == 0,
                 "a cleared answer is empty");
    http_answer_fini(&whole.answer);
    http_answer_fini(&cut.answer);
    buffer_fini(&whole.body);
    buffer_fini(&cut.body);
    return 0;
}
