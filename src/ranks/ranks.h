/*
 * A run of several processes. When mpirun or srun starts several processes, each process is a rank
 * with a share of the sessions. Rank 0 leads: it reads the command line, prepares the tables,
 * decides when sessions begin and stop, and receives the results of all ranks. The other ranks
 * follow.
 *
 * Every other rank exchanges messages only with rank 0. Ranks never block in MPI: a rank that waits
 * polls for messages and sleeps in between. Moments in messages are on the clock of the receiving
 * rank. The clocks are compared by ping-pong (F. Cristian, "Probabilistic clock synchronization",
 * 1989): of several exchanges the exchange with the shortest round trip counts; its error is at
 * most half the round trip.
 *
 * A process without other ranks has the pointer NULL. All functions that such a process calls
 * accept NULL. Main thread only, unless stated otherwise.
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

/* Connects the ranks if the environment says that this process is one of several: loads the MPI
 * module, and compares the versions and command lines of the ranks. If the process is alone,
 * returns OK and sets *made to NULL. If the code is not OK, *error has the reason at rank 0 and at
 * a rank that found the problem itself. At a rank where another rank prints the reason, the text of
 * *error is empty. The caller ends *made with ranks_end. */
enum exit_code ranks_begin(struct ranks **made, struct error *error);

/* Connects the ranks like ranks_begin, for a process that starts a program for each run and passes
 * on the messages of the program. For each run all ranks call ranks_open_run, then ranks_carry
 * until the program has ended, then ranks_close_run. */
enum exit_code ranks_begin_runs(struct ranks **made, struct error *error);

/* Begins a run. Rank 0 sends *order to the other ranks, where it replaces *order. *in becomes the
 * descriptor for the program's standard input, -1 if this process is alone, or -errno after a
 * failure. Returns false if there are no more runs. */
bool ranks_open_run(struct ranks *ranks, struct buffer *order, int *in);

/* Passes messages on between the program and the other ranks. Waits for at most limit_ns. */
void ranks_carry(struct ranks *ranks, int64_t limit_ns);

/* Ends a run. `code` is OK unless this rank could not start the program of the run or was
 * interrupted, and *error then has the reason; it is not the exit code of that program. Returns the
 * first code of all ranks that is not OK, like ranks_agree; after such a code no further run
 * begins. At rank 0 a rank that does not report its code in time counts as lost. */
enum exit_code ranks_close_run(struct ranks *ranks, enum exit_code code, struct error *error);

/* Returns whether this process prints the messages of the run: it is alone, or it is rank 0. */
bool ranks_speaks(void);

/* Returns USAGE if this process is one of several; `what` is a command that works only with a
 * single process. The text of *error is empty at a rank where another rank prints the reason. */
enum exit_code ranks_forbid(const char *what, struct error *error);

/* Ends the connection to the other ranks and frees `ranks`. The other ranks wait until rank 0 calls
 * this function. At rank 0, `is_merged` says that the results of the other ranks are part of the
 * merged result, so that the other ranks can remove their files. */
void ranks_end(struct ranks *ranks, bool is_merged);

unsigned ranks_number(const struct ranks *ranks);
/* returns the number of ranks; 1: this process is alone */
unsigned ranks_count(const struct ranks *ranks);

/* Returns whether this rank is not rank 0: such a rank does what rank 0 says. */
static inline bool ranks_follows(const struct ranks *ranks)
{
    return ranks_number(ranks) > 0;
}

/* Returns the host name of the machine of a rank. */
const char *ranks_machine(const struct ranks *ranks, unsigned rank);

/* Returns whether this rank has the lowest number of the ranks on its machine. */
bool ranks_is_first_here(const struct ranks *ranks);

/* Divides the sessions of the plan among the ranks in proportion to --weights: fills facts->ranks,
 * facts->share and facts->machine_sessions. On USAGE, *error says what is wrong with the
 * options. */
enum exit_code ranks_divide_sessions(struct ranks *ranks, const struct plan *plan,
                                     struct facts *facts, struct error *error);
struct plan_share ranks_share(const struct ranks *ranks,
                              unsigned rank); /* valid after ranks_divide_sessions */

/* Returns how many of `sessions` belong to this rank, or, with `of_machine`, to all ranks on its
 * machine. Called after ranks_divide_sessions. A larger `sessions` never gives a smaller result. A
 * process without other ranks gets `sessions`. */
