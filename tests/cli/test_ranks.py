"""Several ranks as one run, on one machine and without a server."""

import os
import pathlib
import re
import signal
import subprocess

import harness
import ranks
from find_max import Searching
from ranks import Ranks
from sweep import NAMES, QUICK, RATE, SLOW, Sweep, Sweeping, is_alive


HOLD = ("--hold", "200ms")


class Null(Ranks, Searching):
    def test_one_result(self):
        """The same ledgers, sessions and counts as with one process; no rank's folder stays."""
        words = ("200", "20000", "null:", "--batch", "7", "--idle", "5", "--seed", "3")
        _, alone = self.run_append(*words)
        ended, run = self.run_ranks(4, *words)
        self.assertEqual(run.sessions, alone.sessions)
        self.assertEqual(run.rows, alone.rows)
        self.assertEqual(ended.out.count("Elapsed time"), 1)
        self.assertEqual(self.folders_of_ranks(run.folder), [])
        for name in ("appends", "reads", "connections_opened", "sessions_connected"):
            self.assertEqual(run.json["counters"][name], alone.json["counters"][name], name)
        for name in ("append", "read", "connect"):
            self.assertEqual(run.json["latencies"][name]["count"],
                             alone.json["latencies"][name]["count"])
        kept = ("session", "kind", "outcome", "rows_planned", "rows_acknowledged", "batches")
        self.assertEqual([[row[name] for name in kept] for row in run.table("sessions.csv")],
                         [[row[name] for name in kept] for row in alone.table("sessions.csv")])
        self.assertEqual([int(row["sessions"]) for row in run.table("ranks.csv")],
                         [52, 51, 51, 51])
        for row in run.table("ranks.csv"):
            self.assertLessEqual(float(row["run_queue_percent"]), 100)
        self.assertEqual([{name: text for name, text in row.items() if name == "machine"}
                          for row in run.table("ranks.csv")],
                         [{"machine": rank["machine"]} for rank in run.json["ranks"]])

    def test_metrics_of_a_script(self):
        """Each rank takes different numbers from the counter; together the ranks take 0 to 299."""
        script = self.folder / "numbers.lua"
        script.write_text("""
            local size, seen, latest = trend("size"), count("seen"), gauge("latest")
            local number = counter("number", 0)
            transaction("add", function()
                local n = number:next()
                size:add(n / 3)
                seen:add(2)
                latest:add(n)
            end)
        """)
        ended, run = self.run_ranks(3, "6", "null:", "--workload", str(script), "--transactions", "300",
                                    "--expect", "seen==600, size.count==300, size.max<100")
        self.assertIn("all 3 met", ended.out)
        rows = {row["metric"]: row for row in run.table("metrics.csv")}
        self.assertEqual(rows["seen"]["count"], "600")
        self.assertEqual((rows["size"]["count"], rows["size"]["min"]), ("300", "0"))
        self.assertAlmostEqual(float(rows["size"]["mean"]), 299 / 6)
        self.assertEqual(rows["latest"]["min"], "0")
        self.assertEqual(rows["latest"]["max"], "299")
        self.assertIn(int(rows["latest"]["last"]), range(300))
        for percent, name in ((50, "p50"), (99, "p99")):
            exact = (3 * percent - 1) / 3
            self.assertTrue(exact <= float(rows["size"][name]) <= exact * (1 + 1 / 64) + 1e-9, rows["size"])

    def test_a_signal_when_most_have_nothing_to_do(self):
        """Rank 0 ends by itself; a rank without a session is notified before its result is requested."""
        out = self.out()
        process = self.start_ranks(3, "1", "null:", "--rate", "1000", "--duration", "60", "--out",
                                   out)
        self.wait_for_rows(process, out)
        os.kill(self.find_rank(process, 0), signal.SIGTERM)
        process.communicate(timeout=harness.GUARD_S)
        run = self.check_ranks(out, 130, 3)
        self.assertEqual(run.json["outcome"]["stop_reason"], "interrupted")

    def test_intervals_are_on_one_axis(self):
        _, run = self.run_ranks(3, "6", "null:", "--rate", "3000", "--duration", "3", "--report")
        table = run.table("intervals.csv")
        self.assertLessEqual(len(table), 5)
        self.assertEqual({row["sessions_alive"] for row in table[:3]}, {"6"})
        self.assertEqual(float(table[0]["start_s"]), 0)
        self.assertEqual(int(table[-1]["rows_held"]), run.rows["acknowledged"])
        self.assertNotIn("not on this machine", (run.folder / "run.json").read_text())
        self.assertIn("Client machines", (run.folder / "report.html").read_text())

    def test_whose_turn_it_is_at_the_end(self):
        """The ranks meet the total rate, although some send another batch for each session."""
        _, run = self.run_ranks(3, "60", "null:", "--rate", "3000", "--duration", "2500ms")
        rows = [int(row["rows_acknowledged"]) for row in run.table("ranks.csv")]
        self.assertGreater(rows[0], rows[2])
        self.assertNotIn("rate", " ".join(row["verdict_reason"] for row in run.table("ranks.csv")))

    def test_more_ranks_than_sessions(self):
        _, run = self.run_ranks(4, "2", "200", "null:")
        self.assertEqual([row["sessions"] for row in run.table("ranks.csv")], ["1", "1", "0", "0"])

    def test_find_max(self):
        """A level counts the sessions of all ranks, and each rank has its share."""
        ended, search = self.find_max_of_ranks(3, "null:", *HOLD, "--first", 3, "--max-sessions",
                                               20, "--weights", "2,0,1")
        self.assertEqual([level["sessions"] for level in search.levels], [3, 6, 12, 20])
        self.assertEqual([level["added"] for level in search.levels], [3, 3, 6, 8])
        self.assertEqual(search.search["bound"], {"sessions": 20, "by": "user", "limit": None,
                                                  "where": None})
        self.assertEqual([row["sessions"] for row in search.table("ranks.csv")], ["14", "0", "6"])
        self.assertRegex(ended.out, r"(?m)^Held +at least 20 sessions")
        self.assertIn("Machines", ended.out)
        self.assertEqual(self.folders_of_ranks(search.folder), [])

    def test_find_max_ends_everywhere(self):
        """A bound ends the search, whichever rank reaches it first."""
        for end, code, *words in (("time", 0, "--hold", "1s", "--max-time", "2500ms"),
                                  ("rows", 1, "--hold", "30s", "--max-rows", 50000),
                                  ("memory", 3, *HOLD, "--max-memory", "1M")):
            with self.subTest(end):
                _, search = self.find_max_of_ranks(3, "null:", *words, code=code)
                self.assertEqual(search.search["end"], end)
                self.assertEqual(self.folders_of_ranks(search.folder), [])

    def test_find_max_whose_plan_a_rank_cannot_make(self):
        for name in ("0", "1"):
            (self.folder / name).mkdir()
        (self.folder / "0" / "secret").write_text("no one's")
        words = (harness.BINARY, "find-max", "null:", *HOLD, "--password-file", "secret")
        process = self.start(*self.MPIRUN, "--wdir", self.folder / "0", "-n", 1, *words, ":",
                             "--wdir", self.folder / "1", "-n", 2, *words, program="mpirun")
        ended = self.end_ranks(process, 2)
        self.assertRegex(ended.reason, r"machine \S+, rank [12]: --password-file secret: No such")

    def test_what_is_refused(self):
        for pattern, *words in (
                (r"prepare is for one process", "prepare", "null:", "--workload", "oltp"),
                (r"sqlite runs inside this program", "4", "400"),
                (r"--metrics and --metrics-file work in a single process only", "4", "400", "null:",
                 "--metrics-file", "m.prom"),
                (r"--live and --control work in a single process only", "4", "400", "null:", "--live", "8080"),
                (r"--live and --control work in a single process only", "4", "400", "null:", "--control"),
                (r"--log-transactions does not work with several ranks: ", "4", "400", "null:",
                 "--log-transactions"),
                (r"--weights '2,1': give a whole number up to \S+ for each of the 3 ranks", "4",
                 "400", "null:", "--weights", "2,1"),
                (r"--weights '2,1,1,1': give a whole number", "4", "400", "null:", "--weights", "2,1,1,1"),
                (r"every rank has weight 0 or only samples", "4", "400", "null:", "--weights",
                 "0,0,0"),
                (r"--sample-only 'nowhere': no rank runs on a machine with this name", "4", "400",
                 "null:", "--sample-only", "nowhere"),
                (r"unknown option '--nonsense'", "4", "400", "null:", "--nonsense")):
            with self.subTest(pattern):
                self.refused_ranks(3, *words, code=2, pattern=pattern)
        ended = self.append("4", "400", "null:", "--weights", "1,1", code=2)
        self.assertIn("--weights is for several ranks: start append with mpirun", ended.reason)

    def test_other_options_at_a_rank(self):
        out = self.out()
        ended = self.end_ranks(self.start(
            *self.MPIRUN, "-n", 1, harness.BINARY, 2, 200, "null:", "--out", out, ":", "-n", 1, harness.BINARY,
            2, 999, "null:", "--out", out, program="mpirun"), 2)
        self.assertRegex(ended.err, r"append: rank 1 on machine \S+ was started with different options from rank 0 on "
                         r"\S+: start all ranks with the same command line")
        self.assertFalse(out.exists())

    def test_help_is_printed_once(self):
        ended = self.ranks(3, "--version")
        self.assertEqual(ended.out.count("append "), 1)
        ended = self.ranks(3, "help")
        self.assertEqual(ended.out.count("Usage: "), 1)
        ended = self.ranks(3, "nonsense", code=2)
        self.assertRegex(ended.reason, "'nonsense' is not a command")

    def other_program(self, name, old=b"^$", new=b""):
        """Returns a copy of the program and its module in another folder, with some bytes changed."""
        folder = self.folder / name
        folder.mkdir()
        for source in (pathlib.Path(harness.BINARY), ranks.MODULE):
            (folder / source.name).write_bytes(re.sub(old, new, source.read_bytes()))
            (folder / source.name).chmod(0o755)
        return folder / pathlib.Path(harness.BINARY).name

    def test_without_the_module(self):
        program = self.other_program("without")
        (program.parent / ranks.MODULE.name).unlink()
        ended = self.append("4", "400", "null:", program=program, code=2,
                            env={"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"})
        self.assertRegex(ended.reason, r"append-mpi.so is neither in .*-D APPEND_MPI=ON")
        # A single process needs no module, whatever the environment says.
        self.append("4", "400", "null:", program=program,
                    env={"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1",
                         "PMIX_RANK": "0"})

    def test_another_version_is_refused(self):
        other = self.other_program("other", rb"(?<!_)0\.1\.0\0", b"0.1.9\0")
        process = self.start(*self.MPIRUN, "-n", 1, harness.BINARY, "4", "400", "null:", "--out",
                             self.out(), ":", "-n", 1, other, "4", "400", "null:",
                             program="mpirun")
        ended = self.end_ranks(process, 2)
        self.assertRegex(ended.reason, r"machine \S+ has a different version \(append 0.1.9.*\) from "
                                       r"rank 0 \(append 0.1.0")

    def test_the_program_itself_has_no_mpi(self):
        lines = subprocess.run(["ldd", harness.BINARY], capture_output=True, text=True,
                                       check=True).stdout
        self.assertNotIn("libmpi", lines)


