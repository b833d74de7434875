"""Compares append over HTTP with k6, wrk and clickhouse-client: the same requests to the same server.

A request is one batch that append itself sent; it is recorded on its way to the server. k6 and wrk send
this body again and again, as fast as the server answers, from as many connections as append has
sessions, while append generates each of its batches. The comparison is about requests/s while the
connections work, and about the client's CPU time and memory.
"""

import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import tempfile
import threading
import urllib.parse
import urllib.request

from measure import BATCH, Excluded, Measured

SIZES = (10, 100, 1000)
BATCHES = (100, 1_000, 10_000)
K6 = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache",
                  "append-bench", "k6")
KIB_MAX = 80  # target for append's memory per session, with the largest number of sessions

K6_SCRIPT = """
import http from 'k6/http';
const body = open('%(body)s', 'b');
export const options = {vus: %(sessions)d, duration: '%(seconds)ds', discardResponseBodies: true};
export default function () { http.post('%(url)s', body, {headers: %(headers)s}); }
export function handleSummary(data) {
    const failed = data.metrics.http_req_failed.values.passes;
    const requests = data.metrics.http_reqs.values;
    return {stdout: `requests ${requests.count} rate ${requests.rate} failed ${failed}\\n`};
}
"""

WRK_SCRIPT = """
wrk.method = "POST"
wrk.body = io.open("%(body)s", "rb"):read("*a")
%(headers)s
"""


class Recorder:
    """Forwards connections to a server and keeps what the clients sent, in a list for each client."""

    def __init__(self, port):
        self.server = ("127.0.0.1", port)
        self.sent = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(self.server)
            kept = []
            self.sent.append(kept)
            threading.Thread(target=self.carry, args=(client, server, kept), daemon=True).start()
            threading.Thread(target=self.carry, args=(server, client, None), daemon=True).start()

    @staticmethod
    def carry(source, target, kept):
        try:
            while data := source.recv(1 << 16):
                if kept is not None:
                    kept.append(data)
                target.sendall(data)
        except OSError:
            pass
        finally:
            try:
                target.shutdown(socket.SHUT_WR)
            except OSError:
                pass

    def close(self):
        self.listener.close()

    def posts(self):
        """(path, headers, body) of each POST, connection by connection."""
        for kept in self.sent:
            stream = b"".join(kept)
            while stream:
                head, _, rest = stream.partition(b"\r\n\r\n")
                first, *lines = head.decode("latin-1").split("\r\n")
                headers = dict(line.split(": ", 1) for line in lines)
                length = next((int(value) for name, value in headers.items()
                               if name.lower() == "content-length"), 0)
                method, path, _ = first.split(" ")
                if method == "POST":
                    yield path, headers, rest[:length]
                stream = rest[length:]


class Run:
    """Requests/s, microseconds of client CPU per request, KiB per session."""

    def __init__(self, measured, requests, rate, sessions):
        if requests == 0:
            raise Excluded("no request was answered")
        self.rate = rate
        self.cpu_us = measured.cpu_s / requests * 1e6
        self.kib = measured.rss_kib / sessions


class Database:
    """A server: its port, a function that recognizes the requests of an append by their path, append's
    options, and a function that counts rows (None if the server stores equal rows only once)."""

    def __init__(self, name, port, is_append, options=(), count=None):
        self.name, self.port, self.is_append = name, port, is_append
        self.options, self.count = options, count

    def url(self, port=None):
        return f"{self.name.lower()}://127.0.0.1:{port or self.port}/append"


