/*
 * Machbase through its client library: the append protocol, and count(*) by a prepared statement.
 */
#include "adapters/machbase.h"

#include "adapters/machbase_conn.h"

const struct adapter adapter_machbase = {
    .name = "machbase",
    .summary = "Machbase: append (vendor's library)",
    .flags = ADAPTER_ONE_DATABASE,
    .default_port = 5656,
    .identifier_quote = '\0', /* quoted, a name keeps its case, and tables have upper-case names */
    .stack_bytes = (size_t)256 * 1024,
    .files_per_session = 2, /* a socket, and while the library waits at it, its epoll instance */
    .load = machbase_load,
    .unload = machbase_unload,
    .client_version = machbase_library_text,
    .recognise = machbase_recognise,
    .open = machbase_open,
    .close = machbase_close,
    .interrupt = machbase_interrupt,
    .inspect = machbase_inspect,
    .execute = machbase_execute,
    .describe = machbase_describe,
    .append_open = machbase_append_open,
    .append_rows = machbase_append_rows,
    .append_close = machbase_append_close,
    .count = machbase_count,
    .query = machbase_query,
    .read_numbers = machbase_read_numbers,
    .server_limits = machbase_server_limits,
};
