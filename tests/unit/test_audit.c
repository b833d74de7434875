/* Tests of append certify: its rows, the account, and the audit, which reads the rows back. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "unit/unit.h"

#include "certify/certify.h"

enum {
    SESSIONS = 3,
    SEED = 4711
};

/* An account of sessions with acknowledged transactions, and an audit of this account. */
struct world {
    struct account *account;
    struct fault_result result;
    struct audit audit;
};

static void begin(struct world *world, uint64_t transactions)
{
    struct error error = {.kind = ERROR_NONE};
    *world = (struct world){.account = account_create(SESSIONS, SEED, &error)};
    assert_non_null(world->account);
    world->account->has_transactions = true;
    for (unsigned s = 0; s < SESSIONS; s++) {
        world->account->each[s].next = transactions;
        for (uint64_t n = 0; n < transactions; n++) {
            *account_outcome(world->account, s, n) = OUTCOME_KEPT;
        }
    }
    assert_int_equal(audit_begin(&world->audit, world->account, &world->result, &error), STATUS_OK);
    world->audit.is_settled = true;
}

/* Begins another audit of the same account. */
static void begin_again(struct world *world)
{
    struct error error = {.kind = ERROR_NONE};
    audit_end(&world->audit);
    world->result = (struct fault_result){.rows_read = 0};
    assert_int_equal(audit_begin(&world->audit, world->account, &world->result, &error), STATUS_OK);
    world->audit.is_settled = true;
}

static void end(struct world *world)
{
    audit_end(&world->audit);
    account_destroy(world->account);
}

static void take(struct world *world, const struct rows_id *id)
{
    char text[ROWS_TEXT_MAX];
    const unsigned length = rows_text(SEED, id, text);
    audit_take(&world->audit, id, text, length, rows_checksum(SEED, id, text, length));
}

/* Passes the rows of a transaction to the audit, except the first `left_out` rows. Returns the
 * number of all rows of the transaction. */
static unsigned take_transaction(struct world *world, unsigned session, uint64_t number,
                                 unsigned left_out)
{
    unsigned sizes[ROWS_TABLES], taken = 0;
    rows_sizes(SEED, session, number, true, sizes);
    for (unsigned t = 0; t < ROWS_TABLES; t++) {
        for (unsigned place = 0; place < sizes[t]; place++) {
            if (taken++ >= left_out) {
                const struct rows_id id = {.table = t,
                                           .session = session,
                                           .number = number,
                                           .place = place,
                                           .size = sizes[t]};
                take(world, &id);
            }
        }
    }
    return taken;
}

/* Passes the rows of all transactions to the audit, except the rows of one transaction. Returns the
 * number of rows that were left out. */
static unsigned take_all_but(struct world *world, unsigned session, uint64_t number)
{
    unsigned rows = 0;
    for (unsigned s = 0; s < SESSIONS; s++) {
        for (uint64_t n = 0; n < world->account->each[s].next; n++) {
            const bool is_out = s == session && n == number;
            const unsigned taken = take_transaction(world, s, n, is_out ? UINT32_MAX : 0);
            rows = is_out ? taken : rows;
        }
    }
    return rows;
}

static void assert_findings(const struct world *world, const uint64_t wanted[FINDING_COUNT])
{
    for (size_t i = 0; i < FINDING_COUNT; i++) {
        if (world->result.findings[i] != wanted[i]) {
            fail_msg("%s: %" PRIu64 ", not %" PRIu64, finding_words[i].key,
                     world->result.findings[i], wanted[i]);
        }
    }
}

/* Returns the number of the session's first transaction with at least `least` rows in table t. */
static uint64_t find_transaction(unsigned session, unsigned t, unsigned least)
{
    for (uint64_t n = 0;; n++) {
        unsigned sizes[ROWS_TABLES];
        rows_sizes(SEED, session, n, true, sizes);
        if (sizes[t] >= least) {
            return n;
        }
    }
}

TEST(nothing_is_found_when_all_is_there)
{
    struct world world;
    begin(&world, 20);
    take_all_but(&world, SESSIONS, 0);
    audit_judge(&world.audit);
    assert_findings(&world, (const uint64_t[FINDING_COUNT]){0});
    assert_string_equal(world.result.first, "");
    end(&world);
}

TEST(a_transaction_that_is_lost_is_a_hole_if_a_later_one_is_there)
{
    struct world world;
    begin(&world, 20);
    const unsigned rows = take_all_but(&world, 1, 5);
    audit_judge(&world.audit);
    assert_findings(&world,
                    (const uint64_t[FINDING_COUNT]){[FINDING_LOST] = rows, [FINDING_HOLE] = 1});
    end(&world);

    begin(&world, 20);
    const unsigned last = take_all_but(&world, 1, 19);
    audit_judge(&world.audit);
    assert_findings(&world, (const uint64_t[FINDING_COUNT]){[FINDING_LOST] = last});
    end(&world);
}

