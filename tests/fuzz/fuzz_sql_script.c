/* SQL from the user, split into statements. The statements are consecutive parts of the text. */
#include "fuzz/fuzz.h"

#include "base/ask.h"

static void split(const char *sql, unsigned lexis)
{
    const size_t length = strlen(sql);
    size_t used = 0;
    struct sql_script script = {.rest = sql, .lexis = lexis};
    while (sql_script_next(&script)) {
        fuzz_require(!buffer_failed(&script.statement), "there is memory for a statement");
        const char *statement = buffer_text(&script.statement);
        fuzz_require(*statement != '\0', "a statement is not empty");
        fuzz_require(script.rest >= sql && script.rest <= sql + length,
                     "the rest is a part of the script");
        const size_t taken = strlen(statement);
        fuzz_require((size_t)(script.rest - sql) >= used + taken &&
                         memcmp(script.rest - taken, statement, taken) == 0,
                     "a statement is the text before the rest");
        used = (size_t)(script.rest - sql);
        fuzz_require(script.kind <= SQL_SCRIPT_ROLLBACK, "a statement is of a known kind");
    }
    buffer_fini(&script.statement);
    const char *mark = sql_script_find_parameter(sql, lexis);
    fuzz_require(mark >= sql && mark <= sql + length && (*mark == '?' || *mark == '\0'),
                 "a parameter is a ? of the text, or its end");
    fuzz_require(sql_script_count_parameters(sql, lexis) <= length, "each ? is counted once");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *sql = fuzz_text(data, size);
    for (unsigned lexis = 0; lexis <= (SQL_BACKSLASHES | SQL_HASHES); lexis++) {
        split(sql, lexis);
    }
    free(sql);
    return 0;
}
