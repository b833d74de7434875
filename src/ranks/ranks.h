/*
 * Several processes as one run. Started by mpirun or srun the program is a rank: one of several
 * that each have a share of the sessions. Rank 0 leads: it reads the command line, prepares the
 * tables, says when sessions begin and stop, and gets the results of all. The others follow.
 *
 * Ranks exchange messages with rank 0 alone, and never block in MPI: who waits looks for messages
 * and sleeps in between. Moments are on the clock of the rank that reads them; the offsets are
 * measured by ping-pong (F. Cristian, "Probabilistic clock synchronization", 1989): of several
 * exchanges the one with the shortest round trip counts, and is wrong by at most half of that.
 *
 * A process that is no rank has NULL, which every function takes. Main thread, unless said.
 */
#ifndef RANKS_RANKS_H
#define RANKS_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/error.h"
#include "base/process.h"
#include "base/text.h"
#include "measure/levels.h"
#include "measure/recorder.h"
#include "measure/result.h"
#include "plan/facts.h"
#include "plan/plan.h"

enum {
    RANKS_MAX = 10000
};

struct ranks;

/* Where the environment says that this process is one of several: loads what speaks MPI, meets the
 * others, and compares versions. OK with *made NULL: it is alone. Else than OK: *error says why,
 * at rank 0, or at each rank that found out by itself; the text is empty where another one says it.
 */
enum exit_code ranks_begin(struct ranks **made, struct error *error);

/* The same where each run is a program of its own, for which this process speaks. All ranks, for
 * each run: ranks_open_run, then ranks_carry until the program has ended, then ranks_close_run. */
enum exit_code ranks_begin_runs(struct ranks **made, struct error *error);

/* Rank 0 gives the path of the run's folder to the others. *in is to be the program's standard
 * input; where there is none it is -1 when alone, else -errno. False: no run is left. */
bool ranks_open_run(struct ranks *ranks, struct buffer *path, int *in);

/* Passes messages on, for a moment of at most so long. */
void ranks_carry(struct ranks *ranks, int64_t limit_ns);

/* What it came to here; returns the first code that is not OK as ranks_agree does, at rank 0 also
 * for a rank that does not say it in time. */
enum exit_code ranks_close_run(struct ranks *ranks, enum exit_code code, struct error *error);

/* This process is not one of several, or rank 0: it says what all have found. */
bool ranks_speaks(void);

/* USAGE: this process is one of several, which `what` is not for. The text is empty where another
 * one says it. */
enum exit_code ranks_forbid(const char *what, struct error *error);

/* Leaves together with the others, whom rank 0 lets go: `is_merged` says that it has what they
 * sent, so that their files can go. */
void ranks_end(struct ranks *ranks, bool is_merged);

unsigned ranks_number(const struct ranks *ranks);
unsigned ranks_count(const struct ranks *ranks); /* 1: alone */
static inline bool ranks_follows(const struct ranks *ranks)
{
    return ranks_number(ranks) > 0;
}

/* The host name of the machine of a rank. */
const char *ranks_machine(const struct ranks *ranks, unsigned rank);

/* The first of the ranks on the machine of this one. */
bool ranks_is_first_here(const struct ranks *ranks);

/* Shares the sessions of the plan out, in proportion to its --weights: fills facts->ranks,
 * facts->share and facts->machine_sessions. USAGE: *error says what is wrong with the options. */
enum exit_code ranks_share_out(struct ranks *ranks, const struct plan *plan, struct facts *facts,
                               struct error *error);
struct plan_share ranks_share(const struct ranks *ranks, unsigned rank); /* when that is done */

/* When that is done: what of `sessions` is this rank's, or of the ranks on its machine. With more
 * sessions it is never less. Alone: all. */
unsigned ranks_sessions_here(struct ranks *ranks, unsigned sessions, bool of_machine);

/* All ranks, of a search: the most sessions that any of them can have, which is what this one said,
 * or less. *binding: whose that is, if it is less than `asked`; and why, in *limit. 0: rank 0 has
 * ended instead, or no session is possible. */
unsigned ranks_agree_most(struct ranks *ranks, unsigned most, struct limit *limit,
                          unsigned *binding);

/* Rank 0 gives a text to all; the others get it. False: rank 0 has ended instead. */
bool ranks_give_text(struct ranks *ranks, struct buffer *text);

/* Until the run begins, who is not heard of for a minute is lost: whoever waits for long calls
 * this meanwhile, by which the others hear of it. */
void ranks_beat(struct ranks *ranks);

/* What was waited for before the run did not come: *error says which rank was lost, or that there
 * was a signal; the text is empty where rank 0 says it. */
enum exit_code ranks_explain(const struct ranks *ranks, struct error *error);

/* All ranks come here with what they came to so far and, where it is known, the version of their
 * client library, which has to be the same. Returns the first code that is not OK, at all ranks; at
 * rank 0 *error says whose and why. */
enum exit_code ranks_agree(struct ranks *ranks, enum exit_code code, const char *version,
                           struct error *error);

/* Rank 0: names itself in an error of its own, as it names the others in theirs. */
void ranks_name_own(const struct ranks *ranks, struct error *error);

/* Before an agreement: that this rank does what one has to do at least. Rank 0, after it: whether
 * one does. */
