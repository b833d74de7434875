"""Lost sessions, a lost server, and a server with a full disk."""

import os
import signal
import socket
import subprocess

import harness


class Killed(harness.Postgresql):
    def backends(self, where="state = 'active'"):
        text = harness.psql(self.URL, "select pid from pg_stat_activity where datname ="
                            f" '{self.database}' and pid <> pg_backend_pid()"
                            f" and application_name not in ('psql') and {harness.OF_SESSIONS} and {where}"
                            " order by pid")
        return [int(pid) for pid in text.split()]

    def begin(self, *options, sessions=10, rows=100_000, rate=10_000):
        out = self.out()
        process = self.start(sessions, rows, self.url, "--rate", rate, "--out", out, *options)
        self.wait_for_rows(process, out)
        return process, out

    def kill(self, number):
        """Ends the backends of some sessions at the same moment, and only backends that have appended rows."""
        left = number

        def kill_busy():
            nonlocal left
            pids = self.backends("query ~* '^(copy|insert|select count)'")[:left]
            if pids:
                left -= int(harness.psql(
                    self.URL, "select count(pg_terminate_backend(pid)) from pg_stat_activity where pid in"
                    f" ({','.join(map(str, pids))})"))
            return left == 0

        harness.wait_until(kill_busy, "busy backends")

    def check_short(self, run, dropped):
        self.assertEqual(run.sessions["dropped"], dropped)
        self.assertEqual(run.verification["lost"], 0)
        self.assertEqual(self.count(), run.rows["acknowledged"]
                         + run.verification["in_doubt_arrived"])
        self.assertEqual(self.count(), run.verification["rows_after"])
        causes = [cause for cause in run.causes if cause["sqlstate"] == "57P01"]
        self.assertEqual(sum(cause["count"] for cause in causes), dropped, run.causes)

    def test_three_of_ten(self):
        process, out = self.begin()
        self.kill(3)
        ended = self.end(process, 1)
        run = self.check_run(out, 1)
        self.check_short(run, 3)
        self.assertEqual(run.sessions["finished"], 7)
        self.assertIn("57P01", ended.out)
        self.assertRegex(ended.reason, r"\b3\b")
        self.assertEqual(sum(int(row["sessions_dropped"]) for row in run.table("intervals.csv")), 3)

    def test_on_drop_stop(self):
        process, out = self.begin("--on-drop", "stop", rows=10_000_000)
        self.kill(1)
        self.end(process, 1)
        run = self.check_run(out, 1)
        self.check_short(run, 1)
        self.assertEqual(run.sessions["stopped"], 9)

    def lock(self, mode="access exclusive"):
        """Locks the table in a separate session until the returned process ends."""
        locker = subprocess.Popen(["psql", "-X", "-q", self.url], stdin=subprocess.PIPE, text=True,
                                  stdout=subprocess.DEVNULL)
        self.addCleanup(locker.wait)
        self.addCleanup(locker.kill)
        locker.stdin.write(f"begin; lock table syslog_table in {mode} mode;\n")
        locker.stdin.flush()
        return locker

    def wait_for_blocked(self, sessions):
        harness.wait_until(lambda: len(self.backends("wait_event_type = 'Lock'")) == sessions,
                           "all sessions wait for the lock")

    def test_the_server_gives_no_answer_until_the_time_is_over(self):
        """A run with reads that do not return, and a run with appends that do not return."""
        reads, appends = self.out(), self.out()
        # the query is tried before the run, when the table is empty
        query = "select pg_sleep(3600) from syslog_table limit 1"
        reading = self.start("3", self.url, "--duration", "1s", "--read", query, "--out", reads)
        harness.wait_until(lambda: len(self.backends("query ~ '^select pg_sleep'")) == 3, "three blocked reads")
        self.lock("exclusive")
        harness.wait_until(lambda: self.sql("select 1 from pg_locks where mode = 'ExclusiveLock'"
                                            " and granted and relation = 'syslog_table'::regclass"),
                           "the lock")
        appending = self.start("4", self.url, "--duration", "1s", "--read", "none", "--expect",
                               "finished==4,lost==0", "--out", appends)
        for process, out, sessions in ((reading, reads, 3), (appending, appends, 4)):
            ended = self.end(process, 1)
            run = self.check_run(out, 1)
            self.assertRegex(ended.reason, f"{sessions} of {sessions} sessions had no answer")
            self.assertEqual(run.sessions["stopped"], sessions)
            self.assertEqual(run.json["outcome"]["verdict"], "DEGRADED")
            self.assertRegex(run.json["outcome"]["verdict_reason"], f"{sessions} of {sessions} ")
            self.assertGreaterEqual(run.json["fairness"]["longest_gap_ms"], 10_000)

    def test_batches_that_are_due_while_the_server_blocks(self):
        out = self.out()
        seconds = 6 * harness.SLOW
        process = self.start(4, self.url, "--duration", f"{seconds}s", "--rate", "4000", "--read",
                             "none", "--out", out)
        self.wait_for_rows(process, out)
        locker = self.lock("exclusive")
        self.wait_for_interval(process, out, lambda row: float(row["end_s"]) > seconds + 0.5,
                               "the end of the time")
        locker.stdin.close()
        ended = self.end(process, None)
        run = self.check_run(out, ended.code)
        batches = run.json["batches"]
        self.assertEqual(batches["due"], 40 * seconds)
        self.assertGreater(batches["not_sent"], 0)
        self.assertEqual(run.json["latencies"]["response"]["count"], batches["due"])
        self.assertEqual(run.json["counters"]["responses_unanswered"], batches["not_sent"])
        self.assertEqual(run.table("summary.csv")[0]["batches_not_sent"], str(batches["not_sent"]))
        self.assertRegex(ended.out, r"(?m)^Batches +[\d,]+ due = [\d,]+ sent \+ [\d,]+ not sent; [\d,]+ response times")
        self.append("report", out)
        self.assertIn("<h4>Batches</h4>", (out / "report.html").read_text())

    def test_interrupted_while_a_lock_blocks_all(self):
        process, out = self.begin(rows=10_000_000)
        locker = self.lock()
        self.wait_for_blocked(10)
        process.send_signal(signal.SIGINT)
        # A blocked call may take another 10 s; the guard only detects a call that never ends.
        ended = self.end(process, 130, timeout_s=harness.GUARD_S)
        locker.stdin.close()
        locker.wait()
        run = self.check_run(out, 130)
        self.assertIn("interrupted", run.table("summary.csv")[0]["stop_reason"])
        self.assertRegex(ended.out, r"\S")

    def test_a_second_ctrl_c_ends_at_once(self):
        process, _ = self.begin(rows=10_000_000)
        self.lock()
        self.wait_for_blocked(10)
        process.send_signal(signal.SIGINT)
        # Two signals within 0.2 s count as one request, so the second is repeated.
        harness.wait_until(lambda: process.poll() is not None or
                           process.send_signal(signal.SIGINT), "the end", timeout_s=9)
        self.assertEqual(process.returncode, 130)
        self.assertIn("second signal", process.stderr.read())

    def test_ctrl_c(self):
        process, out = self.begin(rows=10_000_000)
        process.send_signal(signal.SIGINT)
        self.end(process, 130)
        run = self.check_run(out, 130)
        self.assertEqual(run.sessions["stopped"], 10)
        self.assertEqual(self.count(), run.rows["acknowledged"])

    def test_ctrl_c_while_the_server_says_nothing(self):
        with socket.create_server(("127.0.0.1", 0)) as mute:
            process = self.start("2", "10", f"postgresql://u@127.0.0.1:{mute.getsockname()[1]}/d",
                                 "--connect-timeout", "1h", "--out", self.out())
            connection, _ = mute.accept()
            with connection:
                process.send_signal(signal.SIGINT)
                ended = self.end(process, 130)
        self.assertRegex(ended.reason, r"before the first session")

    def test_ctrl_c_while_connecting(self):
        process = self.start("100", "100000", self.url, "--connect-concurrency", "1", "--out",
                             self.out())
        harness.wait_until(lambda: len(self.backends("true")) >= 3, "three sessions")
        process.send_signal(signal.SIGINT)
        ended = self.end(process, 130)
        self.check_run(self.folder / "run-1", 130)
        self.assertRegex(ended.reason, r"(?i)interrupt|signal")

    def test_the_table_is_dropped_meanwhile(self):
        process, out = self.begin("--read", "none")
        self.sql("drop table syslog_table")
        ended = self.end(process, 1)
        run = self.check_run(out, 1)
        self.assertRegex(ended.out, r"42P01")
        self.assertNotEqual(run.rows["acknowledged"], run.rows["planned"])


