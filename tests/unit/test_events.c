/* events.csv: valid and invalid lines of users. */
#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/events.h"

/* 2026-01-31T12:00:00Z */
#define STARTED_NS INT64_C(1769860800000000000)
#define SECOND_NS INT64_C(1000000000)

static void write_file(const char *path, const char *bytes, size_t length)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static char folder[] = "/tmp/append-events-XXXXXX", path[64];

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/append-events-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/" EVENTS_FILE, folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void parse(struct event_list *list, const char *text)
{
    struct error error;
    error_clear(&error);
    write_file(path, text, strlen(text));
    assert_int_equal(events_read(list, folder, STARTED_NS, &error), STATUS_OK);
}

static void check(const struct event_list *list, size_t place, int64_t at_ns, const char *text)
{
    assert_true(place < list->count);
    assert_int_equal(list->entries[place].at_ns, at_ns);
    assert_string_equal(list->entries[place].text, text);
}

TEST_BETWEEN(test_good_lines, set_up, tear_down)
{
    struct event_list list;
    parse(&list, "time,text\r\n"
                 "30.000,\"added \"\"b\"\", the second\"\r\n"
                 "10,node a, then node b\n"
                 "\n"
                 "  2026-01-31T12:00:20Z , rebalance  \n"
                 "2026-01-31T11:59:59Z,the second in which it began\n"
                 "10,\n"
                 "99999,long after the end");
    assert_int_equal(list.bad_lines, 0);
    assert_string_equal(list.note, "");
    assert_int_equal(list.count, 6);
    check(&list, 0, 0, "the second in which it began");
    check(&list, 1, 10 * SECOND_NS, "node a, then node b");
    check(&list, 2, 10 * SECOND_NS, "");
    check(&list, 3, 20 * SECOND_NS, "rebalance");
    check(&list, 4, 30 * SECOND_NS, "added \"b\", the second");
    check(&list, 5, 99999 * SECOND_NS, "long after the end");
    event_list_fini(&list);
    assert_null(list.entries);
}

TEST_BETWEEN(test_bad_lines, set_up, tear_down)
{
    static const struct {
        const char *line;
        const char *why;
    } bad[] = {
        {"hello", "line 3: 'hello' is not TIME,TEXT"},
        {"soon,x", "line 3: 'soon,x' does not begin with seconds"},
        {"time,text", "line 3: 'time,text' does not begin"},
        {"2026-01-31T11:00:00Z,x", "is before the start of the run"},
        {"1,\"open", "has an unclosed quote"},
        {"1,\"a\"b", "text after the closing quote"},
        {"1,\"a\",b", "text after the closing quote"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[200];
        snprintf(text, sizeof text, "time,text\n1,first\n%s\n2,last\n", bad[i].line);
        struct event_list list;
        parse(&list, text);
        assert_int_equal(list.bad_lines, 1);
        if (strstr(list.note, bad[i].why) == NULL) {
            fail_msg("%s", list.note);
        }
        assert_int_equal(list.count, 2);
        check(&list, 0, SECOND_NS, "first");
        check(&list, 1, 2 * SECOND_NS, "last");
        event_list_fini(&list);
    }
    struct event_list list;
    parse(&list, "time,text\nx\ny\nz\n");
    assert_int_equal(list.bad_lines, 3);
    assert_non_null(strstr(list.note, "line 2: 'x'"));
    assert_non_null(strstr(list.note, "2 more lines are bad"));
    event_list_fini(&list);
    parse(&list, "");
    assert_int_equal(list.count + list.bad_lines, 0);
    event_list_fini(&list);
}

TEST_BETWEEN(test_too_much, set_up, tear_down)
{
    char *text = malloc(16 * (EVENTS_MAX + 2));
    assert_non_null(text);
    size_t used = 0;
    for (int i = 0; i < EVENTS_MAX + 2; i++) {
        used += (size_t)snprintf(text + used, 16, "%d,x\n", i);
    }
    struct event_list list;
    parse(&list, text);
    free(text);
    assert_int_equal(list.count, EVENTS_MAX);
    assert_int_equal(list.bad_lines, 2);
    assert_non_null(strstr(list.note, "one event too many"));
    event_list_fini(&list);

    /* the text is cut between characters: each has two bytes, and the limit is within a
     * character */
    char wide[2 * EVENT_TEXT_BYTES + 3] = "1,";
    for (size_t i = 2; i + 2 < sizeof wide; i += 2) {
        wide[i] = '\xc3';
        wide[i + 1] = '\xa4';
    }
    parse(&list, wide);
    assert_int_equal(list.count, 1);
    assert_int_equal(strlen(list.entries[0].text) % 2, 0);
    assert_int_equal(strlen(list.entries[0].text), (EVENT_TEXT_BYTES - 1) / 2 * 2);
    event_list_fini(&list);
}

TEST_BETWEEN(test_files, set_up, tear_down)
{
    struct event_list list;
    struct error error;
    error_clear(&error);
    assert_int_equal(events_read(&list, folder, STARTED_NS, &error), STATUS_OK);
    assert_int_equal(list.count, 0);

    static const char bytes[] = "1,a\n2,b\0c\n3,d\n";
    write_file(path, bytes, sizeof bytes - 1);
    assert_int_equal(events_read(&list, folder, STARTED_NS, &error), STATUS_OK);
    assert_int_equal(list.count, 3);
    check(&list, 1, 2 * SECOND_NS, "b?c");
    event_list_fini(&list);

    static const char utc[] = "2026-01-31T12:00:10Z,x\n";
    write_file(path, utc, sizeof utc - 1);
    const int64_t half_later = STARTED_NS + SECOND_NS / 2;
    assert_int_equal(events_read(&list, folder, half_later, &error), STATUS_OK);
    check(&list, 0, SECOND_NS * 19 / 2, "x");
    event_list_fini(&list);
    assert_int_equal(events_read(&list, folder, EVENTS_START_UNKNOWN, &error), STATUS_OK);
    assert_int_equal(list.count, 0);
    assert_non_null(strstr(list.note, "the start of the run is not known"));
    event_list_fini(&list);

    assert_int_equal(truncate(path, (1 << 20) + 1), 0);
    assert_int_equal(events_read(&list, folder, STARTED_NS, &error), STATUS_REJECTED);
    assert_string_equal(error.text, "events.csv is longer than 1 MiB");

    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0); /* opening it must not block */
    assert_int_equal(events_read(&list, folder, STARTED_NS, &error), STATUS_REJECTED);
    assert_int_equal(error.kind, ERROR_DATA);
    assert_int_equal(list.count, 0);
}
