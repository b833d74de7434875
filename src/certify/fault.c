#include "certify/fault.h"

#include <string.h>

#include "base/mono.h"
#include "base/random.h"
#include "base/text.h"

const struct fault_words fault_words[FAULT_KINDS] = {
#define FAULT_WORDS(id, name, what) [FAULT_##id] = {name, what},
    FAULTS(FAULT_WORDS)
#undef FAULT_WORDS
};

const char *const fault_aim_words[] = {[FAULT_AT_RANDOM] = "at random",
                                       [FAULT_AFTER_COMMIT] = "after an acknowledgement",
                                       [FAULT_IN_CHECKPOINT] = "in a checkpoint"};

/* Copies `length` bytes of `text` to `word`, without the blanks at both ends. Returns false if they
 * do not fit into `size` bytes. */
static bool copy_word(char *word, size_t size, const char *text, size_t length)
{
    while (length > 0 && *text == ' ') {
        text++;
        length--;
    }
    while (length > 0 && text[length - 1] == ' ') {
        length--;
    }
    snprintf(word, size, "%.*s", (int)(length < size ? length : size - 1), text);
    return length < size;
}

/* Returns the kind with this name, or FAULT_KINDS if there is no such kind. */
static enum fault_kind find_kind(const char *name)
{
    int kind = 0;
    while (kind < FAULT_KINDS && strcmp(fault_words[kind].name, name) != 0) {
        kind++;
    }
    return (enum fault_kind)kind;
}

static enum status refuse_kind(const char *name, struct error *error)
{
    struct nearest nearest = {.word = name};
    char names[96] = "";
    for (size_t i = 0, used = 0; i < FAULT_KINDS; i++) {
        const char *separator = i + 1 == FAULT_KINDS ? " or " : ", ";
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i == 0 ? "" : separator,
                                 fault_words[i].name);
        nearest_offer(&nearest, fault_words[i].name);
    }
    if (name[0] != '\0' && nearest.name != NULL) {
        error_set(error, ERROR_USAGE, 0, NULL, "--faults: unknown fault '%s': did you mean '%s'?",
                  name, nearest.name);
    } else {
        error_set(error, ERROR_USAGE, 0, NULL, "--faults: unknown fault '%s': use %s", name, names);
    }
    return STATUS_REJECTED;
}

/* Reads one item, "kill:5". */
static enum status parse_item(const char *item, size_t length, struct fault_counts *counts,
                              struct error *error)
{
    char name[32], number[32];
    uint64_t count;
    const char *colon = memchr(item, ':', length);
    const size_t before = colon == NULL ? length : (size_t)(colon - item);
    (void)copy_word(name, sizeof name, item, before);
    const enum fault_kind kind = find_kind(name);
    if (name[0] == '\0' && colon == NULL) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--faults: an item is empty: write KIND:NUMBER, as in kill:5,power:20");
        return STATUS_REJECTED;
    }
    if (kind == FAULT_KINDS) {
        return refuse_kind(name, error);
    }
    if (colon == NULL) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--faults: the number of '%s' is missing: write %s:5 for 5 faults", name, name);
        return STATUS_REJECTED;
    }
    if (!copy_word(number, sizeof number, colon + 1, length - before - 1) ||
        !units_parse_count(number, FAULTS_MAX, &count) || count == 0) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--faults: '%s' is not a number of faults: write %s:N with N from 1 to %s",
                  number, name, UNITS_COUNT(FAULTS_MAX));
        return STATUS_REJECTED;
    }
    if (counts->counts[kind] > 0) {
        error_set(error, ERROR_USAGE, 0, NULL, "--faults: '%s' is given twice: give it once", name);
        return STATUS_REJECTED;
    }
    counts->counts[kind] = (unsigned)count;
    return STATUS_OK;
}

enum status fault_parse(const char *text, struct fault_counts *counts, struct error *error)
{
    *counts = (struct fault_counts){0};
    for (const char *item = text, *end; item != NULL; item = *end == '\0' ? NULL : end + 1) {
        end = item + strcspn(item, ",");
        if (parse_item(item, (size_t)(end - item), counts, error) != STATUS_OK) {
            return STATUS_REJECTED;
        }
    }
    if (fault_total(counts) > FAULTS_MAX) {
        error_set(error, ERROR_USAGE, 0, NULL, "--faults: %s faults are too many: at most %s",
                  UNITS_COUNT(fault_total(counts)), UNITS_COUNT(FAULTS_MAX));
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

size_t fault_total(const struct fault_counts *counts)
{
    size_t total = 0;
    for (size_t i = 0; i < FAULT_KINDS; i++) {
        total += counts->counts[i];
    }
    return total;
}

/* Draws a number from `low` to `high`, both included. */
static int64_t draw_between(uint64_t *state, int64_t low, int64_t high)
{
    *state += RANDOM_STEP;
    return low + (int64_t)(random_mix(*state) % ((uint64_t)(high - low) + 1));
}

/* Lists the faults kind by kind, gives them the aims in the order of `turns`, and then shuffles the
 * list. So each aim has its exact share of all faults, rounded, and for each kind of fault its
 * share is exact to within one fault. */
void fault_draw(const struct fault_counts *counts, uint64_t seed, struct fault *faults)
{
    static const enum fault_aim turns[] = {FAULT_AFTER_COMMIT, FAULT_IN_CHECKPOINT, FAULT_AT_RANDOM,
                                           FAULT_AFTER_COMMIT};
    static const int64_t aimed_ms[] = {[FAULT_AFTER_COMMIT] = 5, [FAULT_IN_CHECKPOINT] = 20};
    uint64_t state = random_mix(seed);
    size_t total = 0;
    for (size_t kind = 0; kind < FAULT_KINDS; kind++) {
        for (unsigned i = 0; i < counts->counts[kind]; i++, total++) {
            const enum fault_aim aim = turns[total % COUNT_OF(turns)];
            faults[total] = (struct fault){.kind = (enum fault_kind)kind, .aim = aim};
        }
    }
    for (size_t i = total; i > 1; i--) {
        const size_t other = (size_t)draw_between(&state, 0, (int64_t)i - 1);
        const struct fault fault = faults[i - 1];
        faults[i - 1] = faults[other];
        faults[other] = fault;
    }
    for (size_t i = 0; i < total; i++) {
        struct fault *fault = &faults[i];
        fault->after_ns = draw_between(&state, MONO_NS_PER_S, 3 * MONO_NS_PER_S);
        if (fault->aim != FAULT_AT_RANDOM) {
            fault->aimed_ns = draw_between(&state, 0, aimed_ms[fault->aim] * MONO_NS_PER_MS);
        }
        if (fault->kind == FAULT_STOP) {
            fault->stop_ns = draw_between(&state, MONO_NS_PER_S, 5 * MONO_NS_PER_S);
        }
    }
}
