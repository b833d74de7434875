/* The number of files and sockets that this process may have open. */
#ifndef LIMITS_OPEN_FILES_H
#define LIMITS_OPEN_FILES_H

#include <stdint.h>

#include "append/error.h"

/* Raises the soft limit up to the hard one when `needed` descriptors are more than the soft one
 * allows. REJECTED: even the hard limit is too low; *error says what is needed and how to raise
 * it. */
enum status open_files_allow(uint64_t needed, struct error *error);

#endif
