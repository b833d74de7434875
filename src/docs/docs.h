/*
 * What is made from the tables of commands and options beside --help: the manual page and the
 * completions of shells. A program of the build, not part of append.
 */
#ifndef DOCS_DOCS_H
#define DOCS_DOCS_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/command_table.h"
#include "cli/option_group.h"

/* Writes the page from its template. False: the template has a name between @ that is not known, or
 * cannot be read. */
bool docs_write_man(FILE *stream, const char *template_path);

/* Write a completion; errors are left in the stream. */
void docs_write_bash(FILE *stream);
void docs_write_zsh(FILE *stream);

/* Calls `visit` for each option in the order of --help, with the title of its group. */
void docs_visit_options(void (*visit)(const struct option_entry *entry, const char *title,
                                      void *context),
                        void *context);

/* "append" or "append check". */
void docs_command_name(const struct command_entry *entry, char *name, size_t size);

#endif
