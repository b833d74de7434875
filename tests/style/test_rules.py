"""Each rule finds a sample that breaks it, and accepts a correct sample."""

import unittest

import rules
import words

GUARD = "#ifndef A_H\n#define A_H\n%s\n#endif\n"


def found(rule, path, text):
    return list(rule(path, text))


class Includes(unittest.TestCase):
    def check(self, path, include, is_allowed):
        result = found(rules.check_includes, path, f"#include {include}\n")
        self.assertEqual(result == [], is_allowed, f"{path} {include}: {result}")

    def test_each_direction(self):
        for path, include in (
            ("src/base/a.c", '"append/error.h"'),
            ("src/base/a.c", '"base/a.h"'),
            ("src/base/a.c", '"a.h"'),
            ("src/measure/a.c", '"base/mono.h"'),
            ("src/plan/a.c", '"adapters/registry.h"'),
            ("src/load/a.c", '"plan/plan.h"'),
            ("src/load/a.c", '"measure/recorder.h"'),
            ("src/report/a.c", '"measure/result.h"'),
            ("src/report/a.c", '"plan/plan.h"'),
            ("src/commands/a.c", '"load/driver.h"'),
            ("src/commands/a.c", '"report/text.h"'),
            ("src/adapters/null.c", '"adapters/null.h"'),
            ("src/adapters/postgresql_row.c", '"adapters/postgresql.h"'),
            ("src/adapters/postgresql.c", '"adapters/postgresql_row.h"'),
            ("src/adapters/registry.c", '"adapters/postgresql.h"'),
            ("src/adapters/odbc.c", '"adapters/dialect_mysql.h"'),
            ("src/adapters/postgresql.c", "<libpq-fe.h>"),
            ("src/commands/a.c", '"adapters/registry.h"'),
            ("include/append/adapter.h", '"append/row.h"'),
        ):
            self.check(path, include, True)
        for path, include in (
            ("src/base/a.c", '"measure/recorder.h"'),
            ("src/measure/a.c", '"load/driver.h"'),
            ("src/plan/a.c", '"measure/ledger.h"'),
            ("src/figures/a.c", '"plan/plan.h"'),
            ("src/limits/a.c", '"load/fleet.h"'),
            ("src/plan/a.c", '"adapters/null.h"'),
            ("src/load/a.c", '"commands/run.h"'),
            ("src/load/a.c", '"report/text.h"'),
            ("src/load/a.c", '"adapters/registry.h"'),
            ("src/report/a.c", '"commands/run.h"'),
            ("src/adapters/null.c", '"adapters/sqlite.h"'),
            ("src/adapters/null.c", '"adapters/registry.h"'),
            ("src/adapters/null.c", '"plan/plan.h"'),
            ("src/load/a.c", "<libpq-fe.h>"),
            ("src/report/a.c", "<sqlite3.h>"),
            ("include/append/adapter.h", '"base/mono.h"'),
            ("src/adapters/null.c", '"sqlite.h"'),
            ("src/novelty/a.c", '"base/mono.h"'),
        ):
            self.check(path, include, False)

    def test_an_include_in_a_comment_does_not_count(self):
        text = '/*\n#include "commands/run.h"\n*/\n// #include "commands/run.h"\n'
        self.assertEqual(found(rules.check_includes, "src/base/a.c", text), [])


