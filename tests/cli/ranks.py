"""Runs of several ranks under mpirun."""

import os
import pathlib
import re
import shutil
import unittest

import harness

MODULE = pathlib.Path(harness.BINARY).with_name("append-mpi.so")
FAULTY_MODULE = pathlib.Path(harness.BINARY).parent / "tests" / "faulty-mpi.so"


def rank_of(pid):
    """Returns the rank of a process; None for another process."""
    try:
        words = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    return next((int(word.split(b"=")[1]) for word in words
                 if word.startswith(b"OMPI_COMM_WORLD_RANK=")), None)


def children_of(pid):
    paths = pathlib.Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in paths for child in path.read_text().split()]


@unittest.skipUnless(shutil.which("mpirun") and MODULE.exists(), "no mpirun, or append-mpi.so is not built")
class Ranks(harness.Case):
    MPIRUN = ("--allow-run-as-root", "--oversubscribe")

    def environment(self, **more):
        """The leak sanitizer is off: Open MPI leaks the memory of its plugins."""
        options = os.environ.get("ASAN_OPTIONS", "").replace("detect_leaks=1", "detect_leaks=0")
        return super().environment(ASAN_OPTIONS=options, **more)

    def start_ranks(self, count, *arguments, mpirun=(), program=harness.BINARY, **options):
        return self.start(*self.MPIRUN, *mpirun, "-n", count, program, *arguments,
                          program="mpirun", **options)

    def start_faulty(self, count, *arguments, mpirun=(), env=None, **fault):
        """`fault`: settings of faulty_mpi.c; `signal` may be a constant of the module signal."""
        folder = self.out()
        folder.mkdir()
        program = folder / "append"
        shutil.copy2(harness.BINARY, program)
        (folder / MODULE.name).symlink_to(FAULTY_MODULE)
        settings = {f"FAULT_{name.upper()}": str(int(value)) for name, value in fault.items()}
        return self.start_ranks(count, *arguments, mpirun=mpirun, program=program,
                                env={**settings, **(env or {})})

    def find_rank(self, process, number):
        """Returns the process of a rank under this mpirun."""
        return next(pid for pid in children_of(process.pid) if rank_of(pid) == number)

    def end_ranks(self, process, code, may_be_busy=False):
        """Waits for the end of mpirun, checks the exit code, and ignores mpirun's own lines on standard error.
        `may_be_busy`: accepts a run that is INVALID because other programs use the machine's CPUs."""
        out, err = process.communicate(timeout=harness.GUARD_S)
        ended = harness.Ended(process.returncode, out, err)
        self.assertNotEqual(ended.code, harness.SANITIZER_EXIT, ended)
        self.assertNotIn(harness.SECRET, out + err)
        is_busy = may_be_busy and "sessions waited for a CPU" in ended.reason
        if not ((harness.SLOW > 1 or is_busy) and code == 0 and ended.code == 6):
            self.assertEqual(ended.code, code, ended)
        self.assertEqual(len(ended.error_lines), 0 if ended.code == 0 else 1, ended)
        return ended

    def ranks(self, count, *arguments, code=0, **options):
        return self.end_ranks(self.start_ranks(count, *arguments, **options), code)

    def run_ranks(self, count, *arguments, code=0, **options):
        out = self.out()
        ended = self.ranks(count, *arguments, "--out", out, code=code, **options)
        return ended, self.check_ranks(out, ended.code, count)

    def check_ranks(self, out, code, count):
        run = self.check_run(out, code)
        table = run.table("ranks.csv")
        self.assertEqual([row["rank"] for row in table], [str(i) for i in range(count)])
        for name in ("planned", "acknowledged", "rejected", "in_doubt", "not_sent"):
            self.assertEqual(sum(int(row["rows_" + name]) for row in table), run.rows[name], name)
        self.assertEqual(sum(int(row["sessions"]) for row in table), run.sessions["requested"])
        samples = run.table("ranks_samples.csv")
        known = {row["rank"] for row in table if row["verdict"] != "LOST"}
        self.assertEqual({row["rank"] for row in samples}, known)
        return run

    def find_max_of_ranks(self, count, *arguments, code=0, **options):
        """For a class that is also Searching: makes a whole search with this number of ranks."""
        out = self.out()
        ended = self.ranks(count, "find-max", *arguments, "--out", out, code=code, **options)
        search = self.check_search(out, ended, more=("ranks.csv", "ranks_samples.csv"))
        table = search.table("ranks.csv")
        self.assertEqual([row["rank"] for row in table], [str(i) for i in range(count)])
        self.assertEqual(sum(int(row["rows_acknowledged"]) for row in table),
                         search.rows["acknowledged"])
        return ended, search

    def folders_of_ranks(self, out):
        return sorted(path.name for path in out.parent.glob(out.name + ".rank*"))

    def refused_ranks(self, count, *arguments, code, pattern, **options):
        """Checks that no run began: one line, and no folder is left."""
        ended = self.ranks(count, *arguments, "--out", self.out(), code=code, **options)
        self.assertRegex(ended.reason, pattern)
        self.assertEqual([path.name for path in self.folder.iterdir() if
                          re.match("run-", path.name)], [])
        return ended
