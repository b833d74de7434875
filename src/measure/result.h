/*
 * Everything that one run came to. Filled by the driver and the run command, read by the reports.
 * Ledgers, counters, histograms and causes are sums, so results of several machines can be merged.
 */
#ifndef MEASURE_RESULT_H
#define MEASURE_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "append/adapter.h"
#include "base/exit_code.h"
#include "measure/causes.h"
#include "measure/event_list.h"
#include "measure/expectation.h"
#include "measure/fairness.h"
#include "measure/ledger.h"
#include "measure/limit.h"
#include "measure/recorder.h"
#include "measure/row_verification.h"
#include "measure/sampler.h"
#include "measure/session_summary.h"

/* Why the sessions stopped working. */
enum stop_reason {
    STOP_COMPLETED,   /* every session ended by itself */
    STOP_DURATION,    /* the time asked for was over */
    STOP_INTERRUPTED, /* SIGINT, SIGTERM or SIGHUP */
    STOP_DROP,        /* a session was dropped and --on-drop stop was given */
    STOP_NO_SESSION,  /* no session could connect */
    STOP_TOO_FEW,     /* fewer sessions were up than --min-sessions asks for */
};

enum verdict {
    VERDICT_VALID,
    VERDICT_DEGRADED, /* sessions or rows short, or something was not as it should be */
    VERDICT_INVALID,  /* the client was the bottleneck or stood still: the figures are not the
                         server's */
};

struct result {
    int64_t started_wall_ns;      /* 1970 UTC */
    int64_t start_mono_ns;        /* monotonic: causes count from here */
    int64_t elapsed_ns;           /* first thread started -> last session ended */
    int64_t connect_ns;           /* first thread started -> gate opened */
    int64_t append_ns;            /* gate opened -> last session had its last answer */
    int64_t disconnect_ns;        /* from there -> last session ended */
    double throughput_rows_per_s; /* acknowledged / elapsed */
    double rate_achieved_percent; /* of --rate, while appending; -1 = none, or too short to tell */
    enum stop_reason stop_reason;

    struct session_ledger sessions;
    struct row_ledger rows;
    struct batch_ledger batches; /* all 0 without a rate */
    struct verification verification;
    struct row_verification row_verification;
    uint64_t sessions_cut;   /* sessions whose connection append cut: no end in time after STOP */
    uint64_t worst_lag_rows; /* most rows that a count was behind the session's own */
    uint64_t batches_late;   /* with a rate: batches that started over 100 ms after their time */

    struct recorder_snapshot totals;
    struct causes causes;
    struct event_list events; /* owned: event_list_fini */
    char metrics_note[200];   /* why --metrics-file is not up to date; "" when it is */
    struct findings findings; /* the limits that were hit */
    size_t session_count;
    struct session_summary *session_list; /* by index, owned: session_list_free; NULL before the
                                             sessions ended */
    struct fairness fairness;
    uint64_t least_sessions; /* that had to be up for the run to go on */
    uint64_t sessions_up;    /* STOP_TOO_FEW: so many were */
    struct resource_summary resources;
    struct server_limits server; /* version "" when the server did not say */
    struct connection_info connection;
    char engine[ROW_TYPE_NAME_BYTES]; /* of the table; "" where there is only one */

    enum verdict verdict;
    char verdict_reason[240]; /* one line, never empty */
    enum exit_code exit_code;
    char exit_reason[900];                   /* one line for stderr; empty when exit_code is 0 */
    const struct expectations *expectations; /* judged; borrowed; NULL: nothing was expected */
};

const char *stop_reason_name(enum stop_reason reason);
const char *verdict_name(enum verdict verdict); /* "VALID", ... */

enum {
    RESULT_LOST_BYTES = 64,
    RESULT_STILL_BYTES = 160
};

/* True when this program was not let run for a time, which `text` says: its figures are not the
 * server's. */
bool result_has_stood_still(const struct result *result, char text[RESULT_STILL_BYTES]);

/* How many acknowledged rows are lost: by the rows that were read back, else by the counts. */
uint64_t result_lost_at_most(const struct result *result);

/* The same in words, as far as is known: "3", "up to 3", "2 to 3". */
const char *result_describe_lost(const struct result *result, char text[RESULT_LOST_BYTES]);

/* Rows in the table that this run cannot have written, as far as is known. */
uint64_t result_surplus(const struct result *result);

/* What the judgement needs to know of the run beside its result. */
struct judge_context {
    bool is_embedded;         /* the database runs inside this program: the client's share of the
                                 CPUs cannot be told from it */
    bool is_local;            /* the server shares this machine's CPUs */
    uint64_t rate_rows_per_s; /* asked for; 0 = none */
    bool was_interrupted;     /* a signal came, be it after the sessions had ended */
};

/* Sets verdict, verdict_reason, exit_code and exit_reason from the rest; the rules stand in
 * verdict.c. */
void result_judge(struct result *result, const struct judge_context *context);

#endif
