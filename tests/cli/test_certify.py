"""append certify refuses what makes no sense in one line, and touches nothing."""

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
    "server: unknown": (("2", "--server", "oracle"), "--server 'oracle'.*postgresql, mariadb and sqlite"),
    "server: none": (("2", "--server", ""), "--server"),
    "server and a target": ((*SQLITE, TARGET), "--server makes a server"),
    "server and a port": ((*SQLITE, "--port", "5432"), "--server makes a server"),
    "server-start of append's own": ((*SQLITE, *START), "--server-start is for your own server"),
    "server-pid of append's own": ((*SQLITE, "--server-pid", "1"), "--server-pid is for your own server"),
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
    "stop of SQLite": ((*SQLITE, "--faults", "stop:1"), "--faults may have only kill and power"),
    "faults: empty": ((*SQLITE, "--faults", ""), "--faults '' is not allowed to be empty"),
    "faults: an empty item": ((*SQLITE, "--faults", "kill:1,"), "--faults: an item is empty"),
    "faults: no number": ((*SQLITE, "--faults", "kill"), "the number of 'kill' is missing"),
    "faults: 0": ((*SQLITE, "--faults", "kill:0"), "'0' is not a number of faults"),
    "faults: less than 0": ((*SQLITE, "--faults", "kill:-1"), "'-1' is not a number of faults"),
    "faults: a word": ((*SQLITE, "--faults", "kill:x"), "'x' is not a number of faults"),
    "faults: too many": ((*SQLITE, "--faults", "kill:100000,power:1"), "too many|at most"),
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


class BadInput(certify.Certifying):
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
        ended = self.append("certify", *SQLITE, "--faults", "kill:1", "--out", self.out(), "--junit",
                            self.folder / "no-folder/junit.xml", code=None)
        self.assertIn(ended.code, (2, 3))
        self.assertIn("junit", ended.reason)
        self.check_nothing_left()


if __name__ == "__main__":
    harness.main()
