"""Sessions or the server end during a run, or the server is full."""

import subprocess

import harness


class Blocked(harness.Mariadb):
    """One of ten sessions is killed while all wait for a lock, so all are in an append."""

    def waiting(self):
        text = self.sql("select id from information_schema.processlist where db ="
                        f" '{self.database}' and state like 'Waiting for%' and info like 'insert%'")
        return text.split()

    def lock(self):
        """Locks the table in another session until the returned process ends."""
        locker = subprocess.Popen(harness.mariadb_command(self.url), stdin=subprocess.PIPE,
                                  text=True, stdout=subprocess.DEVNULL)
        self.addCleanup(locker.wait)
        self.addCleanup(locker.kill)
        locker.stdin.write("lock tables syslog_table write;\n")
        locker.stdin.flush()
        return locker

    def kill_one(self, how, method, code):
        """Performs a run in which the first waiting session is killed. Returns the Run."""
        out = self.out()
        process = self.start("10", "100000", self.url, "--rate", "20000", "--read", "none",
                             "--method", method, "--recreate", "--out", out)
        self.wait_for_rows(process, out)
        locker = self.lock()
        ids = harness.wait_until(lambda: len(self.waiting()) == 10 and self.waiting(),
                                 "all sessions wait for the lock")
        self.sql(f"kill {how} {ids[0]}")
        # After KILL QUERY the session soon waits again; after KILL CONNECTION it disappears.
        if how == "connection":
            harness.wait_until(lambda: ids[0] not in self.waiting(), "the end of the connection")
        locker.stdin.close()
        locker.wait()
        self.end(process, code)
        run = self.check_run(out, code)
        self.assertEqual(run.verification["lost"], 0)
        self.assertEqual(self.count(),
                         run.rows["acknowledged"] + run.verification["in_doubt_arrived"])
        return run

    def test_a_query_is_killed(self):
        for method in ("bulk", "insert"):
            with self.subTest(method):
                run = self.kill_one("query", method, 1)
                self.assertEqual(run.sessions["finished"], 10)
                self.assertEqual(run.rows["rejected"], 100)
                self.assertEqual([(cause["native_code"], cause["count"]) for cause in run.causes],
                                 [(1317, 1)])

    def test_a_connection_is_killed(self):
        for method in ("bulk", "insert"):
            with self.subTest(method):
                run = self.kill_one("connection", method, 1)
                self.assertEqual(run.sessions["dropped"], 1)
                self.assertEqual(run.sessions["finished"], 9)
                self.assertEqual(sum(cause["count"] for cause in run.causes), 1, run.causes)


