/* Folders on disk. */
#ifndef BASE_FOLDER_H
#define BASE_FOLDER_H

#include <stdbool.h>
#include <stdio.h>

#include "append/error.h"

/* Makes the folders above the last part of `path` that are missing. Returns 0 or errno. */
int folder_make_parents(const char *path);

/* Whether an errno says that the disk, or this program's files or memory, are full: nothing that
 * another name for the folder would mend. */
bool folder_is_no_room(int number);

/* Opens a regular file to read. What stands in its place, such as a pipe, is not waited for:
 * REJECTED, *error has the path and what is wrong. */
enum status folder_open_file(const char *path, FILE **file, struct error *error);

/* True: there is a device, pipe or socket at `path`, which a rename of a file onto it would take
 * away. */
bool folder_is_special(const char *path);

/* Removes a folder with all that is in it, without following links out of it. Returns 0, also when
 * there is none, or errno. */
int folder_remove(const char *path);

#endif
