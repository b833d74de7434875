"""ClickHouse by HTTP: whole runs against a real server, its refusals, and its crash."""

import os
import re
import socketserver
import threading
import urllib.error
import urllib.request

import databases
import harness
import kernel_waits
import waits
from prepare import TRIGGERS, Others


def clickhouse(url, *statements):
    """Runs statements, one per request. Returns the last output without its line break."""
    user, place, database = re.fullmatch(r"clickhouse://([^@]*)@([^/]*)/(\w*)", url).groups()
    credentials = {"X-ClickHouse-User": user}
    if user == "append_pw":
        credentials["X-ClickHouse-Key"] = harness.SECRET
    answer = ""
    for statement in statements:
        asked = urllib.request.Request(f"http://{place}/?database={database}", statement.encode(),
                                       credentials)
        try:
            with urllib.request.urlopen(asked, timeout=harness.GUARD_S) as opened:
                answer = opened.read().decode(errors="replace").removesuffix("\n")
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{statement}: {error.read().decode()}") from None
    return answer


class PrivateClickhouse(harness.PrivateServer):
    NAME = "clickhouse"
    SUPERUSER = "default"


class Greeter(socketserver.BaseRequestHandler):
    """An HTTP server that always gives the same answer."""

    def handle(self):
        while self.request.recv(65536):
            self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi\n")


class Clickhouse(databases.Loads, harness.OnServer):
    URL = os.environ.get("APPEND_TEST_CLICKHOUSE")
    PASSWORD_URL = os.environ.get("APPEND_TEST_CLICKHOUSE_PASSWORD_URL")
    VARIABLE = "APPEND_TEST_CLICKHOUSE"
    client = staticmethod(clickhouse)

    def count(self, table="syslog_table", where="1"):
        return super().count(table, where)

    def refused(self, *arguments, **more):
        ended = super().refused(*arguments, **more)
        self.assertNotIn("DB::Exception", ended.err)
        return ended


