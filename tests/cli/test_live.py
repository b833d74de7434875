"""--live: the report's page while the run goes on."""

import http.client
import json
import re
import select
import signal
import socket

import browser
import harness
from test_metrics import free_port

# what the page shows: every cell, headline, verdict, and the summary and axes of every chart
SHOWN = """[...document.querySelectorAll("main h1, main h3, main h4, main th, main td, main .tile, main .verdict, " +
  "main desc, main svg text, main .note:not(.hint)")].map((one) => one.textContent)"""


def content(path):
    """Returns what is between <main> and </main> of a page."""
    return re.search(r"<main>\n(.*)</main>", path.read_text(), re.S)[1]


class Page:
    """Follows a live page as its script does."""

    def __init__(self, port):
        self.port, self.seq, self.pieces, self.state, self.sizes = port, 0, [], None, []
        self.connection = None

    def send(self):
        """Asks for the next state; ask() then takes the answer."""
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.GUARD_S)
        self.connection.request("GET", f"/live.json?after={self.seq}")

    def ask(self):
        """Returns False if the page has not changed."""
        if self.connection is None:
            self.send()
        answer = self.connection.getresponse()
        text = answer.read()
        self.connection.close()
        self.connection = None
        if answer.status != 200:
            raise AssertionError((answer.status, text))
        state = json.loads(text)
        self.state = state["state"]
        self.sizes.append(len(text))
        if "body" in state:
            self.pieces = re.findall(r"<[^<]*", state["body"])
        elif "steps" in state:
            self.pieces = self.follow(state)
        self.seq = state["seq"]
        return "body" in state or "steps" in state

    def follow(self, state):
        assert state["from"] == self.seq
        made, at = [], 0
        for step in state["steps"]:
            if isinstance(step, str):
                made.append(step)
            elif isinstance(step, list):
                units = self.pieces[at].encode("utf-16-le")[:2 * step[0]].decode("utf-16-le")
                made.append(units + step[1])
                at += 1
            else:
                made += self.pieces[at:at + max(step, 0)]
                at += abs(step)
        return made

    @property
    def body(self):
        return "".join(self.pieces)

    def ask_until(self, claim, what):
        harness.wait_until(lambda: self.ask() and claim(self.body), what)

    def interrupt(self, process):
        """Interrupts the run while a request is held, and takes the last answers."""
        self.send()
        while select.select([self.connection.sock], [], [], 0.2)[0]:
            self.ask()
            self.send()
        process.send_signal(signal.SIGINT)
        self.ask_until_ended()

    def ask_until_ended(self):
        harness.wait_until(lambda: self.ask() is not None and self.state == "ended", "the outcome on the page")


