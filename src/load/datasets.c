#include "load/datasets.h"

#include <ctype.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/ask.h"
#include "base/mono.h"
#include "base/prepared.h"
#include "base/process.h"
#include "base/text.h"
#include "load/line.h"
#include "load/table_mark.h"
#include "plan/facts.h"

#define TICK_NS (50 * MONO_NS_PER_MS)

/* How long chunks may take after a signal before their connections are cut. */
#define GRACE_NS (3 * MONO_NS_PER_S)

/* How long a busy database is asked again for one chunk, and the longest pause between two tries.
 */
#define BUSY_LIMIT_NS (60 * MONO_NS_PER_S)
#define BUSY_PAUSE_MAX_NS (250 * MONO_NS_PER_MS)

enum {
    CHUNK_ROWS = 10000,
    LOADERS_MAX = 64,
};

enum chunk_state {
    CHUNK_MISSING,
    CHUNK_CUT, /* some of its rows are there */
    CHUNK_THERE,
};

/* What is to be done next with a table. */
enum phase {
    PHASE_CHUNKS, /* all but the last, by any number of loaders */
    PHASE_INDEXES,
    PHASE_LAST, /* chunk */
    PHASE_FINISH,
    PHASE_DONE,
};

/* One table. */
struct work {
    const struct script_dataset *dataset;
    size_t number;
    struct buffer create; /* the statement that makes it */
    size_t index_count;   /* to be made; 0: none is, or `create` has its own */
    bool is_missing;
    bool is_made;           /* by datasets_make */
    struct table_mark mark; /* of the table that is there */
    uint64_t rows;          /* that are there, in chunks that need not be loaded */
    uint64_t chunks;        /* in all */
    uint8_t *states;        /* enum chunk_state of each; NULL: all are missing */
    const char *key;  /* column of the primary key that is the number of the row; NULL: none is */
    int64_t key_from; /* of row 0 */

    /* Under the loader's lock. */
    enum phase phase;
    uint64_t next;    /* chunk */
    unsigned running; /* tasks */
    uint64_t loaded;  /* rows, by this call */
};

struct datasets {
    size_t count; /* those that are declared */
    struct work *works;
    size_t statement_count;
    struct statement *statements;
    char **texts;          /* of the statements */
    bool is_wrong;         /* the load failed for a reason that will be there again */
    struct loader *loader; /* while they are loaded; owned */
};

