#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATH_BYTES = 4096,
    OPEN_FOLDERS = 16
};

int file_make_parents(const char *path)
{
    char prefix[PATH_BYTES];
    for (size_t i = 1; i < sizeof prefix && path[i] != '\0'; i++) {
        if (path[i] != '/' || path[i - 1] == '/') {
            continue;
        }
        if (path[i + strspn(path + i, "/")] == '\0') {
            break; /* only slashes follow: this is the folder itself */
        }
        memcpy(prefix, path, i);
        prefix[i] = '\0';
        if (mkdir(prefix, 0777) != 0 && errno != EEXIST) {
            return errno;
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

bool file_is_no_room(int number)
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
              path, is_other ? "this is no regular file" : strerror(number));
    return STATUS_REJECTED;
}

static int write_whole(int fd, const char *bytes, size_t length, bool is_durable)
{
    while (length > 0) {
        const ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno != EINTR) {
            return errno;
        }
        bytes += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return is_durable && fsync(fd) != 0 && errno != EINVAL && errno != EINTR ? errno : 0;
}

int file_replace(int folder, const char *path, const struct buffer *content, bool is_alone)
{
    char aside[PATH_BYTES], by[24] = "";
    if (!is_alone) {
        snprintf(by, sizeof by, ".%ld", (long)getpid());
    }
    if (buffer_failed(content)) {
        return ENOMEM;
    }
    if ((size_t)snprintf(aside, sizeof aside, "%s%s.part", path, by) >= sizeof aside) {
        return ENAMETOOLONG;
    }
    unlinkat(folder, aside, 0);
    const int fd =
        openat(folder, aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) {
        return errno;
    }
    int number = write_whole(fd, buffer_text(content), content->length, is_alone);
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
