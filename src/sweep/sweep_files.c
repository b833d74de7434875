#include "sweep/sweep_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "sweep/sweep_csv.h"
#include "sweep/sweep_json.h"

enum {
    FILE_ALL,
    FILE_TABLE, /* and the other three */
    FILE_JSON = FILE_TABLE + SWEEP_FIGURES,
    FILES
};

static const char *file_name(int file)
{
    return file == FILE_ALL    ? "sweep.csv"
           : file == FILE_JSON ? "sweep.json"
                               : sweep_figures[file - FILE_TABLE].file;
}

static enum exit_code fail(struct error *error, int number, const char *what, const char *path)
{
    char text[128];
    const char *reason = strerror_r(number, text, sizeof text);
    if (number == EEXIST) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "output folder '%.130s' exists already: name another with --out, or go on with "
                  "its sweep with --resume",
                  path);
        return EXIT_CODE_USAGE;
    }
    error_set(error, ERROR_SYSTEM, number, NULL, "cannot %s '%.150s': %s", what, path, reason);
    return folder_is_no_room(number) ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_USAGE;
}

static bool write_content(struct sweep_files *files, FILE *stream, int file,
                          const struct sweep *sweep, const char *state)
{
    if (file == FILE_JSON) {
        return sweep_json_write(stream, sweep, state);
    }
    if (file == FILE_ALL) {
        sweep_csv_write_all(stream, sweep, &files->columns);
    } else {
        sweep_csv_write_table(stream, sweep, sweep_figures[file - FILE_TABLE].column);
    }
    return true;
}

/* Returns 0 or errno. */
static int replace_file(struct sweep_files *files, int file, const struct sweep *sweep,
                        const char *state)
{
    char part[64];
    snprintf(part, sizeof part, "%s.part", file_name(file));
    unlinkat(files->folder, part, 0); /* of a program that was killed, or a pipe without a reader */
    /* --resume runs what sweep.json says: nobody else may write to it, whatever the umask */
    const int fd =
        openat(files->folder, part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    FILE *stream = fd < 0 ? NULL : fdopen(fd, "w");
    int number = stream == NULL ? errno : 0;
    if (stream == NULL && fd >= 0) {
        close(fd);
    }
    if (stream != NULL) {
        errno = 0;
        const bool is_written = write_content(files, stream, file, sweep, state);
        if (fflush(stream) != 0 || ferror(stream) != 0 || !is_written) {
            number = errno != 0 ? errno : EIO;
        } else if (fsync(fd) != 0 && errno != EINVAL && errno != EINTR) {
            number = errno;
        }
        if (fclose(stream) != 0 && number == 0) {
            number = errno;
        }
    }
    if (number == 0 && renameat(files->folder, part, files->folder, file_name(file)) != 0) {
        number = errno;
    }
    if (number != 0) {
        unlinkat(files->folder, part, 0);
    }
    return number;
}

enum exit_code sweep_files_write(struct sweep_files *files, const struct sweep *sweep,
                                 const char *state, struct error *error)
{
    for (int file = 0; file < FILES; file++) {
        const int number = replace_file(files, file, sweep, state);
        if (number != 0) {
            char path[SWEEP_PATH_BYTES];
            snprintf(path, sizeof path, "%s/%s", sweep->folder, file_name(file));
            fail(error, number, "write", path);
            return EXIT_CODE_CLIENT_LIMIT;
        }
    }
    return EXIT_CODE_OK;
}

enum exit_code sweep_files_set_columns(struct sweep_files *files, const struct adapter *adapter,
                                       struct error *error)
{
    return sweep_csv_columns(&files->columns, adapter, error) == STATUS_OK ? EXIT_CODE_OK
                                                                           : EXIT_CODE_CLIENT_LIMIT;
}

enum exit_code sweep_files_open(struct sweep_files *files, const char *folder, struct error *error)
{
    *files = (struct sweep_files){.folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (files->folder < 0) {
        return fail(error, errno, "open output folder", folder);
    }
    if (flock(files->folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "another append sweep is at work in '%.160s', or a run that it left behind",
                  folder);
        sweep_files_close(files);
        return EXIT_CODE_USAGE;
    }
    return EXIT_CODE_OK;
}

enum exit_code sweep_files_create(struct sweep_files *files, const struct sweep *sweep,
                                  const struct adapter *adapter, struct error *error)
{
    *files = (struct sweep_files){.folder = -1};
    int number = folder_make_parents(sweep->folder);
    if (number == 0 && mkdir(sweep->folder, 0777) != 0) {
        number = errno;
    }
    if (number != 0) {
        return fail(error, number, "make output folder", sweep->folder);
    }
    enum exit_code code = sweep_files_open(files, sweep->folder, error);
    if (code == EXIT_CODE_OK) {
        code = sweep_files_set_columns(files, adapter, error);
    }
    if (code == EXIT_CODE_OK) {
        code = sweep_files_write(files, sweep, "running", error);
    }
    if (code != EXIT_CODE_OK) {
        for (int file = 0; file < FILES && files->folder >= 0; file++) {
            unlinkat(files->folder, file_name(file), 0);
        }
        rmdir(sweep->folder);
        sweep_files_close(files);
    }
    return code;
}

void sweep_files_close(struct sweep_files *files)
{
    csv_table_free(&files->columns);
    if (files->folder >= 0) {
        close(files->folder);
    }
    files->folder = -1;
}
