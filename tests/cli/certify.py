"""append certify: what its tests share.

APPEND_TEST_CERTIFY_FAULTS: number of faults in each run that must find nothing wrong, with a server of
append's own (default 4; half of them are power losses).
"""

import collections
import contextlib
import csv
import hashlib
import itertools
import json
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import sys
import urllib.parse
import xml.etree.ElementTree

import harness

FAULTS = int(os.environ.get("APPEND_TEST_CERTIFY_FAULTS", "4"))
FINDINGS = ("lost", "duplicate", "foreign", "rejected", "torn", "half", "holes", "damage")
# What the seed decides about a fault, before the run.
PLANNED = ("kind", "load_s", "stop_s")
WORD = (1 << 64) - 1
TRANSACTION_ROWS_MAX = 100


def findings(result):
    """Returns the findings of a fault that are not 0. A finding that was not measured is None."""
    return {name: count for name, count in result["found"].items() if count}


class Certificate:
    """The files of a certificate."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.json = json.loads((self.folder / "certificate.json").read_text())
        with open(self.folder / "faults.csv", newline="") as file:
            self.faults = list(csv.DictReader(file, strict=True))

    @property
    def series(self):
        return self.json["certified"]

    @property
    def found(self):
        return findings(self.series)

    @property
    def failures(self):
        return [row["failure"] for row in self.series["results"] if row["failure"]]

    def plan(self, run="certified"):
        return [tuple(row[name] for name in PLANNED) for row in self.faults if row["run"] == run]


class Certifying(harness.Case):
    """Runs append certify with its own folder for temporary files, and checks what append leaves: no process,
    mount, loop device or file."""

    SEED = 7
    UNCHECKED = ""  # why the server does not check its tables

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o711)  # servers run as another user
        self.temp = self.folder / "t"
        self.temp.mkdir()
        self.temp.chmod(0o1777)

    def environment(self, **more):
        return super().environment(**{"TMPDIR": str(self.temp), **more})

    def begin(self, *arguments, sessions=2, **options):
        """Starts a run; returns the process and its folder."""
        out = self.out()
        process = self.start("certify", sessions, *arguments, "--seed", self.SEED, "--out", out, **options)
        return process, out

    def finish(self, process, out, code):
        try:
            ended = self.end(process, code)
        except AssertionError as error:
            log = out / "server.log"
            raise AssertionError(f"{error}\n--- {log.name}\n{log.read_text() if log.exists() else None}") from error
        self.check_nothing_left()
        certificate = Certificate(out)
        self.check_files(certificate, ended)
        return ended, certificate

    def certify(self, *arguments, code, **options):
        """Makes a whole run and checks its files."""
        process, out = self.begin(*arguments, **options)
        return self.finish(process, out, code)

    # What is left

    def processes(self):
        """Returns the pids of processes with this test's folder for temporary files in their command
        line or their working folder."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "cmdline").read_bytes().decode(errors="replace")
                    where = os.readlink(entry / "cwd")
                except OSError:
                    continue  # it has ended, or it is another user's
                if str(self.temp) in words or where.startswith(str(self.temp)):
                    found.append(int(entry.name))
        return found

    def mounts(self):
        """Returns the lines of all mount tables about this test's folder for temporary files."""
        found = set()
        for path in pathlib.Path("/proc").glob("[0-9]*/mountinfo"):
            try:
                lines = path.read_text().splitlines()
            except OSError:
                continue
            found |= {line for line in lines if f" {self.temp}/" in line}
        return found

    def loops(self):
        """Returns the loop devices over files of this test."""
        found = []
        for path in pathlib.Path("/sys/block").glob("loop*/loop/backing_file"):
            try:
                if path.read_text().startswith(str(self.folder)):
                    found.append(path.parts[3])
            except OSError:
                continue  # it was detached meanwhile
        return found

    def check_nothing_runs(self):
        self.assertEqual(self.processes(), [])
        self.assertEqual(self.mounts(), set())
        # the kernel detaches a loop device a moment after the last mount of it has gone
        harness.wait_until(lambda: not self.loops(), f"loop devices {self.loops()} to be free")

    def check_nothing_left(self):
        self.check_nothing_runs()
        self.assertEqual(list(self.temp.iterdir()), [])
        self.assertEqual(list(self.folder.rglob("disk.img")), [])

    # Files

    def check_files(self, certificate, ended):
        self.assertEqual(certificate.json["exit_code"], ended.code)
        self.assertIn(certificate.json["statement"], ended.out)
        self.assertEqual(certificate.json["is_certified"], ended.code == 0)
        self.assertEqual(certificate.json["seed"], str(self.SEED))
        self.assertRegex(certificate.json["command"], rf"^append certify .*--seed {self.SEED}\b")
        rows = iter(certificate.faults)
        for run in ("proof", "certified"):
            series = certificate.json[run]
            if series is not None:
                self.check_series(series, run, [next(rows) for _ in series["results"]],
                                  certificate.json["sessions"])
        self.assertEqual(list(rows), [], "rows of faults.csv that are not in certificate.json")
        hashes = {name: hashlib.sha256((certificate.folder / name).read_bytes()).hexdigest()
                  for name in ("faults.csv", "certificate.json")}
        self.assertEqual(certificate.json["sha256"], {"faults.csv": hashes["faults.csv"]})
        page = (certificate.folder / "certificate.html").read_text()
        for name, value in hashes.items():
            self.assertIn(value, page, name)

    def check_in_doubt(self, results, sessions):
        """Checks that a kill or a network cut leaves at most one transaction of each session in doubt."""
        before = 0
        for result in results:
            new, before = result["rows_in_doubt"] - before, result["rows_in_doubt"]
            self.assertGreaterEqual(new, 0, result)
            if result["kind"] in ("kill", "network"):
                self.assertLessEqual(new, sessions * TRANSACTION_ROWS_MAX, result)

    def check_series(self, series, run, rows, sessions):
        sums, measured = collections.Counter(), set()
        for number, (row, result) in enumerate(zip(rows, series["results"]), 1):
            self.assertEqual((row["run"], row["fault"]), (run, str(number)))
            self.assertEqual({name: int(row[f"found_{name}"] or "-1") for name in FINDINGS},
                             {name: -1 if count is None else count for name, count in result["found"].items()})
            self.assertEqual(result["is_read"] and not (result["failure"] or result["unchecked"]),
                             None not in result["found"].values(), result)
            measured.update(name for name, count in result["found"].items() if count is not None)
            sums.update(findings(result))
            for name in ("kind", "moment", "first_finding", "failure", "unchecked"):
                self.assertEqual(row[name], result[name] or "", name)
            for name in ("rows_acknowledged", "rows_in_doubt", "rows_rejected", "rows_read"):
                self.assertEqual(int(row[name]), result[name], name)
            for name in ("is_read", "is_telling"):
                self.assertEqual(row[name], str(int(result[name])), name)
            for name in ("load_s", "aimed_ms", "stop_s", "at_s", "after_ack_ms", "down_s", "recover_s", "read_s"):
                self.assertEqual(row[name] == "", result[name] is None, name)
                if row[name]:
                    self.assertAlmostEqual(float(row[name]), result[name], 2, name)
        self.check_in_doubt(series["results"], sessions)
        self.assertEqual(series["found"], {name: sums[name] if name in measured else None for name in FINDINGS})
        self.assertEqual(series["faults"]["done"], len(rows))
        self.assertLessEqual(len(rows), series["planned"])
        kinds = collections.Counter(row["kind"] for row in rows)
        self.assertEqual({kind: tally["done"] for kind, tally in series["kinds"].items()}, kinds)
        for name in ("telling", "broken", "failed", "in_flight"):
            self.assertEqual(sum(tally[name] for tally in series["kinds"].values()), series["faults"][name], name)

    def check_clean(self, ended, certificate, faults, unchecked=None):
        """Checks that nothing was found in the faults, such as {"kill": 2}, and that each of them could have
        shown a loss. `unchecked`: why the server did not check its tables, if this is not self.UNCHECKED."""
        unchecked = self.UNCHECKED if unchecked is None else unchecked
        self.assertEqual(certificate.json["verdict"], "clean")
        self.assertEqual(certificate.found, {})
        self.assertEqual(certificate.failures, [])
        self.assertEqual({kind: tally["done"] for kind, tally in certificate.series["kinds"].items()}, faults)
        self.assertEqual(certificate.series["faults"]["telling"], sum(faults.values()))
        self.assertIn("No acknowledged row was lost", ended.out)
        self.assertEqual("not everything was checked" in ended.out, unchecked != "")
        for result in certificate.series["results"]:
            self.assertEqual(result["found"]["damage"], None if unchecked else 0)
            self.assertRegex(result["unchecked"] or "", unchecked or "^$")
            self.assertIn(result["unchecked"] or "", ended.out)
            is_down = result["kind"] in ("kill", "power", "restart")
            self.assertEqual(result["recover_s"] is not None, is_down, result)
            self.assertGreaterEqual(result["rows_read"], result["rows_acknowledged"])
            self.assertLessEqual(result["rows_read"], result["rows_acknowledged"] + result["rows_in_doubt"])

    def check_loses(self, *arguments):
        """Checks that append with these arguments finds lost rows within 5 faults."""
        ended, certificate = self.certify(*arguments, code=1)
        self.assertEqual(certificate.json["verdict"], "broken")
        self.assertGreater(certificate.found["lost"], 0)
        results = certificate.series["results"]
        self.assertEqual([bool(findings(result) or result["failure"]) for result in results],
                         [False] * (len(results) - 1) + [True], "it ends with the first finding")
        self.assertRegex(ended.reason, r"^append: NOT certified: .*acknowledged rows? (was|were) lost")
        return certificate

    def check_repeats(self, certificate, *replaced):
        """Checks that the command in the certificate repeats the faults. `replaced`: pairs of a word of the
        command and the word that replaces it."""
        words = shlex.split(certificate.json["command"])
        self.assertEqual(words[:2], ["append", "certify"])
        out = self.out()
        self.assertNotIn("--out", words, "its folder exists now")
        words += ["--out", str(out)]
        for old, new in replaced:
            words[words.index(old)] = new
        ended = self.end(self.start(*words[1:]), certificate.json["exit_code"])
        again = Certificate(out)
        self.check_files(again, ended)
        self.check_nothing_left()
        self.assertEqual(again.plan(), certificate.plan())

    def check_junit(self, path, certificate):
        suite = xml.etree.ElementTree.parse(path).getroot().find("testsuite")
        suite = xml.etree.ElementTree.parse(path).getroot() if suite is None else suite
        cases = suite.findall("testcase")
        results = certificate.series["results"]
        names = [f"{number} {result['kind']} {result['moment']}" for number, result in enumerate(results, 1)]
        proof = ["proof"] if certificate.json["proof"] else []
        self.assertEqual([case.get("name") for case in cases], [*proof, *names, "certificate"])
        self.assertEqual(suite.get("tests"), str(len(cases)))
        broken = {name for name, result in zip(names, results) if findings(result) or result["failure"]}
        broken |= set() if certificate.json["is_certified"] else {"certificate"}
        broken |= {"proof"} if certificate.json["verdict"] == "unproven" else set()
        self.assertEqual({case.get("name") for case in cases if case.find("failure") is not None}, broken)


