#include "load/table_mark.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/ask.h"
#include "base/random.h"
#include "base/text.h"

#define LOADING "loading, "
#define LOADED "loaded, "

enum {
    HASH_DIGITS = 16,
    WHAT_BYTES = 160,
    COLUMNS_SHOWN = 60,
    /* maximum number of dependent tables whose marks are read; further tables count as made by
     * others */
    CLAIMS_MAX = 32
};

/* Hashes a text. Ignores upper and lower case, because some databases distinguish upper and lower
 * case in names and others do not. */
static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0;
    for (; *text != '\0'; text++) {
        hash = random_mix(hash ^ (unsigned char)tolower((unsigned char)*text));
    }
    return random_mix(hash);
}

/* Writes the two hashes of a mark. `where` is the table's place, as statements->place returns it.
 * `other` is the text before the mark in the comment. */
static void write_hashes(const struct table_mark_place *place, const char *where, const char *other,
                         char *text, size_t size)
{
    snprintf(text, size, "%016" PRIx64 "-%016" PRIx64,
             random_mix(hash_text(place->table_name) ^ random_mix(hash_text(where))) ^
                 hash_text(other),
             hash_text(place->rows));
}

/* Splits a comment into the mark and the rest, and interprets the mark. */
static void read_comment(const struct table_mark_place *place, const char *where,
                         const char *comment, struct table_mark *mark)
{
    char hashes[2 * HASH_DIGITS + 2];
    const char *const begin = strstr(comment, TABLE_MARK_PREFIX);
    const size_t length = begin == NULL ? 0 : strlen(begin);
    const size_t before = begin == NULL ? strlen(comment) : (size_t)(begin - comment);
    mark->is_cut = before >= sizeof mark->other;
    snprintf(mark->other, sizeof mark->other, "%.*s", (int)before, comment);
    write_hashes(place, where, mark->other, hashes, sizeof hashes);
    const size_t hashed = sizeof hashes - 1;
    if (length < strlen(TABLE_MARK_PREFIX) + hashed || length >= sizeof mark->text ||
        strncmp(begin + length - hashed, hashes, HASH_DIGITS + 1) != 0) {
        return;
    }
    snprintf(mark->text, sizeof mark->text, "%s", begin);
    mark->is_valid = mark->is_made = true;
    mark->is_loading = strncmp(begin + strlen(TABLE_MARK_PREFIX), LOADING, strlen(LOADING)) == 0;
    mark->has_same_rows = strncmp(begin + length - hashed, hashes, hashed) == 0;
}

static bool take_text(void *context, const struct cell *cells, size_t count)
{
    char *text = context;
    if (count > 0) {
        ask_text(&cells[0], text, 2 * TABLE_MARK_BYTES);
    }
    return false;
}

/* Queries one text about the table; the text is "" if the answer is empty, or if the server refuses
 * the query. Returns OK, or LOST if the connection was lost. */
static enum status ask_about(const struct table_mark_place *place, const char *sql_template,
                             char text[2 * TABLE_MARK_BYTES], struct error *error)
{
    struct answer answer = {.take = take_text, .context = text};
    text[0] = '\0';
    const enum status status =
        ask_rows(place->adapter, place->conn, sql_template, place->table_name, &answer, error);
    if (status == STATUS_OK || status == STATUS_LOST) {
        return status;
    }
    text[0] = '\0';
    error_clear(error);
    return STATUS_OK;
}

/* Reads the table's own mark, and does not look for objects that depend on the table. If the table
 * has no mark, or if the server does not report the mark or the place, *mark says that this program
 * did not create the table. */
static enum status read_own(const struct table_mark_place *place, struct table_mark *mark,
                            struct error *error)
{
    const struct table_mark_statements *statements = place->connection->table_mark;
    char text[2 * TABLE_MARK_BYTES], where[2 * TABLE_MARK_BYTES];
    *mark = (struct table_mark){.is_valid = false};
    if (ask_about(place, statements->place, where, error) == STATUS_LOST ||
        ask_about(place, statements->read, text, error) == STATUS_LOST) {
        return STATUS_LOST;
    }
    if (where[0] != '\0') {
        read_comment(place, where, text, mark);
    }
    return STATUS_OK;
}

