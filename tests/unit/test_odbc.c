/* How connection strings and scripts are handled before a driver sees them. */
#include "unit/unit.h"

#include "unit.h"

#include <string.h>

#include "adapters/odbc.h"
#include "base/ask.h"

struct lookup {
    const char *text;
    bool is_found;
    const char *value;
};

TEST(test_find)
{
    static const char *const keys[] = {"Server", "Host", NULL};
    static const struct lookup cases[] = {
        {"Server=db", true, "db"},
        {"sERVER=db;Port=1", true, "db"},
        {"Driver={x};  server = db ;Port=1", true, "db "},
        {"Host=first;Server=second", true, "first"},
        {"Server={a;b};Host=c", true, "a;b"},
        {"Server={a}}b}", true, "a}b"},
        {"Driver={Server=wrong};Host=right", true, "right"},
        {"Driver={a}};Server=wrong};Host=right", true, "right"},
        {"Server={unclosed;Host=wrong", true, "unclosed;Host=wrong"},
        {"Server=", true, ""},
        {"Server;Host=late", true, ""},
        {";;;Server=db;;", true, "db"},
        {"Servers=no;MyServer=no", false, ""},
        {"Description=Server", false, ""},
        {"", false, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char value[32] = "before";
        print_message("%s\n", cases[i].text);
        assert_int_equal(odbc_string_find(cases[i].text, keys, value, sizeof value),
                         cases[i].is_found);
        assert_string_equal(value, cases[i].value);
    }
}

TEST(test_find_cuts)
{
    static const char *const keys[] = {"Server", NULL};
    char value[4];
    (void)state;
    assert_true(odbc_string_find("Server=abcdef", keys, value, sizeof value));
    assert_string_equal(value, "abc");
    assert_true(odbc_string_find("Server={ab}}}", keys, value, sizeof value));
    assert_string_equal(value, "ab}");
}

struct build {
    struct target target;
    const char *wanted;
};

TEST(test_build)
{
    static const struct build cases[] = {
        {{.path = "logs"}, "DSN=logs;"},
        {{.path = "my logs"}, "DSN=my logs;"},
        {{.path = "DSN=logs"}, "DSN=logs;"},
        {{.path = "a;b"}, "DSN={a;b};"},
        {{.path = "DSN=logs;UID=a;PWD=b"}, "DSN=logs;UID=a;PWD=b;"},
        {{.path = "DSN=logs;uid=a;password=b;DB=c", .user = "u", .password = "p", .database = "d"},
         "DSN=logs;UID=u;PWD=p;Database=d;"},
        {{.path = "DSN=logs;UserName=a;User=b;UIDs=c", .user = "u"}, "DSN=logs;UIDs=c;UID=u;"},
        {{.path = "DSN=logs;PWD={x;UID=kept};UID=a", .user = "u"},
         "DSN=logs;PWD={x;UID=kept};UID=u;"},
        {{.path = "DSN=logs", .password = ""}, "DSN=logs;PWD=;"},
        {{.path = "DSN=logs", .password = "a;b"}, "DSN=logs;PWD={a;b};"},
        {{.path = "DSN=logs", .password = "a}b"}, "DSN=logs;PWD=a}b;"},
        {{.path = "DSN=logs", .password = "a};b"}, "DSN=logs;PWD={a}};b};"},
        {{.path = "DSN=logs", .password = "{a"}, "DSN=logs;PWD={{a};"},
        {{.path = "DSN=logs", .password = " a"}, "DSN=logs;PWD={ a};"},
        {{.path = "DSN=logs", .password = "a "}, "DSN=logs;PWD={a };"},
        {{.path = "DSN=logs", .password = "two words"}, "DSN=logs;PWD=two words;"},
        {{.path = "DSN=logs", .password = "p=q"}, "DSN=logs;PWD=p=q;"},
        {{.path = "Driver={My {odd}} driver};Server=x"}, "Driver={My {odd}} driver};Server=x;"},
        {{.path = "Driver = {x} ; Server = y"}, "Driver={x} ;Server=y;"},
        {{.path = "Driver={x};Option=4"}, "Driver={x};Option=4;"},
        {{.path = "Driver={MariaDB Unicode};Server=y"},
         "Driver={MariaDB Unicode};Server=y;OPTION=2;"},
        {{.path = "Driver=/lib/libmaodbc.so;option=5;Server=y"},
         "Driver=/lib/libmaodbc.so;Server=y;OPTION=7;"},
        {{.path = "Driver=psqlodbcw.so;Server=y"}, "Driver=psqlodbcw.so;Server=y;Protocol=7.4-0;"},
        {{.path = "Driver={PostgreSQL ANSI};A1=7.4-1"}, "Driver={PostgreSQL ANSI};A1=7.4-1;"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer text;
        buffer_init(&text);
        odbc_string_build(&text, &cases[i].target);
        print_message("%s\n", cases[i].target.path);
        assert_string_equal(buffer_text(&text), cases[i].wanted);
        buffer_fini(&text);
    }
}

/* A value that is put into a connection string is found again. */
TEST(test_build_and_find)
{
    static const char *const keys[] = {"PWD", NULL};
    static const char *const passwords[] = {"plain", "a;b", "}",    "};",  "{",    "{}",
                                            "a}};b", "} ",  "; }}", " a ", "p=q;", "\xc3\xbc;"};
    (void)state;
    for (size_t i = 0; i < sizeof passwords / sizeof *passwords; i++) {
        const struct target target = {.path = "DSN=x;PWD={old;}}}", .password = passwords[i]};
        struct buffer text;
        char value[32];
        buffer_init(&text);
        odbc_string_build(&text, &target);
        assert_true(odbc_string_find(buffer_text(&text), keys, value, sizeof value));
        assert_string_equal(value, passwords[i]);
        buffer_fini(&text);
    }
}

enum {
    STATEMENTS_MAX = 6
};

struct split {
    const char *sql;
    const char *statements[STATEMENTS_MAX];
};

TEST(test_split)
{
    static const struct split cases[] = {
        {"", {NULL}},
        {" ; ;\n;", {NULL}},
        {"-- nothing", {NULL}},
        {"/* nothing", {NULL}},
        {"select 1", {"select 1"}},
        {"select 1;", {"select 1"}},
        {"a;b ;\n c", {"a", "b ", "c"}},
        {"select ';' ; b", {"select ';' ", "b"}},
        {"select 'it''s;' ; b", {"select 'it''s;' ", "b"}},
        {"select \"a;b\", `c;d`; b", {"select \"a;b\", `c;d`", "b"}},
        {"select 'open; b", {"select 'open; b"}},
        {"a -- no; end\n; b", {"a -- no; end\n", "b"}},
        {"a /* no; end */; b", {"a /* no; end */", "b"}},
        {"-- first\n/* second; */ a", {"a"}},
        {"a - b; c / d * e", {"a - b", "c / d * e"}},
        {"select '--'; b", {"select '--'", "b"}},
        {"do $$ begin; x; end $$; b", {"do $$ begin; x; end $$", "b"}},
        {"do $f$ a; $$ b; $f$; c", {"do $f$ a; $$ b; $f$", "c"}},
        {"do $f$ open; b", {"do $f$ open; b"}},
        {"select $1; b", {"select $1", "b"}},
        {"select a$b$c; d$b$", {"select a$b$c", "d$b$"}},
        {"create table begin_log (a int); b", {"create table begin_log (a int)", "b"}},
        {"create trigger t after insert on x begin a; b; end; c",
         {"create trigger t after insert on x begin a; b; end", "c"}},
        {"create or replace procedure p() begin if a then b; end if; c; end; d",
         {"create or replace procedure p() begin if a then b; end if; c; end", "d"}},
        {"create procedure p() begin while a do b; end while; end; d",
         {"create procedure p() begin while a do b; end while; end", "d"}},
        {"create function f() begin return case a when 1 then 2 end; end; d",
         {"create function f() begin return case a when 1 then 2 end; end", "d"}},
        {"create procedure p() begin case a when 1 then b; end case; c; end; d",
         {"create procedure p() begin case a when 1 then b; end case; c; end", "d"}},
        {"create trigger t before insert on x for each row set a = 1; b",
         {"create trigger t before insert on x for each row set a = 1", "b"}},
        {"drop trigger begin; b", {"drop trigger begin", "b"}},
        {"create table event (begin int); b", {"create table event (begin int)", "b"}},
        {"create table t (event text, begin int); b",
         {"create table t (event text, begin int)", "b"}},
        {"select case a when 1 then 2 end; b", {"select case a when 1 then 2 end", "b"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sql_script script = {.rest = cases[i].sql};
        size_t count = 0;
        print_message("%s\n", cases[i].sql);
        while (sql_script_next(&script)) {
            assert_true(count < STATEMENTS_MAX);
            assert_non_null(cases[i].statements[count]);
            assert_string_equal(buffer_text(&script.statement), cases[i].statements[count]);
            count++;
        }
        assert_true(count == STATEMENTS_MAX || cases[i].statements[count] == NULL);
        buffer_fini(&script.statement);
    }
}

/* The same text means different things in different dialects. */
TEST(test_lexis)
{
    static const struct {
        const char *dialect, *sql;
        size_t parameters, statements;
    } cases[] = {
        {"mariadb", "select 'it\\'s ?; b'; c", 0, 2},
        {"mysql", "select \"a\\\"?\", ?", 1, 1},
        {"clickhouse", "select 'it\\'s ?; b'; c", 0, 2},
        {"postgresql", "select 'it\\', ?; b '", 1, 2},
        {"postgresql", "select E'it\\'s ?; b', e'\\'?', ?; c", 1, 2},
        {"postgresql", "select type'\\', ?", 1, 1},
        {"postgresql", "select 1 # ?", 1, 1},
        {"sqlite", "select 'it\\', ?; b '", 1, 2},
        {"mariadb", "select 1 # ? ; it's\n, ?; # b\n c # d", 1, 2},
        {"mariadb", "select `a\\`, ?", 1, 1},
        {"singlestore", "select 'a\\\\', ?", 1, 1},
        {"mariadb", "select 'open\\", 0, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const unsigned lexis = sql_lexis_of(cases[i].dialect);
        struct sql_script script = {.rest = cases[i].sql, .lexis = lexis};
        size_t count = 0;
        print_message("%s: %s\n", cases[i].dialect, cases[i].sql);
        while (sql_script_next(&script)) {
            count++;
        }
        buffer_fini(&script.statement);
        assert_int_equal(count, cases[i].statements);
        assert_int_equal(sql_script_count_parameters(cases[i].sql, lexis), cases[i].parameters);
    }
}

TEST(test_kinds)
{
    static const struct {
        const char *sql;
        enum sql_script_kind kind;
    } cases[] = {
        {"begin", SQL_SCRIPT_BEGIN},
        {"BEGIN transaction isolation level serializable", SQL_SCRIPT_BEGIN},
        {"/* now */ Start\nTransaction", SQL_SCRIPT_BEGIN},
        {"start slave", SQL_SCRIPT_OTHER},
        {"beginning", SQL_SCRIPT_OTHER},
        {"commit", SQL_SCRIPT_COMMIT},
        {"commit work", SQL_SCRIPT_COMMIT},
        {"end", SQL_SCRIPT_COMMIT},
        {"rollback", SQL_SCRIPT_ROLLBACK},
        {"ROLLBACK work", SQL_SCRIPT_ROLLBACK},
        {"rollback to a", SQL_SCRIPT_OTHER},
        {"rollback work to savepoint a", SQL_SCRIPT_OTHER},
        {"select 'commit'", SQL_SCRIPT_OTHER},
        {"insert into t values (1)", SQL_SCRIPT_OTHER},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sql_script script = {.rest = cases[i].sql};
        print_message("%s\n", cases[i].sql);
        assert_true(sql_script_next(&script));
        assert_int_equal(script.kind, cases[i].kind);
        assert_false(sql_script_next(&script));
        buffer_fini(&script.statement);
    }
}

TEST(test_faults)
{
    static const struct {
        const char *text;
        bool is_good;
    } cases[] = {
        {"name", true},
        {"DSN=name", true},
        {"Driver={a};Server=h", true},
        {"Driver=a;Database=/x.db", true},
        {"Driver={a;PWD=b;Server=h", false},
        {"Driver={a}}b;Server=h", false},
        {"Driver={a}}b};Server=h", true},
        {"Driver={a}", false},
        {"Driver={a};UID=u;PWD=p", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(odbc_string_fault(cases[i].text) == NULL, cases[i].is_good);
    }
}
