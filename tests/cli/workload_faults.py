"""Scripts whose transactions fail, on any server: a mixin for test_NAME_workload_faults.py."""

import subprocess
import signal

import harness

TABLE = 'dataset("t", 100, {{"id", "int32", row(), key = true}})\n'
GET = 'local get = statement("get", "SELECT id FROM t WHERE id = ?", {"int32"})\n'

# A search that takes some 4 x 10^15 steps in a C function, which does not notice the end of the run.
ENDLESS_PATTERN = 'local a = ("a"):rep(40) a:find(("a*"):rep(20) .. "b")'

# Two rows that sessions update in opposite orders, and the key of each try: a counter gives a
# transaction the same number when it is retried.
CROSS = """
dataset("pair", 2, {{"id", "int32", row(), key = true}, {"n", "int64", 0}})
local add = statement("add", "UPDATE pair SET n = n + 1 WHERE id = ?", {"int32"})
local number, key, drawn = counter("number", 0), uniform(1, 1000000), {}
transaction("cross", function()
    local i, k = number:next(), key()
    if drawn[i] then check(drawn[i] == k, "the same key again") end
    drawn[i] = k
    local first = session.id % 2 + 1
    add:run(first)
    think(0.05)
    add:run(3 - first)
end)
"""

# Rows of `log` stay only if the update of `pair` after them succeeded.
WAIT = """
dataset("pair", 2, {{"id", "int32", row(), key = true}, {"n", "int64", 0}})
local log = dataset("log", 0, {{"a", "int32"}})
local limit = statement("limit", {%s}, {}, {prepared = false})
local put = statement("put", "INSERT INTO log VALUES (?)", {"int32"}, {adds_to = log})
local add = statement("add", "UPDATE pair SET n = n + 1 WHERE id = ?", {"int32"})
on_session(function() limit:run() end)
transaction("wait", function()
    put:run(1)
    add:run(2)
    put:run(2)
end)
"""

# Two writes in each transaction.
DOUBT = """
local log = dataset("log", 0, {{"a", "int32"}})
local put = statement("put", "INSERT INTO log VALUES (?)", {"int32"}, {adds_to = log})
transaction("twice", function() put:run(1) put:run(2) end)
"""

# The same without a transaction.
ALONE = """
local log = dataset("log", 0, {{"a", "int32"}})
local put = statement("put", "INSERT INTO log VALUES (?)", {"int32"}, {adds_to = log})
transaction("once", function() put:run(1) end, {autocommit = true})
"""

# The database undoes the first two tries of each transaction, but not the third.
THIRD = """
local number, tries = counter("number", 0), {}
local fail = statement("fail", "%s", {}, {prepared = false})
transaction("third", function()
    local i = number:next()
    tries[i] = (tries[i] or 0) + 1
    check(tries[i] == 3, "the third try")
    found(tries[i] == 3)
    if tries[i] < 3 then fail:run() end
end)
"""

# Statements that end a transaction that append began.
ENDED = """
local log = dataset("log", 0, {{"a", "int32"}})
local put = statement("put", "INSERT INTO log VALUES (?)", {"int32"}, {adds_to = log})
local inner = statement("inner", [[%s]], {}, {prepared = %s})
transaction("x", function() put:run(1) inner:run() put:run(2) rollback("why") end)
"""

# A statement that fails from its hundredth execution on.
FULL = """
dataset("pair", 2, {{"id", "int32", row(), key = true}, {"n", "int64", 0}}, {create =
    "CREATE TABLE pair (id INT NOT NULL PRIMARY KEY, n BIGINT, CHECK (n <= 100))"})
local log = dataset("log", 0, {{"a", "int32"}})
local put = statement("put", "INSERT INTO log VALUES (?)", {"int32"}, {adds_to = log})
local add = statement("add", "UPDATE pair SET n = n + 1 WHERE id = ?", {"int32"})
transaction("fill", function() put:run(1) add:run(1) end)
"""


# The statements of a transaction of oltp by its parameters, counted by their first word.
OLTP = {
    "mode=read_only": {"select": 14, "update": 0, "delete": 0, "insert": 0},
    "mode=read_write": {"select": 14, "update": 2, "delete": 1, "insert": 1},
    "mode=read_write,extra_update=true": {"select": 14, "update": 3, "delete": 1, "insert": 1},
    "mode=write_only": {"select": 0, "update": 2, "delete": 1, "insert": 1},
    "mode=point_select": {"select": 1, "update": 0, "delete": 0, "insert": 0},
}


