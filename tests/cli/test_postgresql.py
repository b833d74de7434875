"""Whole runs on PostgreSQL, compared with the rows that psql finds."""

import pathlib
import signal

import harness


class Exact(harness.Postgresql):
    def check_exact(self, run, sessions, rows):
        self.assertEqual(run.rows["acknowledged"], rows)
        self.assertEqual(run.sessions["finished"], sessions)
        self.assertEqual(run.verification["lost"], 0)
        self.assertEqual(self.count(), rows)
        self.assertEqual(self.sql("select count(*), count(distinct n2), count(distinct n1) from"
                                  " (select distinct n1, n2, n3 from syslog_table) x"),
                         f"{rows}|{sessions}|1")

    def test_copy(self):
        rows = harness.fewer(400_000)
        _, run = self.run_append("20", rows, self.url, "--method", "copy", "--read-every", "20")
        self.check_exact(run, 20, rows)
        self.assertEqual(run.json["freshness"]["behind"], 0)
        self.assertEqual(run.json["freshness"]["backward"], 0)

    def test_insert(self):
        rows = harness.fewer(400_000)
        _, run = self.run_append("20", rows, self.url, "--method", "insert", "--read-every", "20")
        self.check_exact(run, 20, rows)

    def test_appends_to_several_tables_in_turn(self):
        """A session keeps one prepared INSERT for each table, and at most 8."""
        (self.folder / "own.lua").write_text("""
            local count = param("tables", 2)
            local all = {}
            for i = 1, count do
                all[i] = dataset("t" .. i, 0, {{"id", "int64", row()}})
            end
            local prepared = statement("prepared",
                "select name from pg_prepared_statements where name like 'append%'")
            transaction("put", function()
                for i = 1, count do
                    all[i]:append(3)
                end
                check(prepared:run() == math.min(count, 8), "few prepared statements")
            end, {autocommit = true})""")
        for count in (2, 9):
            _, run = self.run_append("2", self.url, "--workload", "own.lua", "--set", f"tables={count}",
                                     "--transactions", "20", "--method", "insert")
            self.assertEqual(run.json["transactions"]["checks_failed"], 0)
            self.assertEqual(self.count(f"t{count}"), 60)
            self.append("cleanup", self.url, "--workload", "own.lua", "--set", f"tables={count}")

    def test_both_methods_write_the_same(self):
        for method in ("copy", "insert"):
            self.run_append("3", "1000", self.url, "--method", method, "--seed", "5",
                            "--recreate")
            self.sql(f"alter table syslog_table rename to rows_{method}")
        self.assertEqual(self.sql(
            "select count(*) from (select n1, n2, n3, n4, n5, host, msg, ip4, ip6 from rows_copy"
            " except all select n1, n2, n3, n4, n5, host, msg, ip4, ip6 from rows_insert) x"), "0")

    def test_only_a_port(self):
        port = self.url.rsplit(":", 1)[1].split("/")[0]
        _, run = self.run_append("2", "100", port, "--user", "append", "--database", self.database)
        self.check_exact(run, 2, 100)
        self.assertEqual(run.json["plan"]["adapter"], "postgresql")

    def test_a_folder_and_a_port(self):
        port = self.url.rsplit(":", 1)[1].split("/")[0]
        folder = harness.psql(self.url.replace("append@", "postgres@"),
                              "show unix_socket_directories")
        _, run = self.run_append("2", "100", port, "--host", folder, "--user", "append",
                                 "--database", self.database)
        self.check_exact(run, 2, 100)

    def test_options_for_the_url(self):
        port = self.url.rsplit(":", 1)[1].split("/")[0]
        _, run = self.run_append("2", "100", f"postgresql://nobody@localhost:{port}/nowhere",
                                 "--host", "127.0.0.1", "--user", "append",
                                 "--database", self.database)
        self.check_exact(run, 2, 100)

    def test_the_report_names_the_server(self):
        ended, run = self.run_append("2", "100", self.url)
        self.assertRegex(run.json["server"]["version"], r"\d+\.\d+")
        self.assertGreaterEqual(run.json["server"]["session_limits"][0]["allowed"], 20)
        self.assertGreater(run.json["resources"]["max_server_memory_bytes"], 0)
        self.assertGreater(run.json["resources"]["server_pid"], 0)
        self.assertIn("postgres", ended.out)

    def test_appended_to_and_recreated(self):
        note = "the table had 100 rows before the run, and reads cost more"
        self.run_append("2", "100", self.url)
        ended, run = self.run_append("2", "100", self.url)
        self.assertEqual(run.verification["rows_before"], 100)
        self.assertIn(note, run.verification["note"])
        self.assertIn(note, ended.out)
        self.assertEqual(self.count(), 200)
        for options in (("--recreate",), ("--read", "none")):
            ended, run = self.run_append("2", "50", self.url, *options)
            self.assertEqual(run.verification["rows_before"], 0 if "--recreate" in options else 50)
            self.assertIsNone(run.verification["note"])
            self.assertNotIn("rows before the run", ended.out)
        self.assertEqual(self.count(), 100)

    def test_rows_of_earlier_runs_do_not_count(self):
        self.run_append("2", "10000", self.url)
        _, run = self.run_append("2", "100", self.url)
        figures = run.json["figures"]
        self.assertAlmostEqual(figures["throughput_rows_per_s"] * figures["elapsed_s"], 100,
                               delta=1)


