"""Limits of this program set low in turn: where `check` says that a run stops it does, and says why."""

import time

import harness
from confine import Cgroup, Confined


class ClientTasks(Confined):
    TARGET = "null:"

    def test_user_tasks(self):
        command = self.command("nproc=150")
        predicted, first = self.predict(command, 300, self.TARGET)
        self.assertEqual(first, "RLIMIT_NPROC")
        begin = time.monotonic()
        ended, run = self.stop_run(command, 300, self.TARGET, code=3)
        self.assertLess(time.monotonic() - begin, harness.GUARD_S / 2)
        finding = self.check_stop(run, ended, predicted, "user_tasks", "client")
        self.assertEqual(run.sessions["not_started"], 300 - run.sessions["connected"])
        self.assertRegex(finding["evidence"], r"pthread_create.*150 of 150 threads")
        self.assertRegex(finding["fix"], r"nproc")

    def test_a_cgroup_of_tasks(self):
        cgroup = Cgroup(self, "pids")
        cgroup.write("pids.max", "pids.max", 140)
        command = self.command(enter=cgroup.enter)
        predicted, first = self.predict(command, 300, self.TARGET)
        self.assertEqual(first, "pids.max")
        ended, run = self.stop_run(command, 300, self.TARGET, code=3)
        finding = self.check_stop(run, ended, predicted, "cgroup_tasks", "client")
        self.assertRegex(finding["evidence"], r"140 of 140 threads")
        self.assertIn(str(cgroup.path), finding["evidence"])
        self.assertRegex(finding["evidence"], r"pids.events counted [1-9]")
        self.assertGreaterEqual(cgroup.number("pids.events", "max"), 1)

    def test_no_limit_no_finding(self):
        ended, run = self.run_append(20, 200, self.TARGET, program=self.command())
        self.assertEqual(run.json["findings"], [])
        self.assertEqual(run.table("summary.csv")[0]["first_limit"], "")
        self.assertNotRegex(ended.out, r"(?m)^Limit ")


if __name__ == "__main__":
    harness.main()
