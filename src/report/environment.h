/* The machine and the program that a run was made with. Unknown texts are "", numbers 0. */
#ifndef REPORT_ENVIRONMENT_H
#define REPORT_ENVIRONMENT_H

#include <stdint.h>

#include "append/adapter.h"

#define ENVIRONMENT_UNLIMITED UINT64_MAX

struct environment_limit {
    uint64_t soft; /* ENVIRONMENT_UNLIMITED: no limit */
    uint64_t hard;
};

struct environment {
    char host[256];
    char kernel[256]; /* name, release and machine */
    char cpu_model[128];
    uint64_t cpus;        /* online */
    uint64_t cpus_usable; /* of these, allowed to this process */
    uint64_t memory_bytes;
    struct environment_limit open_files;
    struct environment_limit processes; /* threads count as processes */
    char client_version[128];           /* of the database's client library */
};

/* Reads what this machine says. `adapter` may be NULL. */
void environment_read(struct environment *environment, const struct adapter *adapter);

#endif
