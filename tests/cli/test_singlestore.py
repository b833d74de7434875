"""Whole runs through SingleStore's Data API, against a stand-in for the server. They test that append
behaves as documented; they say nothing about a real server."""

import json
import pathlib
import socket
import threading
import time

import databases
import harness
import singlestore_standin


class SinglestoreCase(databases.OnStandin):
    SERVER, SETTINGS = singlestore_standin.Server, {"password": harness.SECRET}
    URL = "singlestore+http://root@127.0.0.1:{port}/db"

    def environment(self, **more):
        return super().environment(**{"APPEND_PASSWORD": harness.SECRET, **more})

    def count(self, table="syslog_table"):
        return self.standin.rows(f"select count(*) from {table}")[0][0]


class Runs(databases.StandinRuns, SinglestoreCase):
    # answers arrive in chunks that split the JSON anywhere
    LOADS = ((20, harness.fewer(20000), (), {}), (3, 1001, ("--batch", 7), {"chunk": 3}),
             (1, 1, (), {"chunk": 1}), (5, 8, (), {"chunk": 7}))

    def stored(self):
        for row in self.standin.rows(f"select {', '.join(databases.NAMES)} from syslog_table"):
            values = dict(zip(databases.NAMES, row))
            yield {**values, "ip4": socket.inet_ntop(socket.AF_INET, values["ip4"]),
                   "ip6": socket.inet_ntop(socket.AF_INET6, values["ip6"])}

    def test_other_types(self):
        self.stand_in()
        path = self.folder / "own.sql"
        path.write_text("create table own (a tinyint unsigned, b bool, c decimal(18,4), d char(5),"
                        " e varbinary(7), f json, g date, h time(6), i datetime, j mediumtext,"
                        " k binary(16) comment 'uuid', l varchar(40) comment 'ipv6', m bigint not null)")
        self.load(2, 400, "--table", "own", "--schema-file", path)
        rows = self.standin.rows("select typeof(c), c, d, typeof(e), length(e), f, g, h, i, typeof(k),"
                                 " length(k), l from own")
        self.assertEqual(len(rows), 400)
        for kind, c, d, e, e_length, f, g, h, _, k, k_length, ip in rows:
            self.assertEqual((kind, e, k, k_length), ("text", "blob", "blob", 16))
            self.assertRegex(c, r"^-?\d+\.\d{4}$")
            self.assertRegex(g + " " + h, r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?$")
            self.assertLessEqual((len(d), e_length), (5, 7))
            self.assertIn(":", ip)
            json.loads(f)

    def test_a_batch_is_cut_by_bytes(self):
        """The body of a request has at most 1 MB, however many rows a batch has."""
        self.stand_in()
        rows = harness.fewer(20000)
        _, run = self.load(2, rows, "--batch", rows // 2, "--verify", "rows")
        self.assertEqual((run.rows["acknowledged"], self.count()), (rows, rows))
        self.assertLessEqual(self.standin.largest_body, 1000 * 1000)
        if harness.SLOW == 1:
            self.assertGreater(self.standin.largest_body, 980 * 1000)
            self.assertGreaterEqual(self.standin.rules.counts["exec"], 2 * 3)

    def test_a_row_that_is_too_large(self):
        self.stand_in()
        script = self.folder / "wide.lua"
        script.write_text("""
            local wide = format(string.rep("x", 1100000) .. "%d", row())
            dataset("wide", 10, {{"n", "int64", row()}, {"c", "text", wide}})
            local read = statement("read", "SELECT n FROM wide WHERE n = ?", {"int64"})
            transaction("one", function() read:one(1) end, {autocommit = true})
        """)
        ended = self.append("prepare", "1", self.url, "--workload", script, code=2)
        self.assertRegex(ended.reason, r"a row exceeds the Data API's limit of 1 MB")

    def test_recognised_by_its_port(self):
        """The server is recognised by its pong, which arrives byte by byte."""
        self.stand_in(chunk=1)
        self.load_by_port("singlestore+http", "--user", "root", "--database", "db")

    def test_check(self):
        self.stand_in()
        ended = self.append("check", "50", self.url, "--json")
        self.assertEqual(json.loads(ended.out)["sessions"], 50)
        self.assertIn("max_connection_threads", ended.out)
        self.standin.variables["max_connection_threads"] = 20
        ended = self.append("check", "50", self.url, code=4)
        self.assertRegex(ended.reason, r"max_connection_threads")
        self.assertRegex(ended.out, r"SET GLOBAL max_connection_threads = 50")

    def test_queries(self):
        self.stand_in()
        _, run = self.load(2, 400, "--read", "select n2, count(*), null, 1.5 from syslog_table group by n2")
        self.assertEqual(run.rows["acknowledged"], 400)
        ended = self.append(2, 10, self.url, "--read", "select nonsense from", "--out", self.out(), code=4)
        self.assertRegex(ended.reason, r"You have an error in your SQL syntax")

    def test_idle_connections_that_the_server_ends(self):
        """The server closes the connection after every third answer, without notice: no row is lost."""
        self.stand_in(close_every=3)
        _, run = self.load(4, 2000, "--rate", "1000", "--verify", "rows")
        self.assertEqual((run.rows["acknowledged"], self.count()), (2000, 2000))
        self.assertGreater(self.standin.accepted, 2 * 4)
        self.assertEqual(run.json["counters"]["connections_lost"], 0)


class Scripts(SinglestoreCase):
    def workload(self, command, *options, **more):
        return self.append(*command, self.url, "--workload", "select-insert", "--set", "rows=1000", *options,
                           **more)

    def test_select_insert(self):
        self.stand_in()
        self.workload(("prepare", "4"))
        self.assertEqual(self.count("colemp"), 1000)
        self.assertEqual(self.standin.rows("select ename from colemp where empno = 7")[0][0], "emp000007")
        out = self.out()
        self.workload(("8",), "--transactions", "2000", "--out", out)
        run = self.check_run(out, 0)
        self.assertEqual(run.json["transactions"]["committed"], 2000)
        self.assertEqual(self.count("colemp_logging"), 2000)
        self.assertEqual(self.count("colemp_logging natural join colemp"), 2000)
        self.workload(("cleanup", "--drop=colemp,colemp_logging"))
        self.assertEqual(self.count("main.sqlite_master where name like 'colemp%'"), 0)

    def test_transactions_are_refused(self):
        self.stand_in()
        self.refused("2", self.url, "--workload", "oltp", "--transactions", "10", code=2,
                     pattern=r"singlestore\+http has no transactions")

    def test_built_in_workloads(self):
        self.stand_in()
        for workload, sets in (("mass-insert", "batch=10"), ("ycsb", "preset=messenger"),
                               ("oltp", "table_size=500,skip_trx=true"), ("tpcb", "mode=select-only")):
            _, run = self.run_append(2, self.url, "--workload", workload, "--set", sets,
                                     "--transactions", 40)
            self.assertEqual(run.json["transactions"]["committed"], 40)

    def test_invariants(self):
        """Without transactions the queries of the claims are run as they are."""
        self.stand_in()
        script = self.folder / "claims.lua"
        script.write_text("""
            dataset("t", 4, {{"id", "int32", row(), key = true}})
            local get = statement("get", "SELECT id FROM t WHERE id = 1")
            transaction("look", function() get:run() end, {autocommit = true})
            invariant("ids are below 4", "SELECT id FROM t WHERE id > 3")
            invariant("ids are below 5", "SELECT id FROM t WHERE id > 4")""")
        _, run = self.run_append(1, self.url, "--workload", script, "--transactions", 5, code=1)
        self.assertEqual([(entry["state"], entry["rows"], entry["first"]) for entry in run.json["invariants"]],
                         [("done", 1, "4"), ("done", 0, None)])

    def test_values_there_and_back(self):
        """Integers that a double cannot hold, bytes, quotes, NULL."""
        self.stand_in()
        script = self.folder / "values.lua"
        script.write_text(r"""
            local values = dataset("keep", 0, {
                {"id", "int64", key = 1}, {"t", "text(100)"}, {"b", "bytes(20)"}, {"d", "decimal(18,2)"},
                {"m", "timestamp(3)"}, {"f", "float64"},
            })
            local put = statement("put", "INSERT INTO keep VALUES (?, ?, ?, ?, '2026-02-03 04:05:06.789', ?)",
                {"int64", "text(100)", "bytes(20)", "decimal(18,2)", "float64"}, {adds_to = values})
            local get = statement("get", "SELECT id, t, f FROM keep WHERE id = ?", {"int64"})
            local i = 0
            transaction("one", function()
                i = i + 1
                local id = 9007199254740993 + 2 * i
                put:run(id, "it's \"?\" \\ \n \t é " .. i, "\0\1\255'", "123456789012.25", 0.1)
                local back, text, real = get:one(id)
                check(back == id and text == "it's \"?\" \\ \n \t é " .. i, "same")
                check(math.abs(real - 0.1) < 1e-12, "near")
            end, {autocommit = true})
        """)
        out = self.out()
        self.append("1", self.url, "--workload", script, "--transactions", "20", "--out", out)
        run = self.check_run(out, 0)
        self.assertEqual(run.json["transactions"]["committed"], 20)
        rows = self.standin.rows("select id, t, b, d, m from keep order by id")
        self.assertEqual([row[0] for row in rows], [9007199254740993 + 2 * i for i in range(1, 21)])
        self.assertEqual(rows[0][1:], ("it's \"?\" \\ \n \t é 1", b"\0\1\xff'", "123456789012.25",
                                       "2026-02-03 04:05:06.789"))


class Refusals(databases.Users, SinglestoreCase):
    REFUSED = (4, r"Unauthorized: user or password is wrong \(--password-file")
    USERS = (("singlestore+http://root@{place}/db?auth=bearer", harness.SECRET, 0, ""),
             ("singlestore+http://{place}/db", harness.SECRET, 0, ""),
             ("singlestore+http://root@{place}/db", "wrong", *REFUSED),
             ("singlestore+http://other@{place}/db", harness.SECRET, *REFUSED))

    def test_what_is_not_there(self):
        self.stand_in()
        ended = self.append(1, 10, self.url[:-2] + "other", code=4)
        self.assertRegex(ended.reason, r"Unknown database 'other'")
        ended = self.append(1, 10, self.url, "--table", "mine", code=None)
        self.assertRegex(ended.reason, r"no table \"mine\"|table 'mine'")
        ended = self.append(1, 10, self.url.replace(str(self.standin.port), "1"), code=4)
        self.assertRegex(ended.reason, r"nothing listens on 127\.0\.0\.1:1")
        ended = self.append(1, 10, self.url + "?nonsense=1", code=None)
        self.assertRegex(ended.reason, r"nonsense")

    def test_a_server_that_does_not_answer(self):
        """The server says only pong: the connect ends at its own deadline."""
        self.stand_in("wait=query@1+:60000")
        ended = self.append(1, 10, self.url, "--connect-timeout", "1s", code=4)
        self.assertRegex(ended.reason, r"127\.0\.0\.1:\d+: .*(timed out|within)")

    def refuse(self, rule, *options, code=1, rows=4000):
        self.stand_in()
        self.load(1, 10)
        self.standin.rules.add(rule)
        _, run = self.load(4, rows, *options, code=code)
        self.check_bounds(run, 10)
        return run

    def test_an_error_inside_of_a_200(self):
        run = self.refuse("inside=exec@5:1264:Out of range value for column 'n1' at row 3")
        self.assertEqual((run.rows["rejected"], run.rows["in_doubt"]), (100, 0))
        self.assertEqual([(c["native_code"], c["kind"]) for c in run.causes], [(1264, "data")])
        run = self.refuse("inside=query@20:1105:Leaf 3 is gone")
        self.assertEqual(run.rows["acknowledged"], 4000)
        self.assertEqual([(c["native_code"], c["text"]) for c in run.causes], [(1105, "Leaf 3 is gone")])

    def test_errors_of_the_server(self):
        for rule, kind, number, rejected, doubt in (
                ("status=exec@5:500:Error 1062: Duplicate entry '7' for key 'PRIMARY'",
                 "duplicate", 1062, 100, 0),
                ("status=exec@5:500:Error 1712 (HY000): Not enough memory", "server", 1712, 100, 0),
                ("status=exec@5:500:partitions are offline", "connection", 500, 0, 100),
                ("late=exec@5:503:busy", "connection", 503, 0, 100),
                ("late=exec@5:429:slow down", "connection", 429, 0, 100),
                ("status=exec@5:413:too large", "data", 413, 100, 0),
                ("late=exec@5:504:upstream request timeout", "timeout", 504, 0, 100),
                ("late=exec@5:408:slow", "timeout", 408, 0, 100),
                ("wrong=exec@5", "server", 0, 0, 100)):
            with self.subTest(rule=rule):
                run = self.refuse(rule)
                self.assertEqual((run.rows["rejected"], run.rows["in_doubt"]), (rejected, doubt))
                self.assertEqual(run.causes[0]["native_code"], number)
                if kind:
                    self.assertEqual(run.causes[0]["kind"], kind)

    def test_a_server_that_is_busy(self):
        """Now and then the server is busy and stores nothing: rows are sent again, and retries counted."""
        run = self.refuse("status=exec@%7:500:Error 1040: Too many connections", code=0)
        self.assertEqual(run.rows["acknowledged"], 4000)
        self.assertGreaterEqual(run.json["counters"]["busy_retries"], 40 // 7)

    def test_part_of_an_append(self):
        """An append of several requests, one of which is refused: the requests before it count."""
        if harness.SLOW > 1:
            return
        self.stand_in()
        self.load(1, 10)
        self.standin.rules.add("inside=exec@3:1264:Out of range value")
        _, run = self.load(1, 20000, "--batch", 20000, code=1)
        self.assertEqual(run.rows["acknowledged"], self.count() - 10)
        self.assertGreater(run.rows["acknowledged"], 5000)
        self.assertEqual(run.rows["acknowledged"] + run.rows["rejected"], 20000)
        # after a lost connection only the rows of its request are in doubt
        for seed, action in enumerate(("lose", "drop")):
            self.standin.rules.clear()
            self.standin.rules.add(action + "=exec@3")
            _, run = self.load(1, 20000, "--batch", 20000, code=1)
            self.assertGreater(run.rows["not_sent"], 5000)
            self.standin.rules.add(action + "=exec@3")
            _, run = self.load(1, 20000, "--batch", 20000, "--on-drop", "reconnect", "--verify", "rows",
                               "--seed", seed, code=1)
            self.assertGreater(run.rows["in_doubt"], 1000)
            self.assertEqual(run.rows["acknowledged"] + run.rows["in_doubt"], 20000)
            found = run.json["row_verification"]
            self.assertEqual((found["lost"], found["in_doubt_present"]),
                             (0, run.rows["in_doubt"] if action == "lose" else 0))


class Losses(databases.StandinEnds, SinglestoreCase):
    SLOW, SENT = "wait=exec@%5:20", "exec"

    def test_hang_ups(self):
        for step, number in (("exec", 8), ("query", 30)):
            for action in ("drop", "lose", "cut"):
                with self.subTest(step=step, action=action):
                    self.stand_in()
                    self.load(1, 10)
                    self.standin.rules.add(f"{action}={step}@{number}")
                    _, run = self.load(4, 4000, code=1)
                    self.check_bounds(run, 10)
                    self.assertEqual(run.sessions["dropped"], 1)
                    self.assertEqual({cause["kind"] for cause in run.causes}, {"connection"})
                    self.assertEqual(run.rows["in_doubt"], 100 if step == "exec" else 0)

    def test_a_server_that_comes_back(self):
        self.stand_in()
        out = self.out()
        process = self.start(4, 20000, self.url, "--rate", "10000", "--on-drop", "reconnect",
                             "--verify", "rows", "--out", out)
        harness.wait_until(lambda: self.standin.rules.counts["exec"] > 20, "20 appends")
        self.standin.kill()
        timer = threading.Timer(0.5, self.standin.restart)
        timer.start()
        self.addCleanup(timer.join)
        self.end(process, None)
        run = harness.Run(out)
        self.check_ledgers(run)
        self.check_bounds(run)
        self.assertGreaterEqual(run.json["counters"]["reconnects"], 1)

    def test_interrupted_while_it_waits(self):
        self.stand_in("wait=exec@9+:60000")
        out = self.out()
        process = self.start(4, 1000000, self.url, "--out", out)
        harness.wait_until(lambda: self.standin.rules.counts["exec"] >= 10, "a request that is not answered")
        time.sleep(0.1)
        process.send_signal(harness.signal.SIGINT)
        self.end(process, 130)
        self.check_bounds(self.check_run(pathlib.Path(out), 130))


if __name__ == "__main__":
    harness.main()
