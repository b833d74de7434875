"""Whole runs against InfluxDB 1.x."""

import json
import urllib.parse

import databases
import harness
import influxdb
from standin import HttpStandin


class InfluxdbCase(databases.Loads, harness.Case):
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

    def count(self, table="syslog_table", field="n3"):
        rows = self.query(f'select count({field}) from "{table}"')
        return rows[0]["count"] if rows else 0

    def cause(self, run, text):
        found = [cause for cause in run.causes if text in cause["text"]]
        self.assertEqual(len(found), 1, run.causes)
        return found[0]


class Appends(databases.EveryRow, InfluxdbCase):
    def stored(self):
        """Yields the stored rows. The time of a row is tm plus n3, the row's number, in nanoseconds."""
        for row in self.query("select * from syslog_table"):
            yield {**row, "n1": int(row["n1"]), "n2": int(row["n2"]), "tm": row["time"] - row["n3"]}

    def test_rows_do_not_overwrite_each_other(self):
        rows = harness.fewer(4000)
        total = 0
        for options in ((), ("--data", "constant"), ("--batch", 1000), ("--data", "constant")):
            _, run = self.run_append(10, rows, self.url, "--verify", "rows", *options)
            total += rows
            self.assertEqual(run.rows["acknowledged"], rows)
            self.assertEqual(run.json["row_verification"]["lost"], 0)
            self.assertEqual(self.count(), total)
        self.assertEqual(self.count(field="n5"), total)

    def test_the_run_is_known_by_its_tag(self):
        self.append(1, 10, self.url, "--verify", "rows", "--seed", 3)
        self.append(1, 10, self.url, "--verify", "rows", "--seed", 4)
        self.refused(1, 10, self.url, "--verify", "rows", "--seed", 3, code=2,
                     pattern="already has rows with the run tag of --seed 3")
        self.append(1, 10, self.url, "--verify", "rows", "--seed", 3, "--recreate=syslog_table")
        self.assertEqual(self.count(), 10)

    def test_recognised_by_its_port(self):
        self.load_by_port("influxdb", "--read", "none", "--recreate=syslog_table")
        self.assertEqual(self.server.query("append", "select count(n3) from syslog_table")[0]["count"], 200)
        ended = self.append(1, 1, f"mariadb://{self.place}/x", code=2)
        self.assertIn("speaks the protocol of influxdb, not of mariadb", ended.reason)

    def test_check_makes_no_database(self):
        ended = self.append("check", 10, self.url)
        self.assertIn("InfluxDB 1.", ended.out)
        names = [row["name"] for row in self.server.query("", "show databases")]
        self.assertNotIn(self.database, names)


class Measurements(InfluxdbCase):
    def test_one_that_is_missing(self):
        self.refused(1, 1, self.url, "--table", "nope", code=4,
                     pattern='measurement "nope" does not exist: write a row')

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


class Statements(databases.Workloads, InfluxdbCase):
    LACKS = ((("mass-insert",),
              r"mass-insert:\d+: dataset 'test': InfluxDB has no CREATE TABLE: a measurement"),
             (("select-insert",), r"select-insert:\d+: statement 'insert': InfluxQL has no INSERT"),
             (("ycsb",), r"ycsb:\d+: statement 'UPDATE': InfluxQL has no UPDATE"))

    def test_a_measurement_that_is_there(self):
        self.write("cpu,host=a usage=0.5,n3=0i 1")
        script = self.script("""
            local host = format("h%d", uniform(1, 3))
            local cpu = dataset("cpu", 0, {{"time", "timestamp", 0}, {"host", "text", host},
                {"usage", "float64", 0.25}, {"n3", "int64", row()}})
            transaction("x", function() cpu:append(10) end, {autocommit = true})""")
        _, run = self.run_append(1, 400, self.url, "--workload", script)
        self.assertEqual(run.rows["acknowledged"], 400)
        self.assertEqual(self.count("cpu", "usage"), 401)

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


