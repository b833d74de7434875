"""Several ranks as one run on PostgreSQL: they write the table that a single process writes."""

import os
import pathlib
import signal
import time

import harness
import io_trace
from find_max import Search, Searching
from ranks import Ranks
from sweep import Sweep, Sweeping


class PostgreSQL(Ranks, Searching, Sweeping, harness.Postgresql):
    ROWS = "select n1, n2, n3, n4, n5, host, msg, ip4, ip6 from syslog_table order by n1, n2, n3"

    def test_the_same_table(self):
        words = ("200", harness.fewer(20_000), self.url, "--seed", "7", "--recreate")
        _, alone = self.run_append(*words)
        rows = self.sql(self.ROWS)
        ended, run = self.run_ranks(4, *words, "--verify", "rows", "--weights", "2,1,1,1")
        self.assertEqual(self.sql(self.ROWS), rows)
        self.assertEqual(run.rows, alone.rows)
        self.assertEqual(run.sessions, alone.sessions)
        verified = run.json["row_verification"]
        self.assertEqual((verified["state"], verified["lost"], verified["foreign"]),
                         ("done", 0, 0))
        self.assertEqual(verified["present"], run.rows["acknowledged"])
        self.assertEqual(run.verification["rows_after"], run.rows["acknowledged"])
        self.assertEqual([row["sessions"] for row in run.table("ranks.csv")],
                         ["80", "40", "40", "40"])
        self.assertIn("Machines", ended.out)
        self.assertEqual(self.folders_of_ranks(run.folder), [])

    def test_a_table_that_takes_long(self):
        """Rank 0 sends messages while it waits for the server, for longer than the other ranks would wait for
        a silent rank."""
        schema = self.folder / "schema.sql"
        schema.write_text("select pg_sleep(65); create table late (n bigint, t text)")
        _, run = self.run_ranks(2, "2", "200", self.url, "--table", "late", "--schema-file", schema)
        self.assertEqual(run.rows["acknowledged"], 200)

    def before_the_run(self, end, left):
        """Ends the run with `end` while the server makes the table. `left`: suffixes of the names of
        the folders that are left."""
        schema = self.folder / "schema.sql"
        schema.write_text("select pg_sleep(60); create table late (n bigint, t text)")
        out = self.out()
        process = self.start_ranks(3, "4", "200", self.url, "--table", "late", "--schema-file", schema,
                                   "--recreate", "--out", out,
                                   mpirun=("--mca", "odls_base_sigkill_timeout", "5"))
        harness.wait_until(lambda: int(self.sql(
            "select count(*) from pg_stat_activity where query like '%create table late%' "
            "and pid <> pg_backend_pid()")) == 1, "the schema")
        end(process)
        _, err = process.communicate(timeout=harness.GUARD_S)
        self.assertEqual(err.count("append: interrupted before the first session"), 1, err)
        self.assertEqual([path.name for path in self.folder.iterdir() if path.is_dir()],
                         [out.name + name for name in left])

    def test_a_signal_before_the_run(self):
        """The ranks end in order, within the time that mpirun allows."""
        self.before_the_run(lambda process: process.send_signal(signal.SIGINT), [])

    def test_a_rank_that_is_killed_before_the_run(self):
        self.before_the_run(lambda process: os.kill(self.find_rank(process, 2), signal.SIGKILL),
                            [".rank2"])

    def test_a_rate_is_for_all_together(self):
        """The ranks have as many due batches as one process."""
        words = ("9", self.url, "--rate", "2000", "--batch", "10", "--duration", "2", "--recreate")
        _, alone = self.run_append(*words)
        _, run = self.run_ranks(3, *words)
        # each rank is judged by its own share of the rate; other reasons of its verdict depend on the machine's load
        self.assertNotIn("rate", " ".join(row["verdict_reason"] for row in run.table("ranks.csv")))
        self.assertEqual(run.json["batches"]["due"], alone.json["batches"]["due"])
        self.assertEqual(run.json["outcome"]["stop_reason"], "duration")

    def test_a_script(self):
        """No two ranks get the same number from a counter, and every key that is looked up exists."""
        ended, run = self.run_ranks(3, "6", self.url, "--workload", "ycsb", "--set",
                                    "preset=d,records=500,read=50,insert=50", "--transactions",
                                    "900", "--seed", "5")
        transactions = run.json["transactions"]
        self.assertEqual(transactions["committed"], 900)
        self.assertRegex(ended.out, r"Machines +ranks +sessions +transactions .*\n +\S+ +3 +6 +900 ")
        self.assertEqual(transactions["found_percent"], 100)
        table = run.json["datasets"][0]
        self.assertEqual((table["lost"], table["surplus"]), (0, 0))
        self.assertEqual(table["rows_after"], 500 + transactions["rows_added"])
        self.assertEqual(sum(int(row["transactions_committed"])
                             for row in run.table("ranks.csv")), 900)

    def test_a_script_of_ones_own(self):
        """Rank 0 sends the text of the script to the other ranks with the plan."""
        script = self.folder / "own.lua"
        script.write_text('local one = statement("one", "select 1")\n'
                          'transaction("ask", function() one:run() end, {autocommit = true})\n')
        _, run = self.run_ranks(2, "4", self.url, "--workload", script, "--transactions", "40")
        self.assertEqual(run.json["transactions"]["committed"], 40)

    def test_a_claim_of_a_script(self):
        """Rank 0 checks the claim once."""
        script = self.folder / "own.lua"
        script.write_text('dataset("t", 9, {{"a", "int32", row(), key = true}})\n'
                          'local one = statement("one", "select 1")\n'
                          'transaction("ask", function() one:run() end, {autocommit = true})\n'
                          'invariant("holds", "select a from t where a > 9")\n'
                          'invariant("is broken", "select a from t where a > 7 order by a")\n')
        ended, run = self.run_ranks(3, "6", self.url, "--workload", script, "--transactions", "60", code=1)
        self.assertEqual([(entry["claim"], entry["rows"], entry["first"]) for entry in run.json["invariants"]],
                         [("holds", 0, None), ("is broken", 2, "8")])
        self.assertIn("1 of 2 invariants is broken: is broken (2 rows)", ended.reason)

    def test_find_max(self):
        """All ranks hit the server's limit, which is one finding."""
        server = harness.PrivateServer(self, max_connections=40)
        ended, search = self.find_max_of_ranks(5, server.url, "--hold", "500ms", "--batch", 10,
                                               "--weights", "0,1,1,1,1")
        self.assertEqual((search.search["held"], search.search["failed"]), (37, 38))
        self.assertEqual(search.search["end"], "found")
        failed = search.level(38)
        self.assertEqual((failed["reason"], failed["refused"], failed["up"]), ("refused", 1, 37))
        self.assertEqual(failed["causes"][0]["sqlstate"], "53300")
        self.check_named(ended, search, "sessions", "database", "max_connections")
        self.assertEqual(len(search.json["findings"]), 1)
        self.assertIn(", 0 in use by others before", search.json["findings"][0]["evidence"])
        self.assertEqual({row["verdict"] for row in search.table("ranks.csv")}, {"VALID"})
        self.assertEqual(search.verification["lost"], 0)
        count = harness.psql(server.superuser_url, "select count(*) from syslog_table")
        self.assertEqual(int(count), search.rows["acknowledged"])

    def test_find_max_whose_server_comes_back(self):
        """Rank 0 also waits for the server when it has no session."""
        server, out = harness.PrivateServer(self), self.out()
        process = self.start_ranks(3, "find-max", server.url, "--weights", "0,1,1", "--hold", "3s",
                                   "--first", 5, "--max-sessions", 10, "--batch", 10, "--out", out)
        self.wait_for_interval(process, pathlib.Path(f"{out}.rank1"), lambda row:
                               row["sessions_alive"] == "5", "rank 1's share of the second level")
        server.kill()
        harness.wait_until(lambda: ",dropped," in (out / "levels.csv").read_text(), "a level with dropped sessions")
        server.restart()
        search = self.check_search(out, self.end_ranks(process, 0),
                                   more=("ranks.csv", "ranks_samples.csv"))
        self.assertEqual((search.search["held"], search.search["end"]), (10, "bound"))
        # if a session of the killed server lives a moment longer, the next level begins, and fails
        self.assertEqual(next(level["sessions"] for level in search.levels
                              if level["outcome"] == "failed"), 10, search.levels)
        self.assertEqual(search.sessions["dropped"], 10)
        self.assertEqual(search.verification["lost"], 0)

    def test_find_max_whose_sessions_are_lost_in_turn(self):
        """The losses of all ranks count at the level at which they happened, whichever rank was first."""
        server, out = harness.PrivateServer(self), self.out()
        process = self.start_ranks(3, "find-max", server.url, "--hold", "9s", "--first", 12,
                                   "--max-time", "10s", "--batch", 10, "--out", out)
        self.wait_for_interval(process, out, lambda row: row["sessions_alive"] == "4"
                               and int(row["rows"]) > 0, "rank 0's share of a level")
        harness.psql(server.superuser_url,
                     "select count(*) from (select pg_terminate_backend(pid), pg_sleep(0.02) "
                     "from pg_stat_activity where usename = 'append') as each")
        process.communicate(timeout=harness.GUARD_S)
        level = Search(out).levels[0]
        self.assertEqual((level["reason"], level["dropped"], level["up"]), ("dropped", 12, 0))

    def start_search(self, out, *mpirun):
        process = self.start_ranks(3, "find-max", self.url, "--hold", "60s", "--first", 6,
                                   "--batch", 10, "--recreate", "--out", out, mpirun=mpirun)
        self.wait_for_interval(process, out, lambda row: row["sessions_alive"] == "2"
                               and int(row["rows"]) > 0, "rank 0's share of a level")
        return process

    def test_find_max_that_is_interrupted(self):
        out = self.out()
        # by default mpirun kills the ranks one second after the signal, which is too soon on a busy machine
        process = self.start_search(out, "--mca", "odls_base_sigkill_timeout", "5")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=harness.GUARD_S)
        search = Search(out)
        self.assertEqual(search.json["outcome"]["exit_code"], 130)
        self.assertEqual(search.search["end"], "interrupted")
        self.assertEqual([level["outcome"] for level in search.levels], ["unfinished"])
        self.check_ledgers(search)
        self.assertEqual(len(search.table("ranks.csv")), 3)
        self.assertEqual(self.folders_of_ranks(out), [])

    def test_find_max_without_a_rank(self):
        """The other ranks end the search when they miss the rank, or when mpirun ends them."""
        for mpirun in (("--enable-recovery",), ("--mca", "odls_base_sigkill_timeout", "5")):
            with self.subTest(mpirun):
                out = self.out()
                process = self.start_search(out, *mpirun)
                os.kill(self.find_rank(process, 1), signal.SIGKILL)
                _, err = process.communicate(timeout=harness.GUARD_S)
                search = Search(out)
                self.assertEqual(search.json["outcome"]["exit_code"], 1)
                self.assertEqual(search.search["end"], "lost")
                self.assertEqual([row["verdict"] for row in search.table("ranks.csv")],
                                 ["VALID", "LOST", "VALID"])
                self.assertRegex(err, rf"append: rank 1 on machine {os.uname().nodename} was lost")

    def test_a_signal_to_mpirun(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            out = self.out()
            process = self.start_ranks(3, "30", self.url, "--rate", "3000", "--duration", "60",
                                       "--recreate", "--out", out)
            self.wait_for_rows(process, out)
            process.send_signal(number)
            out_text, err = process.communicate(timeout=harness.GUARD_S)
            self.assertNotEqual(process.returncode, 0)
            run = self.check_ranks(out, 130, 3)
            self.assertEqual(run.json["outcome"]["stop_reason"], "interrupted")
            self.assertEqual(run.verification["rows_after"], run.rows["acknowledged"])
            self.assertEqual(self.folders_of_ranks(out), [])
            self.assertEqual(err.count("append: interrupted"), 1, err)

    def test_a_rank_that_is_killed(self):
        """mpirun ends the other ranks, which still report their results and the machine of the lost rank."""
        out = self.out()
        # by default mpirun kills the ranks one second after the signal, which is too soon on a busy machine
        process = self.start_ranks(3, "30", self.url, "--rate", "3000", "--duration", "60",
                                   "--recreate", "--out", out,
                                   mpirun=("--mca", "odls_base_sigkill_timeout", "5"))
        self.wait_for_rows(process, out)
        harness.wait_until(lambda: int(self.sql("select count(*) from syslog_table")) > 3000, "rows")
        os.kill(self.find_rank(process, 2), signal.SIGKILL)
        _, err = process.communicate(timeout=harness.GUARD_S)
        self.assertNotEqual(process.returncode, 0)
        self.check_lost(harness.Run(out), err)
        self.assertEqual(self.folders_of_ranks(out), [out.name + ".rank2"])
        kept = pathlib.Path(f"{out}.rank2")
        self.assertIn(f"intervals.csv is in {kept}", err)
        self.assertNotIn("interrupted", err)
        self.assertGreaterEqual((kept / "intervals.csv").read_text().count("\n"), 2)

    def check_lost(self, run, err):
        self.assertEqual(run.json["outcome"]["exit_code"], 1)
        self.assertEqual(run.json["outcome"]["stop_reason"], "rank_lost")
        self.check_ledgers(run)
        lost = run.table("ranks.csv")[2]
        self.assertEqual(lost["verdict"], "LOST")
        self.assertGreater(int(lost["rows_acknowledged"]), 0)
        self.assertRegex(err, rf"append: rank 2 on machine {os.uname().nodename} was lost")

    def test_a_rank_that_is_silent(self):
        """The lost rank may have written more rows than it reported: these are not rows of another writer."""
        begun = []
        for words in (("--batch", "10", "--rate", "300", "--verify", "rows"),
                      ("--workload", "mass-insert", "--rate", "30")):
            out = self.out()
            begun.append((out, self.start_ranks(
                3, "6", self.url, "--duration", "60", "--recreate", "--out", out, *words)))
            self.wait_for_rows(begun[-1][1], out)
        for _, process in begun:
            os.kill(self.find_rank(process, 2), signal.SIGSTOP)
        for out, process in begun:
            _, err = process.communicate(timeout=harness.GUARD_S)
            run = harness.Run(out)
            self.check_lost(run, err)
            unread = [run.json["row_verification"], *run.json["datasets"]]
            self.assertIn(("failed", "a rank was lost before it reported all rows that it wrote"),
                          [(each["state"], each["reason"]) for each in unread])
        self.assertGreater(int(run.table("ranks.csv")[2]["transactions_committed"]), 0)
        self.assertEqual(sum(int(row["transactions_committed"]) for row in run.table("ranks.csv")),
                         run.json["transactions"]["committed"])

    def stand_still(self, *words):
        """The other ranks wait for the rank, and the verdict names it."""
        out = self.out()
        process = self.start_ranks(3, *words, "--recreate", "--out", out)
        self.wait_for_rows(process, out)
        pid = self.find_rank(process, 1)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(2.5)  # the test is about the time itself
        os.kill(pid, signal.SIGCONT)
        ended = self.end_ranks(process, 6)
        self.assertRegex(ended.reason, r"machine \S+, rank 1: append itself stood still")
        return out, ended

    def test_a_rank_that_stands_still(self):
        out, _ = self.stand_still("6", self.url, "--rate", "600", "--duration", "6")
        run = self.check_ranks(out, 6, 3)
        self.assertEqual([row["verdict"] for row in run.table("ranks.csv")][1], "INVALID")

    def test_find_max_with_a_rank_that_stands_still(self):
        out, ended = self.stand_still("find-max", self.url, "--hold", "8s", "--first", 6,
                                      "--max-sessions", 6, "--batch", 10)
        search = self.check_search(out, ended, more=("ranks.csv", "ranks_samples.csv"))
        self.assertEqual([level["outcome"] for level in search.levels], ["held"])

    def test_a_sweep(self):
        """Each run of a sweep has all ranks and its own table; an interrupted run is repeated."""
        rate = int(harness.fewer(1500))
        words = ("--sessions", "6,9", "--records", f"{rate},{4 * rate}", "--seed", "5", "--rate",
                 str(rate), "--verify", "rows", self.url)
        out = self.out()
        self.sql("drop table if exists syslog_table")
        process = self.start_ranks(3, "sweep", *words, "--out", out)
        self.wait_for_rows(process, out / f"6x{4 * rate}")
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=harness.GUARD_S)
        if harness.SLOW == 1:  # within the second that mpirun allows
            self.assertIn("interrupted: 2 of 4 runs have ended; resume with", err)
        self.assertEqual([run["state"] for run in Sweep(out).runs],
                         ["done", "done", "pending", "pending"])
        self.ranks(3, "sweep", "--resume", out, self.url)
        sweep = self.check_sweep(out)
        for run in sweep.runs:
            run = self.check_ranks(out / run["folder"], 0, 3)
            self.assertEqual(run.verification["rows_after"], run.rows["acknowledged"])
            self.assertEqual(run.json["row_verification"]["present"], run.rows["acknowledged"])
        rows = self.sql(self.ROWS)
        self.run_append("9", str(4 * rate), self.url, "--seed", "5", "--recreate")
        self.assertEqual(self.sql(self.ROWS), rows)

    def test_a_new_sweep_keeps_the_folders_of_an_earlier_one(self):
        rate = int(harness.fewer(1500))
        out = self.out()
        self.sql("drop table if exists syslog_table")
        process = self.start_ranks(2, "sweep", "--sessions", "2", "--records", f"{2 * rate},100", "--seed", "5",
                                   "--rate", str(rate), self.url, "--out", out)
        self.wait_for_rows(process, out / f"2x{2 * rate}")
        kept = out / "2x100.rank1" / "kept"
        kept.parent.mkdir()
        kept.touch()
        ended = self.end_ranks(process, 2)
        self.assertIn("2x100.rank1", ended.err)
        self.assertTrue(kept.exists())


