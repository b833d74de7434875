"""Ctrl-C ends the run cleanly, with complete files; a second Ctrl-C ends it at once."""

import fcntl
import os
import pathlib
import random
import signal
import socket
import subprocess
import time

import harness
from test_metrics import free_port

F_SETPIPE_SZ = 1031  # fcntl has a name for it from Python 3.10 on


class Interrupt(harness.Case):
    def interrupted(self, target, *options, signal_number=signal.SIGINT):
        out = self.out()
        process = self.start("4", target, "--duration", "10m", "--out", out, *options)
        self.wait_for_rows(process, out)
        self.wait_for_interval(process, out, lambda row: int(row["sessions_alive"]) == 4
                               and int(row["rows"]) > 0, "all sessions at work")
        process.send_signal(signal_number)
        ended = self.end(process, 130)
        return ended, self.check_run(out, 130)

    def check_interrupted(self, run):
        self.assertIn("interrupted", (run.folder / "run.json").read_text().lower())
        self.assertIn("interrupted", run.table("summary.csv")[0]["stop_reason"])
        self.assertEqual(run.sessions["stopped"], 4)

    def test_a_long_wait_is_announced_once(self):
        with socket.create_server(("127.0.0.1", free_port())) as server:  # it never answers
            ended = self.append(1, 100, f"postgresql://a@127.0.0.1:{server.getsockname()[1]}/a",
                                "--connect-timeout", 4, code=4)
        self.assertEqual(ended.err.count("waiting for the server to get the table ready ..."), 1, ended)

    def test_null(self):
        ended, run = self.interrupted("null:", "--rate", "10000")
        self.check_interrupted(run)
        self.assertRegex(ended.reason, r"(?i)interrupt|signal")
        self.assertIn("hroughput", ended.out, "the report was printed")

    def test_null_at_full_speed(self):
        _, run = self.interrupted("null:")
        self.check_interrupted(run)

    def test_sqlite(self):
        _, run = self.interrupted(f"sqlite:{self.folder / 'i.db'}")
        self.check_interrupted(run)
        self.assertEqual(run.verification["lost"], 0)
        self.assertEqual(run.verification["rows_after"], run.rows["acknowledged"])

    def test_records_that_were_not_sent(self):
        out = self.out()
        process = self.start("4", "1000000", "null:", "--rate", "1000", "--out", out)
        self.interrupt_when_busy(process, out)
        self.end(process, 130)
        run = self.check_run(out, 130)
        self.assertGreater(run.rows["not_sent"], 0)
        self.assertEqual(run.rows["planned"], 1000000)

    def test_sigterm(self):
        _, run = self.interrupted("null:", "--rate", "1000", signal_number=signal.SIGTERM)
        self.check_interrupted(run)

    def test_sighup(self):
        _, run = self.interrupted("null:", "--rate", "1000", signal_number=signal.SIGHUP)
        self.check_interrupted(run)

    def test_nohup(self):
        process = self.start("2", "null:", "--duration", "3", "--rate", "1000", "--out", self.out(),
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.wait_for_rows(process, self.folder / "run-1")
        process.send_signal(signal.SIGHUP)
        self.end(process, 0)

    def test_a_slow_pace_does_not_delay_the_end(self):
        # One batch is due every 100 s: the sessions must not sleep through the signal.
        out = self.out()
        process = self.start("1", "null:", "--duration", "10m", "--rate", "1", "--out", out)
        self.interrupt_when_busy(process, out)
        self.end(process, 130, timeout_s=20 * harness.SLOW)
        self.check_run(out, 130)

    def test_twice(self):
        out = self.out()
        process = self.start("4", "null:", "--duration", "10m", "--out", out)
        self.wait_for_rows(process, out)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20 * harness.SLOW)
        self.assertEqual(process.returncode, 130)

    def full_pipe(self):
        """Returns the writing end of a full pipe without a reader."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        fcntl.fcntl(writer, F_SETPIPE_SZ, 4096)
        os.set_blocking(writer, False)
        os.write(writer, bytes(4096))
        os.set_blocking(writer, True)
        return writer

    def start_unread(self, *arguments):
        """Starts the program with a standard error that is never read."""
        writer = self.full_pipe()
        process = subprocess.Popen(
            [harness.BINARY, *map(str, arguments)], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=writer, cwd=self.folder, env=self.environment())
        os.close(writer)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_nobody_reads_the_progress(self):
        out = self.out()
        process = self.start_unread("4", "null:", "--duration", "2", "--rate", "1000",
                                    "--sample-interval", "0.2", "--out", out)
        self.assertEqual(process.wait(timeout=harness.GUARD_S), 0)
        self.assertEqual(self.check_run(out, 0).sessions["finished"], 4)

    def test_nobody_reads_the_progress_of_an_interrupted_run(self):
        out = self.out()
        process = self.start_unread("4", "null:", "--duration", "10m", "--rate", "1000",
                                    "--sample-interval", "0.2", "--out", out)
        self.wait_for_rows(process, out)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=harness.GUARD_S), 130)
        self.check_interrupted(self.check_run(out, 130))

    if harness.SLOW == 1:  # ThreadSanitizer delays signals while a call blocks
        def test_nobody_reads_and_a_second_signal(self):
            """With rows in the table the query never ends, so only the second signal ends the program soon."""
            out = self.out()
            endless = ("with recursive n(i) as (select 1 from syslog_table union all"
                       " select i + 1 from n) select count(*) from n")
            process = self.start_unread("1", "sqlite:endless.db", "--duration", "10m", "--read",
                                        endless, "--sample-interval", "0.2", "--out", out)
            self.wait_for_rows(process, out)
            process.send_signal(signal.SIGTERM)
            time.sleep(0.3)  # a signal within 0.2 s counts as the same request
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=harness.GUARD_S), 130)
            self.assertEqual((out / "run.json").read_bytes(), b"", "it ended at once")

        def test_nobody_reads_the_report(self):
            """A full pipe blocks the report forever: the files are complete, and one signal suffices."""
            writer = self.full_pipe()
            out = self.out()
            process = subprocess.Popen(
                [harness.BINARY, "2", "100", "null:", "-q", "--out", str(out)], stdout=writer,
                stderr=subprocess.PIPE, text=True)
            self.addCleanup(process.stderr.close)
            self.addCleanup(process.kill)
            os.close(writer)
            harness.wait_until(lambda: self.waits_with_all_written(process, out), "the report")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=harness.GUARD_S), 130)
            self.assertIn("interrupted while the report was printed", process.stderr.read())
            self.check_run(out, 130)

    @staticmethod
    def waits_with_all_written(process, out):
        """Returns whether the only thread sleeps and the last file is written."""
        path = out / "run.json"
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        return (path.is_file() and path.stat().st_size > 0 and "\nThreads:\t1\n" in status
                and "\nState:\tS" in status)

    def test_at_random_moments(self):
        """A signal at any moment, even in the set-up or while files are written, leaves a complete folder of the run."""
        dice = random.Random(11)
        for number in range(30 // min(harness.SLOW, 6)):
            signal_number = dice.choice((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
            delay_s = dice.uniform(0, 0.2) * harness.SLOW
            with self.subTest(number=number, signal=signal_number, delay_s=delay_s):
                out = self.out()
                process = self.start("8", "4000", "null:", "--rate", "20000", "--out", out)
                time.sleep(delay_s)  # the random moment of the signal
                process.send_signal(signal_number)
                process.communicate(timeout=harness.GUARD_S)
                # -signal_number: the signal came before its handler was installed
                self.assertIn(process.returncode, (0, 130, -signal_number))
                if out.exists():
                    self.check_run(out, process.returncode)

    def test_standard_output_is_closed(self):
        """A reader that ends early (| head) does not crash the program."""
        process = self.start("2", "100", "null:", "--json", "--out", self.out())
        process.stdout.close()
        process.stdout = open(os.devnull)
        code = process.wait(timeout=harness.GUARD_S)
        # 0: everything was written before the reader ended.
        self.assertIn(code, (0, 3))


if __name__ == "__main__":
    harness.main()
