/* Programs that are ranks, and send messages to other ranks through the process that started them.
 * In this test one process is both. */
#include "unit/unit.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranks/module.h"

enum {
    LARGE = 4 << 20,
    NUMBER = 3,
    COUNT = 7
};

/* The messages of a stand-in for MPI: the message that was sent last, and the next message to
 * receive. */
struct message {
    unsigned rank;
    char *bytes;
    size_t size;
    bool is_bulk;
};
static struct message sent, coming;

static bool start(unsigned *number, unsigned *count, char *why, size_t size)
{
    (void)why;
    (void)size;
    *number = NUMBER;
    *count = COUNT;
    return true;
}

static bool send(unsigned to, void *bytes, size_t size, bool is_bulk)
{
    free(sent.bytes);
    sent = (struct message){to, bytes, size, is_bulk};
    return to < COUNT;
}

static void *take(unsigned *from, size_t *size)
{
    void *bytes = coming.bytes;
    *from = coming.rank;
    *size = coming.size;
    coming.bytes = NULL;
    return bytes;
}

static const struct ranks_module carrier = {.start = start, .send = send, .take = take};
static const struct ranks_module *through, *program;
static uint32_t run;
/* Lets the relay receive a message for run `of_run` from another rank. Returns the message if it is
 * for the relay's own rank, else NULL. */
static void *come(unsigned from, uint32_t of_run, const char *bytes, size_t size)
{
    unsigned rank;
    size_t length;
    coming = (struct message){from, malloc(size + sizeof of_run), size + sizeof of_run, false};
    memcpy(coming.bytes, bytes, size);
    memcpy(coming.bytes + size, &of_run, sizeof of_run);
    void *own = through->take(&rank, &length);
    assert_null(coming.bytes);
    if (own != NULL) {
        assert_int_equal(rank, from);
        assert_int_equal(length, size);
    }
    return own;
}

/* Checks bytes and run of the message that was sent last. */
static void check_sent(unsigned to, uint32_t of_run, const char *bytes, size_t size)
{
    assert_int_equal(sent.rank, to);
    assert_int_equal(sent.size, size + sizeof of_run);
    assert_memory_equal(sent.bytes, bytes, size);
    assert_memory_equal(sent.bytes + size, &of_run, sizeof of_run);
}

static void check_taken(unsigned from, const char *bytes, size_t size)
{
    unsigned rank;
    size_t length;
    char *taken = program->take(&rank, &length);
    assert_non_null(taken);
    assert_int_equal(rank, from);
    assert_int_equal(length, size);
    assert_memory_equal(taken, bytes, size);
    free(taken);
}

static void check_nothing(void)
{
    unsigned rank;
    size_t length;
    assert_null(program->take(&rank, &length));
}

static int begin(void **state)
{
    (void)state;
    unsigned number, count;
    char why[100];
    through = relay_through(&carrier);
    assert_true(through->start(&number, &count, why, sizeof why));
    const int in = relay_open();
    run++;
    assert_return_code(in, 0);
    assert_int_equal(dup2(in, STDIN_FILENO), STDIN_FILENO);
    close(in);
    program = relay_of_program();
    assert_non_null(program);
    assert_true(program->start(&number, &count, why, sizeof why));
    assert_int_equal(number, NUMBER);
    assert_int_equal(count, COUNT);
    /* a program that this program starts is not a rank */
    assert_null(relay_of_program());
    return 0;
}

static int end(void **state)
{
    (void)state;
    program->end(true);
    relay_close();
    free(sent.bytes);
    sent.bytes = NULL;
    return 0;
}

static void *look(void)
{
    static unsigned rank;
    static size_t size;
    return through->take(&rank, &size);
}

TEST_BETWEEN(test_both_ways, begin, end)
{
    assert_true(program->send(2, strdup("one"), 3, false));
    assert_null(look());
    check_sent(2, run, "one", 3);
    assert_false(sent.is_bulk);
    assert_null(come(5, run, "two", 3));
    assert_null(come(0, run, "", 0));
    check_taken(5, "two", 3);
    check_taken(0, "", 0);
    check_nothing();
    /* a rank that cannot be reached is lost */
    assert_true(program->send(COUNT, strdup("no"), 2, false));
    assert_null(look());
    check_taken(COUNT, "", 0);
}

TEST_BETWEEN(test_own_messages, begin, end)
{
    assert_true(through->send(1, strdup("own"), 3, false));
    check_sent(1, 0, "own", 3);
    char *own = come(4, 0, "reply", 5);
    assert_memory_equal(own, "reply", 5);
    free(own);
    check_nothing();
}

TEST_BETWEEN(test_other_runs, begin, end)
{
    assert_null(come(1, run + 1, "early", 5));
    assert_null(come(1, run - 1, "late", 4));
    check_nothing();
    program->end(true);
    relay_close();
    assert_null(come(1, run, "after", 5));
    begin(state);
    assert_null(come(1, run - 1, "late", 4));
    check_nothing();
}

TEST_BETWEEN(test_ends, begin, end)
{
    assert_true(program->send(0, strdup("last"), 4, false));
    program->end(true);
    relay_close(); /* the program's last message is not lost */
    check_sent(0, run, "last", 4);
    assert_true(relay_tell_end(0));
    check_sent(0, run, "", 0);
    /* rank 0's next run ended before this rank's next run began */
    assert_null(come(0, run + 1, "", 0));
    begin(state);
    check_taken(0, "", 0);
    check_nothing();
    relay_close();
    check_taken(0, "", 0);
    check_nothing();
    assert_false(program->send(0, strdup("no"), 2, false));
}

static void *send_large(void *bytes)
{
    return program->send(6, bytes, LARGE, true) ? bytes : NULL;
}

TEST_BETWEEN(test_large, begin, end)
{
    char *bytes = malloc(LARGE), *copy = malloc(LARGE);
    for (size_t i = 0; i < LARGE; i++) {
        bytes[i] = copy[i] = (char)(i % 251);
    }
    pthread_t thread;
    void *is_sent;
    assert_int_equal(pthread_create(&thread, NULL, send_large, copy), 0);
    while (sent.bytes == NULL) {
        assert_null(look());
    }
    pthread_join(thread, &is_sent);
    assert_non_null(is_sent);
    check_sent(6, run, bytes, LARGE);
    assert_true(sent.is_bulk);
    /* a program that does not read its messages blocks no one */
    assert_null(come(6, run, bytes, LARGE));
    assert_null(come(6, run, "then", 4));
    unsigned rank;
    size_t size;
    char *taken;
    while ((taken = program->take(&rank, &size)) == NULL) {
        assert_null(look());
    }
    assert_int_equal(size, LARGE);
    assert_memory_equal(taken, bytes, LARGE);
    free(taken);
    assert_null(look());
    check_taken(6, "then", 4);
    free(bytes);
}