static enum status refuse(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum status refuse(struct error *error, const char *format, ...)
{
    char text[ERROR_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    error_clear(error); /* the text may be of what it held */
    error_set(error, ERROR_USAGE, 0, NULL, "%s", text);
    return STATUS_FATAL;
}

static enum status lack_memory(struct error *error)
{
    error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the tables of the script");
    return STATUS_FATAL;
}

/* Puts what failed in front of the error's text. */
static void explain(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void explain(struct error *error, const char *format, ...)
{
    const struct error inner = *error;
    char what[ERROR_TEXT_BYTES / 2];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    const int room = (int)sizeof error->text - 3 - (int)strlen(what);
    snprintf(error->text, sizeof error->text, "%s: %.*s", what, room, inner.text);
}

static bool is_discarding(const struct plan *plan)
{
    return (plan->adapter->flags & ADAPTER_DISCARDS) != 0;
}

static enum status execute(const struct plan *plan, struct adapter_conn *conn, struct buffer *sql,
                           struct error *error)
{
    return buffer_failed(sql) ? lack_memory(error)
                              : plan->adapter->execute(conn, buffer_text(sql), error);
}

static bool begins_with(const char *sql, const char *words)
{
    for (; *words != '\0'; words++) {
        const size_t blanks = *words == ' ' ? strspn(sql, " \t\r\n") : 0;
        if (blanks == 0 && tolower((unsigned char)*sql) != *words) {
            return false;
        }
        sql += blanks > 0 ? blanks : 1;
    }
    return !isalnum((unsigned char)*sql) && *sql != '_';
}

/* Why the database does not have one of these statements; NULL: it may have them. */
static const char *find_lack(const struct connection_info *connection, const char *sql)
{
    struct sql_script script = {.rest = sql, .lexis = sql_lexis_of(connection->dialect)};
    const char *why = NULL;
    while (connection->lacks != NULL && why == NULL && sql_script_next(&script)) {
        for (const struct lack *lack = connection->lacks; lack->words != NULL; lack++) {
            why = begins_with(buffer_text(&script.statement), lack->words) ? lack->why : why;
        }
    }
    buffer_fini(&script.statement);
    return why;
}

/* What a type holds, as far as databases tell types apart. */
enum type_class {
    CLASS_NUMBER,
    CLASS_TEXT,
    CLASS_MOMENT,
    CLASS_OTHER,
};

static enum type_class class_of(enum column_type type)
{
    static const enum type_class classes[COLUMN_TYPE_COUNT] = {
        [COLUMN_UNSUPPORTED] = CLASS_OTHER, [COLUMN_BOOL] = CLASS_NUMBER,
        [COLUMN_INT16] = CLASS_NUMBER,      [COLUMN_INT32] = CLASS_NUMBER,
        [COLUMN_INT64] = CLASS_NUMBER,      [COLUMN_FLOAT32] = CLASS_NUMBER,
        [COLUMN_FLOAT64] = CLASS_NUMBER,    [COLUMN_DECIMAL] = CLASS_NUMBER,
        [COLUMN_TEXT] = CLASS_TEXT,         [COLUMN_BYTES] = CLASS_TEXT,
        [COLUMN_JSON] = CLASS_TEXT,         [COLUMN_DATE] = CLASS_MOMENT,
        [COLUMN_TIME] = CLASS_MOMENT,       [COLUMN_TIMESTAMP] = CLASS_MOMENT,
        [COLUMN_UUID] = CLASS_TEXT,         [COLUMN_IP4] = CLASS_TEXT,
        [COLUMN_IP6] = CLASS_TEXT,
    };
    return classes[type];
}

static const struct column *find_column(const struct table *table, const char *name)
{
    for (size_t c = 0; c < table->column_count; c++) {
        if (strcasecmp(table->columns[c].name, name) == 0) {
            return &table->columns[c];
        }
    }
    return NULL;
}

/* The script's name without folders, which fits into a message. */
static const char *short_name(const struct script *script)
{
    const char *slash = strrchr(script->name, '/');
    return slash == NULL ? script->name : slash + 1;
}

/* Where the mark of a table of the script is. `what` holds the words of the mark. */
static struct table_mark_place mark_place(const struct plan *plan, const struct setup *setup,
                                          struct adapter_conn *conn, const char *table_name,
                                          struct buffer *what)
{
    const struct script *script = plan->script;
    buffer_add_text(what, short_name(script));
    for (size_t i = 0; i < script->param_count; i++) {
        const struct script_param *param = &script->params[i];
        if (param->is_set) {
            buffer_add_format(what, " %s=%s", param->name, param->value);
        }
    }
    return (struct table_mark_place){.adapter = plan->adapter,
                                     .conn = conn,
                                     .connection = &setup->connection,
                                     .table_name = table_name,
                                     .what = buffer_text(what),
                                     .rows = script->hash};
}

static enum status read_mark(const struct datasets_place *place, const char *table_name,
                             struct table_mark *mark, struct error *error)
{
    struct buffer what = {0};
    const struct table_mark_place where =
        mark_place(place->plan, place->setup, place->conn, table_name, &what);
    const enum status status = table_mark_read(&where, mark, error);
    buffer_fini(&what);
    place->on_answer(place->context);
    return status;
}

static enum status write_mark(const struct plan *plan, const struct setup *setup,
                              struct adapter_conn *conn, const struct script_dataset *dataset,
                              bool is_new, struct error *error)
{
    const bool is_loading = is_new && dataset->rows > 0;
    struct buffer what = {0};
    const struct table_mark_place place = mark_place(plan, setup, conn, dataset->name, &what);
    const enum status status =
        table_mark_write(&place, dataset->table.columns[0].name, is_new, is_loading, error);
    buffer_fini(&what);
    return status;
}

/* What a user can do about a table that is not as the script declares it. */
static const char *remedy_for(const struct table_mark *mark, const char *table_name, char *text,
                              size_t size)
{
    if (mark->is_there) {
        return "append cleanup drops it, --recreate makes it again";
    }
    snprintf(text, size, "%s%s leaves it as it is; --recreate=%.60s drops it",
             mark->is_made ? mark->why : "append did not make it",
             mark->is_made ? ": append" : " and", table_name);
    return text;
}

enum {
    REMEDY_BYTES = 280
};
#define REMEDY(mark, name) remedy_for(mark, name, (char[REMEDY_BYTES]){""}, REMEDY_BYTES)

/* Whether the table that is there has the columns that the script declares. One that a statement of
 * the script's own makes may have others, too. */
static enum status check_columns(const struct datasets_place *place,
                                 const struct script_dataset *dataset, const struct table *table,
                                 const struct table_mark *mark, struct error *error)
{
    const char *script = short_name(place->plan->script);
    const bool has_own =
        script_text_for(&dataset->create, place->setup->connection.dialect) != NULL;
    const bool takes_any = table->is_missing || place->setup->connection.facts.has_no_columns;
    for (size_t c = 0; c < dataset->table.column_count && !takes_any; c++) {
        const struct column *declared = &dataset->table.columns[c];
        const struct column *found = find_column(table, declared->name);
        if (found == NULL) {
            return refuse(error, "table '%.60s' has no column '%.40s', which %.40s declares: %s",
                          dataset->name, declared->name, script, REMEDY(mark, dataset->name));
        }
        if (class_of(found->type) != class_of(declared->type)) {
            return refuse(
                error,
                "column '%.40s' of table '%.40s' is %.30s, which is not what %.40s declares: %s",
                declared->name, dataset->name, found->type_name, script,
                REMEDY(mark, dataset->name));
        }
    }
    for (size_t c = 0; c < table->column_count && !has_own && !takes_any; c++) {
        if (find_column(&dataset->table, table->columns[c].name) == NULL) {
            return refuse(
                error, "table '%.60s' has a column '%.40s', which %.40s does not declare: %s",
                dataset->name, table->columns[c].name, script, REMEDY(mark, dataset->name));
        }
    }
    return STATUS_OK;
}

/* The columns that appends to the table write, in the script's order: their types as the script
 * fills them, and the rest as the database told; `described` NULL: it has not. */
static enum status take_table(const struct script *script, size_t number,
                              const struct table *described, struct table *table,
                              struct error *error)
{
    const struct table *written = script_load_table(script, number);
    table_fini(table);
    enum status status = table_init(table, script->datasets[number].name, error);
    if (status == STATUS_OK && described != NULL) {
        memcpy(table->engine, described->engine, sizeof table->engine);
    }
    for (size_t c = 0; status == STATUS_OK && c < written->column_count; c++) {
        const struct column *own = &written->columns[c];
        const struct column *found = described == NULL ? NULL : find_column(described, own->name);
        status =
            table_add_column(table, found != NULL && found->type == own->type ? found : own, error);
    }
    return status;
}

/* Fills what a run needs of a table that is there. */
static enum status adopt(const struct datasets_place *place, size_t number,
                         const struct table *described, struct error *error)
{
    struct setup_table *out = &place->setup->tables[number];
    const struct script *script = place->plan->script;
    struct buffer sql = {0};
    const enum status status = take_table(script, number, described, &out->table, error);
    const struct connection_info *connection = &place->setup->connection;
    ask_write(&sql, ask_words(connection)->count, connection, script->datasets[number].name, NULL,
              0);
    free(out->count_sql);
    out->count_sql = sql.bytes;
    out->count =
        (struct statement){.sql = out->count_sql, .is_prepared = !connection->facts.is_pooled};
    return buffer_failed(&sql) ? lack_memory(error) : status;
}

/* Writes the columns of the key, if it has one. */
static void write_key(struct buffer *sql, const struct script_dataset *dataset, char quote)
{
    for (unsigned place = 1; place <= dataset->column_count; place++) {
        for (size_t c = 0; c < dataset->column_count; c++) {
            if (dataset->columns[c].key == place) {
                buffer_add_text(sql, place == 1 ? "" : ", ");
                buffer_add_identifier(sql, dataset->table.columns[c].name, quote);
            }
        }
    }
}

/* What stands behind the columns. */
static void write_tail(struct buffer *sql, const struct datasets_place *place,
                       const struct script_dataset *dataset)
{
    const struct connection_info *connection = &place->setup->connection;
    const char *const tail = connection->create_tail == NULL ? "" : connection->create_tail;
    const size_t length = strlen(tail);
    const bool takes_key = length > 2 && strcmp(tail + length - 2, "()") == 0;
    struct buffer key = {0}, whole = {0};
    write_key(&key, dataset, connection->identifier_quote);
    if (takes_key) {
        buffer_add(&whole, tail, length - 1);
        buffer_add_format(&whole, "%s)", buffer_text(&key));
    } else if (key.length > 0) {
        buffer_add_format(sql, ", primary key (%s)", buffer_text(&key));
    }
    buffer_add_text(sql, ")");
    ask_write_engine(sql, takes_key ? buffer_text(&whole) : tail,
                     place->plan->adapter->engine_clause, place->plan->engine);
    sql->has_failed = sql->has_failed || buffer_failed(&key) || buffer_failed(&whole);
    buffer_fini(&key);
    buffer_fini(&whole);
}

/* CREATE TABLE in this database's words. */
static enum status write_create(const struct datasets_place *place, struct work *work,
                                struct error *error)
{
    const struct script_dataset *const dataset = work->dataset;
    struct buffer *const sql = &work->create;
    const struct connection_info *connection = &place->setup->connection;
    const char *own = script_text_for(&dataset->create, connection->dialect);
    const char *options = script_text_for(&dataset->options, connection->dialect);
    const char *const why_no_table = find_lack(connection, own != NULL ? own : "create table");
    const char *const why_no_index =
        work->index_count > 0 ? find_lack(connection, "create index") : NULL;
    if (why_no_table != NULL) {
        return refuse(error, "%s", why_no_table);
    }
    if (why_no_index != NULL) {
        return refuse(error, "%s: create = {%s = ...} can make the table without, or with another",
                      why_no_index, connection->dialect);
    }
    if (own != NULL) {
        buffer_add_text(sql, own);
    } else if (ask_words(connection)->create != NULL) {
        ask_write(sql, ask_words(connection)->create, connection, dataset->name, NULL, 0);
    }
    if (sql->length > 0 || buffer_failed(sql)) {
        return buffer_failed(sql) ? lack_memory(error) : STATUS_OK;
    }
    if (connection->declare_column == NULL) {
        return refuse(
            error,
            "append has no statement to create it in %s: it needs create = {%s = \"CREATE "
            "TABLE ...\"}",
            connection->dialect, connection->dialect);
    }
    buffer_add_text(sql, "create table ");
    buffer_add_identifier(sql, dataset->name, connection->identifier_quote);
    for (size_t c = 0; c < dataset->column_count; c++) {
        const struct column *column = &dataset->table.columns[c];
        char type[160];
        if (!connection->declare_column(column, dataset->columns[c].is_numbered, type,
                                        sizeof type)) {
            return refuse(
                error, "%s has no type for its column '%.60s'%s", connection->dialect, column->name,
                dataset->columns[c].is_numbered ? ", as it does not number rows (key = \"auto\")"
                                                : "");
        }
        buffer_add_text(sql, c == 0 ? " (" : ", ");
        buffer_add_identifier(sql, column->name, connection->identifier_quote);
        buffer_add_format(sql, " %s", type);
    }
    write_tail(sql, place, dataset);
    buffer_add_format(sql, "%s%s", options == NULL ? "" : " ", options == NULL ? "" : options);
    return buffer_failed(sql) ? lack_memory(error) : STATUS_OK;
}

static uint64_t chunk_rows(const struct work *work, uint64_t chunk)
{
    const uint64_t left = work->dataset->rows - chunk * CHUNK_ROWS;
    return left < CHUNK_ROWS ? left : CHUNK_ROWS;
}

/* The column by which rows are found again. */
static void find_key(struct work *work)
{
    const struct script_dataset *dataset = work->dataset;
    for (size_t c = 0; c < dataset->column_count; c++) {
        const struct script_column *column = &dataset->columns[c];
        const enum column_type type = dataset->table.columns[c].type;
        const bool is_whole = type == COLUMN_INT16 || type == COLUMN_INT32 || type == COLUMN_INT64;
        if (column->key > 0 && is_whole && column->value != NULL &&
            draw_kind(column->value) == DRAW_ROW) {
            struct draw_stream stream = {.row = 0};
            struct draw_value value;
            draw_value(column->value, &stream, NULL, &value);
            work->key = dataset->table.columns[c].name;
            work->key_from = value.integer;
            return;
        }
    }
}

/* What a query for the chunks fills. */
struct survey {
    struct work *work;
    uint64_t rows; /* that it has found */
    bool is_odd;   /* a chunk has more rows than were to be loaded */
};

static bool take_chunk(void *context, const int64_t *values)
{
    struct survey *survey = context;
    struct work *work = survey->work;
    const uint64_t first = (uint64_t)values[0], rows = (uint64_t)values[1];
    if (values[0] < 0 || first >= work->dataset->rows || first % CHUNK_ROWS != 0 ||
        rows > chunk_rows(work, first / CHUNK_ROWS)) {
        survey->is_odd = true;
        return false;
    }
    const uint64_t chunk = first / CHUNK_ROWS;
    const bool is_whole = rows == chunk_rows(work, chunk);
    work->states[chunk] = is_whole ? CHUNK_THERE : CHUNK_CUT;
    work->rows += is_whole ? rows : 0;
    survey->rows += rows;
    return true;
}

/* A load was cut off: which chunks are there? */
static enum status survey_chunks(const struct datasets_place *place, struct work *work,
                                 uint64_t rows, struct error *error)
{
    const struct script_dataset *dataset = work->dataset;
    const char quote = place->setup->connection.identifier_quote;
    struct buffer key = {0}, sql = {0};
    work->states = calloc(work->chunks, 1);
    buffer_add_text(&key, "(");
    buffer_add_identifier(&key, work->key, quote);
    buffer_add_format(&key, " - (%" PRId64 "))", work->key_from);
    const char *k = buffer_text(&key);
    buffer_add_format(&sql, "select %s - %s %% %d, count(*) from ", k, k, CHUNK_ROWS);
    buffer_add_identifier(&sql, dataset->name, quote);
    buffer_add_format(&sql, " where %s between 0 and %" PRIu64 " group by %s - %s %% %d", k,
                      dataset->rows - 1, k, k, CHUNK_ROWS);
    struct survey survey = {.work = work};
    const struct ask_numbers numbers = {2, take_chunk, &survey};
    enum status status = STATUS_FATAL;
    if (work->states == NULL || buffer_failed(&key) || buffer_failed(&sql)) {
        lack_memory(error);
    } else {
        status = ask_numbers(place->plan->adapter, place->conn, buffer_text(&sql), &numbers, error);
    }
    buffer_fini(&key);
    buffer_fini(&sql);
    if (status == STATUS_OK && (survey.is_odd || survey.rows != rows)) {
        return refuse(error, "table '%.80s' has rows that %.60s does not declare: %s",
                      dataset->name, short_name(place->plan->script),
                      REMEDY(&work->mark, dataset->name));
    }
    return status;
}

/* A table that is there has all of its rows, or is to get the others: only one that append made,
 * and whose load was cut off or never began. */
static enum status check_rows(const struct datasets_place *place, struct work *work,
                              const struct table *table, struct error *error)
{
    const struct plan *plan = place->plan;
    const struct script_dataset *dataset = work->dataset;
    const struct setup_table *counted = &place->setup->tables[work->number];
    const char *script = short_name(plan->script);
    const struct ask_wait wait = {.unread = ask_words(&place->setup->connection)->unread,
                                  .limit_ns = ASK_UNREAD_NS,
                                  .on_answer = place->on_answer,
                                  .context = place->context};
    uint64_t *const before = setup_rows_before(place->setup, counted);
    const enum status status =
        ask_count_shown(plan->adapter, place->conn, &counted->count, &wait, before, error);
    place->on_answer(place->context);
    const uint64_t rows = *before;
    if (status != STATUS_OK || dataset->rows == 0 || rows == dataset->rows) {
        work->phase = PHASE_DONE;
        work->rows = status == STATUS_OK ? rows : 0;
        return status;
    }
    if (!work->mark.is_there) {
        char remedy[REMEDY_BYTES];
        snprintf(remedy, sizeof remedy,
                 "%.40s declares %s rows; --recreate=%.60s makes it again, append cleanup "
                 "--drop=%.60s drops it",
                 script, UNITS_COUNT(dataset->rows), dataset->name, dataset->name);
        return table_mark_refuse(&work->mark, table, dataset->name, (int64_t)rows, remedy, error);
    }
    const bool was_cut_off = work->mark.is_loading && work->mark.has_rows_of && work->key != NULL;
    const bool can_go_on = rows < dataset->rows && (rows == 0 || was_cut_off);
    if (plan->command == COMMAND_PREPARE && can_go_on) {
        return rows == 0 ? STATUS_OK : survey_chunks(place, work, rows, error);
    }
    return refuse(error, "table '%.60s' has %s rows, and %.40s declares %s: %s", dataset->name,
                  UNITS_COUNT(rows), script, UNITS_COUNT(dataset->rows),
                  can_go_on ? "append prepare loads the others, --recreate all of them"
                            : REMEDY(&work->mark, dataset->name));
}

/* The next column of an index "a, b"; returns what is behind it. */
static const char *take_index_column(const char *columns, char *name, size_t size)
{
    columns += strspn(columns, ", ");
    size_t length = strcspn(columns, ",");
    const char *next = columns + length;
    while (length > 0 && columns[length - 1] == ' ') {
        length--;
    }
    snprintf(name, size, "%.*s", (int)length, columns);
    return next + strspn(next, ", ");
}

/* An index on a column that the table does not have is known before there is a table. */
static enum status check_indexes(const struct script *script, const struct script_dataset *dataset,
                                 struct error *error)
{
    for (size_t i = 0; i < dataset->index_count; i++) {
        for (const char *at = dataset->indexes[i]; *at != '\0';) {
            char name[ROW_NAME_BYTES];
            at = take_index_column(at, name, sizeof name);
            size_t length = 0;
            while (isalnum((unsigned char)name[length]) || name[length] == '_') {
                length++;
            }
            if (name[length] == '\0' && find_column(&dataset->table, name) == NULL) {
                return refuse(error, "%.60s: index on '%.60s', which is no column of '%.60s'",
                              script->name, name, dataset->name);
            }
        }
    }
    return STATUS_OK;
}

/* The rows of a table that is there, by its name; -1: they cannot be counted. */
static int64_t count_there(const struct datasets_place *place, const char *table_name)
{
    const struct connection_info *connection = &place->setup->connection;
    struct buffer sql = {0};
    uint64_t rows = 0;
    struct error error = {.kind = ERROR_NONE};
    ask_write(&sql, ask_words(connection)->count, connection, table_name, NULL, 0);
    const struct statement count = {.sql = buffer_text(&sql)};
    const bool is_counted = !buffer_failed(&sql) && ask_count(place->plan->adapter, place->conn,
                                                              &count, &rows, &error) == STATUS_OK;
    buffer_fini(&sql);
    place->on_answer(place->context);
    return is_counted ? (int64_t)rows : -1;
}

/* Whether --recreate may drop the table that is there. */
static enum status check_drop(const struct datasets_place *place, const struct work *work,
                              const struct table *table, struct error *error)
{
    const char *const name = work->dataset->name;
    if (table_mark_allows_drop(&work->mark, place->plan, name)) {
        return STATUS_OK;
    }
    char remedy[REMEDY_BYTES];
    snprintf(remedy, sizeof remedy, "--recreate=%.60s drops it all the same", name);
    return table_mark_refuse(&work->mark, table, name, count_there(place, name), remedy, error);
}

static enum status examine_table(const struct datasets_place *place, struct work *work,
                                 struct error *error)
{
    const struct plan *plan = place->plan;
    const struct script_dataset *dataset = work->dataset;
    struct table table = {0};
    const struct connection_info *connection = &place->setup->connection;
    const bool has_own = script_text_for(&dataset->create, connection->dialect) != NULL;
    work->chunks = (dataset->rows + CHUNK_ROWS - 1) / CHUNK_ROWS;
    work->index_count =
        has_own && find_lack(connection, "create index") != NULL ? 0 : dataset->index_count;
    find_key(work);
    enum status status = check_indexes(plan->script, dataset, error);
    if (status != STATUS_OK) {
        return status;
    }
    status = plan->adapter->describe(plan->adapter, place->conn, dataset->name, &table, error);
    place->on_answer(place->context);
    work->is_missing = status == STATUS_REJECTED && error->kind == ERROR_NOT_FOUND;
    if (status == STATUS_OK) {
        status = read_mark(place, dataset->name, &work->mark, error);
    }
    if (status == STATUS_OK && plan->is_recreate) {
        status = check_drop(place, work, &table, error);
    }
    if (work->is_missing || (status == STATUS_OK && plan->is_recreate)) {
        error_clear(error);
        status = write_create(place, work, error);
        if (status != STATUS_OK) {
            explain(error, "%.60s:%d: dataset '%.60s'", plan->script->name, dataset->line,
                    dataset->name);
        }
    } else if (status == STATUS_OK) {
        status = check_columns(place, dataset, &table, &work->mark, error);
        status = status == STATUS_OK ? adopt(place, work->number, &table, error) : status;
        status = status == STATUS_OK ? check_rows(place, work, &table, error) : status;
    }
    table_fini(&table);
    return status;
}

/* What can be known of a script without its tables. */
static enum status check_script(const struct datasets_place *place, struct datasets *datasets,
                                struct error *error)
{
    const struct plan *plan = place->plan;
    const struct script *script = plan->script;
    const struct script_place words = {.sessions = plan->sessions,
                                       .seed = plan->facts->seed,
                                       .dialect = place->setup->connection.dialect};
    const size_t count = script->statement_count;
    datasets->statements = calloc(count + 1, sizeof *datasets->statements);
    datasets->texts = calloc(count + 1, sizeof *datasets->texts);
    if (datasets->statements == NULL || datasets->texts == NULL) {
        return lack_memory(error);
    }
    datasets->statement_count = count;
    for (size_t i = 0; i < count; i++) {
        if (script_resolve(script, i, &words, &datasets->statements[i], &datasets->texts[i],
                           error) != STATUS_OK) {
            return error->kind == ERROR_MEMORY ? STATUS_FATAL : refuse(error, "%s", error->text);
        }
        const struct statement *statement = &datasets->statements[i];
        const char *const why = find_lack(&place->setup->connection, statement->sql);
        if (why != NULL) {
            return refuse(error, "%.60s:%d: statement '%s': %s", script->name,
                          script->statements[i].line, script->statements[i].name, why);
        }
        if (statement->is_prepared && statement->slot > STATEMENT_SLOTS_MAX) {
            return refuse(error, "%.60s has %zu statements: no more than %d can be prepared",
                          script->name, count, STATEMENT_SLOTS_MAX);
        }
    }
    return STATUS_OK;
}

/* The first and the last row of a table can be made: known before there is a table. */
static enum status try_rows(const struct script *script, const struct work *work,
                            struct script_state *state, struct error *error)
{
    const struct script_dataset *dataset = work->dataset;
    if (dataset->rows == 0) {
        return STATUS_OK;
    }
    struct script_rows *rows = script_rows_create(script, work->number, 1);
    enum status status = rows == NULL ? lack_memory(error) : STATUS_OK;
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        const uint64_t row = i == 0 ? 0 : dataset->rows - 1;
        status = script_rows_fill(rows, state, row, 1, 1, error) == NULL ? STATUS_FATAL : STATUS_OK;
    }
    script_rows_destroy(rows);
    return status;
}

enum status datasets_examine(const struct datasets_place *place, struct datasets **out,
                             struct error *error)
{
    const struct plan *plan = place->plan;
    const struct script *script = plan->script;
    const struct setup *setup = place->setup;
    struct datasets *datasets = calloc(1, sizeof *datasets);
    *out = NULL;
    if (datasets == NULL) {
        return lack_memory(error);
    }
    datasets->works = calloc(script->dataset_count + 1, sizeof *datasets->works);
    enum status status =
        datasets->works == NULL ? lack_memory(error) : check_script(place, datasets, error);
    for (size_t i = 0; status == STATUS_OK && i < script->dataset_count; i++) {
        if (!script->datasets[i].is_declared) {
            continue;
        }
        if (is_discarding(plan)) {
            status = adopt(place, i, NULL, error);
            continue;
        }
        struct work *work = &datasets->works[datasets->count++];
        work->dataset = &script->datasets[i];
        work->number = i;
        status = examine_table(place, work, error);
    }
    struct script_state *state = NULL;
    for (size_t i = 0; status == STATUS_OK && i < datasets->count; i++) {
        if (datasets->works[i].phase == PHASE_DONE) {
            continue;
        }
        const struct script_place words = {
            .sessions = 1, .seed = plan->facts->seed, .dialect = setup->connection.dialect};
        status = state == NULL ? script_state_create(&state, script, &words, error) : STATUS_OK;
        status = status == STATUS_OK ? try_rows(script, &datasets->works[i], state, error) : status;
    }
    script_state_destroy(state);
    if (status != STATUS_OK) {
        datasets_destroy(datasets);
        return status;
    }
    *out = datasets;
    return STATUS_OK;
}

void datasets_destroy(struct datasets *datasets)
{
    if (datasets == NULL) {
        return;
    }
    for (size_t i = 0; i < datasets->count; i++) {
        buffer_fini(&datasets->works[i].create);
        free(datasets->works[i].states);
    }
    for (size_t i = 0; i < datasets->statement_count; i++) {
        free(datasets->texts[i]);
    }
    free(datasets->works);
    free(datasets->statements);
    free(datasets->texts);
    free(datasets);
}

static enum status drop(const struct datasets_place *place, const char *name, struct error *error)
{
    struct buffer sql = {0};
    const struct connection_info *connection = &place->setup->connection;
    ask_write(&sql, ask_words(connection)->drop, connection, name, NULL, 0);
    const enum status status = execute(place->plan, place->conn, &sql, error);
    buffer_fini(&sql);
    return status;
}

static enum status make_table(const struct datasets_place *place, struct work *work,
                              struct error *error)
{
    struct table table = {0};
    enum status status = work->is_missing ? STATUS_OK : drop(place, work->dataset->name, error);
    if (status == STATUS_OK) {
        status = execute(place->plan, place->conn, &work->create, error);
        work->is_made = status == STATUS_OK;
    }
    if (status == STATUS_OK) {
        status = place->plan->adapter->describe(place->plan->adapter, place->conn,
                                                work->dataset->name, &table, error);
    }
    if (status != STATUS_OK) {
        explain(error, "table '%.80s' could not be made", work->dataset->name);
        /* words of the script's own that the server does not take */
        const bool is_own =
            script_text_for(&work->dataset->create, place->setup->connection.dialect) != NULL;
        const bool is_wrong = is_own && !work->is_made && status == STATUS_REJECTED &&
                              !error_is_passing(error) && error->kind != ERROR_AUTH &&
                              error->kind != ERROR_READ_ONLY;
        error->kind = is_wrong ? ERROR_USAGE : error->kind;
    } else {
        const struct script_dataset *dataset = work->dataset;
        work->mark.is_there = true;
        status = write_mark(place->plan, place->setup, place->conn, dataset, true, error);
        status = status == STATUS_OK ? check_columns(place, dataset, &table, &work->mark, error)
                                     : status;
        status = status == STATUS_OK ? adopt(place, work->number, &table, error) : status;
    }
    table_fini(&table);
    place->on_answer(place->context);
    return status;
}

/* The server knows before the first session begins whether it can do what the script asks for. */
static enum status prepare_statements(const struct datasets_place *place,
                                      const struct datasets *datasets, struct error *error)
{
    const struct plan *plan = place->plan;
    const struct script *script = plan->script;
    struct prepared_set prepared = {.adapter = plan->adapter, .conn = place->conn};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < datasets->statement_count && status == STATUS_OK; i++) {
        const struct statement *statement = &datasets->statements[i];
        if (plan->is_unprepared || !statement->is_prepared) {
            continue;
        }
        status = prepared_make(&prepared, statement, error);
        place->on_answer(place->context);
        if (status != STATUS_OK) {
            explain(error, "%.60s:%d: statement '%s'", script->name, script->statements[i].line,
                    script->statements[i].name);
            error->kind = status == STATUS_LOST ? error->kind : ERROR_USAGE;
        }
    }
    prepared_end(&prepared);
    return status;
}

enum status datasets_make(const struct datasets_place *place, struct datasets *datasets,
                          struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < datasets->count; i++) {
        if (datasets->works[i].create.length > 0) {
            status = make_table(place, &datasets->works[i], error);
        }
    }
    status = status == STATUS_OK ? prepare_statements(place, datasets, error) : status;
    for (size_t i = 0; i < datasets->count; i++) {
        place->setup->made.tables += datasets->works[i].is_made;
    }
    if (status != STATUS_OK && status != STATUS_LOST) {
        datasets_undo(place, datasets);
    }
    return status;
}

