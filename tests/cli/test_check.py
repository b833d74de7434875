"""append check without a server, and as part of a run."""

import json
import re

import harness
from confine import Confined


class Check(harness.Case):
    def check(self, *arguments, code=0, **options):
        return json.loads(self.append("check", *arguments, "--json", code=code, **options).out)

    def limit(self, report, name, side="client"):
        found = [limit for limit in report["limits"]
                 if limit["name"] == name and limit["side"] == side]
        self.assertEqual(len(found), 1, report["limits"])
        return found[0]

    def test_this_machine(self):
        ended = self.append("check", "10")
        lines = ended.out.splitlines()
        for line in lines:
            self.assertLessEqual(len(line), 80, line)
        self.assertRegex(" ".join(ended.out.split()),
                         r" 10 sessions fit; (up to (about )?[\d,]+|no more) would; the first limit "
                         r"is \S+ \(client, [^()]+\)$")
        for name in ("RLIMIT_NOFILE", "RLIMIT_NPROC", "kernel.threads-max", "kernel.pid_max",
                     "vm.max_map_count", "RLIMIT_AS", "ip_local_port_range", "free memory"):
            self.assertRegex(ended.out, rf"(?m)^PASS  {re.escape(name)} ")
        self.assertNotRegex(ended.out, r"(?m)^Server|^Database")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_workloads(self):
        plain = self.limit(self.check("1000"), "free memory")
        for target in ([], ["sqlite:x.db"]):
            report = self.check("1000", *target, "--workload", "oltp", "--set", "tables=3")
            self.assertEqual(report["workload"], "oltp")
            self.assertEqual(report["prepared_statements"], 27)
        asked = self.check("1000", "--workload", "oltp", "--prepared", "no")
        self.assertEqual(asked["prepared_statements"], 0)
        scripted = self.limit(asked, "free memory")
        self.assertEqual(scripted["needed"] - plain["needed"], 1000 * 32 * 1024)
        self.assertIn("Workload  oltp, 9 prepared statements in each session\n",
                      self.append("check", "10", "--workload", "oltp").out)

    def test_json_says_the_same(self):
        report = self.check("10")
        self.assertEqual(report["sessions"], 10)
        least = min(limit["sessions"] for limit in report["limits"]
                    if limit["sessions"] is not None)
        self.assertEqual(report["outcome"]["max_sessions"], least)
        self.assertEqual(report["outcome"]["exit_code"], 0)
        files = self.limit(report, "RLIMIT_NOFILE")
        self.assertEqual(files["sessions"], files["allowed"] - files["used"]
                         - (files["needed"] - 10))

    def test_idle_sessions_count(self):
        busy, idle = self.check("10"), self.check("10", "--idle", "5")
        self.assertEqual(idle["sessions"], 15)
        self.assertEqual(self.limit(idle, "RLIMIT_NOFILE")["needed"]
                         - self.limit(busy, "RLIMIT_NOFILE")["needed"], 5)

    def test_wrong_usage(self):
        self.refused("check", code=2, pattern="too few operands")
        self.refused("check", "10", "--host", "x", code=2, pattern="--host needs a TARGET")
        self.refused("check", "10", "--server-pid", "1", code=2, pattern="needs a TARGET")
        self.refused("check", "10", "--rate", "1", code=2, pattern="is not an option of")

    def test_an_embedded_database(self):
        report = self.check("10", "sqlite:")
        self.assertNotIn("server", {limit["side"] for limit in report["limits"]})
        self.assertNotIn("ip_local_port_range", {limit["name"] for limit in report["limits"]})
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_nobody_listens(self):
        """The report shows the client's limits, and why the database was not asked."""
        ended = self.append("check", "10", "postgresql://a@127.0.0.1:1/a", code=4)
        self.assertRegex(ended.out, r"(?m)^PASS  RLIMIT_NOFILE")
        self.assertRegex(ended.out, r"(?m)^WARN  limits of its process +- +not known +-")
        self.assertRegex(ended.out, r"(?m)^WARN  database's limits +- +not known +-")
        self.assertRegex(" ".join(ended.out.split()), r"the first known limit is .*\); the limits of its process and the database's limits are not known$")
        self.assertRegex(ended.reason, "could not query the database: .*refused")


