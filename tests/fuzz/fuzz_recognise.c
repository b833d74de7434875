/* Answers of servers to probes: at most one database recognizes an answer. */
#include "fuzz/fuzz.h"

#if APPEND_HAVE_POSTGRESQL
#include "adapters/dialect.h"
#endif
#if APPEND_HAVE_MACHBASE
#include "adapters/machbase.h"
#endif
#if APPEND_HAVE_MARIADB
#include "adapters/mariadb.h"
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned claims = 0;
    (void)data; /* unused if none of these adapters is built */
#if APPEND_HAVE_POSTGRESQL
    claims += dialect_postgresql_recognise(data, size) == PROBE_YES ? 1 : 0;
#endif
#if APPEND_HAVE_MARIADB
    claims += mariadb_recognise(data, size) == PROBE_YES ? 1 : 0;
#endif
#if APPEND_HAVE_MACHBASE
    claims += machbase_recognise(data, size) == PROBE_YES ? 1 : 0;
#endif
    fuzz_require(size > 0 || claims == 0, "an empty answer is not recognized");
    fuzz_require(claims < 2, "an answer belongs to one database");
    return 0;
}
