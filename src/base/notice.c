#include "base/notice.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mono.h"

enum {
    LINE_BYTES = 2048,
    DEFAULT_COLUMNS = 80
};

static bool wait_for_room(int fd, int64_t deadline_ns)
{
    for (;;) {
        struct pollfd room = {.fd = fd, .events = POLLOUT};
        const int64_t left_ns = deadline_ns - mono_now_ns();
        const int found = poll(&room, 1, left_ns > 0 ? (int)(left_ns / MONO_NS_PER_MS) + 1 : 0);
        if (found >= 0 || errno != EINTR || left_ns <= 0) {
            return found > 0 && (room.revents & POLLOUT) != 0;
        }
    }
}

bool notice_write(int fd, const char *text, size_t length, int64_t patience_ns)
{
    const int number = errno;
    const int64_t deadline_ns = mono_now_ns() + patience_ns;
    struct stat about = {.st_mode = 0};
    fstat(fd, &about);
    /* a description of its own of the same pipe or terminal, which may be non-blocking without
     * making those of other programs so */
    const bool can_block = S_ISFIFO(about.st_mode) || S_ISCHR(about.st_mode);
    const int own = can_block && fd == STDERR_FILENO
                        ? open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                        : -1;
    /* a terminal that may not be opened, another account's, is known to have room for one byte */
    const size_t most = own < 0 && S_ISCHR(about.st_mode) ? 1 : length;
    size_t done = 0;
    while (done < length && wait_for_room(own < 0 ? fd : own, deadline_ns)) {
        const size_t left = length - done;
        const ssize_t written = write(own < 0 ? fd : own, text + done, left < most ? left : most);
        if (written < 0 && (errno != EAGAIN || mono_now_ns() >= deadline_ns)) {
            break;
        }
        done += written > 0 ? (size_t)written : 0;
    }
    if (own >= 0) {
        close(own);
    }
    errno = number;
    return done == length;
}

void notice_print(const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    struct notice notice = {.fd = STDERR_FILENO};
    notice_keep(&notice, line);
}

void notice_init(struct notice *notice, int fd)
{
    const char *terminal = getenv("TERM");
    const bool is_dumb = terminal != NULL && strcmp(terminal, "dumb") == 0;
    *notice = (struct notice){.fd = fd, .is_terminal = !is_dumb && isatty(fd) == 1};
}

unsigned notice_columns(const struct notice *notice)
{
    struct winsize size;
    if (!notice->is_terminal) {
        return 0;
    }
    const bool is_known = ioctl(notice->fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    /* the last column stays free: a terminal may wrap after a character in it */
    return !is_known ? DEFAULT_COLUMNS - 1 : size.ws_col > 1 ? size.ws_col - 1U : 1;
}

/* In one call, so that what others write stands before or behind it. */
static void write_line(const struct notice *notice, const char *before, const char *line,
                       const char *after)
{
    char text[LINE_BYTES + 8];
    int length = snprintf(text, sizeof text, "%s%.*s%s", before, LINE_BYTES - 1, line, after);
    notice_write(notice->fd, text, (size_t)length, 0);
}

void notice_show(struct notice *notice, const char *line)
{
    if (notice->is_terminal) {
        write_line(notice, "\r", line, "\x1b[K");
        notice->is_open = true;
    } else {
        notice_keep(notice, line);
    }
}

void notice_keep(struct notice *notice, const char *line)
{
    write_line(notice, notice->is_open ? "\r\x1b[K" : "", line, "\n");
    notice->is_open = false;
}

void notice_end(struct notice *notice)
{
    if (notice->is_open) {
        write_line(notice, "\r", "", "\x1b[K");
        notice->is_open = false;
    }
}
