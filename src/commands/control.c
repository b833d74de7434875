/* append control: sends a change to a run through the Unix socket in the run's folder. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "commands/command.h"
#include "figures/saved.h"
#include "load/control.h"
#include "plan/command_line.h"
#include "report/web.h"

enum {
    PATIENCE_S = 30,
    ANSWER_BYTES = 4096,
};

/* Reports why the run in the folder did not answer. `number` is the errno of the failed call. */
static enum exit_code explain(const char *folder, int number)
{
    char path[PLAN_PATH_BYTES + 16];
    struct stat about;
    snprintf(path, sizeof path, "%s/run.json", folder);
    const bool is_run = stat(path, &about) == 0;
    if (is_run && about.st_size > 0) {
        return command_say(EXIT_CODE_SERVER, "the run in %s has ended", folder);
    }
    if (number == ECONNREFUSED) {
        return command_say(EXIT_CODE_SERVER, "the run in %s ended before it wrote its result",
                           folder);
    }
    if (number == EAGAIN) {
        return command_say(EXIT_CODE_CLIENT_LIMIT,
                           "the run in %s did not answer within %d s: it may have made the change, "
                           "see its events.csv",
                           folder, PATIENCE_S);
    }
    if (is_run && number == ENOENT) {
        return command_say(EXIT_CODE_USAGE,
                           "the run in %s takes no changes: start it with --control", folder);
    }
    return number == ENOENT || number == ENOTDIR
               ? command_say(EXIT_CODE_USAGE, "'%s' is not the folder of a run with --control",
                             folder)
               : command_say(EXIT_CODE_CLIENT_LIMIT, "cannot reach the run in %s: %s", folder,
                             strerror(number));
}

/* Connects to the socket in a folder. Returns a descriptor, or -errno. Uses the folder's descriptor
 * in the path of the socket, because the folder's own path may be too long for a socket address. */
static int connect_to(const char *folder)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int place = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (place < 0) {
        return -errno;
    }
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" WEB_SOCKET_NAME, place);
    int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (sock >= 0 && (setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
                      connect(sock, (const struct sockaddr *)&address, sizeof address) != 0)) {
        const int number = errno;
        close(sock);
        errno = number;
        sock = -1;
    }
    const int number = errno;
    close(place);
    return sock < 0 ? -number : sock;
}

/* Adds `change` as JSON: "rate=20k" becomes {"rate": "20k"}, and "pause" becomes {"pause": true}.
 * Returns false if `change` is not UTF-8, or if memory runs out. */
static bool add_body(struct buffer *body, const char *change, bool *is_utf8)
{
    json_error_t wrong = {0};
    const size_t length = strcspn(change, "=");
    char name[CONTROL_TEXT_BYTES + 1];
    snprintf(name, sizeof name, "%.*s", (int)length, change);
    json_t *json = change[length] == '='
                       ? json_pack_ex(&wrong, 0, "{ss}", name, change + length + 1)
                       : json_pack_ex(&wrong, 0, "{sb}", name, 1);
    *is_utf8 = json != NULL || json_error_code(&wrong) != json_error_invalid_utf8;
    char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT);
    buffer_add_text(body, text == NULL ? "" : text);
    free(text);
    json_decref(json);
    return text != NULL;
}

/* Sends the request and reads the whole answer. Returns the length of the answer, or -errno. */
static ssize_t ask(int sock, const struct buffer *body, char answer[ANSWER_BYTES])
{
    struct buffer request = {0};
    buffer_add_format(&request,
                      "POST /control HTTP/1.1\r\nHost: append\r\nContent-Type: application/json\r\n"
                      "Content-Length: %zu\r\n\r\n%s",
                      body->length, buffer_text(body));
    ssize_t length = send(sock, buffer_text(&request), request.length, MSG_NOSIGNAL);
    bool is_well = length == (ssize_t)request.length;
    buffer_fini(&request);
    length = 0;
    while (is_well && length < ANSWER_BYTES - 1) {
        const ssize_t got = recv(sock, answer + length, (size_t)(ANSWER_BYTES - 1 - length), 0);
        is_well = got >= 0;
        if (got <= 0) {
            break;
        }
        length += got;
    }
    answer[length] = '\0';
    return is_well ? length : -errno;
}

/* Prints what the run answered. */
static enum exit_code tell(const char *answer)
{
    const char *body = strstr(answer, "\r\n\r\n");
    json_t *json = body == NULL ? NULL : json_loads(body + 4, 0, NULL);
    const char *done = json_string_value(json_object_get(json, "done"));
    const char *wrong = json_string_value(json_object_get(json, "error"));
    enum exit_code code;
    if (done != NULL) {
        printf("%s\n", done);
        code = command_finish_output();
    } else if (wrong != NULL) {
        const bool is_usage = strncmp(answer, "HTTP/1.1 400", 12) == 0;
        code = command_say(is_usage ? EXIT_CODE_USAGE : EXIT_CODE_SERVER, "%s", wrong);
    } else {
        code = command_say(EXIT_CODE_CLIENT_LIMIT,
                           "the run closed the connection without an answer: it may have made the "
                           "change, see its events.csv");
    }
    json_decref(json);
    return code;
}

enum exit_code command_control(int argc, char **argv)
{
    struct plan plan;
    struct error error = {0};
    enum exit_code code =
        command_line_read(&plan, command_form(COMMAND_CONTROL), argc, argv, &error);
    if (command_is_done(&plan, &code, &error)) {
        return code;
    }
    const char *folder = plan.folders[0], *change = plan.folders[1];
    struct buffer body = {0};
    char answer[ANSWER_BYTES];
    if (strlen(change) > CONTROL_TEXT_BYTES) {
        return command_say(EXIT_CODE_USAGE, "the change is longer than %d bytes: shorten it",
                           (int)CONTROL_TEXT_BYTES);
    }
    bool is_utf8;
    if (!add_body(&body, change, &is_utf8)) {
        buffer_fini(&body);
        return is_utf8 ? command_say(EXIT_CODE_CLIENT_LIMIT, "out of memory for the change")
                       : command_say(EXIT_CODE_USAGE, "the change is not valid UTF-8");
    }
    const int sock = connect_to(folder);
    const ssize_t length = sock < 0 ? sock : ask(sock, &body, answer);
    buffer_fini(&body);
    if (sock >= 0) {
        close(sock);
    }
    return length < 0 ? explain(folder, (int)-length) : tell(answer);
}
