#include "base/number_text.h"

bool number_text_parse(const char *text, size_t length, int64_t *number)
{
    const bool is_negative = length > 0 && text[0] == '-';
    const uint64_t most = (uint64_t)INT64_MAX + (is_negative ? 1 : 0);
    uint64_t value = 0;
    size_t i = is_negative ? 1 : 0;
    if (i == length) {
        return false;
    }
    for (; i < length; i++) {
        const unsigned digit = (unsigned)(unsigned char)text[i] - '0';
        if (digit > 9 || value > (most - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    if (is_negative) {
        *number = value == 0 ? 0 : -(int64_t)(value - 1) - 1;
    } else {
        *number = (int64_t)value;
    }
    return true;
}

enum status number_text_refuse(size_t column, const char *text, size_t length, struct error *error)
{
    enum {
        SHOWN_MAX = 40
    };
    if (text == NULL) {
        error_set(error, ERROR_DATA, 0, NULL, "column %zu of the result is NULL", column + 1);
    } else {
        error_set(error, ERROR_DATA, 0, NULL, "column %zu of the result is no whole number: %.*s",
                  column + 1, (int)(length < SHOWN_MAX ? length : SHOWN_MAX), text);
    }
    return STATUS_REJECTED;
}

enum status number_text_refuse_columns(size_t found, size_t wanted, struct error *error)
{
    error_set(error, ERROR_DATA, 0, NULL, "the result has %zu columns instead of %zu", found,
              wanted);
    return STATUS_REJECTED;
}
