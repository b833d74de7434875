/*
 * The DDL that is built into the program: schemas/NAME/DATABASE.sql, one table for each database.
 * The table itself is written by the build (see cmake/).
 */
#ifndef PLAN_SCHEMA_H
#define PLAN_SCHEMA_H

struct schema_text {
    const char *schema;   /* folder: "syslog" */
    const char *database; /* file: the adapter's name */
    const char *sql;
};

/* Ends with an entry whose schema is NULL. */
extern const struct schema_text schema_texts[];

/* The DDL of a schema for a database; NULL when there is none. */
const char *schema_find(const char *schema, const char *database);

#endif
