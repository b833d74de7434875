/*
 * A run of several processes. When mpirun or srun starts several processes, each process is called
 * a rank, as in MPI, and has a share of the sessions. Rank 0 leads: it reads the command line,
 * prepares the tables, decides when sessions begin and stop, and receives the results of all ranks.
 *
 * The other ranks exchange messages only with rank 0. No rank blocks in MPI: a rank that waits
 * polls for messages and sleeps between two polls. A moment in a message is on the clock of the
 * receiver.
 *
 * Rank 0 measures the clocks with pings (F. Cristian, "Probabilistic clock synchronization", 1989).
 * It sends several pings to each rank and uses the ping with the shortest round trip. The error of
 * the measurement is at most half of this round trip.
 *
 * If a process runs alone, its pointer to struct ranks is NULL. All functions that such a process
 * calls accept NULL. Main thread only, unless stated otherwise.
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

/* Connects this process to the other ranks if mpirun or srun has started several processes: loads
 * the MPI module, and compares the versions and command lines of the ranks. If the process is
 * alone, sets *made to NULL and returns OK. After an error, *error has the reason at the rank that
 * prints it; at the other ranks the text of *error is empty. The caller ends *made with ranks_end,
 * also after an error. */
enum exit_code ranks_begin(struct ranks **made, struct error *error);

/* Like ranks_begin, for a process that starts a program for each run of a sweep and passes on the
 * messages of the program. For each run, all ranks call ranks_open_run, then ranks_carry repeatedly
 * until the program has ended, then ranks_close_run. */
enum exit_code ranks_begin_runs(struct ranks **made, struct error *error);

/* Begins a run. Rank 0 sends its *order to the other ranks; at the other ranks, *order becomes the
 * order of rank 0. *in becomes the descriptor for the standard input of the run's program, -1 if
 * this process is alone, or -errno after a failure. Returns false if no further run begins. */
bool ranks_open_run(struct ranks *ranks, struct buffer *order, int *in);

/* Passes messages on between the program and the other ranks. Waits for at most limit_ns. */
void ranks_carry(struct ranks *ranks, int64_t limit_ns);

/* Ends a run. `code` is not the exit code of the run's program: it is OK unless this rank could not
 * start the program or was interrupted, in which case *error has the reason. Returns a common code
 * of all ranks like ranks_agree. After a code other than OK no further run begins. Rank 0 counts a
 * rank as lost if the rank does not report its code in time. */
enum exit_code ranks_close_run(struct ranks *ranks, enum exit_code code, struct error *error);

/* Returns whether this process is alone or is rank 0. Only such a process prints messages. */
bool ranks_speaks(void);

/* Returns USAGE if this process is one of several, else OK. `what` is the name of a command that
 * works only in a single process. Fills *error only at rank 0, which prints it. */
enum exit_code ranks_forbid(const char *what, struct error *error);

/* Disconnects from the other ranks and frees `ranks`. At the other ranks this function waits until
 * rank 0 also calls it. At rank 0, `is_merged` says whether the merged result contains the results
 * of the other ranks, which then remove their files. */
void ranks_end(struct ranks *ranks, bool is_merged);

unsigned ranks_number(const struct ranks *ranks);
/* Returns how many ranks there are: 1 if this process is alone. */
unsigned ranks_count(const struct ranks *ranks);

/* Returns whether this process is a rank other than 0, which follows the orders of rank 0. */
static inline bool ranks_follows(const struct ranks *ranks)
{
    return ranks_number(ranks) > 0;
}

/* Returns the host name of the machine of a rank. */
const char *ranks_machine(const struct ranks *ranks, unsigned rank);

/* Returns whether this rank has the lowest number among the ranks on its machine. */
bool ranks_is_first_here(const struct ranks *ranks);

/* Divides the sessions of the plan among the ranks in proportion to --weights. Fills facts->ranks,
 * facts->share and facts->machine_sessions. Returns USAGE and fills *error if the options do not
 * fit the ranks. */
enum exit_code ranks_divide_sessions(struct ranks *ranks, const struct plan *plan,
                                     struct facts *facts, struct error *error);
struct plan_share ranks_share(const struct ranks *ranks,
                              unsigned rank); /* valid after ranks_divide_sessions */

/* Divides a number of sessions among the ranks. Returns the number for this rank or, if
 * `of_machine`, for all ranks on its machine. Called after ranks_divide_sessions. A larger
 * `sessions` never gives a smaller result. Returns `sessions` if this process is alone. */