class Power(Certifying):
    """Power losses need a file system of the test's own. Where none may be mounted, they are skipped."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        reason = power_is_impossible()
        if reason:
            raise harness.unittest.SkipTest(reason)

    def check_safe(self, *arguments):
        half = FAULTS // 2
        ended, certificate = self.certify(*arguments, "--faults", f"kill:{FAULTS - half},power:{half}", code=0)
        self.check_clean(ended, certificate, {"kill": FAULTS - half, "power": half})
        return certificate


def power_is_impossible():
    """Returns why no disk image can be mounted here; "" if one can be mounted."""
    script = ('set -e; image=$(mktemp); place=$(mktemp -d); trap \'rm -f "$image"; rmdir "$place"\' EXIT; '
              'truncate -s 8M "$image"; mkfs.ext4 -q -F "$image"; mount -o loop "$image" "$place"; umount "$place"')
    result = subprocess.run(["unshare", "--mount", "--propagation", "slave", "sh", "-c", script], stdin=subprocess.DEVNULL,
                            capture_output=True, text=True)
    return "" if result.returncode == 0 else f"no disk image may be mounted here: {result.stderr.strip()}"


# The rows of append certify, computed a second time (src/certify/rows.h).

def mix_word(value):
    value = (value + 0x9E3779B97F4A7C15) & WORD
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & WORD
    value = (value ^ value >> 27) * 0x94D049BB133111EB & WORD
    return value ^ value >> 31


def mix(seed, value):
    return mix_word(seed ^ mix_word(value))


def checksum(seed, session, number, place, size, text, table=0):
    """Returns the checksum of a row, as a signed number."""
    total = mix(mix(mix(seed, table << 32 | session), number), place << 32 | size)
    data = text.encode()
    total = mix(total, len(data))
    for begin in range(0, len(data), 8):
        total = mix(total, int.from_bytes(data[begin:begin + 8], "little"))
    return total - (1 << 64) if total >> 63 else total


def sizes(seed, session, number):
    """Returns the rows that a transaction writes to each of the two tables."""
    drawn = mix(mix(seed, session), number)
    kind, first, second = drawn % 4, drawn >> 8 & 0xffffff, drawn >> 32
    if kind == 3:
        return 1 + first % 10, 1 + second % 10
    return (1, 0) if kind == 0 else (2 + first % 99, 0)


PROXY = """
import contextlib, socket, sys, threading
def copy(source, to):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            to.sendall(data)
    for end in source, to:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    client, server = listening.accept()[0], socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    for ends in (client, server), (server, client):
        threading.Thread(target=copy, args=ends, daemon=True).start()
