"""Whole runs through ODBC drivers, compared with the rows that the databases' own clients find."""

import os
import re
import sqlite3

import harness
from odbc_strings import DRIVERS, parts, string
from prepare import TRIGGERS, Others

class OdbcCase:
    """Shared by the tests of every driver."""

    def check_exact(self, run, sessions, rows):
        self.assertEqual(run.rows["acknowledged"], rows)
        self.assertEqual(run.sessions["finished"], sessions)
        self.assertEqual(run.verification["lost"], 0)
        self.assertEqual(self.count(), rows)
        self.assertEqual(self.one("select count(*) from"
                                  " (select distinct n2, n3 from syslog_table) x"), rows)
        self.assertEqual(self.one("select count(distinct n2) from syslog_table"), sessions)

    def one(self, sql):
        return int(self.sql(sql))

    def assert_note(self, ended, run, pattern):
        self.assertRegex(run.json["connection"]["note"] or "", pattern)
        screen = re.search(r"^Note((?:.*\n)(?:          .*\n)*)", ended.out, re.M)
        self.assertIsNotNone(screen, ended)
        self.assertRegex(" ".join(screen.group(1).split()), pattern)

    def assert_nowhere(self, secret, ended, folder):
        self.assertNotIn(secret, ended.out + ended.err)
        for path in folder.iterdir():
            if path.suffix != ".db":
                self.assertNotIn(secret.encode(), path.read_bytes(), path)

    def registered(self, driver, **settings):
        """Returns an environment in which the driver is registered with other settings."""
        shown = harness.run_client(["odbcinst", "-q", "-d", "-n", driver], dict(os.environ))
        entries = [line for line in shown.splitlines() if "=" in line
                   and line.split("=")[0] not in settings]
        entries += [f"{key}={value}" for key, value in settings.items()]
        (self.folder / "odbcinst.ini").write_text(f"[{driver}]\n" + "\n".join(entries) + "\n")
        return {"ODBCSYSINI": str(self.folder)}

    def sources(self, **sources):
        """Returns an environment with these data sources."""
        path = self.folder / "odbc.ini"
        path.write_text("".join(
            f"[{name}]\n" + "".join(f"{key}={value}\n" for key, value in keys.items())
            for name, keys in sources.items()))
        return {"ODBCINI": str(path)}