class Cycles(unittest.TestCase):
    def test_files(self):
        sources = [
            ("src/base/a.h", '#include "base/b.h"\n'),
            ("src/base/b.h", '#include "base/c.h"\n'),
            ("src/base/c.h", '#include "a.h"\n'),
        ]
        self.assertEqual(len(list(rules.check_cycles(sources))), 1)
        self.assertEqual(list(rules.check_cycles(sources[:2])), [])

    def test_folders(self):
        sources = [
            ("src/load/a.c", '#include "measure/b.h"\n'),
            ("src/measure/b.h", ""),
            ("src/measure/c.c", '#include "load/d.h"\n'),
            ("src/load/d.h", ""),
        ]
        self.assertEqual(len(list(rules.check_cycles(sources))), 1)
        self.assertEqual(list(rules.check_cycles(sources[:2])), [])

    def test_calls(self):
        """Two files of a room may not call each other, not even through another header."""
        one = ("src/load/a.c", "void a_do(void)\n{\n    b_do();\n}\nvoid a_help(void)\n{\n}\n")
        other = ("src/load/b.c", "void b_do(void)\n{\n    a_help();\n}\n")
        apart = ("src/plan/b.c", other[1])
        own = ("src/load/b.c", "static void a_help(void)\n{\n}\nvoid b_do(void)\n{\n}\n")
        self.assertEqual(len(list(rules.check_cycles([one, other]))), 1)
        self.assertEqual(list(rules.check_cycles([one, apart])), [])
        self.assertEqual(list(rules.check_cycles([one, own])), [])

    def test_rooms(self):
        """A header with a single user besides its own .c could be part of that user."""
        table = rules.rooms([("src/base/a.h", GUARD % ""), ("src/base/a.c", '#include "base/a.h"\n'),
                             ("src/base/b.c", '#include "base/a.h"\n')])
        self.assertEqual(table["base"], [6, 3, 1, ["src/base/a.h"]])


HEADER = """struct watch_config {
    int interval;
    void (*on_sample)(void *context);
    void *context;
};
"""
KEEPER = "struct watch {\n    struct watch_config config;\n};\n"
CALLER = """static void show(void *context)
{
}
void job_do(void)
{
    const struct watch_config config = {.interval = 3, .on_sample = show};
}
"""


class CallsUpward(unittest.TestCase):
    def check(self, count, *sources):
        findings = list(rules.check_calls_upward(sources))
        self.assertEqual(len(findings), count, findings)

    def test_a_pointer_that_is_kept(self):
        """The lower room keeps the struct, or another struct that contains it."""
        self.check(1, ("src/measure/a.h", HEADER), ("src/measure/a.c", KEEPER),
                   ("src/commands/a.c", CALLER))
        outer = HEADER + "struct outer {\n    struct watch_config config;\n};\n"
        handed = CALLER.replace("struct watch_config config = {",
                                "struct outer all = {.config = {") + "}"
        self.check(1, ("src/measure/a.h", outer),
                   ("src/measure/a.c", "struct watch {\n    const struct outer *all;\n};\n"),
                   ("src/commands/a.c", handed))

    def test_a_pointer_for_the_time_of_a_call(self):
        """A visitor is passed for one call and not kept."""
        self.check(0, ("src/measure/a.h", HEADER), ("src/commands/a.c", CALLER))

    def test_the_same_or_a_lower_room_fills_it(self):
        self.check(0, ("src/measure/a.h", HEADER), ("src/measure/a.c", KEEPER + CALLER))
        self.check(0, ("src/measure/a.h", HEADER), ("src/measure/a.c", KEEPER),
                   ("src/base/a.c", CALLER))

    def test_a_pointer_that_is_written_into_an_object(self):
        """A number with the name of a function does not count."""
        header = "struct plan {\n    void (*on_wait)(void *context);\n};\n"
        text = "static void beat(void *context)\n{\n}\nvoid a(void)\n{\n    plan->on_wait = %s;\n}\n"
        for written, count in (("beat", 1), ("ranks == NULL ? NULL : beat", 1), ("NULL", 0),
                               ("other->beat", 0), ("beat(0)", 0)):
            self.check(count, ("src/plan/a.h", header), ("src/ranks/a.c", text % written))

    def test_contracts(self):
        """The host of a script is an interface of a plug-in, like an adapter."""
        host = HEADER.replace("watch_config", "watch_host")
        self.check(0, ("src/script/a.h", host),
                   ("src/script/a.c", KEEPER.replace("watch_config", "watch_host")),
                   ("src/load/a.c", CALLER.replace("watch_config", "watch_host")))
        self.check(0, ("include/append/a.h", HEADER), ("src/measure/a.c", KEEPER),
                   ("src/commands/a.c", CALLER))


class Headers(unittest.TestCase):
    def test_umbrella(self):
        umbrella = GUARD % '#include "base/a.h"\n#include "base/b.h" /* all */'
        self.assertEqual(len(found(rules.check_umbrella, "src/base/all.h", umbrella)), 1)
        for fine in ("int a_b(void);", "#define A_B 1"):
            text = GUARD % ('#include "base/b.h"\n' + fine)
            self.assertEqual(found(rules.check_umbrella, "src/base/a.h", text), [])

    def test_guard(self):
        self.assertEqual(len(found(rules.check_guard, "src/base/a.h", "int a;\n")), 1)
        self.assertEqual(found(rules.check_guard, "src/base/a.h", GUARD % "int a;"), [])


