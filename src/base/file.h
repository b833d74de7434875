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

/* Creates the missing folders above the last part of `path`. Returns 0 or errno. */
int file_make_parents(const char *path);

/* Returns whether `number`, an errno, means that the disk is full or that this program is out of
 * descriptors or memory: another path would not help. */
bool file_is_out_of_resources(int number);

/* Opens a regular file for reading. REJECTED, with the path and the reason in *error, for anything
 * else; a pipe without a writer does not block. */
enum status file_open(const char *path, FILE **file, struct error *error);

/* Returns whether `path` is a device, pipe or socket, which file_replace would remove. */
bool file_is_special(const char *path);

/* Removes a folder with its contents, without following links. Returns 0 or errno; a folder that
 * does not exist is a success. */
int file_remove_folder(const char *path);

/* Replaces the file `path` in `folder`, a descriptor or AT_FDCWD. Writes the content to a temporary
 * file and renames it, so a reader sees the old file or the new file, never a part. Only the owner
 * may write to the file, whatever the umask. `is_alone`: no other process writes this file; the
 * temporary file then has a fixed name, so a temporary file left by a killed process is replaced,
 * and the content is flushed to disk. Returns 0 or errno. */
int file_replace(int folder, const char *path, const struct buffer *content, bool is_alone);

#endif
