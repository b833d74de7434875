#include "base/folder.h"

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

int folder_make_parents(const char *path)
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

int folder_remove(const char *path)
{
    const int number = nftw(path, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    if (number >= 0) {
        return number;
    }
    return errno == ENOENT ? 0 : errno;
}

bool folder_is_no_room(int number)
{
    return number == ENOSPC || number == EDQUOT || number == EFBIG || number == EMFILE ||
           number == ENFILE || number == ENOMEM;
}

bool folder_is_special(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISLNK(about.st_mode) &&
           !S_ISDIR(about.st_mode);
}

enum status folder_open_file(const char *path, FILE **file, struct error *error)
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
