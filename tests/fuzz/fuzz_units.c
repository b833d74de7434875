/* Numbers with units: an accepted number is in range, and the whole text is a number. */
#include "fuzz/fuzz.h"

#include "base/text.h"

/* The first 8 bytes of the input are the largest allowed value. The rest is the text. */
enum {
    MAX_BYTES = 8
};

static bool is_number(const char *text, const char *digits, const char *const *suffixes)
{
    const size_t length = strspn(text, digits);
    for (; *suffixes != NULL; suffixes++) {
        if (strcmp(text + length, *suffixes) == 0) {
            return length > 0;
        }
    }
    return false;
}

static void check_count(const char *text, uint64_t max)
{
    static const char *const suffixes[] = {"", "k", "K", "m", "M", "g", "G", NULL};
    uint64_t value;
    uint64_t again;
    char shown[UNITS_TEXT_BYTES];
    char plain[UNITS_TEXT_BYTES];
    if (!units_parse_count(text, max, &value)) {
        return;
    }
    fuzz_require(value <= max, "a count is not above its maximum");
    fuzz_require(is_number(text, "0123456789", suffixes), "a count is digits and a suffix");
    units_format_count(value, shown);
    size_t length = 0;
    for (const char *at = shown; *at != '\0'; at++) {
        if (*at != ',') {
            plain[length++] = *at;
        }
    }
    plain[length] = '\0';
    fuzz_require(units_parse_count(plain, max, &again) && again == value,
                 "a count is read as it was written");
}

static void check_bytes(const char *text, uint64_t max)
{
    static const char *const suffixes[] = {"",  "k", "K",   "KiB", "m", "M",
                                           "g", "G", "MiB", "GiB", NULL};
    uint64_t value;
    char shown[UNITS_TEXT_BYTES];
    if (units_parse_bytes(text, max, &value)) {
        fuzz_require(value <= max, "a size is not above its maximum");
        fuzz_require(is_number(text, "0123456789", suffixes), "a size is digits and a suffix");
        fuzz_require(strlen(units_format_bytes(value, shown)) > 2, "a size is written");
    }
}

static void check_duration(const char *text, int64_t max)
{
    static const char *const suffixes[] = {"", "ms", "s", "m", "min", "h", NULL};
    int64_t value;
    char shown[UNITS_TEXT_BYTES];
    if (units_parse_duration(text, max, &value)) {
        fuzz_require(value >= 0 && value <= max, "a duration is from 0 up to its maximum");
        fuzz_require(is_number(text, "0123456789.", suffixes), "a duration is a number and a unit");
        fuzz_require(strlen(units_format_ns(value, shown)) > 2, "a duration is written");
        units_format_seconds((uint64_t)value, shown);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t max = UINT64_MAX;
    if (size < MAX_BYTES) {
        return 0;
    }
    memcpy(&max, data, sizeof max);
    char *text = fuzz_text(data + MAX_BYTES, size - MAX_BYTES);
    check_count(text, max);
    check_bytes(text, max);
    check_duration(text, (int64_t)(max >> 1));
    free(text);
    return 0;
}
