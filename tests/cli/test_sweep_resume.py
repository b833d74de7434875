"""Interrupted sweeps that are resumed."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import unittest

import harness
from sweep import NAMES, QUICK, RATE, SLOW, Sweep, Sweeping, child_of, is_alive


class Interrupted(harness.Case, Sweeping):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.whole = None

    def uninterrupted(self):
        if Interrupted.whole is None:
            _, sweep = self.sweep(*SLOW)
            Interrupted.whole = sweep.shape()
        return Interrupted.whole

    def interrupt(self, name, number=signal.SIGINT):
        out = self.out()
        process = self.start("sweep", *SLOW, "--out", out)
        self.wait_for_rows(process, out / name)
        process.send_signal(number)
        ended = self.end(process, 130)
        self.assertRegex(ended.reason, r"interrupted: \d of 4 runs have ended; resume with: append "
                                       r"sweep --resume ")
        return ended, self.check_sweep(out)

    def resume(self, sweep):
        ended = self.append("sweep", "--resume", sweep.folder)
        resumed = self.check_sweep(sweep.folder)
        self.check_report(ended, resumed)
        self.assertEqual(resumed.shape(), self.uninterrupted())
        return ended

    def test_at_the_first_and_the_last_run(self):
        for place in (0, 3):
            name = NAMES[place]
            with self.subTest(name=name):
                ended, sweep = self.interrupt(name)
                self.assertEqual(sweep.json["state"], "interrupted")
                self.assertEqual([run["state"] for run in sweep.runs],
                                 ["done"] * place + ["pending"] * (4 - place))
                self.assertIn("not run", ended.out)
                before = {path: path.stat().st_mtime_ns
                          for path in sweep.folder.glob("*/summary.csv")
                          if path.parent.name in NAMES[:place]}
                self.assertEqual(len(before), place)
                ended = self.resume(sweep)
                self.assertIn(f"{name}: incomplete, removing its folder and running it again",
                              ended.err)
                for path, time in before.items():
                    self.assertEqual(path.stat().st_mtime_ns, time, "a finished run is not touched")

    def test_sigterm(self):
        _, sweep = self.interrupt(NAMES[2], signal.SIGTERM)
        self.assertEqual([run["state"] for run in sweep.runs], ["done"] * 2 + ["pending"] * 2)
        self.resume(sweep)

    def test_a_sweep_that_is_killed(self):
        """The killed sweep's run ends by itself, and the sweep resumes where it was."""
        out = self.out()
        process = self.start("sweep", *SLOW, "--out", out)
        self.wait_for_rows(process, out / NAMES[2])
        child = child_of(process)
        kept = [os.path.realpath(path) for path in pathlib.Path(f"/proc/{child}/fd").iterdir()]
        self.assertIn(os.path.realpath(out), kept, "the run holds the lock of the folder too")
        process.kill()
        process.wait()
        harness.wait_until(lambda: not is_alive(child), "the end of the run")
        self.assertEqual(Sweep(out).json["state"], "running")
        self.resume(self.check_sweep(out))

    def test_a_run_does_not_outlive_its_sweep(self):
        out = self.out()
        process = self.start("sweep", "--sessions", 1, "--records", "1M", "--rate", 1000, "null:",
                             "--out", out)
        self.wait_for_rows(process, out / "1x1000000")
        child = child_of(process)
        process.kill()
        harness.wait_until(lambda: not is_alive(child), "the end of the run")
        self.assertEqual(harness.Run(out / "1x1000000").json["outcome"]["exit_code"], 130)

    def test_a_second_signal(self):
        """A signal ends the sweep and its run at once, even when the run does not answer."""
        out = self.out()
        process = self.start("sweep", *SLOW, "--out", out)
        self.wait_for_rows(process, out / NAMES[0])
        child = child_of(process)
        os.kill(child, signal.SIGSTOP)
        process.send_signal(signal.SIGINT)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(harness.GUARD_S), 130)
        os.kill(child, signal.SIGCONT)
        harness.wait_until(lambda: not is_alive(child), "the end of the run")
        self.resume(self.check_sweep(out))

    def test_ctrl_z(self):
        out = self.out()
        process = self.start("sweep", "--sessions", 1, "--records", 4000, "--rate", 1000, "null:",
                             "--out", out)
        self.wait_for_rows(process, out / "1x4000")
        child = child_of(process)

        def state(pid):
            return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]

        process.send_signal(signal.SIGTSTP)
        harness.wait_until(lambda: (state(process.pid), state(child)) == ("T", "T"), "both processes to be stopped")
        process.send_signal(signal.SIGCONT)
        harness.wait_until(lambda: state(child) != "T", "the run to go on")
        self.end(process, None)

    def test_twice_interrupted_with_repeats(self):
        options = ("--sessions", "1,2", "--records", "3k", "--repeat", 2, "--rate", RATE, "null:")
        _, whole = self.sweep(*options)
        out = self.out()
        process = self.start("sweep", *options, "--out", out)
        for name in ("2x3000-1", "1x3000-2"):
            self.wait_for_rows(process, out / name)
            process.send_signal(signal.SIGINT)
            self.end(process, 130)
            self.check_sweep(out)
            process = self.start("sweep", "--resume", out)
        self.end(process, 0)
        self.assertEqual(self.check_sweep(out).shape(), whole.shape())

    def test_from_another_folder(self):
        """Resuming in another folder is refused, since options have relative paths; the sweep itself may move."""
        out = self.folder / "a" / "sweep"
        out.parent.mkdir()
        options = ("--sessions", "1,2", "--records", "3k", "--rate", RATE, "sqlite:x.db")
        process = self.start("sweep", *options, "--out", "sweep", cwd=out.parent)
        self.wait_for_rows(process, out / "2x3000")
        process.send_signal(signal.SIGINT)
        self.end(process, 130)
        moved = self.folder / "moved"
        out.rename(moved)
        self.refused("sweep", "--resume", "moved", code=2, pattern="started in .*: resume it there")
        self.append("sweep", "--resume", "../moved", cwd=self.folder / "a")
        sweep = self.check_sweep(moved)
        self.assertEqual([row["rows_before"] for row in sweep.rows], ["0", "0"])
        self.assertEqual(sweep.json["table"], "made")
        self.assertTrue((self.folder / "a" / "x.db").exists())
        self.assertFalse((self.folder / "x.db").exists())


