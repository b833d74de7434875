#include "load/datasets.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/ask.h"
#include "base/prepared.h"
#include "base/process.h"
#include "base/text.h"
#include "load/create_table.h"
#include "load/table_load.h"
#include "plan/facts.h"

static enum status refuse(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum status refuse(struct error *error, const char *format, ...)
{
    char text[ERROR_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    error_clear(error); /* cleared only now, because an argument may be the old text of *error */
    error_set(error, ERROR_USAGE, 0, NULL, "%s", text);
    return STATUS_FATAL;
}

static bool is_discarding(const struct plan *plan)
{
    return (plan->adapter->flags & ADAPTER_DISCARDS) != 0;
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

/* Returns why the database does not support the first unsupported statement in `sql`, or NULL if no
 * reason is known. */
static const char *find_unsupported(const struct connection_info *connection, const char *sql)
{
    struct sql_script script = {.rest = sql, .lexis = sql_lexis_of(connection->dialect)};
    const char *why = NULL;
    while (connection->unsupported != NULL && why == NULL && sql_script_next(&script)) {
        for (const struct unsupported *lack = connection->unsupported;
             lack->words != NULL && why == NULL; lack++) {
            why = begins_with(buffer_text(&script.statement), lack->words) ? lack->why : NULL;
        }
    }
    buffer_fini(&script.statement);
    return why;
}

/* Returns the class of a column type. The type that a database reports for a column may differ from
 * the declared type, but must have the same class. */
static int type_class(enum column_type type)
{
    const int is = (int)column_kinds[type].is;
    return is == COLUMN_IS_ADDRESS ? COLUMN_IS_TEXT : is;
}

static enum status read_mark(const struct datasets_place *place, const char *table_name,
                             struct table_mark *mark, struct error *error)
{
    const enum status status =
        table_load_read_mark(place->plan, place->setup, place->conn, table_name, mark, error);
    place->on_answer(place->context);
    return status;
}

/* Returns advice for the user on a table that differs from the script's declaration. The advice may
 * be written to `text`. */
static const char *remedy_for(const struct table_mark *mark, const char *table_name, char *text,
                              size_t size)
{
    if (mark->is_valid) {
        return "'append cleanup' drops the table, --recreate replaces it";
    }
    snprintf(text, size, "%s%s leaves it unchanged; --recreate=%.60s drops it",
             mark->is_made ? mark->why : "append did not make the table",
             mark->is_made ? ": append" : " and", table_name);
    return text;
}

enum {
    REMEDY_BYTES = 280
};
#define REMEDY(mark, name) remedy_for(mark, name, (char[REMEDY_BYTES]){""}, REMEDY_BYTES)

/* Checks that an existing table has the columns that the script declares. A table that is created
 * by a statement of the script may have further columns. */
static enum status check_columns(const struct datasets_place *place,
                                 const struct script_dataset *dataset, const struct table *table,
                                 const struct table_mark *mark, struct error *error)
{
    const char *script = table_load_script_name(place->plan->script);
    const bool has_own =
        script_text_for(&dataset->create, place->setup->connection.dialect) != NULL;
    const bool takes_any = table->is_missing || place->setup->connection.facts.has_no_columns;
    for (size_t c = 0; c < dataset->table.column_count && !takes_any; c++) {
        const struct column *declared = &dataset->table.columns[c];
        const struct column *found = column_find(table, declared->name, strlen(declared->name));
        if (found == NULL) {
            return refuse(error, "table '%.60s' has no column '%.40s', which %.40s declares: %s",
                          dataset->name, declared->name, script, REMEDY(mark, dataset->name));
        }
        if (type_class(found->type) != type_class(declared->type)) {
            return refuse(
                error,
                "column '%.40s' of table '%.40s' is %.30s, but %.40s declares another type: %s",
                declared->name, dataset->name, found->type_name, script,
                REMEDY(mark, dataset->name));
        }
    }
    for (size_t c = 0; c < table->column_count && !has_own && !takes_any; c++) {
        if (column_find(&dataset->table, table->columns[c].name, strlen(table->columns[c].name)) ==
            NULL) {
            return refuse(
                error, "table '%.60s' has a column '%.40s', which %.40s does not declare: %s",
                dataset->name, table->columns[c].name, script, REMEDY(mark, dataset->name));
        }
    }
    return STATUS_OK;
}

/* Fills *table with the columns that the load writes, in the script's order. Takes a column from
 * `described`, the table in the database, if it has the type that the script declares; otherwise
 * takes the script's column. `described` may be NULL. */
static enum status init_written_table(const struct script *script, size_t number,
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
        const struct column *found =
            described == NULL ? NULL : column_find(described, own->name, strlen(own->name));
        status =
            table_add_column(table, found != NULL && found->type == own->type ? found : own, error);
    }
    return status;
}

/* Fills the set-up's entry for a table: its columns, and the query that counts its rows.
 * `described` is the table as the database describes it, or NULL. */
static enum status fill_setup_table(const struct datasets_place *place, size_t number,
                                    const struct table *described, struct error *error)
{
    struct setup_table *out = &place->setup->tables[number];
    const struct script *script = place->plan->script;
    struct buffer sql = {0};
    const enum status status = init_written_table(script, number, described, &out->table, error);
    free(out->count_sql);
    out->count = ask_write_count(&sql, &place->setup->connection, script->datasets[number].name);
    out->count_sql = sql.bytes;
    return buffer_failed(&sql) ? table_load_no_memory(error) : status;
}

/* Checks that the database supports the partitions and foreign keys that the script declares for a
 * table. */
static enum status check_structure(const struct datasets_place *place,
                                   const struct script_dataset *dataset, struct error *error)
{
    const struct connection_info *connection = &place->setup->connection;
    const struct partition_statements *words = connection->partitions;
    bool is_divided = dataset->partitions.count > 0;
    if (is_divided && words == NULL) {
        return refuse(error, "append cannot create partitions in %s: remove partitions",
                      connection->dialect);
    }
    if (dataset->foreign_key_count > 0 && connection->foreign_keys == NULL) {
        return refuse(error, "append cannot create foreign keys in %s: remove foreign_keys",
                      connection->dialect);
    }
    for (size_t i = 0; i < dataset->foreign_key_count; i++) {
        const struct script_foreign_key *key = &dataset->foreign_keys[i];
        is_divided = is_divided || place->plan->script->datasets[key->dataset].partitions.count > 0;
    }
    if (is_divided && dataset->foreign_key_count > 0 && words != NULL &&
        words->excludes_foreign_keys) {
        return refuse(
            error,
            "in %s a table with partitions can neither have foreign keys nor be the target "
            "of foreign keys: remove partitions or foreign_keys",
            connection->dialect);
    }
    return STATUS_OK;
}

/* Checks that the table's storage engine supports foreign keys, if the script declares foreign keys
 * for the table. */
static enum status check_engine(const struct datasets_place *place,
                                const struct script_dataset *dataset, const struct table *table,
                                struct error *error)
{
    const struct foreign_key_statements *words = place->setup->connection.foreign_keys;
    const char *engine = words == NULL ? "" : words->engine;
    if (dataset->foreign_key_count == 0 || engine[0] == '\0' || table->engine[0] == '\0' ||
        strcasecmp(table->engine, engine) == 0) {
        return STATUS_OK;
    }
    return refuse(error,
                  "the storage engine %.40s of table '%.60s' does not support foreign keys: use "
                  "%s, or remove foreign_keys",
                  table->engine, dataset->name, engine);
}

/* Checks the number of partitions or foreign keys of an existing table. `declared` is the number in
 * the script; 0 means that any number is accepted. `words` is the query that returns the number in
 * the database. `what` is the plural noun for the message. */
static enum status check_count(const struct datasets_place *place, const struct table_load *work,
                               const char *words, size_t declared, const char *what,
                               struct error *error)
{
    int64_t count = 0;
    struct answer answer = {.take = ask_take_number, .context = &count};
    if (declared == 0) {
        return STATUS_OK;
    }
    const enum status status =
        ask_rows(place->plan->adapter, place->conn, words, work->dataset->name, &answer, error);
    place->on_answer(place->context);
    if (status != STATUS_OK || count == (int64_t)declared) {
        return status;
    }
    return refuse(error, "table '%.60s' has %s %s, but %.40s declares %s: %s", work->dataset->name,
                  UNITS_COUNT((uint64_t)count), what, table_load_script_name(place->plan->script),
                  UNITS_COUNT(declared), REMEDY(&work->mark, work->dataset->name));
}

/* Checks that an existing table has the partitions and foreign keys that the script declares. */
static enum status check_kept(const struct datasets_place *place, const struct table_load *work,
                              struct error *error)
{
    const struct connection_info *connection = &place->setup->connection;
    const struct script_dataset *dataset = work->dataset;
    enum status status = check_structure(place, dataset, error);
    if (status == STATUS_OK && connection->partitions != NULL) {
        status = check_count(place, work, connection->partitions->count, dataset->partitions.count,
                             "partitions", error);
    }
    if (status == STATUS_OK && connection->foreign_keys != NULL) {
        status = check_count(place, work, connection->foreign_keys->count,
                             dataset->foreign_key_count, "foreign keys", error);
    }
    return status;
}

/* Checks that the database has a type for every column of a table. */
static enum status check_types(const struct connection_info *connection,
                               const struct script_dataset *dataset, struct error *error)
{
    for (size_t c = 0; c < dataset->column_count; c++) {
        const struct column *column = &dataset->table.columns[c];
        const bool is_numbered = dataset->columns[c].is_numbered;
        char type[CREATE_TABLE_TYPE_BYTES];
        if (!connection->declare_column(column, is_numbered, type, sizeof type)) {
            return refuse(
                error, "%s has no type for column '%.60s'%s", connection->dialect, column->name,
                is_numbered ? ": the database cannot number rows by itself (key = \"auto\")" : "");
        }
    }
    return STATUS_OK;
}

/* Writes the statement that creates the table, in this database's dialect. */
static enum status write_create(const struct datasets_place *place, struct table_load *work,
                                struct error *error)
{
    const struct script_dataset *const dataset = work->dataset;
    struct buffer *const sql = &work->create;
    const struct connection_info *connection = &place->setup->connection;
    const char *own = script_text_for(&dataset->create, connection->dialect);
    const char *const why_no_table =
        find_unsupported(connection, own != NULL ? own : "create table");
    const char *const why_no_index =
        work->indexes != NULL ? find_unsupported(connection, "create index") : NULL;
    if (why_no_table != NULL) {
        return refuse(error, "%s", why_no_table);
    }
    if (check_structure(place, dataset, error) != STATUS_OK) {
        return STATUS_FATAL;
    }
    if (why_no_index != NULL) {
        return refuse(error,
                      "%s; omit the indexes with index = {..., %s = {}}, or create the table and "
                      "its indexes with create = {%s = ...}",
                      why_no_index, connection->dialect, connection->dialect);
    }
    if (own != NULL) {
        buffer_add_text(sql, own);
    } else if (ask_templates(connection)->create != NULL) {
        ask_write(sql, ask_templates(connection)->create, connection, dataset->name, NULL, 0);
    }
    if (sql->length > 0 || buffer_failed(sql)) {
        return buffer_failed(sql) ? table_load_no_memory(error) : STATUS_OK;
    }
    if (connection->declare_column == NULL) {
        return refuse(
            error,
            "append cannot create this table in %s: add create = {%s = \"CREATE TABLE ...\"}",
            connection->dialect, connection->dialect);
    }
    if (check_types(connection, dataset, error) != STATUS_OK) {
        return STATUS_FATAL;
    }
    create_table_write(sql, place->plan, connection, dataset);
    return buffer_failed(sql) ? table_load_no_memory(error) : STATUS_OK;
}

/* Finds the primary-key column that holds the row number. */
static void find_key(struct table_load *work)
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

/* The result of the query that counts the rows of each chunk. */
struct survey {
    struct table_load *work;
    bool is_odd; /* a chunk has fewer or more rows than declared, or a key is out of range */
};

static bool take_chunk(void *context, const int64_t *values)
{
    struct survey *survey = context;
    struct table_load *work = survey->work;
    const uint64_t first = (uint64_t)values[0], rows = (uint64_t)values[1];
    if (values[0] < 0 || first >= work->dataset->rows || first % CHUNK_ROWS != 0 ||
        rows != table_load_chunk_rows(work, first / CHUNK_ROWS)) {
        survey->is_odd = true;
        return false;
    }
    work->there[first / CHUNK_ROWS] = true;
    work->rows += rows;
    return true;
}

/* Finds the chunks that an interrupted load has stored. A load stores a chunk completely or not at
 * all. Refuses a table with any other rows (a chunk with too few or too many rows, or a key out of
 * range), because another program may have written them. */
static enum status survey_chunks(const struct datasets_place *place, struct table_load *work,
                                 uint64_t rows, struct error *error)
{
    const struct script_dataset *dataset = work->dataset;
    const char quote = place->setup->connection.identifier_quote;
    struct buffer key = {0}, sql = {0};
    work->there = calloc(work->chunks, sizeof *work->there);
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
    if (work->there == NULL || buffer_failed(&key) || buffer_failed(&sql)) {
        table_load_no_memory(error);
    } else {
        status = ask_numbers(place->plan->adapter, place->conn, buffer_text(&sql), &numbers, error);
    }
    buffer_fini(&key);
    buffer_fini(&sql);
    if (status == STATUS_OK && (survey.is_odd || work->rows != rows)) {
        return refuse(error,
                      "table '%.80s' has rows that an interrupted load of %.60s would not leave; "
                      "another program may have written them: %s",
                      dataset->name, table_load_script_name(place->plan->script),
                      REMEDY(&work->mark, dataset->name));
    }
    return status;
}

/* Checks that an existing table has the number of rows that the script declares. The command
 * prepare also accepts fewer rows if it can load the missing rows. For this, the table must be one
 * that this program created, and its load has not begun or can be resumed. */
static enum status check_rows(const struct datasets_place *place, struct table_load *work,
                              const struct table *table, struct error *error)
{
    const struct plan *plan = place->plan;
    const struct script_dataset *dataset = work->dataset;
    const struct setup_table *counted = &place->setup->tables[work->number];
    const char *script = table_load_script_name(plan->script);
    const struct ask_wait wait = {.unread = ask_templates(&place->setup->connection)->unread,
                                  .limit_ns = ASK_UNREAD_NS,
                                  .on_answer = place->on_answer,
                                  .context = place->context};
    uint64_t *const before = setup_rows_before(place->setup, counted);
    const enum status status =
        ask_count_shown(plan->adapter, place->conn, &counted->count, &wait, before, error);
    place->on_answer(place->context);
    const uint64_t rows = *before;
    /* earlier runs may have added rows to the loaded table, or removed rows */
    const bool has_varied =
        dataset->varies && rows > 0 && work->mark.is_valid && !work->mark.is_loading;
    if (status != STATUS_OK || dataset->rows == 0 || rows == dataset->rows || has_varied) {
        /* the load may have been interrupted after the last row but before it was marked as
         * finished; only the command prepare finishes such a load */
        const bool is_unfinished = plan->command == COMMAND_PREPARE && dataset->rows > 0 &&
                                   rows == dataset->rows && work->mark.is_loading &&
                                   work->mark.has_same_rows;
        work->phase = is_unfinished ? PHASE_FINISH : PHASE_DONE;
        work->rows = status == STATUS_OK ? rows : 0;
        return status;
    }
    if (!work->mark.is_valid) {
        char remedy[REMEDY_BYTES];
        snprintf(remedy, sizeof remedy,
                 "%.40s declares %s %s; --recreate=%.60s makes the table again, "
                 "'append cleanup --drop=%.60s' drops it",
                 script, UNITS_COUNT(dataset->rows), units_plural(dataset->rows, "row", "rows"),
                 dataset->name, dataset->name);
        return table_mark_refuse(&work->mark, table, dataset->name, (int64_t)rows, remedy, error);
    }
    const bool was_cut_off = work->mark.is_loading && work->mark.has_same_rows && work->key != NULL;
    const bool can_go_on = rows < dataset->rows && (rows == 0 || was_cut_off);
    if (plan->command == COMMAND_PREPARE && can_go_on) {
        return rows == 0 ? STATUS_OK : survey_chunks(place, work, rows, error);
    }
    return refuse(
        error, "table '%.60s' has %s %s, but %.40s declares %s: %s%s", dataset->name,
        UNITS_COUNT(rows), units_plural(rows, "row", "rows"), script, UNITS_COUNT(dataset->rows),
        work->mark.is_loading && !work->mark.has_same_rows
            ? "its load was interrupted and used a different script or options (--set, --seed); "
            : "",
        can_go_on ? "'append prepare' loads the missing rows, --recreate loads all rows again"
                  : REMEDY(&work->mark, dataset->name));
}

/* Checks that the script declares the columns of every index. Called before any table is
 * created. */
static enum status check_indexes(const struct script *script, const struct script_dataset *dataset,
                                 const char *lines, struct error *error)
{
    struct text_value line;
    while (script_next_line(&lines, &line)) {
        for (const char *at = line.bytes; at < line.bytes + line.length;) {
            char name[ROW_NAME_BYTES];
            at = create_table_take_column(at, name, sizeof name);
            size_t length = 0;
            while (isalnum((unsigned char)name[length]) || name[length] == '_') {
                length++;
            }
            if (name[length] == '\0' && column_find(&dataset->table, name, strlen(name)) == NULL) {
                return refuse(error, "%.60s: index on unknown column '%.60s' of '%.60s'",
                              script->name, name, dataset->name);
            }
        }
    }
    return STATUS_OK;
}

/* Counts the rows of an existing table. Returns -1 if they cannot be counted. */
static int64_t count_there(const struct datasets_place *place, const char *table_name)
{
    const struct connection_info *connection = &place->setup->connection;
    uint64_t rows = 0;
    struct error error = {.kind = ERROR_NONE};
    const bool is_counted = ask_count_table(place->plan->adapter, place->conn, connection,
                                            table_name, &rows, &error) == STATUS_OK;
    place->on_answer(place->context);
    return is_counted ? (int64_t)rows : -1;
}

/* Checks that --recreate may drop the existing table. */
static enum status check_drop(const struct datasets_place *place, const struct table_load *work,
                              const struct table *table, struct error *error)
{
    const char *const name = work->dataset->name;
    if (table_mark_allows_drop(&work->mark, place->plan, name)) {
        return STATUS_OK;
    }
    return table_mark_refuse_drop(&work->mark, table, name, count_there(place, name), "--recreate",
                                  error);
}

static enum status examine_table(const struct datasets_place *place, struct table_load *work,
                                 struct error *error)
{
    const struct plan *plan = place->plan;
    const struct script_dataset *dataset = work->dataset;
    struct table table = {0};
    const struct connection_info *connection = &place->setup->connection;
    const bool has_own = script_text_for(&dataset->create, connection->dialect) != NULL;
    work->chunks = (dataset->rows + CHUNK_ROWS - 1) / CHUNK_ROWS;
    work->indexes = script_text_for(&dataset->indexes, connection->dialect);
    enum status status = check_indexes(plan->script, dataset, work->indexes, error);
    if (work->indexes == NULL || work->indexes[0] == '\0' ||
        (has_own && find_unsupported(connection, "create index") != NULL)) {
        work->indexes = NULL;
    }
    find_key(work);
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
            error_prefix(error, "%s:%d: dataset '%.60s'", plan_script_shown(plan->script),
                         dataset->line, dataset->name);
        }
    } else if (status == STATUS_OK) {
        status = check_columns(place, dataset, &table, &work->mark, error);
        status = status == STATUS_OK ? check_kept(place, work, error) : status;
        status =
            status == STATUS_OK ? fill_setup_table(place, work->number, &table, error) : status;
        status = status == STATUS_OK ? check_rows(place, work, &table, error) : status;
    }
    table_fini(&table);
    return status;
}