bool datasets_are_wrong(const struct datasets *datasets)
{
    return datasets->is_wrong;
}

void datasets_undo(const struct datasets_place *place, const struct datasets *datasets)
{
    for (size_t i = 0; i < datasets->count; i++) {
        const struct work *work = &datasets->works[i];
        struct error error = {.kind = ERROR_NONE};
        struct table_mark mark;
        /* the name may be another table's by now */
        if (work->is_made && read_mark(place, work->dataset->name, &mark, &error) == STATUS_OK &&
            (mark.is_there || place->setup->connection.table_mark == NULL)) {
            drop(place, work->dataset->name, &error);
        }
    }
}

/* What a loader does next. */
struct task {
    struct work *work;
    enum phase phase;
    uint64_t chunk;
};

/* Shared by the loaders. */
struct hand {
    struct loader *loader;
    pthread_t thread;
    bool is_started;
    unsigned index;
    struct line line;
    struct adapter_conn *conn;
    struct script_state *state;
    struct script_rows *rows;
    size_t rows_of;          /* dataset */
    _Atomic uint64_t handed; /* rows of the chunk under way */
    bool is_overdue;         /* a call took too long, and was cut */
};

struct loader {
    const struct plan *plan;
    struct setup *setup;
    struct datasets *datasets;
    unsigned count;         /* of loaders */
    pthread_mutex_t lock;   /* guards the rest, the works, and the connections of the loaders */
    pthread_cond_t changed; /* loaders: there may be a task, or there will be none */
    pthread_cond_t ended;   /* main thread */
    bool is_stopped;
    unsigned running;
    enum status status; /* of the first that failed */
    struct error error;
    struct error open_error;   /* of the first loader that could not connect */
    const struct work *latest; /* that a task was taken of */
    enum phase latest_phase;
    uint64_t rows; /* loaded */
    int64_t start_ns;
    int64_t cut_ns; /* when connections are cut next */
    struct hand hands[LOADERS_MAX];
};

