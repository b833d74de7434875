"""Values that a statement returns work as parameters: shared by the tests of both databases."""

import resource

import harness

SCRIPT = r"""
local types = {"int64", "text(20)", "bytes(5)", "bool", "decimal(10,2)", "float64", "int16"}
local t = dataset("kinds", 0, {{"id", types[1], key = true}, {"a", types[2]}, {"b", types[3]},
    {"c", types[4]}, {"d", types[5]}, {"e", types[6]}, {"f", types[7]}})
local put = statement("put", "INSERT INTO kinds VALUES (" .. list(7, "?") .. ")", types, {adds_to = t})
local get = statement("get", "SELECT * FROM kinds WHERE id = ?", {"int64"})
local texts = {"it's \"ä\\ €", "", "?"}
local bytes = {"\0\1\255ab", "", "\\x41"}
local n = counter("rows", 0)
local function same(id, values)
    local row = {get:one(id)}
    check(#row == 7 and row[1] == id, "a row of 7")
    for i = 2, 7 do
        local is_text = i == 2 or i == 3
        check(row[i] == values[i] or not is_text and tonumber(row[i]) == values[i],
            "column " .. i .. " is " .. tostring(row[i]))
    end
    return row
end
transaction("copy", function()
    local id = 2 * n:next()
    local k = id // 2 % 3 + 1
    local values = {id, texts[k], bytes[k], k % 2, 12.25 * k, -0.5 * k, -k}
    if id // 2 % 5 == 4 then
        values = {id, null, null, null, null, null, null}
    end
    put:run(values)
    local row = same(id, values)
    row[1] = id + 1
    put:run(row)
    same(id + 1, values)
    check(select("#", get:one(-1)) == 0 and get:run(-1) == 0 and #get:all(-1) == 0, "no row")
end)
"""


# One answer is many times the memory limit of a session's script.
LARGE = """
local large = statement("large", %s)
local n = counter("n", 0)
transaction("x", function() %s end)
"""


# A transaction of which nearly all time is the server's: the server sleeps in each statement.
PARTS = """
local t = dataset("part", 100, {{"id", "int64", row(), key = true}, {"n", "int64", 0}})
local add = statement("add", "UPDATE part SET n = n + 1 WHERE id = ?", {"int64"})
local wait = statement("wait", "SELECT %s(0.004)", {})
transaction("parts", function()
    add:run(1 + session.id)
    wait:run() wait:run()
    think(0.005)
    wait:run()
end)
"""


class Parts:
    SLEEP = None  # a function of the server that sleeps

    def test_the_parts_of_a_transaction_add_up(self):
        """The mean of a transaction is the sum of its parts, each by its number in a transaction.

        Only the script's own code is between two parts. It takes microseconds, and the parts take at least
        12 ms: so the script's time stays far below 2 % even on a busy machine. With the think time of 5 ms,
        which is in no part, the mean would be 30 % too large. With the script's time the sum is exact.
        """
        script = self.folder / "parts.lua"
        script.write_text(PARTS % self.SLEEP)
        _, run = self.run_append(4, self.url, "--workload", script, "--transactions", 200, "--log-transactions")
        ledger, latencies = run.json["transactions"], run.json["latencies"]
        self.assertEqual((ledger["committed"], ledger["tries"]), (200, 200))
        statements = {entry["name"]: entry for entry in run.json["operations"] if entry["kind"] != "transaction"}
        parts = {name: (latencies[name]["mean_ms"], latencies[name]["count"]) for name in ("begin", "commit")}
        parts |= {name: (entry["mean_ms"], entry["answered"]) for name, entry in statements.items()}
        self.assertEqual({name: count / 200 for name, (_, count) in parts.items()},
                         {"begin": 1, "add": 1, "wait": 3, "commit": 1})
        whole = sum(mean * count / 200 for mean, count in parts.values())
        self.assertGreaterEqual(whole, 12)
        self.assertAlmostEqual(latencies["transaction"]["mean_ms"] / whole, 1, delta=0.02)
        sums = {name: entry["sum_ns"] for name, entry in run.json["histograms"].items()}
        self.assertEqual(sums["transaction"], run.json["counters"]["script_ns"] + sum(
            sums[name] for name in ("begin", "commit", "statement.add", "statement.wait")))
        logged = [int(row["latency_ns"]) for row in run.table("transactions.csv")]
        self.assertAlmostEqual(sum(logged) / 200 / 1e6 / whole, 1, delta=0.02)


class Values:
    LARGE = None  # a query that returns 300,000 rows of 1,000 bytes

    def test_large_answers_are_not_held(self):
        script = self.folder / "large.lua"
        for call, code in (("check(large:run() == 300000)", 0), ("check(large:one())", 0),
                           ("large:all()", 2)):
            for prepared in ("yes", "no"):
                with self.subTest(call, prepared=prepared):
                    script.write_text(LARGE % (self.LARGE, call))
                    ended, run = self.run_append(1, self.url, "--workload", script,
                                                 "--transactions", 2, "--prepared", prepared,
                                                 code=code)
                    self.assertEqual(run.json["transactions"]["checks_failed"], 0)
                    if code != 0:
                        self.assertRegex(ended.reason, r"large\.lua:4: statement 'large' returns"
                                         " more than 4 MiB")
        if harness.SLOW == 1:  # a sanitizer keeps freed memory
            self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 100 << 10)

    def test_values_come_back(self):
        script = self.folder / "own.lua"
        for prepared in ("yes", "no"):
            script.write_text(SCRIPT.replace("kinds", "kinds_" + prepared))
            _, run = self.run_append(2, self.url, "--workload", script, "--transactions", 40,
                                     "--prepared", prepared)
            ledger = run.json["transactions"]
            self.assertEqual((ledger["committed"], ledger["rows_added"]), (40, 80))
            self.assertEqual(ledger["checks_failed"], 0, run.causes)
