"""A server is killed and started again several times in the middle of a run.

APPEND_TEST_KILLS: number of kills (default 3). A kill follows when every session is connected and
rows are acknowledged again; the run is long enough for all kills.
"""

import os

import harness

KILLS = int(os.environ.get("APPEND_TEST_KILLS", "3"))
SESSIONS = 200 // harness.SLOW
SECONDS_A_KILL = 14 * harness.SLOW


class Restarts(harness.Case):
    SERVER = client = SESSIONS_SQL = None

    def begin(self, server, *options, sessions=SESSIONS, seconds=None, rate=2_000):
        self.out_folder = self.out()
        seconds = seconds or KILLS * SECONDS_A_KILL + 10
        process = self.start(sessions, server.url, "--duration", seconds, "--batch", "20",
                             "--rate", rate // harness.SLOW, "--read", "none", "--on-drop",
                             "reconnect:1000", "--verify", "rows", "--log-transactions", "--out",
                             self.out_folder, *options)
        return process

    def acknowledged(self):
        """Returns the rows so far, from the run's own file."""
        path = self.out_folder / "intervals.csv"
        lines = path.read_text().splitlines() if path.is_file() else []
        if len(lines) < 2:
            return 0
        column = lines[0].split(",").index("rows")
        rows = [line.split(",") for line in lines[1:]]
        return sum(int(row[column]) for row in rows if len(row) > column)

    def wait_for_more(self, process, rows):
        """Waits until this many further rows were acknowledged."""
        before = self.acknowledged()
        harness.wait_until(lambda: process.poll() is not None
                           or self.acknowledged() >= before + rows, "rows are acknowledged")
        self.assertIsNone(process.poll(), "the run ended before the server was killed")

    def kill_and_restart(self, process, server, sessions=SESSIONS):
        def all_are_there():
            return int(self.client(server.superuser_url, self.SESSIONS_SQL)) >= sessions

        harness.wait_until(all_are_there, "every session is connected")
        self.wait_for_more(process, 400)
        server.kill()
        server.restart()

    def finish(self, process):
        ended = self.end(process, None, timeout_s=4 * harness.GUARD_S)
        return ended, self.check_run(self.out_folder, ended.code)

    def check_recovered(self, run, sessions, kills):
        self.assertEqual(run.sessions["connected"], sessions)
        self.assertEqual(run.sessions["finished"], sessions, run.causes)
        table = [row for row in run.table("sessions.csv")]
        self.assertEqual(len(table), sessions)
        reconnects = sum(int(row["reconnects"]) for row in table)
        self.assertGreaterEqual(reconnects, kills * sessions)
        verified = run.json["row_verification"]
        self.assertEqual(verified["state"], "done")
        self.assertEqual(verified["present"] + verified["lost"], run.rows["acknowledged"])
        self.assertEqual(verified["read"], verified["present"] + verified["in_doubt_present"]
                         + verified["rejected_present"])
        for name in ("duplicates", "foreign", "rejected_present"):
            self.assertEqual(verified[name], 0, name)
        for row in table:
            self.assertEqual(int(row["verified_present"]) + int(row["verified_lost"]),
                             int(row["rows_acknowledged"]))
            self.assertLessEqual(int(row["verified_unacknowledged_present"]), int(row["rows_in_doubt"]))
        return verified

    def check_killed_often(self, **settings):
        server = self.SERVER(self, **settings)
        process = self.begin(server)
        for _ in range(KILLS):
            self.kill_and_restart(process, server)
        self.wait_for_more(process, 400)
        ended, run = self.finish(process)
        # Exit code 0: no batch was in flight at a kill. 6: on a slow machine the client is the bottleneck.
        self.assertIn(ended.code, (1,) if run.rows["in_doubt"] > 0 else (0, 6), ended)
        self.assertNotEqual(run.json["outcome"]["verdict"], "VALID")
        verified = self.check_recovered(run, SESSIONS, KILLS)
        self.assertEqual(verified["lost"], 0)
        self.assertEqual(run.verification["lost"], 0)
        self.assertEqual(run.verification["rows_after"], verified["read"])

    def check_losing(self, **settings):
        """Checks a run on a server whose settings acknowledge rows that are not written."""
        server = self.SERVER(self, **settings)
        process = self.begin(server, sessions=20, seconds=15 * harness.SLOW, rate=4000)
        self.kill_and_restart(process, server, sessions=20)
        ended, run = self.finish(process)
        self.assertEqual(ended.code, 1, ended)
        verified = self.check_recovered(run, 20, 1)
        self.assertGreater(verified["lost"], 0)
        self.assertEqual(verified["lost"], run.verification["lost"]
                         + verified["in_doubt_present"] - run.verification["in_doubt_arrived"])
        table = run.table("sessions.csv")
        self.assertEqual(sum(int(row["verified_lost"]) for row in table), verified["lost"])
        self.assertEqual(sum(int(row["verified_lost"]) > 0 for row in table),
                         verified["sessions_lost"])
        self.assertEqual(ended.reason, f"append: {verified['lost']:,} acknowledged rows are lost")
