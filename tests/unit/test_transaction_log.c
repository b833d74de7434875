/* Tests of measure/transaction_log.c: which turns are in the log, the order of its rows, and that
 * sessions do not wait for a slow disk. */
#include "unit/unit.h"

#include <math.h>
#include <pthread.h>

#include "measure/transaction_log.h"

enum {
    SESSIONS = 40,
    TURNS = 5000,
    THREADS = 4
};

TEST(no_log_takes_no_turn)
{
    const struct transaction_log_choice choice = transaction_log_choose(NULL, 0);
    assert_false(transaction_log_takes(&choice, 0));
    transaction_log_destroy(NULL);
}

/* The number of chosen turns is within five standard deviations of its mean, and each session has
 * its part of the chosen turns. A larger share includes the turns of a smaller share. Other seeds
 * and sessions choose other turns. */
TEST(the_seed_chooses_the_turns)
{
    static const double cases[] = {1e-9, 0.01, 0.25, 0.5, 0.999, 1};
    EACH_CASE (i, cases, "%g", cases[i]) {
        const double share = cases[i], all = (double)SESSIONS * TURNS;
        struct transaction_log *log = transaction_log_create(share, 3, SESSIONS);
        struct transaction_log *larger = transaction_log_create((share + 1) / 2, 3, SESSIONS);
        struct transaction_log *other = transaction_log_create(share, 4, SESSIONS);
        const struct transaction_log_choice first = transaction_log_choose(log, 0);
        size_t taken = 0, outside = 0, alike = 0, as_first = 0, most = 0;
        for (unsigned session = 0; session < SESSIONS; session++) {
            size_t of_session = 0;
            const struct transaction_log_choice choice = transaction_log_choose(log, session);
            const struct transaction_log_choice more = transaction_log_choose(larger, session);
            const struct transaction_log_choice others = transaction_log_choose(other, session);
            for (uint64_t turn = 0; turn < TURNS; turn++) {
                const bool is_taken = transaction_log_takes(&choice, turn);
                of_session += is_taken ? 1 : 0;
                outside += is_taken && !transaction_log_takes(&more, turn) ? 1 : 0;
                as_first += is_taken && transaction_log_takes(&first, turn) ? 1 : 0;
                alike += is_taken && transaction_log_takes(&others, turn) ? 1 : 0;
            }
            taken += of_session;
            most = of_session > most ? of_session : most;
        }
        assert_true(fabs((double)taken - share * all) <= 5 * sqrt(share * (1 - share) * all) + 1);
        assert_true((double)most <= share * TURNS + 6 * sqrt(share * (1 - share) * TURNS) + 1);
        assert_int_equal(outside, 0);
        /* sessions choose independently: two sessions share share * share of their turns */
        assert_true((double)as_first <= (1.2 * share * share * SESSIONS + share) * TURNS + 10);
        assert_true(fabs((double)alike - share * share * all) <= 5 * sqrt(share * share * all) + 1);
        transaction_log_destroy(log);
        transaction_log_destroy(larger);
        transaction_log_destroy(other);
    }
}

/* A thread that takes rows from the log, instead of the thread that writes them to the file. */
struct reader {
    pthread_t thread;
    struct transaction_log *log;
    size_t rows;
    uint64_t next_turn[SESSIONS]; /* the turn that each session's next row must have */
    size_t out_of_order;
};

static void *take_rows(void *argument)
{
    struct reader *reader = argument;
    struct transaction_log_row rows[TRANSACTION_LOG_CHUNK];
    bool is_ending;
    do {
        is_ending = transaction_log_wait(reader->log);
        size_t count;
        while ((count = transaction_log_take(reader->log, rows)) > 0) {
            for (size_t i = 0; i < count; i++) {
                uint64_t *next = &reader->next_turn[rows[i].session];
                reader->out_of_order += rows[i].turn == *next ? 0 : 1;
                *next = rows[i].turn + 1;
            }
            reader->rows += count;
        }
    } while (!is_ending);
    return NULL;
}

