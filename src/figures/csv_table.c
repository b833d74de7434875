#include "figures/csv_table.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "figures/figures.h"

enum {
    CELLS_FIRST = 256
};
#define FILE_BYTES_MAX (INT64_C(1) << 30)

struct reader {
    struct csv_table *table;
    const char *name;
    size_t count; /* cells so far, those of the row that is read included */
    size_t room;
    size_t line;
};

static enum status refuse(const struct reader *reader, const char *what, struct error *error)
{
    error_set(error, ERROR_DATA, 0, NULL, "%s line %zu: %s", reader->name, reader->line, what);
    return STATUS_REJECTED;
}

static bool add_cell(struct reader *reader, char *cell)
{
    if (reader->count == reader->room) {
        const size_t room = reader->room == 0 ? CELLS_FIRST : 2 * reader->room;
        char **cells = realloc(reader->table->cells, room * sizeof *cells);
        if (cells == NULL) {
            return false;
        }
        reader->table->cells = cells;
        reader->room = room;
    }
    reader->table->cells[reader->count++] = cell;
    return true;
}

/* Takes the quotes off a cell in place. Returns what follows it; NULL: it is not closed. */
static char *unquote(struct reader *reader, char *cell)
{
    char *to = cell;
    char *from = cell + 1;
    while (*from != '\0' && (*from != '"' || from[1] == '"')) {
        from += *from == '"' ? 1 : 0;
        reader->line += *from == '\n' ? 1 : 0;
        *to++ = *from++;
    }
    if (*from == '\0') {
        return NULL;
    }
    *to = '\0';
    return from + 1;
}

/* Ends a finished row: the first is the header. */
static enum status end_row(struct reader *reader, size_t first, struct error *error)
{
    struct csv_table *table = reader->table;
    const size_t cells = reader->count - first;
    reader->line++;
    if (table->columns == 0) {
        table->columns = cells;
    } else if (cells != table->columns) {
        reader->line--;
        return refuse(reader, "it has not as many cells as the header", error);
    } else {
        table->rows++;
    }
    return STATUS_OK;
}

static enum status read_rows(struct reader *reader, char *at, struct error *error)
{
    while (*at != '\0') {
        const size_t first = reader->count;
        bool is_ended = false;
        while (!is_ended) {
            char *cell = at;
            at = *cell == '"' ? unquote(reader, cell) : cell + strcspn(cell, ",\r\n");
            if (at == NULL || *at == '\0' || (*at == '\r' && at[1] == '\0')) {
                reader->count = first; /* the file ends in the middle of this line */
                return STATUS_OK;
            }
            if (*at != ',' && *at != '\n' && (*at != '\r' || at[1] != '\n')) {
                return refuse(reader, "text follows a quoted cell", error);
            }
            if (!add_cell(reader, cell)) {
                error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for %s", reader->name);
                return STATUS_REJECTED;
            }
            is_ended = *at != ',';
            char *const end = at;
            at += *at == '\r' ? 2 : 1;
            *end = '\0';
        }
        if (end_row(reader, first, error) != STATUS_OK) {
            return STATUS_REJECTED;
        }
    }
    return STATUS_OK;
}

enum status csv_table_parse(struct csv_table *table, const char *name, char *text,
                            struct error *error)
{
    *table = (struct csv_table){.text = text};
    struct reader reader = {.table = table, .name = name, .line = 1};
    enum status status = read_rows(&reader, text, error);
    if (status == STATUS_OK && table->columns == 0) {
        status = refuse(&reader, "there is no header", error);
    }
    if (status != STATUS_OK) {
        csv_table_free(table);
    }
    return status;
}

static char *read_text(FILE *file, const char *path, struct error *error)
{
    struct stat about;
    if (fstat(fileno(file), &about) != 0 || about.st_size > FILE_BYTES_MAX) {
        error_set(error, ERROR_DATA, 0, NULL, "%s is larger than 1 GiB", path);
        return NULL;
    }
    char *text = malloc((size_t)about.st_size + 1);
    if (text == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for %s", path);
        return NULL;
    }
    const size_t length = fread(text, 1, (size_t)about.st_size, file);
    text[length] = '\0';
    if (ferror(file)) {
        error_set(error, ERROR_SYSTEM, errno, NULL, "%s: %s", path, strerror(errno));
    } else if (strlen(text) != length) {
        error_set(error, ERROR_DATA, 0, NULL, "%s is no text: it has a NUL byte", path);
    } else {
        return text;
    }
    free(text);
    return NULL;
}

enum status csv_table_read(struct csv_table *table, const char *path, struct error *error)
{
    *table = (struct csv_table){0};
    FILE *file;
    if (file_open(path, &file, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    char *text = read_text(file, path, error);
    fclose(file);
    if (text == NULL || csv_table_parse(table, path, text, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    for (size_t i = 0; i < table->columns; i++) {
        figure_modernise(table->cells[i]);
    }
    return STATUS_OK;
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
    *value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*value);
}
