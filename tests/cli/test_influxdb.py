"""Whole runs against InfluxDB 1.x."""

import contextlib
import http.server
import json
import sqlite3
import struct
import threading
import urllib.parse

import harness
import influxdb

COLUMNS = ("n1", "n2", "n3", "n5", "host", "msg", "ip4", "ip6", "n4")


class InfluxdbCase(harness.Case):
    SETTINGS = {}

    @classmethod
    def setUpClass(cls):
        influxdb.need_influxdb()
        cls.server = influxdb.Influxdb(cls, **cls.SETTINGS)

    def setUp(self):
        super().setUp()
        self.database = self.id().rsplit(".", 1)[-1]
        self.url = f"{self.server.url}/{self.database}"

    def query(self, text):
        return self.server.query(self.database, text)

    def write(self, *lines):
        self.query(f'create database "{self.database}"')
        self.server.write(self.database, *lines)

    def count(self, what, table="syslog_table"):
        rows = self.query(f'select count({what}) from "{table}"')
        return rows[0]["count"] if rows else 0

    def cause(self, run, text):
        found = [cause for cause in run.causes if text in cause["text"]]
        self.assertEqual(len(found), 1, run.causes)
        return found[0]


class Appends(InfluxdbCase):
    def test_every_row_is_there_and_right(self):
        path = self.folder / "same.db"
        self.append(3, 1001, f"sqlite:{path}", "--seed", 7)
        with contextlib.closing(sqlite3.connect(path)) as database:
            wanted = sorted(database.execute(
                f"select {', '.join(COLUMNS)}, strftime('%s', tm), tm from syslog_table"))
        _, run = self.run_append(3, 1001, self.url, "--seed", 7, "--batch", 7, "--verify", "rows")
        self.assertEqual(run.rows["acknowledged"], 1001)
        self.assertEqual(run.json["row_verification"]["lost"], 0)
        found = sorted((int(row["n1"]), int(row["n2"]), *(row[name] for name in COLUMNS[2:]), row["time"])
                       for row in self.query("select * from syslog_table"))
        self.assertEqual([row[:8] for row in found], [row[:8] for row in wanted])
        for mine, other in zip(found, wanted):
            self.assertEqual(struct.pack("f", mine[8]), struct.pack("f", other[8]))
            fraction = other[10].partition(".")[2].ljust(9, "0")
            self.assertEqual(mine[9], int(other[9]) * 10**9 + int(fraction) + mine[2],
                             "the time is tm and the row's number in nanoseconds")

    def test_rows_do_not_overwrite_each_other(self):
        rows = harness.fewer(4000)
        total = 0
        for options in ((), ("--data", "constant"), ("--batch", 1000), ("--data", "constant")):
            _, run = self.run_append(10, rows, self.url, "--verify", "rows", *options)
            total += rows
            self.assertEqual(run.rows["acknowledged"], rows)
            self.assertEqual(run.json["row_verification"]["lost"], 0)
            self.assertEqual(self.count("n3"), total)
        self.assertEqual(self.count("n5"), total)

    def test_the_run_is_known_by_its_tag(self):
        self.append(1, 10, self.url, "--verify", "rows", "--seed", 3)
        self.append(1, 10, self.url, "--verify", "rows", "--seed", 4)
        self.refused(1, 10, self.url, "--verify", "rows", "--seed", 3, code=2,
                     pattern="has rows of --seed 3 already")
        self.append(1, 10, self.url, "--verify", "rows", "--seed", 3, "--recreate=syslog_table")
        self.assertEqual(self.count("n3"), 10)

    def test_recognised_by_its_port(self):
        _, run = self.run_append(10, 1000, self.server.port, "--read", "none", "--recreate=syslog_table")
        self.assertEqual(run.rows["acknowledged"], 1000)
        self.assertEqual(self.server.query("append", "select count(n3) from syslog_table")[0]["count"],
                         1000)
        ended = self.append(1, 1, f"mariadb://127.0.0.1:{self.server.port}/x", code=2)
        self.assertIn("speaks the protocol of influxdb, not of mariadb", ended.reason)

    def test_check_makes_no_database(self):
        ended = self.append("check", 10, self.url)
        self.assertIn("InfluxDB 1.", ended.out)
        names = [row["name"] for row in self.server.query("", "show databases")]
        self.assertNotIn(self.database, names)


