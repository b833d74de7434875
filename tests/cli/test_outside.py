"""Adapters outside the tree: a shared library that is built with the installed files alone."""

import os
import pathlib
import re
import shutil
import subprocess

import docs
import harness

BUILD = pathlib.Path(os.environ["APPEND_BUILD"])
SOURCES = harness.ROOT / "tests" / "outside"
# An adapter whose operations do nothing, with a place for each fault.
OTHER = """
#include <stdlib.h>
#include "append/adapter.h"
static enum status open_it(const struct adapter *adapter, const struct target *target,
                           struct adapter_conn **conn, struct error *error)
{{
    {body}
    return STATUS_FATAL;
}}
static enum status no(void) {{ return STATUS_FATAL; }}
static const struct adapter adapter_other = {{
    .name = "other", .summary = "does nothing", .flags = ADAPTER_EMBEDDED, .open = open_it,
    .close = (void *)no, .execute = (void *)no, .describe = (void *)no, .append_open = (void *)no,
    .append_rows = (void *)no, .append_close = (void *)no, {run}
}};
const struct adapter_module {symbol} = {{ADAPTER_ABI + {abi}, ADAPTER_STRUCT_BYTES + {bytes}, &adapter_other}};
"""


def setUpModule():
    """One installation and one build of the adapter for all tests."""
    global CASE, PREFIX, PROGRAM, ADAPTERS
    CASE = harness.Case()
    CASE.setUp()
    harness.unittest.addModuleCleanup(CASE.doCleanups)
    PREFIX = CASE.folder / "prefix"
    PROGRAM = str(PREFIX / "bin" / "append")
    for component in ("binary", "headers"):
        install(component)
    package = next(PREFIX.rglob("append.pc"))
    env = dict(os.environ, PKG_CONFIG_PATH=str(package.parent))
    ADAPTERS = pathlib.Path(call("pkg-config", "--variable=adapterdir", "append", env=env).strip())
    call("cmake", "-S", SOURCES, "-B", CASE.folder / "csvdir", "-G", "Ninja", env=env)
    call("cmake", "--build", CASE.folder / "csvdir", "--target", "csvdir")


def install(component):
    call("cmake", "--install", BUILD, "--prefix", PREFIX, "--component", component)


def call(*words, **options):
    ended = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                           timeout=harness.GUARD_S, stdin=subprocess.DEVNULL, **options)
    if ended.returncode != 0:
        raise AssertionError(f"{words}: {ended.stdout}{ended.stderr}")
    return ended.stdout


