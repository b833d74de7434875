"""--io-trace of a PostgreSQL server, compared with the counts of the server, dd and fio."""

import json
import os
import pathlib
import shutil
import signal
import subprocess

import harness
import io_trace


class OfServer(io_trace.Traced):
    def setUp(self):
        super().setUp()
        self.server = harness.PrivateServer(self, is_on_disk=True, autovacuum="off", fsync="on",
                                            synchronous_commit="on", wal_sync_method="fdatasync")

    def test_as_many_as_the_server_counts(self):
        rows = self.check_postgresql(self.server)
        # backends that began after the trace
        self.assertGreaterEqual(len({row["pid"] for row in rows if row["file"] == "wal"}), 4)
        self.assertTrue({"wal", "table"} <= {row["file"] for row in rows})

    def test_with_waits(self):
        """The report divides the mean time of an append into parts. The wait for the log is divided in the same
        proportion as the syncs of the log."""
        out = self.folder / "run"
        ended = self.append("8", self.server.url, "--duration", "4s", "--batch", "1", "--read", "none",
                            "--waits", "--io-trace", "--out", out)
        run = harness.Run(out)
        parts = {part["part"]: part for part in run.json["waits"]["commit"]}
        self.assertAlmostEqual(sum(part["share_percent"] for part in parts.values()), 100, delta=0.2)
        mean = run.json["latencies"]["append"]["mean_ms"]
        self.assertAlmostEqual(sum(part["ms"] for part in parts.values()), mean, delta=0.01 * mean)
        log = sum(share["share_percent"] for share in run.json["waits"]["shares"] if share["class"] == "log")
        others = parts.get("waiting until another session had written the log", {"share_percent": 0})
        written = [parts["log write: " + layer] for layer in ("file system", "queue of the device", "device")]
        self.assertAlmostEqual(others["share_percent"] + sum(part["share_percent"] for part in written), log,
                               delta=0.1)
        sync = next(call for call in run.json["io_trace"]["calls"]
                    if call["mode"] == "fsync" and call["file"] == "wal")
        self.assertAlmostEqual(written[2]["ms"] / written[0]["ms"],
                               sync["device"]["mean_ms"] / sync["vfs"]["mean_ms"], delta=0.01)
        self.assertIn("Average commit", ended.out)

    def wait_for_sessions(self, process, out):
        """Waits until both sessions' processes have written for a second. Returns their process ids."""
        def ask():
            return {int(pid) for pid in harness.psql(
                self.server.superuser_url, "select pid from pg_stat_activity where usename = 'append' "
                f"and query ~* '^copy' and {harness.OF_SESSIONS}").split()}

        harness.wait_until(lambda: len(ask()) == 2, "both sessions to write")
        seconds = harness.count_lines(out / "intervals.csv")
        self.wait_for_interval(process, out, lambda row: float(row["start_s"]) > seconds and
                               int(row["rows"]) > 100, "a second of their work")
        return ask()

    def end_slowly(self):
        """Gives the server's first process the lowest priority on a busy CPU, so that the kernel takes
        long to end it once it is killed."""
        cpu = {min(os.sched_getaffinity(0))}
        pid = int((self.server.home / "data/postmaster.pid").read_text().split()[0])
        busy = subprocess.Popen(["sh", "-c", "while :; do :; done"], stdin=subprocess.DEVNULL)
        self.addCleanup(busy.wait)
        self.addCleanup(busy.kill)
        os.sched_setaffinity(busy.pid, cpu)
        os.sched_setaffinity(pid, cpu)
        os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
        return busy

    def test_restarted(self):
        """A restarted server is traced, however long the killed server takes to end."""
        out = self.folder / "run"
        process = self.start("2", self.server.url, "--duration", "10m", "--rate", "200", "--batch",
                             "1", "--read", "none", "--on-drop", "reconnect", "--io-trace", "--out",
                             out)
        before = self.wait_for_sessions(process, out)
        busy = self.end_slowly()
        self.server.kill()
        busy.kill()
        self.server.restart()
        after = self.wait_for_sessions(process, out)
        process.send_signal(signal.SIGINT)
        self.end(process, 130)
        writers = {row["pid"] for row in self.rows(harness.Run(out))
                   if row["file"] == "wal" and row["mode"] == "S" and row["row"] == "operation"}
        self.assertEqual(before & after, set())
        self.assertEqual((before | after) - writers, set(), "these processes were not traced")


