"""Loops in scripts that do not end: they end with the run, after Ctrl-C, or at the top level after ten seconds."""

import pathlib
import signal
import time

import harness
import workload_faults
from workload_faults import ENDLESS_PATTERN, GET, TABLE


class Endless(workload_faults.Case):
    def url(self):
        return f"sqlite:{self.folder}/test.db"

    def test_a_top_level_that_does_not_end(self):
        """A script's top level has ten seconds of CPU time, also within one call of a Lua function."""
        script = self.script(ENDLESS_PATTERN + '\ntransaction("x", function() end)\n')
        ended = self.append("help", script, code=2, timeout_s=2 * harness.GUARD_S)
        self.assertRegex(ended.reason, r"script\.lua:1: this code ran for 10 s without finishing")

    def test_an_endless_loop_ends_with_the_run(self):
        for body in ("while true do end", "while true do pcall(get.run, get, 1) end",
                     "while true do pcall(error) end", 'while true do ("x"):rep(1000) end',
                     'for i = 1, 1e9 do local s = ("x"):rep(1e6) end',
                     "local t = {1} while true do pcall(table.move, t, 1, 100000, 2) end"):
            with self.subTest(body):
                script = self.script(TABLE + GET + f'transaction("x", function() {body} end)\n')
                start = time.monotonic()
                _, run = self.run_script(1, self.url(), script, "--duration", "200ms", code=None)
                self.assertLess(time.monotonic() - start, 20 * harness.SLOW)
                self.assertEqual(run.json["transactions"]["committed"], 0)

    def test_the_line_that_does_not_return(self):
        for body in ("while true do pcall(function() while true do end end) end", ENDLESS_PATTERN,
                     'local s = ("a"):rep(3e6) while true do utf8.len(s) end',
                     'local s = ("a"):rep(3e6) while true do utf8.offset(s, 3e6) end'):
            with self.subTest(body):
                script = self.script(TABLE + GET + 'local n = 0\ntransaction("x", function()\n'
                                     "n = n + 1 get:run(1)\nif n > 5 and session.id == 1 then\n"
                                     + body + "\nend\nend)\n")
                ended, run = self.run_script(2, self.url(), script, "--duration", "200ms", code=1)
                ledger = run.json["transactions"]
                self.assertGreaterEqual(ledger["committed"], 5)
                self.assertEqual((ledger["failed"], run.sessions["dropped"]), (1, 1), ended)
                self.assertRegex(ended.reason, r"1 of [\d,]+ transactions? failed: .*script\.lua:7: "
                                 "this code was still running after the run had ended")

    def test_the_run_ends_while_rows_are_made(self):
        """Rows that a generator draws are not made any more once the run has ended; those handed over are in doubt."""
        script = self.script('local any = uniform(1, 9)\nlocal t = dataset("t", 0, {{"a", "int32", derive(row(), '
                             "function() return any() end)}})\n"
                             'transaction("x", function() t:append(1000000000) end, {autocommit = true})\n')
        _, run = self.run_script(1, self.url(), script, "--duration", "200ms", code=1)
        ledger = run.json["transactions"]
        self.assertEqual((ledger["begun"], ledger["in_doubt"], run.sessions["dropped"]), (1, 1, 0), ledger)
        self.assertGreater(run.json["rows"]["in_doubt"], 0)
        self.assertEqual(run.json["causes"], [])

    def test_ctrl_c_at_the_top_level(self):
        for text in ("while true do end", "while true do pcall(function() while true do end end) end",
                     ENDLESS_PATTERN, 'local s = ("a"):rep(3e6) while true do utf8.len(s) end'):
            with self.subTest(text):
                script = self.script(text + '\ntransaction("x", function() end)\n')
                process = self.start(1, self.url(), "--workload", script, "--duration", "1s")
                stat = pathlib.Path(f"/proc/{process.pid}/stat")
                harness.wait_until(lambda: int(stat.read_text().split()[13]) > 20, "the loop")
                process.send_signal(signal.SIGINT)
                ended = self.end(process, 130)
                self.assertRegex(ended.reason, r"interrupted while loading the script, at \S*script\.lua:1$")
                self.assertEqual(len(ended.err.splitlines()), 1, ended)

    def test_ctrl_c_ends_an_endless_loop(self):
        script = self.script(TABLE + GET + 'transaction("x", function() while true do end end)\n')
        out = self.out()
        process = self.start(2, self.url(), "--workload", script, "--duration", "10m", "--out", out)
        self.wait_for_interval(process, out, lambda row: int(row["sessions_alive"]) == 2, "the loops")
        process.send_signal(signal.SIGINT)
        self.end(process, 130)
        self.check_run(out, 130)


if __name__ == "__main__":
    harness.main()
