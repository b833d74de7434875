"""Scripts with mistakes: one clear line, exit code 2, and no partly made table."""

import contextlib
import sqlite3

import harness

BODY = 'transaction("a", function() end)\n'


class BadInput(harness.Case):
    def refuse(self, text, *arguments, sessions=2, code=2):
        """Returns the line about the mistake; the script is own.lua."""
        path = self.folder / "own.lua"
        path.write_text(text)
        database = self.folder / "w.db"
        ends = () if "--duration" in arguments else ("--transactions", 10)
        ended = self.append(sessions, f"sqlite:{database}", "--workload", path, *ends, *arguments,
                            code=code)
        self.assertEqual(len(ended.error_lines), 1, ended)
        if database.exists():
            with contextlib.closing(sqlite3.connect(database)) as made:
                self.assertEqual(made.execute("select name from sqlite_master").fetchall(), [])
        return ended.reason

    def test_options_that_there_are_not(self):
        column = '{"a", "int32", row()}'
        for text, message in (
            ('transaction("a", function() end, {wieght = 3})', "a transaction has no option 'wieght'"),
            ('transaction("a", function() end, 3)', "the options of a transaction must be a table"),
            ('transaction("a", function() end, {autocommit = "no"})',
             "option 'autocommit' must be true or false, not no"),
            ('statement("s", "SELECT 1", {}, {add_to = 1})', "a statement has no option 'add_to'"),
            ('statement("s", "SELECT 1", {}, {prepared = 0})', "option 'prepared' must be true or false"),
            ('statement("s", "SELECT ?", "int32")', "statement 's': the types of its parameters must be a list"),
            ('dataset("t", 1, {{"a", "int32", row(), kye = true}})', "a column has no option 'kye'"),
            ('dataset("t", 1, {{"a", "int32", row(), 5}})', "a column has no option '4'"),
            *((f'dataset("t", 1, {{{{"a", "int32", row(), key = {key}}}}})',
               "column 'a': key must be true, \"auto\", or the column's place in the primary key (1 to 16)")
              for key in ("1.5", "0", "-1", "17", '"all"')),
            (f'dataset("t", 1, {{{column}}}, {{indx = {{"a"}}}})', "a dataset has no option 'indx'"),
            (f'dataset("t", 1, {{{column}}}, {{index = "a"}})', "index must be a list of texts of one line, each with the columns of an index"),
            (f'dataset("t", 1, {{{column}}}, {{index = {{sqlite = "a"}}}})', "must be a list"),
            ('dataset("t\\"; DROP", 1, {{"a", "int32", row()}})', "'t\"; DROP' is not a valid dataset name: use letters, digits, _ and -"),
            ('keys("zipfian", 1, 10, {thetta = 1})', "keys has no option 'thetta'"),
        ):
            with self.subTest(text):
                reason = self.refuse(text + "\n" + BODY)
                self.assertIn("own.lua:1: ", reason)
                self.assertIn(message, reason)

    def test_a_table_that_is_not_there(self):
        """With the run's own database, the mistake is found before any file is opened."""
        text = '\ndataset("nope")\n' + BODY
        self.assertRegex(self.refuse(text, code=4), r"own\.lua:2: dataset 'nope' has no columns: no table \"nope\"$")
        self.refused(2, "--workload", self.folder / "own.lua", "--transactions", 10, code=2,
                     pattern=r"own\.lua:2: dataset 'nope' has no columns, so its table must exist")

    def test_loops_without_end(self):
        """pcall in a loop must not catch the time limit at a script's top level."""
        for text in ('while true do pcall(function() while true do end end) end\n',
                     'on_session(function() while true do end end)\n'):
            with self.subTest(text):
                reason = self.refuse(text + BODY, sessions=1)
                self.assertRegex(reason, r"own\.lua:1: this code ran for 10 s without finishing: is there an endless loop\?$")

    def test_loops_that_nothing_could_end(self):
        self.assertIn("own.lua:1: setmetatable: a script cannot use __gc",
                      self.refuse("setmetatable({}, {__gc = function() end})\n" + BODY))
        self.assertIn("own.lua:1: attempt to call a nil value (global 'xpcall')",
                      self.refuse("xpcall(error, error)\n" + BODY))

    def test_code_that_runs_after_the_end(self):
        """rollback() also ends a loop in __close, which Lua calls while the function ends."""
        path = self.folder / "own.lua"
        path.write_text("""transaction("a", function()
            local t <close> = setmetatable({}, {__close = function() while true do end end})
            rollback()
        end)""")
        _, run = self.run_append(1, "null:", "--workload", path, "--transactions", 3, "--duration", "5s")
        self.assertEqual(run.json["transactions"]["rolled_back"], 3)

    def test_a_second_on_session_that_does_not_return(self):
        """The session has connected before, so it is dropped: append leaves its thread."""
        path = self.folder / "own.lua"
        path.write_text('local n = 0\non_session(function() n = n + 1\nif n > 1 then\n'
                        'local a = ("a"):rep(40) a:find(("a*"):rep(20) .. "b")\nend end)\n'
                        'transaction("x", function() think(0.01) end)\n')
        ended, run = self.run_append("null:", "--workload", path, "--stage",
                                     "200ms:1,0s:0,200ms:0,0s:1,200ms:1", "--stage-disconnect", code=1)
        self.assertEqual((run.sessions["connected"], run.sessions["dropped"]), (1, 1))
        self.assertEqual(run.json["transactions"]["failed"], 0)
        self.assertRegex(ended.reason, r"own\.lua:4: this code was still running after the run had ended")

    def test_metatables(self):
        text = """local t = setmetatable({}, {__index = function(_, k) return k + 1 end})
            transaction("a", function() check(t[1] == 2 and getmetatable(t), "index") end)"""
        path = self.folder / "own.lua"
        path.write_text(text)
        _, run = self.run_append(1, "sqlite:" + str(self.folder / "w.db"), "--workload", path,
                                 "--transactions", 3)
        self.assertEqual(run.json["counters"]["checks"], 3)
        self.assertEqual(run.json["transactions"]["checks_failed"], 0)

    def test_a_value_that_is_none(self):
        reason = self.refuse('dataset("t", 5, {{"a", "int32", derive(row(), function() end)}})\n'
                             + BODY)
        self.assertIn("own.lua: dataset 't': a nil cannot be a value", reason)

    def test_a_value_that_does_not_fit(self):
        reason = self.refuse('dataset("u", 9, {{"a", "int16", 1}})\n'
                             'dataset("t", 5, {{"a", "int16", 70000}})\n' + BODY)
        self.assertTrue(reason.endswith("own.lua: dataset 't': row 0: 70000 does not fit column "
                                        "'a' (int16)"), reason)

    def test_records_that_nobody_appends(self):
        path = self.folder / "own.lua"
        path.write_text("-- append\n" + BODY)
        ended = self.append(2, 100, "null:", "--workload", path, code=2)
        self.assertIn("never calls :append, so a number of rows would never end the run: replace RECORDS (100) by", ended.reason)
        path.write_text('local t = dataset("syslog_table")\ntransaction("t", function() t:\n append(50) end, {autocommit = true})')
        _, run = self.run_append(2, 100, "null:", "--workload", path)
        self.assertEqual(run.json["rows"]["acknowledged"], 100)


if __name__ == "__main__":
    harness.main()