class Case(harness.Case):
    """Runs of scripts, with the checks that hold for all of them."""

    def script(self, text, name="script.lua"):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def run_script(self, sessions, url, script, *arguments, code=0):
        """Runs a script. Returns (Ended, Run)."""
        return self.run_append(sessions, url, "--workload", script, "--log-transactions", *arguments, code=code)

    def check_run(self, folder, code):
        run = super().check_run(folder, code)
        self.check_transactions(run)
        return run

    def check_transactions(self, run):
        ledger = run.json["transactions"]
        self.assertEqual(ledger["begun"], ledger["committed"] + ledger["rolled_back"]
                         + ledger["failed"] + ledger["in_doubt"] + ledger["unfinished"], ledger)
        self.assertEqual(ledger["tries"], ledger["begun"] + ledger["retries"], ledger)
        self.assertEqual(ledger["retries"], sum(
            ledger["retries_" + cause] for cause in ("deadlock", "serialization", "busy", "duplicate")))
        for row in run.table("operations.csv"):
            self.assertEqual(int(row["sent"] or 0), int(row["answered"] or 0)
                             + int(row["refused"] or 0) + int(row["unanswered"] or 0), row)


class Restarts(Case):
    """A private server dies and is started again; `ask` returns the only value of a query."""

    SERVER = None
    OPTIONS = {}

    def test_a_crash_and_a_restart(self):
        sessions = 100 // harness.SLOW
        server = self.SERVER(self, **self.OPTIONS)
        words = ("--workload", "oltp", "--set", "table_size=5000,delete_inserts=0,range_size=10")
        self.append("prepare", 4, server.url, *words)
        before = self.ask(server.url, "select sum(k) from sbtest1")
        out = self.out()
        process = self.start(sessions, server.url, *words, "--duration", "60s", "--rate",
                             200 // harness.SLOW, "--on-drop", "reconnect:1000", "--log-transactions",
                             "--out", out)
        self.wait_for_interval(process, out, lambda row: int(row["sessions_alive"]) >= sessions
                               and int(row["transactions"]) > 0, "all sessions at work")
        server.kill()
        self.wait_for_interval(process, out, lambda row: int(row["sessions_alive"]) == 0,
                               "the outage")
        server.restart()
        self.wait_for_interval(process, out, lambda row: int(row["reconnects"]) > 0
                               and int(row["sessions_alive"]) >= sessions
                               and int(row["transactions"]) > 0, "all sessions at work again")
        process.send_signal(signal.SIGINT)
        ended = self.end(process, 130)
        run = self.check_run(out, 130)
        ledger = run.json["transactions"]
        self.assertEqual(run.sessions["dropped"], 0, ended)
        self.assertGreaterEqual(run.json["counters"]["reconnects"], sessions)
        self.assertGreater(ledger["committed"], 0)
        added = self.ask(server.url, "select sum(k) from sbtest1") - before
        self.assertTrue(ledger["committed"] <= added <= ledger["committed"] + ledger["in_doubt"],
                        (added, ledger))