"""


class Harm:
    """A server of the user's, whose start command damages the tables before it starts the server.

    Subclasses give a private server, its client, and sql_before(statements), the shell commands that
    run statements on the server's data while it accepts no sessions."""

    SERVER = client = None
    PID_COMMAND = None  # prints the pid of the server in {home}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.SERVER(cls)
        cls.program = os.readlink(f"/proc/{cls.pid()}/exe")

    def setUp(self):
        super().setUp()
        try:
            self.sql("select 1")
        except AssertionError:  # an earlier test has left it down
            self.server.stop()
            self.server.restart()

    def sql_before(self, *statements):
        raise NotImplementedError

    def sql(self, *statements):
        return self.client(self.server.superuser_url, *statements)

    def start_command(self, *harms):
        """Returns a command that starts the server, and before its Nth start does the Nth harm, a list
        of shell commands."""
        path = self.folder / "start.sh"
        count = self.folder / "count"
        count.write_text("0\n")
        cases = "".join(f"{number}) {'; '.join(harm)} ;;\n" for number, harm in enumerate(harms, 1))
        # a killed process keeps its pid until its parent has waited for it
        path.write_text(f"""set -e
while [ -e "/proc/$(cat {self.folder}/pid)" ]; do sleep 0.05; done
count=$(($(cat {count}) + 1))
echo "$count" >{count}
case $count in
{cases}esac
{self.server.script} restart {self.server.folder}
{self.PID_COMMAND.format(home=self.server.home)} >{self.folder}/pid
""")
        (self.folder / "pid").write_text(f"{self.pid()}\n")
        return f"/bin/bash {path}"

    def break_it(self, *options, code, faults="kill:1", harms=(), **more):
        return self.certify(self.server.url, "--faults", faults, "--yes", "--recreate", "--server-start",
                            self.start_command(*harms), *options, code=code, **more)

    def batches(self, session):
        """Yields the number and the rows of the batches of a session with more than 10 rows."""
        for number in itertools.count():
            rows = sizes(self.SEED, session, number)[0]
            if rows > 10:
                yield number, rows

    def row(self, session, number, place, size, text, seed=None):
        total = checksum(self.SEED if seed is None else seed, session, number, place, size, text)
        return f"insert into append_certify values ({session}, {number}, {place}, {size}, '{text}', {total})"

    def harms(self):
        """Returns statements that do harm, and what append must find."""
        batches = self.batches(0)
        pair = next(n for n in itertools.count() if sizes(self.SEED, 0, n)[1] > 0)
        where = "where session_number = 0 and transaction_number ="
        doubled, deleted, cut, changed = (next(batches) for _ in range(4))
        return {
            "a batch stored twice": (
                [f"insert into append_certify select * from append_certify {where} {doubled[0]}"],
                {"duplicate": doubled[1]}),
            "a batch deleted": ([f"delete from append_certify {where} {deleted[0]}"],
                                {"lost": deleted[1], "holes": 1}),
            "a part of a batch deleted": ([f"delete from append_certify {where} {cut[0]} and place < 3"],
                                          {"lost": 3, "half": 1}),
            "one table of a transaction deleted": ([f"delete from append_certify_2 {where} {pair}"],
                                                   {"lost": sizes(self.SEED, 0, pair)[1], "half": 1}),
            "a text changed": ([f"update append_certify set content = concat(content, 'x') {where} {changed[0]}"
                                " and place = 5"], {"torn": 1, "lost": 1, "half": 1}),
            "rows that were never sent": ([self.row(0, 500000, 0, 1, "a transaction that does not exist"),
                                           self.row(77, 0, 0, 1, "a session that does not exist")], {"foreign": 2}),
            "a row of another program": (["insert into append_certify values (0, 0, 0, 1000, 'x', 1)"], {"foreign": 1}),
            "a row of another run": ([self.row(0, doubled[0], 0, doubled[1], "of another run", seed=self.SEED + 1)],
                                     {"torn": 1}),
            "nothing": ([], {}),
        }

    def test_each_harm(self):
        """Each harm is found after the kill in which it was done, and only there."""
        harms = self.harms()
        ended, certificate = self.break_it(
            "--keep-going", code=1, faults=f"kill:{len(harms)}",
            harms=[self.sql_before(*statements) if statements else [":"] for statements, _ in harms.values()])
        self.assertEqual(certificate.failures, [], (certificate.folder / "server.log").read_text())
        for (name, (_, found)), result in zip(harms.items(), certificate.series["results"], strict=True):
            with self.subTest(harm=name):
                self.assertEqual(findings(result), found)
                self.assertEqual(result["first_finding"] is None, not found)
        self.check_kept(ended)

    def check_kept(self, ended):
        """Checks that append keeps the tables, so that the user can look at the findings, and says so."""
        self.assertRegex(ended.reason, "^append: NOT certified")
        self.assertIn("the tables append_certify and append_certify_2 are kept; append certify --recreate", ended.err)
        self.assertEqual(self.tables().split(), ["append_certify", "append_certify_2"])

    def test_clean(self):
        faults = {"kill": 1, "stop": 1, "restart": 1, "network": 1}
        junit = self.folder / "junit.xml"
        ended, certificate = self.break_it("--junit", junit, code=0, faults=",".join(
            f"{kind}:{count}" for kind, count in faults.items()))
        self.check_clean(ended, certificate, faults)
        self.check_junit(junit, certificate)
        self.assertEqual(self.tables(), "", "the tables are dropped")
        self.assertNotIn("are kept", ended.err)

    def test_a_server_that_does_not_start(self):
        ended, certificate = self.certify(self.server.url, "--faults", "kill:2", "--yes", "--recreate",
                                          "--server-start", "exit 9", code=1)
        self.assertEqual(len(certificate.faults), 1, "no further fault while the server is down")
        self.assertRegex(certificate.failures[0], r"the server did not start: --server-start failed with exit code 9")
        self.assertIn("did not start again", ended.reason)

    def test_a_table_of_the_user(self):
        """append refuses before it drops any table, even one that it may drop."""
        names = "append_certify", "append_certify_2"
        for name in names:
            self.sql(f"drop table if exists {name}")
            self.client(self.server.url, f"create table {name} (mine int)", f"insert into {name} values (42)")
            self.addCleanup(self.sql, f"drop table {name}")
        for options, refused in ((), 0), (("--recreate",), 0), ((f"--recreate={names[0]}",), 1):
            with self.subTest(options=options):
                ended = self.end(self.begin(self.server.url, "--faults", "stop:1", "--yes", *options)[0], 2)
                self.assertIn(f"append did not make table '{names[refused]}'", ended.reason)
                self.assertEqual([self.sql(f"select mine from {name}") for name in names], ["42", "42"])

    def test_a_proxy(self):
        """The kill ends the proxy, and not the server that answers. That shows at the second kill at the latest,
        because a server that has just started may have been started by append."""
        script, pid = self.folder / "proxy.py", self.folder / "proxy.pid"
        script.write_text(PROXY)
        parts = urllib.parse.urlsplit(self.server.url)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        start = f"echo $$ >{pid}; exec {sys.executable} {script} {port} {parts.port}"
        process = subprocess.Popen(["sh", "-c", start])
        self.addCleanup(process.wait)
        self.addCleanup(lambda: os.kill(int(pid.read_text()), signal.SIGKILL))

        def listens():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                return True

        harness.wait_until(listens, "the proxy to listen")
        url = parts._replace(netloc=f"{parts.username}@127.0.0.1:{port}").geturl()
        ended, certificate = self.certify(url, "--faults", "kill:2", "--yes", "--recreate", "--server-start", start,
                                          code=2)
        self.assertRegex(ended.reason, r"the kill did not end the server that answers \(it was started .* ago\): give")
        self.assertEqual(certificate.json["verdict"], "unfinished")

    def test_without_yes(self):
        before = self.pid(), self.tables()
        self.refused("certify", 2, self.server.url, "--faults", "kill:1", "--server-start", "true", code=2,
                     pattern="add --yes")
        self.assertEqual((self.pid(), self.tables()), before)

    def test_interrupted_while_the_server_is_stopped(self):
        process, out = self.begin(self.server.url, "--faults", "stop:1", "--yes", "--recreate")
        pid = int(self.pid())

        def is_stopped():
            self.assertIsNone(process.poll(), "the server was never stopped")
            return " T " in pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:4]

        harness.wait_until(is_stopped, "the server to be stopped")
        process.send_signal(signal.SIGINT)
        ended, certificate = self.finish(process, out, 130)
        self.assertEqual(certificate.json["verdict"], "unfinished")
        self.assertEqual(self.sql("select 1"), "1", "the server goes on")
