"""The parts that a CI job uses: the smoke script, the example, and the files for other programs."""

import json
import pathlib
import re
import signal
import subprocess
import time
import xml.etree.ElementTree

import harness

SCRIPT = harness.ROOT / "scripts/ci-smoke.sh"


def handles_interrupts(pid):
    caught = re.search(r"(?m)^SigCgt:\s*(\w+)", pathlib.Path(f"/proc/{pid}/status").read_text())
    return bool(int(caught[1], 16) & 1 << signal.SIGINT - 1)


class Smoke(harness.Postgresql):
    def start_smoke(self, *words, **settings):
        env = self.environment(**{"APPEND": harness.BINARY, "OUT": str(self.folder / "smoke"),
                                  "SESSIONS": "4", "RECORDS": "1000", **settings})
        process = subprocess.Popen([SCRIPT, *map(str, words)], cwd=self.folder, env=env, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(self.reap, process)
        return process

    def smoke(self, *words, code, **settings):
        process = self.start_smoke(*words, **settings)
        out, err = process.communicate(timeout=harness.GUARD_S)
        self.assertEqual(process.returncode, code, out + err)
        return out, err

    def check_refused(self, code, out, err, pattern):
        """A run that did not begin: the reason is also in the JUnit file, and no other file is made."""
        self.assertRegex(err, pattern)
        error = xml.etree.ElementTree.parse(self.folder / "smoke/junit.xml").find(".//error")
        self.assertEqual(error.get("type"), f"exit-code-{code}")
        self.assertRegex(error.get("message"), pattern)
        self.assertFalse((self.folder / "smoke/run").exists())

    def check_kept(self, code):
        kept = self.folder / "smoke"
        run = self.check_run(kept / "run", code)
        self.assertIn("Throughput", (kept / "run.txt").read_text())
        suite = xml.etree.ElementTree.parse(kept / "junit.xml").getroot()
        return run, suite

    def test_all_is_well(self):
        out, _ = self.smoke(self.url, "--read", "none", "--batch=50", "--no-check", code=0)
        self.assertIn("Throughput", out)
        run, suite = self.check_kept(0)
        self.assertEqual(run.json["plan"]["batch_rows"], 50)
        self.assertEqual(len(list(suite.iter("failure"))), 0)
        _, err = self.smoke(self.url, code=2)
        self.assertIn("exists already", err)

    def test_rows_of_an_earlier_run(self):
        _, err = self.smoke(self.url, code=0)
        self.assertNotIn("rows before the run", err)
        out, err = self.smoke(self.url, code=0, OUT=str(self.folder / "again"))
        note = "the table had 1,000 rows before the run, and reads cost more in a larger table: --recreate"
        self.assertIn(f"NOTE: {note}", err)
        self.assertIn(note, " ".join(out.split()))

    def test_a_bound_is_missed(self):
        self.smoke(self.url, code=5, EXPECT="throughput>=100G")
        _, suite = self.check_kept(5)
        self.assertEqual(len(list(suite.iter("failure"))), 1)

    def test_a_server_that_comes_later(self):
        server = harness.PrivateServer(self)
        server.stop()
        process = self.start_smoke(server.url)
        time.sleep(2)
        self.assertIsNone(process.poll(), "it ended before the server was up")
        server.restart()
        out, err = process.communicate(timeout=harness.GUARD_S)
        self.assertEqual(process.returncode, 0, out + err)
        self.check_kept(0)

    def test_a_server_that_never_comes(self):
        ended = self.smoke("postgresql://append@127.0.0.1:1/append", code=4, WAIT="2")
        self.check_refused(4, *ended, r"not ready within 2.00 s \(--wait\): .*Connection refused")

    def test_a_port_on_which_nobody_ever_listens(self):
        self.check_refused(4, *self.smoke("1", code=4, WAIT="2"),
                           r"not ready within 2.00 s \(--wait\): nothing listens on 127.0.0.1:1")

    def test_what_waiting_cannot_help(self):
        """With --wait of a day, only an early answer ends the run within the test's time limit."""
        server = harness.PrivateServer(self, max_connections=8)
        self.check_refused(4, *self.smoke(server.url, code=4, WAIT="24h", SESSIONS="50"),
                           "max_connections")
        url = self.PASSWORD_URL.replace("append_pw@", "append_pw:wrong@")
        self.check_refused(4, *self.smoke(url, code=4, WAIT="24h"), "password")
        url = self.url.rsplit("/", 1)[0] + "/no_such_database"
        self.check_refused(4, *self.smoke(url, code=4, WAIT="24h"), "no_such_database")

    def test_a_server_that_is_full(self):
        """--wait also waits until other clients release their connections."""
        server = harness.PrivateServer(self, max_connections=8)
        other = self.start("4", server.url, "--duration", "1h", "--rate", "4", "--out", self.out())
        out = self.folder / "run-1"
        self.wait_for_rows(other, out)
        process = self.start_smoke(server.url, WAIT="1h")
        time.sleep(3)  # longer than the wait without the option
        self.assertIsNone(process.poll(), "it ended before a connection was free")
        other.send_signal(signal.SIGINT)
        self.end(other, 130)
        out, err = process.communicate(timeout=harness.GUARD_S)
        self.assertEqual(process.returncode, 0, out + err)
        self.check_kept(0)

    def test_interrupted_while_it_waits(self):
        for target in ("1", "postgresql://append@127.0.0.1:1/append"):
            process = self.start("2", "100", target, "--wait", "1h")
            harness.wait_until(lambda pid=process.pid: handles_interrupts(pid), "the handler of SIGINT")
            process.send_signal(signal.SIGINT)
            self.assertIn("interrupted before the first session", self.end(process, 130).reason)

    def test_usage(self):
        for words, settings in (((), {}), (("--read", "none"), {}), ((self.url,), {"WAIT": "soon"}),
                                (("nothing://x",), {}), ((self.url, "--nothing"), {})):
            with self.subTest(words=words, settings=settings):
                ended = self.smoke(*words, code=2, **settings)
                self.check_refused(2, *ended, ".")
        ended = self.smoke(self.url, code=2, WAIT="1", APPEND="/no/append<&>")
        self.check_refused(2, *ended, "APPEND '/no/append<&>' is not a program")

    def test_an_append_that_dies(self):
        """A killed run leaves a JUnit file without its end."""
        program = self.folder / "dies"
        program.write_text("#!/bin/sh\nkill -9 $$\n")
        program.chmod(0o755)
        self.smoke(self.url, code=137, APPEND=str(program))
        suite = xml.etree.ElementTree.parse(self.folder / "smoke/junit.xml").getroot()
        self.assertEqual(suite.find(".//error").get("type"), "exit-code-137")


class Read(harness.Case):
    """Files that other programs read during a run or after it."""

    def test_intervals_stream(self):
        """tail -f: every second another whole line."""
        out = self.out()
        process = self.start("2", "null:", "--duration", "6", "--rate", "1000", "--out", out)
        path = out / "intervals.csv"
        harness.wait_until(path.is_file, "intervals.csv")
        seen = []
        while process.poll() is None:
            text = path.read_bytes()
            if text:
                self.assertTrue(text.endswith(b"\r\n"), text[-80:])
                seen.append(text.count(b"\n"))
            time.sleep(0.1)
        self.assertGreaterEqual(len(set(seen)), 4, seen)
        self.end(process, 0)
        self.assertEqual(seen, sorted(seen))
        self.assertTrue((path.read_bytes()).startswith(text))

    def test_hgrm_as_the_plotter_reads_it(self):
        """HdrHistogram's plotFiles.html reads lines of four numbers that do not begin with #."""
        _, run = self.run_append("4", "20000", "null:")
        for name in ("append", "connect", "read"):
            points = []
            for line in (run.folder / f"{name}.hgrm").read_text().split("\n"):
                values = re.split(" +", line.strip())
                if not line.strip().startswith("#") and len(values) == 4:
                    try:
                        points.append((float(values[3]), float(values[0])))
                    except ValueError:
                        pass
            self.assertGreaterEqual(len(points), 2, name)
            self.assertEqual(points, sorted(points), name)
            self.assertEqual(points[0][0], 1.0)
            latency = run.json["latencies"][name]
            self.assertLessEqual(points[-1][1], latency["max_ms"] + 1e-6)

    def test_json_on_standard_output(self):
        """Every command with --json writes one object and nothing else, and has the option in its --help."""
        commands = {"": ("2", "100", "null:", "--out", self.out()),
                    "check": ("2",),
                    "find-max": ("null:", "--first", "2", "--max-sessions", "4", "--hold", "0.2",
                                 "--out", self.out()),
                    "sweep": ("null:", "--sessions", "1,2", "--records", "100", "--out", self.out())}
        finished = self.folder / "run-1"
        commands["compare"] = (finished, finished)
        commands["report"] = (finished,)
        has_json = set()
        names = re.findall(r"(?m)^ +append ([a-z][\w-]*)", self.append("--help").out)
        for name in ("", *names):
            words = (name,) if name else ()
            if "--json" in self.append(*words, "--help").out:
                has_json.add(name)
                ended = self.append(*words, *commands[name], "--json")
                self.assertIsInstance(json.loads(ended.out), dict, name)
        self.assertLessEqual({"", "check", "find-max", "report", "compare", "sweep"}, has_json)

    def test_json_of_what_cannot_begin(self):
        """A failure is also an object, with the text of the line on standard error."""
        gone = "postgresql://append@127.0.0.1:1/append"
        for code, kind, words in (
                (4, "unreachable", ("2", "100", gone)), (4, "unreachable", ("2", "100", "1")),
                (2, "usage", ("2", "100", "nothing://x")), (2, "usage", ("2", "100", "--nothing")),
                (2, "usage", ("2", "1", "null:")), (2, "usage", ("2", "100", "null:", "--junit", "/")),
                (4, "unreachable", ("check", "2", "1")), (2, "usage", ("check", "x")),
                (4, "unreachable", ("find-max", gone)), (2, "usage", ("find-max", "nothing://x")),
                (4, "unreachable", ("sweep", gone, "--sessions", "1", "--records", "10")),
                (2, None, ("compare", "/nowhere", "/nowhere")), (2, None, ("report", "/nowhere"))):
            with self.subTest(words=words):
                ended = self.append(*words, "--json", code=code)
                outcome = json.loads(ended.out)["outcome"]
                self.assertEqual("append: " + outcome["exit_reason"], ended.reason)
                self.assertEqual((outcome["exit_code"], outcome["stop_reason"], outcome["verdict"]),
                                 (code, "not_begun", None))
                if kind is not None:
                    self.assertEqual(outcome["error_kind"], kind)


class Compose(harness.Case):
    def test_services(self):
        """As far as a test without Docker can see: the file is YAML with the parts of the example."""
        try:
            import yaml
        except ImportError:
            self.skipTest("no yaml module")
        compose = yaml.safe_load((harness.ROOT / "compose.yaml").read_text())
        self.assertEqual(set(compose["services"]), {"postgresql", "mariadb"})
        for name, service in compose["services"].items():
            self.assertIn("test", service["healthcheck"], name)
            self.assertGreaterEqual(service["ulimits"]["nofile"]["soft"], 65536, name)
            for port in service["ports"]:
                self.assertRegex(port, r"^127\.0\.0\.1:\d+:\d+$")
        text = (harness.ROOT / "docs/ci.md").read_text()
        example = yaml.safe_load(re.search(r"```yaml\n(.*?)```", text, flags=re.S)[1])
        # The example uses only the commands of the package: another repository does not have these sources.
        steps = [step for step in example["jobs"]["smoke"]["steps"] if "run" in step]
        for step in steps:
            subprocess.run(["bash", "-n"], input=step["run"], text=True, check=True, timeout=60)
            self.assertNotIn(" scripts/", step["run"])
        self.assertIn("/usr/share/append/ci-smoke.sh ", steps[-1]["run"])
        self.assertIn("--container", steps[-1]["run"])
        self.assertEqual(steps[-1]["env"]["CONTAINER"], "${{ job.services.postgresql.id }}")
        for url in re.findall(r"\w+://append@127\.0\.0\.1:(\d+)/append", text):
            self.assertIn(url, (harness.ROOT / "compose.yaml").read_text())


if __name__ == "__main__":
    harness.main()
