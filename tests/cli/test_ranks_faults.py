"""Ranks that fail at a chosen moment, on one machine and without a server."""

import os
import signal

import harness
import ranks
from ranks import Ranks

# With these options ranks do not read each other's memory. Such reads would work even while the other
# rank is stopped.
BY_PIECES = ("--mca", "btl", "self,vader", "--mca", "btl_vader_single_copy_mechanism", "none")
ALONE = ("--enable-recovery", *BY_PIECES)  # the other ranks survive
PRELOADED = ("-x", f"LD_PRELOAD={ranks.FAULTY_MODULE}")
MACHINE = os.uname().nodename


class Faults(Ranks):
    def ended(self, process):
        """Returns the text on standard error."""
        return process.communicate(timeout=harness.GUARD_S)[1]

    def check_lost(self, out, err, verdict):
        """Checks that rank 1 is lost; `verdict`: of the others."""
        run = harness.Run(out)
        self.assertEqual(run.json["outcome"]["exit_code"], 1)
        self.check_ledgers(run)
        table = run.table("sessions.csv")
        for outcome in ("not_started", "finished", "stopped", "dropped"):
            self.assertEqual(sum(row["outcome"] == outcome for row in table),
                             run.sessions[outcome], outcome)
        ranks_table = run.table("ranks.csv")
        self.assertEqual([row["verdict"] for row in ranks_table],
                         [verdict, "LOST", verdict, verdict])
        unknown = [row for row in table if row["rows_acknowledged"] == ""]
        self.assertEqual(len(unknown), int(ranks_table[1]["sessions"]))
        for row in unknown:
            self.assertEqual(row["rows_in_doubt"] + row["batches"] + row["reconnects"], "")
        self.assertEqual(sum(int(row["rows_acknowledged"] or 0) for row in table),
                         sum(int(row["rows_acknowledged"]) for row in ranks_table
                             if row["verdict"] != "LOST"))
        self.assertEqual(err.count(f"append: rank 1 on machine {MACHINE} was lost"), 1, err)
        self.assertEqual(self.folders_of_ranks(out), [f"{out.name}.rank1"])
        return run

    def test_in_the_middle_of_a_result(self):
        """The results of later ranks wait for a silent rank."""
        begun = []
        for number in (signal.SIGSTOP, signal.SIGKILL):
            out = self.out()
            begun.append((out, self.start_faulty(
                4, "2000", "20000", "null:", "--out", out, mpirun=ALONE, rank=1, bytes=20_000,
                signal=number)))
        for out, process in begun:
            run = self.check_lost(out, self.ended(process), "VALID")
            self.assertEqual(run.rows["acknowledged"], 20_000)
            self.assertEqual(run.sessions["finished"], 1500)
            self.append("report", f"{out}.rank1")

    def test_a_result_that_cannot_be_used(self):
        """The rank counts as lost, and ends with the others."""
        none = "rank 1 could not send its result"
        cases = [({"damage": 1}, (), "the result of rank 1 is damaged or incomplete"),
                 ({"refuse": 1}, (), none)]
        if harness.SLOW == 1:  # a sanitizer must be preloaded first
            cases.append(({"memory": 64 << 10}, PRELOADED, none))
        for fault, mpirun, reason in cases:
            with self.subTest(fault):
                out = self.out()
                err = self.ended(self.start_faulty(4, "2000", "20000", "null:", "--out", out,
                                                   rank=1, bytes=20_000, signal=0, mpirun=mpirun,
                                                   **fault))
                run = self.check_lost(out, err, "VALID")
                self.assertIn(reason, err)
                self.assertEqual(run.rows["acknowledged"], 20_000)
                self.assertEqual(run.sessions["finished"], 1500)
                self.append("report", f"{out}.rank1")

    def test_after_a_signal(self):
        """The rank is lost after a signal from the user. append distinguishes this signal from the signals that
        mpirun sends after the death of a rank."""
        out = self.out()
        process = self.start_faulty(4, "400", "null:", "--rate", "4000", "--duration", "60", "--out",
                                    out, mpirun=ALONE, rank=1, bytes=8_000, signal=signal.SIGSTOP)
        self.wait_for_rows(process, out)
        os.kill(self.find_rank(process, 0), signal.SIGINT)
        err = self.ended(process)
        run = harness.Run(out)
        outcome = run.json["outcome"]
        self.assertEqual((outcome["exit_code"], outcome["stop_reason"]), (1, "rank_lost"))
        # with a duration no rows were planned: the ledger cannot know the rank's last rows
        self.assertTrue(run.json["rows"]["are_at_least"])
        self.assertRegex(err, rf"append: rank 1 on machine {MACHINE} was lost after a signal: "
                              r".*; also interrupted\b")

    def test_before_its_clock_is_compared(self):
        """The other ranks run, and are stopped."""
        out = self.out()
        process = self.start_faulty(4, "8", "null:", "--rate", "1000", "--duration", "60", "--out",
                                    out, mpirun=ALONE, rank=1, send=4, signal=signal.SIGSTOP)
        run = self.check_lost(out, self.ended(process), "DEGRADED")
        self.assertEqual(run.json["outcome"]["stop_reason"], "rank_lost")
        self.assertEqual(run.table("ranks.csv")[1]["clock_offset_ms"], "")

    def test_silence_before_the_run(self):
        """A fault of rank 0 or of another rank; no rank waits forever."""
        silent = {0: 4, 2: 1}
        begun = [(rank, self.start_faulty(
            3, "6", "600", "null:", "--out", self.out(), mpirun=ALONE, rank=rank, send=send,
            signal=signal.SIGSTOP)) for rank, send in silent.items()]
        for rank, process in begun:
            err = self.ended(process)
            self.assertIn(f"append: rank {rank} on machine {MACHINE} was lost", err)

    if harness.SLOW == 1:  # a sanitizer must be preloaded first
        def test_a_clock_that_jumps(self):
            """The clock moves by more than its other errors."""
            out = self.out()
            process = self.start_faulty(
                3, "6", "null:", "--rate", "600", "--duration", "5", "--out", out, rank=1, send=40,
                signal=0, clock_ns=400_000_000, mpirun=PRELOADED)
            ended = self.end_ranks(process, 6)
            run = self.check_ranks(out, 6, 3)
            moved = [float(row["clock_drift_ms"]) for row in run.table("ranks.csv")]
            self.assertAlmostEqual(moved[1], 400, delta=50)
            self.assertAlmostEqual(moved[2], 0, delta=50)
            self.assertRegex(ended.reason,
                             rf"the clock of machine {MACHINE}, rank 1, moved by [34]\d\d ms")


if __name__ == "__main__":
    harness.main()
