#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/options.h"
#include "compare/compare.h"
#include "compare/compare_text.h"

static enum exit_code code_of(const struct error *error)
{
    return error->kind == ERROR_MEMORY ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_USAGE;
}

/* One line that names the bounds that were crossed, of sweeps with the cell. */
static enum exit_code say_crossed(const struct comparison *comparison)
{
    char line[700];
    snprintf(line, sizeof line, "crossed:");
    const char *comma = " ";
    for (size_t i = 0; i < json_array_size(comparison->crossed); i++) {
        const json_t *entry = json_array_get(comparison->crossed, i);
        const json_t *sessions = json_object_get(entry, "sessions");
        char value[COMPARE_RATIO_BYTES], cell[64] = "";
        if (sessions != NULL) {
            snprintf(cell, sizeof cell, " with %lldx%lld", (long long)json_integer_value(sessions),
                     (long long)json_integer_value(json_object_get(entry, "records")));
        }
        const size_t used = strlen(line);
        const int added = snprintf(line + used, sizeof line - used, "%s%s%s (B/A is %s)", comma,
                                   json_string_value(json_object_get(entry, "bound")), cell,
                                   compare_crossed_ratio(entry, value));
        if (added < 0 || (size_t)added >= sizeof line - used) {
            memcpy(line + sizeof line - sizeof "...", "...", sizeof "...");
            break;
        }
        comma = ", ";
    }
    if (comparison->other_rows[0] != '\0') {
        const size_t used = strlen(line);
        snprintf(line + used, sizeof line - used, "; %s", comparison->other_rows);
    }
    return command_say(EXIT_CODE_EXPECTATION, line);
}

static enum exit_code write_report(const struct options *options,
                                   const struct comparison *comparison)
{
    if (options->config.is_json) {
        if (!compare_write_json(stdout, comparison) && !ferror(stdout)) {
            return command_say(EXIT_CODE_CLIENT_LIMIT, "out of memory for the comparison");
        }
    } else {
        compare_write_text(stdout, comparison);
    }
    return command_finish_output();
}

enum exit_code command_compare(int argc, char **argv)
{
    struct options options;
    struct error error;
    error_clear(&error);
    if (options_parse(&options, COMMAND_COMPARE, argc, argv, &error) != STATUS_OK) {
        return command_refuse(options.config.is_json, EXIT_CODE_USAGE, &error);
    }
    if (options.is_help) {
        help_print(COMMAND_COMPARE, stdout);
        return command_finish_output();
    }
    struct comparison comparison;
    enum status status = compare_read(&comparison, options.folders[0], options.folders[1],
                                      options.compare_threshold, &error);
    if (status != STATUS_OK) {
        return command_refuse(options.config.is_json, code_of(&error), &error);
    }
    enum exit_code code;
    status = compare_check_bounds(&comparison, options.fail_if, options.fail_if_count, &error);
    if (status != STATUS_OK) {
        code = command_refuse(options.config.is_json, code_of(&error), &error);
    } else {
        code = write_report(&options, &comparison);
        if (code == EXIT_CODE_OK && comparison.crossed_count > 0) {
            code = say_crossed(&comparison);
        }
    }
    compare_free(&comparison);
    return code;
}
