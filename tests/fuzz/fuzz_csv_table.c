/* CSV files that the program reads. An accepted table is complete. If its cells are written again,
 * the same table is read. */
#include "fuzz/fuzz.h"

#include "base/text.h"
#include "figures/saved.h"

static size_t count_cells(const struct csv_table *table)
{
    return (table->rows + 1) * table->columns;
}

/* Writes the table with every cell in quotes. The caller frees the text. */
static char *write_table(const struct csv_table *table)
{
    struct buffer text = {0};
    for (size_t i = 0; i < count_cells(table); i++) {
        buffer_add_text(&text, "\"");
        for (const char *at = table->cells[i]; *at != '\0'; at++) {
            buffer_add_format(&text, "%s%c", *at == '"' ? "\"" : "", *at);
        }
        buffer_add_text(&text, (i + 1) % table->columns == 0 ? "\"\n" : "\",");
    }
    fuzz_require(!buffer_failed(&text), "there is memory for a table");
    char *copy = strdup(buffer_text(&text));
    buffer_fini(&text);
    fuzz_require(copy != NULL, "there is memory for a table");
    return copy;
}

static void check_cells(const struct csv_table *table, size_t size)
{
    fuzz_require(table->columns > 0, "a table has columns");
    for (size_t row = 0; row <= table->rows; row++) {
        for (size_t column = 0; column <= table->columns; column++) {
            double value;
            const char *cell = csv_table_text(table, row, column);
            const bool is_there = row < table->rows && column < table->columns;
            fuzz_require(is_there ? cell >= table->text && cell <= table->text + size
                                  : cell[0] == '\0',
                         "a cell is a part of the file");
            fuzz_require(!csv_table_number(table, row, column, &value) || cell[0] != '\0',
                         "an empty cell is not a number");
        }
    }
    for (size_t column = 0; column < table->columns; column++) {
        fuzz_require(csv_table_column(table, table->cells[column]) <= column,
                     "a column is found by its name");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct csv_table table, again;
    struct error error = {0};
    if (csv_table_parse(&table, "a.csv", fuzz_text(data, size), &error) != STATUS_OK) {
        fuzz_require(error.kind == ERROR_DATA && error.text[0] != '\0',
                     "a refused table has an error");
        fuzz_require(table.text == NULL && table.cells == NULL,
                     "nothing of a refused table is kept");
        return 0;
    }
    check_cells(&table, size);
    fuzz_require(csv_table_parse(&again, "b.csv", write_table(&table), &error) == STATUS_OK &&
                     again.columns == table.columns && again.rows == table.rows,
                 "a table is read as it was written");
    for (size_t i = 0; i < count_cells(&table); i++) {
        fuzz_require(strcmp(table.cells[i], again.cells[i]) == 0, "a cell is as it was written");
    }
    csv_table_free(&table);
    csv_table_free(&again);
    return 0;
}
