/*
 * A certificate: what the certify command did to a server, and what it found.
 *
 * The command fills a struct certificate, fault by fault. certificate_write writes this struct to
 * the files of the run: faults.csv, certificate.json and certificate.html.
 */
#ifndef CERTIFY_CERTIFICATE_H
#define CERTIFY_CERTIFICATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "append/adapter.h"
#include "append/buffer.h"
#include "append/error.h"
#include "base/process.h"
#include "certify/fault.h"
#include "measure/result.h"
#include "plan/plan.h"

#define CERTIFICATE_CSV "faults.csv"
#define CERTIFICATE_JSON "certificate.json"
#define CERTIFICATE_PAGE "certificate.html"

/* The kinds of errors (findings) that can be found in the tables after a fault. Each entry:
 * enumerator, key in files, title, and what is counted. With any finding, the server is not
 * certified. */
#define FINDINGS(X)                                                                                \
    X(LOST, "lost", "Lost", "acknowledged rows that are not in the table")                         \
    X(DUPLICATE, "duplicate", "Duplicate", "rows that are there more than once")                   \
    X(FOREIGN, "foreign", "Foreign", "rows with an identity that append has not sent")             \
    X(REJECTED, "rejected", "Rejected but kept",                                                   \
      "rows that are in the table although the server refused their transaction")                  \
    X(TORN, "torn", "Torn",                                                                        \
      "rows with an identity that append has sent, but not with its text or checksum")             \
    X(HALF, "half", "Half transactions",                                                           \
      "batches and transactions of which some rows are in the tables and some are not")            \
    X(HOLE, "holes", "Holes",                                                                      \
      "lost transactions of a session that has a later transaction in the tables")                 \
    X(DAMAGE, "damage", "Damaged objects", "tables and indexes that the server's own check reports")

enum fault_finding {
#define FINDING_ID(id, key, title, what) FINDING_##id,
    FINDINGS(FINDING_ID)
#undef FINDING_ID
    FINDING_COUNT
};

struct finding_words {
    const char *key, *title, *what;
};
extern const struct finding_words finding_words[FINDING_COUNT];

/* A fault, and the results of reading all tables back after the fault. Numbers of rows count from
 * the start of the series. `findings` counts only new findings, not those of earlier faults. */
struct fault_result {
    struct fault fault;
    int64_t at_ns;         /* time from the start of the run to the fault */
    int64_t after_ack_ns;  /* time from the latest acknowledgement that a session received to the
                              fault; -1: no acknowledgement */
    uint64_t acknowledged; /* number of rows that the server had acknowledged before the fault */
    uint64_t in_doubt;     /* number of rows that were sent and neither acknowledged nor refused */
    uint64_t rejected;     /* number of rows of transactions that the server refused */
    int64_t down_ns;       /* time from the fault until the server accepted a session again; -1: no
                              session was accepted, or the fault left the server up */
    int64_t recover_ns;    /* time from the start of the server until it accepted a session; -1: no
                              session was accepted, or the fault left the server up */
    int64_t read_ns;       /* time in which all tables were read back and checked */
    uint64_t rows_read;    /* number of rows in the tables */
    bool is_read;          /* every table was read to its end */
    uint64_t findings[FINDING_COUNT];
    char first[200]; /* the first finding, in words: "session 3, transaction 17: ..." */
    char failure[ERROR_TEXT_BYTES]; /* reason why the server did not start again, or why a table
                                       could not be read; "": no failure */
    /* reason why the tables were not read to their end, or why the server's own check did not run;
     * "": all was checked, or `failure` has the reason */
    char unchecked[200];
};

enum {
    CERTIFICATE_TEXT_BYTES = 256,
    CERTIFICATE_PLACES_MAX = 12
};

/* A fact about the storage that holds the server's data. */
struct certificate_place {
    char name[40]; /* name of the fact, "file system" */
    char value[CERTIFICATE_TEXT_BYTES];
};

/* A series of faults with the same settings of the server: the proof run (--prove), or the run that
 * is certified. */
struct fault_series {
    struct fault_result *results; /* results of the faults that were done; owned */
    size_t count;                 /* number of faults that were done */
    size_t planned;
    struct server_settings settings; /* settings that the server reported before the first fault */
    struct buffer options; /* settings with which this program started its own server, separated by
                              blanks; owned */
};

enum certificate_verdict {
    CERTIFICATE_CLEAN,      /* no fault had a finding or a failure */
    CERTIFICATE_BROKEN,     /* a fault had a finding or a failure */
    CERTIFICATE_UNPROVEN,   /* --prove: the server lost no row although its settings were unsafe */
    CERTIFICATE_UNFINISHED, /* not all faults could be done; `reason` says why */
};

