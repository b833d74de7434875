"""A server that is stopped for 5 s in the middle of a run: the dip is at the mark."""

import datetime
import os
import signal
import time

import harness


def utc_now():
    return datetime.datetime.now(datetime.timezone.utc)


class StandsStill(harness.Case):
    def seconds_of(self, run, moment):
        started = datetime.datetime.fromisoformat(
            run.json["times"]["started_utc"].replace("Z", "+00:00"))
        return (moment - started).total_seconds()

    def test_dip(self):
        server = harness.PrivateMariadb(self)
        pid = int((server.home / "pid").read_text())
        out = self.out()
        process = self.start("4", server.url, "--duration", "14", "--rate", "2000", "--read",
                             "none", "--out", out, "--quiet")
        harness.wait_until(lambda: process.poll() is not None or
                           harness.count_lines(out / "intervals.csv") >= 4, "three intervals")
        self.assertIsNone(process.poll())
        os.kill(pid, signal.SIGSTOP)
        try:
            stopped = utc_now()
            with (out / "events.csv").open("a") as events:
                events.write(f"{stopped:%Y-%m-%dT%H:%M:%S.%fZ},server stopped\n")
            time.sleep(5)
        finally:
            continued = utc_now()
            os.kill(pid, signal.SIGCONT)
        self.end(process, 0)
        run = self.check_run(out, 0)
        self.assertEqual([event["text"] for event in run.json["events"]], ["server stopped"])
        mark_s = run.json["events"][0]["time_s"]
        continued_s = self.seconds_of(run, continued)
        self.assertAlmostEqual(mark_s, self.seconds_of(run, stopped), delta=0.01)
        before, within, after = [], [], []
        for row in run.table("intervals.csv"):
            start_s, end_s, rows = float(row["start_s"]), float(row["end_s"]), int(row["rows"])
            if end_s <= mark_s:
                before.append(rows)
            elif start_s >= continued_s:
                after.append(rows)
            # Answers in flight are read a little later.
            elif start_s >= mark_s + 0.3 and end_s <= continued_s:
                within.append(rows)
        self.assertGreaterEqual(len(within), 3)
        self.assertEqual(set(within), {0}, "the dip is not at the mark")
        self.assertGreater(max(before), 0)
        self.assertGreater(max(after), 0)


if __name__ == "__main__":
    harness.main()