unsigned ranks_sessions_here(struct ranks *ranks, unsigned sessions, bool of_machine);

/* Returns how many sessions a search can try: the lowest `most` of all ranks. Called by all
 * ranks. *binding becomes the rank with the lowest `most`, and *limit the limit of that rank.
 * Returns 0 if rank 0 has ended or is lost, or if no session is possible. */
unsigned ranks_agree_most(struct ranks *ranks, unsigned most, struct limit *limit,
                          unsigned *binding);

/* Sends *text from rank 0 to all ranks, where it replaces *text. Called by all ranks. Returns false
 * if rank 0 has ended or is lost. */
bool ranks_give_text(struct ranks *ranks, struct buffer *text);

/* Signals the other ranks that this rank is alive, and polls for messages. Called during every long
 * wait before and after the sessions' work. A rank without such signals counts as lost: after a
 * minute before the run, and after 15 s while rank 0 waits for the results. `ranks` may be NULL. */
void ranks_beat(struct ranks *ranks);

/* Fills *error when a wait before the run has failed, because a rank was lost or a signal arrived.
 * The text is empty at a rank where rank 0 prints the reason. Returns the exit code. */
enum exit_code ranks_report_loss(const struct ranks *ranks, struct error *error);

/* Exchanges the exit codes so far. Called by all ranks. `version` is the version of the client
 * library, which must be the same at all ranks, or NULL if unknown. At all ranks, returns the first
 * code that is not OK, or OK; at rank 0 *error says which rank and why. */
enum exit_code ranks_agree(struct ranks *ranks, enum exit_code code, const char *version,
                           struct error *error);

/* Prefixes an error of rank 0 with its machine and rank, like the errors of other ranks. */
void ranks_prefix_error(const struct ranks *ranks, struct error *error);

/* ranks_set_tracing notes that this rank traces I/O; called before ranks_agree. After ranks_agree,
 * ranks_is_any_tracing returns at rank 0 whether any rank traces I/O. In a process without other
 * ranks, it returns true. */
void ranks_set_tracing(struct ranks *ranks);
bool ranks_is_any_tracing(const struct ranks *ranks);

/* Measures the clocks and returns the moment, a little later, at which the run begins. Called by
 * all ranks after the last call of ranks_agree. Returns 0 if rank 0 has ended or is lost. */
int64_t ranks_agree_start(struct ranks *ranks);

/* offset_ns is the clock of a rank minus the clock of rank 0. drift_ns is the change of this offset
 * between the first and the latest measurement. The other members are bounds of the errors. */
struct ranks_clock {
    int64_t offset_ns, error_ns;
    int64_t drift_ns, drift_error_ns;
};
struct ranks_clock ranks_clock(const struct ranks *ranks, unsigned rank);

/* Measures the clocks again, at rank 0. */
void ranks_check_clocks(struct ranks *ranks);

/* The progress of a rank at a level of a search. A rank enters the next stage only after all ranks
 * have reached the present stage. */
enum ranks_stage {
    STAGE_RETIRES, /* surplus sessions leave */
    STAGE_LEFT,    /* surplus sessions have left; new sessions connect */
    STAGE_UP,      /* the rank's sessions are up */
    STAGE_HELD,    /* the sessions were up for the whole hold */
};

/* The part of a rank's state that belongs to a search. */
struct ranks_level_state {
    unsigned level; /* number of the level, from 1 */
    enum ranks_stage stage;
    bool has_failed; /* a session of the level, or its work, has failed */
    /* reason why the rank ends the search; SEARCH_GOES_ON: it does not end the search */
    enum search_end end;
};

/* The part of rank 0's orders that belongs to a search. */
struct ranks_level_orders {
    unsigned level, sessions; /* number and sessions of the level to try; 0: no level yet */
    enum ranks_stage stage;   /* the stage that all ranks have reached */
    bool has_failed;          /* the level has failed at some rank */
    unsigned noted; /* number of the latest level with a known outcome for all ranks together */
    enum level_outcome outcome; /* outcome of the level `noted` */
    enum search_end end;
};

/* The state of a rank's sessions, which the rank sends to rank 0 while sessions live. In a run,
 * is_over implies is_done, and is_done implies is_up. In a search, is_up is always false. */
struct ranks_state {
    bool is_up;   /* all sessions have connected or failed */
    bool is_done; /* all sessions have done their work */
    bool is_over; /* all sessions have ended: the rank sends nothing until its result */
    bool is_stopped;
    enum stop_reason reason;
    struct ranks_level_state search; /* all 0 in a run */
    uint64_t counters[RECORDER_COUNTERS];
};