class Outside(harness.Case):
    def setUp(self):
        super().setUp()
        self.mine = self.folder / "mine"  # a user's folder of adapters
        self.mine.mkdir()
        shutil.copy(CASE.folder / "csvdir" / "csvdir.so", self.mine)

    def start(self, *arguments, **options):
        return super().start(*arguments, **{"program": PROGRAM, **options})

    def build(self, name="other", abi=0, bytes=0, symbol="append_adapter_module", body="",
              run=".run = (void *)no"):
        source = self.folder / "other.c"
        source.write_text(OTHER.format(abi=abi, bytes=bytes, symbol=symbol, body=body, run=run))
        call("cc", "-shared", "-fPIC", "-I", PREFIX / "include", source, "-o",
             self.mine / f"{name}.so")
        source.unlink()

    def is_refused(self, target, pattern):
        """Checks that the adapter in the user's folder is refused: one line, exit code 2, and no run."""
        ended = self.refused(5, 1000, target, "--adapter-folder", self.mine, code=2,
                             pattern=pattern)
        self.assertLess(len(ended.reason), 260)

    def ran(self, folder, *arguments):
        """Checks that the ledgers of a run balance, and that its rows are in the file. Returns the Run."""
        ended, run = self.run_append(5, 1000, *arguments)
        self.assertIn("1,000 = 1,000 acknowledged + 0 rejected", ended.out)
        self.assertEqual((run.verification["rows_after"], run.verification["lost"]), (1000, 0))
        self.assertEqual(run.json["plan"]["adapter"], "csvdir")
        lines = (folder / "syslog_table.csv").read_text().splitlines()
        self.assertEqual(lines[0].split(",")[:3], ["tm:timestamp", "n1:int16", "n2:int32"])
        self.assertEqual(len(lines), 1001)
        self.assertEqual({len(re.sub(r'"[^"]*"', "", line).split(",")) for line in lines}, {10})
        return run

    def test_in_a_folder_of_the_user(self):
        data = self.folder / "data"
        run = self.ran(data, f"csvdir:{data}", "--adapter-folder", self.mine)
        self.assertEqual(run.json["plan"]["adapter_folder"], str(self.mine))
        self.refused(5, 1000, f"csvdir:{data}", "--adapter-folder", self.mine, "--recreate", code=2,
                     pattern="append did not make table")
        other = self.folder / "other"
        self.ran(other, f"csvdir:{other}", "--adapter", "csvdir", "--adapter-folder", "mine")
        # without a target the database is in the run's folder
        ended = self.append(2, 100, "--adapter", "csvdir", "--adapter-folder", self.mine, "--out", "here")
        self.assertIn("100 = 100 acknowledged", ended.out)
        self.assertEqual(harness.count_lines(self.folder / "here/append.db/syslog_table.csv"), 101)

    def test_sweep(self):
        ended = self.append("sweep", "--sessions", "1,2", "--records", "100", "--adapter", "csvdir",
                            "--adapter-folder", self.mine, "--out", "sweep")
        self.assertIn("csvdir", ended.out)
        self.assertEqual(len(list(self.folder.glob("sweep/*/append.db/syslog_table.csv"))), 2)

    def test_installed(self):
        call("cmake", "--install", CASE.folder / "csvdir")
        self.addCleanup(shutil.rmtree, ADAPTERS)
        self.assertEqual(ADAPTERS.resolve(), PREFIX / "lib/append/adapters")
        data = self.folder / "data"
        self.ran(data, f"csvdir:{data}")
        ADAPTERS.chmod(0o777)
        self.refused(5, 1000, f"csvdir:{data}", code=2,
                     pattern=r"csvdir\.so is in a folder that others can write to")

    def test_the_contract(self):
        install("contract")
        call("cmake", "--build", CASE.folder / "csvdir", "--target", "csvdir-fixture")
        ended = self.append(CASE.folder / "csvdir" / "csvdir-fixture.so", self.mine,
                            program=str(PREFIX / "bin" / "append-contract"))
        for name in ("every_type", "nulls", "row_counts", "table_recreated", "missing_table"):
            self.assertRegex(ended.out + ended.err, rf"OK \] test_{name}\b")
        self.assertNotIn("FAILED", ended.out + ended.err)

    def test_the_commands_of_the_pages(self):
        """As docs/adapters.md and docs/internals.md print them, in a folder with this build as build."""
        for page, wanted in docs.pages_with("outside"):
            runner = docs.Runner()
            runner.setUp()
            self.addCleanup(runner.doCleanups)
            runner.begin_page(page)
            (runner.place / "build").symlink_to(BUILD)
            home = runner.place / "home"
            home.mkdir()
            for block in wanted:
                runner.run_block(block, HOME=str(home), PKG_CONFIG_PATH=str(home / "append/lib/pkgconfig"))

    def test_headers_stand_alone(self):
        headers = sorted((PREFIX / "include" / "append").glob("*.h"))
        self.assertGreater(len(headers), 7)
        for header in headers:
            call("cc", "-std=c11", "-fsyntax-only", "-Wall", "-I", PREFIX / "include", "-include",
                 header, "-x", "c", os.devnull)

    def test_what_is_exported(self):
        """The program exports every symbol that the headers mark, and no other symbol of append."""
        marks = set()
        for header in (PREFIX / "include" / "append").glob("*.h"):
            code = re.sub(r"#define[^\n]*|/\*.*?\*/", "", header.read_text(), flags=re.S)
            marks |= set(re.findall(r"APPEND_API\((\w+)\)", code))
        self.assertIn("error_set", marks)
        exported = re.findall(r"(?m) [TRD] (\w+)$", call("nm", "-D", "--defined-only", PROGRAM))
        names = {name.removeprefix("append_") for name in exported if name.startswith("append_")}
        self.assertEqual(names, marks)
        if harness.SLOW == 1:  # sanitizers export further functions
            self.assertEqual(len(exported), len(marks) + 1)
            self.assertIn("connect", exported)

    def test_other_versions(self):
        self.build(abi=1)
        self.is_refused("other:", r"other\.so was built for version 2 of the adapter contract, but append "
                                  r"\S+ has version 1: rebuild it with the headers of this append")
        self.build(bytes=8)
        self.is_refused("other:", r"has structs of \d+ bytes, but those of append \S+ have \d+: rebuild it with")

    def test_no_adapters(self):
        self.build(symbol="append_adapter_modules")
        self.is_refused("other:", r"other\.so is not an adapter: it exports no append_adapter_module")
        self.build(body="extern void append_nothing(void); append_nothing();")
        self.is_refused("other:", r"other\.so cannot be loaded: undefined symbol: append_nothing")
        self.build(run="")
        self.is_refused("other:", r"other\.so lacks one of .* run, ")
        self.build(name="another")
        self.is_refused("another:", r"another\.so contains the adapter 'other'")
        (self.mine / "text.so").write_text("not a library\n")
        self.is_refused("text:", r"text\.so cannot be loaded: file too short|invalid ELF header")
        (self.mine / "folder.so").mkdir()
        self.is_refused("folder:", r"folder\.so cannot be loaded: ")

    def test_names(self):
        """No name leads to another folder, and the working directory is not searched."""
        inner = self.mine / "inner"
        inner.mkdir()
        for name in ("../csvdir", "./csvdir", str(self.mine / "csvdir"), "CSVDIR", "csvdir.so"):
            self.refused(5, 1000, "--adapter", name, "--adapter-folder", inner, code=2,
                         pattern="unknown adapter")
        for target in ("../csvdir:data", "csv/dir:data", "CSVDIR:data"):
            self.is_refused(target, "unknown adapter|is not a port, HOST:PORT or a URL")
        shutil.copy(self.mine / "csvdir.so", self.folder)
        shutil.copytree(self.mine, self.folder / "adapters")
        self.refused(5, 1000, "csvdir:data", code=2, pattern="unknown adapter 'csvdir': this build has")
        self.is_refused("csv-dir:data", r"unknown adapter 'csv-dir': \S+ has no csv-dir\.so")

    def test_built_in_adapters_win(self):
        for name in ("null", "sqlite", "sqlite3"):
            (self.mine / f"{name}.so").write_text("this would be refused\n")
        for target in ("null:", "sqlite:a.db", "sqlite3:b.db"):
            self.append(2, 10, target, "--adapter-folder", self.mine)

    def test_a_folder_that_is_not_one(self):
        """A wrong folder is refused even for a built-in adapter."""
        for folder in (self.mine / "missing", self.mine / "csvdir.so"):
            for target in ("null:", "csvdir:data"):
                self.refused(2, 10, target, "--adapter-folder", folder, code=2,
                             pattern=f"--adapter-folder: '{folder}' is not a folder")


if __name__ == "__main__":
    harness.main()