/* Resolves the script's statements, and checks that the database supports them. Needs no table. */
static enum status check_script(const struct datasets_place *place, struct datasets *datasets,
                                struct error *error)
{
    const struct plan *plan = place->plan;
    const struct script *script = plan->script;
    const struct script_place script_place = {.sessions = plan->sessions,
                                              .seed = plan->facts->seed,
                                              .dialect = place->setup->connection.dialect};
    const size_t count = script->statement_count;
    datasets->statements = calloc(count + 1, sizeof *datasets->statements);
    datasets->texts = calloc(count + 1, sizeof *datasets->texts);
    if (datasets->statements == NULL || datasets->texts == NULL) {
        return table_load_no_memory(error);
    }
    datasets->statement_count = count;
    for (size_t i = 0; i < count; i++) {
        if (script_resolve(script, i, &script_place, &datasets->statements[i], &datasets->texts[i],
                           error) != STATUS_OK) {
            return error->kind == ERROR_MEMORY ? STATUS_FATAL : refuse(error, "%s", error->text);
        }
        const struct statement *statement = &datasets->statements[i];
        const char *const why = find_unsupported(&place->setup->connection, statement->sql);
        if (why != NULL) {
            return refuse(error, "%s:%d: statement '%s': %s", plan_script_shown(script),
                          script->statements[i].line, script->statements[i].name, why);
        }
        if (statement->is_prepared && statement->slot > STATEMENT_SLOTS_MAX) {
            return refuse(
                error,
                "%.60s has %zu statements, but at most %d can be prepared: use --prepared no",
                script->name, count, STATEMENT_SLOTS_MAX);
        }
    }
    for (size_t i = 0; i < script->invariant_count; i++) {
        const struct script_invariant *invariant = &script->invariants[i];
        const char *sql = script_text_for(&invariant->sql, place->setup->connection.dialect);
        if (sql == NULL) {
            return refuse(
                error,
                "%s:%d: invariant '%.80s' has no text for %.30s and no default: add one of them",
                plan_script_shown(script), invariant->line, invariant->claim,
                place->setup->connection.dialect);
        }
    }
    return STATUS_OK;
}

