"""Idle sessions, churn, the least number of sessions and sessions.csv, without a server."""

import harness


class Shapes(harness.Case):
    def test_sessions_csv(self):
        _, run = self.run_append("3", "1000", "null:", "--batch", "100", "--idle", "2", code=None)
        table = run.table("sessions.csv")
        self.assertEqual([row["kind"] for row in table], ["active"] * 3 + ["idle"] * 2)
        self.assertEqual([row["rows_acknowledged"] for row in table], ["334", "333", "333", "0", "0"])
        self.assertEqual([row["batches"] for row in table], ["4", "4", "4", "0", "0"])
        for row in table[:3]:
            self.assertLessEqual(float(row["first_acknowledged_s"]),
                                 float(row["last_acknowledged_s"]))
            self.assertGreater(float(row["rows_per_s"]), 0)
        for row in table[3:]:
            self.assertEqual({row[name] for name in ("first_acknowledged_s", "worked_s",
                                                     "rows_per_s", "longest_gap_ms")}, {""})
        self.assertEqual({row["verified_lost"] for row in table}, {""})

    def test_fairness(self):
        _, run = self.run_append("4", "100000", "null:", code=None)
        rates = {int(row["session"]): float(row["rows_per_s"])
                 for row in run.table("sessions.csv")}
        fairness = run.json["fairness"]
        summary = run.table("summary.csv")[0]
        self.assertEqual(fairness["sessions"], 4)
        self.assertAlmostEqual(rates[fairness["slowest_session"]], min(rates.values()))
        self.assertAlmostEqual(rates[fairness["fastest_session"]], max(rates.values()))
        self.assertAlmostEqual(fairness["longest_gap_ms"], max(
            float(row["longest_gap_ms"]) for row in run.table("sessions.csv")), places=5)
        self.assertEqual(summary["slowest_session"], str(fairness["slowest_session"]))

    def test_idle_sessions_are_in_the_ledger(self):
        ended, run = self.run_append("2", "200", "null:", "--idle", "3", code=None)
        self.assertEqual(run.sessions["requested"], 5)
        self.assertEqual(run.sessions["finished"], 5)
        self.assertEqual(run.rows["planned"], 200)
        self.assertEqual(run.json["plan"]["idle_sessions"], 3)
        self.assertRegex(ended.out, r"2 sessions \+ 3 idle")

    def test_churn(self):
        ended, run = self.run_append("4", "4000", "null:", "--churn", "3", code=None)
        self.assertEqual(run.json["counters"]["churns"], 12)
        self.assertEqual(run.json["counters"]["connections_opened"], 16)
        self.assertRegex(ended.out, r"(?m)^Churn +12 connections")

    def test_idle_sessions_see_the_end_of_the_time(self):
        _, run = self.run_append("2", "null:", "--duration", "1", "--rate", "1000", "--idle", "4",
                                 code=None)
        self.assertEqual(run.sessions["finished"], 6)
        self.assertEqual(run.json["outcome"]["stop_reason"], "duration")

    def test_ctrl_c_with_idle_sessions_and_churn(self):
        out = self.out()
        process = self.start("4", "1000000", "null:", "--rate", "1000", "--idle", "5", "--churn", "1",
                             "--out", out)
        self.interrupt_when_busy(process, out)
        self.end(process, 130)
        run = self.check_run(out, 130)
        self.assertEqual(run.sessions["stopped"], 9)


if __name__ == "__main__":
    harness.main()
