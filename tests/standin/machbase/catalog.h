/*
 * Tables that describe the server. Names of tables and columns are a real server's [src]; of its
 * columns these are the ones that clients ask for.
 *
 *     M$SYS_TABLES   NAME, TYPE, DATABASE_ID, ID, USER_ID, COLCOUNT, FLAG
 *     M$SYS_COLUMNS  NAME, TYPE, DATABASE_ID, ID, LENGTH, TABLE_ID, FLAG; with the hidden columns
 *                    _ARRIVAL_TIME (ID 0) and _RID (ID 65534)
 *     V$PROPERTY     NAME, VALUE: MAX_SESSION_COUNT
 *     V$SESSION      ID, CLOSED, USER_NAME: one row a session that is logged in
 *     V$VERSION      BINARY_DB_MAJOR_VERSION, BINARY_DB_MINOR_VERSION, BINARY_SIGNATURE
 */
#ifndef MACHBASE_STANDIN_CATALOG_H
#define MACHBASE_STANDIN_CATALOG_H

#include <stdbool.h>

#include "server.h"

/* Does a name (upper case) belong to this part? */
bool catalog_is_name(const char *name);

/* The table of that name with what holds now, held by the caller only; NULL = none, or no memory.
 */
struct store_table *catalog_make(struct server *server, const char *name);

#endif
