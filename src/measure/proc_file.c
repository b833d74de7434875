#include "measure/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum {
    SMALL_FILE_BYTES = 1024,
    PATH_BYTES = 64
};

int proc_file_open_root(void)
{
    return open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static ssize_t read_again(int file, char *bytes, size_t size)
{
    ssize_t length;
    do {
        length = read(file, bytes, size);
    } while (length < 0 && errno == EINTR);
    return length;
}

ssize_t proc_file_read(int directory, const char *path, char *bytes, size_t size)
{
    const int file = openat(directory, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return -1;
    }
    const ssize_t length = read_again(file, bytes, size);
    const int reason = errno;
    close(file);
    errno = reason;
    return length;
}

bool proc_file_load(int directory, const char *path, struct buffer *buffer)
{
    buffer_clear(buffer);
    const int file = openat(directory, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    char chunk[16384];
    ssize_t length;
    while ((length = read_again(file, chunk, sizeof(chunk))) > 0) {
        buffer_add(buffer, chunk, (size_t)length);
    }
    const int reason = errno;
    close(file);
    errno = buffer_failed(buffer) ? ENOMEM : reason;
    return length == 0 && !buffer_failed(buffer);
}

bool proc_file_process(int proc, pid_t pid, struct procfs_process *process)
{
    char path[PATH_BYTES];
    char text[SMALL_FILE_BYTES];
    snprintf(path, sizeof(path), "%d/stat", (int)pid);
    const ssize_t length = proc_file_read(proc, path, text, sizeof(text));
    if (length < 0) {
        return false;
    }
    if (!procfs_parse_process(text, (size_t)length, process)) {
        errno = ESRCH;
        return false;
    }
    return true;
}

size_t proc_file_own_rss_bytes(int proc)
{
    char text[SMALL_FILE_BYTES];
    struct procfs_statm statm;
    const ssize_t length = proc_file_read(proc, "self/statm", text, sizeof(text));
    if (length < 0 || !procfs_parse_statm(text, (size_t)length, &statm)) {
        return 0;
    }
    return (size_t)statm.resident_pages * (size_t)sysconf(_SC_PAGESIZE);
}

uint64_t proc_file_own_peak_bytes(int proc)
{
    char text[4 * SMALL_FILE_BYTES];
    uint64_t peak_bytes = 0;
    const ssize_t length = proc_file_read(proc, "self/status", text, sizeof(text));
    return length >= 0 && procfs_parse_peak(text, (size_t)length, &peak_bytes) ? peak_bytes : 0;
}
