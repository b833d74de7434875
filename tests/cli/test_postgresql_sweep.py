"""The passwords of sweeps on a PostgreSQL server."""

import contextlib
import os
import pathlib
import signal

import harness
from sweep import RATE, Sweeping, child_of


class Passwords(harness.Postgresql, Sweeping):
    OPTIONS = ("--sessions", "2,4", "--records", "3k", "--rate", RATE)

    def setUp(self):
        super().setUp()
        self.target = self.in_database(self.PASSWORD_URL)
        self.sql("grant all on schema public to append_pw", f"grant all on database {self.database} to append_pw")

    @contextlib.contextmanager
    def pipe(self):
        """Yields the options of a call that reads the password from a pipe, as a shell's <(...) gives it."""
        reader, writer = os.pipe()
        os.write(writer, f"{harness.SECRET}\n".encode())
        os.close(writer)
        yield f"--password-file=/dev/fd/{reader}", {"pass_fds": (reader,)}
        os.close(reader)

    def test_a_pipe(self):
        """All runs get the password of a pipe, which is read once, and it precedes the password of the URL."""
        wrong = self.target.replace("append_pw@", "append_pw:wrong@")
        for target in (self.target, wrong):
            with self.subTest(target=target), self.pipe() as (word, options):
                _, sweep = self.sweep("--sessions", "1,2", "--records", "1k", "--recreate", target, word, **options)
                self.assertEqual([run["state"] for run in sweep.runs], ["done"] * 2)

    def test_a_pipe_when_the_sweep_resumes(self):
        out = self.out()
        with self.pipe() as (word, options):
            process = self.start("sweep", *self.OPTIONS, self.target, word, "--out", out, **options)
            self.wait_for_rows(process, out / "4x3000")
        for name in ("cmdline", "environ"):
            self.assertNotIn(harness.SECRET.encode(), pathlib.Path(f"/proc/{child_of(process)}/{name}").read_bytes())
        process.send_signal(signal.SIGINT)
        self.end(process, 130)
        self.check_sweep(out)
        self.refused("sweep", "--resume", out, self.target, code=2, pattern=r"--password-file /dev/fd/\d+: \w")
        with self.pipe() as (word, options):
            self.append("sweep", "--resume", out, self.target, word, **options)
        self.assertEqual([run["state"] for run in self.check_sweep(out).runs], ["done"] * 2)


if __name__ == "__main__":
    harness.main()