/* Makes the first and the last row of a table, to find mistakes before any table is created. */
static enum status try_rows(const struct script *script, const struct table_load *work,
                            struct script_state *state, struct error *error)
{
    const struct script_dataset *dataset = work->dataset;
    if (dataset->rows == 0) {
        return STATUS_OK;
    }
    struct script_rows *rows = script_rows_create(script, work->number, 1);
    enum status status = rows == NULL ? table_load_no_memory(error) : STATUS_OK;
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
        return table_load_no_memory(error);
    }
    datasets->works = calloc(script->dataset_count + 1, sizeof *datasets->works);
    if (datasets->works == NULL) {
        datasets_destroy(datasets);
        return table_load_no_memory(error);
    }
    enum status status = check_script(place, datasets, error);
    for (size_t i = 0; status == STATUS_OK && i < script->dataset_count; i++) {
        if (!script->datasets[i].is_declared) {
            continue;
        }
        if (is_discarding(plan)) {
            status = fill_setup_table(place, i, NULL, error);
            continue;
        }
        struct table_load *work = &datasets->works[datasets->count++];
        work->dataset = &script->datasets[i];
        work->number = i;
        status = examine_table(place, work, error);
    }
    struct script_state *state = NULL;
    for (size_t i = 0; status == STATUS_OK && i < datasets->count; i++) {
        if (datasets->works[i].phase == PHASE_DONE) {
            continue;
        }
        const struct script_place script_place = {
            .sessions = 1, .seed = plan->facts->seed, .dialect = setup->connection.dialect};
        status =
            state == NULL ? script_state_create(&state, script, &script_place, error) : STATUS_OK;
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
        free(datasets->works[i].there);
    }
    for (size_t i = 0; i < datasets->statement_count; i++) {
        free(datasets->texts[i]);
    }
    free(datasets->works);
    free(datasets->statements);
    free(datasets->texts);
    free(datasets);
}

