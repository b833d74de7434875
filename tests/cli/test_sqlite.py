"""Whole runs on SQLite, compared with the rows that Python's sqlite3 finds in the file."""

import contextlib
import sqlite3
import time

import harness


class Sqlite(harness.Case):
    def query(self, path, sql):
        with sqlite3.connect(path) as database:
            return database.execute(sql).fetchall()

    def check_syslog_rows(self, path, sessions, rows):
        self.assertEqual(self.query(path, "select count(*) from syslog_table"), [(rows,)])
        self.assertEqual(
            self.query(path, "select count(*) from (select distinct n2, n3 from syslog_table)"),
            [(rows,)])
        self.assertEqual(self.query(path, "select count(distinct n2), count(distinct n1)"
                                          " from syslog_table"), [(sessions, 1)])
        least, most = self.query(path, "select min(c), max(c) from (select count(*) c"
                                       " from syslog_table group by n2)")[0]
        self.assertLessEqual(most - least, 1, "quotas are even")

    def test_the_words_run_and_records(self):
        """A number after SESSIONS is RECORDS, even with a duration; without a target the run uses SQLite."""
        _, run = self.run_append("run", "5", "1000", "--duration", "1h")
        self.assertEqual((run.json["plan"]["adapter"], run.rows["acknowledged"]), ("sqlite", 1000))

    def test_50_sessions_in_the_folder_of_the_run(self):
        rows = harness.fewer(100_000)
        ended, run = self.run_append("50", rows, timeout_s=3 * harness.GUARD_S)
        self.assertEqual(run.rows["acknowledged"], rows)
        self.assertEqual(run.verification["lost"], 0)
        self.assertEqual(run.verification["rows_after"], rows)
        self.assertIn(f"{rows:,}", ended.out)
        files = [path for path in run.folder.iterdir() if path.suffix == ".db"]
        self.assertEqual(len(files), 1, "one database in the folder")
        self.check_syslog_rows(files[0], 50, rows)

    def test_a_path_is_appended_to(self):
        path = self.folder / "kept.db"
        self.run_append("3", "100", f"sqlite:{path}")
        _, run = self.run_append("3", "101", f"sqlite:{path}")
        self.assertEqual(run.verification["rows_before"], 100)
        self.assertEqual(run.verification["rows_after"], 201)
        self.assertEqual(self.query(path, "select count(*) from syslog_table"), [(201,)])

    def test_a_database_that_another_program_locks(self):
        path = self.folder / "locked.db"
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("create table t (a int)")
            other.execute("begin exclusive")
            call = (1, 10, f"sqlite:{path}", "--table", "t", "--read", "none")
            self.refused(*call, code=4, pattern="database is locked")
            process = self.start(*call, "--wait", "1h")
            time.sleep(3)  # the first attempt of append ends after 2 s
            other.execute("rollback")
            self.end(process, 0)
        self.assertEqual(self.query(path, "select count(*) from t"), [(10,)])

    def test_recreate(self):
        path = self.folder / "again.db"
        self.run_append("3", "100", f"sqlite:{path}")
        _, run = self.run_append("2", "50", f"sqlite:{path}", "--recreate")
        self.assertEqual(run.verification["rows_before"], 0)
        self.check_syslog_rows(path, 2, 50)

    def test_a_seed_repeats_the_rows(self):
        for name in ("a", "b"):
            self.run_append("2", "100", f"sqlite:{self.folder / name}.db", "--seed", "7")
        sql = "select n1, n2, n3, host, msg from syslog_table order by n2, n3"
        self.assertEqual(self.query(self.folder / "a.db", sql), self.query(self.folder / "b.db", sql))

    def test_constant_data(self):
        path = self.folder / "constant.db"
        self.run_append("2", "100", f"sqlite:{path}", "--data", "constant")
        self.assertEqual(self.query(path, "select count(distinct msg) from syslog_table"), [(1,)])
        self.check_syslog_rows(path, 2, 100)

    def test_varied_data(self):
        path = self.folder / "varied.db"
        self.run_append("2", "100", f"sqlite:{path}")
        self.assertGreater(
            self.query(path, "select count(distinct msg) from syslog_table")[0][0], 90)

    def test_a_table_of_the_user(self):
        path = self.folder / "mine.db"
        self.query(path, "create table mine (id integer primary key, name varchar(20) not null,"
                         " price decimal(8,2), at timestamp, note text)")
        _, run = self.run_append("4", "1000", f"sqlite:{path}", "--table", "mine")
        self.assertEqual(run.rows["acknowledged"], 1000)
        self.assertEqual(self.query(path, "select count(*), count(distinct id), count(name),"
                                          " max(length(name)) <= 20 from mine"),
                         [(1000, 1000, 1000, 1)])

    def test_rules_of_the_table(self):
        path = self.folder / "rules.db"
        self.query(path, "create table rules (status text check (status in ('ok', 'new')),"
                         " price decimal(8,2) check (price in (1.5, -2)), opt blob default x'00',"
                         " must text not null)")
        rules = [f"sqlite:{path}", "--table", "rules", "--values", "status=ok|new,price=1.5|-2"]
        self.run_append("3", "300", *rules, "--skip-columns", "opt")
        self.assertEqual(self.query(path, "select count(*), count(distinct status),"
                                          " count(distinct price), max(opt) from rules"),
                         [(300, 2, 2, b"\0")])
        self.refused("3", "300", *rules, "--skip-columns", "must", code=2,
                     pattern="'must' of table 'rules' cannot be left out")

    def test_values_of_a_unique_column(self):
        """The rows take the values in turn, so there must be as many values as rows."""
        path = self.folder / "unique.db"
        self.query(path, "create table own (id integer unique, word text)")
        words = (f"sqlite:{path}", "--table", "own", "--values")
        self.refused("2", "10", *words, "id=1..9", code=2,
                     pattern="--values: column 'id' is unique, but has only 9 values for 10 rows")
        self.run_append("2", "10", *words, "id=1..10, word=a|b")
        self.assertEqual(self.query(path, "select count(*), count(distinct id), min(id), max(id) from own"),
                         [(10, 10, 1, 10)])

    def test_a_schema_file(self):
        path = self.folder / "own.db"
        (self.folder / "own.sql").write_text("create table own (a integer, b text);")
        self.run_append("2", "10", f"sqlite:{path}", "--table", "own", "--schema-file", "own.sql")
        self.assertEqual(self.query(path, "select count(*) from own"), [(10,)])

    def test_a_schema_file_that_is_wrong(self):
        (self.folder / "wrong.sql").write_text("create tabel own (a integer);")
        self.append("2", "10", f"sqlite:{self.folder / 'x.db'}", "--table", "own",
                    "--schema-file", "wrong.sql", "--out", self.out(), code=4)

    def test_no_such_table(self):
        ended = self.append("2", "10", f"sqlite:{self.folder / 'x.db'}", "--table", "nowhere",
                            "--out", self.out(), code=4)
        self.assertRegex(ended.reason, r"nowhere")

    def test_a_path_that_cannot_be_opened(self):
        ended = self.append("2", "10", f"sqlite:{self.folder / 'no' / 'x.db'}", code=4)
        self.assertRegex(ended.reason, r"no/x\.db|unable to open")

    def test_a_file_that_is_no_database(self):
        (self.folder / "text.db").write_text("This is not a database, and long enough to tell.\n" * 99)
        ended = self.append("2", "10", "sqlite:text.db", code=None)
        self.assertIn(ended.code, (2, 4))
        self.assertRegex(ended.reason, r"not a database")
        self.assertIn("This is not", (self.folder / "text.db").read_text())

    def test_rows_that_the_database_refuses(self):
        path = self.folder / "check.db"
        self.query(path, "create table refuses (a integer check (a is null))")
        _, run = self.run_append("2", "100", f"sqlite:{path}", "--table", "refuses", code=1)
        self.assertEqual(run.rows["rejected"] + run.rows["not_sent"], 100)
        self.assertGreater(run.rows["rejected"], 0)
        self.assertTrue(run.causes)

    def test_read_sql(self):
        path = self.folder / "read.db"
        _, run = self.run_append("1", "500", f"sqlite:{path}", "--read",
                                 "select max(n3) from syslog_table")
        self.assertEqual(run.table("summary.csv")[0]["reads"], "5")

    def test_read_sql_that_is_wrong(self):
        path = self.folder / "read.db"
        ended = self.append("1", "500", f"sqlite:{path}", "--read", "select wrong from nowhere",
                            "--out", self.out(), code=None)
        self.assertIn(ended.code, (1, 4))
        self.assertRegex(ended.out + ended.err, r"nowhere")

    def test_idle_sessions_and_churn(self):
        database = self.folder / "a.db"
        _, run = self.run_append("2", "2000", "--adapter", "sqlite", f"sqlite:{database}",
                                 "--idle", "2", "--churn", "2", code=None)
        self.assertEqual(run.sessions["finished"], 4)
        self.assertEqual(run.json["counters"]["churns"], 8)
        self.assertEqual(run.verification["rows_after"], 2000)

    def test_a_standstill_of_rejected_rows(self):
        """The gap of a session without acknowledged rows is its whole time."""
        with contextlib.closing(sqlite3.connect(self.folder / "r.db")) as database:
            database.execute("create table refusing (a integer check (a is null and a is not null))")
        _, run = self.run_append("2", "400", f"sqlite:{self.folder / 'r.db'}", "--table",
                                 "refusing", code=1)
        self.assertEqual(run.rows["rejected"], 400)
        for row in run.table("sessions.csv"):
            self.assertGreater(float(row["longest_gap_ms"]), 0)
            self.assertLessEqual(float(row["longest_gap_ms"]), 1e3 * run.json["times"]["append_s"])


if __name__ == "__main__":
    harness.main()
