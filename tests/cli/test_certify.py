"""append certify refuses what makes no sense in one line, and touches nothing."""

import shlex
import subprocess
import sys
import xml.etree.ElementTree

import certify
import harness

YES = "--yes"
START = ("--server-start", "true")
TARGET = "postgresql://append@127.0.0.1:1/append"  # no server is there
SQLITE = ("2", "--server", "sqlite")

REFUSED = {
    "no sessions": ((), "SESSIONS"),
    "no server": (("2",), "which server"),
    "sessions: 0": (("0", "--server", "sqlite"), "SESSIONS|sessions"),
    "sessions: a word": (("many", "--server", "sqlite"), "many"),
    "sessions twice": ((*SQLITE, "--sessions", "x"), "--sessions"),
    "server: unknown": (("2", "--server", "oracle"), "--server 'oracle'.*postgresql, mariadb or sqlite"),
    "server: none": (("2", "--server", ""), "--server"),
    "server and a target": ((*SQLITE, TARGET), "--server makes a server"),
    "server and a port": ((*SQLITE, "--port", "5432"), "--server makes a server"),
    "server-start of append's own": ((*SQLITE, *START), "--server-start is for your own server"),
    "server-pid of append's own": ((*SQLITE, "--server-pid", "1"), "--server-pid is for your own server"),
    "file-system without power": ((*SQLITE, "--faults", "kill:1", "--file-system", "xfs"),
                                  "--file-system has no effect without power in --faults"),
    "file-system of the user's": (("2", TARGET, "--faults", "stop:1", YES, "--file-system", "xfs"),
                                  "--file-system needs a server of append's own"),
    "server-start that is never used": (("2", TARGET, "--faults", "stop:1,network:1", YES, *START),
                                        "--server-start has no effect without kill, power or restart in --faults"),
    "data-directory without power": (("2", TARGET, "--faults", "kill:1", YES, *START, "--data-directory", "/x"),
                                     "--data-directory has no effect without power in --faults"),
    "server-pid: a word": (("2", TARGET, "--server-pid", "x"), "--server-pid"),
    "server-option of the user's": (("2", TARGET, "--faults", "stop:1", YES, "--server-option", "a=b"),
                                    "--server-option needs a server of append's own"),
    "setting without a value": ((*SQLITE, "--faults", "kill:1", "--server-option", "fsync"),
                                "'fsync' is not NAME=VALUE"),
    "setting without a name": ((*SQLITE, "--faults", "kill:1", "--server-option", "=off"), "'=off' is not NAME=VALUE"),
    "second of two settings": ((*SQLITE, "--faults", "kill:1", "--server-option", "a=1  b c=2"),
                               "'b' is not NAME=VALUE"),
    "prove with the user's": (("2", TARGET, "--faults", "stop:1", YES, "--prove"), "--prove needs a server"),
    "prove without an unsafe setting": ((*SQLITE, "--prove", "--faults", "kill:1"),
                                        "--prove needs faults that can lose rows: add power to"),
    "prove with stops": (("2", "--server", "postgresql", "--prove", "--faults", "stop:1"), "add power or kill"),
    "prove with too many settings": ((*SQLITE, "--prove", "--faults", "power:1",
                                      *("--server-option", "cache_size=1") * 64), "at most 63"),
    "power without a start": (("2", TARGET, "--faults", "power:1", YES), "--server-start COMMAND"),
    "kill without a start": (("2", TARGET, "--faults", "kill:1", YES), "--server-start COMMAND"),
    "restart without a start": (("2", TARGET, "--faults", "restart:1", YES), "--server-start COMMAND"),
    "without yes": (("2", TARGET, "--faults", "stop:1"), "add --yes"),
    "stop of SQLite": ((*SQLITE, "--faults", "stop:1"), "use only kill and power in --faults"),
    "faults: empty": ((*SQLITE, "--faults", ""), "--faults '' is not allowed to be empty"),
    "faults: an empty item": ((*SQLITE, "--faults", "kill:1,"), "--faults: an item is empty"),
    "faults: no number": ((*SQLITE, "--faults", "kill"), "the number of 'kill' is missing"),
    "faults: 0": ((*SQLITE, "--faults", "kill:0"), "'0' is not a number of faults"),
    "faults: less than 0": ((*SQLITE, "--faults", "kill:-1"), "'-1' is not a number of faults"),
    "faults: a word": ((*SQLITE, "--faults", "kill:x"), "'x' is not a number of faults"),
    "faults: too many": ((*SQLITE, "--faults", "kill:60000,power:1"), "60,001 faults are too many: at most 60,000"),
    "faults: far too many": ((*SQLITE, "--faults", "kill:99999999999999999999"), "not a number of faults"),
    "faults: unknown": ((*SQLITE, "--faults", "kil:1"), "did you mean 'kill'"),
    "faults: twice": ((*SQLITE, "--faults", "kill:1,kill:2"), "'kill' is given twice"),
    "file-system": ((*SQLITE, "--file-system", "btrfs"), "--file-system"),
    "seed": ((*SQLITE, "--seed", "x"), "--seed"),
    "connect-timeout": ((*SQLITE, "--connect-timeout", "soon"), "--connect-timeout"),
    "engine of SQLite": ((*SQLITE, "--engine", "InnoDB"), "--engine"),
    "an option of a run": ((*SQLITE, "--batch", "10"), "--batch"),
    "an unknown option": ((*SQLITE, "--power", "3"), "--power"),
    "another host": (("2", "postgresql://append@192.0.2.1/append", "--faults", "stop:1", YES), "not on 192.0.2.1"),
    "SQLite as the user's": (("2", "sqlite:x.db", "--faults", "stop:1", YES), "for SQLite use --server sqlite"),
    "null": (("2", "null:", "--faults", "stop:1", YES), "needs a server with processes of its own"),
}


