#include "commands/command.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/notice.h"
#include "base/process.h"
#include "base/text.h"
#include "plan/target.h"
#include "report/json.h"

/* For the one line that says why the program ended; one that nobody reads must not keep it. */
#define PATIENCE_NS MONO_NS_PER_S

/* What may hold a password is a target, or a connection string in an option's value. */
static void hide_password(char *word)
{
    char *value = word;
    if (strncmp(word, "--", 2) == 0) {
        value += strcspn(word, "=");
        value += *value == '=' ? 1 : 0;
    }
    const size_t length = strlen(value);
    char *shown = malloc(length + 1);
    const bool may_hold = strpbrk(value, "@;?") != NULL || strcasestr(value, "password") != NULL;
    if (shown != NULL && may_hold) {
        target_redact(value, shown, length + 1);
        if (strcmp(shown, value) != 0) {
            memset(value, 0, length);
            memcpy(value, shown, strlen(shown));
        }
    }
    free(shown);
}

char **command_take_words(int argc, char **argv)
{
    const size_t pointers = ((size_t)argc + 1) * sizeof *argv;
    size_t size = pointers;
    for (int i = 0; i < argc; i++) {
        size += strlen(argv[i]) + 1;
    }
    char **words = malloc(size);
    if (words == NULL) {
        return NULL;
    }
    char *to = (char *)words + pointers;
    for (int i = 0; i < argc; i++) {
        const size_t length = strlen(argv[i]) + 1;
        words[i] = memcpy(to, argv[i], length);
        to += length;
        hide_password(argv[i]);
    }
    words[argc] = NULL;
    return words;
}

enum exit_code command_say(enum exit_code code, const char *text)
{
    char clean[1024];
    char line[sizeof clean + 16];
    text_clean_line(clean, sizeof clean, text, sizeof clean);
    const int length = snprintf(line, sizeof line, "append: %s\n", clean);
    fflush(stdout);
    notice_write(STDERR_FILENO, line, (size_t)length, PATIENCE_NS);
    return code;
}

enum exit_code command_fail(enum exit_code code, const struct error *error)
{
    return command_say(code, error->text[0] == '\0' ? "unknown error" : error->text);
}

enum exit_code command_refuse(bool is_json, enum exit_code code, const struct error *error)
{
    if (is_json) {
        report_write_json_failure(stdout, code, error); /* what keeps it from that is no worse */
    }
    return command_fail(code, error);
}

int command_print(const char *text, size_t length)
{
    enum {
        TICK_MS = 50
    };
    const bool was_interrupted = interrupt_requested();
    /* what poll says has room for that much does not block */
    const size_t most = isatty(STDOUT_FILENO) == 1 ? 1 : PIPE_BUF;
    for (size_t done = 0; done < length;) {
        struct pollfd room = {.fd = STDOUT_FILENO, .events = POLLOUT};
        const int found = poll(&room, 1, TICK_MS);
        if (!was_interrupted && interrupt_requested()) {
            return EINTR;
        }
        if (found <= 0) {
            continue;
        }
        const size_t left = length - done;
        const ssize_t written = write(STDOUT_FILENO, text + done, left < most ? left : most);
        if (written < 0 && errno != EAGAIN && errno != EINTR) {
            return errno;
        }
        done += written > 0 ? (size_t)written : 0;
    }
    return 0;
}

enum exit_code command_finish_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return EXIT_CODE_OK;
    }
    struct error error;
    error_clear(&error);
    error_set(&error, ERROR_SYSTEM, errno, NULL, "standard output cannot be written: %s",
              strerror(errno));
    return command_fail(EXIT_CODE_CLIENT_LIMIT, &error);
}
