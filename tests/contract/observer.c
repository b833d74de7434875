#include "observer.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#ifndef CONTRACT_STANDIN_DIR
#define CONTRACT_STANDIN_DIR "tests/standin"
#endif

enum {
    ANSWER_BYTES = 4 * FIXTURE_TEXT_BYTES, /* JSON uses six characters for some characters */
    ARGUMENTS_MAX = 4
};

static pid_t standin;
static FILE *commands, *answers;

static int connect_to(const struct observer *to)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(to->host, to->port, &hints, &found) != 0) {
        return -1;
    }
    const int peer = socket(found->ai_family, SOCK_STREAM, 0);
    if (peer >= 0 && connect(peer, found->ai_addr, found->ai_addrlen) != 0) {
        close(peer);
        freeaddrinfo(found);
        return -1;
    }
    freeaddrinfo(found);
    return peer;
}

/* Returns the body of the answer, which is valid until the next call, or NULL if the status is not
 * 2xx. */
static const char *ask(const struct observer *to, const char *request, const char *headers,
                       const char *body)
{
    static char answer[ANSWER_BYTES];
    const int peer = connect_to(to);
    size_t used = 0;
    if (peer >= 0) {
        dprintf(peer, "%s HTTP/1.0\r\nConnection: close\r\nContent-Length: %zu\r\n%s\r\n%s",
                request, strlen(body), headers, body);
        ssize_t got;
        while (used < sizeof answer - 1 &&
               (got = read(peer, answer + used, sizeof answer - 1 - used)) > 0) {
            used += (size_t)got;
        }
        close(peer);
    }
    answer[used] = '\0';
    const char *const end = strstr(answer, "\r\n\r\n");
    if (end == NULL || strncmp(answer + strlen("HTTP/1.x"), " 2", 2) != 0) {
        fprintf(stderr, "contract: %s %s: %s\n", request, body, used > 0 ? answer : "no answer");
        return NULL;
    }
    return end + 4;
}

bool observer_request(const struct observer *to, const char *request, const char *headers,
                      const char *body, char answer[FIXTURE_TEXT_BYTES])
{
    const char *const answered = ask(to, request, headers, body);
    snprintf(answer, FIXTURE_TEXT_BYTES, "%s", answered != NULL ? answered : "");
    return answered != NULL;
}

bool observer_request_json(const struct observer *to, const char *request, const char *headers,
                           const char *body, const char *path, char text[FIXTURE_TEXT_BYTES])
{
    const char *const answered = ask(to, request, headers, body);
    json_t *const json = json_loads(answered != NULL ? answered : "", JSON_DECODE_ANY, NULL);
    json_t *value = json;
    for (size_t length; *path != '\0'; path += length + (path[length] != '\0')) {
        char part[32];
        length = strcspn(path, "/");
        snprintf(part, sizeof part, "%.*s", (int)length, path);
        value = json_is_array(value) ? json_array_get(value, strtoul(part, NULL, 10))
                                     : json_object_get(value, part);
    }
    char *const written = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    const char *const other = written == NULL || json_is_null(value) ? "(null)" : written;
    snprintf(text, FIXTURE_TEXT_BYTES, "%s",
             json_is_string(value) ? json_string_value(value) : other);
    free(written);
    json_decref(json);
    return json != NULL;
}

bool observer_start(struct observer *to, const char *name, const char *const *arguments)
{
    char path[512];
    const char *command_line[ARGUMENTS_MAX + 2] = {path};
    int in[2], out[2];
    unsigned long port = 0;
    snprintf(path, sizeof path, "%s/%s_standin.py", CONTRACT_STANDIN_DIR, name);
    for (size_t i = 0; i < ARGUMENTS_MAX && arguments[i] != NULL; i++) {
        command_line[i + 1] = arguments[i];
    }
    if (pipe(in) == 0 && pipe(out) == 0 && (standin = fork()) == 0) {
        union {
            const char **command_line;
            char *const *argv; /* execv does not write to it */
        } of = {command_line};
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        close(in[1]);
        close(out[0]);
        execv(path, of.argv);
        fprintf(stderr, "contract: %s: %s\n", path, strerror(errno));
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    commands = fdopen(in[1], "w");
    answers = fdopen(out[0], "r");
    snprintf(to->host, sizeof to->host, "127.0.0.1");
    if (fgets(to->port, sizeof to->port, answers) != NULL) {
        to->port[strcspn(to->port, "\n")] = '\0';
        port = strtoul(to->port, NULL, 10);
    }
    if (port == 0) {
        fprintf(stderr, "contract: %s does not start\n", path);
        observer_stop();
    }
    return port > 0;
}

bool observer_command(const char *command)
{
    char line[512] = "the stand-in has ended\n";
    fprintf(commands, "%s\n", command);
    fflush(commands);
    while (fgets(line, sizeof line, answers) != NULL && strncmp(line, "error", 5) != 0) {
        if (strcmp(line, "ok\n") == 0) {
            return true;
        }
    }
    fprintf(stderr, "contract: %s: %s", command, line);
    return false;
}

bool observer_kick(void)
{
    return observer_command("kick");
}

void observer_stop(void)
{
    fclose(commands); /* a closed pipe ends the stand-in */
    waitpid(standin, NULL, 0);
    fclose(answers);
}