class Live(harness.Case):
    def begin(self, *options, host=""):
        self.port = free_port()
        out = self.out()
        process = self.start("3", "null:", "--rate", "3000", "--out", out, "--report", "--live",
                             f"{host}{self.port}", *options)
        return process, out

    def begin_long(self, *options, **more):
        process, out = self.begin("--duration", "1h", *options, **more)
        self.wait_for_rows(process, out)
        return process, out

    def finish(self, process):
        process.send_signal(signal.SIGINT)
        return self.end(process, 130)

    def request(self, path="/live.json", method="GET", host="127.0.0.1", body=None, **headers):
        """Returns (status, headers, body); headers named Host and so on are sent as given."""
        connection = http.client.HTTPConnection(host, self.port, timeout=harness.GUARD_S)
        connection.request(method, path, body=body,
                           headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, dict(answer.getheaders()), text

    def test_the_page_becomes_the_report(self):
        """Every state is a page of the report, with more rows each time; the last one is report.html."""
        process, out = self.begin_long("--mark", "0.1=index dropped", "--expect", "rows_rejected<=0")
        page = Page(self.port)
        page.ask_until(lambda body: "RUNNING" in body and "Rows acknowledged" in body, "a chart")
        for words in ("3 sessions for 1 h", "index dropped", "<h3>Ledgers</h3>", "<h3>Expectations</h3>", "rows_rejected&lt;=0",
                      "the run is still going on: its verdict is known at the end"):
            self.assertIn(words, page.body)
        self.assertNotIn("exit code", page.body)
        rows = re.compile(r'>acknowledged</th><td class="n">([\d,]+)')
        seen = [int(rows.search(page.body)[1].replace(",", ""))]
        with (out / "events.csv").open("a") as events:
            events.write("0.2,a mark of the user\n")
        page.ask_until(lambda body: "a mark of the user" in body, "the user's mark")
        seen.append(int(rows.search(page.body)[1].replace(",", "")))
        self.assertGreater(seen[1], seen[0])
        fresh = Page(self.port)
        fresh.ask()
        self.assertIn(fresh.seq, (page.seq, page.seq + 1))
        page.ask()
        self.assertLess(page.sizes[-1], fresh.sizes[0], "a page that follows gets only the changes")
        page.interrupt(process)
        ended = self.end(process, 130)
        self.assertRegex(ended.err, rf"(?m)^live page: http://127\.0\.0\.1:{self.port}/#[0-9a-f]{{64}}$")
        self.assertEqual(page.body, content(out / "report.html"))
        self.assertIn("interrupted", page.body)
        self.check_run(out, 130)
        with self.assertRaises(OSError):
            page.ask()

    def test_in_a_browser(self):
        """The numbers of the page are those of report.html; what the reader has chosen stays chosen."""
        chromium = browser.Browser(self)
        process, out = self.begin_long()
        chromium.open(f"http://127.0.0.1:{self.port}/")
        harness.wait_until(lambda: chromium.run("document.querySelectorAll('figure .plot').length > 3"), "charts")
        chromium.run("""
          document.addEventListener("renewed", () => { window.renewed = (window.renewed || 0) + 1; });
          window.figure = (title) => [...document.querySelectorAll("figure")].find((one) =>
            one.querySelector("b").textContent === title);
          figure("Append latency each second").querySelector(".key").click();
          figure("Append latency each second").querySelector("svg").dispatchEvent(
            new KeyboardEvent("keydown", {key: "+", bubbles: true}));
          true""")
        harness.wait_until(lambda: chromium.run("window.renewed > 2"), "more seconds on the page")
        chosen = json.loads(chromium.run("""JSON.stringify((() => {
          const one = figure("Append latency each second"), whole = figure("Sessions alive");
          return [one.querySelector(".key").getAttribute("aria-pressed"),
                  Number(one.querySelector(".plot").getAttribute("viewBox").split(" ")[0]) > 0,
                  document.querySelector(".stack rect").getBoundingClientRect().width > 10];
        })())"""))
        self.assertEqual(chosen, ["false", True, True])
        self.assertIn("RUNNING", chromium.run("document.querySelector('.verdict:not([hidden]) b').textContent"))
        # the page asks for the next state before it draws the latest state
        drawn = chromium.run("window.renewed")
        harness.wait_until(lambda: chromium.run("window.renewed") > drawn, "another second on the page")
        process.send_signal(signal.SIGINT)
        self.end(process, 130)
        harness.wait_until(lambda: chromium.run("document.body.dataset.state === 'ended'"), "the outcome")
        chromium.run("new Promise((done) => { setTimeout(done, 50); })")
        live, title = chromium.run(SHOWN), chromium.run("document.title")
        self.assertEqual(chromium.complaints, [])
        chromium.open((out / "report.html").as_uri())
        self.assertEqual(title, chromium.run("document.title"))
        kept = chromium.run(SHOWN)
        # a chart that the reader has zoomed keeps its ticks
        zoomed = {text for text in live if re.fullmatch(r"[\d.:]+", text)}
        self.assertEqual([text for text in live if text not in zoomed],
                         [text for text in kept if text not in zoomed and not re.fullmatch(r"[\d.:]+", text)])
        self.assertGreater(len(live), 100)

    def test_save(self):
        """The button writes the page as it is, which opens without the server; at the end it is report.html."""
        chromium = browser.Browser(self)
        process, out = self.begin_long("--live-control")
        chromium.open(f"http://127.0.0.1:{self.port}/")
        self.assertTrue(chromium.run("document.querySelector('button[name=save]').disabled") or
                        chromium.run("document.querySelector('main').childElementCount > 0"))
        harness.wait_until(lambda: chromium.run("document.querySelectorAll('figure .plot').length > 3"), "charts")
        # the saved file does not contain what the reader has selected on the page
        chromium.run("document.querySelector('figure .key').click()")
        running = self.save(chromium, "running")
        process.send_signal(signal.SIGINT)
        self.end(process, 130)
        harness.wait_until(lambda: chromium.run("document.body.dataset.state === 'ended'"), "the outcome")
        with self.assertRaises(OSError):
            self.request("/")
        ended = self.save(chromium, "ended")
        self.assertEqual(ended.read_text(), (out / "report.html").read_text())
        self.assertEqual(chromium.complaints, [])
        chromium.open(running.as_uri())
        harness.wait_until(lambda: chromium.run("document.querySelectorAll('figure .plot').length > 3"), "charts")
        self.assertIn("RUNNING", chromium.run("document.querySelector('.verdict b').textContent"))
        self.assertEqual(chromium.run("document.querySelector('figure .key').getAttribute('aria-pressed')"), "true")
        self.assertEqual(chromium.run("document.querySelectorAll('.control, [name=save]').length"), 0)
        # the policy of the saved page forbids all scripts but its own
        chromium.run("document.body.append(Object.assign(document.createElement('script'),"
                     " {textContent: 'window.isForeign = true'}))")
        self.assertIsNone(chromium.run("window.isForeign"))
        self.assertIn("Content Security Policy", "".join(chromium.complaints))

    def save(self, chromium, name):
        """Presses the button, and returns the file."""
        folder = self.folder / name
        folder.mkdir()
        chromium.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
        chromium.run("document.querySelector('button[name=save]').click()")
        harness.wait_until((folder / "report.html").is_file, "the saved page")
        harness.wait_until(lambda: (folder / "report.html").read_text().endswith("</html>\n"), "the whole page")
        return folder / "report.html"

    def test_wrong_requests(self):
        """A page of another site can neither read nor change anything, even if its own host name leads here."""
        process, _ = self.begin_long()
        for host in (f"127.0.0.1:{self.port}", f"localhost:{self.port}", f"LOCALHOST:{self.port}",
                     f"[::1]:{self.port}"):
            self.assertEqual(self.request(Host=host)[0], 200, host)
        for host in ("evil.test", f"evil.test:{self.port}", "127.0.0.1", f"127.0.0.1:{self.port + 1}",
                     f"127.0.0.1:{self.port}.evil.test", f"{socket.gethostname()}.evil.test:{self.port}", ""):
            for path in ("/", "/live.json"):
                status, _, text = self.request(path, Host=host)
                self.assertEqual((status, "rows" in text), (421, False), host)
        own = f"127.0.0.1:{self.port}"
        self.assertEqual(self.request(Origin=f"http://{own}")[0], 200)
        for origin in ("http://evil.test", f"https://{own}", "null", f"http://{own}.evil.test", "http://127.0.0.1"):
            status, headers, text = self.request(Origin=origin)
            self.assertEqual((status, "rows" in text), (403, False), origin)
            self.assertFalse([name for name in headers if name.lower().startswith("access-control")])
        for method, path, status in (("GET", "/x", 404), ("POST", "/live.json", 405), ("PUT", "/", 405),
                                     ("OPTIONS", "/live.json", 405), ("GET", "/metrics", 404)):
            self.assertEqual(self.request(path, method)[0], status, (method, path))
        self.assertEqual(self.request("/", "POST", body="x" * 4096)[0], 405)
        self.assertEqual(self.request("/", "POST", body="x" * 4097)[0], 413)
        status, headers, text = self.request("/")
        policy = headers["Content-Security-Policy"]
        self.assertEqual(status, 200)
        self.assertRegex(policy, r"default-src 'none'; script-src 'sha256-\S+' 'sha256-\S+'; style-src 'sha256-\S+'; ")
        self.assertIn("frame-ancestors 'none'", policy)
        self.assertNotIn("unsafe", policy)
        self.assertNotIn("null:", text, "the page without its data says nothing about the run")
        self.assertEqual(self.request("/live.json", "HEAD")[2], "")
        self.finish(process)

    def address(self):
        """Returns an address of this machine that other machines can reach."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            try:
                sock.connect(("192.0.2.1", 9))
            except OSError:
                self.skipTest("this machine has only a loopback address")
            return sock.getsockname()[0]

    def test_from_another_machine(self):
        """Data leaves this machine only for clients that have the token."""
        address = self.address()
        process, out = self.begin_long(host="0.0.0.0:")
        self.assertEqual(self.request()[0], 200)
        self.assertEqual(self.request("/", host=address)[0], 200)
        for token in (None, "", "0" * 64, "0" * 63):
            headers = {} if token is None else {"X_Append_Token": token}
            status, _, text = self.request(host=address, **headers)
            self.assertEqual((status, "rows" in text), (403, False))
        ended = self.finish(process)
        name, token = re.search(r"live page: http://(.+):\d+/#(\w+)", ended.err).groups()
        self.assertEqual(name, socket.gethostname())
        self.assertNotIn(token, "".join(path.read_text() for path in out.iterdir()))

    def test_the_token(self):
        address = self.address()
        process, _ = self.begin_long(host=f"{address}:")
        token = re.search(r"/#(\w+)", process.stderr.readline())[1]
        self.assertEqual(self.request(host=address, X_Append_Token=token)[0], 200)
        self.assertEqual(self.request(host=address, X_Append_Token=token[:-1] + "x")[0], 403)
        self.assertEqual(self.request(host=address)[0], 403)
        self.finish(process)

    def test_slow_readers(self):
        """A hundred clients that read nothing, silent clients and a held request do not delay the run."""
        process, out = self.begin_long()
        ask = f"GET /live.json?after=0 HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode()
        clients = []
        for i in range(110):
            client = socket.create_connection(("127.0.0.1", self.port))
            self.addCleanup(client.close)
            client.sendall(ask if i < 100 else b"GET /li")
            clients.append(client)
        page = Page(self.port)
        page.ask()
        held = socket.create_connection(("127.0.0.1", self.port))
        self.addCleanup(held.close)
        held.sendall(f"GET /live.json?after={page.seq} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode())
        page.ask_until(lambda body: True, "the next state")
        page.interrupt(process)
        self.end(process, 130)
        self.assertEqual(page.body, content(out / "report.html"))
        self.check_run(out, 130)

    def test_more_browsers_than_places(self):
        """The oldest browser gives up its place."""
        process, _ = self.begin_long()
        page = Page(self.port)
        page.ask()
        ask = f"GET /live.json?after={page.seq} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode()
        clients = []
        for _ in range(300):
            client = socket.create_connection(("127.0.0.1", self.port), timeout=harness.GUARD_S)
            self.addCleanup(client.close)
            client.sendall(ask)
            clients.append(client)
        self.assertEqual(clients[-1].recv(12), b"HTTP/1.1 200", "the newest has a place")
        page.ask_until(lambda body: True, "the next state")
        self.finish(process)

    def test_a_search(self):
        """Each level appears as soon as it has ended."""
        port, out = free_port(), self.out()
        process = self.start("find-max", "null:", "--hold", "200ms", "--first", 2, "--max-sessions", 4096,
                             "--max-bytes", "900G", "--out", out, "--live", port)
        self.wait_for_rows(process, out, "levels.csv")
        page = Page(port)
        page.ask_until(lambda body: re.search("<h3>Levels</h3>.*<tr>.*<td", body, re.S), "a level")
        self.assertRegex(page.body, r"find-max: [\d,]+ sessions held")
        self.assertIn("RUNNING", page.body)
        page.interrupt(process)
        self.end(process, None)
        self.append("report", out)
        self.assertEqual(page.body, content(out / "report.html"))

    def test_the_run_of_a_sweep(self):
        """The run in progress has its charts, with more seconds each time; the cells have the runs that ended."""
        chromium = browser.Browser(self)
        port, out = free_port(), self.out()
        process = self.start("sweep", "--sessions", "1,2", "--records", "3k,9k", "null:", "--rate", "1k", "--out",
                             out, "--report", "--live", port)
        chromium.open(f"http://127.0.0.1:{port}/")
        progress = "[...document.querySelectorAll('details[open]')]"
        points = (progress + ".map((one) => one.querySelector('.plot path') ? "
                  "one.querySelector('summary span').textContent : '').join()")
        harness.wait_until(lambda: chromium.run(points) == "1x3000", "a chart of the first run, before any has ended")
        self.assertEqual(chromium.run(progress + "[0].querySelector('.verdict b').textContent").split()[-1], "RUNNING")
        self.assertNotIn("0 CPU", chromium.run(progress + "[0].textContent"))
        self.assertEqual(chromium.run(progress + "[0].querySelector('h2').textContent"), "1 session, 3,000 rows")
        harness.wait_until(lambda: chromium.run(points) == "1x9000", "a chart of the third run")
        levels = progress + "[0].querySelector('.plot path').getAttribute('d').length"
        seen = chromium.run(levels)
        harness.wait_until(lambda: chromium.run(points) == "1x9000" and chromium.run(levels) > seen, "another second in the chart")
        page = Page(port)
        page.ask()
        self.assertIn("<h3>The run in progress</h3>", page.body)
        self.assertIn("Sweep of 2 runs", page.body)
        page.ask_until_ended()
        self.end(process, 0)
        self.assertNotIn("in progress", page.body)
        self.assertEqual(page.body, content(out / "report.html"))
        self.assertEqual(chromium.complaints, [])

    def test_a_sweep(self):
        """Cells appear as runs end; before the first, the page says that none has ended."""
        port, out = free_port(), self.out()
        process = self.start("sweep", "--sessions", "1,2,3", "--records", "3k", "null:", "--rate", "2k", "--out",
                             out, "--report", "--live", port)
        page = Page(port)
        harness.wait_until(lambda: (out / "1x3000").is_dir(), "the first run")
        page.ask()
        self.assertRegex(page.body, "has ended yet|Sweep of")
        page.ask_until(lambda body: "have not ended yet" in body and "rows/s" in body, "a cell")
        page.ask_until_ended()
        self.end(process, 0)
        self.assertEqual(page.body, content(out / "report.html"))

    def test_a_place_that_cannot_be_used(self):
        """The run is refused before it makes anything."""
        port = free_port()
        for place, pattern in (("0", "--live '?0'?.*PORT or HOST:PORT"), ("x", "PORT or HOST:PORT"),
                               ("70000", "PORT or HOST:PORT"), ("host:", "PORT or HOST:PORT"),
                               (f"no-such-host.invalid:{port}", "--live: unknown host 'no-such-host.invalid'"),
                               (f"198.51.100.1:{port}", "--live: cannot listen on 198.51.100.1 port")):
            self.refused("2", "100", "sqlite:rows.db", "--live", place, "--out", "out", code=2, pattern=pattern)
            self.assertFalse((self.folder / "rows.db").exists())
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", port))
            taken.listen()
            for words in (("2", "100", "sqlite:rows.db"), ("find-max", "sqlite:rows.db"),
                          ("sweep", "--sessions", "1", "--records", "100", "sqlite:rows.db")):
                self.refused(*words, "--live", port, "--out", "out", code=2,
                             pattern=f"--live: cannot listen on 127.0.0.1 port {port}: Address already in use")
                self.assertFalse((self.folder / "rows.db").exists())


if __name__ == "__main__":
    harness.main()
