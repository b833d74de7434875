"""--control and --live-control: changes to a run in progress."""

import csv
import http.client
import json
import os
import re
import resource
import signal
import stat
import threading

import browser
import harness
from test_metrics import free_port
from test_live import Page


class Control(harness.Case):
    def begin(self, sessions=4, rate=1000):
        out = self.out()
        process = self.start(sessions, "null:", "--rate", rate, "--batch", "10", "--duration", "1h", "--out", out,
                             "--control")
        self.wait_for_rows(process, out)
        return process, out

    def control(self, out, change, code=0):
        return self.append("control", out, change, code=code)

    def intervals_after(self, out, count):
        """Waits until `count` more intervals have been written; returns these except the first."""
        path = out / "intervals.csv"
        first = harness.count_lines(path)
        harness.wait_until(lambda: harness.count_lines(path) >= first + count, "more intervals")
        return [line.split(",") for line in path.read_text().splitlines()[first + 1:first + count]]

    def stop(self, process, out):
        self.control(out, "stop")
        ended = self.end(process, 0)
        return ended, self.check_run(out, 0)

    def test_events_have_no_part_of_a_line(self):
        """A change that cannot be recorded whole is refused, and events.csv stays as it was."""
        process, out = self.begin()
        self.control(out, "mark=first")
        events = (out / "events.csv").read_bytes()
        limits = resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (len(events) + 7, resource.RLIM_INFINITY))
        ended = self.control(out, "mark=second", code=4)
        self.assertIn("the change cannot be recorded in events.csv: No space left on device", ended.err)
        self.assertEqual((out / "events.csv").read_bytes(), events)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, limits)
        self.control(out, "mark=third")
        lines = (out / "events.csv").read_text().splitlines()
        self.assertEqual([line.partition(",")[2] for line in lines], ["text", "first", "third"])
        self.control(out, "stop")
        self.end(process, None)  # other files may have been short of room meanwhile

    def test_changes(self):
        """Each change is a line of events.csv and a member of run.json, and the verdict counts them."""
        process, out = self.begin()
        self.assertEqual(stat.S_IMODE(os.stat(out / "control").st_mode), 0o600)
        self.assertRegex(self.control(out, "rate=4k").out, r"^[\d.]+ s: rate 4,000/s\n$")
        self.assertIn("rate 4,000/s", (out / "events.csv").read_text(), "written before it takes effect")
        for row in self.intervals_after(out, 3):
            self.assertAlmostEqual(int(row[3]) / (float(row[1]) - float(row[0])), 4000, delta=800)
        self.control(out, "pause")
        for row in self.intervals_after(out, 3):
            self.assertEqual(row[3], "0", "no row is acknowledged in a pause")
        self.control(out, "resume")
        self.control(out, "sessions=2")
        self.control(out, 'mark=index "a, b" dropped')
        head = (out / "intervals.csv").read_text().splitlines()[0].split(",")
        self.assertEqual(self.intervals_after(out, 2)[0][head.index("sessions_working")], "2")
        ended, run = self.stop(process, out)
        self.assertIn("stopped by hand", ended.out)
        self.assertFalse((out / "control").exists())
        changes = [(one["what"], one["from"], one["to"], one["by"]) for one in run.json["changes"]]
        by = "append control"
        self.assertEqual(changes, [("rate", "1000", "4000", by), ("pause", None, None, by),
                                   ("resume", None, None, by), ("sessions", "4", "2", by),
                                   ("mark", None, None, by), ("stop", None, None, by)])
        texts = ["rate 4,000/s", "paused", "resumed", "2 sessions at work", 'index "a, b" dropped', "stopped by hand"]
        self.assertEqual([one["text"] for one in run.json["events"]], texts)
        self.assertEqual([one["text"] for one in run.json["changes"]], texts)
        self.assertTrue(run.json["outcome"]["verdict_reason"].endswith("; steered: 5 changes"))
        self.assertEqual(run.json["outcome"]["stop_reason"], "control")
        self.assertEqual(run.json["batches"]["due"], run.json["batches"]["sent"] + run.json["batches"]["not_sent"])
        # sessions 2 and 3 kept their connections, and did nothing after they were parked
        rows = [int(row["rows_acknowledged"]) for row in run.table("sessions.csv")]
        self.assertGreater(min(rows[:2]), max(rows[2:]))
        self.assertEqual(run.json["counters"]["connections_opened"], 4)
        self.append("report", out)
        self.assertIn("2 sessions at work", (out / "report.html").read_text())
        compared = self.append("compare", out, out)
        self.assertRegex(" ".join(compared.out.split()), "CAUTION A was steered by hand")

    def test_a_mark_is_no_change_of_the_load(self):
        process, out = self.begin()
        marks = ["x", '"v2" rolled out', '"', 'a, "b"']
        for mark in marks:
            self.control(out, "mark=" + mark)
        lines = list(csv.reader((out / "events.csv").read_text().splitlines(), strict=True))
        self.assertEqual([text for _, text in lines], ["text", *marks])
        _, run = self.stop(process, out)
        self.assertEqual([event["text"] for event in run.json["events"]], [*marks, "stopped by hand"])
        self.assertTrue(run.json["outcome"]["verdict_reason"].endswith("; steered: 1 change"), "the stop is the only change")

    def test_a_pause_is_in_no_latency(self):
        """A pause moves the due times: no response time contains it, and its work is not made up later."""
        process, out = self.begin(sessions=2, rate=200)
        self.control(out, "pause")
        self.intervals_after(out, 4)
        self.control(out, "resume")
        row = self.intervals_after(out, 2)[0]
        self.assertLess(int(row[3]) / (float(row[1]) - float(row[0])), 400,
                        f"the work that was due in the pause is not made up for: {row}")
        _, run = self.stop(process, out)
        self.assertLess(run.json["latencies"]["response"]["max_ms"], 2000)
        self.assertLess(run.json["fairness"]["longest_gap_ms"], 2000)

    def test_late_work_is_counted_across_a_change(self):
        """A schedule that the sessions cannot keep: what was due before a change counts as not sent."""
        out = self.out()
        process = self.start(1, "sqlite:" + str(self.folder / "rows.db"), "--rate", "1G", "--batch", "1000",
                             "--duration", "1h", "--read", "none", "--out", out, "--control")
        self.wait_for_rows(process, out)
        self.control(out, "rate=1k")
        self.intervals_after(out, 2)
        self.control(out, "stop")
        self.end(process, None)
        batches = json.loads((out / "run.json").read_text())["batches"]
        self.assertGreater(batches["not_sent"], 100000, "1,000,000 batches were due each second")
        self.assertEqual(batches["due"], batches["sent"] + batches["not_sent"])

    def test_a_script(self):
        """Transactions with and without a rate."""
        for rate in (("--rate", "200"), ()):
            out = self.out()
            process = self.start(4, "sqlite:" + str(self.folder / "t.db"), "--workload", "oltp", "--set", "table_size=100",
                                 *rate, "--duration", "1h", "--out", out, "--control")
            self.wait_for_rows(process, out)
            self.control(out, "sessions=1")
            self.control(out, "pause")
            self.control(out, "resume")
            if rate:
                self.control(out, "rate=100")
            else:
                refused = self.control(out, "rate=100", code=2)
                self.assertRegex(refused.reason, "the run has no rate: start it with --rate")
            self.intervals_after(out, 2)
            self.control(out, "stop")
            self.end(process, None)
            counts = json.loads((out / "run.json").read_text())["transactions"]
            self.assertTrue(counts["balances"])

    def test_think_time(self):
        """A transaction whose think time ends in a pause begins after the pause."""
        script, out = self.folder / "think.lua", self.out()
        script.write_text("""local t = dataset("t", 0, {{"id", "int64", key = "auto"}, {"n", "int32"}})
            local add = statement("add", "INSERT INTO t (n) VALUES (1)", {}, {adds_to = t})
            transaction("one", function() add:run() end, {pause = 0.3})""")
        process = self.start(4, "sqlite:" + str(self.folder / "t.db"), "--workload", script, "--duration", "1h",
                             "--out", out, "--control")
        self.wait_for_rows(process, out)
        self.control(out, "pause")
        head = (out / "intervals.csv").read_text().split("\n")[0].split(",")
        for row in self.intervals_after(out, 3):
            self.assertEqual(row[head.index("transactions")], "0")
        self.control(out, "resume")
        harness.wait_until(lambda: (out / "intervals.csv").read_text().splitlines()[-1].split(",")[
            head.index("transactions")] != "0", "transactions after the pause")
        self.control(out, "stop")
        self.end(process, 0)

    def test_a_number_of_rows(self):
        """A run with a number of rows appends all of them, in spite of changes."""
        out = self.out()
        process = self.start(4, "20k", "null:", "--rate", "4000", "--batch", "10", "--out", out, "--control")
        self.wait_for_rows(process, out)
        self.control(out, "pause")
        self.control(out, "sessions=2")
        self.control(out, "resume")
        self.control(out, "rate=20k")
        self.intervals_after(out, 1)
        self.control(out, "sessions=4")
        ended = self.end(process, 0)
        run = self.check_run(out, 0)
        self.assertEqual(run.json["rows"]["acknowledged"], 20000, ended)

    def test_what_is_refused(self):
        process, out = self.begin()
        for change, code, pattern in (
                ("sessions=5", 2, "sessions=5: give a number from 1 to 4"),
                ("sessions=0", 2, "from 1 to 4"), ("rate=0", 2, "at least 1"), ("rate=x", 2, "rate=x: give a number"),
                ("mark=", 2, "mark= needs a text"), ("faster", 2, "unknown change 'faster': use mark=TEXT"),
                ("pause=now", 2, "unknown change 'pause=now'"), ("resume", 4, "the run is not paused"),
                ("mark=" + "x" * 200, 2, "the change is longer than 160 bytes: shorten it"),
                ("mark=\udcff", 2, "the change is not valid UTF-8")):
            self.assertRegex(self.control(out, change, code=code).reason, pattern)
        _, run = self.stop(process, out)
        self.assertEqual(len(run.json["changes"]), 1, "what was refused is not in the list")
        self.assertRegex(self.control(out, "pause", code=4).reason, r"the run in \S+ has ended")
        self.assertRegex(self.control(self.folder / "none", "pause", code=2).reason,
                         r"'\S+none' is not the folder of a run with --control")
        self.refused("control", out, code=2, pattern="too few operands: use append control DIR CHANGE")
        for words, pattern in ((("--stage", "1s:2"), "--control does not work with --stage"),
                               (("--rate-stage", "1s:2", "--sessions", "2"), "--control does not work with --rate-stage"),
                               (("2", "100", "--rate", "10", "--arrivals", "poisson"),
                                "--control does not work with --arrivals poisson"),
                               (("2", "100", "--live-control"), "--live-control needs --live")):
            target = ("null:",) if words[0] != "2" else ()
            words = (*words[:2], "null:", *words[2:]) if not target else (*target, *words)
            self.refused(*words, *(() if "--live-control" in words else ("--control",)), code=2, pattern=pattern)

    def test_a_run_without_control(self):
        out = self.out()
        process = self.start(2, "null:", "--rate", "1000", "--duration", "1h", "--out", out)
        self.wait_for_rows(process, out)
        self.assertRegex(self.control(out, "pause", code=2).reason,
                         r"the run in \S+ takes no changes: start it with --control")
        process.send_signal(signal.SIGINT)
        self.end(process, 130)

    def test_a_long_path(self):
        """The folder's path may be longer than the address of a socket."""
        folder = self.folder / ("x" * 100) / ("y" * 100)
        process = self.start(2, "null:", "--rate", "1000", "--duration", "1h", "--out", folder, "--control")
        self.wait_for_rows(process, folder)
        self.control(folder, "stop")
        self.end(process, 0)

    def test_killed_in_a_pause(self):
        process, out = self.begin()
        self.control(out, "pause")
        self.intervals_after(out, 1)
        process.kill()
        process.wait()
        self.assertRegex(self.control(out, "resume", code=4).reason, "ended before it wrote its result")
        self.append("report", out)
        self.assertIn("paused", (out / "report.html").read_text())

    def test_many_at_once(self):
        """Changes from several programs do not mix."""
        process, out = self.begin()
        threads = [threading.Thread(target=self.control, args=(out, f"rate={1000 + i}")) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        _, run = self.stop(process, out)
        changes = run.json["changes"][:-1]
        self.assertEqual(sorted(int(one["to"]) for one in changes), list(range(1000, 1008)))
        for before, after in zip(changes, changes[1:]):
            self.assertEqual(after["from"], before["to"])


class Posts(harness.Case):
    def begin(self, *options):
        self.port, out = free_port(), self.out()
        process = self.start(3, "null:", "--rate", "3000", "--duration", "1h", "--out", out, "--report", "--live",
                             self.port, *options)
        self.token = re.search(r"/#(\w+)", process.stderr.readline())[1]
        self.wait_for_rows(process, out)
        return process, out

    def post(self, body, method="POST", path="/control", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.GUARD_S)
        given = {"X-Append-Token": self.token, "Content-Type": "application/json"}
        given.update({name.replace("_", "-"): value for name, value in headers.items()})
        connection.request(method, path, body=body, headers={key: value for key, value in given.items() if value})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def test_posts(self):
        """A change needs the token, our own Host and Origin, and JSON."""
        process, out = self.begin("--live-control")
        pause = '{"pause": true}'
        for code, headers in ((403, {"X_Append_Token": ""}), (403, {"X_Append_Token": "0" * 64}),
                              (403, {"Origin": "http://evil.test"}), (421, {"Host": f"evil.test:{self.port}"}),
                              (415, {"Content_Type": "text/plain"}), (415, {"Content_Type": ""}),
                              (415, {"Content_Type": "application/json5"})):
            self.assertEqual(self.post(pause, **headers)[0], code, headers)
        self.assertEqual(self.post(pause, method="GET")[0], 405)
        for body in ("", "{}", "[]", "x", '{"pause": true, "stop": true}', '{"rate": 1.5}', '{"pause": false}',
                     '{"pause": true, "pause": true}', '{"fly": true}', '{"mark": "' + "x" * 200 + '"}',
                     '{"mark": "\\u0000"}'):
            self.assertEqual(self.post(body)[0], 400, body)
        self.assertEqual(self.post(" " * 4097)[0], 413)
        self.assertEqual((out / "events.csv").read_text(), "time,text\n", "no refused request has changed the run")
        for body in ('{"rate": 2000}', '{"sessions": 2}', '{"mark": "from the page, \\u2713"}', pause):
            status, text = self.post(body, Content_Type="application/json; charset=utf-8")
            self.assertEqual((status, list(json.loads(text))), (200, ["done"]), text)
        self.assertEqual(self.post(pause)[0], 409)
        self.append("control", out, "resume")
        page = Page(self.port)
        page.ask_until(lambda body: "from the page, ✓" in body, "the mark")
        self.assertEqual(self.post('{"stop": true}')[0], 200)
        self.end(process, 0)
        run = self.check_run(out, 0)
        self.assertEqual([one["by"] for one in run.json["changes"]], ["page"] * 4 + ["append control", "page"])

    def test_the_ledger_of_batches(self):
        """After a change by hand, the number of batches that were due is unknown until the end."""
        process, out = self.begin("--live-control")
        page = Page(self.port)
        page.ask_until(lambda body: "<h4>Batches</h4>" in body, "the ledger of the plan's rate")
        self.assertEqual(self.post('{"pause": true}')[0], 200)
        page.ask_until(lambda body: "<h4>Batches</h4>" not in body, "a page without the ledger")
        self.assertIn("<h4>Rows</h4>", page.body)
        self.assertEqual(self.post('{"stop": true}')[0], 200)
        self.end(process, 0)
        batches = self.check_run(out, 0).json["batches"]
        self.assertGreater(batches["due"], 0)
        self.assertEqual(batches["due"], batches["sent"] + batches["not_sent"])

    def test_without_live_control(self):
        process, out = self.begin("--control")
        self.assertEqual(self.post('{"pause": true}')[0], 404)
        self.append("control", out, "stop")
        self.end(process, 0)

    def test_buttons(self):
        chromium = browser.Browser(self)
        process, out = self.begin("--live-control")
        chromium.open(f"http://127.0.0.1:{self.port}/#{self.token}")
        chromium.run("document.querySelector('.control input[name=rate]').value = '5k';"
                     "document.querySelector('.control button[name=rate]').click()")
        harness.wait_until(lambda: "rate 5,000/s" in chromium.run(
            "document.querySelector('.control p').textContent"), "the answer")
        harness.wait_until(lambda: "rate 5,000/s" in chromium.run("document.querySelector('main').textContent"),
                           "the mark on the page")
        chromium.run("document.querySelector('.control button[name=stop]').click()")
        self.end(process, 0)
        self.assertEqual([one["what"] for one in self.check_run(out, 0).json["changes"]], ["rate", "stop"])
        self.assertEqual(chromium.complaints, [])


if __name__ == "__main__":
    harness.main()
