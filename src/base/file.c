#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATH_BYTES = 4096,
    OPEN_FOLDERS = 16
};

bool file_find_module(const char *name, char *path, size_t size)
{
    static const char *const places[] = {"", "/" APPEND_MODULE_FOLDER};
    char program[PATH_BYTES];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    char *const slash = strrchr(program, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        if (snprintf(path, size, "%s%s/%s", program, places[i], name) < (int)size &&
            access(path, F_OK) == 0) {
            return true;
        }
    }
    snprintf(path, size, "%s", program);
    return false;
}

int file_make_parents(const char *path)
{
    char prefix[PATH_BYTES];
    for (size_t i = 1; i < sizeof prefix && path[i] != '\0'; i++) {
        /* if only slashes follow, the prefix is the whole path, not a parent */
        if (path[i] == '/' && path[i - 1] != '/' && path[i + strspn(path + i, "/")] != '\0') {
            snprintf(prefix, i + 1, "%s", path);
            if (mkdir(prefix, 0777) != 0 && errno != EEXIST) {
                return errno;
            }
        }
    }
    return 0;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about;
    (void)kind;
    (void)place;
    return remove(path) == 0 ? 0 : errno;
}

int file_remove_folder(const char *path)
{
    const int number = nftw(path, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    if (number >= 0) {
        return number;
    }
    return errno == ENOENT ? 0 : errno;
}

bool file_is_out_of_resources(int number)
{
    return number == ENOSPC || number == EDQUOT || number == EFBIG || number == EMFILE ||
           number == ENFILE || number == ENOMEM;
}

bool file_is_special(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISLNK(about.st_mode) &&
           !S_ISDIR(about.st_mode);
}

enum status file_open(const char *path, FILE **file, struct error *error)
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const bool is_other = fd >= 0 && fstat(fd, &about) == 0 && !S_ISREG(about.st_mode);
    *file = fd < 0 || is_other ? NULL : fdopen(fd, "r");
    if (*file != NULL) {
        return STATUS_OK;
    }
    const int number = errno;
    if (fd >= 0) {
        close(fd);
    }
    error_set(error, is_other ? ERROR_DATA : ERROR_SYSTEM, is_other ? 0 : number, NULL, "%s: %s",
              path, is_other ? "this is not a regular file" : strerror(number));
    return STATUS_REJECTED;
}

int file_replace(int folder, const char *path, const struct buffer *content, bool is_alone)
{
    char aside[PATH_BYTES], by[24];
    snprintf(by, sizeof by, ".%ld", (long)getpid());
    const int length = snprintf(aside, sizeof aside, "%s%s.part", path, is_alone ? "" : by);
    if (buffer_failed(content) || (size_t)length >= sizeof aside) {
        return buffer_failed(content) ? ENOMEM : ENAMETOOLONG;
    }
    unlinkat(folder, aside, 0);
    const int fd =
        openat(folder, aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) {
        return errno;
    }
    int number = 0;
    for (size_t done = 0; done < content->length && number == 0;) {
        const ssize_t written = write(fd, content->bytes + done, content->length - done);
        done += written > 0 ? (size_t)written : 0;
        number = written < 0 && errno != EINTR ? errno : 0;
    }
    if (number == 0 && is_alone && fsync(fd) != 0 && errno != EINVAL && errno != EINTR) {
        number = errno;
    }
    if (close(fd) != 0 && number == 0 && errno != EINTR) {
        number = errno;
    }
    if (number == 0 && renameat(folder, aside, folder, path) != 0) {
        number = errno;
    }
    if (number != 0) {
        unlinkat(folder, aside, 0);
    }
    return number;
}