class Options(harness.Postgresql):
    def test_read_sql(self):
        _, run = self.run_append("2", "1000", self.url, "--read",
                                 "select max(n3) from syslog_table where host <> 'x'")
        self.assertEqual(run.table("summary.csv")[0]["reads"], "10")

    def test_read_sql_that_cannot_work(self):
        self.refused("2", "10", self.url, "--read", "selec 1", code=4, pattern=r"syntax error")

    def test_read_none(self):
        _, run = self.run_append("2", "1000", self.url, "--read", "none")
        self.assertEqual(run.table("summary.csv")[0]["reads"], "0")
        self.assertEqual(run.verification["rows_after"], 1000)

    def test_rate(self):
        _, run = self.run_append("2", "1000", self.url, "--batch", "10", "--rate", "1000")
        self.assertGreater(float(run.table("summary.csv")[0]["append_s"]), 0.9)
        self.assertEqual(self.count(), 1000)

    def test_duration(self):
        _, run = self.run_append("3", self.url, "--duration", "1.2s", "--rate", "3000")
        self.assertEqual(self.count(), run.rows["acknowledged"])
        self.assertEqual(run.rows["planned"], run.rows["acknowledged"])
        self.assertEqual(run.sessions["finished"], 3)

    def test_the_schema(self):
        self.sql("create schema aside")
        _, run = self.run_append("2", "100", self.url, "--schema", "aside")
        self.assertEqual(self.count("aside.syslog_table"), 100)

    def test_parameters_of_the_url(self):
        server, name = self.url.rsplit("/", 1)
        host, port = server.split("@")[1].split(":")
        self.sql("create table seen (a int, name text default current_setting('application_name'),"
                 " memory text default current_setting('work_mem'))")
        for url in (self.url + "?", f"postgresql:///{name}?host={host}&port={port}&user=append&"):
            self.run_append("1", "10", url + "application_name=a%26=b&options=-c%20work_mem%3D65kB"
                            "&sslmode=disable&connect_timeout=20", "--schema", "public",
                            "--table", "seen", "--skip-columns", "name,memory")
        self.assertEqual(self.sql("select name, memory, count(*) from seen group by 1, 2"),
                         "a&=b|65kB|20")

    def test_a_password(self):
        url = self.in_database(self.PASSWORD_URL)
        self.sql("grant all on schema public to append_pw", "grant all on database "
                 + self.database + " to append_pw")
        self.run_append("2", "100", url, env={"APPEND_PASSWORD": harness.SECRET})
        (self.folder / "password").write_text(harness.SECRET + "\n")
        self.run_append("2", "100", url, "--password-file", "password")
        with_password = url.replace("append_pw@", "append_pw:append%20secret@")
        ended, run = self.run_append("2", "100", with_password)
        everything = ended.out + ended.err + "".join(
            path.read_text() for path in run.folder.iterdir() if path.is_file())
        self.assertNotIn("append%20secret", everything)
        self.assertEqual(harness.psql(url, "select count(*) from syslog_table"), "300")

    def test_a_password_in_the_list_of_processes(self):
        """ps shows the target of a sweep and of its run without the password."""
        url = self.in_database(self.URL).replace("append@", "append:append%20secret@")
        process = self.start("sweep", "--sessions", "1", "--records", "100G", "--rate", "100",
                             "--duration", "1h", "--out", self.out(), url)

        def command_lines():
            child = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
            return [pathlib.Path("/proc", pid, "cmdline").read_bytes()
                    for pid in (str(process.pid), *child.split())]

        shown = url.replace("append:append%20secret@", "append@").encode()
        harness.wait_until(lambda: sum(shown in line for line in command_lines()) == 2,
                           "both command lines without the password")
        self.assertNotIn(b"secret", b"".join(command_lines()))
        process.send_signal(signal.SIGINT)
        self.end(process, 130)

    def test_connect_concurrency(self):
        _, run = self.run_append("50", "5000", self.url, "--connect-concurrency", "1")
        self.assertEqual(run.sessions["finished"], 50)


