#include "report/screen.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "report/clean.h"

enum {
    LINES_MAX = sizeof((struct screen *)0)->lines / SCREEN_LINE_BYTES
};

void screen_init(struct screen *screen)
{
    screen->count = 0;
    screen->blanks = 0;
}

static void add_text(struct screen *screen, const char *text)
{
    if (screen->count < LINES_MAX) {
        clean_line(screen->lines[screen->count], SCREEN_LINE_BYTES, text, SCREEN_COLUMNS);
        screen->count++;
    }
}

void screen_add(struct screen *screen, const char *format, ...)
{
    char text[SCREEN_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    add_text(screen, text);
}

void screen_add_blank(struct screen *screen)
{
    add_text(screen, "");
    screen->blanks++;
}

/* Bytes of `text` that go on one line: up to the last blank that fits, or what fits. */
static size_t break_text(const char *text, unsigned columns)
{
    const size_t fitting = clean_fit(text, columns);
    if (text[fitting] == '\0' || text[fitting] == ' ') {
        return fitting;
    }
    for (size_t i = fitting; i > 0; i--) {
        if (text[i - 1] == ' ') {
            return i - 1;
        }
    }
    return fitting;
}

void screen_add_wrapped(struct screen *screen, const char *label, unsigned column, size_t lines,
                        const char *text)
{
    char clean[SCREEN_TEXT_BYTES];
    clean_line(clean, sizeof clean, text, SCREEN_TEXT_BYTES);
    const char *rest = clean;
    for (size_t line = 0; line < lines; line++) {
        const bool is_last = line + 1 == lines;
        const size_t length = is_last ? strlen(rest) : break_text(rest, SCREEN_COLUMNS - column);
        screen_add(screen, "%-*s%.*s", (int)column, line == 0 ? label : "", (int)length, rest);
        rest += length;
        rest += strspn(rest, " ");
        if (*rest == '\0') {
            break;
        }
    }
}

void screen_write(const struct screen *screen, FILE *stream)
{
    const bool is_crowded = screen->count > SCREEN_LINES;
    size_t shown = 0;
    for (size_t i = 0; i < screen->count && shown < SCREEN_LINES; i++) {
        if (is_crowded && screen->lines[i][0] == '\0') {
            continue;
        }
        fprintf(stream, "%s\n", screen->lines[i]);
        shown++;
    }
}