struct worker {
    pthread_t thread;
    struct transaction_log *log;
    unsigned first; /* the first of the worker's sessions */
};

static void *add_rows(void *argument)
{
    const struct worker *worker = argument;
    for (uint64_t turn = 0; turn < TURNS; turn++) {
        for (unsigned session = worker->first; session < SESSIONS; session += THREADS) {
            const struct transaction_log_row row = {.session = session, .turn = turn};
            transaction_log_add(worker->log, &row);
        }
    }
    return NULL;
}

static void add_from_threads(struct transaction_log *log)
{
    struct worker workers[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.log = log, .first = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, add_rows, &workers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
    }
}

/* The rings have room for all of these rows, even if no row is taken meanwhile. */
TEST(every_row_is_taken_in_the_order_of_its_session)
{
    static struct reader reader;
    reader.log = transaction_log_create(1, 1, SESSIONS);
    assert_non_null(reader.log);
    assert_int_equal(pthread_create(&reader.thread, NULL, take_rows, &reader), 0);
    add_from_threads(reader.log);
    transaction_log_end(reader.log);
    pthread_join(reader.thread, NULL);
    assert_int_equal(reader.rows, SESSIONS * TURNS);
    assert_int_equal(reader.out_of_order, 0);
    assert_int_equal(transaction_log_dropped(reader.log), 0);
    transaction_log_destroy(reader.log);
}

/* Rows are added while no row is taken, as if the disk stood still: adding must not wait. Rows for
 * which the rings have no room are counted, and the first rows of each session stay. */
TEST(a_disk_that_stands_still)
{
    static const unsigned cases[] = {1, 3, SESSIONS};
    EACH_CASE (i, cases, "%u sessions", cases[i]) {
        static struct reader reader;
        reader = (struct reader){.log = transaction_log_create(1, 1, cases[i])};
        assert_non_null(reader.log);
        add_from_threads(reader.log);
        add_from_threads(reader.log);
        transaction_log_end(reader.log);
        take_rows(&reader);
        assert_true(reader.rows <= TRANSACTION_LOG_ROWS);
        assert_true(reader.rows > TRANSACTION_LOG_ROWS - 16);
        assert_int_equal(reader.rows + transaction_log_dropped(reader.log), 2 * SESSIONS * TURNS);
        transaction_log_destroy(reader.log);
    }
}

/* Rows that go around the end of a ring stay in their order. Without rows, waiting ends by
 * itself. */
TEST(a_ring_goes_around)
{
    static struct transaction_log_row rows[TRANSACTION_LOG_CHUNK];
    struct transaction_log *log = transaction_log_create(1, 1, 1);
    assert_non_null(log);
    uint64_t added = 0, taken = 0;
    for (int round = 0; round < 5; round++) {
        while (added - taken < TRANSACTION_LOG_ROWS) { /* the ring is full */
            transaction_log_add(log, &(struct transaction_log_row){.turn = added++});
        }
        for (int i = 0; i < 100 || round == 4; i++) {
            const size_t count = transaction_log_take(log, rows);
            if (count == 0) {
                break;
            }
            for (size_t k = 0; k < count; k++) {
                assert_int_equal(rows[k].turn, taken + k);
            }
            taken += count;
        }
    }
    assert_int_equal(taken, added);
    assert_int_equal(transaction_log_dropped(log), 0);
    transaction_log_add(log, &(struct transaction_log_row){.turn = 7});
    assert_int_equal(transaction_log_take(log, rows), 1);
    assert_int_equal(rows[0].turn, 7);
    assert_false(transaction_log_wait(log)); /* a ring was half full, so this does not wait */
    assert_false(transaction_log_wait(log));
    transaction_log_end(log);
    assert_true(transaction_log_wait(log));
    assert_true(transaction_log_wait(log));
    transaction_log_destroy(log);
}
