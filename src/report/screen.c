#include "report/screen.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

void screen_add(FILE *stream, const char *format, ...)
{
    char text[SCREEN_TEXT_BYTES];
    char line[SCREEN_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    text_clean_line(line, sizeof line, text, SCREEN_TEXT_BYTES);
    fprintf(stream, "%s\n", line);
}

/* Returns the length of the first line of `text`, in bytes. The line ends at the last blank that
 * fits and does not separate a number from its unit; if no blank fits, the line is the first
 * word. */
static size_t break_text(const char *text, unsigned columns)
{
    const size_t fitting = text_fit(text, columns);
    if (text[fitting] == '\0') {
        return fitting;
    }
    for (size_t i = fitting + 1; i > 1; i--) {
        const char before = text[i - 2], next = text[i];
        const bool is_unit = before >= '0' && before <= '9' && next >= 'a' && next <= 'z';
        if (text[i - 1] == ' ' && !is_unit) {
            return i - 1;
        }
    }
    return strcspn(text, " ");
}

void screen_add_wrapped(FILE *stream, const char *label, unsigned column, const char *text)
{
    char clean[SCREEN_TEXT_BYTES];
    text_clean_line(clean, sizeof clean, text, SCREEN_TEXT_BYTES);
    const char *rest = clean;
    unsigned used = text_width(label);
    do {
        used = used > column ? used : column;
        const size_t length = break_text(rest, used < SCREEN_COLUMNS ? SCREEN_COLUMNS - used : 0);
        fprintf(stream, "%-*s%.*s\n", (int)column, rest == clean ? label : "", (int)length, rest);
        rest += length;
        rest += strspn(rest, " ");
        used = 0;
    } while (*rest != '\0');
}

void screen_add_files(FILE *stream, const char *folder)
{
    char clean[SCREEN_TEXT_BYTES];
    text_clean_line(clean, sizeof clean, folder, SCREEN_TEXT_BYTES);
    const bool is_gone = access(folder, F_OK) != 0 && errno == ENOENT;
    fprintf(stream, "%-*s%s%s\n", SCREEN_LABEL_COLUMNS, "Files", is_gone ? "gone: " : "", clean);
}
