/*
 * Any database through ODBC: one prepared INSERT, executed with arrays of parameters.
 *
 * append_open costs nothing; the transaction begins with the first rows, and append_close ends it.
 */
#include "adapters/odbc.h"

#include <stdio.h>

#include "adapters/odbc_conn.h"

static const char *const methods[] = {"array", "insert", "row", NULL};

/* The version that it was built with. A driver's own is in the server's version. */
static void client_version(char *text, size_t size)
{
    snprintf(text, size, "unixODBC %s", APPEND_ODBC_VERSION);
}

const struct adapter adapter_odbc = {
    .name = "odbc",
    .summary = "an ODBC driver: array, insert, row",
    .flags = ADAPTER_STRING,
    .identifier_quote = '"',
    .stack_bytes = (size_t)512 * 1024,
    .files_per_session = 3, /* a socket, or SQLite's database, log and index of the log */
    .methods = methods,
    .client_version = client_version,
    .open = odbc_open,
    .close = odbc_close,
    .interrupt = odbc_interrupt,
    .inspect = odbc_inspect,
    .execute = odbc_execute,
    .describe = odbc_describe,
    .append_open = odbc_append_open,
    .append_rows = odbc_append_rows,
    .append_close = odbc_append_close,
    .count = odbc_count,
    .query = odbc_query,
    .read_numbers = odbc_read_numbers,
    .server_limits = odbc_server_limits,
};
