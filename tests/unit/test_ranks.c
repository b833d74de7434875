/* Messages between ranks: who sent them, and what they say about the stage of a rank. */
#include "unit/unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "ranks/ranks_internal.h"

enum {
    COUNT = 4
};

/* The messages that a stand-in for MPI receives, in their order. */
struct arrival {
    unsigned from;
    enum kind kind;
    const char *payload;
    size_t size;
};
static const struct arrival *next, *end;

/* The message that was sent last, and the longest message that can be sent. */
static struct {
    enum kind kind;
    size_t size;
    char payload[8];
} last_sent;
static size_t most_bytes = SIZE_MAX;

static bool send(unsigned to, void *bytes, size_t size, bool is_bulk)
{
    const bool is_sent = to < COUNT && size <= most_bytes;
    (void)is_bulk;
    if (is_sent) {
        memset(&last_sent, 0, sizeof last_sent);
        memcpy(&last_sent.kind, bytes, sizeof last_sent.kind);
        last_sent.size = size - HEAD_BYTES;
        memcpy(last_sent.payload, (char *)bytes + HEAD_BYTES,
               MIN(last_sent.size, sizeof last_sent.payload));
    }
    free(bytes);
    return is_sent;
}

static void *take(unsigned *from, size_t *size)
{
    if (next == end) {
        return NULL;
    }
    char *bytes = calloc(1, HEAD_BYTES + next->size);
    assert_non_null(bytes);
    memcpy(bytes, &next->kind, sizeof next->kind);
    memcpy(bytes + HEAD_BYTES, next->payload, next->size);
    *from = next->from;
    *size = HEAD_BYTES + next->size;
    next++;
    return bytes;
}

static const struct ranks_module module = {.send = send, .take = take};
static struct peer peers[COUNT];
static struct ranks ranks;

static void begin(unsigned number, const struct arrival *arrivals, size_t count)
{
    next = arrivals;
    end = count == 0 ? arrivals : arrivals + count; /* without arrivals there is no array */
    memset(peers, 0, sizeof peers);
    ranks = (struct ranks){.module = &module,
                           .number = number,
                           .count = COUNT,
                           .peers = peers,
                           .last = &ranks.first,
                           .polled_ns = mono_now_ns()};
}

/* Lines that arrive after rank 0 has given up a rank do not count as lines of the next rank. */
TEST(test_lines_of_another_rank)
{
    static const struct arrival arrivals[] = {
        {3, KIND_CUT, "", 0}, {1, KIND_LINES, "late\n", 5}, {2, KIND_LINES, "own\n", 4}};
    bool is_cut;
    size_t size;
    begin(0, arrivals, COUNT_OF(arrivals));
    char *lines = ranks_take_lines(&ranks, 2, &size, &is_cut);
    assert_non_null(lines);
    assert_int_equal(size, 4);
    assert_memory_equal(lines, "own\n", 4);
    assert_false(is_cut);
    free(lines);
    assert_null(ranks_take_lines(&ranks, 3, &size, &is_cut));
    assert_true(is_cut);
    lines = ranks_take_lines(&ranks, 1, &size, &is_cut);
    assert_int_equal(size, 5);
    free(lines);
    assert_null(ranks.first);
}

static void check_result(unsigned rank)
{
    unsigned from;
    size_t size;
    char *bytes = ranks_take_result(&ranks, &from, &size);
    assert_non_null(bytes);
    assert_int_equal(from, rank);
    assert_int_equal(bytes[0], '0' + (int)rank);
    free(bytes);
}

/* A result counts even if its rank was lost before or is lost later, unless it is damaged. */
TEST(test_results)
{
    static const struct arrival arrivals[] = {{2, KIND_RESULT, "2", 1}, {1, KIND_RESULT, "1", 1}};
    unsigned from;
    size_t size;
    begin(0, arrivals, COUNT_OF(arrivals));
    ranks_lose(&ranks, 1);
    ranks_lose(&ranks, 3);
    assert_ptr_equal(ranks_lost(&ranks, 1), &peers[1].state);
    check_result(2);
    check_result(1);
    assert_null(ranks_take_result(&ranks, &from, &size));
    ranks_lose(&ranks, 1);
    assert_null(ranks_lost(&ranks, 1));
    ranks_refuse_result(&ranks, 2);
    ranks_lose(&ranks, 2);
    assert_ptr_equal(ranks_lost(&ranks, 2), &peers[2].state);
    assert_true(ranks_is_alive(&ranks, 2));
    assert_ptr_equal(ranks_lost(&ranks, 3), &peers[3].state);
    assert_false(ranks_is_alive(&ranks, 3));
}

