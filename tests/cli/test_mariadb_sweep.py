"""Sweeps on a MariaDB server."""

import re

import harness
from sweep import RATE, Sweeping

SIZES = ("--sessions", "2,4,8", "--records", "2k,5k")


class Grid(harness.Mariadb, Sweeping):
    def test_three_by_two(self):
        ended, sweep = self.sweep(*SIZES, self.url)
        self.check_report(ended, sweep)
        self.assertEqual(len(sweep.runs), 6)
        self.assertEqual({run["state"] for run in sweep.runs}, {"done"})
        self.assertEqual(sweep.json["table"], "made")
        for row in sweep.rows:
            self.assertEqual((row["rows_before"], row["rows_after"], row["rows_lost"]),
                             ("0", row["records"], "0"))
        self.assertEqual(self.count(), 5000)
        # The first sweep left the table: a new sweep may not drop it.
        self.refused("sweep", *SIZES, self.url, code=2, pattern="'syslog_table' already exists")
        self.assertEqual(self.count(), 5000)

    def test_port_and_options_of_a_connection(self):
        port = re.search(r":(\d+)/", self.url).group(1)
        _, sweep = self.sweep("--sessions", 2, "--records", "1k", port, "--user", "append",
                              "--database", self.database, "--engine", "MyISAM", "--keep-rows")
        self.assertEqual((sweep.json["adapter"], sweep.rows[0]["engine"]), ("mariadb", "MyISAM"))
        self.assertEqual(self.count(), 1000)

    def interrupted(self, options, target, env=None):
        out = self.out()
        process = self.start("sweep", *options, target, "--out", out, env=env)
        self.wait_for_rows(process, out / "4x3000")
        process.send_signal(harness.signal.SIGINT)
        self.end(process, 130)
        return self.check_sweep(out)

    def test_resumed(self):
        options = ("--sessions", "2,4", "--records", "3k", "--rate", RATE, "--recreate")
        _, whole = self.sweep(*options, self.url)
        sweep = self.interrupted(options, self.url)
        self.append("sweep", "--resume", sweep.folder)
        resumed = self.check_sweep(sweep.folder)
        self.assertEqual(resumed.shape(), whole.shape())
        self.assertEqual({row["rows_before"] for row in resumed.rows}, {"0"})
        self.assertEqual(self.count(), 3000)

    def test_password_of_the_environment(self):
        options = ("--sessions", "2,4", "--records", "3k", "--rate", RATE)
        target = self.in_database(self.PASSWORD_URL)
        env = {"APPEND_PASSWORD": harness.SECRET}
        self.refused("sweep", *options, target, code=4, pattern="(?i)access denied")
        sweep = self.interrupted(options, target, env)
        self.refused("sweep", "--resume", sweep.folder, code=4, pattern="(?i)access denied")
        self.append("sweep", "--resume", sweep.folder, target, env=env)
        self.check_sweep(sweep.folder)

    def test_password_of_the_url(self):
        """A password in the URL is not stored: the target must be given again, with the same place."""
        options = ("--sessions", "2,4", "--records", "3k", "--rate", RATE)
        plain = self.in_database(self.PASSWORD_URL)
        target = plain.replace("append_pw@", "append_pw:append%20secret@")
        sweep = self.interrupted(options, target)
        self.assertNotIn("append%20secret", (sweep.folder / "sweep.json").read_text())
        self.refused("sweep", "--resume", sweep.folder, code=2, pattern="give TARGET again")
        self.refused("sweep", "--resume", sweep.folder, target.replace("append_pw:", "append:"),
                     code=2, pattern="is not the sweep's")
        self.refused("sweep", "--resume", sweep.folder, plain, code=4,
                     pattern="(?i)access denied")
        self.append("sweep", "--resume", sweep.folder, target)
        self.check_sweep(sweep.folder)


class Variants(harness.Mariadb, Sweeping):
    def test_tables_beside_each_other(self):
        url = self.url.replace("append@", "root@")
        kinds = ("normal", "partitioned", "compressed")
        _, sweep = self.sweep("--sessions", 4, "--records", harness.fewer(20000), url,
                              "--workload", "mass-insert", "--vary", f"table={','.join(kinds)}",
                              "--rate", harness.fewer(20000) // 4, "--sample-interval", "0.5")
        self.assertEqual(sweep.json["table"], "made")
        self.assertEqual({run["state"] for run in sweep.runs}, {"done"})
        self.assertIn("KEY_BLOCK_SIZE=4", self.sql("show create table test"))
        self.assertEqual(self.count("test"), sweep.runs[0]["records"])
        self.sweep("--sessions", 1, "--records", "100", url, "--workload", "mass-insert",
                   "--recreate", "--vary", "table=normal,partitioned")
        made = self.sql("show create table test")
        self.assertIn("PARTITION", made)
        self.assertNotIn("KEY_BLOCK_SIZE", made)
        self.assertEqual(self.count("test"), 100)
        self.append("report", "--x-axis", "rows", sweep.folder)
        page = (sweep.folder / "report.html").read_text()
        for title in ("Rows acknowledged each second", "Tables on disk"):
            figure = page[page.index(f">{title}</b>"):]
            legend = figure[:figure.index("</figcaption>")]
            self.assertEqual([legend.count(f"table={kind}<") for kind in kinds], [1, 1, 1])
            self.assertIn("rows in the tables", figure[:figure.index("</figure>")])


class Limits(harness.Case, Sweeping):
    def test_too_many_sessions_for_the_server(self):
        server = harness.PrivateMariadb(self, max_connections=12)
        ended, sweep = self.sweep("--sessions", "4,40,8", "--records", "1k,2k", server.url, code=4)
        self.check_report(ended, sweep)
        self.assertEqual([run["state"] for run in sweep.runs], ["done", "failed", "done"] * 2)
        for run in sweep.runs:
            if run["sessions"] == 40:
                self.assertIn("max_connections", run["reason"])
        self.assertEqual(sweep.table("throughput.csv")[40, 1000], "")
        self.assertEqual(len(re.findall(r"(?m)^ +40 +server\* +server\*$", ended.out)), 5)
        self.assertRegex(ended.reason, r"2 of 6 runs failed: 40x1000: .*max_connections")

    def test_a_server_that_goes(self):
        """Later runs fail with the reason, and a new sweep does not begin."""
        server = harness.PrivateMariadb(self)
        options = ("--sessions", "2,4", "--records", "4k", "--rate", RATE, server.url)
        out = self.out()
        process = self.start("sweep", *options, "--out", out)
        self.wait_for_rows(process, out / "2x4000")
        server.kill()
        self.end(process, None)
        sweep = self.check_sweep(out)
        self.assertEqual([run["state"] for run in sweep.runs], ["failed", "failed"])
        self.assertEqual(sweep.runs[1]["exit_code"], 4)
        self.refused("sweep", *options, code=4, pattern="(?i)connect|listens")


if __name__ == "__main__":
    harness.main()