TEST(a_finding_is_of_one_fault)
{
    struct world world;
    begin(&world, 20);
    take_all_but(&world, 2, 3);
    audit_judge(&world.audit);
    begin_again(&world);
    take_all_but(&world, 2, 3);
    audit_judge(&world.audit);
    assert_findings(&world, (const uint64_t[FINDING_COUNT]){0});
    end(&world);
}

TEST(in_doubt_may_be_there_or_not_but_must_not_change)
{
    struct world world;
    begin(&world, 20);
    const uint64_t there = 19, absent = 18;
    *account_outcome(world.account, 0, there) = OUTCOME_SENT;
    *account_outcome(world.account, 0, absent) = OUTCOME_SENT;
    const unsigned absent_rows = take_all_but(&world, 0, absent);
    audit_judge(&world.audit);
    assert_findings(&world, (const uint64_t[FINDING_COUNT]){0});
    assert_int_equal(*account_outcome(world.account, 0, there), OUTCOME_KEPT);
    assert_int_equal(*account_outcome(world.account, 0, absent), OUTCOME_REJECTED);

    begin_again(&world);
    const unsigned there_rows = take_all_but(&world, 0, there);
    audit_judge(&world.audit);
    assert_findings(&world, (const uint64_t[FINDING_COUNT]){
                                [FINDING_LOST] = there_rows, [FINDING_REJECTED] = absent_rows});
    end(&world);
}

TEST(half_transactions)
{
    static const struct {
        enum outcome outcome;
        uint64_t lost, rejected;
    } cases[] = {{OUTCOME_SENT, 0, 0}, {OUTCOME_KEPT, 1, 0}, {OUTCOME_REJECTED, 0, 1}};
    const uint64_t number = find_transaction(0, 1, 2);
    EACH_CASE (i, cases, "outcome %d", (int)cases[i].outcome) {
        struct world world;
        begin(&world, number + 1);
        take_all_but(&world, 0, number);
        *account_outcome(world.account, 0, number) = (uint8_t)cases[i].outcome;
        const unsigned rows = take_transaction(&world, 0, number, 1);
        audit_judge(&world.audit);
        assert_findings(&world, (const uint64_t[FINDING_COUNT]){[FINDING_LOST] = cases[i].lost,
                                                                [FINDING_REJECTED] =
                                                                    cases[i].rejected * (rows - 1),
                                                                [FINDING_HALF] = 1});
        end(&world);
    }
}

TEST(duplicates)
{
    struct world world;
    begin(&world, 20);
    take_all_but(&world, SESSIONS, 0);
    const unsigned rows = take_transaction(&world, 0, 7, 0);
    audit_judge(&world.audit);
    assert_findings(&world, (const uint64_t[FINDING_COUNT]){[FINDING_DUPLICATE] = rows});
    end(&world);
}

TEST(torn_rows_do_not_count_as_there)
{
    static const char *const changed[] = {"text", "checksum", "place", "no text"};
    EACH_CASE (i, changed, "%s", changed[i]) {
        struct world world;
        begin(&world, 20);
        const uint64_t number = find_transaction(1, 0, 2);
        take_all_but(&world, 1, number);
        take_transaction(&world, 1, number, 1);
        unsigned sizes[ROWS_TABLES];
        rows_sizes(SEED, 1, number, true, sizes);
        struct rows_id id = {.session = 1, .number = number, .size = sizes[0]};
        char text[ROWS_TEXT_MAX + 1];
        size_t length = rows_text(SEED, &id, text);
        int64_t checksum = rows_checksum(SEED, &id, text, (unsigned)length);
        text[length] = '!';
        length += i == 0 ? 1 : 0;
        checksum += i == 1 ? 1 : 0;
        id.place += i == 2 ? 1 : 0;
        length = i == 3 ? SIZE_MAX : length;
        audit_take(&world.audit, &id, text, length, checksum);
        audit_judge(&world.audit);
        assert_findings(&world, (const uint64_t[FINDING_COUNT]){
                                    [FINDING_TORN] = 1, [FINDING_LOST] = 1, [FINDING_HALF] = 1});
        end(&world);
    }
}

/* A row whose identity was not sent is foreign, with a right or a wrong checksum. */
TEST(foreign_rows_have_an_identity_that_was_not_sent)
{
    unsigned sizes[ROWS_TABLES];
    rows_sizes(SEED, 0, 0, true, sizes);
    const struct rows_id cases[] = {
        {.session = SESSIONS, .size = sizes[0]},
        {.number = 20, .size = sizes[0]},
        {.size = sizes[0] + 1},
        {.place = sizes[0], .size = sizes[0]},
    };
    EACH_CASE (i, cases, "case %zu", i) {
        struct world world;
        begin(&world, 20);
        take_all_but(&world, SESSIONS, 0);
        take(&world, &cases[i]);
        audit_take(&world.audit, &cases[i], "of another program", 18, 1);
        audit_judge(&world.audit);
        assert_findings(&world, (const uint64_t[FINDING_COUNT]){[FINDING_FOREIGN] = 2});
        end(&world);
    }
}

