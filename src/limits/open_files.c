#include "limits/open_files.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

enum status open_files_allow(uint64_t needed, struct error *error)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) {
        return STATUS_OK;
    }
    if (limit.rlim_max < needed) {
        error_set(error, ERROR_LIMIT, 0, NULL,
                  "client limit: %" PRIu64 " open files are needed, the hard limit is %" PRIu64
                  " (ulimit -Hn): raise nofile in /etc/security/limits.conf or LimitNOFILE",
                  needed, (uint64_t)limit.rlim_max);
        return STATUS_REJECTED;
    }
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        error_set(error, ERROR_SYSTEM, errno, NULL,
                  "client limit: open files cannot be raised to %" PRIu64 ": %s",
                  (uint64_t)limit.rlim_max, strerror(errno));
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}
