#include "base/ask.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/process.h"
#include "base/text.h"

#define UNREAD_PAUSE_NS (20 * MONO_NS_PER_MS)

enum status ask_rows(const struct adapter *adapter, struct adapter_conn *conn, const char *sql,
                     const char *text, struct answer *answer, struct error *error)
{
    const struct statement statement = {.sql = sql};
    struct column column = {.name = "text", .type = COLUMN_TEXT};
    const struct table table = {.column_count = 1, .columns = &column};
    const struct text_value value = {text, text != NULL ? (uint32_t)strlen(text) : 0};
    const struct column_data data = {.values.text = &value};
    const struct batch parameters = {.table = &table, .row_count = 1, .columns = &data};
    return adapter->run(conn, &statement, text != NULL ? &parameters : NULL, answer, error);
}

void ask_text(const struct cell *cell, char *text, size_t size)
{
    if (cell->is_null) {
        text[0] = '\0';
    } else if (cell->type == COLUMN_INT64) {
        snprintf(text, size, "%" PRId64, cell->as.int64);
    } else {
        snprintf(text, size, "%.*s", (int)cell->as.text.length, cell->as.text.bytes);
    }
}

const struct sql_templates *ask_templates(const struct connection_info *connection)
{
    static const struct sql_templates standard = {
        .count = "select count(*) from $0",
        .nothing = "select 1",
        .drop = "drop table if exists $0",
        .tags = "select distinct $1 from $0 where $1 is not null",
        .rows = "select coalesce($2, -1), coalesce($3, -1) from $0 where $1 = $4",
    };
    return connection->templates != NULL ? connection->templates : &standard;
}

void ask_write(struct buffer *sql, const char *sql_template,
               const struct connection_info *connection, const char *table_name,
               const struct table *columns, int tag)
{
    const char quote = connection->identifier_quote;
    for (; *sql_template != '\0'; sql_template++) {
        if (*sql_template != '$') {
            buffer_add(sql, sql_template, 1);
            continue;
        }
        const char name[] = {'n', *++sql_template, '\0'};
        switch (*sql_template) {
        case '0':
            buffer_add_identifier(sql, table_name, quote);
            break;
        case '4':
            buffer_add_format(sql, "%d", tag);
            break;
        case '5':
            buffer_add_format(sql, "'%s'", table_name);
            break;
        default:
            for (size_t c = 0; columns != NULL && c < columns->column_count; c++) {
                if (strcasecmp(columns->columns[c].name, name) == 0) {
                    buffer_add_identifier(sql, columns->columns[c].name, quote);
                }
            }
        }
    }
}

void ask_write_engine(struct buffer *sql, const char *create, const char *clause,
                      const char *engine)
{
    const char *const end = clause != NULL && engine != NULL ? strstr(create, clause) : NULL;
    buffer_add(sql, create, end != NULL ? (size_t)(end - create) : strlen(create));
    if (clause != NULL && engine != NULL) {
        buffer_add_text(sql, clause);
        buffer_add_text(sql, engine);
    }
}

size_t ask_write_target(struct buffer *sql, const struct table *table, char quote)
{
    size_t count = 0;
    buffer_add_identifier(sql, table->name, quote);
    for (size_t i = 0; i < table->column_count; i++) {
        if (!table->columns[i].is_generated) {
            buffer_add_text(sql, count > 0 ? ", " : " (");
            buffer_add_identifier(sql, table->columns[i].name, quote);
            count++;
        }
    }
    buffer_add_text(sql, ")");
    return count;
}

void ask_write_insert(struct buffer *sql, const struct table *table, char quote, size_t rows)
{
    buffer_add_text(sql, "insert into ");
    const size_t columns = ask_write_target(sql, table, quote);
    buffer_add_text(sql, " values ");
    for (size_t i = 0; i < rows * columns; i++) {
        if (i % columns > 0) {
            buffer_add_text(sql, ",?");
        } else {
            buffer_add_text(sql, i > 0 ? "),(?" : "(?");
        }
    }
    buffer_add_text(sql, ")");
}

static bool cell_number(const struct cell *cell, int64_t *number)
{
    if (!cell->is_null && cell->type == COLUMN_INT64) {
        *number = cell->as.int64;
        return true;
    }
    return !cell->is_null && text_parse_integer(cell->as.text.bytes, cell->as.text.length, number);
}

