"""Faulty and hostile scripts: a clear line, the right exit code, and no files."""

import signal
import sqlite3
import subprocess

import harness
import workload_faults
from workload_faults import GET, TABLE


class Wrong(workload_faults.Case):
    def url(self):
        return f"sqlite:{self.folder}/test.db"

    def tables(self):
        path = self.folder / "test.db"
        if not path.exists():
            return []
        with sqlite3.connect(path) as connection:
            return [name for name, in connection.execute(
                "select name from sqlite_master where type = 'table'")]

    def check_refused(self, script, pattern, *arguments):
        """Checks a mistake that is found before anything is made; `script`: a name, a path or a text."""
        if isinstance(script, str) and "\n" in script:
            script = self.script(script)
        for command in ((1, self.url(), "--transactions", 5), ("prepare", 1, self.url())):
            words = [*command, "--workload", script, *arguments]
            ended = self.append(*words, code=2)
            self.assertRegex(ended.reason, pattern)
            self.assertEqual(len(ended.err.splitlines()), 1, ended)
            self.assertEqual(self.tables(), [])

    def test_mistakes_at_the_top_level(self):
        end = 'transaction("x", function() end)\n'
        for text, pattern in (
                ("dataset(\n", r"script\.lua:2: unexpected symbol near <eof>"),
                ("\n\nfrobnicate()\n" + end, r"script\.lua:3: .*frobnicate"),
                ('os.execute("true")\n' + end, r"script\.lua:1: .*'?os'?"),
                ('io.open("/etc/passwd")\n' + end, r"script\.lua:1: .*'?io'?"),
                ('load("x = 1")\n' + end, r"script\.lua:1: .*'?load'?"),
                ('dataset("t", "many", {{"a", "int32", row()}})\n' + end, r"script\.lua:1: .*rows"),
                ('dataset("t", 1, {{"a", "integer", row()}})\n' + end, r"unknown type 'integer'"),
                ('statement("s", "SELECT ?", {})\n' + end, r"statement 's' has 1 \? placeholder but lists 0 types"),
                (TABLE, "declares no transaction"),
                ('local s = ("x"):rep(2^30)\n' + end, r"needs more than the 8 MiB"),
                ("error({})\n" + end, "a value that is not a text"),
                ('pcall(error, "x") error("own words")\n' + end, r"script\.lua:1: own words"),
        ):
            with self.subTest(text):
                self.check_refused(text, pattern)

    def test_what_is_no_text(self):
        script = self.folder / "code.lua"
        script.write_bytes(b"\x1bLua\x54\0\x19\x93\r\n\x1a\n" + bytes(100))
        self.check_refused(script, "is compiled: give its source text")
        folder = self.folder / "folder.lua"
        folder.mkdir()
        self.check_refused(folder, "folder.lua' is a folder: name a Lua file")
        self.check_refused(self.folder / "missing.lua", "missing.lua': No such file")
        script.write_bytes(b"-- " + bytes([255, 254]) * 100)
        self.check_refused(script, "declares no transaction")
        script.write_bytes(b"-" * (1 << 20) + b"-")
        self.check_refused(script, "is larger than 1.00 MiB")

    def test_parameters(self):
        text = 'param("n", 10, "", {min = 1, max = 20})\ntransaction("x", function() end)\n'
        for value, pattern in (("n=0", "'n' must be 1 to 20, not '0'"), ("n=21", "'n' must be 1 to 20, not '21'"),
                               ("n=x", "whole number"), ("m=1", "no parameter 'm'"),
                               ("n", "not NAME=VALUE")):
            with self.subTest(value):
                self.check_refused(text, pattern, "--set", value)
        self.check_refused("oltp", r"parameter 'mode' must be .*not 'all'", "--set", "mode=all")
        self.check_refused("oltb", "did you mean oltp")

    def test_sql_that_the_database_refuses(self):
        for sql, pattern in (("SELEC id FROM t WHERE id = ?", "SELEC"),
                             ("SELECT id FROM elsewhere WHERE id = ?", "elsewhere"),
                             ("SELECT other FROM t WHERE id = ?", "other")):
            with self.subTest(sql):
                self.check_refused(
                    TABLE + f'local get = statement("get", "{sql}", {{"int32"}})\n'
                    'transaction("x", function() get:run(1) end)\n',
                    rf"script\.lua:2: statement 'get': .*{pattern}")

    def test_rows_that_cannot_be_made(self):
        self.check_refused(
            'dataset("t", 9, {{"a", "int16", row(40000), key = true}})\n'
            'transaction("x", function() end)\n', "row 0: 40000 does not fit column 'a'")
        self.check_refused(
            'dataset("t", 9, {{"a", "text", derive(row(), function(i) return nope.x end)}})\n'
            'transaction("x", function() end)\n', r"script\.lua:1: .*nope")

    def test_a_disk_that_is_full(self):
        place = self.folder / "disk"
        place.mkdir()
        result = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "append-test",
                                 str(place)], capture_output=True, text=True)
        if result.returncode != 0:
            self.skipTest(f"no file system may be mounted here: {result.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", str(place)], check=True)
        words = (f"sqlite:{place}/test.db", "--workload", "oltp", "--set", "table_size=20000")
        ended = self.append("prepare", 2, *words, code=3)
        self.assertRegex(ended.reason, r"disk is full .* the same command loads the rest")
        subprocess.run(["mount", "-o", "remount,size=64m", str(place)], check=True)
        self.append("prepare", 2, *words)
        with sqlite3.connect(place / "test.db") as connection:
            self.assertEqual(connection.execute("select count(*), max(id) from sbtest1").fetchone(),
                             (20000, 20000))

    def check_stopped(self, body, pattern):
        """An error in a function stops the run: exit code 2, with files and ledgers."""
        script = self.script(TABLE + GET + f'transaction("x", function() {body} end)\n')
        out = self.out()
        ended = self.append(2, self.url(), "--workload", script, "--transactions", 100, "--out",
                            out, code=2)
        self.assertRegex(ended.reason, pattern)
        run = self.check_run(out, 2)
        self.assertEqual(run.json["transactions"]["committed"], 0)
        self.assertEqual((run.json["counters"]["connections_lost"], run.sessions["dropped"]), (0, 0))

    def test_mistakes_in_a_function(self):
        for body, pattern in (
                ("get:run()", r"script\.lua:3: statement 'get' takes 1 value, got 0"),
                ('get:run("many")',
                 r"script\.lua:3: statement 'get': value 1 is the text 'many', not an int32"),
                ("get:run(2^40)", r"script\.lua:3: .*value 1 is 1099511627776.*, not an int32"),
                ("get:run(nil)", r"script\.lua:3: .*null"),
                ("nothing:run(1)", r"script\.lua:3: .*nothing"),
                ("x = 1", r"script\.lua:3: 'x' is not local"),
                ('statement("late", "SELECT 1")', r"script\.lua:3: .*top level"),
                ('local s = ("x"):rep(2^30)', "needs more than the 8 MiB"),
                ("local t = {} while true do t[#t + 1] = {} end", "needs more than the 8 MiB"),
                ("local function f() return f() + 1 end f()", "needs more than the 8 MiB"),
                ('error("own words")', r"script\.lua:3: own words"),
                ("think(-1)", "think: the argument must be a number of seconds"),
        ):
            with self.subTest(body):
                self.check_stopped(body, pattern)

    def test_a_rollback_of_what_nothing_undoes(self):
        text = ('local n = counter("n", 1000)\n'
                'local log = dataset("log", 0, {{"a", "int32"}})\n'
                'local put = statement("put", "INSERT INTO log VALUES (?)", {"int32"},'
                ' {adds_to = log})\n'
                'local set = statement("set", "UPDATE log SET a = 1 WHERE a = 0")\n'
                'transaction("x", function() %s end, {autocommit = true})\n')
        out = self.out()
        ended = self.append(1, self.url(), "--workload",
                            self.script(text % "put:run(n:next())\nrollback('why')"),
                            "--transactions", 9, "--out", out, code=2)
        self.assertRegex(ended.reason, r"script\.lua:6: rollback: the transaction has written in autocommit mode")
        ledger = self.check_run(out, 2).json["transactions"]
        self.assertEqual((ledger["begun"], ledger["rolled_back"], ledger["partial"]), (1, 0, 1))
        _, run = self.run_script(1, self.url(), self.script(text % "set:run() rollback()"),
                                 "--transactions", 9)
        self.assertEqual(run.json["transactions"]["rolled_back"], 9)

    def test_a_failed_transaction_is_undone(self):
        """Its rows are gone: they are neither added nor in doubt."""
        script = self.script('local log = dataset("log", 0, {{"a", "int32"}})\n'
                             'local put = statement("put", "INSERT INTO log VALUES (?)", {"int32"}, {adds_to = log})\n'
                             'local get = statement("get", "SELECT abs(?)", {"int64"})\n'
                             'transaction("x", function() put:run(1) get:run(math.mininteger) end)\n')
        ended, run = self.run_script(1, self.url(), script, "--transactions", 5, code=1)
        self.assertRegex(ended.reason, "5 of 5 transactions failed: integer overflow")
        table, = run.json["datasets"]
        self.assertEqual((table["rows_after"], table["added"], table["added_in_doubt"], table["surplus"]), (0, 0, 0, 0))
        counts = {entry["name"]: entry for entry in run.json["operations"]}
        self.assertEqual((counts["put"]["answered"], counts["get"]["refused"], counts["get"]["unanswered"]), (5, 5, 0))

    def test_ctrl_c_before_the_sessions_are_ready(self):
        """Sessions that were still in on_session have not started; the server refused none of them."""
        script = self.script(TABLE + GET + "on_session(function() get:run(1) think(600) end)\n"
                             'transaction("x", function() get:run(1) end)\n')
        out = self.out()
        process = self.start(2, self.url(), "--workload", script, "--transactions", 2, "--out", out)
        self.wait_for_interval(process, out, lambda row: True, "an interval")
        process.send_signal(signal.SIGINT)
        self.end(process, 130)
        run = self.check_run(out, 130)
        self.assertEqual((run.sessions["not_started"], run.sessions["refused"]), (2, 0))
        self.assertEqual(run.causes, [])

    def test_a_pattern_that_would_never_be_done(self):
        self.check_stopped('local a = ("a"):rep(200000) a:find((".-"):rep(6) .. "b")',
                           "a pattern of 13 bytes with 6 repetitions may never finish")

    def test_no_memory_is_not_caught(self):
        self.check_stopped("while true do pcall(function() local t = {}"
                           " while true do t[#t + 1] = {} end end) end", "needs more than the 8 MiB")


if __name__ == "__main__":
    harness.main()
