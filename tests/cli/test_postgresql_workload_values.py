"""Values of scripted workloads on PostgreSQL."""

import glob
import re
import shutil
import statistics
import subprocess

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

# The same transaction for append and for pgbench.
TWICE = """
local put = statement("put", "INSERT INTO slow VALUES (nextval('ids'))", {})
transaction("keep", function() put:run() end)
"""
TWICE_PGBENCH = "BEGIN;\nINSERT INTO slow VALUES (nextval('ids'));\nCOMMIT;\n"


class Values(workload_values.Values, harness.Postgresql):
    LARGE = '"SELECT g, repeat(\'x\', 1000) FROM generate_series(1, 300000) g"'


class Parts(workload_values.Parts, harness.Postgresql):
    """BEGIN, COMMIT and ROLLBACK have times of their own."""

    SLEEP = "pg_sleep"

    def make_slow_commit(self, seconds):
        """Makes a table in which the commit of a row takes this long."""
        self.sql("CREATE TABLE slow (id bigint PRIMARY KEY)",
                 "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS "
                 f"'BEGIN PERFORM pg_sleep({seconds}); RETURN NULL; END'",
                 "CREATE CONSTRAINT TRIGGER later AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED "
                 "FOR EACH ROW EXECUTE FUNCTION wait()")

    def test_commit_agrees_with_pgbench(self):
        """The mean time of COMMIT is the same in append and in pgbench -r.

        The server sleeps in each commit, so that a busy machine changes little of the time. The tools run
        in alternation, and the medians of their runs are compared.
        """
        pgbench = shutil.which("pgbench") or max(glob.glob("/usr/lib/postgresql/*/bin/pgbench"), default=None)
        if pgbench is None:
            self.skipTest("pgbench is not installed")
        self.make_slow_commit(0.05)
        self.sql("CREATE SEQUENCE ids")
        own, theirs = self.folder / "own.lua", self.folder / "own.sql"
        own.write_text(TWICE)
        theirs.write_text(TWICE_PGBENCH)
        means, pgbench_means = [], []
        for _ in range(5):
            _, run = self.run_append(2, self.url, "--workload", own, "--transactions", 40)
            means.append(run.json["latencies"]["commit"]["mean_ms"])
            ended = subprocess.run([pgbench, "-n", "-r", "-M", "prepared", "-c", "2", "-j", "2", "-t", "20", "-f", theirs,
                                    self.url], capture_output=True, text=True, env=self.environment(),
                                   timeout=harness.GUARD_S)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            pgbench_means.append(float(re.search(r"(?m)^ +([0-9.]+) .*\bCOMMIT;$", ended.stdout)[1]))
        self.assertGreaterEqual(min(means + pgbench_means), 50)
        self.assertAlmostEqual(statistics.median(means) / statistics.median(pgbench_means), 1, delta=0.1,
                               msg=f"{means} {pgbench_means}")

    def test_commit_is_an_operation(self):
        script = self.folder / "own.lua"
        script.write_text(SLOW_COMMIT)
        self.make_slow_commit(0.05)
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