class Measurements(InfluxdbCase):
    def test_one_that_is_missing(self):
        self.refused(1, 1, self.url, "--table", "nope", code=4,
                     pattern='no measurement "nope": its first row creates it')

    def test_a_users_own(self):
        self.write('my\\ ta\\,ble,k\\ x=a f\\,1=1.5,b=true,s="x",i=1i 1')
        _, run = self.run_append(2, 500, self.url, "--table", "my ta,ble", "--values", "k x=a b|c|e=f")
        self.assertEqual(run.rows["acknowledged"], 500)
        self.assertEqual((run.verification["rows_before"], run.verification["rows_after"]), (1, 501))
        found = self.query('select * from "my ta,ble"')
        self.assertEqual({row["k x"] for row in found}, {"a", "a b", "c", "e=f"})
        self.assertEqual({type(row[name]) for row in found for name in ("b", "i", "s")},
                         {bool, int, str})

    def test_the_time_cannot_be_left_out(self):
        self.write("mine f=1 1")
        self.refused(1, 1, self.url, "--table", "mine", "--skip-columns", "time", code=2,
                     pattern="cannot be left out")

    def test_rows_that_overwrite_others_are_lost(self):
        self.write("mine,k=a f=1 1")
        self.append(1, 100, self.url, "--table", "mine", "--values", "k=a")
        _, run = self.run_append(1, 100, self.url, "--table", "mine", "--values", "k=a", code=1)
        self.assertEqual(run.rows["acknowledged"], 100)
        self.assertEqual(run.verification["rows_after"], 101)

    def test_a_conflict_of_types_rejects_every_row(self):
        self.write("mixed f=1i 1")
        self.write('mixed f="x" 1704067200000000000')
        _, run = self.run_append(2, 1000, self.url, "--table", "mixed", code=1)
        self.assertEqual(run.rows["rejected"], 1000)
        cause = self.cause(run, "partial write: field type conflict")
        self.assertEqual((cause["kind"], cause["native_code"], cause["count"]), ("data", 400, 10))


class Statements(InfluxdbCase):
    def script(self, text):
        path = self.folder / "own.lua"
        path.write_text(text)
        return path

    def test_append_then_count(self):
        _, run = self.run_append(4, 4000, self.url, "--workload", "append-then-count")
        self.assertEqual(run.rows["acknowledged"], 4000)
        self.assertEqual(self.count("n3"), 4000)

    def test_what_it_does_not_have_is_refused(self):
        for workload, pattern in (
                ("mass-insert", r"mass-insert:\d+: dataset 'test': InfluxDB has no CREATE TABLE: a measurement"),
                ("select-insert", r"select-insert:\d+: statement 'insert': InfluxQL has no INSERT"),
                ("ycsb", r"ycsb:\d+: statement 'UPDATE': InfluxQL has no UPDATE")):
            self.refused("prepare", 2, self.url, "--workload", workload, code=2, pattern=pattern)

    def test_a_measurement_that_is_there(self):
        self.write("cpu,host=a usage=0.5,n3=0i 1")
        script = self.script("""
            local cpu = dataset("cpu", 0, {{"time", "timestamp", 0}, {"host", "text", format("h%d", uniform(1, 3))},
                {"usage", "float64", 0.25}, {"n3", "int64", row()}})
            transaction("x", function() cpu:append(10) end, {autocommit = true})""")
        _, run = self.run_append(1, 400, self.url, "--workload", script)
        self.assertEqual(run.rows["acknowledged"], 400)
        self.assertEqual(self.count("usage", "cpu"), 401)

    def test_parameters_are_literals(self):
        self.write('mine,k=x\\ y s="it\'s \\"a\\" \\\\ b",i=7i,f=0.5 1')
        script = self.script("""
            local find = statement("find", "select i, s, k from mine where s = ? and i = ? and f = ?"
                .. " and k = ?", {"text(40)", "int64", "float64", "text(8)"})
            local many = statement("many", "select i from mine; show databases; select f from nope")
            transaction("x", function()
                local i, s = find:one("it's \\"a\\" \\\\ b", 7, 0.5, "x y")
                check(i == 7 and s == "it's \\"a\\" \\\\ b", "found")
                check(find:one("it's", 7, 0.5, "x y") == nil, "found nothing")
                many:run()
            end, {autocommit = true})""")
        ended, run = self.run_append(1, "--transactions", 5, self.url, "--workload", script)
        self.assertEqual(run.json["transactions"]["committed"], 5, ended)

    def test_an_error_within_a_good_answer(self):
        self.write("mine i=7i 1")
        script = self.script("""
            local wrong = statement("wrong", "select nope(i) from mine")
            transaction("x", function() wrong:run() end, {autocommit = true})""")
        _, run = self.run_append(1, "--transactions", 3, self.url, "--workload", script, code=1)
        self.assertEqual(self.cause(run, "undefined function nope()")["kind"], "server")


