/* What clients say: it may be anything. */
#include <stdbool.h>
#include <string.h>

#include "report/metrics_http.h"

/* A word that ends with `end` before `limit`; NULL: there is none. */
static const char *word_end(const char *word, const char *limit, char end)
{
    const char *found = memchr(word, end, (size_t)(limit - word));
    return found == NULL || found == word ? NULL : found;
}

static bool is_word(const char *word, size_t length, const char *expected)
{
    return length == strlen(expected) && memcmp(word, expected, length) == 0;
}

static bool is_method(const char *word, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (word[i] < 'A' || word[i] > 'Z') {
            return false;
        }
    }
    return length <= 16;
}

/* The end of a head: an empty line. */
static bool is_whole(const char *request, size_t length)
{
    return memmem(request, length, "\r\n\r\n", 4) != NULL ||
           memmem(request, length, "\n\n", 2) != NULL;
}

/* "GET /metrics HTTP/1.1": the path ends at a '?' too. */
static enum metrics_http_answer read_line(const char *line, const char *limit)
{
    const char *method_end = word_end(line, limit, ' ');
    const char *path = method_end == NULL ? NULL : method_end + 1;
    const char *path_end = path == NULL ? NULL : word_end(path, limit, ' ');
    if (path_end == NULL || !is_method(line, (size_t)(method_end - line)) || path[0] != '/' ||
        limit - path_end < 6 || memcmp(path_end, " HTTP/", 6) != 0) {
        return METRICS_HTTP_BAD;
    }
    const bool is_get = is_word(line, (size_t)(method_end - line), "GET");
    if (!is_get && !is_word(line, (size_t)(method_end - line), "HEAD")) {
        return METRICS_HTTP_METHOD;
    }
    const char *query = memchr(path, '?', (size_t)(path_end - path));
    const size_t length = (size_t)((query == NULL ? path_end : query) - path);
    if (is_word(path, length, "/metrics")) {
        return is_get ? METRICS_HTTP_TEXT : METRICS_HTTP_HEAD;
    }
    return is_get && is_word(path, length, "/") ? METRICS_HTTP_INDEX : METRICS_HTTP_NOT_FOUND;
}

enum metrics_http_answer metrics_http_understand(const char *request, size_t length)
{
    const char *line_end = length == 0 ? NULL : memchr(request, '\n', length);
    if (line_end == NULL) {
        /* a TLS greeting, or what else never ends its line, need not be waited for */
        return length > 0 && !is_method(request, 1) ? METRICS_HTTP_BAD : METRICS_HTTP_MORE;
    }
    const char *limit = line_end > request && line_end[-1] == '\r' ? line_end - 1 : line_end;
    const enum metrics_http_answer answer = read_line(request, limit);
    if (answer == METRICS_HTTP_BAD || is_whole(request, length)) {
        return answer;
    }
    return METRICS_HTTP_MORE;
}