# Options that describe the user's server, and do not apply to a server that append makes.
OF_TARGET = ("adapter", "host", "user", "password-file", "database", "client-lib", "server-pid", "data-directory")


class BadInput(certify.Certifying):
    def test_options_of_a_target(self):
        """An option file is refused like the command line."""
        file, password = self.folder / "options", self.folder / "password"
        password.write_text("x")
        for name in OF_TARGET:
            value = "1" if name == "server-pid" else str(password)
            file.write_text(f"{name} = {value}\n")
            for words in (f"--{name}", value), ("--options", file):
                with self.subTest(words=words):
                    self.refused("certify", "2", "--server", "postgresql", "--faults", "kill:1", *words, code=2,
                                 pattern=f"^append: --{name} is for your own server, but --server makes a new server: leave out one of the two options$")

    def test_refused(self):
        for name, (arguments, pattern) in REFUSED.items():
            with self.subTest(name=name):
                out = self.out()
                self.refused("certify", *arguments, "--out", out, code=2, pattern=pattern)
                self.assertEqual(list(self.temp.iterdir()), [])

    def test_folder_that_exists(self):
        out = self.out()
        out.mkdir()
        self.refused("certify", *SQLITE, "--faults", "kill:1", "--out", out, code=2, pattern="exists already")
        self.check_nothing_left()

    def test_junit_that_cannot_be_written(self):
        self.refused("certify", *SQLITE, "--faults", "kill:1", "--out", self.out(), "--junit",
                     self.folder / "no-folder/junit.xml", code=2,
                     pattern="--junit '.*no-folder/junit.xml' cannot be written: No such file")
        self.check_nothing_left()

    def test_junit_of_an_earlier_run(self):
        """A refusal takes its place, so that it is not mistaken for the file of this run."""
        exists = self.out()
        exists.mkdir()
        for options, reason in (("--faults", "kil:1"), "unknown fault"), (("--out", exists), "exists already"):
            with self.subTest(reason=reason):
                junit = self.folder / "junit.xml"
                junit.write_text("of an earlier run")
                self.refused("certify", *SQLITE, *options, "--junit", junit, code=2, pattern=reason)
                suite = xml.etree.ElementTree.parse(junit).getroot().find("testsuite")
                self.assertRegex(suite.get("name"), r"^append certify \w+ 2 sessions$")
                error, = suite.findall("testcase/error")
                self.assertEqual(error.get("type"), "exit-code-2")
                self.assertIn(reason, error.get("message"))


class WithoutMarks(certify.Certifying):
    def test_it_is_refused(self):
        """Without a mark append could not tell its own tables from tables of the user later."""
        server = subprocess.Popen([sys.executable, harness.ROOT / "tests/standin/singlestore_standin.py"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.communicate)
        url = f"singlestore+http://root@127.0.0.1:{int(server.stdout.readline())}/db"
        ended, _ = self.certify(url, "--faults", "network:1", YES, code=2)
        self.assertIn("append certify cannot create its tables in singlestore", ended.reason)


class Unwritable(certify.Certifying):
    """An output that cannot be written has one line, and does not hide a verdict."""

    def certify_to_full(self, *arguments):
        """Returns the exit code and the lines of append, whose standard output is a full disk."""
        process = self.start("-c", '"$@" >/dev/full', "sh", harness.BINARY, "certify", *arguments, "--out", self.out(),
                             "--quiet", program="sh")
        _, err = process.communicate(timeout=harness.GUARD_S)
        self.check_nothing_left()
        return process.returncode, err.splitlines()

    def test_clean(self):
        self.assertEqual(self.certify_to_full(*SQLITE, "--faults", "kill:1"),
                         (3, ["append: standard output cannot be written: No space left on device"]))

    def test_a_verdict(self):
        for junit, more in ((), ""), (("--junit", "/dev/full"),
                                      r" \(--junit '/dev/full' cannot be written: No space left on device\)"):
            with self.subTest(junit=junit):
                code, lines = self.certify_to_full(*SQLITE, "--faults", "kill:1", "--server-option",
                                                   "query_only=1", *junit)
                self.assertEqual(code, 4)
                self.assertEqual(len(lines), 1, lines)
                self.assertRegex(lines[0], rf"^append: .*readonly database{more}$")


class Command(certify.Certifying):
    def test_command(self):
        """The certificate has the whole command, however long it is, except --out, however it is written."""
        settings = "query_only=1" + " cache_size=1000" * 200
        words = ["--server", "sqlite", "--faults", "kill:1", "--server-option", settings, "--seed", "7", "2"]
        for form in ("--out", "{}"), ("--out={}",), ("--ou", "{}"), ("--ou={}",):
            with self.subTest(form=form):
                out = self.out()
                self.append("certify", *words[:2], *(part.format(out) for part in form), *words[2:], code=4)
                certificate = certify.Certificate(out)
                self.assertEqual(shlex.split(certificate.json["command"]), ["append", "certify", *words])
                self.assertEqual(certificate.series["options"], settings)


if __name__ == "__main__":
    harness.main()