class Limits(harness.Case):
    """Tests that need a server with special limits."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        harness.Mariadb.setUpClass()

    def count(self, server):
        return int(harness.mariadb(server.url, "select count(*) from syslog_table"))

    def check_causes(self, run, native_code, count=None):
        causes = [cause for cause in run.causes if cause["native_code"] == native_code]
        self.assertGreater(len(causes), 0, run.causes)
        if count is not None:
            self.assertEqual(sum(cause["count"] for cause in causes), count, run.causes)

    def test_a_server_that_cuts_its_answers(self):
        """With sql_select_limit, append still reads all columns of the table and all rows back."""
        server = harness.PrivateMariadb(self, init_connect="set sql_select_limit=7")
        _, run = self.run_append(2, 400, server.url, "--verify", "rows")
        self.assertEqual(run.json["row_verification"]["present"], 400)
        self.assertEqual(run.json["server"]["settings_changed"], {})
        self.assertEqual(harness.mariadb(server.url, "select count(*) from syslog_table where msg is null"), "0")

    def test_rows_that_are_written_but_not_synced(self):
        server = harness.PrivateMariadb(self, innodb_flush_method="nosync")
        ended, _ = self.run_append(1, 100, server.url, "--engine", "MyISAM")
        for text in ("innodb_flush_method=nosync: a crash of the machine can lose or corrupt all data",
                     "tables_not_synced=syslog_table: a crash of the machine can lose acknowledged rows"):
            self.assertIn(text, " ".join(ended.out.split()))

    def test_a_setting_of_several_tables(self):
        """The tables that weaken a run in the same way are one entry."""
        server = harness.PrivateMariadb(self)
        script = self.folder / "tables.lua"
        script.write_text("".join(
            f"local {name} = dataset('{name}', 1, {{{{'a', 'int32', row(), key = true}}}}, {{create = "
            f"'CREATE TABLE {name} (a INT PRIMARY KEY) ENGINE={engine}'}})\n"
            for name, engine in (("b", "MEMORY"), ("c", "MyISAM"), ("a", "MEMORY"), ("d", "MyISAM")))
            + "local get = statement('get', 'SELECT a FROM b')\n"
            "transaction('look', function() get:run() end, {autocommit = true})\n")
        _, run = self.run_append(1, server.url, "--workload", script, "--transactions", 2)
        settings = run.json["server"]["settings"]
        self.assertEqual((settings["tables_in_memory"], settings["tables_not_synced"]), ("b, a", "c, d"))

    def test_the_server_turns_autocommit_off(self):
        """init_connect runs after the greeting: the rows must still be committed."""
        server = harness.PrivateMariadb(self, max_connections=60,
                                        init_connect="set autocommit=0")
        for method in ("bulk", "insert"):
            with self.subTest(method):
                self.run_append("4", "2000", server.url, "--method", method, "--recreate")
                self.assertEqual(self.count(server), 2000)

    def test_a_read_only_server(self):
        server = harness.PrivateMariadb(self, read_only=1)
        self.refused("2", "200", server.url, code=4, pattern="read-only")

    def test_the_server_is_killed(self):
        server = harness.PrivateMariadb(self, max_connections=60)
        out = self.out()
        process = self.start("20", "10000000", server.url, "--rate", "20000", "--out", out)
        self.wait_for_rows(process, out)
        server.stop("immediate")
        ended = self.end(process, 1)
        run = self.check_run(out, 1)
        self.assertEqual(run.sessions["dropped"], 20)
        self.assertEqual(run.verification["state"], "failed")
        self.assertRegex(ended.out, r"(?i)dropped")

    def test_the_server_shuts_down(self):
        server = harness.PrivateMariadb(self, max_connections=60)
        out = self.out()
        process = self.start("20", "10000000", server.url, "--rate", "20000", "--out", out)
        self.wait_for_rows(process, out)
        server.stop("fast")
        self.end(process, 1)
        run = self.check_run(out, 1)
        self.assertEqual(run.sessions["dropped"], 20)

    def test_room_for_fewer_sessions(self):
        server = harness.PrivateMariadb(self, max_connections=12)
        ended, run = self.run_append("20", "20000", server.url, "--no-check",
                                     "--connect-concurrency", "1", code=4)
        self.assertEqual(run.sessions["refused"], 8)
        self.assertEqual(run.sessions["finished"], 12)
        self.check_causes(run, 1040, run.sessions["refused"])
        self.assertRegex(ended.reason, r"(?i)too many connections|max_connections")
        self.assertEqual(self.count(server), run.rows["acknowledged"])

    def test_batches_larger_than_a_packet(self):
        server = harness.PrivateMariadb(self, max_allowed_packet=16384)
        for method in ("bulk", "insert"):
            with self.subTest(method):
                ended, run = self.run_append("5", "5000", server.url, "--method", method,
                                             "--recreate", code=4)
                # a statement that is too long is not sent: no row is in doubt
                self.assertEqual(run.rows["acknowledged"] + run.rows["in_doubt"], 0)
                self.assertEqual(self.count(server), 0)
                self.check_causes(run, 1153)
                self.assertRegex(ended.reason, r"max_allowed_packet")
        _, run = self.run_append("5", "5000", server.url, "--batch", "10", "--recreate")
        self.assertEqual(self.count(server), 5000)

    def test_the_table_is_full(self):
        """The memory engine keeps the rows of an INSERT before the row that failed."""
        server = harness.PrivateMariadb(self, max_heap_table_size=1048576)
        for method in ("bulk", "insert"):
            with self.subTest(method):
                ended, run = self.run_append("5", "5000", server.url, "--engine", "memory",
                                             "--method", method, "--recreate", code=1)
                self.assertEqual(run.sessions["finished"], 5)
                self.assertGreater(run.rows["rejected"], 0)
                self.assertGreater(run.rows["acknowledged"], 0)
                self.assertEqual(self.count(server), run.rows["acknowledged"])
                self.check_causes(run, 1114)
                self.assertRegex(ended.out, r"table '\w+' is full")

    def test_the_server_has_no_open_files_left(self):
        server = harness.PrivateMariadb(self, prefix=("prlimit", "--nofile=100:100"))
        # enough batches that at some moment many sessions have the table open
        ended, run = self.run_append("40", "400000", server.url, "--engine", "myisam",
                                     "--connect-timeout", "5", code=None)
        self.assertIn(ended.code, (1, 4), ended)
        self.assertEqual(self.count(server), run.rows["acknowledged"])
        self.assertRegex(ended.out, r"Too many open files")


if __name__ == "__main__":
    harness.main()
