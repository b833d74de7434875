"""The measured server and its settings: the open connection decides which server that is."""

import json
import os
import shutil
import subprocess
import unittest

import harness

# Runs in a network namespace and forwards a port to another address.
RELAY = """
import socket, sys, threading
here, there = (sys.argv[1], int(sys.argv[2])), (sys.argv[3], int(sys.argv[4]))
def pump(source, sink):
    while data := source.recv(65536):
        sink.sendall(data)
    sink.shutdown(socket.SHUT_WR)
listener = socket.create_server(here)
print("ready", flush=True)
while True:
    one, _ = listener.accept()
    other = socket.create_connection(there)
    for pair in ((one, other), (other, one)):
        threading.Thread(target=pump, args=pair, daemon=True).start()
"""


class Settings(harness.Postgresql):
    def test_what_the_session_has(self):
        """Weakened durability is in the result, on the screen and in compare."""
        runs = []
        for options in ("-c synchronous_commit=off", ""):
            ended, run = self.run_append(2, 200, self.url, env={"PGOPTIONS": options})
            runs.append(run)
            settings = run.json["server"]["settings"]
            self.assertEqual(settings["synchronous_commit"], "off" if options else "on")
            self.assertEqual(settings["fsync"], self.sql("show fsync"))
            self.assertIn("shared_buffers", settings)
            told = "weakened: synchronous_commit=off: a crash can lose acknowledged commits"
            self.assertEqual(told in " ".join(ended.out.split()), bool(options), ended)
        ended = self.append("compare", runs[0].folder, runs[1].folder, code=None)
        self.assertIn("server.settings.synchronous_commit: off in A, on in B", " ".join(ended.out.split()))

    def test_what_changed_between_the_runs_of_a_sweep(self):
        out = self.out()
        arguments = ("sweep", "--sessions", "1,2", "--records", 1000, self.url)
        ended = self.append(*arguments, "--out", out)
        self.assertNotIn("Settings", ended.out)
        self.assertEqual(json.loads((out / "sweep.json").read_text())["settings_changed"], [])
        shutil.rmtree(out / "2x1000")
        ended = self.append("sweep", "--resume", out, "--report",
                            env={"PGOPTIONS": "-c synchronous_commit=off"})
        said = "setting synchronous_commit of the server changed: on in 1x1000, off in 2x1000"
        self.assertIn(said, " ".join(ended.out.split()))
        self.assertIn(said, (out / "report.html").read_text())
        self.assertEqual(json.loads((out / "sweep.json").read_text())["settings_changed"],
                         [{"setting": "synchronous_commit", "run": "1x1000", "value": "on",
                           "other_run": "2x1000", "other_value": "off"}])

    def change_during(self, *words):
        """Two settings change and a third appears during a run."""
        out = self.out()
        process = self.start(*words, self.url, "--out", out)
        self.wait_for_rows(process, out)
        self.sql(f"alter database {self.database} set synchronous_commit = off;"
                 f" alter database {self.database} set random_page_cost = 1.75")
        ended = self.end(process, 0)
        self.sql(f"alter database {self.database} reset all")
        return ended, json.loads((out / "run.json").read_text())

    def test_what_changed_during_a_run(self):
        ended, run = self.change_during(2, "--rate", 500, "--duration", "4s")
        self.assertEqual(ended.code, 0, ended)
        self.assertEqual(run["server"]["settings_changed"],
                         {"random_page_cost": "1.75", "synchronous_commit": "off"})
        self.assertIn("DEGRADED random_page_cost changed during the run: not set before, "
                      "1.75 after", " ".join(ended.out.split()))
        _, run = self.run_append(1, 100, self.url)
        self.assertEqual(run.json["server"]["settings_changed"], {})

    def test_what_hangs_on_the_table(self):
        """An index that only one of two runs had, and an index that was made during a run."""
        url = os.environ["APPEND_TEST_MARIADB"]
        name = f"indexed{os.getpid()}"
        self.addCleanup(harness.mariadb, url, f"drop table if exists {name}")
        harness.mariadb(url, f"create table {name} (n1 int, msg varchar(20))")
        self.sql(f"create table {name} (n1 int, msg varchar(20))")
        for target, sql in ((self.url, self.sql), (url, lambda text: harness.mariadb(url, text))):
            _, bare = self.run_append(1, 100, target, "--table", name)
            self.assertNotIn(f"indexes of {name}", bare.json["server"]["settings"])
            sql(f"create index {name}_n1 on {name} (n1)")
            out = self.out()
            process = self.start(1, target, "--table", name, "--rate", 500, "--duration", "2s",
                                 "--out", out)
            self.wait_for_rows(process, out)
            sql(f"create index {name}_msg on {name} (msg)")
            ended = self.end(process, 0)
            run = harness.Run(out)
            self.assertEqual(run.json["server"]["settings"][f"indexes of {name}"], f"1: {name}_n1")
            self.assertEqual(run.json["server"]["settings_changed"],
                             {f"indexes of {name}": f"2: {name}_msg, {name}_n1"})
            self.assertIn(f"indexes of {name} changed during the run: 1: {name}_n1 before",
                          " ".join(ended.out.split()))
            ended = self.append("compare", bare.folder, out, code=None)
            self.assertIn(f"server.settings.indexes of {name}: none in A, 1: {name}_n1 in B",
                          " ".join(ended.out.split()))

    def test_indexes_of_the_load_are_no_change(self):
        """Indexes are made after the rows are loaded, even for an empty table."""
        script = self.folder / "indexed.lua"
        script.write_text('local n = {"n", "int32", 7}\n'
                          'dataset("filled", 100, {{"id", "int32", row(), key = true}, n}, {index = {"n"}})\n'
                          'local empty = dataset("empty", 0, {{"id", "int64", key = "auto"}, n}, {index = {"n"}})\n'
                          'transaction("put", function() empty:append(1) end, {autocommit = true})\n')
        _, run = self.run_append(1, self.url, "--workload", script, "--transactions", 20)
        settings = run.json["server"]["settings"]
        for table in ("filled", "empty"):
            self.assertRegex(settings[f"indexes of {table}"], "^2: ")
        self.assertEqual(run.json["server"]["settings_changed"], {})

    def test_tables_that_a_crash_empties(self):
        self.run_append(1, 100, self.url)
        self.sql("alter table syslog_table set unlogged")
        ended, run = self.run_append(1, 100, self.url)
        self.assertEqual(run.json["server"]["settings"]["unlogged_tables"], "syslog_table")
        self.assertIn("weakened: unlogged_tables=syslog_table: a crash empties unlogged tables", " ".join(ended.out.split()))
        self.sql("create table parted (id bigint) partition by range (id)",
                 "create unlogged table low partition of parted for values from (minvalue) to (0)",
                 "create unlogged table high partition of parted for values from (0) to (maxvalue)")
        ended, run = self.run_append(1, 100, self.url, "--table", "parted")
        self.assertEqual(run.json["server"]["settings"]["unlogged_tables"], "high, low")
        url = os.environ["APPEND_TEST_MARIADB"]
        name = f"memory{os.getpid()}"
        harness.mariadb(url, f"create table {name} (n1 int, msg varchar(20)) engine=MEMORY")
        self.addCleanup(harness.mariadb, url, f"drop table {name}")
        ended, run = self.run_append(1, 100, url, "--table", name)
        self.assertIn(f"weakened: tables_in_memory={name}: the rows of such tables are lost", " ".join(ended.out.split()))

    def test_what_differs_from_the_default(self):
        self.sql(f"alter database {self.database} set random_page_cost = 1.25")
        _, run = self.run_append(1, 100, self.url)
        self.assertEqual(run.json["server"]["settings"]["random_page_cost"], "1.25")


