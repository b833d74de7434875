"""Functions of scripts that never return while the session connects or appends: append leaves their threads."""

import pathlib
import re
import signal

import harness
import workload_faults
from workload_faults import ENDLESS_PATTERN, GET, TABLE


class Stuck(workload_faults.Case):
    def url(self):
        return f"sqlite:{self.folder}/test.db"

    def test_rows_that_never_come(self):
        """A function of derive() never returns, while earlier rows of its append are in flight."""
        for body in ("while true do end", "while true do pcall(function() while true do end end) end",
                     ENDLESS_PATTERN):
            for stop in ("1s", None):
                with self.subTest(body=body, stop=stop):
                    script = self.script(
                        "local n = 0\nlocal log = dataset('log', 0, {{'a', 'int32', derive(row(), function(i)\n"
                        "n = n + 1\nif session.id == 1 and n > 650 then\n" + body + "\nend\nreturn 1 end)}})\n"
                        "transaction('x', function() log:append(200) think(0.01) end, {autocommit = true})\n")
                    out = self.out()
                    process = self.start(2, self.url(), "--workload", script, "--duration",
                                         stop or "10m", "--recreate", "--log-transactions", "--out", out)
                    if stop is None:
                        stat = pathlib.Path(f"/proc/{process.pid}/stat")
                        harness.wait_until((out / "samples.csv").exists, "the run")
                        harness.wait_until(lambda: int(stat.read_text().split()[13]) > 100, "the loop")
                        process.send_signal(signal.SIGINT)
                    ended = self.end(process, 1 if stop else 130)
                    run = self.check_run(out, ended.code)
                    self.assertEqual(run.sessions["dropped"], 1)
                    self.assertEqual(run.json["transactions"]["failed"], 1)
                    self.assertGreaterEqual(run.rows["acknowledged"], 600)
                    log, = run.json["datasets"]
                    self.assertEqual((log["rows_after"], log["lost"]), (run.rows["acknowledged"], 0), log)
                    self.assertTrue(any("script.lua:5: this code was still running" in cause["text"]
                                        for cause in run.causes), run.causes)

    def test_ctrl_c_at_a_pattern_before_the_run(self):
        script = self.script(TABLE + GET + f"on_session(function() {ENDLESS_PATTERN} end)\n"
                             'transaction("x", function() get:run(1) end)\n')
        out = self.out()
        process = self.start(2, self.url(), "--workload", script, "--duration", "1s", "--out", out)
        stat = pathlib.Path(f"/proc/{process.pid}/stat")
        harness.wait_until(lambda: int(stat.read_text().split()[13]) > 50, "the pattern")
        process.send_signal(signal.SIGINT)
        self.end(process, 130)
        run = self.check_run(out, 130)
        self.assertEqual(run.sessions["not_started"], 2)
        self.assertTrue(any(re.search(r"script\.lua:\d+: this code was still running", cause["text"])
                            for cause in run.causes), run.causes)


if __name__ == "__main__":
    harness.main()