class OfProcess(io_trace.Traced):
    """Programs with known I/O, in place of the server's process."""

    def setUp(self):
        super().setUp()
        if not io_trace.is_disk(self.folder):
            self.skipTest(f"{self.folder}: files cannot be written directly there")
        self.server = harness.PrivateServer(self)
        self.file = self.folder / "file"

    def trace(self, commands, afterwards=None):
        """Runs shell commands during a run that traces their shell, and then `afterwards()`. Returns the
        run and the rows of its trace."""
        self.outs += 1
        go, out = self.folder / f"go{self.outs}", self.folder / f"run{self.outs}"
        shell = subprocess.Popen(
            ["sh", "-c", f"while [ ! -e {go} ]; do sleep 0.05; done; {commands}; touch {go}.done; "
                         "sleep 60"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            cwd=self.folder, text=True, start_new_session=True)
        self.addCleanup(shell.stdout.close)
        self.addCleanup(shell.wait)
        self.addCleanup(shell.kill)
        process = self.start("1", self.server.url, "--duration", "10m", "--rate", "1", "--batch",
                             "1", "--read", "none", "--server-pid", f"{shell.pid}!", "--io-trace",
                             "--out", out)
        harness.wait_until(lambda: harness.count_lines(out / "intervals.csv") > 1,
                           "the first second")
        go.touch()
        harness.wait_until(pathlib.Path(f"{go}.done").exists, commands)
        os.sync()
        if afterwards is not None:
            afterwards()
        process.send_signal(signal.SIGINT)
        self.end(process, 130)
        run = harness.Run(out)
        self.assertEqual(run.json["io_trace"]["lost"], 0)
        return run, self.rows(run)

    @staticmethod
    def only(rows, **wanted):
        return [row for row in rows if all(row[key] == value for key, value in wanted.items())]

    def test_another_process(self):
        """A trace without records of the server says so."""
        other = subprocess.Popen(["sleep", "60"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        ended, run = self.run_append(1, 1000, self.server.url, "--server-pid", f"{other.pid}!",
                                     "--io-trace")
        self.assertEqual(run.json["outcome"]["verdict"], "DEGRADED", ended)
        self.assertRegex(run.json["outcome"]["verdict_reason"],
                         r"the server counted [\d,]+ writes and syncs, but none was traced")

    def test_dd(self):
        run, rows = self.trace(
            f"dd if=/dev/zero of={self.file} bs=16k count=300 oflag=direct; "
            f"dd if={self.file} of=/dev/null bs=8k count=200 iflag=direct; "
            f"dd if=/dev/zero of={self.file} bs=8k count=100 oflag=dsync conv=notrunc")
        of_file = [row for row in rows if row["file"] != "unknown"]
        for mode, size, calls in (("W", 16384, 300), ("R", 8192, 200), ("W", 8192, 100)):
            found = self.only(of_file, row="operation", mode=mode, size_bytes=size)
            self.assertEqual(len(found), calls, (mode, size))
            waited = [row for row in found if row["device_ns"] > 0]
            self.assertGreaterEqual(len(waited), calls * 0.98, (mode, size))
        # A call on a fragmented file makes several requests. If another program calls sync, the kernel may write
        # the data of a dsync call before the call itself does.
        own, all_of_it = (sum(row["size_bytes"] for row in rows if row["row"] == "request" and row["mode"] == "W"
                              and row["source"] in sources) for sources in (("own",), ("own", "writeback")))
        self.assertGreaterEqual(own, 300 * 16384 * 0.98)
        self.assertGreaterEqual(all_of_it, (300 * 16384 + 100 * 8192) * 0.98)
        self.assertEqual(run.json["io_trace"]["fsyncs"], 0)

    def test_write_back(self):
        """A later write by the kernel counts for the process that wrote the data, but for no call. Reads of
        the file by another process count for that process."""
        def read():
            with open(self.file, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                self.assertEqual(len(file.read()), 160 * 65536)

        _, rows = self.trace(f"dd if=/dev/zero of={self.file} bs=64k count=160", read)
        self.assertEqual(self.only(rows, mode="R", source="writeback"), [])
        writes = self.only(rows, row="operation", mode="W", size_bytes=65536)
        self.assertEqual(len(writes), 160)
        self.assertEqual(sum(row["device_ns"] for row in writes), 0)
        pid = writes[0]["pid"]
        late = self.only(rows, row="request", mode="W", pid=pid)
        # If the test runs alone, all bytes are in these rows. Beside tests that write and sync much, 4 MiB of
        # them can be missing.
        self.assertGreaterEqual(sum(row["size_bytes"] for row in late), 160 * 65536 * 0.5)
        self.assertTrue(any(row["source"] == "writeback" for row in late))

    def test_journal(self):
        """With a journal the file system writes for the waiting caller: this time is vfs."""
        image, place = self.folder / "image", self.folder / "mounted"
        place.mkdir()
        with open(image, "wb") as file:
            file.truncate(64 << 20)
        for command in (["mkfs.ext4", "-q", image], ["mount", "-o", "loop", image, place]):
            result = subprocess.run(command, capture_output=True, text=True)
            if result.returncode != 0:
                self.skipTest(f"no file system with a journal here: {result.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", place], check=True)
        run, rows = self.trace(f"dd if=/dev/zero of={place}/file bs=4k count=200 oflag=sync")
        writes = self.only(rows, row="operation", mode="W", size_bytes=4096)
        self.assertEqual(len(writes), 200)
        journal = self.only(rows, row="request", source="journal")
        self.assertGreaterEqual(len(journal), 100)
        self.assertEqual(run.json["io_trace"]["journal_requests"],
                         len(self.worked(run, journal)))

    def test_fio(self):
        if shutil.which("fio") is None:
            self.skipTest("fio is not installed (scripts/setup.sh test)")
        for arguments, modes in (("--rw=randwrite --bs=8k --direct=1", {"write": "W"}),
                                 ("--rw=randread --bs=8k --direct=1", {"read": "R"}),
                                 ("--rw=write --bs=8k --fdatasync=1", {"write": "W", "sync": "S"})):
            run, rows = self.trace(
                f"fio --name=x --filename={self.file} --size=8m --ioengine=psync --thread {arguments} "
                f"--output-format=json --output={self.folder}/fio.json")
            text = (self.folder / "fio.json").read_text()
            told = json.loads(text[text.index("{"):])["jobs"][0]
            for kind, mode in modes.items():
                count = told[kind]["lat_ns"]["N"]
                found = [row for row in self.only(rows, row="operation", mode=mode)
                         if mode == "S" or row["size_bytes"] == 8192]
                self.assertGreaterEqual(count, 1000)
                # fio lays out its file first, and may sync it at the end
                self.assertGreaterEqual(len(found), count, (arguments, kind))
                if mode == "R":
                    self.assertEqual(len(found), count, (arguments, kind))
                elif mode == "S":
                    self.assertLessEqual(len(found), count + 2, (arguments, kind))


if __name__ == "__main__":
    harness.main()