unsigned ranks_sessions_here(struct ranks *ranks, unsigned sessions, bool of_machine);

/* Returns the maximum number of sessions that a search can try. Each rank calls this function with
 * `most`, the maximum that its own *limit permits; the result is the smallest `most`. *binding
 * becomes the number of the rank with this `most`, and *limit the limit of that rank. Returns 0 if
 * rank 0 has ended or is lost, or if no session is possible. */
unsigned ranks_agree_most(struct ranks *ranks, unsigned most, struct limit *limit,
                          unsigned *binding);

/* Copies *text of rank 0 to *text of all other ranks. Called by all ranks. Returns false if rank 0
 * has ended or is lost, or memory runs out. */
bool ranks_give_text(struct ranks *ranks, struct buffer *text);

/* Sends a sign of life if one is due, and polls for messages. Called repeatedly during long work
 * before and after the run. A rank without signs of life counts as lost: before the run after a
 * minute, and after 15 s when rank 0 waits for the results. `ranks` may be NULL. */
void ranks_beat(struct ranks *ranks);

/* Called after a wait before the run has failed, because a rank was lost or a signal arrived.
 * Returns the exit code for this failure, and fills *error. The text of *error is empty at a rank
 * if rank 0 prints the reason. */
enum exit_code ranks_report_loss(const struct ranks *ranks, struct error *error);

/* Called by all ranks, each with its own exit code so far. Returns the same code at all ranks: the
 * first code that is not OK, or OK. `version` is the version of the client library, which must be
 * the same at all ranks, or NULL if unknown. If the code is not OK, *error at rank 0 names the rank
 * and the reason. */
enum exit_code ranks_agree(struct ranks *ranks, enum exit_code code, const char *version,
                           struct error *error);

/* At rank 0, puts the machine and the number of the rank before the text of *error, because
 * ranks_agree also does so for errors of other ranks. */
void ranks_prefix_error(const struct ranks *ranks, struct error *error);

/* ranks_set_tracing notes that this rank traces I/O; called before ranks_agree. After ranks_agree,
 * ranks_is_any_tracing returns at rank 0 whether any rank traces I/O. In a process without other
 * ranks, it returns true. */
void ranks_set_tracing(struct ranks *ranks);
bool ranks_is_any_tracing(const struct ranks *ranks);

/* Measures the clocks, and returns the moment at which the run begins on all ranks, a little later.
 * Called by all ranks after the last call of ranks_agree. Returns 0 if rank 0 has ended or is
 * lost. */
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

/* The progress of a rank at a level of a search, which is the trial of one number of sessions. A
 * rank enters the next stage only after all ranks have reached the present stage. */
enum ranks_stage {
    STAGE_RETIRES, /* surplus sessions leave */
    STAGE_LEFT,    /* surplus sessions have left; new sessions connect */
    STAGE_UP,      /* all sessions have connected and work */
    STAGE_HELD,    /* the sessions have worked for the whole time of --hold */
};

/* The state of a rank in a search. */
struct ranks_level_state {
    unsigned level; /* number of the level, from 1 */
    enum ranks_stage stage;
    bool has_failed; /* a session has failed to connect or to work */
    /* reason why the rank ends the search; SEARCH_GOES_ON: it does not end the search */
    enum search_end end;
};

/* The orders of rank 0 in a search. */
struct ranks_level_orders {
    unsigned level, sessions;   /* number of the level to try, and its sessions; 0: no level yet */
    enum ranks_stage stage;     /* the stage that all ranks have reached */
    bool has_failed;            /* the level has failed at some rank */
    unsigned noted;             /* number of the latest level that rank 0 has judged */
    enum level_outcome outcome; /* outcome of the level `noted`, for all ranks together */
    enum search_end end;
};

/* The state of a rank's sessions, which the rank sends to rank 0 while sessions live. In a run,
 * is_over implies is_done, and is_done implies is_up. In a search, is_up is always false. */
struct ranks_state {
    bool is_up;   /* all sessions have connected or failed */
    bool is_done; /* all sessions have done their work */
    bool is_over; /* all sessions have ended; the next message of the rank is its result */
    bool is_stopped;
    enum stop_reason reason;
    struct ranks_level_state search; /* all 0 in a run */
    uint64_t counters[RECORDER_COUNTERS];
};