class Low(Confined):
    """Low limits of this machine."""

    def test_open_files(self):
        command = self.command("nofile=100")
        ended = self.append("check", "500", program=command, code=3)
        self.assertRegex(ended.out, r"(?m)^FAIL  RLIMIT_NOFILE ")
        self.assertRegex(ended.out, r"(?m)^   -> .*nofile")
        self.assertRegex(ended.reason, r"^append: only \d+ of 500 sessions fit; ")
        self.assertNotIn(" of 500 sessions fit", ended.out)
        predicted, first = self.predict(command, 500, "sqlite:")
        self.assertEqual(first, "RLIMIT_NOFILE")
        # The sessions connect one at a time: during a connect SQLite opens more files for a moment, and
        # simultaneous connects would exceed the limit on files. SQLite's sessions also share the index of
        # the log.
        _, run = self.run_append(500, 500, "sqlite:", "--read", "none", "--no-check",
                                 "--connect-concurrency", 1, code=None, program=command)
        self.assertLessEqual(abs(run.sessions["connected"] - predicted), 6)

    def test_a_run_that_is_certain_to_fail(self):
        command = self.command("nproc=50")
        ended = self.refused(100, 1000, "null:", program=command, code=3,
                             pattern=r"only \d+ of [\d,]+ sessions fit; the first limit is RLIMIT_NPROC "
                                     r"\(client, ulimit -u\).*--no-check")
        self.assertEqual(len(ended.err.splitlines()), 1, ended)

    def test_a_run_that_is_told_to_go_on(self):
        command = self.command("nproc=50")
        predicted, _ = self.predict(command, 100, "null:")
        _, run = self.run_append(100, 1000, "null:", "--no-check", program=command, code=3)
        # One session fewer may fit: for a moment a joined thread still counts as a thread of the user, and
        # ThreadSanitizer starts a thread of its own.
        self.assertIn(run.sessions["connected"], (predicted, predicted - 1))

    def test_fewer_sessions_will_do(self):
        command = self.command("nproc=50")
        self.run_append(100, 1000, "null:", "--min-sessions", "40", program=command, code=3)
        self.refused(100, 1000, "null:", "--min-sessions", "60", program=command, code=3,
                     pattern="RLIMIT_NPROC")
        self.refused(40, 400, "null:", "--idle", "20", program=command, code=3,
                     pattern="RLIMIT_NPROC")

    def test_files_of_the_output(self):
        """The least limit that passes the check is enough: the check counts the files of a log and of options."""
        for files in range(60, 200):
            ended = self.append(20, "sqlite:x.db", "--workload", "oltp", "--set", "table_size=100", "--transactions", "40",
                                "--connect-concurrency", "1", "--log-transactions", "--junit", "x.xml", "--recreate",
                                "--out", self.out(), program=("prlimit", f"--nofile={files}:{files}", harness.BINARY),
                                code=None)
            if "of 20 sessions fit; the first limit is RLIMIT_NOFILE" not in ended.err:
                break
        self.assertGreater(files, 60)
        self.assertEqual(ended.code, 0, ended)

    def test_the_soft_limit_of_files_is_raised(self):
        self.run_append(60, 600, "sqlite:", program=("prlimit", "--nofile=30:1000",
                                                     harness.BINARY))

    if harness.SLOW == 1:  # sanitizers reserve address space themselves
        def test_address_space(self):
            command = self.command(f"as={1700 << 20}")
            predicted, first = self.predict(command, 5000, "null:", "--stack-size", "1M")
            self.assertEqual(first, "RLIMIT_AS")
            _, run = self.run_append(5000, 5000, "null:", "--stack-size", "1M", "--no-check",
                                     program=command, code=3)
            self.assertLessEqual(abs(run.sessions["connected"] - predicted), 0.05 * predicted)


if __name__ == "__main__":
    harness.main()
