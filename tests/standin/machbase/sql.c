#include "sql.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIZE_MAX_SHORT = 32767,
    SIZE_MAX_LONG = 64 << 20,
};

struct parser {
    const char *at;            /* behind the word */
    const char *begin;         /* of the word */
    char word[SQL_TEXT_BYTES]; /* upper case, but for what is in quotes; "" at the end */
    bool is_text;              /* the word was in '…' */
    bool is_name;              /* it is a name, perhaps in "…" */
    bool has_failed;
};

static bool is_name_character(char c)
{
    return isalnum((unsigned char)c) != 0 || c == '_' || c == '$' || c == '.';
}

/* Copies up to the closing quote; doubled ones count as one character. */
static void read_quoted(struct parser *p, char quote)
{
    size_t length = 0;
    for (p->at++; *p->at != '\0'; p->at++) {
        if (*p->at == quote && *++p->at != quote) {
            p->word[length] = '\0';
            return;
        }
        if (length + 1 < sizeof p->word) {
            p->word[length++] = *p->at;
        }
    }
    p->has_failed = true; /* no closing quote */
}

static void advance(struct parser *p)
{
    size_t length = 0;
    while (isspace((unsigned char)*p->at) != 0) {
        p->at++;
    }
    p->begin = p->at;
    p->is_text = *p->at == '\'';
    p->is_name = *p->at == '"' || isalpha((unsigned char)*p->at) != 0 || *p->at == '_';
    memset(p->word, 0, sizeof p->word);
    if (p->is_text || *p->at == '"') {
        read_quoted(p, *p->at);
        if (!p->is_text) {
            for (char *c = p->word; *c != '\0'; c++) {
                *c = (char)toupper((unsigned char)*c);
            }
        }
        return;
    }
    const bool is_sign = *p->at == '-' && isdigit((unsigned char)p->at[1]) != 0;
    do {
        if (length + 1 < sizeof p->word && *p->at != '\0') {
            p->word[length++] = (char)toupper((unsigned char)*p->at);
            p->at++;
        } else {
            p->has_failed = p->has_failed || *p->at != '\0';
            return;
        }
    } while ((is_name_character(p->word[length - 1]) || (is_sign && length == 1)) &&
             is_name_character(*p->at));
    if ((p->word[0] == '<' && (*p->at == '=' || *p->at == '>')) ||
        (p->word[0] == '>' && *p->at == '=') || (p->word[0] == '!' && *p->at == '=')) {
        p->word[1] = *p->at++;
    }
}

static bool is_at(const struct parser *p, const char *word)
{
    return !p->is_text && strcmp(p->word, word) == 0;
}

static bool accept(struct parser *p, const char *word)
{
    const bool is_there = !p->has_failed && is_at(p, word);
    if (is_there) {
        advance(p);
    }
    return is_there;
}

static void expect(struct parser *p, const char *word)
{
    if (!accept(p, word)) {
        p->has_failed = true;
    }
}

static void take_name(struct parser *p, char *name)
{
    const size_t length = strlen(p->word);
    if (!p->is_name || length == 0 || length >= ROW_COLUMN_NAME_BYTES) {
        p->has_failed = true;
        return;
    }
    memcpy(name, p->word, length + 1);
    advance(p);
}

/* T, or OWNER.T, of which the owner does not matter. */
static void take_table(struct parser *p, struct sql_statement *s)
{
    take_name(p, s->table);
    const char *dot = strrchr(s->table, '.');
    if (dot != NULL) {
        memmove(s->table, dot + 1, strlen(dot));
    }
}

static int64_t take_number(struct parser *p)
{
    char *end = NULL;
    errno = 0;
    const long long number = strtoll(p->word, &end, 10);
    if (p->is_text || end == p->word || *end != '\0' || errno != 0) {
        p->has_failed = true;
        return 0;
    }
    advance(p);
    return number;
}

/* Words that say more about a column or a table and mean nothing here. */
static void skip_words(struct parser *p)
{
    unsigned depth = 0;
    while (p->word[0] != '\0' && !p->has_failed) {
        if (depth == 0 && (is_at(p, ",") || is_at(p, ")"))) {
            return;
        }
        depth += is_at(p, "(") ? 1 : 0;
        depth -= is_at(p, ")") ? 1 : 0;
        advance(p);
    }
}

static void parse_column(struct parser *p, struct row_column *column)
{
    take_name(p, column->name);
    if (p->has_failed || !row_type_of(p->word, &column->type)) {
        p->has_failed = true;
        return;
    }
    advance(p);
    if (accept(p, "(")) {
        const int64_t size = take_number(p);
        p->has_failed = p->has_failed || size < 1 || size > SIZE_MAX_SHORT;
        column->size = column->type == ROW_VARCHAR ? (uint32_t)size : 0;
        expect(p, ")");
    } else if (column->type == ROW_VARCHAR) {
        p->has_failed = true;
    }
    if (row_type_is_variable(column->type) && column->type != ROW_VARCHAR) {
        /* with none the client library cuts every value to nothing [run] */
        column->size = column->type == ROW_JSON ? SIZE_MAX_SHORT : SIZE_MAX_LONG;
    }
    skip_words(p);
}