/* Drops the existing tables that are to be made again, the last table first: a table can have
 * foreign keys to the tables before it. */
static enum status drop_old(const struct datasets_place *place, const struct datasets *datasets,
                            struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = datasets->count; i > 0 && status == STATUS_OK; i--) {
        const struct table_load *work = &datasets->works[i - 1];
        if (work->create.length > 0 && !work->is_missing) {
            status = ask_drop_table(place->plan->adapter, place->conn, &place->setup->connection,
                                    work->dataset->name, error);
            place->on_answer(place->context);
            if (status != STATUS_OK) {
                error_prefix(error, "cannot replace table '%.80s'", work->dataset->name);
            }
        }
    }
    return status;
}

static enum status make_table(const struct datasets_place *place, struct table_load *work,
                              struct error *error)
{
    struct table table = {0};
    enum status status = table_load_execute(place->plan, place->conn, &work->create, error);
    work->is_made = status == STATUS_OK;
    if (status == STATUS_OK) {
        status = place->plan->adapter->describe(place->plan->adapter, place->conn,
                                                work->dataset->name, &table, error);
    }
    if (status != STATUS_OK) {
        error_prefix(error, "cannot create table '%.80s'", work->dataset->name);
        /* if the server refuses the script's own CREATE TABLE, the script is wrong */
        const bool is_own =
            script_text_for(&work->dataset->create, place->setup->connection.dialect) != NULL;
        const bool is_wrong = is_own && !work->is_made && status == STATUS_REJECTED &&
                              !error_is_transient(error) && error->kind != ERROR_AUTH &&
                              error->kind != ERROR_READ_ONLY;
        error->kind = is_wrong ? ERROR_USAGE : error->kind;
    } else {
        const struct script_dataset *dataset = work->dataset;
        work->mark.is_valid = true;
        status = table_load_write_mark(place->plan, place->setup, place->conn, work,
                                       dataset->rows > 0, error);
        status = status == STATUS_OK ? check_engine(place, dataset, &table, error) : status;
        status = status == STATUS_OK ? check_columns(place, dataset, &table, &work->mark, error)
                                     : status;
        status =
            status == STATUS_OK ? fill_setup_table(place, work->number, &table, error) : status;
    }
    table_fini(&table);
    place->on_answer(place->context);
    return status;
}