class Sweeps(Ranks, Sweeping):
    # mpirun takes a second to pass a signal on.
    LONG = ("--sessions", "1,2", "--records", f"{RATE},{4 * RATE}", "--rate", str(RATE), "null:")

    def start_sweep(self, out, words=SLOW):
        return self.start_ranks(3, "sweep", *words, "--out", out)

    def find_run(self, process, rank):
        """Returns the process of a rank's current run."""
        def find():
            pids = ranks.children_of(process.pid)
            own = [pid for pid in pids if ranks.rank_of(pid) == rank]
            return [child for pid in own for child in ranks.children_of(pid)]

        return harness.wait_until(find, f"a run of rank {rank}")[0]

    def resume(self, out, *words, count=3):
        self.ranks(count, "sweep", "--resume", out, *words)
        sweep = self.check_sweep(out)
        self.assertEqual([run["state"] for run in sweep.runs], ["done"] * 4)
        for run in sweep.runs:
            self.check_ranks(out / run["folder"], 0, count)

    def test_each_run_has_all_ranks(self):
        out = self.out()
        ended = self.ranks(3, "sweep", *QUICK, "null:", "--idle", "4", "--weights", "1,2,1",
                           "--out", out)
        sweep = self.check_sweep(out)
        self.check_report(ended, sweep)
        self.assertEqual(sweep.json["ranks"], 3)
        for run in sweep.runs:
            own = self.check_ranks(out / run["folder"], 0, 3)
            _, alone = self.run_append(str(run["sessions"]), str(run["records"]), "null:",
                                       "--idle", "4")
            self.assertEqual((own.rows, own.sessions), (alone.rows, alone.sessions))

    def test_one_rank_is_one_process(self):
        out = self.out()
        self.ranks(1, "sweep", *QUICK, "null:", "--out", out)
        self.assertEqual({path.name for path in out.rglob("ranks.csv")}, set())
        self.assertEqual(self.check_sweep(out).json["ranks"], 1)

    def test_a_signal_to_mpirun(self):
        out = self.out()
        process = self.start_sweep(out, self.LONG)
        self.wait_for_rows(process, out / f"1x{4 * RATE}")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=harness.GUARD_S)
        if harness.SLOW == 1:  # within the second that mpirun allows
            self.assertIn("interrupted: 2 of 4 runs have ended; resume with", err)
            self.assertEqual(list(out.glob("*.rank*")), [])
        self.assertEqual([run["state"] for run in Sweep(out).runs],
                         ["done"] * 2 + ["pending"] * 2)
        ended = self.ranks(2, "sweep", "--resume", out, code=2)
        self.assertIn("the sweep was started on 3 ranks, not 2", ended.reason)
        self.resume(out)

    def test_a_run_without_a_rank(self):
        """The run fails, before it began or during it, and the sweep goes on."""
        out = self.out()
        process = self.start_sweep(out)
        os.kill(self.find_run(process, 2), signal.SIGKILL)
        self.wait_for_rows(process, out / NAMES[2])
        os.kill(self.find_run(process, 1), signal.SIGKILL)
        ended = self.end_ranks(process, 1)
        self.assertRegex(ended.reason, "2 of 4 runs failed: 1x3000: rank 2")
        self.assertRegex(ended.err, r"(?m)^machine \S+, rank 2: append was ended by signal 9")
        runs = Sweep(out).runs
        self.assertEqual([run["state"] for run in runs], ["failed", "done", "failed", "done"])
        for run, rank in zip(runs[::2], "21"):
            self.assertRegex(run["reason"], rf"^rank {rank} (on machine \S+ )?was lost")
            self.assertEqual(run["exit_code"], 1)
        self.resume(out, "--retry-failed")

    def test_rank_0_of_a_run_is_killed(self):
        """The other ranks' processes also end, and keep their files."""
        out = self.out()
        process = self.start_sweep(out)
        self.wait_for_rows(process, out / NAMES[0])
        others = [self.find_run(process, rank) for rank in (1, 2)]
        os.kill(self.find_run(process, 0), signal.SIGKILL)
        harness.wait_until(lambda: not any(map(is_alive, others)), "the end of the others")
        _, err = process.communicate(timeout=harness.GUARD_S)
        self.assertEqual(process.returncode, 3)
        self.assertEqual([run["state"] for run in Sweep(out).runs], ["failed"] + ["done"] * 3)
        for rank in (1, 2):
            self.assertIn(f"whose files stay in {out / NAMES[0]}.rank{rank}", err)
        self.resume(out, "--retry-failed")

    def test_no_program_outlives_its_rank(self):
        out = self.out()
        process = self.start_sweep(out)
        self.wait_for_rows(process, out / NAMES[1])
        own = [self.find_run(process, rank) for rank in range(3)]
        os.kill(self.find_rank(process, 1), signal.SIGKILL)
        process.communicate(timeout=harness.GUARD_S)
        harness.wait_until(lambda: not any(map(is_alive, own)), "the end of all processes")
        self.resume(out)

    def test_an_expectation(self):
        out = self.out()
        ended = self.ranks(2, "sweep", *QUICK, "null:", "--expect", "throughput>1000000000000", "--out", out,
                           code=5)
        self.assertIn("1x1000 missed an expectation", ended.reason)
        self.assertEqual({run["state"] for run in self.check_sweep(out).runs}, {"done"})

    def test_what_is_refused(self):
        for pattern, *words in (
                (r"--weights '1,1': give a whole number", "null:", "--weights", "1,1"),
                (r"sqlite runs inside this program",),
                (r"unknown option '--nonsense'", "null:", "--nonsense")):
            with self.subTest(pattern):
                self.refused_ranks(3, "sweep", *QUICK, *words, code=2, pattern=pattern)


