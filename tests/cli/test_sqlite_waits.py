"""--waits on SQLite, whose sessions wait for the write lock inside append, and on databases that show no waits."""

import sqlite3
import threading
import time

import harness
import waits


class SqliteWaits(waits.Checked, harness.Case):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "test.db"
        self.url = f"sqlite:{self.path}"

    def test_lock_of_another_program(self):
        """Another program has the write lock for 3 of 10 s: 30 % of the append time is that lock."""
        self.append("1", "100", self.url, "--out", self.folder / "first")
        begun = threading.Event()
        out = self.out()

        def lock():
            begun.wait()
            other = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            other.execute("begin immediate")
            time.sleep(3)
            other.execute("rollback")
            other.close()

        thread = threading.Thread(target=lock)
        thread.start()
        process = self.start("1", self.url, "--duration", "10s", "--read", "none", "--waits", "--out", out)
        self.wait_for_rows(process, out)
        begun.set()
        self.end(process, 0)
        thread.join()
        run = self.check_run(out, 0)
        self.check_waits(run)
        share = self.shares(run, "append")["lock"]
        self.assertAlmostEqual(share["share_percent"], 30, delta=4)
        self.assertIn("Lock:write lock", share["events"])

    def test_writers_take_turns(self):
        """At most one of ten writers works at a time; readers do not wait for writers."""
        ended, run = self.run_append("10", self.url, "--duration", "12s", "--batch", "10", "--waits")
        found = self.check_waits(run)
        self.assertGreater(self.shares(run, "append")["lock"]["share_percent"], 85)
        self.assertLess(self.shares(run, "read").get("lock", {"share_percent": 0})["share_percent"], 10)
        self.assertEqual(found["polls_failed"], 0)
        self.assertEqual(found["unseen_percent"], 0)
        self.assertIn("of the time in append was spent on locks that other sessions held", found["answer"])
        self.assertIn("Why       ", ended.out)

    def test_one_session(self):
        """A session alone waits for no lock."""
        _, run = self.run_append("1", self.url, "--duration", "3s", "--batch", "10", "--waits")
        self.check_waits(run)
        self.assertNotIn("lock", self.shares(run, "append"))


class Refused(harness.Case):
    def test_databases_that_do_not_show_waits(self):
        self.refused("2", "100", "null:", "--waits", code=2, pattern="use postgresql, mariadb, clickhouse or sqlite")
        ended, run = self.run_append("2", "100", "null:", "--waits=try")
        self.assertIn("this adapter cannot ask the database what its sessions wait for", run.json["waits"]["note"])
        self.assertRegex(ended.out, r"(?m)^No waits +this adapter cannot ask the database")


if __name__ == "__main__":
    harness.main()
