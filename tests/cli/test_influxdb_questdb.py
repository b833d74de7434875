"""Whole runs against QuestDB, which accepts InfluxDB's line protocol and speaks SQL."""

import signal
import urllib.error

import databases
import harness
import influxdb


class QuestdbCase(databases.Loads, harness.Case):
    @classmethod
    def setUpClass(cls):
        influxdb.need_questdb()
        cls.server = influxdb.Questdb(cls)

    def setUp(self):
        super().setUp()
        self.url = self.server.url
        for row in self.server.query("select table_name from tables()"):
            self.server.query(f"drop table \"{row['table_name']}\"")

    def count(self, table="syslog_table"):
        def is_applied():
            return self.server.query("select count(*) c from wal_tables() where writerTxn < sequencerTxn "
                                     "and not suspended")[0]["c"] == 0
        harness.wait_until(is_applied, "acknowledged rows to be visible")
        return self.server.query(f'select count(*) c from "{table}"')[0]["c"]


class Appends(databases.EveryRow, databases.Killed, QuestdbCase):
    NEAR = {"n5": 6, "n4": 3}

    def check_verification(self, run):
        """After a restart the server shows acknowledged rows late: append may find them missing."""

    def stored(self):
        return self.server.query("select * from syslog_table")

    def test_a_sweep_that_resumes(self):
        """QuestDB keeps no marks: the user has to say that the table is still the sweep's."""
        out = self.folder / "swept"
        process = self.start("sweep", "--sessions", "1,2", "--records", 3000, "--rate", 2000, self.url, "--out", out)
        self.wait_for_rows(process, out / "2x3000")
        process.send_signal(signal.SIGINT)
        self.end(process, 130)
        self.refused("sweep", "--resume", out, code=2, pattern="if the sweep made it, add --recreate=syslog_table to --resume")
        self.refused("sweep", "--resume", out, "--recreate", code=2, pattern="differs from the sweep's options")
        self.append("sweep", "--resume", out, "--recreate=syslog_table")
        lines = (out / "sweep.csv").read_text().splitlines()
        self.assertEqual(len([line for line in lines if line.startswith("run,") and ",done," in line]), 2)

    def test_counts_wait_until_the_log_is_applied(self):
        rows = harness.fewer(4000)
        for i in range(1, 4):
            _, run = self.run_append(10, rows, self.url, "--verify", "rows")
            self.assertEqual((run.verification["rows_before"], run.verification["rows_after"]),
                             ((i - 1) * rows, i * rows))
            self.assertEqual(run.json["row_verification"]["lost"], 0)
            self.assertEqual(self.count(), i * rows)
        _, run = self.run_append(2, 100, self.url, "--recreate=syslog_table")
        self.assertEqual(run.verification["rows_before"], 0)

    def test_recognised_by_its_port(self):
        ended, _ = self.load_by_port("influxdb")
        self.assertIn("(QuestDB 7.", ended.out)
        self.assertIn("a read may miss the latest rows", " ".join(ended.out.split()))

    def test_more_sessions_than_connections(self):
        ended = self.append("check", 300, self.url, code=4)
        self.assertRegex(ended.out, r"http\.net\.connection\.limit +300 +256 +256")