class Resumed(harness.Case, Sweeping):
    def test_a_finished_sweep(self):
        ended, sweep = self.sweep(*QUICK, "null:")
        before = sweep.shape()
        again = self.append("sweep", "--resume", f"{sweep.folder}//")
        self.assertEqual(again.out, ended.out)
        self.assertIn("nothing to do", again.err)
        self.assertEqual(self.check_sweep(sweep.folder).shape(), before)

    def test_failed_runs_stay_failed(self):
        out = self.out()
        process = self.start("sweep", *SLOW, "--out", out)
        self.wait_for_rows(process, out / NAMES[2])
        os.kill(child_of(process), signal.SIGKILL)
        self.end(process, 3)
        ended = self.append("sweep", "--resume", out, code=3)
        self.assertRegex(ended.reason, "1 of 4 runs failed: 1x4000")
        self.check_sweep(out)
        self.append("sweep", "--resume", out, "--retry-failed")
        self.assertEqual({run["state"] for run in self.check_sweep(out).runs}, {"done"})

    def test_nothing_to_retry(self):
        self.refused("sweep", *QUICK, "null:", "--retry-failed", code=2,
                     pattern="--retry-failed needs --resume DIR")

    def test_a_run_whose_folder_is_gone(self):
        _, sweep = self.sweep(*QUICK, "null:")
        shutil.rmtree(sweep.folder / "2x1000")
        self.append("sweep", "--resume", sweep.folder)
        self.assertEqual(self.check_sweep(sweep.folder).shape(), sweep.shape())

    def test_options(self):
        _, sweep = self.sweep(*QUICK, "--batch", 50, "null:")
        ended = self.append("sweep", "--resume", sweep.folder, "--batch=50", "--records=1k,3k",
                            "null:", "--json", "--quiet")
        self.assertEqual(json.loads(ended.out)["state"], "finished")
        for arguments, pattern in (
                (["--batch", "20"], r"--batch=20 differs from .* \(--batch=50\): leave it out"),
                (["--sessions", "1"], r"--sessions=1 differs from .* \(--sessions=1,2\)"),
                (["--recreate"], r"--recreate differs from .* \(not given\)"),
                (["--out", "x"], "--out contradicts --resume"),
                (["sqlite:x.db"], "started on null, but TARGET is sqlite")):
            with self.subTest(arguments=arguments):
                self.refused("sweep", "--resume", sweep.folder, *arguments, code=2,
                             pattern=pattern)

    def test_options_with_and_without_a_value(self):
        for given, other in (("--recreate", "--recreate=syslog_table"), ("--recreate=syslog_table", "--recreate")):
            with self.subTest(given=given):
                _, sweep = self.sweep(*QUICK, given, f"sqlite:{self.folder}/{len(given)}.db")
                self.refused("sweep", "--resume", sweep.folder, other, code=2,
                             pattern=fr"{other} differs from .* \({given}\): leave it out")
                self.append("sweep", "--resume", sweep.folder, given)

    def test_options_that_may_change(self):
        """The password file may change when a sweep resumes: it does not affect the figures."""
        (self.folder / "old").write_text("x")
        (self.folder / "new").write_text("x")
        _, sweep = self.sweep(*QUICK, "null:", "--password-file", "old", "--batch=50")
        (self.folder / "old").unlink()
        shutil.rmtree(sweep.folder / "2x1000")
        self.refused("sweep", "--resume", sweep.folder, code=2, pattern="--password-file old: No")
        self.append("sweep", "--resume", sweep.folder, "--password-file", "new")
        again = self.check_sweep(sweep.folder)
        self.assertEqual({run["state"] for run in again.runs}, {"done"})
        self.assertEqual(again.json["options"], ["--sessions=1,2", "--records=1k,3k",
                                                 "--batch=50", "--password-file=new"])

    def test_no_folder_of_a_sweep(self):
        self.refused("sweep", "--resume", "nowhere", code=2, pattern="not the folder of a sweep")
        _, run = self.run_append(1, 100, "null:")
        self.refused("sweep", "--resume", run.folder, code=2, pattern="not the folder of a sweep")
        _, sweep = self.sweep(*QUICK, "null:")
        path = sweep.folder / "sweep.json"
        text = path.read_text()
        for changed, pattern in (
                (text[:100], "sweep.json"),
                (text.replace('"append_version": "', '"append_version": "9'), "resume with the version that wrote it"),
                (text.replace("1x3000", "../3000"), "its runs do not match"),
                (text.replace("--sessions=1,2", "--sessions=1,3"), "lists runs that do not match its options"),
                (text.replace('"--records=1k,3k"', "5"), "has an option that is not a text"),
                (text.replace('"working_folder"', '"elsewhere"'), "lacks the sweep's options"),
                (text.replace(str(self.folder), "/nowhere"), "started in folder '/nowhere'")):
            with self.subTest(pattern=pattern):
                self.assertNotEqual(changed, text)
                path.write_text(changed)
                self.refused("sweep", "--resume", sweep.folder, code=2, pattern=pattern)

    @unittest.skipUnless(os.geteuid() == 0, "only root may give files away")
    def test_pipes(self):
        """A folder, pipe or device in place of a file is refused or replaced at once."""
        sweep = self.sweep(*QUICK, "null:")[1]
        name = sweep.runs[0]["folder"]
        shutil.rmtree(sweep.folder / name)
        os.mkfifo(sweep.folder / f"{name}.log")
        os.mkfifo(sweep.folder / "max_cpu.csv.part")
        changed = json.loads((sweep.folder / "sweep.json").read_text())
        changed["runs"][0]["state"] = "pending"
        (sweep.folder / "sweep.json").write_text(json.dumps(changed))
        self.append("sweep", "--resume", sweep.folder)
        self.check_sweep(sweep.folder)
        (sweep.folder / "sweep.json").unlink()
        os.mkfifo(sweep.folder / "sweep.json")
        for command in (("sweep", "--resume", sweep.folder), ("report", sweep.folder)):
            self.refused(*command, code=2, pattern="sweep.json: not a regular file")

    def test_of_another_user(self):
        """Neither root nor another user runs the options of someone else's sweep.json."""
        os.chmod(self.folder, 0o755)
        _, sweep = self.sweep(*QUICK, "null:")
        victim = self.folder / "victim"
        for owner, path in ((1234, sweep.folder), (1234, sweep.folder / "sweep.json")):
            with self.subTest(path=path.name):
                os.chown(path, owner, -1)
                self.refused("sweep", "--resume", sweep.folder, f"--metrics-file={victim}", code=2,
                             pattern="belongs to another user")
                os.chown(path, 0, -1)
        self.refused("sweep", "--resume", sweep.folder, code=2, user=1234, cwd="/",
                     pattern="belongs to another user")
        self.append("sweep", "--resume", sweep.folder)

    def test_nobody_else_may_write_the_options(self):
        _, sweep = self.sweep(*QUICK, "null:", preexec_fn=lambda: os.umask(0))
        self.assertEqual((sweep.folder / "sweep.json").stat().st_mode & 0o777, 0o644)

    def test_a_password_goes_to_no_recorded_target(self):
        """The server that sweep.json names would get the password."""
        _, sweep = self.sweep(*QUICK, "null:")
        path = sweep.folder / "sweep.json"
        saved = json.loads(path.read_text())
        target = "postgresql://x@127.0.0.1:1/x"
        path.write_text(json.dumps(saved | {"adapter": "postgresql", "target_given": target}))
        shutil.rmtree(sweep.folder / "2x1000")
        for variable in ("APPEND_PASSWORD", "PGPASSWORD", "MYSQL_PWD"):
            with self.subTest(variable=variable):
                self.refused("sweep", "--resume", sweep.folder, env={variable: "x"}, code=2,
                             pattern=f"password in {variable} would go to {target}")
        for arguments, env in (((target,), {"APPEND_PASSWORD": "x"}), ((), {})):
            ended = self.append("sweep", "--resume", sweep.folder, *arguments, env=env, code=4)
            self.assertIn("Connection refused", ended.reason)
        place = ["--host=127.0.0.1", "--port=1"]
        path.write_text(json.dumps(saved | {"adapter": "postgresql", "target_given": None,
                                            "options": saved["options"] + place
                                            + ["--adapter=postgresql"]}))
        for arguments in ((), place[:1], place[1:]):
            self.refused("sweep", "--resume", sweep.folder, *arguments,
                         env={"APPEND_PASSWORD": "x"}, code=2,
                         pattern="password in APPEND_PASSWORD would go to postgresql.*127.0.0.1:1")
        ended = self.append("sweep", "--resume", sweep.folder, *place,
                            env={"APPEND_PASSWORD": "x"}, code=4)
        self.assertIn("Connection refused", ended.reason)
        path.write_text(json.dumps(saved))
        self.append("sweep", "--resume", sweep.folder, env={"APPEND_PASSWORD": "x"})

    def test_a_sweep_that_is_at_work(self):
        out = self.out()
        process = self.start("sweep", *SLOW, "--out", out)
        self.wait_for_rows(process, out / NAMES[0])
        ended = self.append("sweep", "--resume", out, code=2)
        self.assertIn("another append sweep or one of its runs still works", ended.reason)
        self.end(process, 0)

    def test_a_run_that_ends_while_another_sweep_resumes(self):
        """The folder is locked before sweep.json is read. The pipe of the password, which sweep.json names, would
        stop the second sweep between the two."""
        pipe, out = self.folder / "password", self.out()
        os.mkfifo(pipe)

        def writer():
            with contextlib.suppress(OSError):  # no process reads the pipe
                return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)

        def give_password(end):
            os.write(end, b"x\n")
            os.close(end)

        process = self.start("sweep", "--sessions", 1, "--records", "3k", "--rate", RATE, "null:", "--password-file",
                             pipe, "--out", out)
        give_password(harness.wait_until(writer, "the sweep to read the pipe"))
        self.wait_for_rows(process, out / "1x3000")
        child = child_of(process)
        os.kill(child, signal.SIGSTOP)
        try:
            second = self.start("sweep", "--resume", out)
            end = harness.wait_until(lambda: writer() or second.poll() is not None, "the second sweep to read or end")
        finally:
            os.kill(child, signal.SIGCONT)
        self.end(process, None)
        summary = out / "1x3000" / "summary.csv"
        before = summary.stat().st_mtime_ns
        if end is not True:
            give_password(end)
        ended = self.end(second, 2)
        self.assertIn("another append sweep or one of its runs still works", ended.reason)
        self.assertEqual(summary.stat().st_mtime_ns, before)


if __name__ == "__main__":
    harness.main()
