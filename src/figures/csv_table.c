#include "figures/saved.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

enum {
    CELLS_FIRST = 256
};
#define FILE_BYTES_MAX (INT64_C(1) << 30)

enum status csv_table_parse(struct csv_table *table, const char *name, char *text,
                            struct error *error)
{
    *table = (struct csv_table){.text = text};
    /* `first` is the index of this row's first cell */
    size_t count = 0, room = 0, line = 1, first = 0;
    const char *what = NULL;
    for (char *at = text; *at != '\0' && what == NULL;) {
        char *const cell = at, *end = cell; /* quotes are removed in place */
        if (*cell == '"') {
            for (at++; *at != '\0' && (*at != '"' || at[1] == '"'); *end++ = *at++) {
                at += *at == '"' ? 1 : 0;
                line += *at == '\n' ? 1 : 0;
            }
            at += *at == '"' ? 1 : 0;
        } else {
            at += strcspn(at, ",\r\n");
            end = at;
        }
        const char next = *at;
        if (next == '\0' || (next == '\r' && at[1] == '\0')) {
            break; /* the file ends in the middle of this line, so the line is ignored */
        }
        if (next != ',' && next != '\n' && (next != '\r' || at[1] != '\n')) {
            what = next == '\r' ? "a line ends with a carriage return alone"
                                : "text follows a quoted cell";
            break;
        }
        if (count == room) {
            room = room == 0 ? CELLS_FIRST : 2 * room;
            char **cells = realloc(table->cells, room * sizeof *cells);
            if (cells == NULL) {
                error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for %s", name);
                csv_table_free(table);
                return STATUS_REJECTED;
            }
            table->cells = cells;
        }
        table->cells[count++] = cell;
        at += next == '\r' ? 2 : 1;
        *end = '\0';
        if (next != ',') {
            table->rows += table->columns > 0 ? 1 : 0;
            table->columns = table->columns > 0 ? table->columns : count;
            what = count - first == table->columns ? NULL
                                                   : "the row and the header have different "
                                                     "numbers of cells";
            first = count;
            line += what == NULL ? 1 : 0;
        }
    }
    what = what == NULL && table->columns == 0 ? "there is no header" : what;
    if (what != NULL) {
        error_set(error, ERROR_DATA, 0, NULL, "%s line %zu: %s", name, line, what);
        csv_table_free(table);
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

enum status csv_table_read(struct csv_table *table, const char *path, struct error *error)
{
    *table = (struct csv_table){0};
    FILE *file;
    struct stat about;
    if (file_open(path, &file, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    const bool is_small = fstat(fileno(file), &about) == 0 && about.st_size <= FILE_BYTES_MAX;
    char *text = is_small ? malloc((size_t)about.st_size + 1) : NULL;
    const size_t length = text == NULL ? 0 : fread(text, 1, (size_t)about.st_size, file);
    const int number = ferror(file) ? errno : 0;
    fclose(file);
    if (text != NULL) {
        text[length] = '\0';
    }
    if (!is_small) {
        error_set(error, ERROR_DATA, 0, NULL, "%s is larger than 1 GiB", path);
    } else if (text == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for %s", path);
    } else if (number != 0) {
        error_set(error, ERROR_SYSTEM, number, NULL, "%s: %s", path, strerror(number));
    } else if (strlen(text) != length) {
        error_set(error, ERROR_DATA, 0, NULL, "%s is not a text file: it has a NUL byte", path);
    } else if (csv_table_parse(table, path, text, error) == STATUS_OK) {
        return STATUS_OK;
    } else {
        text = NULL; /* csv_table_parse owned the text and has freed it */
    }
    free(text);
    return STATUS_REJECTED;
}

void csv_table_free(struct csv_table *table)
{
    free(table->text);
    free(table->cells);
    *table = (struct csv_table){0};
}

size_t csv_table_column(const struct csv_table *table, const char *name)
{
    size_t column = 0;
    while (column < table->columns && strcmp(table->cells[column], name) != 0) {
        column++;
    }
    return column;
}

const char *csv_table_text(const struct csv_table *table, size_t row, size_t column)
{
    const bool is_there = row < table->rows && column < table->columns;
    return is_there ? table->cells[(row + 1) * table->columns + column] : "";
}

bool csv_table_number(const struct csv_table *table, size_t row, size_t column, double *value)
{
    const char *text = csv_table_text(table, row, column);
    char *end;
    const double number = strtod(text, &end);
    const bool is_number = end != text && *end == '\0' && fabs(number) <= CSV_NUMBER_MAX;
    *value = is_number ? number : 0;
    return is_number;
}
