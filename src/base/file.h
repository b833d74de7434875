/* Files and folders on disk. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "append/error.h"
#include "base/text.h"

/* Finds a module that the program loads, such as "append-mpi.so": beside the program, or in the
 * folder of its modules, APPEND_MODULE_FOLDER. False: it is in neither, and *path is the program's
 * folder. */
bool file_find_module(const char *name, char *path, size_t size);

/* Makes the folders above the last part of `path` that are missing. Returns 0 or errno. */
int file_make_parents(const char *path);

/* Whether an errno says that the disk, or this program's files or memory, are full: nothing that
 * another name for the folder would mend. */
bool file_is_no_room(int number);

/* Opens a regular file to read. Anything else, such as a pipe, is not waited for:
 * REJECTED, *error has the path and what is wrong. */
enum status file_open(const char *path, FILE **file, struct error *error);

/* True: there is a device, pipe or socket at `path`, which a rename of a file onto it would take
 * away. */
bool file_is_special(const char *path);

/* Removes a folder with all that is in it, without following links out of it. Returns 0, also when
 * there is none, or errno. */
int file_remove_folder(const char *path);

/* Writes the content beside `path`, which is in the folder of a descriptor or AT_FDCWD, and renames
 * it: a reader sees the file as it was or as it is, never a part. Nobody but its owner may write to
 * it, whatever the umask. `is_alone`: no other process writes it, so that what a killed one left is
 * replaced, too; then it is also brought to the disk. Returns 0 or errno. */
int file_replace(int folder, const char *path, const struct buffer *content, bool is_alone);

#endif
