"""append prepare and cleanup on SQLite, and the parts that need no database."""

import shutil
import sqlite3

import harness
from prepare import OLTP, OTHERS, Prepare


class Sqlite(Prepare, harness.Case):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "tables.db"
        self.path.touch()
        self.url = f"sqlite:{self.path}"

    def sql(self, *statements):
        with sqlite3.connect(self.path, timeout=harness.GUARD_S) as connection:
            for statement in statements:
                row = connection.execute(statement).fetchone()
        connection.close()
        return str(row[0]) if row else ""

    def names(self, kind):
        with sqlite3.connect(self.path) as connection:
            rows = connection.execute("select name from sqlite_schema where type = ?", (kind,))
            names = {name for name, in rows if not name.startswith("sqlite_")}
        connection.close()
        return names

    def tables(self):
        return self.names("table")

    def indexes(self):
        return self.names("index")

    def test_the_mode_of_a_file_of_others(self):
        self.others_table()
        self.assertEqual(self.sql("pragma journal_mode"), "delete")
        self.append("cleanup", self.url, *OLTP)
        _, run = self.run_append(2, 200, self.url, code=None)
        self.assertEqual(run.json["server"]["settings"]["journal_mode"], "delete")
        self.assertEqual(self.sql("pragma journal_mode"), "delete")

    def test_a_copy_of_the_file(self):
        script = ("--workload", self.script(OTHERS, "others.lua"))
        self.prepare(*script)
        copy = self.folder / "copy.db"
        shutil.copy(self.path, copy)
        self.refused("cleanup", f"sqlite:{copy}", *script, code=2, pattern="append did not make table 'log1'")

    def test_indexes_by_dialect(self):
        text = ('dataset("t", 10, {{"k", "int32", row(), key = true}, {"a", "int32", row()}}, {index = %s})\n'
                'local get = statement("get", "SELECT 1")\ntransaction("x", function() get:run() end)\n')
        for index, expected in (('{"a", sqlite = {"a, k"}}', {"t_a_k"}), ('{"a", sqlite = {}}', set()),
                                ('{"a", mariadb = {"k"}}', {"t_a"}), ('{mariadb = {"a"}}', set())):
            with self.subTest(index):
                script = ("--workload", self.script(text % index, "t.lua"))
                self.prepare(*script)
                self.assertEqual({name for name in self.indexes() if name.startswith("t_")}, expected)
                self.append("cleanup", self.url, *script)

    def test_the_mark_names_the_parameters(self):
        script = ("--workload", "oltp", "--set", "tables=1,table_size=100,skip_trx=true")
        self.prepare(*script)
        marks = [name for name in self.indexes() if name.startswith("made by append")]
        self.assertRegex(" ".join(marks), "^made by append: loaded, oltp tables=1 table_size=100 skip_trx=true, ")

    def test_file_that_is_not_there(self):
        path = self.folder / "no.db"
        ended = self.append("cleanup", f"sqlite:{path}", *OLTP)
        self.assertIn("nothing was dropped", ended.out)
        self.assertFalse(path.exists())


class Null(harness.Case):
    def test_nothing_to_prepare(self):
        ended = self.append("prepare", 2, "null:", *OLTP)
        self.assertEqual(ended.out, "nothing to prepare: null keeps no rows\n")
        self.append("cleanup", "null:", *OLTP)


if __name__ == "__main__":
    harness.main()
