"""Several machines as one run: two client machines and one with the server, each a network namespace
with its own host name."""

import os
import pathlib
import shutil
import signal
import subprocess
import unittest

import harness
import io_trace
from find_max import Searching
from ranks import Ranks

NET = "10.77"
AGENT = """#!/bin/bash
# mpirun calls this script in place of ssh, with the host and then the command.
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
extra=EXTRA_${host#MACHINES}
exec ip netns exec "$host" unshare -u ${!extra} bash -c "hostname $host; LIMIT_${host#MACHINES}; $*"
"""


def run(*words):
    subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True)


class Machines(Ranks, Searching):
    """Machines a and b run append, s has the server."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.prefix = f"ap{os.getpid()}"
        cls.addClassCleanup(cls.remove)
        cls.folder_of_server = None
        try:
            cls.make_machines()
        except (OSError, subprocess.CalledProcessError) as error:
            raise unittest.SkipTest(f"network namespaces cannot be made: {error}")
        cls.server = Server(cls)

    @classmethod
    def machine(cls, name):
        return cls.prefix + name

    @classmethod
    def make_machines(cls):
        """The server's machine is also the router between the others."""
        server = cls.machine("s")
        addresses = {"s": f"{NET}.1.1", "a": f"{NET}.1.2", "b": f"{NET}.2.2"}
        hosts = "127.0.0.1 localhost\n" + "".join(
            f"{address} {cls.machine(name)}\n" for name, address in addresses.items())
        for name in "sab":
            folder = pathlib.Path("/etc/netns", cls.machine(name))
            folder.mkdir(parents=True)
            (folder / "hosts").write_text(hosts)
            run("ip", "netns", "add", cls.machine(name))
            run("ip", "-n", cls.machine(name), "link", "set", "lo", "up")
        for i, name in enumerate("ab", 1):
            machine = cls.machine(name)
            run("ip", "-n", server, "link", "add", f"to{i}", "type", "veth", "peer", "name", "net0",
                "netns", machine)
            run("ip", "-n", server, "address", "add", f"{NET}.{i}.1/24", "dev", f"to{i}")
            run("ip", "-n", server, "link", "set", f"to{i}", "up")
            run("ip", "-n", machine, "address", "add", f"{addresses[name]}/24", "dev", "net0")
            run("ip", "-n", machine, "link", "set", "net0", "up")
            run("ip", "-n", machine, "route", "add", "default", "via", f"{NET}.{i}.1")
        run("ip", "netns", "exec", server, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")

    @classmethod
    def remove(cls):
        for name in "sab":
            subprocess.run(["ip", "netns", "delete", cls.machine(name)], capture_output=True)
            shutil.rmtree(pathlib.Path("/etc/netns", cls.machine(name)), ignore_errors=True)

    def on_machines(self, places, *words, code=0, may_be_busy=False, **options):
        return self.end_ranks(self.start_machines(places, *words, **options), code, may_be_busy)

    def start_machines(self, places, *words, extra=None, limit=None, out=None,
                       program=harness.BINARY):
        """`places`: machines and their ranks in order, as (machine, ranks). By machine, `extra`: arguments of
        unshare; `limit`: a shell command."""
        agent = self.folder / "agent.sh"
        text = AGENT.replace("MACHINES", self.prefix)
        for name in "sab":
            text = text.replace(f"LIMIT_${{host#{self.prefix}}}", "eval \"$LIMIT\"")
        limits = "".join(f'[ $host = {self.machine(name)} ] && LIMIT="{command}"\n'
                         for name, command in (limit or {}).items())
        text = text.replace("extra=", "LIMIT=true\n" + limits + "extra=")
        text = text.replace('eval "$LIMIT"', "$LIMIT")
        agent.write_text(text)
        agent.chmod(0o755)
        first = self.machine(places[0][0])
        hosts = ",".join(f"{self.machine(name)}:{ranks}" for name, ranks in places)
        count = sum(ranks for _, ranks in places)
        mca = {"plm_rsh_agent": agent, "plm_rsh_no_tree_spawn": 1, "btl": "tcp,self",
               "oob_tcp_if_include": f"{NET}.0.0/16", "btl_tcp_if_include": f"{NET}.0.0/16"}
        return self.start(
            "netns", "exec", first, "unshare", "-u", "bash", "-c",
            f'hostname {first}; {(limit or {}).get(places[0][0], "true")}; exec "$@"', "bash",
            "mpirun", *self.MPIRUN,
            *(word for name, value in mca.items() for word in ("--mca", name, value)),
            "-host", hosts, "-n", count, program, *words, "--out", out or self.out(),
            program="ip", env={f"EXTRA_{name}": words for name, words in (extra or {}).items()})


class Server(harness.PrivateServer):
    """Listens on the network of the machines."""

    def __init__(self, machines, name="s", address=f"{NET}.1.1", **settings):
        class Case:
            addClassCleanup = machines.addClassCleanup
        super().__init__(Case, prefix=("ip", "netns", "exec", machines.machine(name)),
                         listen_addresses="*", max_connections="100", **settings)
        hba = self.home / "pg_hba.conf"
        hba.write_text(hba.read_text() + f"host all all {NET}.0.0/16 trust\n")
        run("ip", "netns", "exec", machines.machine(name), "psql", "-X", self.superuser_url, "-c",
            "select pg_reload_conf()")
        self.url = self.url.replace("127.0.0.1", address)


class PostgreSQL(Machines):
    def test_machines(self):
        """Two machines have the sessions, the server's machine a rank that only samples; one clock is 1,000 s
        ahead of the others."""
        out = self.out()
        ended = self.on_machines(
            [("a", 2), ("b", 1), ("s", 1)], "12", self.server.url, "--rate", "3000", "--duration",
            "4", "--verify", "rows", "--sample-interval", "1", "--recreate", "--sample-only",
            self.machine("s"), "--weights", "2,1,1,5", out=out,
            extra={"b": "--fork --kill-child -T --monotonic 1000"})
        found = self.check_ranks(out, 0, 4)
        table = found.table("ranks.csv")
        self.assertEqual([row["machine"] for row in table],
                         [self.machine(name) for name in "aabs"])
        self.assertEqual([row["sessions"] for row in table], ["6", "3", "3", "0"])
        for row, offset_ms in zip(table[2:], (1e6, 0)):
            error_ms = float(row["clock_error_ms"])
            self.assertLess(error_ms, 100)
            self.assertAlmostEqual(float(row["clock_offset_ms"]), offset_ms, delta=error_ms)
        self.assertEqual(found.json["row_verification"]["lost"], 0)
        # All ranks share one time axis: each has its share of 3,000 rows/s for 4 s.
        self.assertEqual(found.json["batches"]["due"], 120)
        self.assertEqual([int(row["rows_acknowledged"]) > 1000 for row in table],
                         [True, True, True, False])
        self.assertLess(max(float(row["gate_late_ms"]) for row in table), 10_000)
        self.assertLess(len(found.table("intervals.csv")), 8)
        # The server's figures come from the rank on its machine.
        self.assertEqual([row["max_server_memory_mib"] != "" for row in table],
                         [False, False, False, True])
        self.assertEqual(found.json["resources"]["server_name"], "postgres")
        self.assertIn(f"on machine {self.machine('s')}", found.json["resources"]["server_note"])
        for name in "abs":
            self.assertIn(self.machine(name), ended.out)

    def test_a_sweep(self):
        """In a sweep each message between machines passes through two more processes."""
        out = self.out()
        self.on_machines(
            [("a", 1), ("b", 1), ("s", 1)], "sweep", "--sessions", "6", "--records", "1200,2400",
            self.server.url, "--rate", "1200", "--verify", "rows", "--recreate", "--sample-only",
            self.machine("s"), out=out, extra={"b": "--fork --kill-child -T --monotonic 1000"})
        for name, rows in (("6x1200", 1200), ("6x2400", 2400)):
            found = self.check_ranks(out / name, 0, 3)
            table = found.table("ranks.csv")
            self.assertEqual([row["machine"] for row in table],
                             [self.machine(name) for name in "abs"])
            self.assertEqual([row["rows_acknowledged"] for row in table],
                             [str(rows // 2)] * 2 + ["0"])
            self.assertAlmostEqual(float(table[1]["clock_offset_ms"]), 1e6,
                                   delta=float(table[1]["clock_error_ms"]))
            self.assertEqual(found.json["row_verification"]["present"], rows)
            self.assertEqual([row["max_server_memory_mib"] != "" for row in table],
                             [False, False, True])
        self.assertEqual(list(out.glob("*.rank*")), [])

    def test_each_host_is_one_that_all_mean(self):
        ended = self.on_machines([("a", 1), ("b", 1)], "4", "400",
                                 f"postgresql://{NET}.1.1,localhost/db", code=2)
        self.assertRegex(ended.reason, "is a different server on machine")

    def test_rank_0_beside_the_server(self):
        """Rank 0 on the server's machine leads, samples and traces, and has no sessions."""
        out = self.out()
        self.on_machines([("s", 1), ("a", 1), ("b", 1)], "4", "4000", self.server.url,
                         "--sample-only", self.machine("s"), "--recreate", out=out)
        found = self.check_ranks(out, 0, 3)
        self.assertEqual([row["sessions"] for row in found.table("ranks.csv")], ["0", "2", "2"])
        self.assertEqual(found.json["resources"]["server_name"], "postgres")

    def test_a_machine_that_is_cut_off(self):
        """No message says that the rank is lost: it is only silent."""
        out = self.out()
        process = self.start_machines([("a", 1), ("b", 1)], "6", self.server.url, "--rate", "600",
                                      "--duration", "60", "--recreate", out=out)
        self.wait_for_rows(process, out)
        link = ("ip", "-n", self.machine("s"), "link", "set", "to2")
        run(*link, "down")
        try:
            harness.wait_until(lambda: (out / "run.json").stat().st_size > 0, "the merged result")
            found = harness.Run(out)
        finally:
            run(*link, "up")
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=harness.GUARD_S)
        self.assertEqual(found.json["outcome"]["exit_code"], 1)
        self.assertEqual([row["verdict"] for row in found.table("ranks.csv")][1], "LOST")
        self.assertIn(f"rank 1 on machine {self.machine('b')} was lost",
                      found.json["outcome"]["exit_reason"])

    def test_a_server_that_is_full(self):
        """--min-sessions applies to all ranks together, and causes and limits are merged."""
        out = self.out()
        self.on_machines([("a", 1), ("b", 2)], "120", "12000", self.server.url, "--no-check",
                         "--min-sessions", "90%", "--recreate", code=4, out=out)
        found = self.check_ranks(out, 4, 3)
        self.assertEqual(found.json["outcome"]["stop_reason"], "too_few_sessions")
        self.assertEqual([finding["name"] for finding in found.json["findings"]],
                         ["max_connections"])
        refused = sum(cause["count"] for cause in found.causes if cause["phase"] == "connect")
        self.assertEqual(refused, found.sessions["refused"])
        self.assertGreater(refused, 12)
        self.assertEqual(found.rows["acknowledged"], 0)

    def test_the_limit_of_a_machine(self):
        ended = self.on_machines([("a", 1), ("b", 1)], "60", "6000", self.server.url, code=3,
                                 limit={"b": "ulimit -n 40"})
        self.assertRegex(ended.reason, rf"machine {self.machine('b')}, rank 1: .*open files"
                                       r"|machine \S+, rank 1: .*RLIMIT_NOFILE")

    def test_the_most_sessions_of_machines(self):
        """The machine with the lowest limit limits all, in proportion to its share."""
        out = self.out()
        ended = self.on_machines([("a", 1), ("b", 1)], "find-max", self.server.url, "--recreate",
                                 "--hold", "300ms", "--weights", "1,2", "--batch", "10", out=out,
                                 limit={"b": "ulimit -n 70"})
        search = self.check_search(out, ended, more=("ranks.csv", "ranks_samples.csv"))
        bound = search.search["bound"]
        self.assertEqual((bound["by"], bound["limit"]), ("client", "RLIMIT_NOFILE"))
        self.assertIn(f"machine {self.machine('b')}, ", bound["where"])
        self.assertEqual(search.search["held"], bound["sessions"])
        self.assertRegex(" ".join(ended.out.split()),
                         rf"Stopped by RLIMIT_NOFILE \(machine {self.machine('b')}, ")
        own, others = [int(row["sessions"]) for row in search.table("ranks.csv")]
        self.assertEqual(own + others, bound["sessions"])
        self.assertLessEqual(others - 2 * own, 2)
        self.assertLess(others, 70)

    def test_a_target_that_is_each_machines_own(self):
        url = self.server.url.replace(f"{NET}.1.1", "localhost")
        ended = self.on_machines([("a", 1), ("b", 1)], "4", "400", url, code=2)
        self.assertRegex(ended.reason, "is a different server on machine")


class Traces(io_trace.Traced, Machines):
    """--io-trace by machine: two servers, one of them on the machine of a rank that is not rank 0."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        settings = {"autovacuum": "off", "fsync": "on", "synchronous_commit": "on",
                    "wal_sync_method": "fdatasync"}
        cls.server = Server(cls, **settings)
        cls.other = Server(cls, "b", f"{NET}.2.2", **settings)

    def without_privilege_on(self, *names):
        """Returns a copy of the program that may not trace on these machines."""
        words = io_trace.without_privileges()
        if not words:
            self.skipTest("nothing takes capabilities away from a process here")
        program = self.folder / "append"
        program.write_text("#!/bin/bash\ncase $(hostname) in "
                           + "|".join(self.machine(name) for name in names)
                           + f") exec {' '.join(words)} {harness.BINARY} \"$@\";; esac\n"
                           f"exec {harness.BINARY} \"$@\"\n")
        program.chmod(0o755)
        return program

    def traced(self, found, least=20):
        """Returns the traces of run.json by rank; they agree with its sums."""
        traces = {i: rank["io_trace"] for i, rank in enumerate(found.json["ranks"])
                  if rank["io_trace"] is not None}
        trace = found.json["io_trace"]
        for name in ("reads", "writes", "fsyncs", "wal_fsyncs", "requests", "lost", "open"):
            self.assertEqual(trace[name], sum(one[name] for one in traces.values()), name)
        for i, slot in enumerate(zip(*trace["slots_ns"])):
            self.assertEqual(sum(slot), sum(ns[i] for one in traces.values()
                                            for ns in one["slots_ns"]))
        histogram = found.json["histograms"]["io.fsync.total"]
        self.assertEqual(histogram["total"], trace["fsyncs"])
        table = found.table("ranks.csv")
        rows = self.rows(found)
        self.assertEqual({row["rank"] for row in rows}, {str(i) for i in traces})
        for i, one in traces.items():
            self.assertEqual(table[i]["trace_fsyncs"], str(one["fsyncs"]))
            own = [row for row in rows if row["rank"] == str(i)]
            self.assertEqual({row["machine"] for row in own}, {table[i]["machine"]})
            calls = [row for row in own if row["row"] == "operation" and row["mode"] == "S"]
            worked = self.worked(found, calls)
            self.assertGreaterEqual(len(worked), least)
            # the ranks learn of the last answer a little later
            self.assertGreaterEqual(one["fsyncs"], len(worked))
            self.assertLessEqual(one["fsyncs"], sum(row["time_ns"] >= 0 for row in calls))
            self.assertEqual(one["slots_from_s"], trace["slots_from_s"])
        for i in set(range(len(table))) - set(traces):
            self.assertEqual(table[i]["trace_fsyncs"], "")
        return traces

    def test_one_server(self):
        """A rank other than rank 0 traces as many calls as the server counts, on a clock that is 1,000 s
        ahead; client machines need no privilege to trace."""
        out = self.out()
        ended = self.on_machines(
            [("a", 2), ("s", 2)], "8", "2000", self.server.url, "--batch", "1", "--read", "none",
            "--recreate", "--io-trace", "--sample-only", self.machine("s"), out=out,
            program=self.without_privilege_on("a"), may_be_busy=True,
            extra={"s": "--fork --kill-child -T --monotonic 1000"})
        found = self.check_ranks(out, ended.code, 4)
        ahead = found.table("ranks.csv")[2]
        self.assertAlmostEqual(float(ahead["clock_offset_ms"]), 1e6,
                               delta=float(ahead["clock_error_ms"]))
        traces = self.traced(found)
        self.assertEqual(list(traces), [2])
        for trace in (traces[2], found.json["io_trace"]):
            server = {entry["name"]: entry for entry in trace["server"]}
            self.assertEqual(set(server), {"wal_write", "wal_sync"})
            for entry in server.values():
                self.assertGreater(entry["counted"], 100)
                self.assertEqual(entry["traced"], entry["counted"], entry)
        self.assertRegex(ended.out, rf"I/O by machine .*\n  {self.machine('s')} ")
        self.assertEqual(self.folders_of_ranks(out), [])
        self.assertIn("; I/O was traced (full)", found.json["outcome"]["verdict_reason"])

    def both(self):
        places = [server.url.split("@")[1].split("/")[0] for server in (self.server, self.other)]
        return f"postgresql://append@{','.join(places)}/append"

    def test_a_server_without_a_rank(self):
        """The report says that the trace of a machine is missing; the disk is the other machine's."""
        out = self.out()
        url = self.both().replace("append@", self.server.SUPERUSER + "@")  # a role that may read the data directory
        for name, server in (("s", self.server), ("b", self.other)):
            self.addCleanup(run, "ip", "netns", "exec", self.machine(name), "psql", "-X",
                            server.superuser_url, "-c", "drop table if exists syslog_table")
        self.on_machines([("a", 1), ("b", 1)], "4", "2000", url, "--recreate", "--io-trace", out=out)
        found = self.check_ranks(out, 0, 2)
        self.assertEqual(list(self.traced(found, least=1)), [1])
        self.assertEqual(found.json["io"]["data_directory"], str(self.other.home / "data"))
        self.assertEqual(found.json["resources"]["server_note"],
                         f"measured on machine {self.machine('b')} by rank 1; 1 of 2 servers have no rank on "
                         "their machine")

    def test_two_servers(self):
        """Each machine has a line and its own rows, without calls of the other."""
        out = self.out()
        ended = self.on_machines(
            [("s", 1), ("a", 1), ("b", 1)], "6", harness.fewer(20_000),
            self.both(), "--batch", "1", "--read", "none",
            "--recreate", "--io-trace", "--sample-only", self.machine("s"), "--sample-only",
            self.machine("b"), out=out, extra={"b": "--fork --kill-child -T --monotonic 1000"})
        found = self.check_ranks(out, 0, 3)
        traces = self.traced(found)
        self.assertEqual(list(traces), [0, 2])
        pids = [{row["pid"] for row in self.rows(found)
                 if row["rank"] == str(i) and row["source"] == "own"} for i in traces]
        self.assertEqual(pids[0] & pids[1], set())
        self.assertEqual(found.json["io_trace"]["server"], [])
        self.assertEqual(found.json["io_trace"]["slots_to_s"],
                         max(trace["slots_to_s"] for trace in traces.values()))
        # more than rank 0 receives at once
        self.assertIn(f" 0 of {len(self.rows(found)):,} records lost", " ".join(ended.out.split()))
        note = found.json["resources"]["server_note"]
        self.assertIn("other servers: ranks.csv", note)
        self.assertNotIn("not measured", note)
        for i in traces:
            row = found.table("ranks.csv")[i]
            self.assertEqual(row["verdict"], "VALID", row)
            self.assertGreater(float(row["server_written_mib"]), 0)
        for name in "sb":
            self.assertRegex(ended.out, rf"(?s)I/O by machine.*\n  {self.machine(name)} +[\d,]+")
        self.append("report", out)
        self.assertIn("I/O by machine", (out / "report.html").read_text())

    def test_a_machine_that_cannot(self):
        words = ("4", "400", self.server.url, "--recreate", "--sample-only", self.machine("s"))
        for places, rank in (([("a", 1), ("s", 1)], 1), ([("s", 1), ("a", 1)], 0)):
            program = self.without_privilege_on("s")
            ended = self.on_machines(places, *words, "--io-trace", code=3, program=program)
            self.assertRegex(ended.reason, rf"machine {self.machine('s')}, rank {rank}: --io-trace: "
                                           "not allowed")
            out = self.out()
            ended = self.on_machines(places, *words, "--io-trace=try", out=out, program=program)
            found = self.check_ranks(out, 0, 2)
            self.assertRegex(ended.out, rf"Untraced +machine\s+{self.machine('s')}: ")
            self.assertEqual(found.json["ranks"][rank]["io_trace"]["level"], "off")
            self.assertEqual(found.json["io_trace"]["level"], "off")
            self.assertFalse((out / "io.csv").exists())

    def test_no_rank_beside_a_server(self):
        places = [("a", 1), ("b", 1)]
        words = ("4", "400", self.server.url, "--recreate")
        ended = self.on_machines(places, *words, "--io-trace", code=3)
        self.assertIn("no rank is on the server's machine", ended.reason)
        out = self.out()
        self.on_machines(places, *words, "--io-trace=try", out=out)
        found = self.check_ranks(out, 0, 2)
        for of in (found.json["io_trace"]["note"], found.json["io"]["note"],
                   found.json["resources"]["server_note"]):
            self.assertIn("no rank is on the server's machine", of)


if __name__ == "__main__":
    harness.main()