static void parse_create(struct parser *p, struct sql_statement *s)
{
    static const char *const kinds[] = {"TAG", "LOG", "VOLATILE", "LOOKUP"};
    s->kind = SQL_CREATE;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (accept(p, kinds[i])) {
            break;
        }
    }
    expect(p, "TABLE");
    take_table(p, s);
    expect(p, "(");
    s->columns = p->has_failed ? NULL : calloc(ROW_TABLE_COLUMNS_MAX, sizeof *s->columns);
    p->has_failed = s->columns == NULL;
    while (!p->has_failed) {
        if (s->column_count == ROW_TABLE_COLUMNS_MAX - 1) {
            p->has_failed = true;
            return;
        }
        parse_column(p, &s->columns[s->column_count++]);
        if (!accept(p, ",")) {
            break;
        }
    }
    expect(p, ")");
    skip_words(p);
}

static void parse_operand(struct parser *p, struct sql_item *item)
{
    if (p->is_text) {
        item->kind = SQL_TEXT;
        memcpy(item->text, p->word, sizeof item->text);
        advance(p);
    } else {
        item->kind = SQL_NUMBER;
        item->number = take_number(p);
    }
}

static void parse_item(struct parser *p, struct sql_item *item)
{
    if (!p->is_name) {
        parse_operand(p, item);
        return;
    }
    item->kind = SQL_COLUMN;
    take_name(p, item->text);
    if (p->has_failed || !accept(p, "(")) {
        if (accept(p, "AS")) {
            advance(p);
        }
        return;
    }
    if (strcmp(item->text, "COUNT") == 0) {
        item->kind = SQL_COUNT;
        expect(p, "*");
    } else if (strcmp(item->text, "COALESCE") == 0 || strcmp(item->text, "NVL") == 0) {
        take_name(p, item->text);
        expect(p, ",");
        item->number = take_number(p);
        item->has_default = true;
    } else {
        p->has_failed = true;
    }
    expect(p, ")");
}

static void parse_condition(struct parser *p, struct sql_condition *condition)
{
    static const struct {
        const char *word;
        enum sql_comparison comparison;
    } comparisons[] = {
        {"=", SQL_EQUAL},       {"<>", SQL_UNEQUAL}, {"!=", SQL_UNEQUAL},    {"<", SQL_LESS},
        {"<=", SQL_LESS_EQUAL}, {">", SQL_MORE},     {">=", SQL_MORE_EQUAL},
    };
    take_name(p, condition->column);
    if (accept(p, "IS")) {
        condition->comparison = accept(p, "NOT") ? SQL_IS_NOT_NULL : SQL_IS_NULL;
        expect(p, "NULL");
        return;
    }
    for (size_t i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++) {
        if (accept(p, comparisons[i].word)) {
            condition->comparison = comparisons[i].comparison;
            parse_operand(p, &condition->operand);
            return;
        }
    }
    p->has_failed = true;
}

static void parse_select(struct parser *p, struct sql_statement *s)
{
    s->kind = SQL_SELECT;
    s->is_distinct = accept(p, "DISTINCT");
    s->is_star = accept(p, "*");
    while (!s->is_star && !p->has_failed && s->item_count < SQL_ITEMS_MAX) {
        parse_item(p, &s->items[s->item_count++]);
        if (!accept(p, ",")) {
            break;
        }
    }
    expect(p, "FROM");
    take_table(p, s);
    if (accept(p, "WHERE")) {
        do {
            if (s->condition_count == SQL_CONDITIONS_MAX) {
                p->has_failed = true;
                return;
            }
            parse_condition(p, &s->conditions[s->condition_count++]);
        } while (accept(p, "AND"));
    }
    if (accept(p, "LIMIT")) {
        const int64_t limit = take_number(p);
        p->has_failed = p->has_failed || limit < 0;
        s->limit = (uint64_t)limit;
    }
}

bool sql_parse(struct sql_statement *statement, const char *sql, const char **near)
{
    struct parser p = {.at = sql};
    memset(statement, 0, sizeof *statement);
    statement->limit = UINT64_MAX;
    advance(&p);
    if (accept(&p, "CREATE")) {
        parse_create(&p, statement);
    } else if (accept(&p, "SELECT")) {
        parse_select(&p, statement);
    } else if (accept(&p, "DROP")) {
        statement->kind = SQL_DROP;
        expect(&p, "TABLE");
        take_table(&p, statement);
    } else {
        p.has_failed = true;
    }
    while (accept(&p, ";")) {
    }
    *near = p.begin;
    if (p.has_failed || p.word[0] != '\0') {
        sql_fini(statement);
        return false;
    }
    return true;
}

void sql_fini(struct sql_statement *statement)
{
    free(statement->columns);
    statement->columns = NULL;
}