class UserTables(harness.Postgresql):
    def append_to(self, table, sessions, rows, **options):
        _, run = self.run_append(sessions, rows, self.url, "--table", table, **options)
        self.assertEqual(run.rows["acknowledged"], rows)
        self.assertEqual(self.count(table), rows)
        return run

    def test_many_types(self):
        self.sql("""create table many (
            id bigserial primary key, at timestamptz not null default now(), d date, t time,
            flag boolean, small smallint, price numeric(10,2), real_ real, text_ text not null,
            short varchar(10), code char(4), data bytea, doc jsonb, doc2 json, id2 uuid unique,
            address inet, twice int generated always as (small * 0 + 2) stored)""")
        for method in ("copy", "insert"):
            self.sql("truncate many")
            self.run_append("4", "1000", self.url, "--table", "many", "--method", method)
            self.assertEqual(self.sql(
                "select count(*), count(distinct id), count(distinct id2), bool_and(twice = 2),"
                " max(length(short)) <= 10 from many"), "1000|1000|1000|t|t")

    def test_a_name_that_needs_quotes(self):
        self.sql('create table "My ""own"" table" ("select" int, "Ünïcode" text)')
        self.run_append("2", "100", self.url, "--table", 'My "own" table')
        self.assertEqual(self.count('"My ""own"" table"'), 100)

    def test_a_type_that_cannot_be_generated(self):
        self.sql("create table odd (id int, spot point not null)")
        ended = self.append("2", "100", self.url, "--table", "odd", "--out", self.out(), code=2)
        self.assertRegex(ended.reason, r"spot.*point.*--values")
        self.sql("alter table odd alter spot drop not null")
        ended = self.append("2", "100", self.url, "--table", "odd", "--out", self.out(), code=2)
        self.assertRegex(ended.reason, r"spot.*point.*--skip-columns")
        self.assertEqual(self.count("odd"), 0)

    def test_rules_of_the_table(self):
        """CHECK, a foreign key, an enum, and a type without generated values, with every method."""
        self.sql("create table parent (id int primary key)",
                 "insert into parent select generate_series(1, 50)",
                 "create type mood as enum ('happy', 'sad')",
                 "create table child (parent_id int not null references parent, tags text[]"
                 " default '{a}', mood mood not null, status text check (status in ('ok', 'new')),"
                 " price numeric(8,2) check (price in (1.5, -2)), n1 smallint, n2 int, n3 bigint)")
        rules = ("--table", "child", "--skip-columns", "tags", "--seed", "7", "--verify", "rows",
                 "--values", "parent_id=1..50, status=ok|new, mood=sad|happy, price=1.5|-2")
        written = set()
        for method in ("copy", "insert"):
            self.sql("truncate child")
            _, run = self.run_append("3", "1000", self.url, *rules, "--method", method)
            self.assertEqual(run.rows["acknowledged"], 1000)
            self.assertEqual(run.json["row_verification"]["present"], 1000)
            self.assertEqual(run.json["plan"]["skip_columns"], "tags")
            self.assertEqual(self.sql(
                "select count(distinct parent_id), count(distinct mood), count(distinct status),"
                " count(distinct price), bool_and(tags = '{a}') from child"), "50|2|2|2|t")
            written.add(self.sql("select md5(string_agg(c::text, ',' order by n2, n3)) from"
                                 " child c"))
        self.assertEqual(len(written), 1, "the seed repeats the rows")
        self.run_append("1", "50", self.url, "--table", "parent", "--values", "id=51..100")
        self.assertEqual(self.sql("select count(*), max(id) from parent"), "100|100")

    def test_columns_that_cannot_be_so(self):
        self.sql("create table strict (a int not null, b int generated always as (a) stored, c int)")
        for options, pattern in (
                (["--skip-columns", "c, a"], "'a' of table 'strict' cannot be left out"),
                (["--skip-columns", "d"], "'d' of table 'strict' does not exist"),
                (["--values", "b=1..2"], "'b' of table 'strict' .* computes it"),
                (["--values", "c=1, C=2"], "'C' of table 'strict' is named twice"),
                (["--values", "c=1", "--skip-columns", "c"], "'c' .* left out by --skip-columns"),
                (["--values", "a=1|many"], "column 'a' has type integer.*'many'")):
            self.refused("2", "10", self.url, "--table", "strict", *options, code=2,
                         pattern=pattern)
        self.assertEqual(self.count("strict"), 0)

    def test_a_default_is_left_to_the_database(self):
        self.sql("create table filled (id bigint generated always as identity, a int)")
        self.append_to("filled", 2, 100)

    def test_rows_that_are_refused(self):
        self.sql("create table picky (a int check (a is null) not null)")
        ended, run = self.run_append("2", "1000", self.url, "--table", "picky", code=1)
        self.assertEqual(run.rows["acknowledged"], 0)
        self.assertGreater(run.rows["rejected"], 0)
        self.assertIn("23514", {cause["sqlstate"] for cause in run.causes})
        self.assertIn("23514", ended.out)