void ranks_claim(struct ranks *ranks);
bool ranks_is_claimed(const struct ranks *ranks);

/* All ranks, after the last agreement: measures the clocks and returns the moment, a little ahead,
 * at which the run begins. 0: rank 0 has ended instead. */
int64_t ranks_agree_start(struct ranks *ranks);

/* Rank 0: the clock of a rank against its own, and how wrong that can be at most; `drift_ns`: by
 * how much it has changed between the first measurement and the latest. */
struct ranks_clock {
    int64_t offset_ns, error_ns;
    int64_t drift_ns, drift_error_ns;
};
struct ranks_clock ranks_clock(const struct ranks *ranks, unsigned rank);

/* Rank 0: measures the clocks again. */
void ranks_check_clocks(struct ranks *ranks);

/* How far a rank is with a level of a search; each has to come so far before any goes on. */
enum ranks_stage {
    STAGE_CLIMBS, /* sessions leave */
    STAGE_LEFT,   /* those that are too many have: now others come */
    STAGE_UP,     /* its own are up */
    STAGE_HELD,   /* they were for as long as was asked */
};

/* While sessions live: what a rank tells of its own … */
struct ranks_state {
    bool is_up;   /* all are connected, or have failed */
    bool is_done; /* all have done their work */
    bool is_over; /* all have ended: the rank is quiet until its result comes */
    bool is_stopped;
    bool has_failed; /* a session of the level has, or the work of one */
    enum stop_reason reason;
    unsigned level; /* of a search: its number, from 1 on */
    enum ranks_stage stage;
    enum search_end end; /* of the search; SEARCH_GOES_ON: none */
    uint64_t counters[RECORDER_COUNTERS];
};

/* … and what they are to do. */
struct ranks_orders {
    int64_t go_ns; /* when the gate opens; 0: not known yet */
    bool is_stopped;
    enum stop_reason reason;
    bool is_done;               /* everywhere: sessions may disconnect */
    uint64_t up;                /* sessions, everywhere: at rank 0 */
    bool has_lost;              /* a rank has not been heard of for long; at rank 0 */
    unsigned level, sessions;   /* of a search: the level to be tried; 0: none yet */
    enum ranks_stage stage;     /* to which all ranks have come */
    bool has_failed;            /* the level, at some rank */
    unsigned noted;             /* the level whose outcome is known, for all ranks together */
    enum level_outcome outcome; /* that is it */
    enum search_end end;
};

bool ranks_states_differ(const struct ranks_state *a, const struct ranks_state *b);

/* Does not wait. `min_sessions`: that have to be up. */
void ranks_exchange(struct ranks *ranks, const struct ranks_state *own, unsigned min_sessions,
                    struct ranks_orders *orders);

/* Rank 0, in a search: the next level (*orders: from now on), and what it came to. The others are
 * told by the next exchange. */
void ranks_begin_level(struct ranks *ranks, unsigned sessions, struct ranks_orders *orders);
void ranks_note_level(struct ranks *ranks, enum level_outcome outcome);

/* What a rank came to at a level: the others give it away (the bytes are taken), rank 0 takes one
 * that has come, bytes to be freed. NULL: none has; *are_all: they did, but for those of ranks that
 * are lost. */
void ranks_give_level(struct ranks *ranks, struct buffer *blob);
void *ranks_take_level(struct ranks *ranks, unsigned *rank, size_t *size, bool *are_all);

/* Any thread, rank 0: adds what the other ranks told of last to `total`, and what came since the
 * latest call to `interval`. */
void ranks_add_others(struct ranks *ranks, uint64_t total[RECORDER_COUNTERS],
                      uint64_t interval[RECORDER_COUNTERS]);

/* Rank 0: the same of one counter. */
uint64_t ranks_read_others(struct ranks *ranks, enum recorder_counter counter);

/* The end: a rank that follows gives its result away (the bytes are taken), and waits until rank 0
 * lets it go, or for so long (0: for any time). True: its result is part of the whole. */
void ranks_give_result(struct ranks *ranks, struct buffer *blob);
bool ranks_await_merge(struct ranks *ranks, int64_t limit_ns);

/* Rank 0: the next result that comes, bytes to be freed; NULL: all have come, but for those of
 * ranks that are lost. */
void *ranks_take_result(struct ranks *ranks, unsigned *rank, size_t *size);

/* Rank 0: the result that came of a rank is damaged. The rank counts as lost, but is let go with
 * the others, and keeps its files. */
void ranks_refuse_result(struct ranks *ranks, unsigned rank);

/* A rank that follows, before it gives its result: rank 0 may take the lines of a file, a
 * descriptor that stays the caller's. Rank 0: some of the next lines of a rank, bytes to be freed.
 * NULL: there are no more, or (*is_cut) they do not come. */
void ranks_offer_lines(struct ranks *ranks, int fd);
void *ranks_take_lines(struct ranks *ranks, unsigned rank, size_t *size, bool *is_cut);

/* A signal came, and mpirun may have sent it: it does to all others when a rank has died, and one
 * is lost of which nothing was heard since. */
bool ranks_may_signal(const struct ranks *ranks);

/* Rank 0: it has not been heard of and its result is missing, or that was refused; what it told
 * last. NULL: it is not lost. */
const struct ranks_state *ranks_lost(const struct ranks *ranks, unsigned rank);

#endif
