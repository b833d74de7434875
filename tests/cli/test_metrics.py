"""--metrics and --metrics-file: the metrics of a run for Prometheus."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import urllib.error
import urllib.request

import harness

SAMPLE = re.compile(r'([a-zA-Z_:][\w:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)*\})? (\S+)')


def parse(case, text):
    """Returns {name with labels: value}, after checking the rules of the format."""
    case.assertTrue(text.endswith("\n"))
    kinds, values, ended = {}, {}, set()
    name = None
    for line in text.splitlines():
        if line.startswith("# "):
            _, word, own, _ = line.split(" ", 3)
            if word == "TYPE":
                case.assertEqual(own, name, line)
                kinds[own] = line.split()[-1]
            else:
                case.assertEqual(word, "HELP")
                case.assertNotIn(own, kinds, "metrics with the same name follow each other")
                name = own
            continue
        match = SAMPLE.fullmatch(line)
        case.assertIsNotNone(match, line)
        base = match[1]
        if kinds.get(name) == "histogram":
            base = re.sub(r"_(bucket|sum|count)$", "", base)
        case.assertEqual(base, name, line)
        case.assertNotIn(match[1] + (match[2] or ""), values, line)
        case.assertEqual(kinds[name] == "counter", name.endswith("_total"), line)
        values[match[1] + (match[2] or "")] = float(match[3])
        ended.add(name)
    case.assertEqual(ended, set(kinds))
    for name in (name for name, kind in kinds.items() if kind == "histogram"):
        series = {}  # the buckets of each operation, because a script has several operations
        for key, value in values.items():
            if key.startswith(name + "_bucket"):
                labels = re.sub(r',?le="[^"]*"', "", key.removeprefix(name + "_bucket"))
                series.setdefault("" if labels == "{}" else labels, []).append(value)
        for labels, buckets in series.items():
            case.assertEqual(buckets, sorted(buckets), name)
            case.assertEqual(buckets[-1], values[name + "_count" + labels], name)
    if shutil.which("promtool"):
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                                 capture_output=True, timeout=60)
        case.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))
    return values


def free_port():
    """Returns a free port below the ephemeral ports, which other tests use and release meanwhile."""
    first = 12000 + os.getpid() * 7 % 7000
    for port in range(first, first + 1000):
        with socket.socket() as sock:
            try:
                sock.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise AssertionError("no port is free")


class Metrics(harness.Case):
    def get(self, port, path="/metrics", host="127.0.0.1", method="GET"):
        request = urllib.request.Request(f"http://{host}:{port}{path}", method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.read().decode()

    def begin(self, *options):
        out = self.out()
        process = self.start("3", "null:", "--duration", "1h", "--rate", "3000", "--idle", "1",
                             "--out", out, *options)
        self.wait_for_rows(process, out)
        return process, out

    def finish(self, process):
        """Ends the run with Ctrl-C: on a slow machine a short run could end before the test reads it."""
        process.send_signal(signal.SIGINT)
        return self.end(process, 130)

    def test_served_while_it_runs(self):
        port = free_port()
        process, out = self.begin("--metrics", port)
        with socket.create_connection(("127.0.0.1", port)) as silent, \
                socket.create_connection(("127.0.0.1", port)) as garbage:
            silent.sendall(b"GET ")
            garbage.sendall(b"\x16\x03\x01\x00\xff\r\n")
            rows = 'append_rows_total{outcome="acknowledged"}'

            def more_than(number):
                values = parse(self, self.get(port))
                return values if values[rows] > number else None

            # a row is in intervals.csv slightly before it is on the page
            first = harness.wait_until(lambda: more_than(0), "rows in the metrics")
            self.assertEqual(first["append_running"], 1)
            self.assertEqual(first["append_sessions_requested"], 4)
            self.assertEqual(first["append_sessions"], 4)
            harness.wait_until(lambda: more_than(first[rows]), "more rows in the metrics")
        for path, method, code in (("/x", "GET", 404), ("/metrics", "POST", 405)):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.get(port, path, method=method)
            self.assertEqual(refused.exception.code, code)
            refused.exception.close()
        # a page of another site may point its own host name at this address
        for host, code in (("evil.example.com", 403), (f"evil.example.com:{port}", 403), ("localhost", 200),
                           (f"127.0.0.1:{port}", 200), (f"[::1]:{port}", 200), (socket.gethostname(), 200)):
            asked = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers={"Host": host})
            try:
                with urllib.request.urlopen(asked, timeout=60) as answered:
                    self.assertEqual(answered.status, code, host)
            except urllib.error.HTTPError as error:
                self.assertEqual((error.code, b"append_" in error.read()), (code, False), host)
        self.assertIn("/metrics", self.get(port, "/"))
        self.finish(process)
        self.check_run(out, 130)
        with self.assertRaises(OSError):
            self.get(port)

    def test_only_on_loopback(self):
        port = free_port()
        process, _ = self.begin("--metrics", port)
        lines = [line.split() for path in pathlib.Path("/proc/net").glob("tcp*")
                 for line in path.read_text().splitlines()]
        listeners = [words[1] for words in lines
                     if words[3] == "0A" and words[1].endswith(f":{port:04X}")]
        self.assertEqual(listeners, [f"0100007F:{port:04X}"])
        self.finish(process)

    def test_on_another_address(self):
        port = free_port()
        process, _ = self.begin("--metrics", f"127.0.0.2:{port}")
        self.assertIn("append_info", self.get(port, host="127.0.0.2"))
        with self.assertRaises(OSError):
            self.get(port)
        self.finish(process)

    def test_file(self):
        path = self.folder / "append.prom"
        process, out = self.begin("--metrics-file", path)
        during = parse(self, path.read_text())
        self.assertEqual(during["append_running"], 1)
        self.finish(process)
        run = self.check_run(out, 130)
        after = parse(self, path.read_text())
        self.assertEqual(after["append_running"], 0)
        self.assertEqual(after["append_sessions"], 0)
        self.assertEqual(after['append_rows_total{outcome="acknowledged"}'],
                         run.rows["acknowledged"])
        self.assertEqual(after["append_batch_duration_seconds_count"],
                         run.json["latencies"]["append"]["count"])
        self.assertEqual(after["append_response_duration_seconds_count"],
                         run.json["latencies"]["response"]["count"])
        self.assertIsNone(run.json["metrics_note"])
        self.assertEqual([file.name for file in self.folder.glob("append.prom*")], ["append.prom"])

    def test_a_file_that_cannot_be_replaced_any_more(self):
        folder = self.folder / "textfile"
        folder.mkdir()
        process, out = self.begin("--metrics-file", folder / "append.prom")
        folder.rename(self.folder / "gone")  # atomic, even while files are written into it
        ended = self.finish(process)
        self.assertIn("No such file", self.check_run(out, 130).json["metrics_note"])
        self.assertRegex(ended.out, r"(?m)^Metrics +--metrics-file: No such file")

    def test_find_max(self):
        path = self.folder / "append.prom"
        self.append("find-max", "null:", "--max-sessions", "20", "--hold", "1.5", "--out", self.out(),
                    "--metrics-file", path)
        values = parse(self, path.read_text())
        self.assertEqual(values["append_sessions_connected_total"], 20)
        self.assertNotIn("append_sessions_requested", values)

    def test_few_descriptors(self):
        """The thread that serves the page cannot wait for more descriptors than the process may open."""
        self.refused("--nofile=8", harness.BINARY, "2", "100", "null:", "--no-check", "--metrics",
                     free_port(), program="prlimit", code=3, pattern="Too many open files")

    def test_refused(self):
        for value in ("0", "x", "70000", ":9464", "::1:9464", "[]:9464", "host:", "9464x"):
            self.refused("2", "100", "null:", "--metrics", value, code=2,
                         pattern=r"--metrics .* is not PORT or HOST:PORT")
        self.refused("2", "100", "null:", "--metrics", "no.such.host.invalid:9464", code=2,
                     pattern="unknown host")
        self.refused("2", "100", "null:", "--metrics-file", self.folder / "none" / "x.prom", code=2,
                     pattern="--metrics-file .*none.* cannot be written: No such file")
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.refused("2", "100", "null:", "--metrics-file", pipe, code=2,
                     pattern="is a device or a pipe: give the name of a file")
        self.assertTrue(pipe.is_fifo())
        foreign = self.folder / "notes.txt"
        foreign.write_text("# HELP me\n")
        self.refused("2", "100", "null:", "--metrics-file", foreign, code=2,
                     pattern="notes.txt' exists and was not made by append: give another name")
        self.assertEqual(foreign.read_text(), "# HELP me\n")

    def test_a_run_that_does_not_begin(self):
        """The file of an earlier run stays; a run without one leaves none."""
        path = self.folder / "append.prom"
        out = self.out()
        self.append("2", "100", "null:", "--metrics-file", path, "--out", out)
        earlier = path.read_text()
        self.assertIn("append_running 0", earlier)
        for words in (["--out", out], ["--junit", self.folder]):
            self.refused("2", "100", "null:", "--metrics-file", path, *words, code=2, pattern="exists|directory")
            self.assertEqual(path.read_text(), earlier)
            self.refused("2", "100", "null:", "--metrics-file", f"{path}2", *words, code=2,
                         pattern="exists|directory")
            self.assertFalse(path.with_name("append.prom2").exists())
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            self.refused("2", "100", "null:", "--metrics", taken.getsockname()[1], code=2,
                         pattern="cannot listen on 127.0.0.1 port .*in use")


class Dashboard(harness.Case):
    """docs/grafana.json asks for nothing that a run does not serve."""

    def served(self, *words):
        path = self.folder / "append.prom"
        self.append(*words, "--out", self.out(), "--metrics-file", path, code=None)
        return parse(self, path.read_text())

    def test_queries(self):
        runs = (self.served(3, 1000, "null:", "--rate", "100k", "--on-drop", "reconnect"),
                self.served(3, "null:", "--workload", "oltp", "--transactions", 20))
        names, labels = set(), {}
        for key in (key for run in runs for key in run):
            name, _, rest = key.partition("{")
            names.add(name)
            labels.setdefault(name, set()).update(re.findall(r'(\w+)="([^"]*)"', rest))
        board = json.loads((harness.ROOT / "docs" / "grafana.json").read_text(encoding="utf-8"))
        queries = [target for panel in board["panels"] for target in panel["targets"]]
        asked = set()
        for query in queries:
            name, selector = re.search(r"\b(append_\w+)\{([^}]*)\}", query["expr"]).groups()
            asked.add(name)
            self.assertIn(name, names, query["expr"])
            for label, value in re.findall(r'(\w+)="([^"]*)"', selector):
                self.assertTrue(label == "job" or (label, value) in labels[name], query["expr"])
            known = {label for label, _ in labels[name]} | {"le"}
            grouped = re.findall(r"by \((\w+)\)", query["expr"]) + re.findall(r"{{(\w+)}}", query["legendFormat"])
            self.assertLessEqual(set(grouped), known, query["expr"])
        self.assertGreater(len(asked), 20)

    def test_the_page_scrapes_the_port_of_its_command(self):
        text = (harness.ROOT / "docs" / "watching.md").read_text(encoding="utf-8")
        port = re.search(r"--metrics (\d+)", text)[1]
        self.assertIn(f'- targets: ["127.0.0.1:{port}"]', text)


if __name__ == "__main__":
    harness.main()
