"""Low limits of this program: a run stops where `check` predicts it, and names the limit."""

import os
import resource
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

    if harness.SLOW == 1:  # sanitizers reserve address space themselves
        def test_address_space(self):
            """The remaining address space is too small for a stack. malloc must not use arenas: for each
            arena the C library briefly reserves 64 MiB, so a thread could fail although space is free
            again later."""
            command = self.command(f"as={150 << 20}", enter=("env", "MALLOC_ARENA_MAX=1"))
            ended, run = self.run_append(120, 1200, self.TARGET, "--stack-size", "4M", "--no-check",
                                         program=command, code=3)
            self.assertEqual(run.json["findings"][0]["name"], "RLIMIT_AS", ended)

    def test_a_small_stack(self):
        """ulimit -s is raised if possible; otherwise there is a clear error."""
        small = 128 * 1024 * (8 if harness.SLOW > 1 else 1)
        _, hard = resource.getrlimit(resource.RLIMIT_STACK)

        def lower():
            resource.setrlimit(resource.RLIMIT_STACK, (small, hard))

        self.append("check", "10", preexec_fn=lower)
        self.run_append(10, 1000, preexec_fn=lower)
        self.append("find-max", self.TARGET, "--max-sessions", "3", "--hold", "1",
                    preexec_fn=lower)
        self.refused(10, 1000, self.TARGET, program=self.command(f"stack={small}"), code=3,
                     pattern=rf"the stack limit is {small // 1024} KiB \(ulimit -s\)")

    def test_no_limit_no_finding(self):
        ended, run = self.run_append(20, 200, self.TARGET, program=self.command())
        self.assertEqual(run.json["findings"], [])
        self.assertEqual(run.table("summary.csv")[0]["first_limit"], "")
        self.assertNotRegex(ended.out, r"(?m)^Limit ")


class ClientCpus(Confined):
    """What keeps only this program from the CPUs is named: the least of quota, affinity and niceness."""

    def bound(self, *enter):
        _, run = self.run_append(2, 200, "null:", program=self.command(enter=enter))
        return run.json["resources"].get("client_bound")

    def test_bounds(self):
        cpus = os.cpu_count()
        if cpus < 2 or len(os.sched_getaffinity(0)) < cpus:
            self.skipTest("needs two CPUs, and may use all of them")
        niceness = os.getpriority(os.PRIO_PROCESS, 0)
        first = self.bound()
        if first is not None and "cgroup" in first:
            self.skipTest("this test itself has a quota of CPU time")
        self.assertEqual(first, f"append runs at nice {niceness}" if niceness > 0 else None)
        nice = ("nice", "-n", "5")
        self.assertEqual(self.bound(*nice), f"append runs at nice {min(niceness + 5, 19)}")
        one_cpu = ("taskset", "--cpu-list", "0")
        affinity = f"append may use 1 of {cpus} CPUs (affinity)"
        self.assertEqual(self.bound(*one_cpu, *nice), affinity)
        cgroup = Cgroup(self, "cpu")
        cgroup.write("cpu.cfs_period_us", "cpu.max", 100000)
        for quota_us, expected in ((50000, f"append's cgroup limits append to 0.5 of {cpus} CPUs"), (150000, affinity)):
            cgroup.write("cpu.cfs_quota_us", "cpu.max", quota_us)
            self.assertEqual(self.bound(*cgroup.enter, *one_cpu, *nice), expected)


if __name__ == "__main__":
    harness.main()