/* Objects that depend on a table. */
struct others {
    char why[TABLE_MARK_WHY_BYTES]; /* describes the first object that this program did not create;
                                       "" if no such object was found */
    size_t count;
    struct {
        char why[TABLE_MARK_WHY_BYTES];
        char name[ROW_NAME_BYTES];
    } marked_tables[CLAIMS_MAX]; /* tables whose comments contain TABLE_MARK_PREFIX; their marks are
                                    not checked yet */
};

static bool take_other(void *context, const struct cell *cells, size_t count)
{
    struct others *others = context;
    char why[TABLE_MARK_WHY_BYTES], name[ROW_NAME_BYTES] = "";
    if (count == 0) {
        return true;
    }
    ask_text(&cells[0], why, sizeof why);
    if (count > 1) {
        ask_text(&cells[1], name, sizeof name);
    }
    if (name[0] == '\0' || others->count == CLAIMS_MAX) {
        memcpy(others->why, why, sizeof others->why);
        return false;
    }
    memcpy(others->marked_tables[others->count].why, why, sizeof why);
    memcpy(others->marked_tables[others->count].name, name, sizeof name);
    others->count++;
    return true;
}

/* Runs a query of statements->others, which lists objects that depend on the table. Describes in
 * `why` the first object that this program did not create; "" if it created all of them. Returns
 * LOST if the connection was lost. */
static enum status find_other(const struct table_mark_place *place, const char *query,
                              char why[TABLE_MARK_WHY_BYTES], struct error *error)
{
    struct others others = {.count = 0};
    struct answer answer = {.take = take_other, .context = &others};
    enum status status =
        ask_rows(place->adapter, place->conn, query, place->table_name, &answer, error);
    if (status != STATUS_OK && status != STATUS_LOST) {
        error_clear(error);
        snprintf(others.why, sizeof others.why,
                 "the server does not report which objects depend on the table");
        status = STATUS_OK;
    }
    for (size_t i = 0; i < others.count && others.why[0] == '\0' && status == STATUS_OK; i++) {
        struct table_mark_place there = *place;
        struct table_mark mark;
        there.table_name = others.marked_tables[i].name;
        status = read_own(&there, &mark, error);
        if (!mark.is_made) {
            memcpy(others.why, others.marked_tables[i].why, sizeof others.why);
        }
    }
    memcpy(why, others.why, sizeof others.why);
    return status;
}

enum status table_mark_read(const struct table_mark_place *place, struct table_mark *mark,
                            struct error *error)
{
    const struct table_mark_statements *statements = place->connection->table_mark;
    *mark = (struct table_mark){.is_valid = false};
    enum status status = statements == NULL ? STATUS_OK : read_own(place, mark, error);
    for (size_t i = 0; mark->is_valid && status == STATUS_OK && statements->others[i] != NULL;
         i++) {
        status = find_other(place, statements->others[i], mark->why, error);
        if (status != STATUS_OK || mark->why[0] != '\0') {
            mark->is_valid = mark->is_loading = mark->has_same_rows = false;
        }
    }
    return status;
}

/* Writes the template with $0, $1, $6 to $9 and $$ replaced: see struct
 * table_mark_statements. */
static void write_template(struct buffer *sql, const char *sql_template,
                           const struct table_mark_place *place, const char *column,
                           const struct table_mark *old, const char *text)
{
    const char quote = place->connection->identifier_quote;
    for (; *sql_template != '\0'; sql_template++) {
        if (*sql_template != '$') {
            buffer_add(sql, sql_template, 1);
            continue;
        }
        switch (*++sql_template) {
        case '0':
            buffer_add_identifier(sql, place->table_name, quote);
            break;
        case '1': { /* the table's name as a literal */
            struct buffer name = {0};
            buffer_add_identifier(&name, place->table_name, quote);
            buffer_add_identifier(sql, buffer_text(&name), '\'');
            buffer_fini(&name);
            break;
        }
        case '6': { /* the text has no backslash: see table_mark_write */
            struct buffer comment = {0};
            buffer_add_format(&comment, "%s%s", old->other, text);
            buffer_add_identifier(sql, buffer_text(&comment), '\'');
            buffer_fini(&comment);
            break;
        }
        case '7':
            buffer_add_identifier(sql, column, quote);
            break;
        case '8':
            buffer_add_identifier(sql, text, quote);
            break;
        case '9':
            buffer_add_identifier(sql, old->text, quote);
            break;
        case '$':
            buffer_add_text(sql, "$");
            break;
        default:
            break;
        }
    }
}

