"""Whole runs on MariaDB, compared with the results of the mariadb client."""

import re

import harness

METHODS = ("bulk", "insert")


class Exact(harness.Mariadb):
    def check_exact(self, run, sessions, rows):
        self.assertEqual(run.rows["acknowledged"], rows)
        self.assertEqual(run.sessions["finished"], sessions)
        self.assertEqual(run.verification["lost"], 0)
        self.assertEqual(self.count(), rows)
        self.assertEqual(self.sql("select count(*), count(distinct n2), count(distinct n1) from"
                                  " (select distinct n1, n2, n3 from syslog_table) x"),
                         f"{rows}\t{sessions}\t1")

    def port(self):
        return re.search(r":(\d+)/", self.url).group(1)

    def test_every_method(self):
        rows = harness.fewer(100_000)
        for method in METHODS:
            with self.subTest(method):
                _, run = self.run_append("20", rows, self.url, "--method", method, "--read-every",
                                         "5", "--recreate")
                self.check_exact(run, 20, rows)
                self.assertEqual(run.json["freshness"]["behind"], 0)
                self.assertEqual(run.json["freshness"]["backward"], 0)

    def test_all_methods_write_the_same(self):
        columns = "n1, n2, n3, n4, n5, host, msg, ip4, ip6"
        for method in METHODS:
            self.run_append("3", "1000", self.url, "--method", method, "--seed", "5", "--recreate")
            self.sql(f"rename table syslog_table to rows_{method}")
        for method in METHODS[1:]:
            self.assertEqual(self.sql(
                f"select count(*) from (select {columns} from rows_{METHODS[0]} except all"
                f" select {columns} from rows_{method}) x"), "0", method)

    def test_only_a_port(self):
        _, run = self.run_append("20", "2000", self.port(), "--user", "append", "--database",
                                 self.database)
        self.check_exact(run, 20, 2000)
        self.assertEqual(run.json["plan"]["adapter"], "mariadb")

    def test_a_unix_socket(self):
        socket = self.root("select @@socket")
        for options in ((f"mariadb://append@/{self.database}?socket={socket}",),
                        (self.url, "--host", socket)):
            _, run = self.run_append("2", "200", *options, "--recreate")
            self.check_exact(run, 2, 200)

    def test_engines(self):
        for engine in ("MyISAM", "Aria", "InnoDB"):
            _, run = self.run_append("2", "200", self.url, "--engine", engine.lower(),
                                     "--recreate")
            self.check_exact(run, 2, 200)
            self.assertEqual(run.json["table"]["engine"], engine)
            self.assertEqual(self.sql("select engine from information_schema.tables where"
                                      f" table_schema = '{self.database}'"), engine)

    def test_the_report_names_the_server(self):
        ended, run = self.run_append("2", "100", self.url)
        self.assertRegex(run.json["server"]["version"], r"MariaDB \d+\.\d+")
        self.assertGreaterEqual(run.json["server"]["session_limits"][0]["allowed"], 20)
        self.assertGreater(run.json["resources"]["max_server_memory_bytes"], 0)
        self.assertGreater(run.json["resources"]["server_pid"], 0)
        self.assertIn("MariaDB", ended.out)

    def test_appended_to_and_recreated(self):
        self.run_append("2", "100", self.url)
        _, run = self.run_append("2", "100", self.url)
        self.assertEqual(run.verification["rows_before"], 100)
        self.assertEqual(self.count(), 200)
        _, run = self.run_append("2", "50", self.url, "--recreate")
        self.assertEqual(run.verification["rows_before"], 0)
        self.check_exact(run, 2, 50)

    def test_a_password(self):
        url = self.in_database(self.PASSWORD_URL)
        self.run_append("2", "100", url, env={"APPEND_PASSWORD": harness.SECRET})
        (self.folder / "password").write_text(harness.SECRET + "\n")
        self.run_append("2", "100", url, "--password-file", "password")
        ended, run = self.run_append(
            "2", "100", url.replace("append_pw@", "append_pw:append%20secret@"))
        everything = ended.out + ended.err + "".join(
            path.read_text() for path in run.folder.iterdir() if path.is_file())
        self.assertNotIn("append%20secret", everything)
        self.assertEqual(self.count(), 300)


