/*
 * What was asked for on the command line, checked one option at a time but not yet resolved.
 *
 * Strings point into argv or the environment and live as long as the program.
 */
#ifndef PLAN_CONFIG_H
#define PLAN_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/moment.h"

enum read_mode {
    READ_COUNT, /* select count(*) after an append */
    READ_NONE,
    READ_QUERY, /* the user's own query */
};

enum data_mode {
    DATA_VARIED,   /* text like real log lines, different in every row */
    DATA_CONSTANT, /* the same in every row, but for what identifies it */
};

enum drop_policy {
    DROP_CONTINUE,  /* a dropped session ends alone */
    DROP_STOP,      /* the first dropped session ends the run */
    DROP_RECONNECT, /* it connects again and goes on */
};

enum verify_mode {
    VERIFY_COUNT, /* count(*) before and after */
    VERIFY_ROWS,  /* and every row is read back and told by its identity */
};

enum {
    CONFIG_MARKS_MAX = 64,
    CONFIG_HOST_BYTES = 256
};

/* An event that is known beforehand. */
struct mark {
    struct moment moment;
    const char *text; /* one line, not empty */
};

struct config {
    uint64_t sessions;
    uint64_t records;    /* 0: a duration alone */
    const char *target;  /* port, URL or NULL */
    const char *adapter; /* NULL = from the target */
    const char *host;
    uint16_t port; /* 0 = from the target */
    const char *user;
    const char *password;         /* from a file; never from the command line */
    const char *default_password; /* from the environment; the URL's and the file's win */
    const char *database;
    const char *table;
    const char *schema;
    const char *schema_file;
    const char *engine;
    const char *skip_columns; /* left out of the statement: plan/columns.h */
    const char *values;       /* that columns get: plan/columns.h */
    const char *method;
    const char *client_lib; /* of an adapter that loads its client library */
    bool is_recreate;
    uint64_t batch_rows;
    enum read_mode read_mode;
    const char *read_sql;
    uint64_t read_every; /* batches */
    enum data_mode data_mode;
    bool has_seed;
    uint64_t seed;
    uint64_t rate_rows_per_s; /* 0 = as fast as it goes */
    int64_t duration_ns;      /* at most; 0 = until the rows are in */
    uint64_t connect_concurrency;
    int64_t connect_timeout_ns;
    int64_t timeout_ns; /* of one call; 0 = none */
    int64_t wait_ns;    /* how long the server may take to let a session in; 0 = it is there */
    int64_t sample_interval_ns;
    pid_t server_pid;
    const char *server_cgroup;
    const char *container;
    enum drop_policy drop_policy;
    uint64_t reconnect_tries; /* with DROP_RECONNECT: connects in a row that may fail */
    enum verify_mode verify_mode;
    uint64_t idle_sessions;    /* beside `sessions`: they only stay connected */
    uint64_t churn_batches;    /* a session connects anew after so many; 0 = never */
    uint64_t min_sessions;     /* fewer are no run; 0 = one will do */
    unsigned min_percent;      /* the same as a share of the sessions; 0 = not given */
    bool is_unchecked;         /* go on although a limit is certain to be hit */
    bool is_search;            /* find-max: `sessions` is the most there may be */
    uint64_t first_sessions;   /* find-max: lowest level; 0: what is usual */
    uint64_t max_sessions;     /* find-max: never more; 0 = what this machine allows */
    int64_t hold_ns;           /* find-max: how long a level is held */
    int64_t max_time_ns;       /* find-max: the search ends then */
    uint64_t max_memory_bytes; /* find-max: of this machine in use, never more; 0 = all but 10 % */
    uint64_t max_rows;         /* find-max: the search ends when it wrote so many; 0 = any number */
    uint64_t max_bytes;        /* find-max: or so many bytes of values; 0 = what is usual */
    int64_t p99_bound_ns;      /* find-max: append p99 that is still good; 0 = none given */
    struct mark marks[CONFIG_MARKS_MAX];
    size_t mark_count;
    const char *metrics_file;
    char metrics_host[CONFIG_HOST_BYTES]; /* on which metrics are served */
    uint16_t metrics_port;                /* 0 = they are not */
    const char *out;
    int64_t progress_ns; /* a line of progress every so often; 0 = as is usual */
    bool is_quiet;
    bool is_json;
    uint64_t stack_bytes; /* 0 = what the adapter needs */
};

/* The defaults of every option. */
void config_init(struct config *config);

#endif
