#include "limits/open_files.h"

#include <sys/resource.h>

void open_files_allow(uint64_t needed)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < needed) {
        limit.rlim_cur = limit.rlim_max;
        /* a soft limit that is not above the hard one is always granted */
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}
