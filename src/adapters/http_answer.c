#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "adapters/http.h"
#include "append/client_socket.h"

enum {
    HEAD_MAX = 64 * 1024, /* maximum length of the head, and of the trailer */
    PROBE_BODY_MAX = 64 * 1024,
    CHUNK_DIGITS_MAX = 16, /* hexadecimal digits of a chunk's length */
    CHUNK_LINE_MAX = 4096,
    QUESTION_BYTES = 512,
};

static void fail(struct http_answer *answer, const char *fault)
{
    answer->fault = fault;
    answer->phase = HTTP_CUT;
}

const char *http_answer_header(const struct http_answer *answer, const char *name, size_t *length)
{
    const size_t name_length = strlen(name);
    const char *const end = answer->head.bytes + answer->head.length;
    for (const char *at = answer->head.bytes; at != NULL && at < end;) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end == NULL ? end : line_end;
        if ((size_t)(line_end - at) > name_length && at[name_length] == ':' &&
            strncasecmp(at, name, name_length) == 0) {
            at += name_length + 1;
            while (at < line_end && (*at == ' ' || *at == '\t')) {
                at++;
            }
            while (line_end > at && strchr(" \t\r", line_end[-1]) != NULL) {
                line_end--;
            }
            *length = (size_t)(line_end - at);
            return at;
        }
        at = line_end + 1;
    }
    return NULL;
}

/* Returns true when a header's value contains `word`, alone or in a list ("keep-alive,
 * Upgrade"). */
static bool has_word(const struct http_answer *answer, const char *name, const char *word)
{
    static const char separators[] = ", \t;";
    size_t length = 0;
    const char *value = http_answer_header(answer, name, &length);
    const size_t word_length = strlen(word);
    for (size_t i = 0; value != NULL && i + word_length <= length; i++) {
        if (strncasecmp(value + i, word, word_length) == 0 &&
            (i == 0 || strchr(separators, value[i - 1]) != NULL) &&
            (i + word_length == length || strchr(separators, value[i + word_length]) != NULL)) {
            return true;
        }
    }
    return false;
}

static bool read_length(const char *digits, size_t length, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < length; i++) {
        if (digits[i] < '0' || digits[i] > '9' || *value > INT64_MAX / 10 - 1) {
            return false;
        }
        *value = *value * 10 + (uint64_t)(digits[i] - '0');
    }
    return length > 0;
}

/* Reads the complete head and determines how the end of the body is found. */
static void begin_body(struct http_answer *answer)
{
    const char *head = answer->head.bytes;
    uint64_t status = 0;
    size_t length = 0;
    if (answer->head.length < 14 || head[8] != ' ' || !read_length(head + 9, 3, &status) ||
        status < 100 || status > 599 || strchr(" \r\n", head[12]) == NULL) {
        fail(answer, "its first line has no HTTP status");
        return;
    }
    if (status == 101) {
        fail(answer, "it switches to another protocol");
        return;
    }
    if (status < 200) { /* an interim answer */
        buffer_clear(&answer->head);
        return;
    }
    answer->status = (unsigned)status;
    answer->ends_connection = answer->ends_connection || has_word(answer, "Connection", "close") ||
                              (head[7] == '0' && !has_word(answer, "Connection", "keep-alive"));
    const char *given = http_answer_header(answer, "Content-Length", &length);
    if (status == 204 || status == 304) {
        answer->phase = HTTP_WHOLE;
    } else if (has_word(answer, "Transfer-Encoding", "chunked")) {
        answer->phase = HTTP_CHUNK_SIZE;
    } else if (given == NULL) {
        answer->phase = HTTP_TO_END;
        answer->ends_connection = true;
    } else if (!read_length(given, length, &answer->left)) {
        fail(answer, "its Content-Length is not a number");
    } else {
        answer->phase = answer->left > 0 ? HTTP_LENGTH : HTTP_WHOLE;
    }
}

/* Adds a line, or a part of a line, to the head, and adds '\r' if the line break lacks it. Returns
 * false if the answer is malformed. */
