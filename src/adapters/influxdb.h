/*
 * Declarations that InfluxDB and QuestDB share. A connection belongs to one session's thread.
 */
#ifndef ADAPTERS_INFLUXDB_H
#define ADAPTERS_INFLUXDB_H

#include "adapters/http.h"

/* Values of column.native_type: the part of a line that contains the column's values. */
enum influxdb_place {
    INFLUXDB_FIELD,
    INFLUXDB_TAG,
    INFLUXDB_TIME
};

/* Rows in the line protocol: "table,tag=x field=1i,other="text" time". */
struct influxdb_lines {
    bool is_questdb;
    const struct table *table; /* the table that `names` describes; NULL if `names` is not valid */
    struct buffer names; /* names of the table and its columns in the order of a line, each preceded
                            by its length; owned */
    const struct column *serial; /* the column n3, if it is added to the time, else NULL */
    struct buffer text;          /* the lines; owned */
    uint64_t rows;               /* rows in `text` */
};

/* Starts an append to a table. Returns FATAL if a name cannot be written in the line protocol. */
enum status influxdb_lines_begin(struct influxdb_lines *lines, const struct table *table,
                                 struct error *error);

/* Adds rows. Returns REJECTED if a tag's value cannot be written in the line protocol. */
enum status influxdb_lines_add(struct influxdb_lines *lines, const struct batch *batch,
                               struct error *error);
void influxdb_lines_fini(struct influxdb_lines *lines);

/* Writes a statement with its parameters as literals of SQL or InfluxQL. */
enum status influxdb_write_literals(struct buffer *sql, const struct statement *statement,
                                    const struct batch *parameters, bool is_sql,
                                    struct error *error);

struct adapter_conn {
    struct http *http;
    bool is_questdb;
    char version[64];
    bool has_created_database;
    char database[128];
    /* paths of requests that write rows, and of requests that query; owned */
    struct buffer write_path, query_path;
    bool has_row_number; /* the measurement that was described last has a field n3 */
    struct influxdb_lines lines;
};

/* State of reading an answer. */
struct influxdb_reading {
    struct adapter_conn *conn;
    struct answer *answer;
    /* called for each series, with InfluxDB only; may be NULL */
    void (*take_series)(void *context, const json_t *series);
    void *context;
    bool takes_largest; /* of the counts in a row, only the largest is kept */
    bool has_header;    /* the header line of the CSV has been read */
    bool take_stopped;
    enum status status;
    struct error *error;
};

/* Returns the message of an error answer, borrowed from `json`, or NULL if `json` is not an
 * error. */
const char *influxdb_error_of(const json_t *json);

/* InfluxDB. influxdb_query runs any number of statements and returns their rows one after the
 * other. influxdb_describe and influxdb_limits are operations of struct adapter.
 * influxdb_templates are for measurements with a field n3. influxdb_count_templates are for
 * measurements without this field, whose rows can only be counted. */
enum status influxdb_query(struct influxdb_reading *reading, const char *sql);
enum status influxdb_describe(struct adapter_conn *conn, const char *table_name,
                              struct table *table, struct error *error);
enum status influxdb_limits(struct adapter_conn *conn, struct server_limits *limits,
                            struct error *error);
extern const struct sql_templates influxdb_templates, influxdb_count_templates;
extern const struct unsupported influxdb_unsupported[];

/* QuestDB. questdb_query runs one statement; with `reads_numbers` the statement is a SELECT whose
 * rows are whole numbers. questdb_describe and questdb_limits are operations of struct adapter. */
enum status questdb_query(struct influxdb_reading *reading, const char *sql, bool reads_numbers);
enum status questdb_describe(struct adapter_conn *conn, const char *table_name, struct table *table,
                             struct error *error);
enum status questdb_limits(struct adapter_conn *conn, struct server_limits *limits,
                           struct error *error);
extern const struct sql_templates questdb_templates;
extern const struct unsupported questdb_unsupported[];

#endif
