#include "docs/docs.h"

#include <errno.h>
#include <string.h>

#include "cli/option_table.h"

void docs_visit_options(void (*visit)(const struct option_entry *entry, const char *title,
                                      void *context),
                        void *context)
{
    for (const struct option_group *const *group = option_groups; *group != NULL; group++) {
        for (size_t i = 0; i < (*group)->count; i++) {
            visit(&(*group)->entries[i], (*group)->title, context);
        }
    }
}

void docs_command_name(const struct command_entry *entry, char *name, size_t size)
{
    snprintf(name, size, "append%s%s", entry->name == NULL ? "" : " ",
             entry->name == NULL ? "" : entry->name);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    bool is_written = true;
    if (strcmp(what, "man") == 0 && argc == 3) {
        is_written = docs_write_man(stdout, argv[2]);
    } else if (strcmp(what, "bash") == 0 && argc == 2) {
        docs_write_bash(stdout);
    } else if (strcmp(what, "zsh") == 0 && argc == 2) {
        docs_write_zsh(stdout);
    } else {
        fputs("usage: append_docs man TEMPLATE | bash | zsh\n", stderr);
        return 2;
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "append_docs: standard output: %s\n", strerror(errno));
        return 1;
    }
    return is_written ? 0 : 1;
}
