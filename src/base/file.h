/* Files and folders on disk. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "append/error.h"
#include "base/text.h"

/* Finds a shared library of the program, for example "append-mpi.so", in the program's folder or in
 * APPEND_MODULE_FOLDER, which is relative to the program's folder. Returns false if the library is
 * in neither folder; `path` is then the program's folder. */
bool file_find_module(const char *name, char *path, size_t size);

/* Creates the missing parent folders of `path`. Returns 0 or errno. */
int file_make_parents(const char *path);

/* Returns whether the errno `number` means that the disk is full or that this program is out of
 * descriptors or memory. A different path would then fail in the same way. */
bool file_is_out_of_resources(int number);

/* Opens a regular file for reading. Returns REJECTED, with the path and the reason in *error, if
 * the file cannot be opened or is not a regular file. Does not wait for the writer of a pipe. */
enum status file_open(const char *path, FILE **file, struct error *error);

/* Returns whether `path` is a device, pipe or socket, which file_replace would remove. */
bool file_is_special(const char *path);

/* Removes a folder with its contents, without following links. Returns 0 or errno; returns 0 also
 * if the folder does not exist. */
int file_remove_folder(const char *path);

/* Replaces the file `path` in `folder`, a descriptor or AT_FDCWD. Writes the content to a temporary
 * file and renames it, so a reader sees the old file or the new file, never a part. Only the owner
 * may write to the file, whatever the umask. With `is_alone`, no other process may write this file:
 * the temporary file has a fixed name, so that it replaces a temporary file left by a killed
 * process, and the content is flushed to disk. Returns 0 or errno. */
int file_replace(int folder, const char *path, const struct buffer *content, bool is_alone);

#endif