/* Prepares all statements, to find out whether the server supports them before the first session
 * starts. */
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
            error_prefix(error, "%s:%d: statement '%s'", plan_script_shown(script),
                         script->statements[i].line, script->statements[i].name);
            error->kind = status == STATUS_LOST ? error->kind : ERROR_USAGE;
        }
    }
    for (size_t i = 0; i < script->invariant_count && status == STATUS_OK; i++) {
        const struct script_invariant *invariant = &script->invariants[i];
        const struct statement query = {
            .sql = script_text_for(&invariant->sql, place->setup->connection.dialect),
            .is_prepared = true,
            .slot = 1};
        status = prepared_make(&prepared, &query, error);
        place->on_answer(place->context);
        if (status != STATUS_OK) {
            error_prefix(error, "%s:%d: invariant '%.80s'", plan_script_shown(script),
                         invariant->line, invariant->claim);
            error->kind = status == STATUS_LOST ? error->kind : ERROR_USAGE;
        }
    }
    prepared_end(&prepared);
    return status;
}

enum status datasets_make(const struct datasets_place *place, struct datasets *datasets,
                          struct error *error)
{
    enum status status = drop_old(place, datasets, error);
    for (size_t i = 0; status == STATUS_OK && i < datasets->count; i++) {
        struct table_load *work = &datasets->works[i];
        if (work->create.length > 0) {
            status = make_table(place, work, error);
        } else if (work->phase != PHASE_DONE && work->phase != PHASE_FINISH && work->rows == 0) {
            /* replace the mark of an earlier load, because it does not describe the rows of this
             * load */
            status =
                table_load_write_mark(place->plan, place->setup, place->conn, work, true, error);
            place->on_answer(place->context);
        }
    }
    status = status == STATUS_OK ? prepare_statements(place, datasets, error) : status;
    for (size_t i = 0; i < datasets->count; i++) {
        place->setup->made.tables += datasets->works[i].is_made;
        datasets->undone = datasets->works[i].is_made ? UNDONE_STAY : datasets->undone;
    }
    if (status != STATUS_OK && status != STATUS_LOST) {
        datasets_undo(place, datasets);
    }
    return status;
}