/* A level is complete when every rank has sent its part of this level, or is lost. */
TEST(test_levels)
{
    static const struct arrival arrivals[] = {{3, KIND_LEVEL, "3", 1}, {1, KIND_LEVEL, "1", 1}};
    struct ranks_orders orders;
    unsigned from = 0;
    size_t size;
    bool are_all;
    begin(0, arrivals, COUNT_OF(arrivals));
    ranks_poll(&ranks);
    for (unsigned level = 1; level <= 2; level++) {
        ranks_begin_level(&ranks, 10, &orders);
        assert_int_equal(orders.search.level, level);
        free(ranks_take_level(&ranks, &from, &size, &are_all));
        assert_int_equal(from, level == 1 ? 3 : 1);
        assert_false(are_all);
    }
    ranks_lose(&ranks, 2);
    assert_null(ranks_take_level(&ranks, &from, &size, &are_all));
    assert_false(are_all);
    ranks_lose(&ranks, 3);
    assert_null(ranks_take_level(&ranks, &from, &size, &are_all));
    assert_true(are_all);
}

/* A result or level that a rank could not pack, or that cannot be sent, arrives empty: rank 0 does
 * not wait for it, and the rank does not count rank 0 as lost. */
TEST(test_nothing_to_give)
{
    static const struct {
        const char *text;
        size_t most_bytes, size;
        bool has_failed;
    } cases[] = {
        {"result", SIZE_MAX, 6, false},
        {"result", HEAD_BYTES + 5, 0, false},
        {"result", SIZE_MAX, 0, true},
        {"", SIZE_MAX, 0, false},
    };
    EACH_CASE (i, cases, "case %zu", i) {
        for (int is_level = 0; is_level < 2; is_level++) {
            struct buffer blob = {0};
            begin(1, NULL, 0);
            buffer_add_text(&blob, cases[i].text);
            blob.has_failed = cases[i].has_failed;
            most_bytes = cases[i].most_bytes;
            (is_level ? ranks_give_level : ranks_give_result)(&ranks, &blob);
            most_bytes = SIZE_MAX;
            assert_null(blob.bytes);
            assert_int_equal(last_sent.kind, is_level ? KIND_LEVEL : KIND_RESULT);
            assert_int_equal(last_sent.size, cases[i].size);
            assert_memory_equal(last_sent.payload, cases[i].text, cases[i].size);
            assert_false(ranks_have_ended(&ranks));
            assert_false(ranks.is_broken);
        }
    }
}

/* The last message of rank 0 says whether the results were merged. A loss of rank 0 does not change
 * this answer. */
TEST(test_end)
{
    static const struct ranks_end is_merged = {.is_merged = true}, is_not = {.is_merged = false};
    static const struct {
        const struct ranks_end *end;
        bool is_lost_before, is_lost_after, is_merged;
    } cases[] = {
        {&is_merged, false, false, true}, {&is_merged, true, false, true},
        {&is_merged, false, true, true},  {&is_not, false, false, false},
        {&is_not, true, false, false},    {&is_not, false, true, false},
    };
    EACH_CASE (i, cases, "case %zu", i) {
        const struct arrival arrival = {0, KIND_END, (const char *)cases[i].end,
                                        sizeof(struct ranks_end)};
        begin(1, &arrival, 1);
        if (cases[i].is_lost_before) {
            ranks_lose(&ranks, 0);
        }
        assert_int_equal(ranks_have_ended(&ranks), cases[i].is_lost_before);
        ranks_poll(&ranks);
        if (cases[i].is_lost_after) {
            ranks_lose(&ranks, 0);
        }
        assert_true(ranks_have_ended(&ranks));
        assert_int_equal(ranks_await_merge(&ranks, 0), cases[i].is_merged);
    }
}
