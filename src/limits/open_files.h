/* The number of files and sockets that this process may have open. */
#ifndef LIMITS_OPEN_FILES_H
#define LIMITS_OPEN_FILES_H

#include <stdint.h>

/* Raises the soft limit to the hard one when `needed` descriptors are more than the soft one
 * allows. Whether the hard one is enough is for limits_read to say. */
void open_files_allow(uint64_t needed);

#endif