int64_t ask_number(const struct cell *cell)
{
    int64_t number = 0;
    return cell_number(cell, &number) ? number : 0;
}

bool ask_take_number(void *context, const struct cell *cells, size_t count)
{
    *(int64_t *)context = count > 0 ? ask_number(cells) : 0;
    return false;
}

static bool take_count(void *context, const struct cell *cells, size_t count)
{
    int64_t *rows = context;
    if (count != 1 || !cell_number(cells, rows)) {
        *rows = -1;
    }
    return false;
}

enum status ask_count(const struct adapter *adapter, struct adapter_conn *conn,
                      const struct statement *count, uint64_t *rows, struct error *error)
{
    int64_t counted = -1;
    struct answer answer = {.take = take_count, .context = &counted};
    const enum status status = adapter->run(conn, count, NULL, &answer, error);
    if (status == STATUS_OK && counted < 0) {
        error_set(error, ERROR_SERVER, 0, NULL, "the answer to count(*) is not a single number");
        return STATUS_REJECTED;
    }
    *rows = status == STATUS_OK ? (uint64_t)counted : *rows;
    return status;
}

struct statement ask_write_count(struct buffer *sql, const struct connection_info *connection,
                                 const char *table_name)
{
    ask_write(sql, ask_templates(connection)->count, connection, table_name, NULL, 0);
    /* not prepared through a pooler, because the pooler may pass the statement to a server session
     * in which it was not prepared */
    return (struct statement){
        .sql = sql->bytes, .name = "read", .is_prepared = !connection->facts.is_pooled};
}

enum status ask_count_table(const struct adapter *adapter, struct adapter_conn *conn,
                            const struct connection_info *connection, const char *table_name,
                            uint64_t *rows, struct error *error)
{
    struct buffer sql = {0};
    ask_write(&sql, ask_templates(connection)->count, connection, table_name, NULL, 0);
    const struct statement count = {.sql = buffer_text(&sql)};
    enum status status = STATUS_FATAL;
    if (buffer_failed(&sql)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a statement");
    } else {
        status = ask_count(adapter, conn, &count, rows, error);
    }
    buffer_fini(&sql);
    return status;
}

enum status ask_execute(const struct adapter *adapter, struct adapter_conn *conn,
                        struct buffer *sql, struct error *error)
{
    enum status status = STATUS_FATAL;
    if (buffer_failed(sql)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a statement");
    } else {
        status = adapter->execute(conn, buffer_text(sql), error);
    }
    buffer_fini(sql);
    return status;
}

enum status ask_drop_table(const struct adapter *adapter, struct adapter_conn *conn,
                           const struct connection_info *connection, const char *table_name,
                           struct error *error)
{
    struct buffer sql = {0};
    ask_write(&sql, ask_templates(connection)->drop, connection, table_name, NULL, 0);
    return ask_execute(adapter, conn, &sql, error);
}

enum status ask_count_shown(const struct adapter *adapter, struct adapter_conn *conn,
                            const struct statement *count, const struct ask_wait *wait,
                            uint64_t *rows, struct error *error)
{
    const struct statement unread = {.sql = wait->unread};
    const int64_t until_ns = mono_now_ns() + wait->limit_ns;
    enum status status = STATUS_OK;
    uint64_t left = unread.sql != NULL ? 1 : 0;
    while (status == STATUS_OK && left > 0 && mono_now_ns() < until_ns && !interrupt_requested()) {
        status = ask_count(adapter, conn, &unread, &left, error);
        if (wait->on_answer != NULL) {
            wait->on_answer(wait->context);
        }
        if (left > 0) {
            mono_sleep(UNREAD_PAUSE_NS);
        }
    }
    return status == STATUS_OK ? ask_count(adapter, conn, count, rows, error) : status;
}

struct reading {
    const struct ask_numbers *numbers;
    struct error error; /* reason why take_numbers refused a row */
};