class UserTables(harness.Mariadb):
    def test_many_types(self):
        self.sql("""create table many (
            id bigint auto_increment primary key, at timestamp not null default now(), d date,
            t time, flag boolean, small smallint, price decimal(10,2), real_ float,
            text_ text not null, short varchar(10), code char(4), data blob,
            twice int generated always as (small * 0 + 2) stored)""")
        for method in METHODS:
            self.sql("truncate table many")
            self.run_append("4", "1000", self.url, "--table", "many", "--method", method)
            self.assertEqual(self.sql(
                "select count(*), count(distinct id), min(twice), max(char_length(short)) <= 10"
                " from many"), "1000\t1000\t2\t1", method)

    def test_rules_of_the_table(self):
        self.sql("create table parent (id int primary key)",
                 "insert into parent select seq from seq_1_to_50",
                 "create table child (parent_id int not null, status varchar(5) check (status in"
                 " ('ok', 'new')), mood enum('sad', 'happy') not null, place geometry,"
                 " day date check (day < '2026-03-01'), n1 smallint, n2 int, n3 bigint,"
                 " foreign key (parent_id) references parent (id))")
        for method in METHODS:
            self.sql("truncate child")
            _, run = self.run_append(
                "3", "1000", self.url, "--table", "child", "--method", method, "--verify", "rows",
                "--skip-columns", "place", "--values",
                "parent_id=1..50, status=ok|new, mood=sad|happy, day=2026-02-28|2026-01-01")
            self.assertEqual(run.json["row_verification"]["present"], 1000)
            self.assertEqual(self.sql(
                "select count(distinct parent_id), count(distinct status), count(distinct mood),"
                " count(distinct day), count(place) from child").split(), ["50", "2", "2", "2", "0"])

    def test_values_that_the_server_clips(self):
        """A server that is not strict cuts texts: blanks with a note, '1000' to '100' with a warning. It shows
        only the first max_error_count of both."""
        (self.folder / "own.lua").write_text("""
            local t = dataset("t", 0, {{"s", "text(9)", format("%d   ", row(param("first", 900)))}},
                {create = "create table t (s varchar(3))"})
            transaction("put", function() t:append(99) end, {autocommit = true})""")
        for shown, first, clips in ((64, 900, False), (64, 930, True), (64, 1000, True), (0, 900, False),
                                    (0, 1000, True)):
            (self.folder / ".my.cnf").write_text(
                f"[append]\ninit-command=set sql_mode = '', max_error_count = {shown}\n")
            for method in METHODS:
                with self.subTest(shown=shown, first=first, method=method):
                    _, run = self.run_append(
                        1, self.url, "--workload", "own.lua", "--set", f"first={first}", "--transactions", 1,
                        "--recreate", "--method", method, env={"HOME": self.folder}, code=int(clips))
                    self.assertEqual([cause["kind"] for cause in run.causes], ["data"] * clips)

    def test_a_name_that_needs_quotes(self):
        self.sql("create table `My ``own`` table` (`select` int, `Ünïcode` text)")
        self.run_append("2", "100", self.url, "--table", "My `own` table")
        self.assertEqual(self.count("`My ``own`` table`"), 100)

    def test_a_key_that_is_there_already(self):
        """The database computes the key, so the second row of a batch has the key of the first."""
        for engine in ("innodb", "myisam"):
            for method in METHODS:
                with self.subTest(f"{engine}, {method}"):
                    self.sql("create or replace table picky (a int, k int generated always as"
                             f" (a * 0) stored, unique key (k)) engine = {engine}")
                    ended, run = self.run_append("2", "1000", self.url, "--table", "picky",
                                                 "--method", method, code=1)
                    self.assertGreater(run.rows["rejected"], 0)
                    self.assertEqual(run.verification["lost"], 0)
                    self.assertEqual(self.count("picky"), run.rows["acknowledged"])
                    self.assertEqual(self.count("picky"), 1 if engine == "myisam" else 0)
                    self.assertEqual({cause["native_code"] for cause in run.causes}, {1062})
                    self.assertIn("Duplicate entry", ended.out)


class Refused(harness.Mariadb):
    def test_the_table_outlives_an_engine_that_is_not_there(self):
        self.run_append("2", "200", self.url)
        for engine in ("nosuch", "csv"):
            with self.subTest(engine):
                ended = self.append("2", "200", self.url, "--engine", engine, "--recreate",
                                    "--out", self.out(), code=None)
                self.assertIn(ended.code, (2, 4), ended)
                self.assertEqual(self.count(), 200)
                self.assertEqual(self.sql("show tables"), "syslog_table")

    def test_wrong_password(self):
        url = self.in_database(self.PASSWORD_URL)
        self.refused("2", "10", url, env={"APPEND_PASSWORD": "wrong"}, code=4,
                     pattern=r"Access denied")
        self.refused("2", "10", url, code=4, pattern=r"Access denied")

    def test_no_such_user(self):
        self.refused("2", "10", self.url, "--user", "stranger", code=4, pattern=r"stranger")

    def test_no_privilege_on_the_database(self):
        self.refused("2", "10", self.URL[: self.URL.rindex("/")] + "/mysql", code=4,
                     pattern=r"mysql")

    def test_no_password(self):
        self.refused("2", "10", self.PASSWORD_URL, code=4,
                     pattern="--password-file FILE.*APPEND_PASSWORD.*my.cnf")

    def test_a_missing_privilege(self):
        user = self.database[-30:]
        self.sql("create table closed (a int)")
        self.root(f"create user '{user}'@'%'", f"grant select on {self.database}.* to '{user}'@'%'")
        self.addCleanup(self.root, f"drop user '{user}'@'%'")
        url = self.url.replace("append@", user + "@")
        self.refused("2", "10", url, code=4,
                     pattern=f"CREATE command denied .*: GRANT CREATE ON .*syslog_table. TO '{user}'")
        ended = self.append("2", "10", url, "--table", "closed", code=4)
        self.assertRegex(ended.reason,
                         f"INSERT command denied .*: GRANT INSERT ON .*closed. TO '{user}'")

    def test_the_database_of_a_table(self):
        self.refused("2", "10", self.url, "--table", f"{self.database}.t", code=4,
                     pattern=f"--database {self.database} --table t")

    def test_the_scheme_of_another_database(self):
        self.refused("2", "10", self.url.replace("mariadb:", "postgresql:"), code=2,
                     pattern="speaks the protocol of mariadb, not of postgresql: write mariadb:")

    def test_no_such_table(self):
        self.refused("2", "10", self.url, "--table", "nowhere", code=4, pattern=r"nowhere")

    def test_no_such_engine(self):
        self.refused("2", "10", self.url, "--engine", "nosuch", code=2, pattern=r"nosuch")

    def test_engine_is_for_mariadb_only(self):
        self.refused("2", "10", "null:", "--engine", "myisam", code=2, pattern=r"engine")

    def test_read_sql_that_cannot_work(self):
        self.refused("2", "10", self.url, "--read", "selec 1", code=4, pattern=r"syntax")


if __name__ == "__main__":
    harness.main()