class Faults(Case):
    """The server of `URL`. `LIMIT`: statement that limits a session's wait for a lock to a second."""

    LIMIT = None
    AGAIN = None  # a statement with an error that makes the transaction retry
    ENDS = ()  # statements that end a transaction, whether they are prepared, rows that they leave

    def number(self, statement):
        return int(self.sql(statement))

    def prepare(self, script, *arguments):
        self.append("prepare", 2, self.url, "--workload", script, *arguments)

    def hold(self):
        """Locks row 2 of pair. Returns an object whose release() unlocks it."""
        client = subprocess.Popen(self.client_command(), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)

        def release():
            if client.poll() is None:
                client.stdin.close()
                client.stdout.read()
                client.wait()
            client.stdout.close()

        client.release = release
        self.addCleanup(release)
        client.stdin.write("begin; update pair set n = n where id = 2; select 'held';\n")
        client.stdin.flush()
        while "held" not in client.stdout.readline():
            self.assertIsNone(client.poll())
        return client

    def test_a_deadlock_is_tried_again_with_the_same_keys(self):
        script = self.script(CROSS)
        _, run = self.run_script(2, self.url, script, "--transactions", 10)
        ledger = run.json["transactions"]
        self.assertEqual((ledger["begun"], ledger["committed"]), (10, 10), ledger)
        self.assertGreater(ledger["retries_deadlock"], 0, ledger)
        self.assertTrue(0 < ledger["checks"] <= ledger["retries"], ledger)
        self.assertEqual(ledger["checks_failed"], 0)
        self.assertEqual(self.number("select sum(n) from pair"), 20)
        self.assertNotIn("failed", run.json["outcome"]["verdict_reason"])

    def test_checks_of_tries_that_are_undone(self):
        _, run = self.run_script(2, self.url, self.script(THIRD % self.AGAIN), "--transactions", 10)
        ledger = run.json["transactions"]
        self.assertEqual((ledger["committed"], ledger["retries"]), (10, 20), ledger)
        self.assertEqual((ledger["checks"], ledger["checks_failed"]), (10, 0), ledger)
        counters = run.json["counters"]
        self.assertEqual((counters["found"], counters["not_found"]), (10, 0))
        self.assertEqual(run.json["outcome"]["verdict"], "VALID", run.json["outcome"])
        # Each transaction has three tries. The latency "try" is the time of the last try, the latency
        # "transaction" the time of all three tries.
        latencies = run.json["latencies"]
        self.assertLess(latencies["try"]["mean_ms"], latencies["transaction"]["mean_ms"])

    def check_ended(self, sql, pattern, prepared, rows):
        script = self.script(ENDED % (sql, prepared))
        self.prepare(script)
        before = self.number("select count(*) from log")
        ended, run = self.run_script(1, self.url, script, "--transactions", 5, code=2)
        self.assertRegex(ended.reason, r"script\.lua:4: 'inner': " + pattern)
        ledger = run.json["transactions"]
        self.assertEqual((ledger["begun"], ledger["rolled_back"], ledger["failed"]), (1, 0, 1), ledger)
        self.assertEqual(self.number("select count(*) from log") - before, rows)
        self.assertEqual(int(run.table("summary.csv")[0]["rows_surplus"]), 0)

    def test_a_statement_that_ends_the_transaction(self):
        for sql, prepared in (("COMMIT", "false"), ("-- now\nROLLBACK", "false"), ("BEGIN", "false"),
                              ("SELECT 1; COMMIT; BEGIN", "false"), ("COMMIT AND CHAIN", "true")):
            with self.subTest(sql):
                self.check_ended(sql, "transaction 'x' has a BEGIN and COMMIT of its own", prepared, 0)

    def test_a_statement_that_ends_the_transaction_unseen(self):
        for sql, prepared, rows in self.ENDS:
            with self.subTest(sql):
                self.check_ended(sql, "the statement ended the transaction", prepared, rows)

    def test_savepoints(self):
        script = self.script("""
            local log = dataset("log", 0, {{"a", "int32"}})
            local put = statement("put", "INSERT INTO log VALUES (?)", {"int32"})
            local save = statement("save", "SAVEPOINT a", {}, {prepared = false})
            local back = statement("back", "ROLLBACK TO SAVEPOINT a", {}, {prepared = false})
            transaction("x", function() put:run(1) save:run() put:run(2) back:run() end)""")
        _, run = self.run_script(2, self.url, script, "--transactions", 10)
        self.assertEqual(run.json["transactions"]["committed"], 10)
        self.assertEqual(self.number("select sum(a) from log"), 10)

    def test_a_deadlock_with_one_try_is_a_failure(self):
        script = self.script(CROSS)
        ended, run = self.run_script(2, self.url, script, "--transactions", 10, "--tries", 1,
                                     code=1)
        ledger = run.json["transactions"]
        self.assertEqual((ledger["begun"], ledger["retries"]), (10, 0), ledger)
        self.assertGreater(ledger["failed"], 0, ledger)
        self.assertEqual(self.number("select sum(n) from pair"), 2 * ledger["committed"])
        self.assertEqual({(cause["kind"], cause["name"]) for cause in run.causes},
                         {("deadlock", "add")}, run.causes)
        self.assertRegex(ended.reason, r"\d+ transactions? failed")
        _, run = self.run_script(2, self.url, script, "--transactions", 10, "--tries", 1,
                                 "--max-failed", "99%")
        self.assertEqual(run.json["outcome"]["verdict"], "DEGRADED")

    def test_a_lock_that_is_waited_for_too_long_undoes_the_whole(self):
        script = self.script(WAIT % self.LIMIT)
        self.prepare(script)
        client = self.hold()
        out = self.out()
        process = self.start(1, self.url, "--workload", script, "--transactions", 3, "--out", out)
        self.wait_for_interval(process, out, lambda row: row["retries"] != "0", "a retry")
        client.release()
        self.end(process, 0)
        run = self.check_run(out, 0)
        ledger = run.json["transactions"]
        self.assertEqual(ledger["committed"], 3, ledger)
        self.assertGreater(ledger["retries_busy"], 0, ledger)
        self.assertEqual(self.number("select count(*) from log"), 6)
        self.assertEqual(self.number("select n from pair where id = 2"), 3)
        client = self.hold()
        _, run = self.run_script(1, self.url, script, "--transactions", 1, "--tries", 1, code=1)
        client.release()
        self.assertEqual(run.json["transactions"]["failed"], 1)
        self.assertEqual(self.number("select count(*) from log"), 6)

    def check_doubt(self, script, what, rows_each, arrives):
        """One transaction is in doubt; the table and the report show whether it was committed."""
        script = self.script(script)
        self.prepare(script)
        before = self.number("select count(*) from log")
        url = self.without_answer(what, 3, arrives)
        ended, run = self.run_script(1, url, script, "--transactions", 5, "--on-drop", "reconnect",
                                     "--prepared", "no", code=1)
        ledger = run.json["transactions"]
        self.assertEqual((ledger["begun"], ledger["committed"], ledger["in_doubt"]), (5, 4, 1),
                         ledger)
        self.assertRegex(ended.reason, "1 of 5 transactions is in doubt")
        rows = self.number("select count(*) from log") - before
        self.assertEqual(rows, rows_each * (5 if arrives else 4))
        table = run.table("summary.csv")[0]
        self.assertEqual(int(table["rows_added"]), rows_each * 4)
        self.assertEqual(int(table["rows_lost"] or 0), 0)
        self.assertEqual(int(table["rows_surplus"] or 0), 0)

    def test_a_commit_that_does_not_arrive(self):
        self.check_doubt(DOUBT, b"commit", 2, False)

    def test_a_commit_whose_answer_does_not_arrive(self):
        self.check_doubt(DOUBT, b"commit", 2, True)

    def test_a_connection_that_is_lost_before_commit_is_no_doubt(self):
        script = self.script(DOUBT)
        self.prepare(script)
        _, run = self.run_script(1, self.without_answer(b"INSERT INTO log", 4, True), script,
                                 "--transactions", 5, "--on-drop", "reconnect", "--prepared", "no",
                                 code=1)
        ledger = run.json["transactions"]
        self.assertEqual((ledger["committed"], ledger["failed"], ledger["in_doubt"]), (4, 1, 0))
        self.assertEqual(self.number("select count(*) from log"), 8)

    def test_a_write_of_its_own_whose_answer_does_not_arrive(self):
        self.check_doubt(ALONE, b"INSERT INTO log", 1, True)

    def test_a_statement_that_starts_to_fail(self):
        script = self.script(FULL)
        ended, run = self.run_script(4, self.url, script, "--transactions", 150, code=1)
        ledger = run.json["transactions"]
        self.assertEqual((ledger["begun"], ledger["committed"], ledger["failed"]), (150, 100, 50))
        self.assertEqual(self.number("select count(*) from log"), 100)
        self.assertEqual([(cause["phase"], cause["name"], cause["count"]) for cause in run.causes],
                         [("statement", "add", 50)], run.causes)
        rows = {row["operation"]: row for row in run.table("operations.csv")}
        self.assertEqual((rows["add"]["answered"], rows["add"]["refused"]), ("100", "50"))
        self.assertRegex(ended.reason, "50 transactions failed")

    def test_pgbenchs_sums_stay_equal(self):
        _, run = self.run_script(8, self.url, "tpcb", "--transactions", harness.fewer(2000))
        ledger = run.json["transactions"]
        self.assertEqual(ledger["committed"], harness.fewer(2000))
        self.check_tpcb(ledger["committed"])

    def check_tpcb(self, least, most=None):
        sums = {self.number(f"select coalesce(sum({column}), 0) from pgbench_{table}")
                for table, column in (("accounts", "abalance"), ("tellers", "tbalance"),
                                      ("branches", "bbalance"), ("history", "delta"))}
        self.assertEqual(len(sums), 1, sums)
        rows = self.number("select count(*) from pgbench_history")
        self.assertTrue(least <= rows <= (most or least), (least, rows, most))

    def test_ctrl_c_in_a_run(self):
        self.prepare("tpcb")
        out = self.out()
        process = self.start(8, self.url, "--workload", "tpcb", "--duration", "10m", "--out", out)
        self.interrupt_when_busy(process, out)
        self.end(process, 130)
        run = self.check_run(out, 130)
        ledger = run.json["transactions"]
        self.assertEqual((ledger["in_doubt"], ledger["failed"]), (0, 0), ledger)
        self.assertLessEqual(ledger["unfinished"], 8, ledger)
        self.check_tpcb(ledger["committed"])

    def test_ctrl_c_in_prepare(self):
        words = (self.url, "--workload", "oltp", "--set", "table_size=200000")
        process = self.start("prepare", 2, *words)
        harness.wait_until(self.has_rows, "the first rows")
        process.send_signal(signal.SIGINT)
        self.end(process, 130)
        self.assertLess(self.number("select count(*) from sbtest1"), 200_000)
        self.append("prepare", 2, *words)
        self.assertEqual(self.number("select count(*) from sbtest1"), 200_000)
        self.assertEqual(self.number("select sum(id) from sbtest1"), 200_000 * 200_001 // 2)
        self.append("cleanup", *words)
        self.assertFalse(self.has_rows())

    def has_rows(self):
        try:
            return self.number("select count(*) from sbtest1") > 0
        except AssertionError:
            return False  # the table does not exist