bool datasets_is_script_wrong(const struct datasets *datasets)
{
    return datasets->is_script_wrong;
}

/* Returns whether a table is still the table that datasets_make created, and has only the rows that
 * the load stored. */
static bool is_untouched(const struct datasets_place *place, const struct table_load *work)
{
    struct error error = {.kind = ERROR_NONE};
    struct table_mark mark;
    const char *const name = work->dataset->name;
    /* another table may have taken the name */
    return read_mark(place, name, &mark, &error) == STATUS_OK &&
           (mark.is_valid || place->setup->connection.table_mark == NULL) &&
           count_there(place, name) == (int64_t)work->loaded;
}

void datasets_undo(const struct datasets_place *place, struct datasets *datasets)
{
    for (size_t i = 0; i < datasets->count; i++) {
        const struct table_load *work = &datasets->works[i];
        if (work->is_made && !is_untouched(place, work)) {
            datasets->undone = UNDONE_SHARED;
            return;
        }
    }
    /* the last table first: it may have foreign keys to the tables before it */
    for (size_t i = datasets->count; i > 0; i--) {
        const struct table_load *work = &datasets->works[i - 1];
        struct error error = {.kind = ERROR_NONE};
        if (work->is_made &&
            ask_drop_table(place->plan->adapter, place->conn, &place->setup->connection,
                           work->dataset->name, &error) != STATUS_OK) {
            return;
        }
    }
    datasets->undone = datasets->undone == UNDONE_STAY ? UNDONE_DROPPED : datasets->undone;
}