struct certificate {
    const struct plan *plan;
    int64_t start_wall_ns, start_mono_ns, elapsed_ns;
    char server[CERTIFICATE_TEXT_BYTES]; /* product and version of the server */
    char place[CERTIFICATE_TEXT_BYTES]; /* the target without its password, or "a server of append's
                                           own" */
    struct buffer command; /* command line that repeats the run, with the seed; owned */
    struct certificate_place places[CERTIFICATE_PLACES_MAX];
    size_t place_count;
    struct fault_series proof; /* the proof run; planned == 0 without --prove */
    struct fault_series series;
    enum certificate_verdict verdict;
    enum exit_code code;
    char reason[ERROR_TEXT_BYTES]; /* reason why the verdict is UNFINISHED or UNPROVEN */
};

/* Frees what the certificate owns. */
void certificate_fini(struct certificate *certificate);

/* Returns whether the count of a finding after a fault is known. It is unknown if the check for the
 * finding was not complete. An unknown count is stored as 0. */
bool certificate_has(const struct fault_result *result, enum fault_finding finding);

/* Returns the sum of the counts of a finding after all faults of a series. */
uint64_t certificate_sum(const struct fault_series *series, enum fault_finding finding);

/* Returns whether the count of a finding is known after at least one fault of the series. */
bool certificate_has_sum(const struct fault_series *series, enum fault_finding finding);

/* Returns whether a fault had a finding or a failure. */
bool certificate_is_broken(const struct fault_result *result);

/* Returns whether a fault of the proof run lost acknowledged rows or caused a failure. Such a fault
 * proves that a loss would be found. Other findings do not prove this. */
bool certificate_is_proof(const struct fault_result *result);

/* Returns an upper bound, with 95 % confidence, of the share of faults that lose a row, if `faults`
 * faults lost no row. This is the rule of three, 3/n (Hanley, Lippman-Hand, JAMA 1983). The bound
 * is at most 1. */
double certificate_bound(size_t faults);

/* Returns whether a loss by fault `number` (from 0) of a series would have been found. This is true
 * if rows were acknowledged since the previous fault and all tables were read back after the fault.
 * Only such faults count for certificate_bound. */
bool certificate_could_show_loss(const struct fault_series *series, size_t number);

/* Numbers of the faults of one kind. */
struct fault_tally {
    size_t done;
    size_t telling; /* number of faults for which certificate_could_show_loss returns true */
    size_t broken;  /* number of faults with a finding or a failure */
    size_t failed;  /* number of faults with a failure */
    size_t proving; /* number of faults for which certificate_is_proof returns true */
    /* number of faults that left new rows in doubt */
    size_t in_flight;
    int64_t down_ns; /* longest time in which the server accepted no session; 0: the server was
                        never down */
};

/* Counts the faults of a kind, or all faults for FAULT_KINDS. */
struct fault_tally certificate_count(const struct fault_series *series, enum fault_kind kind);

/* Returns whether the server is certified: no fault had a finding, and at least one fault could
 * have shown a loss. */
bool certificate_is_certified(const struct certificate *certificate);

/* The noun for a kind of fault in a sentence: "power loss", "power losses". */
struct fault_nouns {
    const char *one, *many;
};
extern const struct fault_nouns fault_nouns[FAULT_KINDS];

enum {
    CERTIFICATE_PERCENT_BYTES = 24,
    CERTIFICATE_MOMENT_BYTES = 64,
    CERTIFICATE_STATEMENT_BYTES = 2048
};

/* Writes certificate_bound as "15 %", rounded up. Returns `text`. */
const char *certificate_percent(size_t faults, char text[CERTIFICATE_PERCENT_BYTES]);

/* Writes when a fault struck, in words: "2.10 ms after an acknowledgement". Returns `text`. */
const char *certificate_describe_moment(const struct fault_result *result,
                                        char text[CERTIFICATE_MOMENT_BYTES]);

/* Writes the statement of the certificate to `text`: sentences that say what the run has proven and
 * what it has not. */
void certificate_state(const struct certificate *certificate, char *text, size_t size);

/* Adds the page certificate.html to `html`. csv_hash and json_hash are the SHA-256 hashes of the
 * other two files. */
void certificate_add_page(struct buffer *html, const struct certificate *certificate,
                          const char *csv_hash, const char *json_hash);

/* Writes faults.csv, certificate.json and certificate.html into `folder`. If a file cannot be
 * written, returns REJECTED, and *error names the file. */
enum status certificate_write(const struct certificate *certificate, const char *folder,
                              struct error *error);

/* Writes the certificate as JUnit XML. `unwritten` is the reason why certificate_write failed, or
 * "". Returns false, with errno set, when out of memory or if a write fails. */
bool certificate_write_junit(FILE *stream, const struct certificate *certificate,
                             const char *folder, const char *unwritten);

#endif