class Address(harness.Postgresql):
    def test_what_the_open_connection_says(self):
        for name in ("TEST_POSTGRESQL", "TEST_MARIADB", "TEST_CLICKHOUSE"):
            url = os.environ[f"APPEND_{name}"].replace("127.0.0.1", "localhost")
            _, run = self.run_append(1, 100, url)
            self.assertEqual(run.json["connection"]["host"], "localhost", url)
            self.assertIn(run.json["connection"]["address"], ("127.0.0.1", "::1"), url)


class Refusals(harness.Postgresql):
    def test_who_was_asked_as_whom_and_what_to_do(self):
        place = self.url.split("@")[1].split("/")[0]
        self.refused(1, 10, f"postgresql://stranger@{place}/append", code=4,
                     pattern=f"postgresql at {place}, user stranger: .*stranger.* does not exist; name another user with --user")
        self.refused(1, 10, f"postgresql://append@{place}/nowhere", code=4,
                     pattern=f"postgresql at {place}, user append: .*nowhere.* does not exist; name another database with "
                     "--database")


class ServerPid(harness.Postgresql):
    def test_a_process_that_does_not_hold_the_port(self):
        other = subprocess.Popen(["sleep", "60"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        for pid in (other.pid, 1, os.getpid()):
            self.refused(1, 100, self.url, "--server-pid", pid, code=2,
                         pattern=rf"--server-pid {pid} is not the server: port \d+ is held by postgres")
        _, run = self.run_append(1, 100, self.url, "--server-pid", f"{other.pid}!")
        self.assertEqual(run.json["resources"]["server_name"], "sleep")
        found = run.json["connection"]["port"]
        self.assertEqual(found, int(self.url.rsplit(":", 1)[1].split("/")[0]))

    def test_the_server_itself_and_a_session_of_its(self):
        _, run = self.run_append(1, 100, self.url)
        pid = run.json["resources"]["server_pid"]
        _, run = self.run_append(1, 100, self.url, "--server-pid", pid)
        self.assertEqual(run.json["resources"]["server_name"], "postgres")


@unittest.skipUnless(os.geteuid() == 0, "network namespaces need root")
class HostAddress(harness.Postgresql):
    """The host name means this machine, the address another one: no process here is the server."""

    def setUp(self):
        super().setUp()
        self.space = f"append{os.getpid()}"
        self.port = int(self.url.rsplit(":", 1)[1].split("/")[0])
        run = lambda *words: subprocess.run(words, check=True, capture_output=True)
        run("ip", "netns", "add", self.space)
        self.addCleanup(run, "ip", "netns", "delete", self.space)
        link = f"ap{os.getpid()}"
        run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", self.space)
        run("ip", "addr", "add", "10.99.77.1/24", "dev", link)
        run("ip", "link", "set", link, "up")
        run("ip", "netns", "exec", self.space, "ip", "addr", "add", "10.99.77.2/24", "dev", "eth0")
        run("ip", "netns", "exec", self.space, "ip", "link", "set", "eth0", "up")
        self.relay(("10.99.77.1", self.port, "127.0.0.1", self.port))
        self.relay(("10.99.77.2", self.port, "10.99.77.1", self.port), "ip", "netns", "exec", self.space)

    def relay(self, places, *prefix):
        process = subprocess.Popen([*prefix, "python3", "-c", RELAY, *map(str, places)], stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")

    def test_the_server_is_elsewhere(self):
        for env, url in (({"PGHOSTADDR": "10.99.77.2"}, self.url), ({}, self.url + "?hostaddr=10.99.77.2")):
            ended, run = self.run_append(1, 100, url, env=env)
            self.assertIn("the connection goes to 10.99.77.2, not to 127.0.0.1", " ".join(ended.out.split()))
            self.assertIsNone(run.json["resources"]["server_pid"])
            self.assertRegex(run.json["resources"]["server_note"], "not on this machine")
            self.assertIsNone(run.json["resources"]["max_server_memory_bytes"])
        _, run = self.run_append(1, 100, self.url)
        self.assertEqual(run.json["resources"]["server_name"], "postgres")


if __name__ == "__main__":
    harness.main()
