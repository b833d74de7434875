/* From SQLite's result codes to struct error. */
#include "adapters/sqlite_conn.h"

#include <string.h>

struct meaning {
    int code; /* primary result code */
    enum status status;
    enum error_kind kind;
};

static const struct meaning meanings[] = {
    {SQLITE_BUSY, STATUS_REJECTED, ERROR_BUSY},
    {SQLITE_LOCKED, STATUS_REJECTED, ERROR_BUSY},
    {SQLITE_CONSTRAINT, STATUS_REJECTED, ERROR_DATA},
    {SQLITE_MISMATCH, STATUS_REJECTED, ERROR_DATA},
    {SQLITE_TOOBIG, STATUS_REJECTED, ERROR_DATA},
    {SQLITE_FULL, STATUS_REJECTED, ERROR_SERVER},
    {SQLITE_IOERR, STATUS_REJECTED, ERROR_SERVER},
    {SQLITE_INTERRUPT, STATUS_LOST, ERROR_CONNECTION},
    {SQLITE_CORRUPT, STATUS_FATAL, ERROR_SERVER},
    {SQLITE_NOTADB, STATUS_FATAL, ERROR_UNSUPPORTED},
    {SQLITE_CANTOPEN, STATUS_FATAL, ERROR_NOT_FOUND},
    {SQLITE_READONLY, STATUS_FATAL, ERROR_AUTH},
    {SQLITE_PERM, STATUS_FATAL, ERROR_AUTH},
    {SQLITE_AUTH, STATUS_FATAL, ERROR_AUTH},
    {SQLITE_NOMEM, STATUS_FATAL, ERROR_MEMORY},
};

enum status sqlite_call_error(sqlite3 *database, int code, struct error *error)
{
    static const char missing[] = "no such ";
    static const char column[] = " has no column named ";
    const char *text = database != NULL ? sqlite3_errmsg(database) : sqlite3_errstr(code);

    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        if (meanings[i].code == (code & 0xff)) {
            error_set(error, meanings[i].kind, code, NULL, "%s", text);
            return meanings[i].status;
        }
    }
    /* SQLITE_ERROR is everything else; only the text tells what is missing. */
    if (strncmp(text, missing, sizeof missing - 1) == 0 || strstr(text, column) != NULL) {
        error_set(error, ERROR_NOT_FOUND, code, NULL, "%s", text);
        return STATUS_FATAL;
    }
    error_set(error, ERROR_SERVER, code, NULL, "%s", text);
    return STATUS_REJECTED;
}