class Passwords(InfluxdbCase):
    SETTINGS = {"http.auth-enabled": "true"}

    def test_who_may_and_who_may_not(self):
        place = f"127.0.0.1:{self.server.port}"
        secret = harness.SECRET.replace(" ", "%20")
        self.append(2, 100, f"influxdb://append_pw:{secret}@{place}/append")
        self.append(2, 100, f"influxdb://append_pw@{place}/append", env={"APPEND_PASSWORD": harness.SECRET})
        for url, words in ((f"influxdb://append_pw:wrong@{place}/append",
                            "authorization failed: wrong user or password$"),
                           (f"influxdb://{place}/append", "wrong user or password$"),
                           (f"influxdb://append_pw:{secret}@{place}/other",
                            "not authorized to execute statement 'CREATE DATABASE other'")):
            self.refused(2, 100, url, code=4, pattern=words)
        self.append("check", 2, f"influxdb://append_pw:{secret}@{place}/append")


class Limits(InfluxdbCase):
    SETTINGS = {"data.max-values-per-tag": "3", "http.max-body-size": "20000",
                "http.max-connection-limit": "100"}

    def test_dropped_rows(self):
        """InfluxDB 1.6 drops more rows of such a write than it reports; append reports them as lost."""
        for value in "abc":
            self.write(f"mine,k={value} f=1 1")
        _, run = self.run_append(2, 1000, self.url, "--table", "mine", "--values", "k=a|b|c|d|e",
                                 code=1)
        kept = self.count("f", "mine") - 3
        self.assertTrue(0 < run.rows["rejected"] < 1000, run.rows)
        self.assertLessEqual(kept, run.rows["acknowledged"])
        self.assertEqual(run.verification["rows_after"], kept + 3)
        self.assertEqual(self.cause(run, "partial write: max-values-per-tag limit exceeded")["kind"],
                         "data")

    def test_a_body_that_is_too_large(self):
        _, run = self.run_append(1, 1000, self.url, "--batch", 500, code=1)
        self.assertEqual(run.rows["rejected"], 1000)
        cause = self.cause(run, "above the server's max-body-size: use a smaller --batch")
        self.assertEqual((cause["kind"], cause["native_code"]), ("data", 413))
        self.run_append(1, 1000, self.url, "--batch", 50)

    def test_more_sessions_than_connections(self):
        ended = self.append("check", 200, self.url, code=4)
        self.assertRegex(ended.out, "max-connection-limit +200 +100 +100")
        self.assertIn("max-connection-limit = 200 in [http]", ended.out)


class Busy(InfluxdbCase):
    SETTINGS = {"coordinator.max-concurrent-queries": "1", "http.max-concurrent-write-limit": "1",
                "http.max-enqueued-write-limit": "1", "http.enqueued-write-timeout": "1000000"}

    def test_it_is_tried_again_and_no_row_is_kept_twice(self):
        rows = harness.fewer(20000)
        ended, run = self.run_append(20, rows, self.url, "--batch", 500, "--read", "none", "--verify",
                                     "rows", code=None)
        self.assertEqual(run.rows["in_doubt"], 0, ended)
        self.assertEqual(run.json["row_verification"]["duplicates"], 0)
        self.assertEqual(run.json["row_verification"]["lost"], 0)
        self.assertEqual(self.count("n3"), run.rows["acknowledged"])
        for cause in run.causes:
            self.assertEqual(cause["kind"], "busy", cause)