class Http:
    def __init__(self, append, database, folder, seconds, rounds):
        self.append, self.database, self.folder = append, database, folder
        self.seconds, self.rounds = seconds, rounds

    def run_append(self, sessions, *options, rows=None, port=None):
        """Runs append with a new table. Returns the measurement and append's own figures."""
        out = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / "run"
        measured = Measured([self.append.binary, str(sessions), *([str(rows)] if rows else []),
                             self.database.url(port), "--read", "none", "--recreate", "--quiet", "--out", str(out),
                             *self.database.options, *options], self.folder)
        if measured.code not in (0, 6):
            raise Excluded(measured.stderr.strip() or f"exit {measured.code}")
        if measured.code == 6:
            print(f"  NOTE {measured.stderr.strip()}")
        return measured, json.loads((out / "run.json").read_text())

    def record(self, rows, batch, *options):
        """Runs append with one session and returns (path, headers, body) of its appends."""
        recorder = Recorder(self.database.port)
        try:
            self.run_append(1, "--batch", str(batch), *options, rows=rows, port=recorder.port)
        finally:
            recorder.close()
        posts = [post for post in recorder.posts() if self.database.is_append(post[0])]
        if len(posts) != -(-rows // batch):
            raise SystemExit(f"bench: {self.database.name}: {len(posts)} appends of {batch} rows "
                             f"were recorded for {rows} rows")
        return posts

    def own(self, sessions):
        measured, found = self.run_append(sessions, "--batch", str(BATCH), "--duration",
                                          f"{self.seconds}s")
        requests = found["counters"]["appends"]
        return Run(measured, requests, requests / found["times"]["append_s"], sessions)

    def peer(self, sessions, command, patterns):
        """Runs a tool that sends the body. `patterns` match its requests, requests/s and failures."""
        self.run_append(1, rows=BATCH)  # creates the table again
        measured = Measured(command, self.folder)
        requests, rate = (measured.find(pattern) for pattern in patterns[:2])
        failed = re.search(patterns[2], measured.stdout)
        if failed and float(failed.group(1)) > 0:
            raise Excluded(f"{failed.group(0).strip()} of {requests:.0f} requests")
        if self.database.count and self.database.count() < BATCH * (requests + 1):
            raise Excluded(f"{self.database.count():,} rows after {requests:.0f} requests")
        return Run(measured, requests, rate, sessions)

    def k6(self, sessions):
        if not K6.exists():
            raise Excluded(f"{K6} is missing: run scripts/setup.sh bench")
        script = self.folder / "k6.js"
        script.write_text(K6_SCRIPT % {"body": self.body_file, "sessions": sessions, "url": self.post,
                                       "seconds": self.seconds, "headers": json.dumps(self.headers)})
        return self.peer(sessions, [str(K6), "run", "--quiet", "--no-usage-report", str(script)],
                         (r"requests (\d+)", r"rate ([\d.]+)", r"failed (\d+)"))

    def wrk(self, sessions):
        script = self.folder / "wrk.lua"
        script.write_text(WRK_SCRIPT % {"body": self.body_file, "headers": "\n".join(
            f"wrk.headers[{json.dumps(name)}] = {json.dumps(value)}"
            for name, value in self.headers.items())})
        return self.peer(sessions, ["wrk", "--threads", str(min(2, sessions)), "--connections",
                                    str(sessions), "--duration", f"{self.seconds}s", "--timeout",
                                    "60s", "--script", str(script), self.post],
                         (r"(\d+) requests in", r"Requests/sec:\s+([\d.]+)",
                          r"(?:Non-2xx or 3xx responses: |Socket errors: .*?)(\d*[1-9]\d*)"))

    def compare(self, sessions):
        results = {"append": [], "k6": [], "wrk": []}
        print(f"\n{self.database.name}, {BATCH} rows a request: {sessions:,} connections")
        for turn in range(1, self.rounds + 1):
            for name, run in (("append", self.own), ("k6", self.k6), ("wrk", self.wrk)):
                try:
                    results[name].append(run(sessions))
                except Excluded as reason:
                    print(f"  EXCLUDED {name}, round {turn}: {reason}")
        print(f"  {'':18}{'requests/s':>14}{'client CPU':>14}{'client RSS':>13}{'runs':>6}")
        medians = {name: {key: statistics.median(vars(run)[key] for run in runs)
                          for key in ("rate", "cpu_us", "kib")}
                   for name, runs in results.items() if runs}
        for name, m in medians.items():
            print(f"  {name:18}{m['rate']:14,.0f}{m['cpu_us']:11.2f} us{m['kib']:9,.0f} KiB"
                  f"{len(results[name]):6}")
        if "append" not in medians:
            return
        a = medians["append"]
        if "k6" in medians:
            b = medians["k6"]
            print("  append / k6: " + ", ".join((
                judge("requests per CPU second", b["cpu_us"] / a["cpu_us"], 4),
                judge("requests/s", a["rate"] / b["rate"], 1.5),
                judge("memory", a["kib"] / b["kib"], 0.1, is_least=False))))
        if "wrk" in medians:
            print("  append / wrk: " + judge("requests/s", a["rate"] / medians["wrk"]["rate"], 0.7))
        if sessions == max(SIZES):
            print("  append: " + judge("memory a session", a["kib"], KIB_MAX, is_least=False,
                                       unit="KiB"), flush=True)

    def measure(self, sizes):
        path, headers, body = self.record(BATCH, BATCH)[0]
        self.body_file = self.folder / "body"
        self.body_file.write_bytes(body)
        self.post = f"http://127.0.0.1:{self.database.port}{path}"
        # without the headers that the tools add themselves
        self.headers = {name: value for name, value in headers.items() if name.lower() not in
                        ("host", "content-length", "accept", "user-agent", "connection")}
        print(f"\n{self.database.name}: POST {path}, {len(body):,} bytes for {BATCH} rows")
        for sessions in sizes:
            self.compare(sessions)


def judge(what, ratio, target, is_least=True, unit="x"):
    is_met = ratio >= target if is_least else ratio <= target
    return (f"{what} {ratio:.2f} {unit} (target {'>=' if is_least else '<='} {target:g}: "
            f"{'met' if is_met else 'MISSED'})")


def ask_clickhouse(port, query, tcp=None):
    return urllib.request.urlopen(f"http://127.0.0.1:{port}/?" + urllib.parse.urlencode(
        {"database": "append", "query": query}), timeout=60).read().decode().strip()


def compare_with_client(http, tcp_port, rows):
    """Compares rows/s of one session with clickhouse-client, which reads the same rows from a file and
    sends them in blocks of the same size without waiting for each; the server stores each block."""
    if shutil.which("clickhouse-client") is None:
        print("  EXCLUDED clickhouse-client: not installed, run scripts/setup.sh bench")
        return
    count = http.database.count
    some = min(rows, 100_000)
    bodies = [body for _, _, body in http.record(some, min(some, max(BATCHES)), "--method", "rowbinary")]
    data = http.folder / "rows"
    with open(data, "wb") as file:
        for _ in range(rows // some):
            file.write(b"".join(bodies))
    rows -= rows % some

    def own(batch):
        _, found = http.run_append(1, "--batch", str(batch), rows=rows)
        return rows / found["times"]["append_s"]

    def client(batch):
        http.run_append(1, rows=BATCH)  # creates the table again
        measured = Measured(
            ["sh", "-c", 'exec "$@" <"$0"', str(data), "clickhouse-client", "--host", "127.0.0.1",
             "--port", str(tcp_port), "--database", "append", "--time",
             f"--max_insert_block_size={batch}", f"--min_insert_block_size_rows={batch}",
             "--min_insert_block_size_bytes=0", "--query",
             "INSERT INTO syslog_table FORMAT RowBinary"], http.folder)
        found = re.search(r"^([\d.]+)$", measured.stderr, flags=re.M)
        if measured.code != 0 or not found:
            raise Excluded(f"exit {measured.code}: {measured.stderr.strip()[-200:]}")
        if count() != rows + BATCH:
            raise Excluded(f"{count():,} rows in the table, not {rows + BATCH:,}")
        return rows / float(found.group(1))

    print(f"\nClickHouse, 1 session, {rows:,} rows into a MergeTree, rows/s\n"
          f"  {'batch':>10}{'append':>14}{'clickhouse-client':>20}")
    for batch in BATCHES:
        rates = {"append": [], "client": []}
        for turn in range(1, http.rounds + 1):
            for name, run in (("append", own), ("client", client)):
                try:
                    rates[name].append(run(batch))
                except Excluded as reason:
                    print(f"  EXCLUDED {name}, round {turn}: {reason}")
        if rates["append"] and rates["client"]:
            a, b = (statistics.median(rates[name]) for name in ("append", "client"))
            print(f"  {batch:>10,}{a:14,.0f}{b:20,.0f}   {judge('', a / b, 0.9).strip()}", flush=True)


def measure(append, clickhouse, influxdb, folder, number):
    """clickhouse: its ports for HTTP and for its own protocol; influxdb: its port. None: no server."""
    seconds, rounds = number("BENCH_SECONDS", 10, 2), number("BENCH_ROUNDS", 3, 1)
    sizes = [int(size) for size in os.environ.get("BENCH_SESSIONS", "").split()] or SIZES
    if clickhouse:
        port, tcp_port = clickhouse

        def count():
            return int(ask_clickhouse(port, "select count() from syslog_table"))

        print(f"\nClickHouse {ask_clickhouse(port, 'select version()')}")
        # Uses the engine Memory. The server with a different engine would spend much time on merging
        # small parts, whichever client wrote them.
        database = Database("ClickHouse", port, lambda path: "INSERT" in path,
                            ("--engine", "Memory"), count)
        Http(append, database, folder, seconds, rounds).measure(sizes)
        database.options = ()
        compare_with_client(Http(append, database, folder, seconds, rounds), tcp_port,
                            number("BENCH_HTTP_ROWS", 1_000_000, 100_000))
    if influxdb:
        database = Database("InfluxDB", influxdb, lambda path: path.startswith("/write"))
        print("\nInfluxDB; k6 and wrk write the same points over and over, append writes new ones")
        Http(append, database, folder, seconds, rounds).measure(sizes)