static bool add_to_head(struct http_answer *answer, const char *bytes, size_t length)
{
    static const char magic[] = "HTTP/1.";
    struct buffer *const head = &answer->head;
    const bool is_line = bytes[length - 1] == '\n';
    if (head->length + length > HEAD_MAX) {
        fail(answer, "its headers are longer than 64 KiB");
        return false;
    }
    buffer_add(head, bytes, length - (is_line ? 1 : 0));
    if (is_line) {
        const bool has_return = head->length > 0 && head->bytes[head->length - 1] == '\r';
        buffer_add_text(head, has_return ? "\n" : "\r\n");
    }
    if (buffer_failed(head)) {
        fail(answer, "out of memory for its headers");
        return false;
    }
    const size_t known = head->length < sizeof magic - 1 ? head->length : sizeof magic - 1;
    if (memcmp(head->bytes, magic, known) != 0) {
        fail(answer, "it is not HTTP/1");
        return false;
    }
    return true;
}

static size_t read_head(struct http_answer *answer, const char *bytes, size_t length)
{
    size_t used = 0;
    while (used < length && answer->phase == HTTP_HEAD) {
        const char *const end = memchr(bytes + used, '\n', length - used);
        const size_t part = end == NULL ? length - used : (size_t)(end - bytes) + 1 - used;
        if (!add_to_head(answer, bytes + used, part)) {
            return used;
        }
        used += part;
        if (end != NULL && answer->head.length - answer->left == 2) {
            answer->left = 0;
            begin_body(answer);
        } else if (end != NULL) {
            answer->left = answer->head.length; /* the next line begins here */
        }
    }
    return used;
}

static size_t give(struct http_answer *answer, char *bytes, size_t length)
{
    const size_t part = length < answer->left ? length : (size_t)answer->left;
    answer->left -= part;
    if (answer->take != NULL && part > 0 && !answer->take(answer->context, bytes, part)) {
        answer->phase = HTTP_CUT;
    }
    return part;
}

static void read_chunk_size(struct http_answer *answer, char byte)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    const char *const found = byte == '\0' ? NULL : strchr(digits, byte);
    const uint64_t digit = found == NULL ? 0 : (uint64_t)(found - digits);
    answer->line_bytes++;
    if (byte == '\n') {
        if (answer->line_bytes == 1) {
            fail(answer, "a chunk has no length");
            return;
        }
        answer->phase = answer->left > 0 ? HTTP_CHUNK : HTTP_TRAILER;
        answer->line_bytes = 0;
        answer->is_extension = false;
    } else if (answer->is_extension) {
        if (answer->line_bytes > CHUNK_LINE_MAX) {
            fail(answer, "a chunk's line is too long");
        }
    } else if (found != NULL && answer->line_bytes <= CHUNK_DIGITS_MAX) {
        answer->left =
            (answer->line_bytes == 1 ? 0 : answer->left * 16) + (digit < 16 ? digit : digit - 6);
    } else if (found == NULL && byte != '\0' && answer->line_bytes > 1 &&
               strchr(" \t\r;", byte) != NULL) {
        answer->is_extension = true;
    } else {
        fail(answer, "a chunk's length is not a number");
    }
}

/* Reads the lines after the last chunk, up to an empty line. */
static void read_trailer(struct http_answer *answer, char byte)
{
    answer->left++; /* counts the bytes of the trailer */
    if (byte == '\n' && answer->line_bytes == 0) {
        answer->phase = HTTP_WHOLE;
    } else if (answer->left > HEAD_MAX) {
        fail(answer, "its trailer is longer than 64 KiB");
    } else if (byte != '\r') {
        answer->line_bytes = byte == '\n' ? 0 : 1;
    }
}

