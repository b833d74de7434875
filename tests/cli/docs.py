"""Runs the commands of README.md and docs as they are printed.

The words after ``` say how a block is run:

    sh                           without a server
    sh postgresql, sh mariadb    on a server of the test
    sh plan                      each command runs with --plan, or only its options are looked up
    sh script N NAME             as sh, after the page's Nth block of Lua is saved as NAME
    sh outside                   by test_outside.py, which has an installation
    sh no-test                   not at all: NOT_RUN has the reason
    console …                    as sh …, the lines after "$ "
    sql postgresql, sql mariadb  as the server's administrator

Blocks of a page are run in their order in one folder, in which ./append, scripts, tests and workloads are
those of the sources. Two things are replaced: the server's place (localhost:5432 and localhost:3306, and the
ports of --metrics and --live), and, so that the tests end soon, the number of rows and the duration.
"""

import os
import re
import socket
import subprocess

import harness

PAGES = (harness.ROOT / "README.md", *sorted((harness.ROOT / "docs").rglob("*.md")))
FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```$", re.S | re.M)
PORTS = {"postgresql": 5432, "mariadb": 3306}
RUNS = ("sh", "console")

# {(page, a text in the block): why the block is not run}
NOT_RUN = {
    ("docs/quick-start.md", "scripts/setup.sh run"): "installs packages and builds; test.sh does the same",
    ("docs/benchmarks.md", "mariadbd --max-connections=14050"): "14,000 sessions; scripts/grid.sh runs them",
    ("docs/benchmarks.md", "scripts/bench.sh full http"): "a measurement of many minutes, against k6 and wrk",
    ("docs/certify.md", "--faults kill:10,power:20 --prove"): "needs root, and takes minutes",
    ("docs/certify.md", "--server-option fsync=off"): "needs root",
    ("docs/ci.md", "docker compose up"): "needs Docker; cli.postgresql_docker runs the second command",
    ("docs/databases/machbase.md", "./append 1000 10000000 5656"): "needs a Machbase server",
    ("docs/databases/machbase.md", "pip download"): "scripts/machbase_client.sh fetches the library",
    ("docs/databases/machbase.md", "machbase_standin.py"): "cli.machbase runs the stand-in",
    ("docs/databases/odbc.md", "odbc:DSN=name"): "needs a data source; cli.odbc has its own",
    ("docs/io.md", "./append 100 1M 5432 --io-trace"): "needs root; cli.io_trace runs it",
    ("docs/io.md", "--batch 1 --read none --io-trace"): "needs root; cli.io_trace runs it",
    ("docs/why.md", "--waits --io-trace"): "needs root; cli.postgresql_io_trace runs both options",
    ("docs/several-machines.md", "srun -N 8"): "needs a cluster; cli.ranks runs mpirun",
    ("docs/several-machines.md", "append sweep --sessions 10k,40k"): "needs a cluster; cli.ranks runs a sweep",
    ("docs/sweep.md", "--resume append-runs/"): "needs an interrupted sweep; cli.sweep_resume makes one",
    ("docs/watching.md", "--container append-postgresql"): "needs Docker; cli.postgresql_docker runs it",
}


def name_of(page):
    return str(page.relative_to(harness.ROOT))


class Block:
    """A fenced block: its words, its text without indentation, and for console its commands alone."""

    def __init__(self, page, match):
        indent, info, text = match.groups()
        self.page = page
        self.language, *self.words = info.split() or [""]
        self.text = re.sub(rf"^{indent}", "", text, flags=re.M)
        self.code = self.text
        if self.language == "console":
            self.code = "\n".join(re.findall(r"^\$ (.*)$", self.text, re.M)) + "\n"

    @property
    def how(self):
        return self.words[0] if self.words else ""

    def __repr__(self):
        return f"{name_of(self.page)}: {self.code}"


def blocks(page):
    return [Block(page, match) for match in FENCE.finditer(page.read_text(encoding="utf-8"))]


def pages_with(*how):
    """Returns [(page, its blocks to run)] of the pages that have such blocks."""
    found = []
    for page in PAGES:
        wanted = [block for block in blocks(page) if block.language in RUNS and block.how in how]
        if wanted:
            found.append((page, wanted))
    return found


def commands(block):
    """Returns the block's commands of append, each as one line without the rest of a pipe."""
    text = block.code.replace("\\\n", " ")
    return [line.split(" #")[0].strip() for line in text.splitlines()
            if re.match(r"(\./)?append ", line)]


def fewer(text):
    """Returns a hundredth of a number of rows, but at least 100 and at most 20,000."""
    units = {"k": 10**3, "M": 10**6, "G": 10**9}
    rows = int(text.rstrip("kMG")) * units.get(text[-1], 1)
    return str(rows if rows < 2000 else max(100, min(rows // 100, 20000)))


def smaller(code):
    """Returns the same commands with fewer rows and less time."""
    code = re.sub(r"(append \d+ )(\d+[kMG]?)(?= |$)",
                  lambda m: m[0] if int(m[2].rstrip("kMG")) in PORTS.values() else m[1] + fewer(m[2]), code,
                  flags=re.M)
    code = re.sub(r"(--records )(\S+)", lambda m: m[1] + ",".join(map(fewer, m[2].split(","))), code)
    code = re.sub(r"(RECORDS=)(\d+)", lambda m: m[1] + fewer(m[2]), code)
    code = re.sub(r"--warm-up \d+s", "--warm-up 500ms", code)
    code = re.sub(r"(--fail-if '\w+<)[\d.]+", r"\g<1>0.0001", code)  # small runs differ much
    code = re.sub(r"--hold 1\b", "--hold 0.3", code)
    code = re.sub(r"--stage \S+", lambda m: re.sub(r"\b\d+s:", "500ms:", m[0]), code)
    return re.sub(r"--duration \d+[sm]", "--duration 2s" if "--mark" in code else "--duration 1s", code)


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Runner(harness.Case):
    """Runs blocks of a page in one folder."""

    def begin_page(self, page):
        self.place = self.folder / name_of(page).replace("/", "-")
        self.place.mkdir()
        for name, path in (("append", harness.BINARY), ("scripts", harness.ROOT / "scripts"),
                           ("tests", harness.ROOT / "tests"), ("workloads", harness.ROOT / "workloads")):
            (self.place / name).symlink_to(path)

    def run_block(self, block, server="", port=0, **more):
        if block.how == "script":
            lua = [one.text for one in blocks(block.page) if one.language == "lua"]
            (self.place / block.words[2]).write_text(lua[int(block.words[1])], encoding="utf-8")
        code = smaller(block.code).replace("--metrics 9464", f"--metrics {free_port()}")
        code = code.replace("--live 8080", f"--live {free_port()}")
        if server:
            usual = PORTS[server]
            code = re.sub(rf"\b(localhost|127\.0\.0\.1):{usual}\b", f"127.0.0.1:{port}", code)
            code = re.sub(rf"(?<= ){usual}(?= |$)", str(port), code, flags=re.M)
        env = self.environment(PATH=f"{self.place}:{os.environ['PATH']}", APPEND=harness.BINARY, **more)
        # a slow or busy machine makes append the bottleneck: exit code 6
        script = "trap 'code=$?; [ $code = 6 ] || exit $code' ERR\n" + code
        ended = subprocess.run(["bash", "-c", script], cwd=self.place, env=env, stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, timeout=2 * harness.GUARD_S)
        self.assertIn(ended.returncode, (0, 6), f"{block!r}\nrun as:\n{code}\n{ended.stdout}{ended.stderr}")
        return ended
