/* Bounds of --expect and --fail-if. An accepted bound has a name, a relation and a number, and is a
 * part of the input. A refused bound has an error. */
#include "fuzz/fuzz.h"

#include <math.h>

#include "figures/bound.h"
#include "report/expectations.h"

static void check_bound(const struct bound *bound, const char *text)
{
    fuzz_require(strstr(text, bound->text) != NULL, "a bound is a part of the input");
    fuzz_require(strchr(bound->text, ',') == NULL, "a comma ends a bound");
    fuzz_require(strstr(bound->text, bound->name) == bound->text && bound->name[0] != '\0',
                 "a bound begins with its name");
    fuzz_require(strstr(bound->text, bound_relation_texts[bound->relation]) != NULL,
                 "a bound has its relation");
    fuzz_require(isfinite(bound->number) && bound->number >= 0, "a bound has a number");
    const size_t length = strlen(bound->text), unit = strlen(bound->unit);
    fuzz_require(unit <= length && strcmp(bound->text + length - unit, bound->unit) == 0,
                 "a bound ends in its unit");
}

static void check_refusal(const struct error *error)
{
    fuzz_require(error->kind == ERROR_USAGE, "a refused bound is a usage error");
    fuzz_require(error->text[0] != '\0' && strpbrk(error->text, "\n\r\t") == NULL,
                 "a refusal is one line");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct error error;
    error_clear(&error);
    bool is_taken = true;
    size_t count = 0;
    for (const char *rest = text; rest != NULL && is_taken;) {
        struct bound bound;
        is_taken = bound_parse(&bound, &rest, &error) == STATUS_OK;
        if (is_taken) {
            check_bound(&bound, text);
            count++;
        }
    }
    struct expectations expectations = {0};
    struct error why;
    error_clear(&why);
    const struct operation_list operations = operation_list_all();
    if (expectations_add(&expectations, text, &operations, &why) == STATUS_OK) {
        fuzz_require(is_taken && expectations.count == count, "every bound is expected");
    } else {
        check_refusal(&why);
    }
    if (!is_taken) {
        check_refusal(&error);
    }
    free(text);
    return 0;
}
