/* Connection strings: the target's user and password reach the driver unchanged, and passwords are
 * not shown. */
#include "fuzz/fuzz.h"

#include "adapters/odbc.h"
#include "base/url.h"

/* The lines of the input: a connection string, a user, a password, a database. The last three may
 * be missing. */
enum {
    TEXT,
    USER,
    PASSWORD,
    DATABASE,
    LINES,
    VALUE_BYTES = 8192
};

static void split(char *text, char *lines[LINES])
{
    for (size_t i = 0; i < LINES && text != NULL; i++) {
        lines[i] = text;
        char *end = strchr(text, '\n');
        if (end != NULL) {
            *end = '\0';
        }
        text = end == NULL ? NULL : end + 1;
    }
}

static void check_find(const char *text, const char *key, const char *wanted)
{
    static char value[VALUE_BYTES];
    const char *const keys[] = {key, NULL};
    const bool is_found = odbc_string_find(text, keys, value, sizeof value);
    if (wanted != NULL && strlen(wanted) < sizeof value) {
        fuzz_require(is_found && strcmp(value, wanted) == 0,
                     "a reader finds the value that was written");
    }
    char small[3] = {1, 1, 1};
    fuzz_require(odbc_string_find(text, keys, small, sizeof small) == is_found,
                 "a key is found even with a short buffer");
    fuzz_require(strncmp(small, value, sizeof small - 1) == 0, "a long value is cut to the buffer");
}

static void check_build(const struct target *target)
{
    struct buffer text;
    buffer_init(&text);
    odbc_string_build(&text, target);
    fuzz_require(!buffer_failed(&text), "there is memory for the text");
    check_find(buffer_text(&text), "UID", target->user);
    check_find(buffer_text(&text), "PWD", target->password);
    check_find(buffer_text(&text), "Database", target->database);
    fuzz_require(odbc_string_fault(buffer_text(&text)) == NULL ||
                     odbc_string_fault(target->path) != NULL,
                 "a valid text stays valid");
    buffer_fini(&text);
}

/* Checks that the redacted text does not depend on the password. */
static void check_redaction(const struct target *target)
{
    static const char *const passwords[] = {"hidden", "a};UID=b", " x;y=z"};
    char shown[3][512];
    for (size_t i = 0; i < 3; i++) {
        struct target with = *target;
        with.password = passwords[i];
        struct buffer text;
        buffer_init(&text);
        buffer_add_text(&text, "odbc:");
        odbc_string_build(&text, &with);
        url_redact_string(buffer_text(&text), shown[i], sizeof shown[i]);
        fuzz_require(strcmp(shown[i], shown[0]) == 0, "the password of a text is not shown");
        buffer_fini(&text);
    }
}

/* Checks that a password in the text itself is not shown, however the driver may read the text. */
static void check_password_in_text(const char *text)
{
    static const char *const keys[] = {"PWD", "Password", NULL};
    char password[64];
    char shown[512];
    char tiny[7];
    url_redact_string(text, shown, sizeof shown);
    url_redact_string(text, tiny, sizeof tiny);
    fuzz_require(strlen(tiny) < sizeof tiny, "a redacted text is cut to the buffer");
    /* change the password, unless the text has it with doubled braces or in several places */
    const bool has_password =
        odbc_string_find(text, keys, password, sizeof password) && password[0] != '\0';
    const char *at = has_password ? strstr(text, password) : NULL;
    if (at != NULL && strstr(at + 1, password) == NULL) {
        char *other = fuzz_change(text, (size_t)(at - text), strlen(password));
        char other_shown[512];
        url_redact_string(other, other_shown, sizeof other_shown);
        fuzz_require(strcmp(shown, other_shown) == 0, "a password is not shown");
        free(other);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    char *lines[LINES] = {NULL};
    split(text, lines);
    const struct target target = {.path = lines[TEXT],
                                  .user = lines[USER],
                                  .password = lines[PASSWORD],
                                  .database = lines[DATABASE]};
    check_password_in_text(target.path);
    check_find(target.path, "UID", NULL);
    if (odbc_string_fault(target.path) == NULL) {
        check_build(&target);
        check_redaction(&target);
    }
    free(text);
    return 0;
}