/* Returns the number of rows of a transaction. */
static unsigned rows_of(unsigned session, uint64_t number)
{
    unsigned sizes[ROWS_TABLES];
    rows_sizes(SEED, session, number, true, sizes);
    return sizes[0] + sizes[1];
}

static void assert_sums(const struct world *world, uint64_t acknowledged, uint64_t rejected,
                        uint64_t in_doubt)
{
    struct account_rows rows;
    account_sum(world->account, &rows);
    assert_int_equal(rows.acknowledged, acknowledged);
    assert_int_equal(rows.rejected, rejected);
    assert_int_equal(rows.in_doubt, in_doubt);
}

/* Each row in doubt is counted once, before and after the audits that find its outcome. */
TEST(sums_of_an_account)
{
    struct world world;
    begin(&world, 3);
    world.account->each[0].next = world.account->each[2].next = 2;
    world.account->each[0].acknowledged = rows_of(0, 0) + rows_of(0, 1);
    world.account->each[1].acknowledged = rows_of(1, 0);
    world.account->each[2].acknowledged = rows_of(2, 0);
    world.account->each[2].rejected = rows_of(2, 1);
    *account_outcome(world.account, 2, 1) = OUTCOME_REJECTED;
    *account_outcome(world.account, 1, 1) = OUTCOME_SENT;
    *account_outcome(world.account, 1, 2) = OUTCOME_SENT;
    const unsigned acknowledged = rows_of(0, 0) + rows_of(0, 1) + rows_of(1, 0) + rows_of(2, 0);
    const unsigned rejected = rows_of(2, 1), in_doubt = rows_of(1, 1) + rows_of(1, 2);
    assert_sums(&world, acknowledged, rejected, in_doubt);
    static const bool is_settled[] = {false, true};
    EACH_CASE (i, is_settled, "settled %d", is_settled[i]) {
        begin_again(&world);
        world.audit.is_settled = is_settled[i];
        for (unsigned s = 0; s < SESSIONS; s++) {
            take_transaction(&world, s, 0, 0);
        }
        take_transaction(&world, 0, 1, 0);
        take_transaction(&world, 1, 2, 0);
        audit_judge(&world.audit);
        assert_findings(&world, (const uint64_t[FINDING_COUNT]){0});
        assert_int_equal(*account_outcome(world.account, 1, 1),
                         is_settled[i] ? OUTCOME_REJECTED : OUTCOME_SENT);
        assert_sums(&world, acknowledged, rejected, in_doubt);
    }
    end(&world);
}

TEST(sizes_of_transactions)
{
    unsigned single = 0, batches = 0, both = 0;
    for (uint64_t n = 0; n < 10000; n++) {
        unsigned sizes[ROWS_TABLES], alone[ROWS_TABLES];
        rows_sizes(SEED, 0, n, true, sizes);
        rows_sizes(SEED, 0, n, false, alone);
        assert_in_range(sizes[0], 1, ROWS_FIRST_MAX);
        assert_in_range(sizes[1], 0, ROWS_SECOND_MAX);
        assert_int_equal(alone[1], 0);
        single += sizes[0] == 1 && sizes[1] == 0 ? 1 : 0;
        batches += sizes[0] > 1 && sizes[1] == 0 ? 1 : 0;
        both += sizes[1] > 0 ? 1 : 0;
    }
    assert_in_range(single, 2300, 2700);
    assert_in_range(batches, 4700, 5300);
    assert_in_range(both, 2300, 2700);
}

TEST(in_doubt_stays_in_doubt_while_the_server_goes_on)
{
    const uint64_t number = find_transaction(0, 1, 2);
    static const unsigned left_out[] = {UINT32_MAX, 1, 0};
    EACH_CASE (i, left_out, "left out %u", left_out[i]) {
        struct world world;
        begin(&world, number + 1);
        world.audit.is_settled = false;
        take_all_but(&world, 0, number);
        *account_outcome(world.account, 0, number) = OUTCOME_SENT;
        take_transaction(&world, 0, number, left_out[i]);
        audit_judge(&world.audit);
        assert_findings(&world, (const uint64_t[FINDING_COUNT]){0});
        assert_int_equal(*account_outcome(world.account, 0, number),
                         left_out[i] == 0 ? OUTCOME_KEPT : OUTCOME_SENT);
        end(&world);
    }
}

TEST(the_first_finding_is_a_new_one)
{
    static const uint64_t known[FINDING_COUNT] = {[FINDING_DUPLICATE] = 1000};
    struct world world;
    begin(&world, 20);
    world.audit.known = known;
    take_all_but(&world, 1, 4);
    take_transaction(&world, 0, 7, 0);
    audit_judge(&world.audit);
    /* sessions are numbered from 0, as in the column session_number */
    assert_part(world.result.first, "lost: session 1, transaction 4");
    end(&world);
}