class Runs(databases.Users, Clickhouse):
    USERS = (*((f"clickhouse://append_pw@{{place}}/{{database}}{query}", harness.SECRET, 0, "")
               for query in ("", "?auth=basic", "?auth=header")),
             ("clickhouse://append_pw@{place}/{database}", "wrong", 4, "Wrong password for user append_pw"))

    def test_methods_append_the_same_rows(self):
        """The server has the same rows for a seed with every method."""
        sums = set()
        for method in ("rowbinary", "tsv", "json"):
            _, run = self.run_append(4, 2000, self.url, "--method", method, "--recreate", "--seed", 7,
                                     "--verify", "rows", "--batch", 300)
            self.assertEqual(run.json["row_verification"]["lost"], 0)
            self.assertEqual(self.count(), 2000)
            sums.add(self.sql("select sum(cityHash64(tm, n1, n2, n3, n4, n5, host, msg, ip4, ip6)),"
                              " min(tm), IPv4NumToString(min(ip4)), hex(min(ip6)) from syslog_table"))
        self.assertEqual(len(sums), 1, sums)
        self.assertIn("\t2024-01-01 00:00:00\t10.", sums.pop())

    def test_recognised_by_its_port(self):
        ended, _ = self.load_by_port("clickhouse", "--database", self.database)
        self.assertIn("clickhouse://", ended.out)
        self.assertEqual(self.count(), 200)

    def test_what_open_refuses(self):
        nowhere = re.sub(r"/\w*$", "/append_no_such_database", self.url)
        self.assertIn("doesn't exist", self.append(1, 10, nowhere, code=4).reason)
        ended = self.append(1, 10, self.url + "?no_such_setting=1", code=2)
        self.assertIn("Unknown setting no_such_setting", ended.reason)
        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Greeter) as other:
            threading.Thread(target=other.serve_forever, daemon=True).start()
            self.refused(1, 10, f"clickhouse://127.0.0.1:{other.server_address[1]}", code=4,
                         pattern="did not report a version as ClickHouse does")
            other.shutdown()
        self.run_append(1, 10, self.url + "?max_insert_block_size=1000")

    def test_engines(self):
        for engine, name in (("Log", "Log"), ("MergeTree() ORDER BY (host, n3)", "MergeTree"),
                             ("Memory", "Memory")):
            self.run_append(2, 100, self.url, "--engine", engine, "--recreate")
            full = self.sql("select engine, engine_full from system.tables where name = 'syslog_table'"
                            " and database = currentDatabase()").split("\t")
            self.assertEqual(full[0], name)
            self.assertTrue(full[1].startswith(engine), full)
        ended = self.append(2, 100, self.url, "--engine", "Log", code=2)
        self.assertIn("has the engine Memory, not Log", ended.reason)
        ended = self.append(2, 100, self.url, "--engine", "NoSuch()", "--recreate", code=2)
        self.assertIn("Unknown table engine NoSuch", ended.reason)
        self.assertEqual(self.count(), 100)
        for engine in ("", "(x)", "; drop table syslog_table"):
            self.append(2, 100, self.url, "--engine", engine, code=2)
        self.refused(1, 1, "null:", "--engine", "Log", code=2, pattern="does not apply")

    def test_a_table_of_the_users(self):
        """Columns of types that append cannot generate are left out, or have listed values, which only
        the text formats can carry."""
        self.sql("create table mine (a Int8, b Nullable(UInt16), c Float32,"
                 " d DateTime('Asia/Seoul'), e Enum8('x' = 1, 'y' = 2), f Array(Int32),"
                 " g Int32 default 5, h Int32 materialized g + 1, i FixedString(4), j Date,"
                 " k Decimal(30, 3), u UInt64) ENGINE = Log")
        columns = ("--table", "mine", "--skip-columns", "f,g", "--values", "e=x|y")
        self.assertRegex(self.append(1, 100, self.url, *columns, code=None).reason,
                         "unknown RowBinary encoding: use --method tsv")
        for method in ("tsv", "json"):
            self.run_append(1, 100, self.url, *columns, "--method", method)
        self.assertEqual(self.count("mine", "e in ('x', 'y') and h = 6 and length(i) = 4 and k >= 0"), 200)
        ended = self.append(1, 10, self.url, "--table", "mine", code=None)
        self.assertIn("cannot generate values", ended.reason)


class Tables(Others, Clickhouse):
    CREATE = "create table {} (id Int32, msg String) engine = MergeTree() order by id"
    RENAME = "rename table {} to {}"
    REFERRED = None
    TRIGGER, TRIGGERED = TRIGGERS["clickhouse"], "watch is a view that keeps its rows"

    def tables(self):
        return set(self.sql("select name from system.tables where database = currentDatabase()").split())