size_t http_answer_read(struct http_answer *answer, char *bytes, size_t length)
{
    size_t used = 0;
    while (used < length && answer->phase < HTTP_WHOLE) {
        switch (answer->phase) {
        case HTTP_HEAD:
            used += read_head(answer, bytes + used, length - used);
            break;
        case HTTP_TO_END:
            answer->left = UINT64_MAX;
            used += give(answer, bytes + used, length - used);
            break;
        case HTTP_LENGTH:
        case HTTP_CHUNK:
            used += give(answer, bytes + used, length - used);
            if (answer->left == 0 && answer->phase != HTTP_CUT) {
                answer->phase = answer->phase == HTTP_CHUNK ? HTTP_CHUNK_END : HTTP_WHOLE;
            }
            break;
        case HTTP_CHUNK_SIZE:
            read_chunk_size(answer, bytes[used++]);
            break;
        case HTTP_CHUNK_END:
            if (bytes[used] == '\n') {
                answer->phase = HTTP_CHUNK_SIZE;
                answer->line_bytes = 0;
            } else if (bytes[used] == '\r' && answer->line_bytes == 0) {
                answer->line_bytes = 1;
            } else {
                fail(answer, "a chunk is longer than its stated length");
            }
            used++;
            break;
        case HTTP_TRAILER:
            read_trailer(answer, bytes[used++]);
            break;
        case HTTP_WHOLE:
        case HTTP_CUT:
            break;
        }
    }
    return used;
}

bool http_answer_end(struct http_answer *answer)
{
    answer->ends_connection = true;
    if (answer->phase == HTTP_TO_END) {
        answer->phase = HTTP_WHOLE;
    }
    return answer->phase == HTTP_WHOLE;
}

void http_answer_clear(struct http_answer *answer)
{
    const struct http_answer before = *answer;
    *answer =
        (struct http_answer){.head = before.head, .take = before.take, .context = before.context};
    buffer_clear(&answer->head);
}

void http_answer_fini(struct http_answer *answer)
{
    buffer_fini(&answer->head);
}

/* The state of a probe. The server's answer may arrive in several parts. */
struct probe_state {
    struct http_answer answer;
    struct buffer body;
    bool (*recognises_answer)(unsigned status, const char *headers, const char *body);
};

static bool keep_probe_body(void *context, char *bytes, size_t length)
{
    struct probe_state *probe_state = context;
    if (probe_state->body.length + length > PROBE_BODY_MAX) {
        return false;
    }
    buffer_add(&probe_state->body, bytes, length);
    return true;
}

static enum probe_answer parse_probe(void *context, char *part, size_t length)
{
    struct probe_state *probe_state = context;
    struct http_answer *answer = &probe_state->answer;
    if (length == 0) {
        http_answer_end(answer);
    } else {
        http_answer_read(answer, part, length);
    }
    if (answer->phase != HTTP_WHOLE) {
        return answer->phase == HTTP_CUT ? PROBE_NO : PROBE_MORE;
    }
    return probe_state->recognises_answer(answer->status, buffer_text(&answer->head),
                                          buffer_text(&probe_state->body))
               ? PROBE_YES
               : PROBE_NO;
}

enum status http_recognise(const struct adapter *adapter, const char *host, uint16_t port,
                           unsigned timeout_ms, struct error *error)
{
    const struct http_database *const database = adapter->own;
    char text[QUESTION_BYTES];
    const bool is_ipv6 = strchr(host, ':') != NULL;
    const int length = snprintf(
        text, sizeof text, "GET %s HTTP/1.1\r\nHost: %s%.250s%s:%u\r\nConnection: close\r\n\r\n",
        database->question, is_ipv6 ? "[" : "", host[0] == '/' ? "localhost" : host,
        is_ipv6 ? "]" : "", (unsigned)port);
    if ((size_t)length >= sizeof text) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "the host name %.100s is too long", host);
        return STATUS_REJECTED;
    }
    struct probe_state probe_state = {.recognises_answer = database->recognises_answer};
    probe_state.answer.take = keep_probe_body;
    probe_state.answer.context = &probe_state;
    const struct probe probe = {.protocol = database->protocol,
                                .socket_name = "http.sock",
                                .question = text,
                                .question_bytes = (size_t)length,
                                .parse_part = parse_probe,
                                .context = &probe_state};
    const enum status status = probe_recognise(&probe, host, port, timeout_ms, error);
    http_answer_fini(&probe_state.answer);
    buffer_fini(&probe_state.body);
    return status;
}
