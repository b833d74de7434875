/* Reading files of /proc and of cgroup folders with as few system calls as possible. */
#ifndef MEASURE_PROC_FILE_H
#define MEASURE_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "measure/procfs.h"

/* Opens /proc. Negative: errno says why. The caller closes it. */
int proc_file_open_root(void);

/* Reads a small file in one read, as the kernel then makes it from one moment. Returns its length,
 * at most size, or -1 with errno. */
ssize_t proc_file_read(int directory, const char *path, char *bytes, size_t size);

/* Reads a file of any size into a buffer, whose old content is dropped. False: errno. */
bool proc_file_load(int directory, const char *path, struct buffer *buffer);

/* Reads /proc/PID/stat. False with errno when the process is gone or hidden. */
bool proc_file_process(int proc, pid_t pid, struct procfs_process *process);

/* Resident memory of this program in bytes, now and at its highest; 0 = unknown. */
size_t proc_file_own_rss_bytes(int proc);
uint64_t proc_file_own_peak_bytes(int proc);

#endif
