"""find-max without a server: bounds, limits of this program, signals, and refusals."""

import harness
from confine import Cgroup, Confined
from find_max import Searching

HOLD = ("--hold", "200ms")


class Bounds(harness.Case, Searching):
    def test_sessions(self):
        ended, search = self.find_max("null:", *HOLD, "--first", 3, "--max-sessions", 20)
        self.assertEqual([level["sessions"] for level in search.levels], [3, 6, 12, 20])
        self.assertEqual(search.search["end"], "bound")
        self.assertEqual(search.search["bound"], {"sessions": 20, "by": "user", "limit": None,
                                                  "where": None})
        self.assertIsNone(search.search["failed"])
        # each level kept the sessions of the previous level and added sessions
        self.assertEqual(search.sessions["requested"], 20)
        self.assertEqual([level["added"] for level in search.levels], [3, 3, 6, 8])
        self.assertRegex(ended.out, r"(?m)^Held +at least 20 sessions")
        self.assertRegex(ended.out, r"(?m)^Stopped +by --max-sessions 20, not by the server")
        self.assertRegex(ended.err, r"(?m)^3 sessions held: [\d,]+ rows/s, append p99 ")

    def test_fewer_sessions_than_the_usual_first_level(self):
        _, search = self.find_max("null:", *HOLD, "--max-sessions", 3)
        self.assertEqual([level["sessions"] for level in search.levels], [3])

    def test_time(self):
        ended, search = self.find_max("null:", "--hold", "1s", "--max-time", "6s")
        self.assertEqual(search.search["end"], "time")
        self.assertIsNone(search.search["failed"])
        self.assertRegex(ended.out, r"(?m)^Stopped +by --max-time, not by the server")

    def test_rows(self):
        ended, search = self.find_max("null:", "--hold", "30s", "--max-rows", 50000, "--quiet",
                                      code=1)
        self.assertEqual((search.search["end"], search.search["max_rows"]), ("rows", 50000))
        self.assertGreaterEqual(search.rows["acknowledged"], 50000)
        self.assertRegex(ended.out, r"(?m)^Stopped +by the bound on rows, not by the server: 50,000 rows were written;\n +raise --max-rows")
        self.assertIsNone(search.search["removal"])
        self.assertNotIn("Written", ended.out)

    def test_bytes(self):
        _, search = self.find_max("null:", "--hold", "30s", "--max-rows", "100G", "--max-bytes",
                                  "1M", code=1)
        self.assertEqual(search.search["max_rows_by"], "max_bytes")
        bytes_written = search.search["max_rows"] * search.search["row_bytes"]
        self.assertTrue(0 <= bytes_written - 2 ** 20 <= 2 * search.search["row_bytes"])

    def test_memory(self):
        """With a bound below the memory in use, no session is started."""
        ended, search = self.find_max("null:", *HOLD, "--max-memory", "1M", code=3)
        self.assertEqual((search.search["end"], search.levels), ("memory", []))
        self.assertEqual(search.sessions["requested"], 0)
        self.assertRegex(ended.out, r"(?m)^Stopped +by --max-memory, not by the server: .* in use")

    def test_knee_and_p99(self):
        ended, search = self.find_max("null:", *HOLD, "--first", 2, "--max-sessions", 4,
                                      "--p99", "1h")
        knee = search.search["knee"]
        best = max(level["rows_per_s"] for level in search.levels)
        self.assertEqual(knee["best_rows_per_s"], best)
        self.assertEqual(search.level(knee["best_sessions"])["rows_per_s"], best)
        near = [level for level in search.levels if level["rows_per_s"] >= 0.95 * best]
        fewest = min(near, key=lambda level: level["sessions"])
        self.assertEqual((knee["sessions"], knee["rows_per_s"]),
                         (fewest["sessions"], fewest["rows_per_s"]))
        self.assertLessEqual(knee["lowest_rows_per_s"], knee["highest_rows_per_s"])
        self.assertRegex(ended.out, r"(?m)^Knee +\d sessions: [\d,]+ rows/s \([\d,]+ to [\d,]+ within\s+the\s+hold\)")
        self.assertEqual(search.search["p99"], {"bound_ms": 3_600_000.0, "sessions_within": 4,
                                                "sessions_over": None})
        self.assertRegex(ended.out, r"stayed within .* at every level")
        ended, search = self.find_max("null:", *HOLD, "--first", 2, "--max-sessions", 4,
                                      "--p99", "1ms", "--batch", "200k")
        self.assertEqual(search.search["p99"]["sessions_over"], 2)
        self.assertIsNone(search.search["p99"]["sessions_within"])
        self.assertRegex(ended.out, r"the p99 of append exceeded 1.00 ms with 2 sessions")