class Traced(io_trace.Traced, Ranks, harness.Postgresql):
    def test_one_rank_of_a_machine_traces(self):
        for level, of in (("full", "io.fsync"), ("requests", "request.flush")):
            ended, run = self.run_ranks(3, "6", "3000", self.url, "--batch", "1", "--recreate",
                                        f"--io-trace={level}")
            rows = self.rows(run)
            self.assertEqual({(row["rank"], row["machine"]) for row in rows},
                             {("0", os.uname().nodename)})
            self.assertEqual([rank["io_trace"] is not None for rank in run.json["ranks"]],
                             [True, False, False])
            own, trace = run.json["ranks"][0]["io_trace"], run.json["io_trace"]
            self.assertEqual({**own, "note": None}, {**trace, "note": None})
            self.assertEqual(run.json["histograms"][of + ".total"]["total"], trace["fsyncs"])
            self.assertTrue((run.folder / (of + ".device.hgrm")).stat().st_size > 0)
            self.assertRegex(ended.out, r"I/O by machine +reads +writes +(fsyncs|flushes)")

    def test_a_program_without_a_server(self):
        self.refused_ranks(2, "4", "400", "null:", "--io-trace", code=3,
                           pattern="no rank is on the server's machine")


if __name__ == "__main__":
    harness.main()