/* The orders of rank 0 to all ranks. */
struct ranks_orders {
    int64_t go_ns; /* moment at which the gate opens; 0: not decided yet */
    bool is_stopped;
    enum stop_reason reason;
    bool is_done;  /* the work is done at all ranks: sessions may disconnect */
    uint64_t up;   /* number of sessions that are up at all ranks; only at rank 0 */
    bool has_lost; /* a rank is lost; only at rank 0 */
    struct ranks_level_orders search; /* not used in a run */
};

/* Returns whether two states differ in more than their counters. */
bool ranks_states_differ(const struct ranks_state *a, const struct ranks_state *b);

/* Sends the state `own` and gets the current orders, without waiting. Rank 0 stops the run if
 * fewer than `min_sessions` sessions are up; the other ranks do not use `min_sessions`. */
void ranks_exchange(struct ranks *ranks, const struct ranks_state *own, unsigned min_sessions,
                    struct ranks_orders *orders);

/* ranks_begin_level begins the next level of a search, and sets *orders to the orders for this
 * level. ranks_note_level notes the outcome of the level. Only at rank 0; the other ranks get level
 * and outcome with their next exchange. */
void ranks_begin_level(struct ranks *ranks, unsigned sessions, struct ranks_orders *orders);
void ranks_note_level(struct ranks *ranks, enum level_outcome outcome);

/* ranks_give_level, on a rank other than 0, sends the packed level to rank 0 and empties *blob. If
 * *blob is empty or cannot be sent, rank 0 gets an empty level.
 * ranks_take_level returns a received level at rank 0, which the caller frees, or NULL if no level
 * was received. *are_all becomes true if all ranks that are not lost have sent this level. */
void ranks_give_level(struct ranks *ranks, struct buffer *blob);
void *ranks_take_level(struct ranks *ranks, unsigned *rank, size_t *size, bool *are_all);

/* Adds to `total` the counters that the other ranks reported last, and to `interval` their increase
 * since the previous call. Only at rank 0; any thread. */
void ranks_add_others(struct ranks *ranks, uint64_t total[RECORDER_COUNTERS],
                      uint64_t interval[RECORDER_COUNTERS]);

/* Returns the sum of one counter over the other ranks, as they reported it last. Only at rank 0;
 * any thread. */
uint64_t ranks_read_others(struct ranks *ranks, enum recorder_counter counter);

/* ranks_give_result, on a rank other than 0, sends the packed result to rank 0 and empties *blob.
 * If *blob is empty or cannot be sent, rank 0 gets an empty result, which it refuses.
 * ranks_await_merge then waits until rank 0 ends the ranks, but at most limit_ns (0: without
 * limit). It returns whether the result of this rank is part of the merged result. */
void ranks_give_result(struct ranks *ranks, struct buffer *blob);
bool ranks_await_merge(struct ranks *ranks, int64_t limit_ns);

/* Waits for the next result at rank 0 and returns it; the caller frees it. Returns NULL if the
 * results of all ranks that are not lost have arrived. */
void *ranks_take_result(struct ranks *ranks, unsigned *rank, size_t *size);

/* Notes at rank 0 that the result of a rank is damaged. The rank counts as lost. The rank still
 * ends with the other ranks, but keeps its files. */
void ranks_refuse_result(struct ranks *ranks, unsigned rank);

/* ranks_offer_lines, called on a rank other than 0 before it sends its result, lets rank 0 read the
 * lines of a file; the descriptor still belongs to the caller. ranks_take_lines returns the next
 * lines of a rank at rank 0; the caller frees them. It returns NULL if there are no more lines or,
 * with *is_cut true, if the lines cannot be read. */
void ranks_offer_lines(struct ranks *ranks, int fd);
void *ranks_take_lines(struct ranks *ranks, unsigned rank, size_t *size, bool *is_cut);

/* Returns whether the signal that this process got may be from mpirun. mpirun signals all other
 * processes after a rank has died. In this case a rank fell silent before the signal and was lost
 * after the signal. */
bool ranks_may_signal(const struct ranks *ranks);

/* At rank 0, returns the last reported state of a lost rank, whose result has not arrived or was
 * refused. Returns NULL if the rank is not lost. */
const struct ranks_state *ranks_lost(const struct ranks *ranks, unsigned rank);

#endif
