#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "report/clean.h"

enum exit_code command_say(enum exit_code code, const char *text)
{
    char clean[1024];
    clean_line(clean, sizeof clean, text, sizeof clean);
    fflush(stdout);
    fprintf(stderr, "append: %s\n", clean);
    return code;
}

enum exit_code command_fail(enum exit_code code, const struct error *error)
{
    return command_say(code, error->text[0] == '\0' ? "unknown error" : error->text);
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