static void stop(struct loader *loader)
{
    loader->is_stopped = true;
    pthread_cond_broadcast(&loader->changed);
}

static bool is_stopped(struct loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    const bool is = loader->is_stopped;
    pthread_mutex_unlock(&loader->lock);
    return is;
}

/* Under lock: what can be done with a table now. */
static bool find_task(struct work *work, struct task *task)
{
    const uint64_t last = work->chunks - 1; /* where there are chunks */
    if (work->phase == PHASE_CHUNKS) {
        while (work->next < work->chunks && work->next != last && work->states != NULL &&
               work->states[work->next] == CHUNK_THERE) {
            work->next++;
        }
        if (work->next < work->chunks && work->next != last) {
            *task = (struct task){work, PHASE_CHUNKS, work->next++};
            return true;
        }
    }
    if (work->running > 0 || work->phase == PHASE_DONE) {
        return false;
    }
    if (work->phase == PHASE_CHUNKS) {
        work->phase = PHASE_INDEXES;
    }
    if (work->phase == PHASE_INDEXES && work->index_count == 0) {
        work->phase = PHASE_LAST;
    }
    if (work->phase == PHASE_LAST &&
        (work->chunks == 0 || (work->states != NULL && work->states[last] == CHUNK_THERE))) {
        work->phase = PHASE_FINISH;
    }
    *task = (struct task){work, work->phase, last};
    return true;
}

