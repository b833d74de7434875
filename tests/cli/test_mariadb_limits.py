"""Low limits of a MariaDB server, and a server that the kernel kills for memory."""

import os
import subprocess

import harness
from confine import Cgroup, Confined
from harness import PrivateMariadb


class MariadbLimits(Confined):
    def server_pid(self, server):
        return int((server.home / "pid").read_text())

    def test_max_connections(self):
        server = PrivateMariadb(self, max_connections=150)
        command = self.command()
        # sessions connect one at a time: while a surplus session logs in, the server also refuses other sessions
        finding = self.check_limit(command, 300, server.url, "--connect-concurrency", 1, code=4,
                                   first="max_connections", limit=("sessions", "database"))
        self.assertRegex(finding["evidence"], r"Too many connections; 150 allowed")
        self.assertRegex(finding["fix"], r"max_connections")

    def test_max_user_connections(self):
        server = PrivateMariadb(self, max_user_connections=120)
        command = self.command()
        finding = self.check_limit(command, 200, server.url, code=4,
                                   first="max_user_connections", limit=("sessions", "database"))
        self.assertIn("120 allowed", finding["evidence"])

    def test_threads_of_the_server(self):
        server = PrivateMariadb(self, prefix=self.as_other_user(180))
        pid = self.server_pid(server)
        command = self.command()
        # with the pid, append can read the limits and tasks of another user's process
        options = ["--server-pid", pid]
        finding = self.check_limit(command, 300, server.url, *options, code=4,
                                   first="RLIMIT_NPROC", limit=("user_tasks", "server"))
        self.assertRegex(finding["evidence"], r"create a new thread.*180 of 180 threads")

    def test_a_cgroup_of_the_server(self):
        cgroup = Cgroup(self, "pids")
        server = PrivateMariadb(self, prefix=cgroup.enter)
        cgroup.write("pids.max", "pids.max", 160)
        command = self.command()
        options = ["--server-pid", self.server_pid(server)]
        finding = self.check_limit(command, 300, server.url, *options, code=4,
                                   first="pids.max", limit=("cgroup_tasks", "server"))
        self.assertRegex(finding["evidence"], r"160 of 160 threads.*pids.events counted [1-9]")

    def test_open_files_of_the_server(self):
        """A server without free descriptors does not accept connections: connects time out."""
        server = PrivateMariadb(self)
        self.run_append(1, 10, server.url)  # the table's own files are open from here on
        pid = self.server_pid(server)
        owner = os.stat(f"/proc/{pid}")
        files = len(os.listdir(f"/proc/{pid}/fd")) + 120
        subprocess.run(["setpriv", f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}",
                        "--clear-groups", "prlimit", f"--pid={pid}", f"--nofile={files}:{files}"],
                       check=True, timeout=harness.GUARD_S)
        options = ["--connect-timeout", 3, "--connect-concurrency", 200]
        # only root and the same user can see the descriptors
        finding = self.check_limit((harness.BINARY,), 200, server.url, *options, code=4,
                                   first="RLIMIT_NOFILE", limit=("open_files", "server"))
        self.assertRegex(finding["evidence"], rf"accepted no more connections; {files} of {files} files in use")

    def test_a_server_that_is_out_of_memory(self):
        """The kernel kills the server when it exceeds the memory of its cgroup."""
        cgroup = Cgroup(self, "memory")
        server = PrivateMariadb(self, prefix=cgroup.enter, is_on_disk=True)  # files in memory count
        used = cgroup.number("memory.stat", "anon" if cgroup.is_v2 else "total_rss")
        cgroup.write("memory.limit_in_bytes", "memory.max", used + (8 << 20))
        if cgroup.is_v2:
            (cgroup.path / "memory.swap.max").write_text("0")
        pid = self.server_pid(server)
        ended, run = self.run_append(500, 500_000, server.url, "--no-check", "--server-pid", pid,
                                     program=self.command(), code=None)
        self.assertIn(ended.code, (1, 4), ended)
        finding = self.check_finding(run, ended, "gone", "server")
        self.assertEqual(finding["name"], "OOM kill")
        self.assertRegex(finding["evidence"], rf"\(pid {pid}\) ended; .* because memory ran out")
        self.assertIn(str(cgroup.path), finding["evidence"])


if __name__ == "__main__":
    harness.main()