/* The orders of rank 0 to all ranks. */
struct ranks_orders {
    int64_t go_ns; /* moment at which sessions may start to work; 0: not decided yet */
    bool is_stopped;
    enum stop_reason reason;
    bool is_done;  /* the work is done at all ranks: sessions may disconnect */
    uint64_t up;   /* number of connected sessions of all ranks; only at rank 0 */
    bool has_lost; /* a rank is lost; only at rank 0 */
    struct ranks_level_orders search; /* not used in a run */
};

/* Returns whether two states differ, apart from their counters. */
bool ranks_states_differ(const struct ranks_state *a, const struct ranks_state *b);

/* Sends *own, the state of this rank, and fills *orders with the current orders. Does not wait.
 * Rank 0 stops the run if fewer than `min_sessions` sessions are connected; the other ranks do not
 * use `min_sessions`. */
void ranks_exchange(struct ranks *ranks, const struct ranks_state *own, unsigned min_sessions,
                    struct ranks_orders *orders);

/* ranks_begin_level begins the next level of a search with `sessions` sessions, and sets *orders to
 * the orders for this level. ranks_note_level sets the outcome of the level. Only at rank 0; the
 * other ranks receive both with the orders in ranks_exchange. */
void ranks_begin_level(struct ranks *ranks, unsigned sessions, struct ranks_orders *orders);
void ranks_note_level(struct ranks *ranks, enum level_outcome outcome);

/* ranks_give_level, on a rank other than 0, sends *blob, a packed level, to rank 0 and empties
 * *blob. Rank 0 gets an empty level if *blob is empty or cannot be sent. ranks_take_level, at rank
 * 0, returns the next level that has arrived, or NULL; the caller frees it. *are_all becomes true
 * if the levels of all ranks have arrived, except for lost ranks. */
void ranks_give_level(struct ranks *ranks, struct buffer *blob);
void *ranks_take_level(struct ranks *ranks, unsigned *rank, size_t *size, bool *are_all);

/* Adds the latest reported counters of the other ranks to `total`, and the increase of these
 * counters since the previous call to `interval`. Only at rank 0; any thread. */
void ranks_add_others(struct ranks *ranks, uint64_t total[RECORDER_COUNTERS],
                      uint64_t interval[RECORDER_COUNTERS]);

/* Returns the sum of the latest reported values of one counter over the other ranks. Only at rank
 * 0; any thread. */
uint64_t ranks_read_others(struct ranks *ranks, enum recorder_counter counter);

/* ranks_give_result, on a rank other than 0, sends *blob, the packed result, to rank 0 and empties
 * *blob. If *blob is empty or cannot be sent, rank 0 gets an empty result, which it refuses.
 * ranks_await_merge waits until rank 0 has merged all results and calls ranks_end, but at most
 * limit_ns (0: no limit). It returns whether the merged result contains the result of this rank. */
void ranks_give_result(struct ranks *ranks, struct buffer *blob);
bool ranks_await_merge(struct ranks *ranks, int64_t limit_ns);

/* Waits for the next result at rank 0 and returns it; the caller frees it. Returns NULL if the
 * results of all ranks that are not lost have arrived. */
void *ranks_take_result(struct ranks *ranks, unsigned *rank, size_t *size);

/* Called at rank 0 for a rank whose result is damaged. The rank counts as lost and keeps its files,
 * but still takes part in ranks_end. */
void ranks_refuse_result(struct ranks *ranks, unsigned rank);

/* ranks_offer_lines lets rank 0 read the lines of a file of this rank, which is not rank 0. It is
 * called before ranks_give_result. The caller still owns the descriptor.
 * ranks_take_lines, at rank 0, returns the next lines of the file of a rank; the caller frees them.
 * It returns NULL after the last line. It also returns NULL, and sets *is_cut to true, if the lines
 * cannot be read. */
void ranks_offer_lines(struct ranks *ranks, int fd);
void *ranks_take_lines(struct ranks *ranks, unsigned rank, size_t *size, bool *is_cut);

/* Returns whether mpirun may have sent the signal that this process received. mpirun signals all
 * other processes after a rank has died: a rank then became silent before the signal and was lost
 * after it. */
bool ranks_may_signal(const struct ranks *ranks);

/* Returns, at rank 0, the last state that a lost rank reported. A rank with a refused result is
 * also lost. Returns NULL if the rank is not lost. */
const struct ranks_state *ranks_lost(const struct ranks *ranks, unsigned rank);

#endif