/* Waits for something to do. False: nothing is left, or the load was stopped. */
static bool take_task(struct loader *loader, struct task *task)
{
    bool is_found = false;
    pthread_mutex_lock(&loader->lock);
    while (!loader->is_stopped && !is_found) {
        bool is_done = true;
        for (size_t i = 0; i < loader->datasets->count && !is_found; i++) {
            struct work *work = &loader->datasets->works[i];
            is_done = is_done && work->phase == PHASE_DONE;
            is_found = find_task(work, task);
        }
        if (is_found) {
            task->work->running++;
            loader->latest = task->work;
            loader->latest_phase = task->phase;
        } else if (is_done) {
            break;
        } else {
            pthread_cond_wait(&loader->changed, &loader->lock);
        }
    }
    pthread_mutex_unlock(&loader->lock);
    return is_found;
}

static void end_task(struct hand *hand, const struct task *task, enum status status,
                     const struct error *error)
{
    struct loader *loader = hand->loader;
    struct work *work = task->work;
    pthread_mutex_lock(&loader->lock);
    atomic_store_explicit(&hand->handed, 0, memory_order_relaxed);
    work->running--;
    if (status != STATUS_OK) {
        if (loader->status == STATUS_OK) {
            loader->status = status;
            loader->error = *error;
            if (hand->is_overdue) {
                error_clear(&loader->error);
                error_set(&loader->error, ERROR_TIMEOUT, 0, NULL, "no answer in %s (--timeout)",
                          UNITS_NS(loader->plan->timeout_ns));
            }
            explain(&loader->error, "table '%.80s'", work->dataset->name);
        }
        stop(loader);
    } else {
        const bool is_chunk = task->phase == PHASE_CHUNKS || task->phase == PHASE_LAST;
        const uint64_t rows = is_chunk ? chunk_rows(work, task->chunk) : 0;
        work->loaded += rows;
        loader->rows += rows;
        if (task->phase != PHASE_CHUNKS) {
            work->phase++;
        }
    }
    pthread_cond_broadcast(&loader->changed);
    pthread_mutex_unlock(&loader->lock);
}