class Statements(databases.Workloads, Clickhouse):
    LACKS = ((("ycsb",), r"ycsb:\d+: statement 'UPDATE': ClickHouse has no UPDATE before 25\.7"),
             (("ycsb", "--prepared", "no"), r"ycsb:\d+: statement 'UPDATE': ClickHouse has no UPDATE"),
             (("ycsb", "--set", "preset=messenger"), r"ycsb:\d+: statement 'DELETE': ClickHouse has no"),
             (("oltp", "--set", "mode=point_select"),
              r"oltp:\d+: dataset 'sbtest1': ClickHouse has no secondary indexes"),
             (("mass-insert",),
              r"mass-insert:\d+: dataset 'test': clickhouse has no type for column 'NO': the database cannot"),
             (("own.lua",), r"own\.lua:1: statement 's': ClickHouse drops a temporary table"))

    def test_select_insert(self):
        """Rows that an INSERT ... VALUES adds are counted, although old servers do not report them."""
        _, run = self.run_append(4, self.url, "--workload", "select-insert", "--set", "rows=1000",
                                 "--transactions", 100)
        self.assertEqual(self.count("colemp"), 1000)
        self.assertEqual(self.count("colemp_logging"), 100)
        self.assertEqual(run.json["transactions"]["committed"], 100)
        engine = self.sql("select engine_full from system.tables where name = 'colemp' and"
                          " database = currentDatabase()")
        self.assertRegex(engine, r"MergeTree\(\) ORDER BY .*empno")

    def test_what_it_does_not_have_is_refused(self):
        """Statements that old servers do not support, prepared or not. No table is created."""
        self.script('local s = statement("s", "select 1; create  temporary table t (a Int8)", {}, '
                    '{prepared = false})\ntransaction("t", function() s:run() end, {autocommit = true})')
        super().test_what_it_does_not_have_is_refused()
        self.assertEqual(self.count("system.tables", "database = currentDatabase()"), 0)

    def test_workloads_that_append_and_read(self):
        for preset in ("c", "d", "e"):
            _, run = self.run_append(2, self.url, "--workload", "ycsb", "--set", f"preset={preset}",
                                     "--transactions", 50)
            self.assertEqual(run.json["transactions"]["committed"], 50)
            self.append("cleanup", self.url, "--workload", "ycsb")

    def test_a_query_of_the_users(self):
        ended, run = self.run_append(2, 400, self.url, "--read", "select host, count(*) from syslog_table"
                                     " where msg <> 'a;b?' group by host")
        self.assertEqual(run.rows["acknowledged"], 400, ended)
        ended = self.append(2, 400, self.url, "--read", "select nonsense from syslog_table", code=None)
        self.assertIn("nonsense", ended.reason)
        self.assertNotIn("Expected one of", ended.err)

    def test_a_name_that_would_be_another(self):
        """In a quoted name a backslash begins an escape sequence, so rows would go to another table."""
        ended = self.append(1, 10, self.url, "--table", "back\\s", code=2)
        self.assertIn("clickhouse does not allow '\\' in names", ended.reason)


class Kernel(kernel_waits.KernelWaits, Clickhouse):
    pass


class Waits(waits.Checked, Clickhouse):
    """--waits: polls see which sessions are in a query, and the query log says what its time was spent on."""

    def test_delayed_inserts(self):
        """The more parts, the longer the server delays an insert. It counts all delays, and append measures
        the inserts: their quotient is the share."""
        engine = ("MergeTree() ORDER BY n3 SETTINGS parts_to_delay_insert = 1, parts_to_throw_insert = 300,"
                  " max_delay_to_insert = 1")
        self.run_append(1, 10, self.url, "--engine", engine)
        self.sql("system stop merges")
        self.addCleanup(self.sql, "system start merges")
        # 170 parts: the next insert is delayed for 50 ms
        self.run_append(1, 170, self.url, "--batch", 1, "--read", "none")
        _, run = self.run_append(1, self.url + "?log_queries=1", "--duration", "15s", "--batch", 10,
                                 "--read", "none", "--waits")
        found = self.check_waits(run)
        growth = {count["name"]: count["growth"] for count in found["counters"]}
        inserts_s = run.json["histograms"]["append"]["sum_ns"] / 1e9
        share = self.shares(run, "append")["other"]
        delayed = re.search(r"DelayedInserts (\d+) %", share["events"])
        expected = growth["system.events.DelayedInsertsMilliseconds"] / 1000 / inserts_s
        self.assertGreater(expected, 0.4)
        self.assertAlmostEqual(int(delayed[1]), 100 * expected, delta=8)
        self.assertEqual((found["polls_failed"], found["missing"]), (0, None))

    def test_statements(self):
        """A sleep is in no counter, and each statement has the times of its own queries."""
        script = self.folder / "two.lua"
        script.write_text("""
local nap = statement("nap", "select sleep(0.1)")
local count = statement("count", "select count(*) from (select number from numbers(2000000)"
    .. " where cityHash64(number) % 7 = 0)")
transaction("round", function() nap:run() count:run() end, {autocommit = true})
""")
        _, run = self.run_append(2, self.url + "?log_queries=1", "--workload", script, "--duration", "8s", "--waits")
        self.check_waits(run)
        nap, count = self.shares(run, "statement.nap"), self.shares(run, "statement.count")
        naps = run.json["histograms"]["statement.nap"]
        slept = 100 * 0.1e9 * naps["total"] / naps["sum_ns"]  # on a busy machine the rest is waiting for a CPU
        self.assertGreater(nap["other"]["share_percent"], slept - 10)
        self.assertIn("in no counter", nap["other"]["events"])
        self.assertGreater(count["cpu"]["share_percent"], 3 * nap.get("cpu", {"share_percent": 0})["share_percent"])
        self.assertRegex(count["cpu"]["events"], r"UserTime \d+ %")

    def test_without_the_log(self):
        """Without the query log, the report shows the time in queries without details, and says what is missing."""
        ended, run = self.run_append(2, self.url + "?log_queries=0", "--duration", "3s", "--waits")
        self.check_waits(run)
        self.assertIn("the setting log_queries", run.json["waits"]["missing"])
        self.assertRegex(self.shares(run, "append")["other"]["events"], r"^query \d+ %$")
        self.assertIn("the time in queries is not divided", " ".join(ended.out.split()))