class Embedded(harness.Case, Searching):
    def test_sqlite(self):
        ended, search = self.find_max(*HOLD, "--first", 2, "--max-sessions", 4)
        self.assertEqual(search.search["held"], 4)
        self.assertEqual(search.verification["lost"], 0)
        self.assertEqual(search.verification["rows_after"], search.rows["acknowledged"])
        self.assertRegex(ended.err, r"^up to [\d,]+ rows \(--max-bytes\), 2048 MiB of values, will "
                                    "be written to syslog_table and stay there\n")
        rows = f"{search.rows['acknowledged']:,}"
        self.assertRegex(" ".join(ended.out.split()),
                         rf"Written {rows} rows, [\d.]+ [KM]iB of values, kept; to remove them: remove ")
        self.assertEqual(search.search["removal"], f"remove {search.folder}")

    def test_transactions_that_are_refused(self):
        """SQLite refuses the statement of session 6. Each level counts its own failed transactions."""
        script = self.folder / "refused.lua"
        script.write_text('local get = statement("get", "SELECT abs(?)", {"int64"})\n'
                          'transaction("work", function()\n'
                          "    think(0.01)\n"
                          "    get:run(session.id < 5 and 1 or math.mininteger)\n"
                          "end)\n")
        ended, search = self.find_max("sqlite:test.db", "--workload", "./refused.lua", *HOLD, "--first", 4,
                                      "--max-sessions", 16)
        self.assertEqual((search.search["held"], search.search["failed"]), (5, 6))
        failed = [level for level in search.levels if level["outcome"] == "failed"]
        self.assertGreater(len(failed), 1)
        for level in failed:
            self.assertEqual(level["reason"], "append_failed", level)
            self.assertGreater(level["calls_failed"], 0, level)
        self.assertRegex(ended.out, r"(?m)^Not held +6: \d+ transactions? failed, 6 were up")
        # transactions also fail between two levels
        self.assertLessEqual(sum(level["calls_failed"] for level in failed),
                             search.json["counters"]["transactions_failed"])

    def test_json(self):
        ended, search = self.find_max("null:", *HOLD, "--max-sessions", 2, "--first", 1, "--json",
                                      "--quiet")
        self.assertEqual(harness.json.loads(ended.out), search.json)
        self.assertEqual(ended.err, "")

    def test_name_of_the_folder(self):
        self.append("find-max", "null:", *HOLD, "--max-sessions", 1, "--first", 1)
        folders = list((self.folder / "append-runs").iterdir())
        self.assertEqual(len(folders), 1)
        self.assertRegex(folders[0].name, r"^\d{8}T\d{9}Z-null-find-max$")


class Interrupted(harness.Case, Searching):
    def test_signal_during_a_hold(self):
        out = self.out()
        process = self.start("find-max", "null:", "--hold", "30s", "--out", out)
        self.interrupt_when_busy(process, out)
        ended = self.end(process, 130)
        search = self.check_search(out, ended)
        self.assertEqual(search.search["end"], "interrupted")
        self.assertEqual(search.levels[0]["outcome"], "unfinished")
        self.assertEqual(search.sessions["stopped"], 10)
        self.assertRegex(ended.reason, "interrupted: at least 0 sessions were held")