/* Deletes the rows of a chunk that an interrupted load left, and no row of another table. */
static enum status delete_chunk(struct hand *hand, const struct work *work, uint64_t chunk,
                                struct error *error)
{
    static const struct table_mark_words none;
    const struct plan *plan = hand->loader->plan;
    const struct connection_info *connection = &hand->loader->setup->connection;
    const struct table_mark_words *words =
        connection->table_mark == NULL ? &none : connection->table_mark;
    const char quote = connection->identifier_quote;
    const int64_t first = work->key_from + (int64_t)(chunk * CHUNK_ROWS);
    struct buffer sql = {0};
    buffer_add_text(&sql, "delete from ");
    buffer_add_identifier(&sql, work->dataset->name, quote);
    buffer_add_text(&sql, " where ");
    buffer_add_identifier(&sql, work->key, quote);
    buffer_add_format(&sql, " between %" PRId64 " and %" PRId64, first,
                      first + (int64_t)chunk_rows(work, chunk) - 1);
    enum status status = STATUS_OK;
    if (words->begin_delete != NULL) {
        status = plan->adapter->execute(hand->conn, words->begin_delete, error);
    }
    if (status == STATUS_OK) {
        status = execute(plan, hand->conn, &sql, error);
    }
    if (words->end_delete != NULL && (status == STATUS_OK || status == STATUS_REJECTED)) {
        const enum status ended = plan->adapter->execute(hand->conn, words->end_delete, error);
        status = ended == STATUS_OK ? status : ended;
    }
    buffer_fini(&sql);
    return status;
}

static void end_call(struct hand *hand)
{
    hand->is_overdue = line_end_call(&hand->line) || hand->is_overdue;
}

/* One append of all rows of a chunk. */
static enum status append_chunk(struct hand *hand, const struct work *work, uint64_t chunk,
                                uint64_t *accepted, struct error *error)
{
    const struct adapter *adapter = hand->loader->plan->adapter;
    const struct table *table = &hand->loader->setup->tables[work->number].table;
    const uint64_t all = chunk_rows(work, chunk);
    *accepted = 0;
    line_begin_call(&hand->line);
    enum status status = adapter->append_open(hand->conn, table, error);
    end_call(hand);
    for (uint64_t done = 0; status == STATUS_OK && done < all;) {
        const size_t count = all - done < ROW_BATCH_MAX ? (size_t)(all - done) : ROW_BATCH_MAX;
        const struct batch *filled =
            script_rows_fill(hand->rows, hand->state, chunk * CHUNK_ROWS + done, 1, count, error);
        if (filled == NULL) {
            return STATUS_FATAL; /* the append is open: the connection is of no more use */
        }
        struct batch batch = *filled;
        batch.table = table;
        line_begin_call(&hand->line);
        status = adapter->append_rows(hand->conn, &batch, accepted, error);
        end_call(hand);
        done += count;
        atomic_store_explicit(&hand->handed, done, memory_order_relaxed);
    }
    if (status == STATUS_OK) {
        line_begin_call(&hand->line);
        status = adapter->append_close(hand->conn, accepted, error);
        end_call(hand);
    }
    if (status == STATUS_OK && *accepted != all) {
        error_set(error, ERROR_SERVER, 0, NULL, "%s of %s rows were kept", UNITS_COUNT(*accepted),
                  UNITS_COUNT(all));
        return STATUS_REJECTED;
    }
    return status;
}

/* Again while the database is busy, as sessions do. */
static enum status load_chunk(struct hand *hand, const struct work *work, uint64_t chunk,
                              struct error *error)
{
    const int64_t limit_ns = mono_now_ns() + BUSY_LIMIT_NS;
    int64_t pause_ns = MONO_NS_PER_MS;
    bool is_cut = work->states != NULL && work->states[chunk] == CHUNK_CUT;
    for (;;) {
        uint64_t accepted = 0;
        error_clear(error);
        enum status status = is_cut ? delete_chunk(hand, work, chunk, error) : STATUS_OK;
        if (status == STATUS_OK) {
            status = append_chunk(hand, work, chunk, &accepted, error);
            is_cut = accepted > 0;
        }
        if (status != STATUS_REJECTED || !error_is_passing(error) ||
            (is_cut && work->key == NULL) || mono_now_ns() >= limit_ns ||
            is_stopped(hand->loader)) {
            return status;
        }
        mono_sleep(pause_ns);
        pause_ns = 2 * pause_ns < BUSY_PAUSE_MAX_NS ? 2 * pause_ns : BUSY_PAUSE_MAX_NS;
    }
}

/* Writes the columns of an index, as a list of them or as a part of its name. */
static void write_index_columns(struct buffer *sql, const struct script_dataset *dataset,
                                const char *columns, char quote, bool is_name)
{
    for (bool is_first = true; *columns != '\0'; is_first = false) {
        char name[ROW_NAME_BYTES];
        columns = take_index_column(columns, name, sizeof name);
        if (is_name) {
            buffer_add_text(sql, "_");
            for (const char *c = name; *c != '\0'; c++) {
                buffer_add(sql, isalnum((unsigned char)*c) ? c : "_", 1);
            }
        } else {
            buffer_add_text(sql, is_first ? "" : ", ");
            if (find_column(&dataset->table, name) != NULL) {
                buffer_add_identifier(sql, name, quote);
            } else {
                buffer_add_text(sql, name);
            }
        }
    }
}

