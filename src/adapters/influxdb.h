/*
 * What the files of InfluxDB and QuestDB share. A connection belongs to one session's thread.
 */
#ifndef ADAPTERS_INFLUXDB_H
#define ADAPTERS_INFLUXDB_H

#include "adapters/http.h"

/* column.native_type: where a value stands in a line. */
enum influxdb_place {
    INFLUXDB_FIELD,
    INFLUXDB_TAG,
    INFLUXDB_TIME
};

/* Rows in the line protocol: "table,tag=x field=1i,other="text" time". */
struct influxdb_lines {
    bool is_questdb;
    const struct table *table;   /* for which the rest was made; NULL: none is */
    struct buffer names;         /* of the table and its columns, in their order in a line, each
                                    behind its length; owned */
    const struct column *serial; /* n3, where it makes the time unique; NULL: nothing does */
    struct buffer text;          /* owned */
    uint64_t rows;               /* in it */
};

/* Begins with rows of a table. A name that the protocol cannot write: FATAL. */
enum status influxdb_lines_begin(struct influxdb_lines *lines, const struct table *table,
                                 struct error *error);

/* Adds rows. A tag's value that the protocol cannot write: REJECTED. */
enum status influxdb_lines_add(struct influxdb_lines *lines, const struct batch *batch,
                               struct error *error);
void influxdb_lines_fini(struct influxdb_lines *lines);

/* Writes a statement with its parameters as literals: of SQL, or of InfluxQL. */
enum status influxdb_write_literals(struct buffer *sql, const struct statement *statement,
                                    const struct batch *parameters, bool is_sql,
                                    struct error *error);

struct adapter_conn {
    struct http *http;
    bool is_questdb;
    char version[64];
    bool has_made_database;
    char database[128];
    struct buffer write_path, query_path; /* owned */
    bool has_row_number; /* the measurement that was described last has a field n3 */
    struct influxdb_lines lines;
};

/* An answer on its way to those who asked. */
struct influxdb_reading {
    struct adapter_conn *conn;
    struct answer *answer;
    void (*take_series)(void *context, const json_t *series); /* InfluxDB's; may be NULL */
    void *context;
    bool takes_largest; /* of a row of counts */
    bool has_header;    /* of CSV: it has been read */
    bool has_enough;
    enum status status;
    struct error *error;
};

/* The words of an answer with an error, which belong to `json`; NULL: it has none. */
const char *influxdb_error_of(const json_t *json);

/* InfluxDB: asks any number of statements, whose rows come one after the other; as in struct
 * adapter; and its words, for measurements with a field n3 and for others. */
enum status influxdb_ask(struct influxdb_reading *reading, const char *sql);
enum status influxdb_describe(struct adapter_conn *conn, const char *table_name,
                              struct table *table, struct error *error);
enum status influxdb_limits(struct adapter_conn *conn, struct server_limits *limits,
                            struct error *error);
extern const struct words influxdb_words, influxdb_other_words;
extern const struct lack influxdb_lacks[];

/* QuestDB: asks one statement; columns of a table; limits; and its words. */
enum status questdb_ask(struct influxdb_reading *reading, const char *sql, bool reads_numbers);
enum status questdb_describe(struct adapter_conn *conn, const char *table_name, struct table *table,
                             struct error *error);
enum status questdb_limits(struct adapter_conn *conn, struct server_limits *limits,
                           struct error *error);
extern const struct words questdb_words;
extern const struct lack questdb_lacks[];

#endif