class ServerCase(OdbcCase):
    """Tests for both servers. SERVER and USER are keys of the driver's data sources."""

    SERVER = USER = VERSION = METHOD = None

    def setUp(self):
        super().setUp()
        self.scheme = self.url.split(":")[0]
        self.keys = parts(self.url)
        self.target = string(self.keys)

    def test_20_sessions(self):
        ended, run = self.run_append("20", "4000", self.target)
        self.check_exact(run, 20, 4000)
        connection = run.json["connection"]
        self.assertEqual(connection["method"], self.METHOD)
        self.assertEqual(connection["host"], self.keys["Server"])
        self.assertEqual(connection["port"], int(self.keys["Port"]))
        self.assertEqual(connection["user"], self.keys["UID"])
        self.assertEqual(connection["database"], self.keys["Database"])
        self.assertRegex(run.json["server"]["version"], self.VERSION)
        self.assertRegex(" ".join(ended.out.split()), self.VERSION)

    def test_each_method(self):
        for method in ("array", "insert", "row"):
            _, run = self.run_append("3", "601", self.target, "--method", method, "--recreate")
            self.assertEqual(run.json["connection"]["method"], method)
            self.check_exact(run, 3, 601)

    def test_data_sources(self):
        env = self.sources(logs={
            "Driver": DRIVERS[self.scheme], self.SERVER: self.keys["Server"],
            "Port": self.keys["Port"], "Database": self.keys["Database"],
            self.USER: self.keys["UID"]})
        for target in ("odbc:DSN=logs", "odbc:logs"):
            _, run = self.run_append("2", "100", target, "--recreate", env=env)
            self.check_exact(run, 2, 100)
            connection = run.json["connection"]
            self.assertEqual(connection["host"], self.keys["Server"])
            self.assertEqual(connection["port"], int(self.keys["Port"]))
            self.assertEqual(connection["user"], self.keys["UID"])
            self.assertEqual(connection["database"], self.keys["Database"])

    def test_passwords(self):
        keys = parts(self.in_database(self.PASSWORD_URL))
        path = self.folder / "password"
        path.write_text(harness.SECRET + "\n")
        for target, options, env in (
                (string(keys, PWD=harness.SECRET), (), {}),
                (string(keys, Password="{" + harness.SECRET + "}"), (), {}),
                (string(keys, PWD="wrong;x"), ("--password-file", path), {}),
                (string(keys), (), {"APPEND_PASSWORD": harness.SECRET})):
            ended, run = self.run_append("2", "100", target, *options, "--table", self.open_table(),
                                         env=env)
            self.assertEqual(run.rows["acknowledged"], 100)
            self.assert_nowhere(harness.SECRET, ended, run.folder)
            planned = self.append("2", "100", target, *options, "--plan", env=env)
            self.assertNotIn(harness.SECRET, planned.out + planned.err)

    def test_wrong_password(self):
        keys = parts(self.in_database(self.PASSWORD_URL))
        for target, env in ((string(keys, PWD="not it"), {}), (string(keys), {}),
                            (string(keys), {"APPEND_PASSWORD": "not it"})):
            ended = self.refused("2", "10", target, env=env, code=4,
                                 pattern=r"password|Access denied")
            self.assertNotIn("not it", ended.out + ended.err)

    def test_nobody_listens(self):
        self.refused("2", "10", string(self.keys, Port=1), code=4, pattern=r"connect")

    def test_a_driver_whose_calls_queue(self):
        env = self.registered(DRIVERS[self.scheme], Threading=3)
        ended, run = self.run_append("4", "400", self.target, env=env)
        self.check_exact(run, 4, 400)
        self.assert_note(ended, run, r"Threading=3")

    def test_rows_that_are_refused(self):
        self.sql("create table picky (a smallint not null, check (a <> a))")
        _, run = self.run_append("2", "1000", self.target, "--table", "picky", code=1)
        self.assertEqual(run.rows["acknowledged"], 0)
        self.assertEqual(run.rows["rejected"], 1000)
        self.assertEqual(self.count("picky"), 0)

    def test_rules_of_the_table(self):
        self.sql("create table parent (id int primary key)", "insert into parent values (3), (4)",
                 "create table child (parent_id int not null, status varchar(5) check (status in"
                 " ('ok', 'new')), must int not null, more int default 5,"
                 " foreign key (parent_id) references parent (id))")
        rules = [self.target, "--table", "child", "--values", "parent_id=3..4, status=ok|new"]
        _, run = self.run_append("2", "100", *rules, "--skip-columns", "more")
        self.assertEqual(run.rows["acknowledged"], 100)
        self.assertEqual(self.one("select count(*) from child where more = 5"), 100)
        self.refused("2", "100", *rules, "--skip-columns", "must", code=2,
                     pattern="'must' of table 'child' cannot be left out")

    def test_duplicate_keys(self):
        """A boolean key has only two values."""
        self.sql("create table twice (flag boolean primary key, t varchar(20))")
        _, run = self.run_append("1", "300", self.target, "--table", "twice", code=1)
        self.assertGreater(run.rows["rejected"], 0)
        self.assertEqual(self.count("twice"), run.rows["acknowledged"])
        self.assertIn("23", {cause["sqlstate"][:2] for cause in run.causes})

    def test_a_name_beyond_ascii(self):
        self.create_unicode()
        _, run = self.run_append("2", "100", self.target, "--table", "Größe")
        self.assertEqual(run.rows["acknowledged"], 100)


class Postgresql(ServerCase, harness.Postgresql):
    SERVER = "Servername"
    USER = "Username"
    VERSION = r"PostgreSQL \d+\.\d+ by psqlodbcw"
    METHOD = "insert"

    def open_table(self):
        self.sql("create table if not exists open (a int, t text)",
                 "grant all on open to public")
        return "open"

    def create_unicode(self):
        self.sql('create table "Größe" (a int, "Länge" text)')

    def test_note(self):
        ended, run = self.run_append("2", "100", self.target)
        self.assert_note(ended, run, r"psqlodbcw.so runs a statement for each row.*multi-row INSERT")


    def test_errors_of_a_commit(self):
        """The rows are in doubt if the SQLSTATE leaves open whether the server has committed."""
        for state, account in (("HYT00", "in_doubt"), ("HYT01", "in_doubt"), ("25S01", "in_doubt"),
                               ("40003", "in_doubt"), ("08007", "in_doubt"), ("57014", "rejected"),
                               ("23514", "rejected")):
            with self.subTest(state):
                self.sql("drop table if exists late", "create table late (a int)",
                         "create or replace function fail() returns trigger language plpgsql as $$ begin"
                         f" raise exception 'too late' using errcode = '{state}'; end $$",
                         "create constraint trigger fail after insert on late deferrable initially deferred"
                         " for each row execute function fail()")
                _, run = self.run_append(1, 10, self.target, "--table", "late", "--read", "none", code=1)
                self.assertEqual(run.rows[account], 10)
                self.assertEqual(run.causes[0]["sqlstate"], state)