static bool is_dialect_of(const char *dialect, const char *list)
{
    const size_t length = strlen(dialect);
    for (const char *at = strstr(list, dialect); at != NULL; at = strstr(at + 1, dialect)) {
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/* An index that is there already was made by a load that was cut off. */
static enum status make_indexes(struct hand *hand, const struct work *work, struct error *error)
{
    enum {
        MYSQL_IS_THERE = 1061
    };
    struct loader *loader = hand->loader;
    const struct connection_info *connection = &loader->setup->connection;
    const struct script_dataset *dataset = work->dataset;
    const char quote = connection->identifier_quote;
    const bool can_ask = is_dialect_of(connection->dialect, "postgresql sqlite mariadb");
    enum status status = STATUS_OK;
    for (size_t i = 0; i < dataset->index_count && status == STATUS_OK; i++) {
        struct buffer name = {0}, sql = {0};
        buffer_add_text(&name, dataset->name);
        write_index_columns(&name, dataset, dataset->indexes[i], quote, true);
        buffer_add_format(&sql, "create index %s", can_ask ? "if not exists " : "");
        buffer_add_identifier(&sql, buffer_text(&name), quote);
        buffer_add_text(&sql, " on ");
        buffer_add_identifier(&sql, dataset->name, quote);
        buffer_add_text(&sql, " (");
        write_index_columns(&sql, dataset, dataset->indexes[i], quote, false);
        buffer_add_text(&sql, ")");
        status = buffer_failed(&name) ? lack_memory(error)
                                      : execute(loader->plan, hand->conn, &sql, error);
        if (status == STATUS_REJECTED &&
            (error->native_code == MYSQL_IS_THERE || strcmp(error->sqlstate, "42S11") == 0)) {
            error_clear(error);
            status = STATUS_OK;
        }
        if (status != STATUS_OK) {
            explain(error, "index on %.60s", dataset->indexes[i]);
        }
        buffer_fini(&name);
        buffer_fini(&sql);
        pthread_mutex_lock(&loader->lock);
        loader->setup->made.indexes += status == STATUS_OK;
        pthread_mutex_unlock(&loader->lock);
    }
    return status;
}

/* Plans are made from statistics, which are of an empty table yet. A server that does not want to
 * may leave it. */
static enum status analyze(struct hand *hand, const struct work *work, struct error *error)
{
    const struct connection_info *connection = &hand->loader->setup->connection;
    const char *dialect = connection->dialect;
    const char *words = is_dialect_of(dialect, "postgresql")      ? "vacuum analyze "
                        : is_dialect_of(dialect, "mariadb mysql") ? "analyze table "
                        : is_dialect_of(dialect, "sqlite")        ? "analyze "
                                                                  : NULL;
    if (words == NULL || work->dataset->rows == 0) {
        return STATUS_OK;
    }
    struct buffer sql = {0};
    buffer_add_text(&sql, words);
    buffer_add_identifier(&sql, work->dataset->name, connection->identifier_quote);
    const struct statement statement = {.sql = buffer_text(&sql)};
    const enum status status =
        buffer_failed(&sql)
            ? lack_memory(error)
            : hand->loader->plan->adapter->run(hand->conn, &statement, NULL,
                                               &(struct answer){.take = NULL}, error);
    buffer_fini(&sql);
    if (status == STATUS_REJECTED) {
        error_clear(error);
    }
    return status == STATUS_REJECTED ? STATUS_OK : status;
}

/* Numbers that the database gives begin behind those that were loaded; then the rows are counted.
 */
static enum status finish_table(struct hand *hand, const struct work *work, struct error *error)
{
    const struct plan *plan = hand->loader->plan;
    const struct connection_info *connection = &hand->loader->setup->connection;
    const struct script_dataset *dataset = work->dataset;
    const struct setup *setup = hand->loader->setup;
    const struct setup_table *counted = &setup->tables[work->number];
    uint64_t *const rows = setup_rows_before(setup, counted);
    enum status status = STATUS_OK;
    for (size_t c = 0; c < dataset->column_count && status == STATUS_OK; c++) {
        char sql[1024] = "";
        if (dataset->columns[c].is_numbered && dataset->rows > 0 &&
            connection->number_from != NULL) {
            connection->number_from(dataset->name, dataset->table.columns[c].name, sql, sizeof sql);
        }
        if (sql[0] != '\0') {
            const struct statement statement = {.sql = sql};
            status = plan->adapter->run(hand->conn, &statement, NULL,
                                        &(struct answer){.take = NULL}, error);
        }
    }
    status = status == STATUS_OK ? analyze(hand, work, error) : status;
    if (status == STATUS_OK) {
        const struct ask_wait wait = {.unread = ask_words(connection)->unread,
                                      .limit_ns = ASK_UNREAD_NS};
        status = ask_count_shown(plan->adapter, hand->conn, &counted->count, &wait, rows, error);
    }
    if (status == STATUS_OK && dataset->rows > 0 && *rows != dataset->rows) {
        error_set(error, ERROR_SERVER, 0, NULL, "%s rows were loaded, and count(*) is %s",
                  UNITS_COUNT(dataset->rows), UNITS_COUNT(*rows));
        return STATUS_REJECTED;
    }
    return status == STATUS_OK && dataset->rows > 0
               ? write_mark(plan, hand->loader->setup, hand->conn, dataset, false, error)
               : status;
}

static enum status do_task(struct hand *hand, const struct task *task, struct error *error)
{
    const struct work *work = task->work;
    if (task->phase == PHASE_INDEXES) {
        return make_indexes(hand, work, error);
    }
    if (task->phase == PHASE_FINISH) {
        return finish_table(hand, work, error);
    }
    if (hand->rows == NULL || hand->rows_of != work->number) {
        script_rows_destroy(hand->rows);
        hand->rows = script_rows_create(hand->loader->plan->script, work->number, ROW_BATCH_MAX);
        hand->rows_of = work->number;
    }
    return hand->rows == NULL ? lack_memory(error) : load_chunk(hand, work, task->chunk, error);
}

static void *hand_run(void *argument)
{
    struct hand *hand = argument;
    struct loader *loader = hand->loader;
    const struct plan *plan = loader->plan;
    const struct script_place place = {.session = hand->index,
                                       .sessions = loader->count,
                                       .seed = plan->facts->seed,
                                       .dialect = loader->setup->connection.dialect};
    struct error error = {.kind = ERROR_NONE};
    struct target target = target_at(plan, loader->setup->host);
    target.facts = &loader->setup->connection.facts;
    enum status status = line_open(&hand->line, &target, &hand->conn, &error);
    if (status == STATUS_OK) {
        status = script_state_create(&hand->state, plan->script, &place, &error);
    }
    struct task task;
    while (status == STATUS_OK && take_task(loader, &task)) {
        status = do_task(hand, &task, &error);
        end_task(hand, &task, status, &error);
    }
    line_close(&hand->line, &hand->conn);
    script_rows_destroy(hand->rows);
    script_state_destroy(hand->state);
    pthread_mutex_lock(&loader->lock);
    if (status != STATUS_OK && !error_is_set(&loader->open_error)) {
        loader->open_error = error;
    }
    loader->running--;
    pthread_cond_signal(&loader->ended);
    pthread_mutex_unlock(&loader->lock);
    return NULL;
}

/* Rows of all tables, and those that are there. */
static void add_up(const struct datasets *datasets, uint64_t *all, uint64_t *there)
{
    *all = *there = 0;
    for (size_t i = 0; i < datasets->count; i++) {
        const struct work *work = &datasets->works[i];
        *all += work->dataset->rows;
        *there += work->dataset->rows > 0 ? work->rows + work->loaded : 0;
    }
}

bool datasets_wait(struct datasets *datasets, struct load_counts *counts)
{
    struct loader *loader = datasets->loader;
    if (loader == NULL) {
        return false;
    }
    uint64_t handed = 0;
    const struct timespec tick = mono_timespec(mono_now_ns() + TICK_NS);
    pthread_mutex_lock(&loader->lock);
    if (loader->running > 0) {
        pthread_cond_timedwait(&loader->ended, &loader->lock, &tick);
    }
    ranks_beat(loader->setup->ranks);
    const int64_t now_ns = mono_now_ns();
    if (loader->cut_ns == INT64_MAX && interrupt_requested()) {
        loader->cut_ns = now_ns + GRACE_NS;
        stop(loader);
    }
    for (unsigned i = 0; i < loader->count; i++) {
        struct hand *hand = &loader->hands[i];
        handed += atomic_load_explicit(&hand->handed, memory_order_relaxed);
        line_cut_overdue(&hand->line, now_ns, NULL);
        if (now_ns >= loader->cut_ns) {
            line_cut(&hand->line, NULL, NULL);
        }
    }
    loader->cut_ns = now_ns >= loader->cut_ns ? now_ns + MONO_NS_PER_S : loader->cut_ns;
    *counts =
        (struct load_counts){.loaded = loader->rows + handed,
                             .elapsed_ns = now_ns - loader->start_ns,
                             .table = loader->latest == NULL ? NULL : loader->latest->dataset->name,
                             .step = loader->latest_phase == PHASE_INDEXES  ? LOAD_INDEXES
                                     : loader->latest_phase == PHASE_FINISH ? LOAD_FINISH
                                                                            : LOAD_ROWS};
    add_up(datasets, &counts->all, &counts->rows);
    counts->rows += handed;
    const bool goes_on = loader->running > 0;
    pthread_mutex_unlock(&loader->lock);
    return goes_on;
}

/* The error of a load that did not come to its end says what is there, too. */
static void conclude(const struct loader *loader, struct error *error)
{
    uint64_t all, there;
    bool can_go_on = true;
    for (size_t i = 0; i < loader->datasets->count; i++) {
        const struct work *work = &loader->datasets->works[i];
        can_go_on = can_go_on && (work->phase == PHASE_DONE || work->key != NULL ||
                                  work->loaded + work->rows == 0);
    }
    add_up(loader->datasets, &all, &there);
    char rest[160];
    snprintf(rest, sizeof rest, "%s of %s rows are loaded; %s", UNITS_COUNT(there),
             UNITS_COUNT(all),
             loader->datasets->is_wrong                 ? "the tables made for them are dropped"
             : !can_go_on                               ? "--recreate begins again"
             : loader->plan->command == COMMAND_PREPARE ? "the same command loads the others"
                                                        : "append prepare loads the others");
    const struct error first = loader->status != STATUS_OK ? loader->error : loader->open_error;
    *error = first;
    if (interrupt_requested()) {
        error_clear(error);
        error_set(error, ERROR_CANCELLED, 0, NULL, "interrupted: %s", rest);
        return;
    }
    error->kind = loader->datasets->is_wrong ? ERROR_USAGE : error->kind;
    const int room = (int)(sizeof error->text - strlen(rest) - 4);
    snprintf(error->text, sizeof error->text, "%.*s (%s)", room > 0 ? room : 0, first.text, rest);
}

/* How many loaders there is work for. */
static unsigned count_loaders(const struct datasets *datasets, const struct plan *plan,
                              const struct setup *setup)
{
    uint64_t tasks = 0;
    for (size_t i = 0; i < datasets->count; i++) {
        const struct work *work = &datasets->works[i];
        tasks += work->phase == PHASE_DONE ? 0 : work->chunks == 0 ? 1 : work->chunks;
    }
    const uint64_t most = setup->connection.is_embedded  ? 1 /* has one writer at a time */
                          : plan->sessions > LOADERS_MAX ? LOADERS_MAX
                                                         : plan->sessions;
    const uint64_t count = tasks < most ? tasks : most;
    return tasks == 0 ? 0 : count == 0 ? 1 : (unsigned)count;
}

enum status datasets_begin_load(struct datasets *datasets, const struct plan *plan,
                                struct setup *setup, struct error *error)
{
    const unsigned count = count_loaders(datasets, plan, setup);
    if (count == 0) {
        return STATUS_OK;
    }
    struct loader *loader = datasets->loader = calloc(1, sizeof *loader);
    if (loader == NULL) {
        return lack_memory(error);
    }
    loader->plan = plan;
    loader->setup = setup;
    loader->datasets = datasets;
    loader->start_ns = mono_now_ns();
    loader->cut_ns = INT64_MAX;
    pthread_mutex_init(&loader->lock, NULL);
    pthread_cond_init(&loader->changed, NULL);
    thread_cond_init(&loader->ended);
    loader->count = loader->running = count;
    for (unsigned i = 0; i < count; i++) {
        struct hand *hand = &loader->hands[i];
        hand->loader = loader;
        hand->index = i;
        line_init(&hand->line, plan->adapter, plan->timeout_ns);
        const int rc = thread_start(&hand->thread, 0, hand_run, hand);
        hand->is_started = rc == 0;
        if (rc != 0) {
            pthread_mutex_lock(&loader->lock);
            loader->running--;
            error_set(&loader->open_error, ERROR_SYSTEM, rc, NULL,
                      "client limit: no thread could be started: %s", strerror(rc));
            pthread_mutex_unlock(&loader->lock);
        }
    }
    return STATUS_OK;
}

enum status datasets_end_load(struct datasets *datasets, struct error *error)
{
    struct loader *const loader = datasets->loader;
    if (loader == NULL) {
        return STATUS_OK;
    }
    for (unsigned i = 0; i < loader->count; i++) {
        if (loader->hands[i].is_started) {
            pthread_join(loader->hands[i].thread, NULL);
        }
        line_fini(&loader->hands[i].line);
    }
    pthread_cond_destroy(&loader->changed);
    pthread_cond_destroy(&loader->ended);
    pthread_mutex_destroy(&loader->lock);
    struct setup *const setup = loader->setup;
    setup->made.rows = loader->rows;
    setup->made.load_ns = mono_now_ns() - loader->start_ns;
    bool is_done = true;
    for (size_t i = 0; i < datasets->count; i++) {
        is_done = is_done && datasets->works[i].phase == PHASE_DONE;
    }
    const enum error_kind kind = loader->error.kind;
    datasets->is_wrong = loader->status != STATUS_OK && loader->status != STATUS_LOST &&
                         !interrupt_requested() &&
                         (kind == ERROR_USAGE || kind == ERROR_DATA || kind == ERROR_DUPLICATE ||
                          kind == ERROR_NOT_FOUND || kind == ERROR_UNSUPPORTED);
    if (!is_done) {
        conclude(loader, error);
    }
    const enum status status = is_done                       ? STATUS_OK
                               : loader->status == STATUS_OK ? STATUS_LOST
                                                             : loader->status;
    free(loader);
    datasets->loader = NULL;
    return status;
}

/* A table that cleanup is to drop. */
struct doomed {
    const char *name;
    int64_t rows; /* -1: they could not be counted */
};

/* Finds the tables to drop. One that append did not make ends it: then none is dropped. */
static enum status find_doomed(const struct datasets_place *place, struct doomed *doomed,
                               size_t *count, struct error *error)
{
    const struct plan *plan = place->plan;
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < plan->script->dataset_count; i++) {
        const struct script_dataset *dataset = &plan->script->datasets[i];
        struct table table = {0};
        struct table_mark mark;
        if (!dataset->is_declared || is_discarding(plan)) {
            continue;
        }
        status = plan->adapter->describe(plan->adapter, place->conn, dataset->name, &table, error);
        place->on_answer(place->context);
        if (status == STATUS_REJECTED && error->kind == ERROR_NOT_FOUND) {
            error_clear(error);
            status = STATUS_OK;
            continue;
        }
        status = status == STATUS_OK ? read_mark(place, dataset->name, &mark, error) : status;
        if (status == STATUS_OK) {
            const int64_t rows = count_there(place, dataset->name);
            doomed[(*count)++] = (struct doomed){dataset->name, rows};
            if (!table_mark_allows_drop(&mark, plan, dataset->name)) {
                char remedy[REMEDY_BYTES];
                snprintf(remedy, sizeof remedy, "--drop=%.60s drops it all the same",
                         dataset->name);
                status = table_mark_refuse(&mark, &table, dataset->name, rows, remedy, error);
            }
        }
        table_fini(&table);
    }
    return status;
}

enum status datasets_drop(const struct datasets_place *place, struct buffer *dropped, size_t *count,
                          struct error *error)
{
    const size_t most = place->plan->script->dataset_count;
    struct doomed *doomed = calloc(most + 1, sizeof *doomed);
    size_t found = 0;
    *count = 0;
    enum status status =
        doomed == NULL ? lack_memory(error) : find_doomed(place, doomed, &found, error);
    for (size_t i = 0; status == STATUS_OK && i < found && !place->plan->is_quiet; i++) {
        notice_print("dropping table %.80s with %s %s", doomed[i].name,
                     doomed[i].rows < 0 ? "an unknown number of"
                                        : UNITS_COUNT((uint64_t)doomed[i].rows),
                     doomed[i].rows == 1 ? "row" : "rows");
    }
    for (size_t i = 0; status == STATUS_OK && i < found; i++) {
        status = drop(place, doomed[i].name, error);
        place->on_answer(place->context);
        if (status == STATUS_OK) {
            buffer_add_format(dropped, "%s%s", *count == 0 ? "" : ", ", doomed[i].name);
            (*count)++;
        }
    }
    free(doomed);
    return status;
}
