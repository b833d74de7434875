#include "cli/option_group.h"

#include <stdio.h>
#include <string.h>

#include "base/mono.h"
#include "base/units.h"

bool option_is_of(const struct option_entry *entry, enum command command)
{
    const bool is_of_runs = (entry->commands & (COMMAND_RUN | COMMAND_RUN_ALONE)) == COMMAND_RUN;
    return (entry->commands & command) != 0 || (command == COMMAND_SWEEP && is_of_runs);
}

/* Those of pgbench, with its meanings; whoever comes from there or from psql has them in the
 * fingers. A letter that means something else there stays free. */
char option_letter(const struct option_entry *entry)
{
    static const struct {
        char letter;
        const char *name;
    } letters[] = {{'c', "sessions"}, {'d', "database"}, {'h', "host"},
                   {'p', "port"},     {'P', "progress"}, {'q', "quiet"},
                   {'T', "duration"}, {'U', "user"},     {'V', "version"}};
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++) {
        if (strcmp(letters[i].name, entry->name) == 0) {
            return letters[i].letter;
        }
    }
    return '\0';
}

enum status option_refuse(struct error *error, const char *option, const char *value,
                          const char *right)
{
    error_set(error, ERROR_USAGE, 0, NULL, "--%s '%.60s' is not %s", option, value, right);
    return STATUS_REJECTED;
}

enum status option_store_count(const char *option, const char *value, uint64_t max, uint64_t *to,
                               struct error *error)
{
    if (units_parse_count(value, max, to) && *to > 0) {
        return STATUS_OK;
    }
    char shown[UNITS_TEXT_BYTES], right[80];
    snprintf(right, sizeof right, "a whole number from 1 to %s", units_format_count(max, shown));
    return option_refuse(error, option, value, right);
}

enum status option_store_duration(const char *option, const char *value, int64_t max_ns,
                                  int64_t *to, struct error *error)
{
    if (units_parse_duration(value, max_ns, to)) {
        return STATUS_OK;
    }
    char right[80];
    snprintf(right, sizeof right, "a time above 0 and up to %.0f s (5, 500ms, 30s, 2m, 1h)",
             (double)max_ns / (double)MONO_NS_PER_S);
    return option_refuse(error, option, value, right);
}

enum status option_store_text(const char *option, const char *value, const char **to,
                              struct error *error)
{
    if (value[0] == '\0') {
        return option_refuse(error, option, value, "allowed to be empty");
    }
    *to = value;
    return STATUS_OK;
}
