/*
 * Text for people on standard error while the program works: progress, notes, and why it ended.
 *
 * Nobody may read it: a full pipe, a terminal stopped by Ctrl-S. So nothing here waits longer than
 * the caller allows, and what cannot be written by then is dropped. One thread at a time for a
 * struct notice; notice_write may be called from any thread and from a signal handler.
 */
#ifndef BASE_NOTICE_H
#define BASE_NOTICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line that is rewritten on a terminal, and plain lines elsewhere. */
struct notice {
    int fd;
    bool is_terminal;
    bool is_open; /* a line stands on the terminal without its end */
};

/* Writes `text`, waiting up to `patience_ns` for room. False: not all of it was written. */
bool notice_write(int fd, const char *text, size_t length, int64_t patience_ns);

/* A line on standard error; the line break is added. Dropped when it cannot be written at once. */
void notice_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

void notice_init(struct notice *notice, int fd);

/* How wide a line on the terminal can be; of no terminal 0. */
unsigned notice_columns(const struct notice *notice);

/* Shows `line`, which is clean and fits: in place of the one before on a terminal. */
void notice_show(struct notice *notice, const char *line);

/* A line that stays. */
void notice_keep(struct notice *notice, const char *line);

/* Takes the rewritten line away. */
void notice_end(struct notice *notice);

#endif
