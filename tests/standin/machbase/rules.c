#include "rules.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const step_names[] = {
    [STEP_ACCEPT] = "accept",   [STEP_HANDSHAKE] = "handshake", [STEP_LOGIN] = "login",
    [STEP_EXECUTE] = "execute", [STEP_COUNT] = "count",         [STEP_FETCH] = "fetch",
    [STEP_FREE] = "free",       [STEP_OPEN] = "open",           [STEP_DATA] = "data",
    [STEP_ROW] = "row",         [STEP_CLOSE] = "close",         [STEP_DISCONNECT] = "disconnect",
};

static const char *const action_names[] = {
    [ACTION_NONE] = "",           [ACTION_DROP] = "drop",       [ACTION_RESET] = "reset",
    [ACTION_PARTIAL] = "partial", [ACTION_GARBAGE] = "garbage", [ACTION_CHOP] = "chop",
    [ACTION_STALL] = "stall",     [ACTION_DELAY] = "delay",     [ACTION_ERROR] = "error",
    [ACTION_LOSE] = "lose",       [ACTION_DOUBLE] = "double",   [ACTION_LIE] = "lie",
};

void rules_init(struct rules *rules)
{
    memset(rules, 0, sizeof *rules);
    pthread_mutex_init(&rules->lock, NULL);
}

void rules_fini(struct rules *rules)
{
    pthread_mutex_destroy(&rules->lock);
}

/* Takes the name at *text that ends before one of `ends`; its place in the list, or `count`. */
static size_t take_word(const char **text, const char *ends, const char *const *names, size_t count)
{
    const size_t length = strcspn(*text, ends);
    size_t found = 0;
    while (found < count &&
           (strlen(names[found]) != length || strncmp(names[found], *text, length) != 0)) {
        found++;
    }
    *text += length;
    return found;
}

static bool take_number(const char **text, uint64_t *number)
{
    char *end = NULL;
    if (isdigit((unsigned char)**text) == 0) {
        return false;
    }
    errno = 0;
    *number = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0;
}

static bool take_when(const char **text, struct rule *rule)
{
    const bool is_each = **text == '%';
    *text += is_each ? 1 : 0;
    if (!take_number(text, &rule->first) || rule->first == 0) {
        return false;
    }
    rule->period = is_each ? rule->first : 0;
    if (!is_each && **text == '+') {
        rule->period = 1;
        (*text)++;
    }
    return true;
}

static bool go_together(enum rule_action action, enum rule_step step)
{
    switch (action) {
    case ACTION_ERROR:
        return step != STEP_ACCEPT && step != STEP_HANDSHAKE;
    case ACTION_LOSE:
    case ACTION_DOUBLE:
        return step == STEP_ROW;
    case ACTION_LIE:
        return step == STEP_CLOSE;
    case ACTION_PARTIAL:
    case ACTION_GARBAGE:
    case ACTION_CHOP:
        return step != STEP_ROW && step != STEP_ACCEPT;
    default:
        return step != STEP_ROW;
    }
}

static bool parse(struct rule *rule, const char *text)
{
    const size_t action =
        take_word(&text, "=", action_names, sizeof action_names / sizeof action_names[0]);
    if (*text++ != '=') {
        return false;
    }
    const size_t step =
        take_word(&text, "@:", step_names, sizeof step_names / sizeof step_names[0]);
    if (action == ACTION_NONE || action > ACTION_LIE || step >= STEP_NONE ||
        !go_together((enum rule_action)action, (enum rule_step)step)) {
        return false;
    }
    *rule = (struct rule){.step = (enum rule_step)step, .first = 1, .period = 1};
    rule->hit.action = (enum rule_action)action;
    if (*text == '@') {
        text++;
        if (!take_when(&text, rule)) {
            return false;
        }
    }
    if (*text == ':') {
        text++;
        uint64_t number = 0;
        if (!take_number(&text, &number) || number > UINT32_MAX) {
            return false;
        }
        rule->hit.number = (uint32_t)number;
    }
    if (*text == ':') {
        snprintf(rule->hit.text, sizeof rule->hit.text, "%s", text + 1);
        return true;
    }
    return *text == '\0';
}

bool rules_add(struct rules *rules, const char *text)
{
    struct rule rule;
    if (!parse(&rule, text)) {
        return false;
    }
    pthread_mutex_lock(&rules->lock);
    const bool has_room = rules->count < RULES_MAX;
    if (has_room) {
        rules->rules[rules->count++] = rule;
        if (rule.step == STEP_ROW) {
            atomic_store(&rules->has_row, true);
        }
    }
    pthread_mutex_unlock(&rules->lock);
    return has_room;
}

void rules_clear(struct rules *rules)
{
    pthread_mutex_lock(&rules->lock);
    rules->count = 0;
    atomic_store(&rules->has_row, false);
    pthread_mutex_unlock(&rules->lock);
}

static bool applies(const struct rule *rule)
{
    if (rule->seen < rule->first) {
        return false;
    }
    const uint64_t after = rule->seen - rule->first;
    return rule->period == 0 ? after == 0 : after % rule->period == 0;
}

struct rule_hit rules_meet(struct rules *rules, enum rule_step step)
{
    struct rule_hit hit = {.action = ACTION_NONE};
    if (step == STEP_NONE || (step == STEP_ROW && !atomic_load(&rules->has_row))) {
        return hit;
    }
    pthread_mutex_lock(&rules->lock);
    for (size_t i = 0; i < rules->count; i++) {
        struct rule *rule = &rules->rules[i];
        if (rule->step == step) {
            rule->seen++;
            if (hit.action == ACTION_NONE && applies(rule)) {
                hit = rule->hit;
            }
        }
    }
    pthread_mutex_unlock(&rules->lock);
    return hit;
}