class Client(Confined, Searching):
    def test_limit_on_tasks(self):
        """The limit is known before the search, which stops there and names it."""
        ended, search = self.find_max("null:", *HOLD, program=self.command("nproc=60"))
        bound = search.search["bound"]
        self.assertEqual((bound["by"], bound["limit"]), ("client", "RLIMIT_NPROC"))
        self.assertTrue(50 <= bound["sessions"] < 60, bound)
        if harness.SLOW > 1 and search.search["end"] == "found":
            # ThreadSanitizer starts a thread of its own together with the first thread
            self.assertEqual(search.search["held"], bound["sessions"] - 1)
            self.check_named(ended, search, "user_tasks", "client", "RLIMIT_NPROC")
            return
        self.assertEqual(search.search["end"], "bound")
        self.assertEqual(search.search["held"], bound["sessions"])
        self.assertRegex(ended.out.replace("\n", " "),
                         r"Stopped +by this machine's RLIMIT_NPROC, not by the server: the +limit +allows +\d+ +sessions")

    def test_limit_that_shows_up_on_the_way(self):
        """The limit is lowered during the search."""
        cgroup = Cgroup(self, "pids")
        cgroup.write("pids.max", "pids.max", 60)
        out = self.out()
        process = self.start("find-max", "null:", "--hold", "2s", "--first", 20, "--out", out,
                             program=self.command(enter=cgroup.enter))
        self.wait_for_rows(process, out)
        cgroup.write("pids.max", "pids.max", 30)
        ended = self.end(process, 0)
        search = self.check_search(out, ended)
        self.assertEqual(search.search["end"], "found")
        self.assertLess(search.search["held"], search.search["bound"]["sessions"])
        self.assertEqual(search.level(search.search["failed"])["reason"], "no_thread")
        finding = self.check_named(ended, search, "cgroup_tasks", "client", "pids.max")
        self.assertRegex(finding["evidence"], r"of 30 threads")


class Refused(harness.Case, Searching):
    def test_usage(self):
        for arguments, pattern in (
                (["--first", "5", "--max-sessions", "4"], "--first 5 is more than --max-sessions 4"),
                (["--hold", "20", "--max-time", "10"],
                 r"--hold \(20\.0 s\) is longer than --max-time \(10\.0 s\)"),
                (["--max-time", "4"], r"--hold \(5\.00 s\) is longer than --max-time \(4\.00 s\)"),
                (["--first", "0"], "--first"),
                (["--max-rows", "0"], "--max-rows"),
                (["--max-bytes", "many"], "--max-bytes 'many'.*size"),
                (["--rate", "5"], "--rate is not an option of 'append find-max"),
                (["10", "20"], "too many operands")):
            with self.subTest(arguments=arguments):
                self.refused("find-max", "null:", *arguments, code=2, pattern=pattern)
        for option, pattern in (("--max-rows=9", "never calls :append: use --max-time"),
                                ("--max-bytes=9", "--max-bytes does not apply to --workload oltp")):
            self.refused("find-max", "sqlite:t.db", "--workload", "oltp", option, code=2, pattern=pattern)

    def test_folder_that_is_there(self):
        (self.folder / "there").mkdir()
        self.refused("find-max", "null:", "--out", "there", code=2, pattern="exists already")

    def test_mistake_in_the_script(self):
        """A mistake at the first level, or at a later one: then the levels that held before count."""
        script = self.folder / "mistaken.lua"
        for first in (0, 8):  # the number of the first session that makes the mistake
            script.write_text("transaction('all', function()\nthink(0.001)\n\n"
                              f"if session.id >= {first} then nothing() end end)\n")
            ended, search = self.find_max("null:", "--workload", script, "--first", 2, *HOLD, code=2)
            self.assertRegex(ended.reason, r"mistaken\.lua:4: attempt to call a nil value")
            self.assertEqual(search.search["end"], "script")
            self.assertIn("mistaken.lua:4", search.json["causes"][0]["text"])
            # if the mistake is found between two levels, no level is unfinished
            self.assertIn(search.levels[-1]["outcome"], ("unfinished", "held")[:1 + (first > 0)])
            self.assertEqual(search.search["held"], first, search.search)
            self.assertIsNone(search.search["failed"])

    def test_sessions_that_think_leave_at_once(self):
        """A session that has to leave ends its think time at once. Here no transaction commits within 30 s, so
        the first level fails. The next level is lower, so one session leaves, and the hold begins long before
        its think time of 600 s is over."""
        script = self.folder / "think.lua"
        script.write_text("transaction('think', function() think(600) end)\n")
        _, search = self.find_max("null:", "--workload", script, "--first", 2, "--hold", "1s",
                                  "--max-time", f"{32 + 4 * harness.SLOW}s", code=None)
        self.assertEqual([level["reason"] for level in search.levels], ["no_progress", "ended"])
        self.assertGreater(search.levels[1]["hold_s"], 0)

    def test_server_that_is_not_there(self):
        self.refused("find-max", "postgresql://append@127.0.0.1:1/append", code=4,
                     pattern="(?i)refused|connect")


if __name__ == "__main__":
    harness.main()