class Examples(harness.Case):
    """The files of docs/several-machines.md."""

    FOLDER = harness.ROOT / "docs" / "machines"

    def test_each_is_named_by_the_page(self):
        page = (harness.ROOT / "docs" / "several-machines.md").read_text()
        for path in self.FOLDER.iterdir():
            self.assertIn(f"(machines/{path.name})", page)

    def plan(self, words):
        """Checks that append understands the arguments of a command line."""
        words = ["x" if word.startswith("$") else word for word in words]
        return self.append(*words, "--plan").out

    def test_slurm(self):
        script = self.FOLDER / "slurm.sh"
        subprocess.run(["bash", "-n", script], check=True)
        text = script.read_text().replace("\\\n", " ")
        command = re.search(r"srun .*? append (.*)", text).group(1)
        command = re.sub(r"\$\{1:[^}]*\}", "db", command).replace('"', "")
        self.assertIn("sessions: 40000", self.plan(command.split()))
        for line in re.findall(r"^#SBATCH (.*)", text, re.M):
            self.assertRegex(line, r"^--[a-z-]+(=\S+)?$")

    def test_kubernetes(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("no python3-yaml")
        job = yaml.safe_load((self.FOLDER / "mpijob.yaml").read_text())
        self.assertEqual((job["apiVersion"], job["kind"]), ("kubeflow.org/v2beta1", "MPIJob"))
        replicas = job["spec"]["mpiReplicaSpecs"]
        words = replicas["Launcher"]["template"]["spec"]["containers"][0]["command"]
        self.assertTrue(all(isinstance(word, str) for word in words), words)
        ranks_asked = int(words[words.index("-n") + 1])
        self.assertEqual(ranks_asked, replicas["Worker"]["replicas"] * job["spec"]["slotsPerWorker"])
        self.assertIn("sessions: 40000", self.plan(words[words.index("append") + 1:]))

    def test_hosts(self):
        lines = [line for line in (self.FOLDER / "hosts").read_text().splitlines()
                 if not line.startswith("#")]
        self.assertGreater(len(lines), 1)
        for line in lines:
            self.assertRegex(line, r"^[a-z0-9]+ slots=\d+$")


if __name__ == "__main__":
    harness.main()