class Mariadb(ServerCase, harness.Mariadb):
    SERVER = "Server"
    USER = "User"
    VERSION = r"MariaDB \d+\.\d+\.[1-9]\d* by libmaodbc"
    METHOD = "array"

    def open_table(self):
        self.sql("create table if not exists open (a int, t text)")
        return "open"

    def create_unicode(self):
        self.sql("create table `Größe` (a int, `Länge` text)")


class OthersTables:
    """Parameters are marked as the database requires, whatever the driver."""

    def setUp(self):
        super().setUp()
        self.server = self.url
        self.url = string(parts(self.url))

    def sql(self, *statements):
        return self.client(self.server, *statements)

    def tables(self):
        # PostgreSQL shows one database, and MariaDB shows the databases of other tests as well
        return set(self.sql("select table_name from information_schema.tables where table_schema in "
                            f"('public', '{self.database}')").split())


class PostgresqlTables(OthersTables, Others, harness.Postgresql):
    TRIGGER = TRIGGERS["postgresql"]


class MariadbTables(OthersTables, Others, harness.Mariadb):
    TRIGGER = TRIGGERS["mariadb"]


class Sqlite(OdbcCase, harness.Case):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "odbc.db"
        self.keys = {"Driver": "{SQLite3}", "Database": self.path}
        self.target = string(self.keys)

    def sql(self, sql):
        with sqlite3.connect(self.path) as database:
            return database.execute(sql).fetchall()[0][0]

    def count(self):
        return self.sql("select count(*) from syslog_table")

    def test_20_sessions(self):
        ended, run = self.run_append("20", "4000", self.target)
        self.check_exact(run, 20, 4000)
        self.assert_note(ended, run, r"no parameter arrays: multi-row INSERT")
        self.assertTrue(run.json["connection"]["is_embedded"])
        self.assertEqual(self.sql("pragma journal_mode"), "wal")
        # a connection string does not show where the data is
        self.assertIsNone(run.json["io"]["data_directory"])
        self.assertRegex(ended.out, "(?m)^Disk +append cannot measure the size of tables in this database$")

    def test_each_method(self):
        for method in ("insert", "row"):
            _, run = self.run_append("3", "601", self.target, "--method", method, "--recreate")
            self.check_exact(run, 3, 601)

    def test_arrays_that_the_driver_does_not_have(self):
        """The driver creates the file on request."""
        ended = self.append("2", "100", self.target, "--method", "array", "--out", self.out(),
                            code=2)
        self.assertRegex(ended.reason, r"no parameter arrays: use --method insert")

    def test_durability(self):
        """Commits are synced as with the native adapter, unless the connection string turns that off."""
        for more, pattern in (({}, r"INSERT instead$"),
                              ({"SyncPragma": "OFF"}, r"commits are not always synced"),
                              ({"SyncPragma": "FULL"}, r"INSERT instead$")):
            ended, run = self.run_append("2", "100", string(self.keys, **more), "--recreate")
            self.assert_note(ended, run, pattern)
        target = string(self.keys, Database=self.folder / "b.db", JournalMode="DELETE")
        ended, run = self.run_append("1", "100", target)
        self.assert_note(ended, run, r"journal mode is delete")

    def test_a_data_source(self):
        env = self.sources(file={"Driver": "SQLite3", "Database": self.path})
        _, run = self.run_append("2", "100", "odbc:file", env=env)
        self.check_exact(run, 2, 100)

    def test_what_is_missing(self):
        env = self.sources(broken={"Driver": "/nonexistent/driver.so"})
        for target, pattern in (
                ("odbc:", r"odbc:DSN=NAME"),
                ("odbc:nowhere", r"no such data source.*odbcinst -q -s"),
                ("odbc:DSN=nowhere", r"no such data source.*odbcinst -q -s"),
                ("odbc:Server=x", r"no driver given.*odbcinst -q -d"),
                ("odbc:Driver={nothing};Server=x", r"nothing.*odbcinst -q -d"),
                ("odbc:broken", r"/nonexistent/driver.so.*odbcinst -q -d")):
            self.refused("2", "10", target, env=env, code=2, pattern=pattern)
        self.refused("2", "10", string(self.keys, Database=f"{self.folder}/none/a.db"), code=4,
                     pattern=r"cannot open the database")

    def test_version(self):
        self.assertRegex(self.append("--version").out, r"odbc +unixODBC \d+\.\d+")


if __name__ == "__main__":
    harness.main()
