/* Values as SQLite keeps them: numbers, text, blobs; times and addresses are text. */
#include "adapters/sqlite_conn.h"

#include "base/value_text.h"

enum {
    FRACTION_DIGITS = 6
};

static int bind_text(sqlite3_stmt *statement, int parameter, const struct text_value *text)
{
    return sqlite3_bind_text(statement, parameter, text->length > 0 ? text->bytes : "",
                             (int)text->length, SQLITE_STATIC);
}

int sqlite_bind(sqlite3_stmt *statement, int parameter, const struct column *column,
                const struct column_data *data, size_t row)
{
    const union column_values values = data->values;
    char text[VALUE_TEXT_BYTES];

    if (data->is_null != NULL && data->is_null[row]) {
        return sqlite3_bind_null(statement, parameter);
    }
    switch (column->type) {
    case COLUMN_BOOL:
        return sqlite3_bind_int(statement, parameter, values.boolean[row] != 0);
    case COLUMN_INT16:
        return sqlite3_bind_int(statement, parameter, values.int16[row]);
    case COLUMN_INT32:
        return sqlite3_bind_int(statement, parameter, values.int32[row]);
    case COLUMN_INT64:
        return sqlite3_bind_int64(statement, parameter, values.int64[row]);
    case COLUMN_FLOAT32:
        return sqlite3_bind_double(statement, parameter, (double)values.float32[row]);
    case COLUMN_FLOAT64:
        return sqlite3_bind_double(statement, parameter, values.float64[row]);
    case COLUMN_BYTES:
        return sqlite3_bind_blob(statement, parameter,
                                 values.text[row].length > 0 ? values.text[row].bytes : "",
                                 (int)values.text[row].length, SQLITE_STATIC);
    case COLUMN_TEXT:
    case COLUMN_JSON:
        return bind_text(statement, parameter, &values.text[row]);
    default:
        /* decimals too: the column's affinity makes of them what it can hold without loss */
        return sqlite3_bind_text(statement, parameter, text,
                                 (int)value_text_write(text, column, values, row, FRACTION_DIGITS),
                                 SQLITE_TRANSIENT);
    }
}