static bool take_numbers(void *context, const struct cell *cells, size_t count)
{
    enum {
        SHOWN_MAX = 40
    };
    struct reading *reading = context;
    const struct ask_numbers *numbers = reading->numbers;
    int64_t values[ASK_NUMBERS_MAX];
    if (count != numbers->columns) {
        error_set(&reading->error, ERROR_DATA, 0, NULL,
                  "the result has the wrong number of columns: %zu instead of %zu", count,
                  numbers->columns);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const struct text_value *text = &cells[i].as.text;
        if (cells[i].is_null) {
            error_set(&reading->error, ERROR_DATA, 0, NULL, "column %zu of the result is NULL",
                      i + 1);
            return false;
        }
        if (!cell_number(&cells[i], &values[i])) {
            error_set(&reading->error, ERROR_DATA, 0, NULL,
                      "column %zu of the result is not a whole number: %.*s", i + 1,
                      (int)(text->length < SHOWN_MAX ? text->length : SHOWN_MAX), text->bytes);
            return false;
        }
    }
    return numbers->take(numbers->context, values);
}

enum status ask_numbers(const struct adapter *adapter, struct adapter_conn *conn, const char *sql,
                        const struct ask_numbers *numbers, struct error *error)
{
    struct reading reading = {.numbers = numbers};
    struct answer answer = {.take = take_numbers, .context = &reading};
    const struct statement statement = {.sql = sql, .reads_numbers = true};
    const enum status status = adapter->run(conn, &statement, NULL, &answer, error);
    if (status == STATUS_OK && error_is_set(&reading.error)) {
        *error = reading.error;
        return STATUS_REJECTED;
    }
    return status;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Returns whether `list` contains the word that begins at `at`. Each word in `list` is followed by
 * a blank. */
static bool is_in(const char *list, const char *at)
{
    size_t length = 0;
    while (is_word(at[length]) || (length > 0 && at[length] == '$')) {
        length++;
    }
    for (; length > 0 && *list != '\0'; list = strchr(list, ' ') + 1) {
        if (strncasecmp(list, at, length) == 0 && list[length] == ' ') {
            return true;
        }
    }
    return false;
}

unsigned sql_lexis_of(const char *dialect)
{
    static const struct {
        const char *dialect;
        unsigned lexis;
    } known[] = {
        {"mariadb", SQL_BACKSLASHES | SQL_HASHES},
        {"mysql", SQL_BACKSLASHES | SQL_HASHES},
        {"singlestore", SQL_BACKSLASHES | SQL_HASHES},
        {"clickhouse", SQL_BACKSLASHES},
        {"influxdb", SQL_BACKSLASHES},
        {"arangodb", SQL_BACKSLASHES},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].dialect, dialect) == 0) {
            return known[i].lexis;
        }
    }
    return 0;
}

static bool is_comment(const char *at, unsigned lexis)
{
    return (at[0] == '-' && at[1] == '-') || (at[0] == '/' && at[1] == '*') ||
           (at[0] == '#' && (lexis & SQL_HASHES) != 0);
}

/* Returns the end of a match of `length` bytes at `at`, or the end of the text `from` when `at` is
 * NULL (no match). */
static const char *end_of_match(const char *at, size_t length, const char *from)
{
    return at != NULL ? at + length : from + strlen(from);
}

/* Skips a quoted text that begins at `at`. A text that contains a doubled quote, as 'it''s', is
 * skipped in two calls, as two texts. */
static const char *skip_quoted(const char *at, bool has_escapes)
{
    const char quote = *at++;
    while (*at != '\0' && *at != quote) {
        at += *at == '\\' && has_escapes && at[1] != '\0' ? 2 : 1;
    }
    return *at == '\0' ? at : at + 1;
}

/* Skips the word, quoted text or comment that begins at `at`. Skips one character if none of these
 * begins there. */
