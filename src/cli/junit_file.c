#include "cli/junit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/junit.h"

enum exit_code junit_file_open(struct junit_file *file, bool may_wait, struct error *error)
{
    if (file->path == NULL || file->stream != NULL) {
        return EXIT_CODE_OK;
    }
    /* a pipe is not waited for, neither now nor at the end, when nobody may read it */
    struct stat about;
    const int fd = open(file->path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0666);
    const int number = errno;
    if (fd < 0 && may_wait && number == ENOENT) {
        return EXIT_CODE_OK;
    }
    const bool is_pipe =
        fd < 0 ? number == ENXIO : fstat(fd, &about) == 0 && S_ISFIFO(about.st_mode);
    file->stream = fd < 0 || is_pipe ? NULL : fdopen(fd, "w");
    if (file->stream != NULL) {
        return EXIT_CODE_OK;
    }
    error_set(error, ERROR_USAGE, is_pipe ? 0 : errno, NULL,
              "--junit '%.120s' cannot be written: %s", file->path,
              is_pipe ? "it is a pipe: give the name of a file" : strerror(errno));
    if (fd >= 0) {
        close(fd);
    }
    return EXIT_CODE_USAGE;
}

static int close_file(struct junit_file *file, bool is_written)
{
    int number = is_written ? 0 : errno;
    if (fclose(file->stream) != 0 && number == 0) {
        number = errno;
    }
    file->stream = NULL;
    return number;
}

void junit_file_write_error(struct junit_file *file, const struct plan *plan, enum exit_code code,
                            const char *why)
{
    if (file->stream != NULL) {
        /* an empty file is no valid one either, and the run has failed already */
        (void)close_file(file, junit_write_error(file->stream, plan, code, why));
    }
}

int junit_file_write(struct junit_file *file, const struct plan *plan, const struct result *result)
{
    return file->stream == NULL ? 0 : close_file(file, junit_write(file->stream, plan, result));
}

void junit_file_close(struct junit_file *file)
{
    if (file->stream != NULL) {
        fclose(file->stream);
        file->stream = NULL;
    }
}