class Refused(harness.Postgresql):
    def test_wrong_password(self):
        url = self.in_database(self.PASSWORD_URL)
        self.refused("2", "10", url, env={"APPEND_PASSWORD": "wrong"}, code=4,
                     pattern=r"password|28P01")
        self.refused("2", "10", url, code=4, pattern=r"password")
        for at, tail, code, pattern in (
                (":p@s:S3cr@", "", 4, "password"), (":S3cr@[x@", "", 4, "password"),
                (":@", "?password=S3cr@x", 4, "password"),
                (":@", "?password=S3cr%25", 4, "password"),
                (":@", "?password=S3cr%off", 2, "badly encoded"),
                (":S3cr@", "?sslmode=@&options=%", 2, "badly encoded")):
            with self.subTest(at=at, tail=tail):
                ended = self.refused("2", "10", url.replace("@", at) + tail, code=code,
                                     pattern=pattern)
                self.assertNotIn("S3cr", ended.err)

    def test_no_such_database(self):
        self.refused("2", "10", self.URL[: self.URL.rindex("/")] + "/nowhere",
                     code=4, pattern=r"nowhere")

    def test_no_such_user(self):
        self.refused("2", "10", self.url, "--user", "stranger", code=4, pattern=r"stranger")

    def test_no_such_table(self):
        self.refused("2", "10", self.url, "--table", "nowhere", code=4, pattern=r"nowhere")

    def test_a_name_that_is_too_long(self):
        self.refused("2", "10", self.url, "--table", "a" * 300, code=2, pattern=r"1 to 259 bytes")

    def test_no_such_schema(self):
        self.refused("2", "10", self.url, "--schema", "nowhere", code=4, pattern=r"nowhere")

    def test_a_table_without_permission(self):
        self.sql("create table closed (a int)", "revoke all on closed from append",
                 "alter table closed enable row level security")
        self.sql("grant usage on schema public to append_pw")
        url = self.in_database(self.PASSWORD_URL)
        ended = self.append("2", "10", url, "--table", "closed",
                            env={"APPEND_PASSWORD": harness.SECRET}, code=4)
        self.assertRegex(ended.reason, r"permission denied.*: GRANT SELECT ON ")

    def test_a_missing_privilege(self):
        self.sql("create table closed (a int)", "grant select on closed to append_pw",
                 "revoke create on schema public from public")
        url = self.in_database(self.PASSWORD_URL)
        env = {"APPEND_PASSWORD": harness.SECRET}
        self.refused("2", "10", url, "--table", "closed", env=env, code=4,
                     pattern='GRANT INSERT ON "closed" TO "append_pw"')
        self.refused("2", "10", url, env=env, code=4,
                     pattern='GRANT USAGE, CREATE ON SCHEMA public TO "append_pw"')

    def test_no_password(self):
        self.refused("2", "10", self.PASSWORD_URL, code=4,
                     pattern="--password-file FILE.*APPEND_PASSWORD.*pgpass")

    def test_what_is_no_table(self):
        self.sql("create table bare ()", "create view seen as select 1 as a",
                 "create table whole (a int)")
        for name, code, pattern in (
                ("seen", 2, '"seen" is a view: append writes to tables only'),
                ("bare", 2, "'bare' has no column that append can write"),
                ("public.whole", 4, "--schema public --table whole")):
            self.refused("2", "10", self.url, "--table", name, code=code, pattern=pattern)

    def test_the_scheme_of_another_database(self):
        self.refused("2", "10", self.url.replace("postgresql:", "mariadb:"),
                     "--connect-timeout", "1", code=2,
                     pattern="speaks the protocol of postgresql, not of mariadb: write postgresql:")


if __name__ == "__main__":
    harness.main()
