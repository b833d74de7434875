"""Whole runs through Machbase's own client library, against a stand-in for the server. They show that
append uses the library correctly, and nothing about a real server.

Environment: APPEND_TEST_MACHBASE_LIB (the folder of the vendor's client library, see
scripts/machbase_client.sh).
"""

import json
import os
import pathlib
import platform
import signal
import socket
import unittest

import databases
import harness
import machbase_standin

LIBRARY_FOLDER = os.environ.get("APPEND_TEST_MACHBASE_LIB", "")


class MachbaseCase(harness.Case):
    """Tests that find a client library only if they name it."""

    def environment(self, **more):
        env = super().environment(**more)
        for name in ("MACHBASE_HOME", "MACHBASE_PORT_NO", "LD_LIBRARY_PATH"):
            if name not in more:
                env.pop(name, None)
        return env


class WithoutLibrary(MachbaseCase):
    """Tests that need no client library."""

    def test_no_library(self):
        empty = self.folder / "empty"
        empty.mkdir()
        text = self.folder / "text.so"
        text.write_text("not a library")
        torn = self.folder / "torn"
        torn.mkdir()
        (torn / "libmachbasecli_dll.so").write_text("not a library")
        for options, env, pattern in (
                ((), {}, r"neither libmachbasecli_dll\.so nor .* give --client-lib FILE"),
                ((), {"MACHBASE_HOME": str(empty)}, r"give --client-lib FILE"),
                (("--client-lib", "/nonexistent/x.so"), {}, r"/nonexistent/x\.so: no such file"),
                (("--client-lib", empty), {}, r"contains neither libmachbasecli_dll\.so nor "),
                (("--client-lib", text), {}, r"cannot be loaded: .*text\.so"),
                ((), {"LD_LIBRARY_PATH": str(torn)}, r"cannot be loaded: .*torn/libmachbasecli_dll")):
            for command in ((), ("check",)):
                numbers = ("2",) if command else ("2", "10")
                ended = self.append(*command, *numbers, "machbase://127.0.0.1:1", *options,
                                    env=env, code=2)
                self.assertRegex(ended.reason, pattern)
                self.assertEqual(ended.out, "")

    def test_a_library_that_is_another_one(self):
        """A library that every machine has, without Machbase's functions."""
        libraries = sorted(pathlib.Path("/lib").glob("*/libm.so.6")) or sorted(
            pathlib.Path("/lib64").glob("libm.so.6"))
        ended = self.append("2", "10", "machbase://127.0.0.1:1", "--client-lib", libraries[0],
                            code=2)
        self.assertRegex(ended.reason, r"libm\.so\.6 is not Machbase's .* it has no SQLAllocEnv")

    def test_adapters_that_load_none(self):
        self.refused("2", "10", "null:", "--client-lib", "/tmp", code=2,
                     pattern="--client-lib does not apply to null, which loads no client library")

    def test_version(self):
        self.assertRegex(self.append("--version").out,
                         r"machbase +client library loaded at run time: \S+")


class OnStandin(databases.OnStandin, MachbaseCase):
    """Tests against a stand-in, through the vendor's library."""

    SERVER, URL = machbase_standin.Server, "machbase://SYS@127.0.0.1:{port}"

    @classmethod
    def setUpClass(cls):
        """Finds the client library."""
        super().setUpClass()
        machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
        found = sorted(pathlib.Path(LIBRARY_FOLDER).glob(f"libmachbase*_{machine}.so"))
        if not LIBRARY_FOLDER or not found:
            raise unittest.SkipTest("APPEND_TEST_MACHBASE_LIB does not name the folder of Machbase's client "
                                    "library (scripts/machbase_client.sh)")
        cls.OPTIONS = ("--client-lib", found[0])

    def rows(self, table="syslog_table"):
        """Returns every row as a dictionary with names in upper case."""
        columns, rows = self.standin.database.select(f'select * from "{table.upper()}"')
        names = [column.name for column in columns]
        return [dict(zip(names, row)) for row in rows]

    def count(self, table="syslog_table"):
        return self.standin.database.select(f"select count(*) from {table}")[1][0][0]