class Faults(InfluxdbCase):
    def test_a_killed_server(self):
        out = self.out()
        process = self.start(4, self.url, "--duration", "60s", "--verify", "rows", "--on-drop",
                             "reconnect", "--out", out, "--sample-interval", "0.2s")
        self.wait_for_interval(process, out, lambda row: int(row["rows"]) > 0, "acknowledged rows")
        self.server.kill()
        self.server.restart()
        self.wait_for_interval(process, out, lambda row: int(row["reconnects"]) > 0, "a reconnect")
        process.send_signal(harness.signal.SIGINT)
        ended = self.end(process, 130)
        run = self.check_run(out, 130)
        self.assertEqual(run.json["row_verification"]["lost"], 0, ended)
        self.assertGreaterEqual(run.json["counters"]["connections_lost"], 1)
        kept = self.count("n3")
        self.assertTrue(run.rows["acknowledged"] <= kept <=
                        run.rows["acknowledged"] + run.rows["in_doubt"], (kept, run.rows))


class StandIn(http.server.BaseHTTPRequestHandler):
    """As much of InfluxDB as a run needs. The test decides the answer to each write."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, **headers):
        self.send_response(status)
        self.send_header("X-Influxdb-Version", "1.6.7")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if status != 204 else b"")

    def do_GET(self):
        self.answer(204, b"")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path.startswith("/write"):
            status, text, kept, headers = self.server.judge(body.splitlines())
            self.server.kept += kept
            self.answer(status, json.dumps({"error": text}).encode(), **headers)
            return
        query = urllib.parse.unquote_plus(body[2:])
        columns, rows = ["time", "count"], [[0, self.server.kept]]
        if query == "show databases":
            columns, rows = ["name"], [["append"]]
        elif query.startswith("show"):
            rows = []
        series = [{"name": "x", "columns": columns, "values": rows}] if rows else []
        self.answer(200, json.dumps({"results": [{"statement_id": 0, "series": series}]}).encode()
                    + b"\n")


class Judged(harness.Case):
    """Refusals of writes that a real server gives only rarely."""

    def load(self, judge, *options, code=1):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), StandIn)
        server.daemon_threads = True
        server.kept, server.judge = 0, judge
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        _, run = self.run_append(2, 1000, f"influxdb://127.0.0.1:{server.server_port}", *options, code=code)
        return run

    def check_rows(self, run, acknowledged, rejected, in_doubt=0):
        self.assertEqual((run.rows["acknowledged"], run.rows["rejected"], run.rows["in_doubt"]),
                         (acknowledged, rejected, in_doubt), run.causes)
        self.assertEqual((run.verification["rows_after"], run.verification["lost_at_most"]), (acknowledged, 0))

    def test_partial_writes_are_counted_one_by_one(self):
        """Each write of 100 rows has 7 refused rows."""
        conflict = 'partial write: field type conflict: input field "x dropped=9" is float dropped=7'
        unread = "\n".join(f"unable to parse 'line {i} unable to parse 'x': bad" for i in range(7))
        both = "\n".join(f"unable to parse 'line {i}': bad" for i in range(4))
        for text in (conflict, f"partial write: {unread} dropped=0", f"partial write: {both} dropped=3"):
            run = self.load(lambda lines, text=text: (400, text, len(lines) - 7, {}))
            self.check_rows(run, 930, 70)
            self.assertEqual({(cause["kind"], cause["native_code"]) for cause in run.causes},
                             {("data", 400)})

    def test_what_says_nothing_of_rows_keeps_none(self):
        for text in ("unable to parse 'x': bad", "partial write: lost", "partial write: x dropped=1000",
                     "field type conflict"):
            self.check_rows(self.load(lambda lines, text=text: (400, text, 0, {})), 0, 1000)

    def test_a_timeout_is_in_doubt(self):
        run = self.load(lambda lines: (500, "timeout", len(lines), {}), "--on-drop", "continue")
        self.assertEqual((run.rows["acknowledged"], run.rows["in_doubt"]), (0, 200))
        self.assertEqual(run.causes[0]["kind"], "timeout")

    def test_busy_is_tried_again(self):
        refusals = iter([(503, "request throttled, queue depth exceeded", 0, {"Retry_After": "1"}),
                         (500, "engine: cache-max-memory-size exceeded: (9/8)", 0, {}),
                         (429, "too many", 0, {})])
        run = self.load(lambda lines: next(refusals, (204, "", len(lines), {})), code=0)
        self.check_rows(run, 1000, 0)


if __name__ == "__main__":
    harness.main()