class Pushback(Clickhouse):
    def test_too_many_parts(self):
        """Many small inserts without merges: the server pushes back, and each row arrives once."""
        engine = "MergeTree() ORDER BY n3 SETTINGS parts_to_delay_insert = 5, parts_to_throw_insert = 5"
        self.run_append(1, 10, self.url, "--engine", engine)
        self.sql("system stop merges")
        self.addCleanup(self.sql, "system start merges")
        _, run = self.run_append(4, "--duration", 1, self.url, "--batch", 10, "--read", "none",
                                 "--verify", "rows", code=None)
        self.assertGreater(int(run.table("summary.csv")[0]["busy_retries"]), 3)
        busy = [cause for cause in run.json["causes"] if cause["phase"] == "busy"]
        self.assertEqual([cause["native_code"] for cause in busy], [252])
        self.assertIn("Too many parts", busy[0]["text"])
        self.assertEqual(run.json["row_verification"]["lost"], 0)
        self.assertEqual(self.count(), 10 + run.rows["acknowledged"])

    def test_inserts_that_are_stored_in_part(self):
        """The server stores one partition, or the table's rows and not a view's, and answers with an error."""
        number = "toInt32(s)"  # fails for 'x'
        self.sql(f"create table divided (s String) engine = MergeTree() partition by s order by {number}",
                 "create table seen (s String) engine = MergeTree() order by s",
                 f"create materialized view watch engine = Memory as select {number} as n from seen")
        script = self.script('local s = statement("s", "insert into divided values (\'5\'), (\'x\')")\n'
                             'transaction("t", function() s:run() end, {autocommit = true})')
        for table in ("divided", "seen"):
            _, run = self.run_append(1, 200, self.url, "--table", table, "--values", "s=5|x", "--batch", 20,
                                     "--on-drop", "reconnect", "--read", "none", code=None)
            self.assertEqual((run.rows["rejected"], run.rows["in_doubt"]), (0, 200))
            self.assertEqual(run.verification["in_doubt_arrived"], self.count(table))
            self.assertGreater(self.count(table), 0)
        _, run = self.run_append(1, self.url, "--workload", script, "--transactions", 1, code=None)
        self.assertEqual(run.json["transactions"]["in_doubt"], 1)


class Faults(databases.Killed, harness.Case):
    SESSIONS = 8
    KILLED = ("--batch", 50, "--read", "none", "--rate", 2000, "--on-drop", "reconnect:1000")

    def setUp(self):
        super().setUp()
        self.server = PrivateClickhouse(self)
        self.url = self.server.url

    def count(self, table="syslog_table"):
        return int(clickhouse(self.url, f"select count(*) from {table}"))


if __name__ == "__main__":
    harness.main()