static const char *skip_token(const char *at, unsigned lexis)
{
    const char *end = at;
    while (is_word(*end) || (end > at && *end == '$')) {
        end++;
    }
    if (end > at) { /* in PostgreSQL E'...' has backslash escapes */
        const bool is_prefix = end == at + 1 && (*at == 'e' || *at == 'E') && *end == '\'';
        return is_prefix ? skip_quoted(end, true) : end;
    }
    if (is_comment(at, lexis)) {
        return *at == '/' ? end_of_match(strstr(at + 2, "*/"), 2, at) : at + strcspn(at, "\n");
    }
    if (*at == '\'' || *at == '"' || *at == '`') {
        return skip_quoted(at, *at != '`' && (lexis & SQL_BACKSLASHES) != 0);
    }
    if (*at != '$') {
        return at + 1;
    }
    /* a dollar-quoted text of PostgreSQL: $tag$ ... $tag$ */
    do {
        end++;
    } while (is_word(*end));
    const size_t length = (size_t)(end + 1 - at);
    const char *close = *end == '$' ? strchr(end + 1, '$') : NULL;
    while (close != NULL && strncmp(close, at, length) != 0) {
        close = strchr(close + 1, '$');
    }
    return *end == '$' ? end_of_match(close, length, at) : at + 1;
}

const char *sql_script_find_parameter(const char *sql, unsigned lexis)
{
    while (*sql != '\0' && *sql != '?') {
        sql = skip_token(sql, lexis);
    }
    return sql;
}

size_t sql_script_count_parameters(const char *sql, unsigned lexis)
{
    size_t count = 0;
    while (*(sql = sql_script_find_parameter(sql, lexis)) != '\0') {
        count++;
        sql++;
    }
    return count;
}

/* Returns the end of the statement that begins at `at`: its semicolon or the end of the text. Skips
 * the semicolons in the body of a routine or trigger. */
static const char *find_end(const char *at, unsigned lexis)
{
    unsigned words = 0;
    unsigned depth = 0; /* number of open BEGIN and CASE */
    bool is_create = false, is_kind_known = false, is_routine = false, was_end = false;
    for (; *at != '\0' && (*at != ';' || depth > 0); at = skip_token(at, lexis)) {
        if (!is_word(*at)) {
            continue;
        }
        words++;
        is_create = words == 1 ? is_in("create ", at) : is_create;
        if (is_create && !is_kind_known && words < 8) {
            is_routine = is_in("trigger function procedure event ", at);
            is_kind_known = is_routine || is_in("table view index sequence type domain schema "
                                                "database rule policy ",
                                                at);
        }
        if (!is_routine) {
            continue;
        }
        /* END closes a BEGIN or CASE and decrements `depth`. END IF, END LOOP and so on do not
         * close a BEGIN or CASE, so their second word increments `depth` again. */
        const bool is_end = is_in("end ", at);
        if (is_in(was_end ? "if loop while repeat " : "begin case ", at)) {
            depth++;
        }
        depth -= is_end && depth > 0 ? 1 : 0;
        was_end = is_end;
    }
    return at;
}

static enum sql_script_kind kind_of(const char *at)
{
    const char *words[3] = {at, "", ""};
    for (size_t i = 1; i < 3; i++) {
        const char *next = words[i - 1];
        while (is_word(*next)) {
            next++;
        }
        words[i] = next + strspn(next, " \t\n\v\f\r");
    }
    if (is_in("begin ", at) || (is_in("start ", at) && is_in("transaction ", words[1]))) {
        return SQL_SCRIPT_BEGIN;
    }
    if (is_in("commit end ", at)) {
        return SQL_SCRIPT_COMMIT;
    }
    return is_in("rollback ", at) && !is_in("to ", words[1]) && !is_in("to ", words[2])
               ? SQL_SCRIPT_ROLLBACK
               : SQL_SCRIPT_OTHER;
}

bool sql_script_next(struct sql_script *script)
{
    const char *start = script->rest;
    const unsigned lexis = script->lexis;
    while (is_comment(start, lexis) || isspace((unsigned char)*start) || *start == ';') {
        start = skip_token(start, lexis);
    }
    if (*start == '\0') {
        return false;
    }
    script->rest = find_end(start, lexis);
    buffer_clear(&script->statement);
    buffer_add(&script->statement, start, (size_t)(script->rest - start));
    script->kind = kind_of(start);
    return true;
}

bool ask_keeps_failed_rows(const struct server_facts *facts, const struct table *table)
{
    const size_t length = strlen(table->engine);
    for (const char *at = facts->lasting_engines; *at != '\0' && length > 0;) {
        const size_t part = strcspn(at, ",");
        if (part == length && strncasecmp(at, table->engine, length) == 0) {
            return true;
        }
        at += part + (at[part] == ',');
    }
    return false;
}