static enum status execute(const struct table_mark_place *place, struct buffer *sql,
                           struct error *error)
{
    enum status status = STATUS_OK;
    if (!buffer_failed(sql)) {
        status = place->adapter->execute(place->conn, buffer_text(sql), error);
    }
    buffer_fini(sql);
    if (status != STATUS_LOST) {
        error_clear(error);
    }
    return status;
}

enum status table_mark_write(const struct table_mark_place *place, const char *column, bool is_new,
                             bool is_loading, struct error *error)
{
    const struct table_mark_statements *statements = place->connection->table_mark;
    char hashes[2 * HASH_DIGITS + 2], what[WHAT_BYTES] = "", text[TABLE_MARK_BYTES];
    char where[2 * TABLE_MARK_BYTES] = "";
    struct table_mark old;
    size_t length = 0;
    enum status status = table_mark_read(place, &old, error);
    if (statements == NULL || status != STATUS_OK || strchr(old.other, '\\') != NULL ||
        old.is_cut || !(is_new || old.is_made)) {
        return status;
    }
    if (ask_about(place, statements->place, where, error) == STATUS_LOST) {
        return STATUS_LOST;
    }
    if (where[0] == '\0') {
        return STATUS_OK;
    }
    for (const char *at = place->what; *at != '\0' && length + 1 < sizeof what; at++) {
        if (isalnum((unsigned char)*at) || strchr(" _.=,+-/", *at) != NULL) {
            what[length++] = *at;
        }
    }
    write_hashes(place, where, old.other, hashes, sizeof hashes);
    snprintf(text, sizeof text, "%s%s%s, %s", TABLE_MARK_PREFIX, is_loading ? LOADING : LOADED,
             what, hashes);
    if (old.is_made && statements->erase != NULL) {
        struct buffer sql = {0};
        write_template(&sql, statements->erase, place, column, &old, text);
        status = execute(place, &sql, error);
    }
    if (status != STATUS_LOST) {
        struct buffer sql = {0};
        write_template(&sql, statements->write, place, column, &old, text);
        status = execute(place, &sql, error);
    }
    if (status != STATUS_LOST && is_new && statements->write_parts != NULL) {
        struct buffer sql = {0};
        write_template(&sql, statements->write_parts, place, column, &old, text);
        status = execute(place, &sql, error);
    }
    return status == STATUS_LOST ? status : STATUS_OK;
}

bool table_mark_allows_drop(const struct table_mark *mark, const struct plan *plan,
                            const char *table_name)
{
    const size_t length = strlen(table_name);
    const char *at = plan->recreate_names;
    while (at != NULL && *at != '\0') {
        const size_t part = strcspn(at, ",");
        if (part == length && strncmp(at, table_name, length) == 0) {
            return true;
        }
        at += part + (at[part] == ',' ? 1 : 0);
    }
    return mark->is_valid;
}

enum status table_mark_refuse(const struct table_mark *mark, const struct table *table,
                              const char *name, int64_t rows, const char *remedy,
                              struct error *error)
{
    char columns[COLUMNS_SHOWN] = "", count[48] = "";
    size_t length = 0, shown = 0;
    while (shown < table->column_count) {
        const char *column = table->columns[shown].name;
        if (length + strlen(column) + sizeof ", ..." > sizeof columns) {
            break;
        }
        length += (size_t)snprintf(columns + length, sizeof columns - length, "%s%s",
                                   shown == 0 ? "" : ", ", column);
        shown++;
    }
    if (rows >= 0) {
        snprintf(count, sizeof count, "%s %s; ", UNITS_COUNT((uint64_t)rows),
                 units_plural((uint64_t)rows, "row", "rows"));
    }
    error_clear(error);
    error_set(error, ERROR_USAGE, 0, NULL,
              mark->is_made
                  ? "append made table '%.60s' (%scolumns %s%s), but %s, and leaves it as "
                    "it is: %s"
                  : "append did not make table '%.60s' (%scolumns %s%s)%s and leaves it as "
                    "it is: %s",
              name, count, columns, shown < table->column_count ? ", ..." : "", mark->why, remedy);
    return STATUS_FATAL;
}

enum status table_mark_refuse_drop(const struct table_mark *mark, const struct table *table,
                                   const char *name, int64_t rows, const char *option,
                                   struct error *error)
{
    char remedy[ROW_NAME_BYTES];
    snprintf(remedy, sizeof remedy, "%s=%.60s drops it anyway", option, name);
    return table_mark_refuse(mark, table, name, rows, remedy, error);
}
