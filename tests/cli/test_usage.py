"""Wrong usage: exit code 2, one line that names the mistake, and no files."""

import os
import shutil
import socket

import harness


class Usage(harness.Case):
    def bad(self, *arguments, pattern):
        with self.subTest(arguments=arguments):
            self.refused(*arguments, code=2, pattern=pattern)

    def test_missing_arguments(self):
        self.bad(pattern=r"SESSIONS|usage|--help")
        self.bad("50", pattern=r"RECORDS")
        self.bad("--quiet", pattern=r"SESSIONS|usage|--help")
        self.bad("50", "100", "null:", "extra", pattern=r"(?i)extra|too many")

    def test_sessions(self):
        for value in ("0", "-1", "abc", "1.5", "", " 5", "5x", "0x10", "99999999999999999999",
                      "2000001", "+5"):
            self.bad(value, "1000", "null:", pattern=r"(?i)sessions|-1")

    def test_records(self):
        for value in ("0", "-1", "abc", "1.5", "", "5x", "99999999999999999999", "2000G"):
            self.bad("1", value, "null:", pattern=r"(?i)records|rows|-1")

    def test_more_sessions_than_rows(self):
        self.bad("100", "99", "null:", pattern=r"100.*99|99.*100")

    def test_options(self):
        self.bad("1", "1", "null:", "--nonsense", pattern=r"--nonsense")
        self.bad("1", "1", "null:", "-z", pattern=r"-z|'z'")
        self.bad("1", "1", "null:", "--batch", pattern=r"--batch")
        self.bad("1", "1", "null:", "--quiet=yes", pattern=r"--quiet")

    def test_option_values(self):
        for option, values in (
            ("--batch", ("0", "-1", "x", "99999999999")),
            ("--read-every", ("0", "x")),
            ("--data", ("random",)),
            ("--seed", ("x", "-1")),
            ("--rate", ("0", "x", "-5")),
            ("--connect-concurrency", ("0", "x")),
            ("--connect-timeout", ("0", "x", "-1s")),
            ("--sample-interval", ("0", "x")),
            ("--server-pid", ("0", "x", "-4")),
            ("--on-drop", ("retry",)),
            ("--stack-size", ("1", "x")),
            ("--table", ("",)),
            ("--values", ("", "a", "a=", "=1", "a=5..1", "a=x|", "a=1,", "a=1,b")),
            ("--skip-columns", ("", "a,", "a=1")),
        ):
            for value in values:
                self.bad("1", "1", "null:", f"{option}={value}", pattern=option)

    def test_columns_given_twice(self):
        self.bad("1", "1", "null:", "--values", "n4=1", "--values", "n5=1", pattern="given twice")

    def test_duration(self):
        for value in ("0", "x", "-1s", ""):
            self.bad("1", "null:", f"--duration={value}", pattern=r"--duration")
        self.bad("1", "100", "null:", "x", "--duration", "1s", pattern=r"(?i)too many")
        self.bad("1", "5432", "--duration", "1s", pattern=r"localhost:5432")

    def test_a_word_is_missing(self):
        """The message names the missing argument, not the one in its place."""
        for words in (["4", "postgresql://a@127.0.0.1:1/b"], ["4", "127.0.0.1:25432"], ["4", "null:"],
                      ["10", "null:", "100k"]):
            self.bad(*words, pattern="RECORDS or --duration is missing: use append SESSIONS RECORDS")
        for words in (["-5", "100", "null:"], ["4", "-5", "null:"]):
            self.bad(*words, pattern="'-5' is not a count: SESSIONS and RECORDS are whole numbers from 1")
        for words in (["null:", "--duration", "1s"], ["check", "localhost:5"], ["null:", "4", "100"]):
            self.bad(*words, pattern="SESSIONS is missing before the target")

    def test_a_port_out_of_range(self):
        for port in ("0", "65536", "99999", "http"):
            self.bad("1", "1", f"postgresql://a@127.0.0.1:{port}/b",
                     pattern=f"'postgresql://a@127.0.0.1:{port}/b': the port is not a number from 1 to 65535: write")

    def test_a_number_that_is_a_port(self):
        """A server listens on the number's port: the message asks whether the number is a port or RECORDS."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            self.bad("2", port, "--duration", "1s", pattern=f"{port} may be RECORDS or a port, because a server "
                     f"listens on this port: write localhost:{port}")

    def test_workloads(self):
        script = self.folder / "mine.lua"
        wrong = [(["--set", "a=1"], r"--set needs --workload"),
                 (["--workload", "otlp"], r"'otlp'.*mean oltp.*tpcb, tpcc, ycsb"),
                 (["--workload", "."], r"'\.'"),
                 (["--workload", "./"], r"'\./' is a folder: name a Lua file"),
                 (["--workload", "/dev/null"], r"'/dev/null' is not a regular file: name a Lua file"),
                 (["--workload", "./none.lua"], r"none\.lua.*No such file"),
                 (["--workload", "oltp", "--set", "tabels=2"], r"no parameter 'tabels'.*mean tables"),
                 (["--workload", "oltp", "--set", "tables"], r"NAME=VALUE"),
                 (["--workload", "oltp", "--set", "tables=many"], r"'tables' must be a whole number"),
                 (["--workload", "oltp", "--set", "tables=0"], r"'tables' must be at least 1"),
                 (["--workload", "oltp", "--set", "skip_trx=yes"], r"'skip_trx' must be true or false"),
                 (["--workload", "ycsb", "--set", "theta=x"], r"'theta' must be a number"),
                 (["--workload", "oltp", "--read", "none"], r"--read does not apply"),
                 (["--workload", "oltp", "--values", "n4=1..2"], r"--values does not apply"),
                 (["--workload", "oltp", "--schema-file", "x.sql"], r"--schema-file does not apply"),
                 (["--workload", "oltp", "--table", "x"], r"--table does not apply"),
                 (["--workload", "mass-insert", "--batch", "7"], r"--set batch=VALUE"),
                 (["--workload", "oltp", "--late", "1s"], r"--late.*needs --rate"),
                 (["--workload", "oltp", "--max-failed", "101%"], r"--max-failed")]
        for words, pattern in wrong:
            self.bad("2", "null:", "--duration", "1s", *words, pattern=pattern)
            if "--set" in words:
                self.bad("check", "2", *words, pattern=pattern)
                self.bad("prepare", "2", "null:", *words, pattern=rf"{pattern}|--workload NAME")
        for text in ("local x = = 1", "os.execute('true')", "nothing()", "param('a')"):
            script.write_text("\n" + text)
            self.bad("2", "null:", "--duration", "1s", "--workload", script,
                     pattern=r"mine\.lua:2: ")
        self.bad("2", "null:", "--workload", "oltp", pattern=r"--duration T or --transactions N")
        self.bad("2", "3306", "--workload", "oltp", pattern=r"3306 may be a port or RECORDS")
        self.bad("2", "4", "null:", "x", "--workload", "oltp", pattern=r"too many operands")
        self.bad("prepare", "2", "--workload", "oltp", pattern=r"TARGET is missing")
        self.bad("prepare", "2", "sqlite:x.db", pattern=r"--workload")
        self.bad("cleanup", "--workload", "oltp", pattern=r"TARGET is missing")
        self.bad("cleanup", "sqlite:x.db", pattern=r"--workload")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["mine.lua"])

    def test_misspelt_words_are_guessed(self):
        self.bad("chekc", "10", pattern=r"'check'")
        self.bad("sweeep", "--sessions", "1,2", pattern=r"'sweep'")
        self.bad("help", "fnid-max", pattern=r"'find-max'")
        self.bad("1", "1", "null:", "--durtion", "5", pattern=r"--duration\b")
        self.bad("check", "1", "--batch", "5", pattern=r"--batch.*append help check")

    def test_letters(self):
        for letter, pattern in (("-c", "sessions"), ("-T", "duration"), ("-P", "progress")):
            self.bad("1", "1", "null:", letter, "x", pattern=pattern)
        self.bad("1", "1", "null:", "-p", "0", pattern=r"--port")
        self.bad("1", "1", "null:", "-U", pattern=r"-U needs")
        self.bad("1", "1", "null:", "-h", "here", pattern=r"--host")
        self.bad("1", "1", "-p", "5", "--adapter", "null", pattern=r"port")

    def test_places_that_contradict(self):
        self.bad("1", "1", "localhost:80", "--port", "81", pattern=r"--port.*localhost:80")
        self.bad("1", "1", "localhost:80", "--host", "db", pattern=r"--host.*localhost:80")
        self.bad("1", "1", "localhost:70000", pattern=r"70000")

    def test_passwords_are_not_printed(self):
        secret = "S3cr"
        for target in (f"host=127.0.0.1 password={secret}", f"DSN=x;PWD={secret}",
                       f"me:{secret}@host:5432",
                       f"postgresql://host=h password={secret}", f"mariadb:PWD={secret}",
                       f"/?password={secret}"):
            for words in (["1", "1", target], ["1", target], [target], ["1", target, "1"],
                          ["check", "1", target], ["check", target], ["find-max", target],
                          ["sweep", "--sessions", "1", "--records", "1", target],
                          ["report", target], ["compare", target, target],
                          ["1", "1", "null:", "--password", secret], ["1", f"--password={secret}"],
                          ["1", "1", "null:", "--passwor", secret], ["1", f"--passwd={secret}"],
                          ["1", "1", "null:", f"-p{secret}"], ["1", f"--unknown={secret}"]):
                with self.subTest(words=words):
                    ended = self.append(*words, code=2)
                    self.assertNotIn(secret, ended.out + ended.err)

    def test_adapters_and_methods(self):
        self.bad("1", "1", "null:", "--adapter", "oracle9", pattern=r"oracle9")
        self.bad("1", "1", "oracle9://host/db", pattern=r"oracle9")
        self.bad("1", "1", "sqlite:x.db", "--method", "teleport", pattern=r"teleport")
        self.bad("1", "1", "what is this", pattern=r"what is this")
        self.bad("1", "1", "70000", pattern=r"70000")
        self.bad("1", "1", "0", pattern=r"\b0\b")
        self.bad("1", "1", "postgresql://h:99999/x", pattern=r"99999|port")

    def test_the_out_folder_exists(self):
        (self.folder / "there").mkdir()
        self.bad("1", "1", "null:", "--out", "there", pattern=r"there")

    def test_the_out_folder_cannot_be_made(self):
        (self.folder / "file").write_text("")
        self.bad("1", "1", "null:", "--out", "file/run", pattern=r"file")
        self.bad("1", "1", "null:", "--out", "/proc/run", pattern=r"/proc/run")

    def test_files_that_cannot_be_read(self):
        self.bad("1", "1", "null:", "--password-file", "nowhere", pattern=r"nowhere")
        self.bad("1", "1", "sqlite:x.db", "--schema-file", "nowhere", pattern=r"nowhere")
        (self.folder / "folder").mkdir()
        self.bad("1", "1", "null:", "--password-file", "folder", pattern=r"folder: Is a directory")
        self.bad("1", "1", "sqlite:x.db", "--schema-file", "folder", pattern=r"folder")
        os.mkfifo(self.folder / "pipe")
        self.bad("1", "1", "sqlite:x.db", "--schema-file", "pipe",
                 pattern="--schema-file pipe: this is not a regular file")


class Unreachable(harness.Case):
    """No server listens on the port."""

    def free_port(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return probe.getsockname()[1]

    def test_nobody_listens(self):
        port = self.free_port()
        self.refused("2", "10", port, code=4, pattern=rf"{port}")

    def test_a_place_is_a_target(self):
        port = self.free_port()
        for place in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
            self.refused("2", "10", place, code=4, pattern=rf"{port}")
            ended = self.append("2", "10", place, "--adapter", "postgresql", "--plan")
            self.assertIn(f"target: postgresql://{place}\n", ended.out)
            self.refused("2", place, "--duration", "1", code=4, pattern=rf"{port}")
        self.refused("2", "10", "no-such-host.invalid:1", code=4, pattern=r"no-such-host\.invalid")
        self.refused("2", "10", f"sqlite.invalid:{port}", code=4, pattern=r"sqlite\.invalid")
        self.refused("-c", "2", "10", "-h", "127.0.0.1", "-p", port, code=4, pattern=rf"{port}")
        self.append("check", "2", f"localhost:{port}", code=4)
        self.append("check", "2", "--port", port, code=4)

    def test_somebody_else_listens(self):
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen(8)
            port = server.getsockname()[1]
            self.refused("2", "10", port, "--connect-timeout", "1", code=4, pattern=rf"{port}")

    def test_schemes_need_their_adapter(self):
        if "postgresql" not in self.append("--version").out:
            self.skipTest("no adapter for a server in this build")
        self.refused("2", "10", f"postgresql://u@127.0.0.1:{self.free_port()}/x", code=4,
                     pattern=r"(?i)refused|unreachable|nobody")
        self.refused("2", "10", "postgresql://u@no-such-host.invalid/x", code=4,
                     pattern=r"no-such-host\.invalid")


class Unwritable(harness.Case):
    def test_a_folder_of_somebody_else(self):
        closed = self.folder / "closed"
        closed.mkdir(mode=0o555)
        if os.geteuid() != 0:
            self.refused("1", "1", "null:", "--out", closed / "run", code=2, pattern=r"closed")
            return
        # Root may write anywhere: run a copy of the program as the user nobody, in a folder that this user can reach.
        os.chmod(self.folder, 0o755)
        copy = shutil.copy(harness.BINARY, self.folder / "append")
        self.refused("1", "1", "null:", "--out", closed / "run", code=2, pattern=r"closed",
                     program=copy, user=65534, group=65534, extra_groups=[])


if __name__ == "__main__":
    harness.main()
