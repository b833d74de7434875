/*
 * The plan of a run: the command line resolved and checked as a whole. Immutable once made, shared
 * by all threads.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "append/adapter.h"
#include "base/exit_code.h"
#include "plan/config.h"

enum {
    PLAN_SESSIONS_MAX = 1000000,
    PLAN_BATCH_ROWS_MAX = 1000000,
    PLAN_PATH_BYTES = 1024,
};
#define PLAN_RECORDS_MAX UINT64_C(1000000000000)
#define PLAN_DEFAULT_TABLE "syslog_table"

struct plan {
    const struct adapter *adapter;
    struct target target;
    char display_target[512]; /* for reports: without the password */

    unsigned sessions;
    uint64_t records; /* 0: a duration alone */
    uint64_t batch_rows;
    enum read_mode read_mode;
    const char *read_sql;
    uint64_t read_every;
    enum data_mode data_mode;
    uint64_t seed;
    bool is_seed_given; /* by the user */
    int16_t run_tag;    /* marks the rows of this run: a hash of the seed, 1 … 32,767 */
    uint64_t rate_rows_per_s;
    int64_t duration_ns; /* at most; 0 = until the rows are in */

    const char *table_name;
    bool is_default_table; /* made from the built-in DDL when it is missing */
    const char *ddl;       /* what creates the table, from the user's file; NULL = none */
    const char *engine;    /* storage engine of a table that is made; NULL = the server's choice */
    bool is_recreate;
    const char *skip_columns; /* --skip-columns and --values, see plan/columns.h; NULL = none */
    const char *values;

    unsigned connect_concurrency;
    int64_t timeout_ns;    /* that one call may take; 0 = any time */
    int64_t wait_ns;       /* how long the server may take to let a session in; 0 = it is there */
    int64_t wait_until_ns; /* monotonic */
    int64_t sample_interval_ns;
    pid_t server_pid;
    const char *server_cgroup;
    const char *container; /* of the server: its process and cgroup are looked up */
    enum drop_policy drop_policy;
    unsigned reconnect_tries; /* with DROP_RECONNECT: connects in a row that may fail */
    enum verify_mode verify_mode;
    unsigned idle_sessions; /* their numbers follow those of the others; they append nothing */
    uint64_t churn_batches; /* 0 = sessions keep their connection */
    unsigned min_sessions;  /* that must be up, idle ones included, for the run to go on; >= 1 */
    bool has_min_sessions;  /* it was asked for */
    bool is_unchecked;      /* go on although a limit is certain to be hit */
    bool is_search;         /* `sessions` is the most there may be, duration_ns the longest time */
    size_t stack_bytes;

    struct mark marks[CONFIG_MARKS_MAX]; /* events that are known beforehand */
    size_t mark_count;
    const char *metrics_file; /* NULL = none */
    char metrics_host[CONFIG_HOST_BYTES];
    uint16_t metrics_port; /* 0 = metrics are not served */

    char out_folder[PLAN_PATH_BYTES]; /* folder of the run's files */
    int64_t progress_ns;              /* 0 = as is usual */
    bool is_quiet;
    bool is_json;

    char *url_text;   /* owned: the URL taken apart, target points into it */
    char *owned_path; /* owned: the database file in the run's folder */
    char *ddl_text;   /* owned: the schema file */
};

/* Resolves `config`. On anything but EXIT_CODE_OK the error has the one line to print and `plan`
 * owns nothing. A target that is only a port is recognised by asking whoever listens there. */
enum exit_code plan_make(struct plan *plan, const struct config *config, struct error *error);
void plan_fini(struct plan *plan);

/* Gives a plan whose seed is not given another one, and with it most likely another run tag. */
void plan_choose_seed(struct plan *plan);

/* Writes the plan for people, a line each for target, table, quotas and pacing. */
void plan_print(const struct plan *plan, FILE *stream);

/* Rows that session 0 … sessions-1 appends: the records spread evenly, the first ones take one of
 * the remainder each. UINT64_MAX where no number of records is asked for. */
uint64_t plan_quota(const struct plan *plan, unsigned session);

#endif