class Passwords(databases.Users, InfluxdbCase):
    SETTINGS = {"http.auth-enabled": "true"}
    USERS = (("influxdb://append_pw:{quoted}@{place}/append", "", 0, ""),
             ("influxdb://append_pw@{place}/append", harness.SECRET, 0, ""),
             ("influxdb://append_pw:wrong@{place}/append", "", 4,
              "authorization failed: wrong user or password$"),
             ("influxdb://{place}/append", "", 4, "wrong user or password$"),
             ("influxdb://append_pw:{quoted}@{place}/other", "", 4,
              "not authorized to execute statement 'CREATE DATABASE other'"))

    def count(self, table="syslog_table", field="n3"):
        user = urllib.parse.urlencode({"u": "append_pw", "p": harness.SECRET})
        found = self.server.get("/query?" + user, db="append", q=f"select count({field}) from {table}")
        return found["results"][0]["series"][0]["values"][0][1]

    def test_check(self):
        self.append("check", 2, f"influxdb://append_pw@{self.place}/append",
                    env={"APPEND_PASSWORD": harness.SECRET})


class Limits(InfluxdbCase):
    SETTINGS = {"data.max-values-per-tag": "3", "http.max-body-size": "20000",
                "http.max-connection-limit": "100"}

    def test_dropped_rows(self):
        """InfluxDB 1.6 drops more rows of such a write than it reports; append reports them as lost."""
        for value in "abc":
            self.write(f"mine,k={value} f=1 1")
        _, run = self.run_append(2, 1000, self.url, "--table", "mine", "--values", "k=a|b|c|d|e",
                                 code=1)
        kept = self.count("mine", "f") - 3
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
        self.assertEqual(self.count(), run.rows["acknowledged"])
        for cause in run.causes:
            self.assertEqual(cause["kind"], "busy", cause)


class Faults(databases.Killed, InfluxdbCase):
    """Has a server to itself."""


class StandIn(HttpStandin):
    """As much of InfluxDB as a run needs. judge(lines) returns the answer to a write: status, text, rows that
    are kept, more headers."""

    def __init__(self, judge):
        self.judge, self.kept = judge, 0
        super().__init__()

    def step(self, request):
        return request.url

    def answer(self, request):
        if request.method == "GET":
            return self.json(204, None, {})
        body = request.body.decode()
        if request.url.startswith("/write"):
            status, text, kept, headers = self.judge(body.splitlines())
            self.kept += kept
            return self.json(status, {"error": text}, headers)
        query = urllib.parse.unquote_plus(body[2:])
        columns, rows = ["time", "count"], [[0, self.kept]]
        if query == "show databases":
            columns, rows = ["name"], [["append"]]
        elif query.startswith("show"):
            rows = []
        series = [{"name": "x", "columns": columns, "values": rows}] if rows else []
        return self.json(200, {"results": [{"statement_id": 0, "series": series}]}, {})

    @staticmethod
    def json(status, value, headers):
        body = b"" if status == 204 else json.dumps(value).encode() + b"\n"
        return status, body, {"X-Influxdb-Version": "1.6.7", **headers}


class Judged(harness.Case):
    """Refusals of writes that a real server gives only rarely."""

    def load(self, judge, *options, code=1):
        server = StandIn(judge)
        self.addCleanup(server.kill)
        _, run = self.run_append(2, 1000, f"influxdb://127.0.0.1:{server.port}", *options, code=code)
        return run

    def check_rows(self, run, acknowledged, rejected, in_doubt=0):
        self.assertEqual((run.rows["acknowledged"], run.rows["rejected"], run.rows["in_doubt"]),
                         (acknowledged, rejected, in_doubt), run.causes)
        self.assertEqual((run.verification["rows_after"], run.verification["lost_at_most"]),
                         (acknowledged, 0))

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
        refusals = iter([(503, "request throttled, queue depth exceeded", 0, {"Retry-After": "1"}),
                         (500, "engine: cache-max-memory-size exceeded: (9/8)", 0, {}),
                         (429, "too many", 0, {})])
        run = self.load(lambda lines: next(refusals, (204, "", len(lines), {})), code=0)
        self.check_rows(run, 1000, 0)


if __name__ == "__main__":
    harness.main()
