"""Values of scripted workloads on PostgreSQL."""

import harness
import workload_values


# A commit takes 50 ms: a deferred trigger sleeps.
SLOW_COMMIT = """
local t = dataset("slow", 0, {{"id", "int64", key = true}})
local put = statement("put", "INSERT INTO slow VALUES (?)", {"int64"}, {adds_to = t})
local n = counter("rows", 0)
transaction("keep", function() put:run(n:next()) end)
transaction("leave", function() put:run(n:next()) rollback("on purpose") end)
"""


class Values(workload_values.Values, harness.Postgresql):
    LARGE = '"SELECT g, repeat(\'x\', 1000) FROM generate_series(1, 300000) g"'


class Parts(harness.Postgresql):
    """BEGIN, COMMIT and ROLLBACK have times of their own."""

    def test_commit_is_an_operation(self):
        script = self.folder / "own.lua"
        script.write_text(SLOW_COMMIT)
        self.sql("CREATE TABLE slow (id bigint PRIMARY KEY)",
                 "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS "
                 "'BEGIN PERFORM pg_sleep(0.05); RETURN NULL; END'",
                 "CREATE CONSTRAINT TRIGGER later AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED "
                 "FOR EACH ROW EXECUTE FUNCTION wait()")
        ended, run = self.run_append(2, self.url, "--workload", script, "--transactions", 40,
                                     "--expect", "commit_p50>=50ms,commit_mean>=50ms,commit_p95>=50ms,"
                                     "rollback_max>0us,begin_max>0us")
        parts = run.json["latencies"]
        ledger = run.json["transactions"]
        self.assertEqual(parts["begin"]["count"], ledger["begun"])
        self.assertEqual(parts["commit"]["count"], ledger["committed"])
        self.assertEqual(parts["rollback"]["count"], ledger["rolled_back"])
        self.assertGreater(ledger["rolled_back"], 0)
        self.assertRegex(ended.out, r"(?m)^  commit +[0-9]")
        self.assertRegex(ended.out, r"(?m)^Latency +mean +p50 +p95 +p99 +p99\.9 +max +measured$")
        # the time of the committed transactions, as a whole and as the sum of their parts
        keep = next(entry for entry in run.json["operations"] if entry["name"] == "keep")
        whole = keep["mean_ms"] * ledger["committed"]
        self.assertGreaterEqual(whole, parts["commit"]["mean_ms"] * ledger["committed"])
        self.assertTrue((run.folder / "commit.hgrm").exists())


if __name__ == "__main__":
    harness.main()