def function(parameters):
    body = "    work(\"}\"); /* } */\n" * 6
    return f"#define X {{\nstatic const char *name = \"{{\";\n\nint a_do({parameters})\n{{\n{body}}}\n"


class Sizes(unittest.TestCase):
    def test_parameters(self):
        seven = "int a, int b, int c, int (*d)(int, int, int), int e, int f, int g"
        six = "int a, int b, int c, int (*d)(int, int, int), int e, int f"
        self.assertEqual(len(found(rules.check_functions, "a.c", function(seven))), 1)
        self.assertEqual(found(rules.check_functions, "a.c", function(six)), [])

    def test_tables_are_not_functions(self):
        text = "const struct a b[] = {\n" + "    {F(1), 2},\n" * 90 + "};\n"
        self.assertEqual(found(rules.check_functions, "a.c", text), [])


class Conditionals(unittest.TestCase):
    def test_chains(self):
        for text, count in (("x = a ? b : c ? d : e;\n", 1), ("return a ? (b ? c : d) : e;\n", 0),
                            ("f(a ? b : c, d ? e : f);\n", 0), ("x = a ? b\n  : c == d ? e : f ? g : h;\n", 1),
                            ("x = a ? b : c; y = d ? e : f;\n", 0), ('g("a ? b : c ? d : e"); /* ? ? */\n', 0)):
            self.assertEqual(len(found(rules.check_conditionals, "a.c", text)), count, text)


class Words(unittest.TestCase):
    def test_turns(self):
        for text in ("/* It is none. */", "a mistake is no\n * mistake", "# what the server tells", "Users are told.",
                     "the tables of a\nscript", "What it comes to.", '"it goes "\n    "by the name"', "be it so",
                     "begun anew", "nobody's", "rows that stand behind it", "/* Of these it is one. */",
                     "It ends. Of its rows, none stay.", "NULL if memory\n * is out", "another number of rows than this",
                     '"""Does a run."""', "It is kept, also if it is empty.",
                     "/* this one, too */"):
            self.assertEqual(len(found(words.check_words, "a.c", text + "\n")), 1, text)

    def test_fine(self):
        for text in ("There is no table.", "It is no longer there.", "sessions behind a pooler", "x is None",
                     "is_none", "is.\n\nnone", "at most of these. Office hours", "a copy of a scripted run",
                     "as user nobody", "It also ends if the server ends.", "another second is more than it needs",
                     "sorry, too many clients"):
            self.assertEqual(found(words.check_words, "a.c", text + "\n"), [], text)

    def test_line(self):
        self.assertEqual(found(words.check_words, "a.c", "a\n\nb is\nnone\n")[0].split(":")[1], "3")


class Plans(unittest.TestCase):
    def test_plan(self):
        for text, count in (("int a(struct plan *plan);\n", 1), ("int a(struct plan **plan, int b);\n", 1),
                            ("int a(const struct plan *plan);\n", 0), ("struct plan plan;\n", 0),
                            ("/* a(struct plan *plan) */\n", 0)):
            self.assertEqual(len(found(rules.check_plan, "src/load/a.c", text)), count, text)
        self.assertEqual(found(rules.check_plan, "src/plan/a.c", "int a(struct plan *plan);\n"), [])


class Calls(unittest.TestCase):
    def test_banned(self):
        for name in ("sprintf", "strcpy", "strcat", "atoi", "gets", "localtime", "strtok", "rand"):
            self.assertEqual(
                len(found(rules.check_banned_calls, "a.c", f"int x = {name} (y);\n")), 1, name
            )

    def test_fine(self):
        text = 'snprintf(a, 1, "b"); localtime_r(a, b); /* sprintf(a) */ log("gets(x)"); my_rand();\n'
        self.assertEqual(found(rules.check_banned_calls, "a.c", text), [])


if __name__ == "__main__":
    unittest.main()