class Runs(databases.StandinRuns, databases.Users, OnStandin):
    LOADS = ((20, 4000, (), {}), (3, 1001, ("--batch", 7), {}), (1, 1, (), {}),
             (2, 9000, ("--batch", 4500), {}), (5, 8, (), {}))
    PASSWORD = "it's-{mine}"
    USER_SETTINGS = {"user": "ME", "password": PASSWORD}
    USERS = (("machbase://ME@{place}", PASSWORD, 0, ""),
             ("machbase://ME@{place}", "", 4, "Invalid username/password"),
             ("machbase://ME@{place}", "other", 4, "Invalid username/password"),
             ("machbase://ME@{place}", "a b", 2, "must not be empty or contain a blank"))

    def stored(self):
        """The stand-in keeps times in nanoseconds, and append sends microseconds."""
        for row in self.rows():
            yield {**{name.lower(): value for name, value in row.items()}, "tm": row["TM"] // 1000 * 1000}

    def check_load(self, ended, run):
        self.assertEqual(self.standin.status()["rows_malformed"], 0)
        self.assertRegex(run.json["connection"]["note"], r"append set TCP_NODELAY")
        self.assertNotIn("[INFO]", ended.out + ended.err)

    def test_other_types(self):
        self.stand_in()
        path = self.folder / "own.sql"
        path.write_text("create table own (b ushort, c uinteger, d ulong, e text, f binary,"
                        " g json, h datetime, i varchar(5), j ipv4, k ipv6); ")
        _, run = self.load(2, 400, "--table", "own", "--schema-file", path)
        self.assertEqual(run.rows["acknowledged"], 400)
        rows = self.rows("own")
        self.assertEqual(len(rows), 400)
        for row in rows:
            self.assertGreaterEqual(row["B"], 0)
            self.assertLessEqual(len(row["I"]), 5)
            json.loads(row["G"])
            self.assertEqual(row["K"].count(":") >= 2, True)

    def test_recognised_by_its_port(self):
        """The server is recognised by its handshake, and the library is found by MACHBASE_HOME."""
        (self.folder / "home" / "lib").mkdir(parents=True)
        (self.folder / "home" / "lib" / "libmachbasecli_dll.so").symlink_to(self.OPTIONS[1])
        self.stand_in()
        _, run = self.load_by_port("machbase", env={"MACHBASE_HOME": str(self.folder / "home")})
        self.assertRegex(run.json["connection"]["note"], r"libmachbasecli_dll\.so")

    def test_json_alone_on_standard_output(self):
        self.stand_in()
        ended, _ = self.load(2, 100, "--json")
        self.assertEqual(json.loads(ended.out)["rows"]["acknowledged"], 100)

    def test_queries(self):
        self.stand_in()
        _, run = self.load(2, 400, "--read", "select n2 from syslog_table where n2 = 1")
        self.assertEqual(run.rows["acknowledged"], 400)
        ended = self.append(2, 10, self.url, *self.OPTIONS, "--read",
                            "select nonsense from", "--out", self.out(), code=4)
        self.assertRegex(ended.reason, r"Syntax error")

    def test_long_values_of_a_query(self):
        """Long values arrive whole or are refused; they are never truncated."""
        script = self.folder / "long.lua"
        for length, code in ((255, 0), (256, 0), (257, 0), (32767, 0), (32768, 1)):
            self.stand_in()
            script.write_text(
                f'local v = {{"v", "text({length})", text({length})}}\n'
                'dataset("long", 3, {{"id", "int32", row()}, v})\n'
                'local get = statement("get", "SELECT v FROM long WHERE id = ?", {"int32"})\n'
                f'transaction("t", function() check(#get:one(1) == {length}) end, {{autocommit = true}})\n')
            ended, run = self.run_append(
                1, self.url, *self.OPTIONS, "--workload", script,
                "--transactions", 5, code=code)
            with self.subTest(length):
                self.assertEqual(run.json["transactions"]["committed"], 0 if code else 5)
                self.assertEqual(run.json["transactions"]["checks_failed"], 0)
                if code:
                    self.assertRegex(ended.reason, "a value longer than 32767 bytes")

    def test_a_password_file(self):
        self.stand_in(**self.USER_SETTINGS)
        path = self.folder / "password"
        path.write_text(self.PASSWORD + "\n")
        self.load(1, 10, "--password-file", path, target=f"machbase://ME@{self.place}")

    def test_alternative_servers(self):
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            port = closed.getsockname()[1]
            self.stand_in()
            target = (f"machbase://127.0.0.1:{port}?alternative_servers="
                      f"127.0.0.1:{self.standin.port}&nodelay=0")
            _, run = self.load(2, 100, target=target)
        self.assertEqual(run.rows["acknowledged"], 100)
        self.assertRegex(run.json["connection"]["note"], r"no TCP_NODELAY")

    def test_check(self):
        self.stand_in()
        ended = self.append("check", "50", self.url, *self.OPTIONS, "--json")
        self.assertEqual(json.loads(ended.out)["sessions"], 50)
        self.standin.max_sessions = 20
        ended = self.append("check", "50", self.url, *self.OPTIONS, code=4)
        self.assertRegex(ended.reason, r"MAX_SESSION_COUNT")
        self.assertRegex(ended.out, r"MAX_SESSION_COUNT = (N|50) in")


class Refusals(OnStandin):
    def test_rows(self):
        """A frequent refusal and a single one of another kind: both are reported."""
        self.stand_in("error=row@150:2341:SUMMARIZED value exceeded upper limit.",
                      "error=row@%10:1003:Duplicate primary key.")
        _, run = self.load(4, 4000, code=1)
        status = self.standin.status()
        self.assertGreater(status["rows_refused"], 390)
        self.assertEqual(run.rows["rejected"], status["rows_refused"])
        self.assertEqual(run.rows["acknowledged"], status["rows_kept"])
        self.assertEqual(run.rows["rejected"] + run.rows["acknowledged"], 4000)
        self.assertEqual(run.sessions["finished"], 4)
        codes = {cause["native_code"]: cause for cause in run.causes}
        self.assertIn(1003, codes)
        self.assertRegex(codes[1003]["text"], r"^Duplicate primary key\.; row: .* of 100 rows refused")
        self.assertEqual(codes[1003]["kind"], "data")

    def test_all_rows(self):
        """More refusals than all buffers between client and server can hold."""
        self.stand_in("error=row:1003:Duplicate primary key. " + "x" * 150)
        rows = harness.fewer(60000)
        _, run = self.load(1, rows, "--batch", rows, code=1)
        self.assertEqual((run.rows["rejected"], run.rows["acknowledged"]), (rows, 0))

    def test_no_reason(self):
        self.stand_in("error=row@5:1003:")
        _, run = self.load(1, 10, code=1)
        self.assertEqual((run.rows["rejected"], run.rows["acknowledged"]), (1, 9))
        self.assertRegex(run.causes[0]["text"], r"^refused without a reason; row: .* of 10 rows")

    def test_the_append_itself(self):
        self.stand_in()
        self.load(1, 10)
        self.standin.rules.add("error=open@5:2999:made up")
        _, run = self.load(2, 1000, code=1)
        self.assertEqual((run.rows["not_sent"], run.rows["acknowledged"]), (100, 900))
        self.assertEqual([cause["native_code"] for cause in run.causes], [2999])
        self.standin.rules.clear()
        self.standin.rules.add("error=close@5:2999:made up")
        _, run = self.load(2, 1000, code=1)
        self.assertEqual(run.rows["in_doubt"], 100)
        self.assertEqual(run.sessions["dropped"], 1)

    def test_count(self):
        self.stand_in()
        self.load(1, 10)
        self.standin.rules.add("error=count@4:2999:made up")
        _, run = self.load(2, 1000, code=1)
        self.assertEqual(run.rows["acknowledged"], 1000)
        self.assertIn(2999, [cause["native_code"] for cause in run.causes])

    def test_sessions(self):
        self.stand_in(max_sessions=3)
        self.append(6, 600, self.url, *self.OPTIONS, code=4)
        _, run = self.load(6, 600, "--no-check", code=4)
        self.assertGreaterEqual(run.sessions["refused"], 1)
        self.assertEqual(run.sessions["connected"] + run.sessions["refused"], 6)
        self.check_bounds(run)


class Losses(databases.StandinEnds, OnStandin):
    SLOW, SENT, GONE = "delay=count@40+:20", "close", "Client unable to establish connection"

    def lose(self, rule, *options, code=1):
        """Performs a run on an existing table in which a step fails. Returns the Run."""
        self.stand_in()
        self.append(1, 10, self.url, *self.OPTIONS, "--out", self.out())
        before = self.count()
        self.standin.rules.add(rule)
        _, run = self.load(4, 4000, *options, code=code)
        with self.subTest(rule=rule):
            self.check_bounds(run, before)
        return run

    def test_hang_ups(self):
        for step in ("open", "data", "close", "count", "fetch", "free"):
            for action in ("drop", "reset", "partial"):
                if (action, step) == ("partial", "data"):
                    continue  # there is no reply to cut
                run = self.lose(f"{action}={step}@8")
                self.assertEqual(run.sessions["dropped"], 1, f"{action}={step}")
                self.assertEqual({cause["kind"] for cause in run.causes}, {"connection"})
                self.assertIn(run.rows["in_doubt"], (0, 100))

    def test_hang_ups_before_there_is_a_session(self):
        for step in ("accept", "handshake", "login"):
            for action in ("drop", "reset"):
                run = self.lose(f"{action}={step}@3", code=4)
                self.assertEqual(run.sessions["refused"], 1, f"{action}={step}")

    def test_pieces(self):
        """Replies that arrive byte by byte."""
        for step in ("login", "open", "close", "count"):
            run = self.lose(f"chop={step}@3", code=0)
            self.assertEqual(run.rows["acknowledged"], 4000, step)

    def test_a_greeting_in_pieces(self):
        """The library accepts the greeting only if all pieces have arrived when it reads: both outcomes are right."""
        run = self.lose("chop=handshake@3", code=None)
        self.assertEqual(run.sessions["finished"] + run.sessions["refused"], 4)
        self.assertEqual(run.rows["acknowledged"], 1000 * run.sessions["finished"])

    def test_counts_that_do_not_add_up(self):
        """Exactly the rows that the server does not report are in doubt."""
        run = self.lose("lie=close@3:30")
        self.assertEqual((run.rows["in_doubt"], run.rows["rejected"]), (30, 0))
        self.assertEqual(run.verification["in_doubt_arrived"], 30)
        self.assertIn("the other rows are in doubt",
                      " ".join(cause["text"] for cause in run.causes))

    def test_rows_that_were_never_sent(self):
        """The smallest short means NULL, so append refuses it: such rows of a lost append are not in doubt."""
        path = self.folder / "own.sql"
        path.write_text("create table own (a short)")
        for rule in ("drop=close@2", "lie=close@2:1"):
            self.stand_in(rule)
            _, run = self.load(1, 100, "--batch", 100, "--table", "own", "--schema-file", path, "--values",
                               "a=1|-32768", "--read", "none", code=1)
            self.assertGreater(run.rows["rejected"], 20)
            self.assertEqual(run.rows["in_doubt"], 1 if "lie" in rule else 100 - run.rows["rejected"])

    def test_silence_while_connecting(self):
        for step in ("accept", "handshake", "login"):
            run = self.lose(f"stall={step}@3", "--connect-timeout", 2 * harness.SLOW, code=4)
            self.assertEqual(run.sessions["timed_out"], 1, step)
            self.assertEqual(run.sessions["finished"], 3, step)

    def test_nonsense_while_connecting(self):
        for step in ("handshake", "login"):
            run = self.lose(f"garbage={step}@3", "--connect-timeout", 2 * harness.SLOW, code=4)
            self.assertEqual(run.sessions["finished"], 3, step)

    def test_reconnect(self):
        run = self.lose("drop=close@%9", "--on-drop", "reconnect")
        self.assertEqual(run.sessions["dropped"], 0)
        self.assertEqual(run.rows["acknowledged"] + run.rows["in_doubt"], 4000)
        self.assertGreaterEqual(run.rows["in_doubt"], 100)

    def test_silence_in_an_append(self):
        """Only the user can end such a run, and then it ends soon."""
        self.stand_in("stall=close@9")
        out = self.out()
        process = self.start(4, 4000, self.url, *self.OPTIONS, "--out", out)
        harness.wait_until(lambda: self.standin.status()["faults"] >= 1, "the stand-in to be silent")
        process.send_signal(signal.SIGINT)
        self.end(process, 130)
        run = self.check_run(out, 130)
        self.check_bounds(run)
        self.assertEqual(run.rows["in_doubt"], 100)


if __name__ == "__main__":
    harness.main()