class Gone(harness.Postgresql):
    """These tests stop their servers, so each has its own."""

    def test_the_server_is_killed(self):
        server = harness.PrivateServer(self, max_connections=60)
        out = self.out()
        process = self.start("20", "10000000", server.url, "--rate", "20000", "--out", out)
        self.wait_for_rows(process, out)
        server.stop("immediate")
        ended = self.end(process, 1)
        run = self.check_run(out, 1)
        self.assertEqual(run.sessions["dropped"], 20)
        self.assertEqual(run.json["verification"]["state"], "failed")
        self.assertRegex(ended.out, r"(?i)dropped")

    def test_the_server_hangs(self):
        """Stopped processes do not answer; Ctrl-C must still end the run."""
        server = harness.PrivateServer(self, max_connections=20)
        out = self.out()
        process = self.start("3", "10000000", server.url, "--rate", "3000", "--out", out)
        self.wait_for_rows(process, out)
        pids = [int(pid) for pid in harness.psql(
            server.superuser_url, "select pid from pg_stat_activity where usename = 'append'"
        ).split()]
        for pid in pids:
            self.send_signal(pid, signal.SIGSTOP)
        try:
            process.send_signal(signal.SIGINT)
            self.end(process, 130, timeout_s=harness.GUARD_S)
        finally:
            for pid in pids:
                self.send_signal(pid, signal.SIGCONT)
        self.check_run(out, 130)

    @staticmethod
    def send_signal(pid, number):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def test_room_for_fewer_sessions(self):
        server = harness.PrivateServer(self, max_connections=15, superuser_reserved_connections=3)
        ended, run = self.run_append("20", "20000", server.url, "--no-check", code=4)
        self.assertGreaterEqual(run.sessions["refused"], 8)
        self.assertEqual(run.sessions["connected"], run.sessions["finished"])
        self.assertGreater(run.sessions["finished"], 5)
        causes = [cause for cause in run.causes if cause["sqlstate"] == "53300"]
        self.assertEqual(sum(cause["count"] for cause in causes), run.sessions["refused"])
        self.assertIn("53300", ended.out)
        self.assertRegex(ended.reason, r"(?i)refused|max_connections|limit")
        self.assertEqual(
            int(harness.psql(server.url, "select count(*) from syslog_table")),
            run.rows["acknowledged"])

    def test_a_unix_socket(self):
        server = harness.PrivateServer(self, max_connections=20)
        _, run = self.run_append("2", "100", server.url, "--host", server.folder + "/postgresql")
        self.assertEqual(run.rows["acknowledged"], 100)


if __name__ == "__main__":
    harness.main()