class Tables(QuestdbCase):
    def test_a_users_own(self):
        self.server.query('create table "my table" (ts timestamp, b boolean, s symbol, t timestamp, '
                          "d date, u uuid, \"a b\" long) timestamp(ts) partition by day wal")
        _, run = self.run_append(2, 500, self.url, "--table", "my table")
        self.assertEqual(run.rows["acknowledged"], 500)
        self.assertEqual(self.count("my table"), 500)
        row = self.server.query('select * from "my table" limit 1')[0]
        self.assertTrue(row["t"].startswith("2024-01-01T") and row["d"].startswith("2024-01-01T"), row)
        self.assertEqual(len(row["u"]), 36)

    def test_one_that_is_missing(self):
        self.refused(1, 1, self.url, "--table", "nope", code=4, pattern="table does not exist")

    def test_one_without_a_log(self):
        self.server.query("create table plain (ts timestamp, n long) timestamp(ts) "
                          "partition by day bypass wal")
        _, run = self.run_append(1, 100, self.url, "--table", "plain", code=None)
        self.assertEqual(run.rows["acknowledged"], 0)
        self.assertIn("non-WAL table", run.causes[0]["text"])

    def test_a_write_is_kept_whole_or_not_at_all(self):
        """QuestDB keeps no row of a refused write; append relies on this."""
        self.server.query("create table t (ts timestamp, b byte, n3 long) timestamp(ts) "
                          "partition by day wal")
        good = [f"t n3={i}i {1704067200000000000 + i}" for i in range(5000)]
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.server.write("qdb", *good, 't n3="x" 1704067200000000000')
        refused.exception.close()
        _, run = self.run_append(1, 1000, self.url, "--table", "t", "--values", "b=1|2", code=1)
        self.assertEqual(run.rows["rejected"], 1000)
        self.assertEqual([cause["kind"] for cause in run.causes], ["data"])
        self.assertIn("cast error from protocol type: STRING to column type: BYTE", run.causes[0]["text"])
        self.assertEqual(self.count("t"), 0)


class Statements(databases.Workloads, QuestdbCase):
    LACKS = ((("mass-insert", "--set", "batch=1"),
              r"mass-insert:\d+: dataset 'test': append cannot create this table in questdb: add create = "
              r'\{questdb = "CREATE TABLE \.\.\."\}'),
             (("oltp", "--set", "mode=point_select"),
              r"oltp:\d+: dataset 'sbtest1': QuestDB has no CREATE INDEX"),
             (("ycsb", "--set", "preset=messenger"), r"ycsb:\d+: statement 'DELETE': QuestDB has no DELETE"))

    def test_parameters_are_literals(self):
        self.server.query("create table mine (s varchar, i long, f double)")
        self.server.query("insert into mine values ('it''s \"a\"', 7, 0.5)")
        script = self.script("""
            local find = statement("find", "select i, s from mine where s = ? and i = ? and f = ?",
                {"text(40)", "int64", "float64"})
            local many = statement("many", "select i from mine; select 1; select 2")
            local change = statement("change", "insert into mine values ('new', ?, null)", {"int64"})
            transaction("x", function()
                local i, s = find:one('it\\'s "a"', 7, 0.5)
                check(i == 7 and s == 'it\\'s "a"', "found")
                check(find:one("it's", 7, 0.5) == nil, "found nothing")
                many:run()
                change:run(8)
            end, {autocommit = true})""")
        _, run = self.run_append(1, "--transactions", 5, self.url, "--workload", script)
        self.assertEqual(run.json["transactions"]["committed"], 5)
        self.assertEqual(self.count("mine"), 6)

    def test_what_it_does_not_have_is_refused(self):
        super().test_what_it_does_not_have_is_refused()
        for sql in ("delete from syslog_table", "create index i on syslog_table (n1)",
                    "create temporary table t (a int)"):
            with self.assertRaises(urllib.error.HTTPError):
                self.server.query(sql)

    def test_tables_of_a_script(self):
        script = self.script("""
            dataset("ds", 5000, {{"id", "int64", row(), key = true}, {"ts", "timestamp"},
                {"name", "text(20)"}}, {create = {questdb = "create table ds (id long, ts timestamp,"
                .. " name varchar) timestamp(ts) partition by day wal"}})
            local find = statement("find", "select name from ds where id = ?", {"int64"})
            transaction("x", function()
                check(find:one(4999) ~= nil, "found")
            end, {autocommit = true})""")
        self.append("prepare", 2, self.url, "--workload", script)
        _, run = self.run_append(2, "--transactions", 20, self.url, "--workload", script)
        self.assertEqual(run.json["transactions"]["committed"], 20)
        self.refused("cleanup", self.url, "--workload", script, code=2, pattern="--drop=ds drops it")
        self.append("cleanup", self.url, "--workload", script, "--drop=ds")


if __name__ == "__main__":
    harness.main()
