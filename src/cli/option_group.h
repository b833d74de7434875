/*
 * What the files of options have in common: an option, a group of them, and the checks of values
 * that several options take. Each group is in a file of its own, option_NAME.c.
 */
#ifndef CLI_OPTION_GROUP_H
#define CLI_OPTION_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include "append/error.h"
#include "base/mono.h"
#include "cli/options.h"

#define OPTION_DAY_NS (24 * 3600 * MONO_NS_PER_S)

struct option_entry {
    unsigned commands; /* that take it: enum command, or-ed */
    const char *name;
    const char *argument; /* NULL: the option takes none */
    const char *help;
    /* Checks and stores the value; REJECTED: *error says what would be right. */
    enum status (*store)(struct options *options, const char *value, struct error *error);
};

struct option_group {
    const char *title; /* heading in --help */
    const struct option_entry *entries;
    size_t count;
};

extern const struct option_group option_group_connection;
extern const struct option_group option_group_work;
extern const struct option_group option_group_faults;
extern const struct option_group option_group_search;
extern const struct option_group option_group_expect;
extern const struct option_group option_group_sweep;
extern const struct option_group option_group_measuring;
extern const struct option_group option_group_report;
extern const struct option_group option_group_observe;

/* True when the command takes the option. A sweep takes what its runs do. */
bool option_is_of(const struct option_entry *entry, enum command command);

/* The letter of an option that has one, as -U of --user; else 0. */
char option_letter(const struct option_entry *entry);

/* One line an option: the names of the parameters are always the same. */
#define STORE(function)                                                                            \
    static enum status function(struct options *options, const char *value, struct error *error)

/* "--option 'value' is not <right>" */
enum status option_refuse(struct error *error, const char *option, const char *value,
                          const char *right);

/* A whole number from 1 to max. */
enum status option_store_count(const char *option, const char *value, uint64_t max, uint64_t *to,
                               struct error *error);

/* A time above 0 and up to max_ns. */
enum status option_store_duration(const char *option, const char *value, int64_t max_ns,
                                  int64_t *to, struct error *error);

/* Anything but "". */
enum status option_store_text(const char *option, const char *value, const char **to,
                              struct error *error);

#endif
