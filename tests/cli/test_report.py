"""append report: a page, text and pictures from the folders of runs and sweeps."""

import base64
import hashlib
import html
import html.parser
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import threading
import xml.etree.ElementTree

import harness

CHARTS = ("Rows acknowledged each second", "Append latency each second", "Read latency each second",
          "Latency by percentile", "Sessions alive", "CPU", "Memory", "Pace of the sessions")
VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(html.parser.HTMLParser):
    """A parsed page. Every element is closed, in the right order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.attributes, self.text, self.ids, self.names = [], [], "", [], {}
        self.feed(text)
        self.close()
        if self.open:
            raise AssertionError(f"not closed: {self.open}")

    def handle_starttag(self, tag, attrs):
        self.names[tag] = self.names.get(tag, 0) + 1
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise AssertionError(f"</{tag}> at {self.getpos()} closes nothing")

    def handle_data(self, data):
        self.text += data


class Report(harness.Case):
    def run_null(self, *arguments):
        """Makes a run of about two seconds, so that all charts have values."""
        return self.run_append("4", "null:", "--duration", "2", "--rate", "2000", *arguments)[1]

    def check_page(self, path):
        text = path.read_text()
        page = Page(text)
        self.assertNotRegex(text, r"https?://", "the page must not load anything")
        self.assertNotRegex(text, r"url\(|@import|<link|<img|<iframe| src=")
        [script] = re.findall(r"<script>(.*?)</script>", text, flags=re.S)
        [style] = re.findall(r"<style>(.*?)</style>", text, flags=re.S)
        hashes = [base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() for part in (style, script)]
        self.assertIn("default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'".format(*hashes), text)
        self.assertLessEqual(script.count("\n"), 300)
        self.assertIn("@media screen and (prefers-color-scheme:dark)", text)
        self.assertIn("@media print", text)
        self.assertEqual(len(page.ids), len(set(page.ids)), "an id occurs twice")
        for name, value in page.attributes:
            if name == "href" and value.startswith("#"):
                self.assertIn(value[1:], page.ids)
            if name in ("aria-labelledby", "aria-describedby"):
                self.assertIn(value, page.ids)
        figures = re.findall(r"<figure.*?</figure>", text, flags=re.S)
        self.assertEqual(len(figures), page.names.get("figure", 0))
        for figure in figures:
            drawing = re.search(r"<svg viewBox.*</svg>", figure, flags=re.S)[0]
            tree = xml.etree.ElementTree.fromstring(drawing)
            curves = [element.get("d") for element in tree.iter("path")
                      if (element.get("class") or "").startswith("line")]
            self.assertTrue(any("H" in curve or "M" in curve for curve in curves)
                            or list(tree.iter("rect")), "a chart without a curve")
            self.assertNotIn("nan", drawing)
            self.assertNotIn("inf", "".join(curves))
            self.assertNotRegex(drawing, r"rgb\(|#[0-9a-f]{6}", "a colour that fits one mode only")
        return text, page

    def test_page(self):
        run = self.run_null("--mark", "1=a <mark> & 'more'")
        ended = self.append("report", run.folder)
        path = run.folder / "report.html"
        self.assertRegex(ended.out, r"^Report +\S+/report\.html  \(8 charts, [\d.]+ KiB\)\n$")
        text, page = self.check_page(path)
        for title in CHARTS:
            self.assertIn(title, page.text)
        self.assertIn(f"{run.json['outcome']['verdict']}", page.text)
        self.assertIn(run.json["outcome"]["verdict_reason"], page.text)
        self.assertIn(f"{run.rows['acknowledged']:,}", page.text)
        self.assertIn(run.json["environment"]["kernel"], page.text)
        self.assertIn("a &lt;mark&gt; &amp; &#39;more&#39;", text)
        self.assertIn('<path class="mark" d="M1 ', text)
        self.assertEqual(self.append("report", run.folder).out, ended.out)
        self.assertEqual(path.read_text(), text, "the same input gives the same page")

    def test_what_a_script_found(self):
        """The page has checks, expectations and settings by their own names, and leaves out unused options."""
        script = self.folder / "checks.lua"
        script.write_text('dataset("t", 20, {{"id", "int32", row(), key = true}})\n'
                          'local n = 0\n'
                          'transaction("look", function() n = n + 1 check(n % 2 == 1, "even") end)\n')
        _, run = self.run_append(1, "sqlite:" + str(self.folder / "checks.db"), "--workload", script,
                                 "--transactions", 10, "--recreate", "--expect", "transaction_p99<=1h",
                                 "--expect", "committed==11", code=None)
        self.append("report", run.folder)
        _, page = self.check_page(run.folder / "report.html")
        text = page.text[page.text.index("Ledgers"):]
        text = " ".join(text.split())
        for words in ("checks10 checks that failed5", "Expectations", "committed==1110NO",
                      "Checks", "Options and end of the run",
                      "Settings of the server", "journal_modewal",
                      "open files (soft limit)"):
            self.assertIn(words, text)
        self.assertRegex(text, r"transaction_p99<=1h[\d.e-]+ msyes")
        for words in ("is embedded", "I/O trace", "processes soft", "journal mode"):
            self.assertNotIn(words, text)

    def test_name_of_a_script(self):
        """A script's file name may contain HTML markup."""
        script = self.folder / "<b>&.lua"
        script.write_text('transaction("rest", function() think(0.001) end)\n')
        _, run = self.run_append(1, "null:", "--workload", script, "--transactions", 2)
        self.append("report", run.folder)
        text, page = self.check_page(run.folder / "report.html")
        self.assertRegex(text, r"<title>append: [^<]*&lt;b&gt;&amp;\.lua: 1 session")
        self.assertIn("<b>&.lua: 1 session", page.text)

    def test_a_run_in_words(self):
        """The page shows expectations, fairness, the command line, the names of marks, weakened
        durability, the disk and the end of a run in words, not as keys of run.json."""
        database = "sqlite:" + str(self.folder / "in words.db")
        _, run = self.run_append(2, database, "--duration", "2500ms", "--rate", 2000, "--batch", 50,
                                 "--read", "none", "--mark", "1=index & key made",
                                 "--expect", "throughput>=1, append_p99<=1h")
        changed = run.json
        changed["server"]["weakened"] = [{"host": None, "setting": "synchronous", "value": "off",
                                          "why": "a crash can lose <rows>"}]
        (run.folder / "run.json").write_text(json.dumps(changed))
        self.append("report", run.folder)
        page_text, page = self.check_page(run.folder / "report.html")
        self.assertIn(">1 index &amp; key made<title>index &amp; key made</title></text>", page_text)
        text = " ".join(page.text[page.text.index("Ledgers"):].split())
        self.assertRegex(text, r"throughput>=1[\d,.]+ rows/syes append_p99<=1h[\d.]+ msyes")
        fairness = run.json["fairness"]
        self.assertRegex(text, r"Fairness slowest session, rows/sits numberfastest session, rows/s"
                               r"its numberlongest time without an acknowledged appendin session "
                               rf"[\d,.]+{fairness['slowest_session']}[\d,.]+"
                               rf"{fairness['fastest_session']}[\d.]+ [mu]?s"
                               rf"{fairness['longest_gap_session']} ")
        self.assertIn(f"Command line append 2 '{database}' --batch=50 --read=none --rate=2000 "
                      "--duration=2500ms --expect='throughput>=1, append_p99<=1h' "
                      "--mark='1=index & key made'", text)
        self.assertIn("Weakened durability settingvaluewhat can be losthost "
                      "synchronousoffa crash can lose <rows>", text)
        for words in ("memory measured asresident memory of this program, the database included", "endedthe time of the run was over",
                      "disk space per row", "I/O pressure (time in which some task waited for I/O)",
                      "read by the server's system calls", "CPUs that append may use"):
            self.assertIn(words, text)
        for key in ("stop reason", "server read", "storage read", "cpus usable", "server note", "disk "
                    "bytes"):
            self.assertNotIn(key, text)

    def test_the_command_line_of_a_page(self):
        """The command line runs as printed, without defaults, and is never cut."""
        _, run = self.run_append(3, 1500, "null:", "--timeout", "1500ms", "--on-drop", "reconnect:5",
                                 "--sample-interval", "1s", "--min-sessions", "2")
        marks = [f"0=event {number} " + "text " * 60 for number in range(12)]
        _, long = self.run_append(1, 100, "null:", *(word for mark in marks for word in ("--mark", mark)))
        self.append("report", long.folder)
        text, _ = self.check_page(long.folder / "report.html")
        line = html.unescape(re.search(r"<code>(.*?)</code>", text)[1])
        self.assertEqual(line, "append 1 100 null:" + "".join(f" --mark='{mark}'" for mark in marks))
        self.append("report", run.folder)
        text, _ = self.check_page(run.folder / "report.html")
        line = html.unescape(re.search(r"<code>(.*?)</code>", text)[1])
        self.assertEqual(line, "append 3 1500 null: --on-drop=reconnect:5 --timeout=1500ms "
                               "--sample-interval=1s --min-sessions=2")
        _, again = self.run_append(*line.split()[1:])
        for key in ("sessions", "records", "timeout_s", "on_drop", "reconnect_tries", "min_sessions",
                    "sample_interval_s"):
            self.assertEqual(again.json["plan"][key], run.json["plan"][key], key)
        # the name of the folder is in the name of the target; 0 tries is not the default
        folder = self.folder / "load"
        self.append(1, f"sqlite:{folder}.db", "--workload", "ycsb", "--tries", 0, "--transactions", 9, "--out", folder)
        self.append("report", folder)
        text, _ = self.check_page(folder / "report.html")
        line = html.unescape(re.search(r"<code>(.*?)</code>", text)[1])
        self.assertEqual(line, f"append 1 sqlite:{folder}.db --workload=ycsb --transactions=9 --tries=0")

    def test_texts_of_others(self):
        """A text from a server or user is text on the page, never markup."""
        run = self.run_null()
        evil = "</title><script>alert(1)</script>\"'`id` \x1b[2J"
        changed = run.json
        changed["outcome"]["verdict_reason"] = evil
        changed["causes"] = [{"phase": "append", "kind": "server", "text": evil, "count": 3,
                              "first_s": 0.1, "last_s": 0.2}]
        changed["findings"] = [{"limit": "x", "side": "server", "name": evil, "sessions": 2,
                                "evidence": evil, "fix": evil}]
        changed["resources"]["server_note"] = evil
        (run.folder / "run.json").write_text(json.dumps(changed))
        with (run.folder / "events.csv").open("a") as events:
            events.write(f"1,{evil}\n")
        summary = (run.folder / "summary.csv").read_text().replace("null:", f'"{evil}"'.replace('"\'', "'"))
        (run.folder / "summary.csv").write_text(summary)
        folder = run.folder.parent / "it's `id` <b>"
        run.folder.rename(folder)
        self.append("report", folder)
        text, page = self.check_page(folder / "report.html")
        self.assertIn("<script>alert(1)</script>", page.text)
        self.assertNotIn("uid=", text)
        self.assertNotIn("\x1b", text)
        shown = self.append("report", folder, "--text").out
        self.assertNotIn("\x1b", shown)
        self.assertNotIn("uid=", shown)

    def test_text(self):
        run = self.run_null("--mark", "1=" + "long " * 30)
        for columns in (60, 80, 120):
            ended = self.append("report", run.folder, "--text", env={"COLUMNS": str(columns)})
            self.assertLessEqual(max(map(len, ended.out.splitlines())), columns)
            for title in CHARTS:
                self.assertIn(title, ended.out)
            for unit in ("rows/s", "latency, ", "% of all CPUs", "MiB", "time since the start, s"):
                self.assertIn(unit, ended.out)
        self.assertFalse((run.folder / "report.html").exists())
        self.append("report", run.folder, "--text", "--out", self.folder / "x.html")
        self.check_page(self.folder / "x.html")

    def test_pictures(self):
        run = self.run_null()
        page = self.folder / "page.html"
        ended = self.append("report", run.folder, "--png", "--out", page)
        self.assertIn("(8 files)", ended.out)
        pictures = sorted(self.folder.glob("page-*.png"))
        self.assertEqual(len(pictures), 8)
        for picture in pictures:
            self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n", picture)
            self.assertGreater(picture.stat().st_size, 2000)
        self.check_page(page)

    def test_json(self):
        """--json describes the written files and their runs, alone on standard output."""
        run = self.run_null()
        page = self.folder / "page.html"
        said = json.loads(self.append("report", run.folder, "--png", "--json", "--out", page).out)
        self.assertEqual((said["page"], said["page_bytes"]), (str(page), page.stat().st_size))
        self.assertEqual(said["png_prefix"], str(page.with_suffix("")))
        self.assertEqual(len(list(self.folder.glob("page-*.png"))), said["png_files"])
        titles = [chart["title"] for chart in said["runs"][0]["charts"]]
        self.assertEqual([title.split(",")[0] for title in titles], list(CHARTS))
        self.assertEqual(said["runs"][0]["verdict"], run.json["outcome"]["verdict"])
        self.assertEqual(said["runs"][0]["throughput_rows_per_s"],
                         float(run.table("summary.csv")[0]["throughput_rows_per_s"]))
        ended = self.append("report", run.folder, "--json", "--text", code=2)
        self.assertRegex(ended.reason, "use one of them")

    @staticmethod
    def legends(text):
        """Returns {title of a chart: names of its lines}."""
        return {html.unescape(title): re.findall(r"<button .*?>(?:<i .*?</i>)?(.*?)</button>", legend)
                for title, legend in re.findall(
                    r"<figcaption><b id=.*?>(.*?)</b>(.*?)</figcaption>", text, flags=re.S)}

    def test_several_runs(self):
        """Charts have a line for each run; the charts of each run are drawn on request."""
        folders = [self.run_null().folder, self.run_null("--idle", "1", "--read", "none").folder,
                   self.run_append("3", "1000", "null:", "--read", "none")[1].folder]
        ended = self.append("report", *folders, "--png")
        self.assertRegex(ended.out, r"^Report +report\.html ")
        text, page = self.check_page(self.folder / "report.html")
        self.assertEqual(text.count('<details class="run">'), 3)
        self.assertIn("Runs compared", page.text)
        lines = {title: len(names) for title, names in self.legends(text).items()}
        for title, runs in (("Rows acknowledged each second", 2), ("Append p99 each second", 2),
                            ("CPU of the whole machine", 2), ("Append latency by percentile", 3)):
            self.assertEqual(lines[title], runs, title)
        self.assertNotIn("<figure", text[text.index("<details"):])
        self.assertEqual(len(list(self.folder.glob("report-*.png"))), page.names["figure"])
        self.assertEqual(list(self.folder.glob("report-run[0-9]*.png")), [])
        shown = self.append("report", *folders, "--text").out
        self.assertNotIn("Pace of the sessions", shown)
        self.assertRegex(shown, r"(?m)^run-3 +VALID ")

        self.append("report", *folders, "--all")
        text, page = self.check_page(self.folder / "report.html")
        self.assertIn("<figure", text[text.index("<details"):])
        self.assertIn("No chart of read latency over time: no read ended.", page.text)
        self.assertIn("Pace of the sessions", self.append("report", *folders, "--text", "--all").out)

    def test_an_unfinished_run(self):
        """During a run, and after it was killed, the report has the values of every second."""
        out = self.out()
        process = self.start("4", "null:", "--duration", "60", "--rate", "2000", "--out", out)
        self.wait_for_rows(process, out)
        for is_killed in (False, True):
            if is_killed:
                process.kill()
                process.wait()
            run = json.loads(self.append("report", "--json", out).out)["runs"][0]
            self.assertEqual(run["verdict"], "UNFINISHED")
            self.assertIsNone(run["throughput_rows_per_s"])
            self.assertLessEqual(set(CHARTS[:3]), {chart["title"] for chart in run["charts"]})
            self.assertIn("an unfinished run", self.check_page(out / "report.html")[1].text)
        self.refused("compare", out, out, code=2, pattern="run.json is empty")

    def test_a_short_run(self):
        """An interval is a second: a shorter run has no charts over time. A run of 30 rows is over so soon that
        its elapsed time is rounded to 0."""
        for rows in ("30", "300000"):
            _, run = self.run_append("3", rows, "null:")
            self.append("report", run.folder)
            _, page = self.check_page(run.folder / "report.html")
            self.assertNotIn("each second\n", page.text)
            self.assertNotIn("time since the start", page.text)
            self.assertIn("Latency by percentile", page.text)
            self.assertRegex(page.text, r"No charts over time: the run took 0(\.\d+)? s")

    def test_runs_alike(self):
        """Runs of the same size are labelled with their folders."""
        run = self.run_null()
        shutil.copytree(run.folder, self.folder / "the other")
        self.append("report", run.folder, self.folder / "the other")
        text, _ = self.check_page(self.folder / "report.html")
        self.assertIn('<a href="#run2">the other</a>', text)
        self.assertNotIn("The name of a run is", text)
        self.append("report", run.folder, run.folder)
        text, _ = self.check_page(self.folder / "report.html")
        for number in (1, 2):
            self.assertIn(f'<a href="#run{number}">{number} {run.folder.name}</a>', text)
        _, larger = self.run_append("3", "1000", "null:", "--read", "none")
        self.append("report", run.folder, larger.folder)
        text, page = self.check_page(self.folder / "report.html")
        self.assertIn('<a href="#run2">3 × 1k</a>', text)
        self.assertIn("The name of a run is the number of sessions × the number of rows or the duration.", page.text)

    def test_sweep(self):
        out = self.folder / "sweep"
        ended = self.append("sweep", "--sessions", "1,2,4", "--records", "1k,2k", "null:",
                            "--rate", "10k", "--out", out, "--report")
        self.assertRegex(ended.out, r"(?m)^Report +\S+/sweep/report\.html$")
        text, page = self.check_page(out / "report.html")
        self.assertIn("Sweep of 6 runs", page.text)
        for figure in ("Maximum CPU", "Maximum memory", "Elapsed time", "Throughput"):
            self.assertIn(f"{figure} against sessions", page.text)
        self.assertEqual(text.count('<details class="run">'), 6)
        self.assertEqual(page.names["figure"], 5)
        self.assertNotIn("<small>", text[text.index("Tables"):text.index("All runs")])
        self.assertFalse((out / "1x1000" / "report.html").exists())
        shown = self.append("report", out, "--text").out
        self.assertIn("Throughput against sessions: rows/s", shown)

    def test_sweep_of_variants(self):
        """The page compares the variants of a sweep, over time and over rows."""
        out = self.folder / "sweep"
        self.append("sweep", "--sessions", "2", "--records", "2500", "null:", "--rate", "1000",
                    "--workload", "mass-insert", "--vary", "table=normal,compressed", "--out", out,
                    "--report")
        text, page = self.check_page(out / "report.html")
        variants = ["table=normal", "table=compressed"]
        self.assertEqual(self.legends(text)["Rows acknowledged each second"], variants)
        self.assertIn("1 × 2 cells, each of 2,500 rows", page.text)
        self.assertNotIn("gainst sessions", page.text)
        self.append("report", "--x-axis", "rows", out)
        text, page = self.check_page(out / "report.html")
        self.assertEqual(self.legends(text)["Rows acknowledged each second"], variants)
        self.assertIn('data-across="rows"', text)
        self.assertNotIn('data-across="time"', text)
        shown = self.append("report", "--x-axis", "rows", out, "--text").out
        self.assertRegex(shown, r"table=normal \*{4}  table=compressed #{4}")
        self.assertRegex(shown, r"(?m)^table=compressed +[A-Z]+ ")

    def test_rows_that_stay_as_many(self):
        """When the number of rows does not change, there are no charts against rows."""
        self.append("prepare", "2", "sqlite:a.db", "--workload", "oltp", "--set",
                    "tables=1,table_size=100")
        _, run = self.run_append("2", "sqlite:a.db", "--workload", "oltp", "--set",
                                 "tables=1,table_size=100", "--duration", "2500ms")
        self.append("report", "--x-axis", "rows", run.folder, "--out", "a.html")
        text, page = self.check_page(self.folder / "a.html")
        self.assertIn("No charts against rows: no row was appended.", page.text)
        self.assertNotIn('data-across="rows"', text)

    def test_many_variants(self):
        words = ("--records", "500", "null:", "--workload", "mass-insert", "--report", "--vary")
        self.append("sweep", "--sessions", "1,2", *words, "batch=1,2,4,5,10", "--out", "many")
        text, page = self.check_page(self.folder / "many" / "report.html")
        self.assertEqual(self.legends(text)["Throughput against sessions"],
                         [f"batch={number}" for number in (1, 2, 4, 5, 10)])
        self.assertEqual(self.legends(text)["Append latency by percentile"],
                         [f"{sessions} × 500 batch={number}" for number in (1, 2, 4, 5)
                          for sessions in (1, 2)])
        self.assertIn("The first 8 runs.", page.text)
        self.append("sweep", "--sessions", "1", *words, "batch=1,5", "--repeat", 2, "--out", "two")
        text, page = self.check_page(self.folder / "two" / "report.html")
        self.assertEqual(self.legends(text)["Append latency by percentile"],
                         ["batch=1 (1)", "batch=5 (1)"])
        self.assertIn("If a run was repeated, the chart shows only the first repeat.", page.text)
        self.assertIn('<a href="#run4">batch=5 (2)</a>', text)

    def test_repeats(self):
        """A median is shown with the lowest and the highest value."""
        out = self.folder / "sweep"
        self.append("sweep", "--sessions", "1,2", "--records", "1k", "--repeat", "3", "null:",
                    "--out", out, "--report")
        text, page = self.check_page(out / "report.html")
        tables = text[text.index("Tables"):text.index("All runs")]
        self.assertGreaterEqual(tables.count("<small>"), 2 * 3)  # a run this short may have no CPU figure
        self.assertIn("The median of the runs; bars go from the lowest to the highest value.", page.text)

    def test_at_the_end_of_a_run(self):
        ended, run = self.run_append("4", "2000", "null:", "--report")
        self.assertRegex(ended.out, r"(?m)^Report +\S+/report\.html$")
        self.check_page(run.folder / "report.html")
        ended, run = self.run_append("4", "2000", "null:", "--report", "--json")
        json.loads(ended.out)
        self.check_page(run.folder / "report.html")

    def test_bad_folders(self):
        run = self.run_null()
        self.refused("report", code=2, pattern="too few operands: use append report DIR")
        self.refused("report", self.folder / "nothing", code=2, pattern="it has no run.json")
        self.refused("report", run.folder, self.folder, code=2, pattern="it has no run.json")
        for name, text, pattern in (("run.json", "{", "run.json line 1"),
                                    ("run.json", "{\"format\": 1}", "does not have format 2"),
                                    ("summary.csv", "a,b\r\n", "has 0 rows"),
                                    ("intervals.csv", "a,b\r\n1\r\n", "intervals.csv line 2"),
                                    ("samples.csv", None, "samples.csv: No such file")):
            torn = self.folder / "torn"
            shutil.copytree(run.folder, torn)
            (torn / name).unlink()
            if text is not None:
                (torn / name).write_text(text)
            self.refused("report", torn, code=2, pattern=pattern)
            shutil.rmtree(torn)

    def test_pipes(self):
        """A folder, pipe or device in place of a file is refused at once."""
        run = self.run_null()
        for name in ("run.json", "summary.csv", "intervals.csv"):
            content = (run.folder / name).read_bytes()
            (run.folder / name).unlink()
            os.mkfifo(run.folder / name)
            for command in (("report", run.folder), ("compare", run.folder, run.folder)):
                self.refused(*command, code=2, pattern=f"{name}: this is not a regular file")
            (run.folder / name).unlink()
            (run.folder / name).write_bytes(content)
        (run.folder / "report.html").symlink_to(self.folder / "pipe")
        os.mkfifo(self.folder / "pipe")
        self.refused("report", run.folder, code=3, pattern="report.html: this is not a regular file")

    def test_torn_but_readable(self):
        """Files of a crashed machine: the report shows the readable values and names the rest."""
        run = self.run_null()
        (run.folder / "sessions.csv").unlink()
        (run.folder / "events.csv").unlink()
        intervals = (run.folder / "intervals.csv").read_bytes()
        (run.folder / "intervals.csv").write_bytes(intervals[:intervals.index(b"\n") + 1])
        self.append("report", run.folder)
        _, page = self.check_page(run.folder / "report.html")
        self.assertIn("No chart of rows over time", page.text)
        self.assertIn("No chart of the sessions' pace", page.text)

    def test_events_in_text(self):
        """The report names events that the charts do not mark, and lines that cannot be read."""
        run = self.run_null()
        with (run.folder / "events.csv").open("a") as events:
            events.write("soon,what\n" + "1,node\n" * 41)
        shown = self.append("report", run.folder, "--text").out
        self.assertEqual(shown.count("1.0 s  node"), 40)
        self.assertRegex(shown, r"(?m)^ +1 more: see events\.csv$")
        self.assertRegex(shown, r"(?m)^Events +events\.csv line 2: 'soon,what' ")
        said = json.loads(self.append("report", run.folder, "--json").out)["runs"][0]
        self.assertEqual((said["events"], said["events_error"]), (41, None))
        self.assertRegex(said["events_note"], r"^events\.csv line 2: 'soon,what' ")

    def test_files_of_others(self):
        """A file that is not a report is never overwritten."""
        run = self.run_null()
        for name in ("run.json", "summary.csv"):
            before = (run.folder / name).read_bytes()
            self.refused("report", run.folder, "--out", run.folder / name, code=2,
                         pattern="was not made by append report")
            self.assertEqual((run.folder / name).read_bytes(), before)
        self.refused("report", run.folder, "--out", self.folder / "no" / "page.html", code=3,
                     pattern="cannot be written: No such file or directory")
        self.assertEqual(list(run.folder.glob("*.part")), [])
        long = "x/" * 1100 + "page.html"
        self.refused("report", run.folder, "--out", long, code=2, pattern="too long: .* 2047 bytes")
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.refused("report", run.folder, "--out", pipe, code=2, pattern="is a device or a pipe")
        self.assertTrue(pipe.is_fifo())

    def test_too_many(self):
        self.refused("report", *["x"] * 65, code=2, pattern="too many operands: .*at most 64")

    def test_left_over_from_a_report_that_was_killed(self):
        run = self.run_null()
        (run.folder / "report.html.part").touch()
        self.append("report", run.folder)
        self.assertGreater((run.folder / "report.html").stat().st_size, 0)

    def fake_gnuplot(self, script):
        folder = self.folder / "bin"
        folder.mkdir(exist_ok=True)
        path = folder / "gnuplot"
        path.write_text(script)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return {"PATH": f"{folder}:{os.environ['PATH']}"}

    def test_no_gnuplot(self):
        """The page does not need gnuplot; the other forms say that they do, and how to install it."""
        run = self.run_null()
        empty = self.folder / "empty"
        empty.mkdir()
        env = {"PATH": str(empty)}
        self.append("report", run.folder, env=env)
        self.check_page(run.folder / "report.html")
        for option in ("--text", "--png"):
            self.refused("report", run.folder, option, code=3, env=env,
                         pattern=r"--text and --png need gnuplot, which is not installed: "
                                 "install the package gnuplot-nox")
        out = self.out()
        self.append("2", "100", "null:", "--report", "--out", out, env=env)
        self.check_page(out / "report.html")

    def test_gnuplot_fails(self):
        run = self.run_null()
        for script, pattern in (("#!/bin/sh\necho no such terminal >&2\nexit 1\n",
                                 "gnuplot failed: no such terminal"),
                                ("#!/bin/sh\nkill -SEGV $$\n", "gnuplot was ended by signal 11"),
                                ("#!/bin/sh\necho 'line 0: bad' >&2\n", "gnuplot failed: bad")):
            env = self.fake_gnuplot(script)
            self.refused("report", run.folder, "--text", code=3, pattern=pattern, env=env)
            self.refused("report", run.folder, "--png", code=3, pattern=pattern, env=env)
        env = self.fake_gnuplot("#!/bin/sh\necho no picture\n")
        self.refused("report", run.folder, "--png", code=3, pattern="gnuplot drew nothing for",
                     env=env)
        self.assertEqual(list(run.folder.glob("*.png")), [])

    def test_a_parent_that_ignores_its_children(self):
        """An ignored SIGCHLD, which programs inherit, does not hide the end of gnuplot."""
        run = self.run_null()
        ended = self.append("report", run.folder, "--text", preexec_fn=lambda: signal.signal(
            signal.SIGCHLD, signal.SIG_IGN))
        self.assertIn("Pace of the sessions", ended.out)

    def take_the_place(self, folder):
        """Waits in the background until the folder exists, and then writes another file in the place of its page."""
        def take():
            harness.wait_until(folder.exists, f"{folder}")
            (folder / "report.html").write_text("mine")
        thread = threading.Thread(target=take)
        thread.start()
        self.addCleanup(thread.join)

    def test_a_run_whose_report_fails(self):
        """The rows were appended, and the run says that the page is missing."""
        words = ("2", "null:", "--duration", "1", "--rate", "1000", "--report")
        out = self.out()
        self.take_the_place(out)
        ended = self.append(*words, "--out", out, code=3)
        self.assertRegex(ended.out, r"(?m)^Report +not written: .*was not made by append report")
        self.assertRegex(ended.reason, "all rows were acknowledged, but the report was not written")
        out = self.out()
        self.take_the_place(out)
        ended = self.append(*words, "--json", "--expect", "elapsed>=1h", "--out", out, code=5)
        self.assertRegex(ended.reason, "elapsed>=1h: .*; also the report was not written: .*was not made")
        self.assertEqual((out / "report.html").read_text(), "mine")

    def test_a_sweep_whose_report_fails(self):
        """The missing page is reported, even with --json and even when the run has another problem."""
        for bound, code in (("elapsed>=0s", 3), ("elapsed>=1h", 5)):
            out = self.out()
            self.take_the_place(out)
            ended = self.append("sweep", "--sessions", "1", "--records", "2k", "null:", "--rate",
                                "2k", "--report", "--json", "--expect", bound, "--out", out,
                                code=code)
            self.assertEqual(json.loads(ended.out)["state"], "finished")
            self.assertIn("was not made by append report", ended.reason)
            self.assertEqual("elapsed>=1h" in ended.reason, code == 5)

    def test_the_script(self):
        """In a browser the pointer and keys show values, and lines can be hidden and the time axis zoomed."""
        browser = shutil.which("chromium") or shutil.which("chromium-browser")
        if browser is None:
            self.skipTest("no chromium")
        run = self.run_null("--mark", "1=x")
        self.append("report", run.folder)
        text, _ = self.check_page(run.folder / "report.html")
        probe = (harness.ROOT / "tests/cli/page_probe.js").read_text()
        text = re.sub(r'<meta http-equiv="Content-Security-Policy".*?>', "", text)
        page = self.folder / "probe.html"
        page.write_text(text.replace("</body>", f"<script>{probe}</script></body>"))
        shown = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu",
                                "--window-size=1280,1000", f"--user-data-dir={self.folder}/profile",
                                "--dump-dom", page.as_uri()],
                               capture_output=True, text=True, timeout=120, check=True).stdout
        seen = json.loads(html.unescape(re.search(r'<pre id="probe">(.*?)</pre>', shown)[1]))
        self.assertEqual(seen["errors"], [])
        first = run.table("intervals.csv")[0]
        rows, append = seen["charts"][0], seen["charts"][1]
        self.assertRegex(rows["first"], r"^[\d.]+ s \| [\d,]+ rows/s$")
        # on a busy machine the first interval may be longer than a second
        self.assertAlmostEqual(float(rows["first"].split()[0]),
                               (float(first["start_s"]) + float(first["end_s"])) / 2, delta=0.01)
        self.assertAlmostEqual(float(rows["first"].split("| ")[1].split()[0].replace(",", "")),
                               float(first["rows_per_s"]), delta=1)
        self.assertRegex(append["first"], r"^[\d.]+ s \| p50 [\d.]+ [mu]?s \| p99 [\d.]+ [mu]?s$")
        self.assertRegex(append["off"], r"^[\d.]+ s \| p99 [\d.]+ [mu]?s$")
        self.assertNotEqual(rows["next"], rows["first"])
        self.assertEqual(rows["back"], rows["first"])
        self.assertNotEqual(rows["zoomed"], rows["ticks"])
        self.assertEqual(rows["all"], rows["ticks"])
        self.assertGreater(len(set(seen["views"][0]) & set(seen["views"][1])), 0,
                           "charts over time go along")


class Search(harness.Case):
    def test_a_search(self):
        """Text, PNG, page and JSON, as for a run."""
        out = self.out()
        self.append("find-max", "null:", "--hold", "200ms", "--first", 2, "--max-sessions", 8,
                    "--out", out)
        text = self.append("report", out, "--text").out
        self.assertIn("find-max: 8 sessions held", text)
        for title in ("Rows per second", "Append latency", "CPU"):
            self.assertIn(f"{title} against sessions", text)
        ended = self.append("report", out, "--png", "--json")
        charts = json.loads(ended.out)["runs"][0]["charts"]
        self.assertLessEqual({"levels-rows", "levels-append"}, {chart["name"] for chart in charts})
        self.assertTrue((out / "report-levels-rows.png").read_bytes().startswith(b"\x89PNG"))
        page = (out / "report.html").read_text()
        for words in ("find-max: 8 sessions held", "<h3>Levels</h3>", "<svg"):
            self.assertIn(words, page)
        self.refused("compare", out, out, code=2, pattern="is a search of find-max")


if __name__ == "__main__":
    harness.main()