/* A table that cleanup is to drop. */
struct doomed {
    const char *name;
    int64_t rows; /* number of the table's rows; -1: they could not be counted */
};

/* Finds the tables to drop. Fails at the first table that may not be dropped, so that no table is
 * dropped. */
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
                status =
                    table_mark_refuse_drop(&mark, &table, dataset->name, rows, "--drop", error);
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
        doomed == NULL ? table_load_no_memory(error) : find_doomed(place, doomed, &found, error);
    for (size_t i = 0; status == STATUS_OK && i < found && !place->plan->is_quiet; i++) {
        notice_print("dropping table %.80s with %s %s", doomed[i].name,
                     doomed[i].rows < 0 ? "an unknown number of"
                                        : UNITS_COUNT((uint64_t)doomed[i].rows),
                     doomed[i].rows == 1 ? "row" : "rows");
    }
    size_t first = found; /* the last table first: see drop_old */
    while (status == STATUS_OK && first > 0) {
        status = ask_drop_table(place->plan->adapter, place->conn, &place->setup->connection,
                                doomed[first - 1].name, error);
        place->on_answer(place->context);
        first -= status == STATUS_OK ? 1 : 0;
    }
    for (size_t i = first; i < found; i++) {
        buffer_add_format(dropped, "%s%s", *count == 0 ? "" : ", ", doomed[i].name);
        (*count)++;
    }
    free(doomed);
    return status;
}
