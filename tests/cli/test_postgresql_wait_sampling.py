"""--waits compared with the extension pg_wait_sampling."""

import csv
import pathlib
import subprocess
import unittest

import harness
import waits


class Extension(harness.Case):
    """In the same run append and the extension pg_wait_sampling, which reads the waits in the server's memory
    every 10 ms, find the same waits. The extension also counts idle sessions, but not sessions without a wait. So
    the test compares the shares among all waits except the wait for the client."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = subprocess.run(["pg_config", "--pkglibdir"], capture_output=True, text=True).stdout.strip()
        if not pathlib.Path(folder, "pg_wait_sampling.so").exists():
            raise unittest.SkipTest(f"no pg_wait_sampling.so in {folder} (scripts/setup.sh test)")
        cls.server = harness.PrivateServer(cls, is_on_disk=True, shared_preload_libraries="pg_wait_sampling")
        harness.psql(cls.server.superuser_url, "create extension pg_wait_sampling")

    def shares(self, waits):
        """Returns the percentage of each wait, from pairs of a name and a number."""
        sums = {}
        for name, number in waits:
            sums[name] = sums.get(name, 0) + float(number)
        return {name: 100 * number / sum(sums.values()) for name, number in sums.items()}

    def run_script(self, text):
        """Runs append, and compares the five most frequent waits. Returns their shares."""
        script = self.folder / "waits.lua"
        script.write_text(text)
        harness.psql(self.server.superuser_url, "select pg_wait_sampling_reset_profile()")
        _, run = self.run_append("10", self.server.url, "--workload", script, "--duration", "20s",
                                 "--waits")
        counted = self.shares(row.split("|") for row in harness.psql(
            self.server.superuser_url,
            "select event_type || ':' || event, sum(count) from pg_wait_sampling_profile"
            " where event_type not in ('Activity', 'Client', 'Extension') group by 1").splitlines())
        with open(run.folder / "waits.csv", newline="") as lines:
            polled = self.shares(
                (row["type"] + ":" + row["event"],
                 float(row["waiting"]) * (float(row["end_s"]) - float(row["start_s"])))
                for row in csv.DictReader(lines) if row["type"] not in ("", "Client"))
        for name in sorted(counted, key=counted.get)[-5:] + sorted(polled, key=polled.get)[-5:]:
            self.assertAlmostEqual(polled.get(name, 0), counted.get(name, 0), delta=3, msg=name)
        return polled

    def test_one_lock(self):
        polled = self.run_script(waits.Waits.WORKLOAD % waits.OfPostgresql.LOCK)
        self.assertGreater(polled["Lock:advisory"], 80)

    def test_row_locks(self):
        """A row that each transaction updates, and keeps for 10 ms."""
        harness.psql(self.server.url, "drop table if exists one", "create table one as select 1 as n")
        polled = self.run_script("""
local update = statement("update", "update one set n = n + 1")
local sleep = statement("sleep", "select pg_sleep(0.01)")
transaction("round", function() update:run() sleep:run() end)
""")
        self.assertGreater(polled["Lock:transactionid"] + polled["Lock:tuple"], 50)


if __name__ == "__main__":
    harness.main()
