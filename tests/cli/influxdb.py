"""Private servers of InfluxDB and QuestDB, and queries of their databases by HTTP."""

import json
import shutil
import subprocess
import unittest
import urllib.parse
import urllib.request

import harness


class Server(harness.PrivateServer):
    """A server for all tests of a class, created in setUpClass."""

    class Owner:
        """The part of a test that PrivateServer needs."""

        def __init__(self, test_class):
            self.addCleanup = test_class.addClassCleanup

    def __init__(self, test_class, **settings):
        super().__init__(self.Owner(test_class), **settings)
        self.port = int((self.home / "port").read_text())
        self.url = f"influxdb://127.0.0.1:{self.port}"

    def get(self, path, **parameters):
        """Returns the JSON of an answer. Uses POST with InfluxDB, which requires it for some statements."""
        data = urllib.parse.urlencode(parameters)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        url = f"http://127.0.0.1:{self.port}{path}"
        is_influxdb = self.NAME == "influxdb"
        with opener.open(url if is_influxdb else f"{url}?{data}",
                         data=data.encode() if is_influxdb else None, timeout=60) as answer:
            return json.load(answer)

    def write(self, database, *lines):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        opener.open(f"http://127.0.0.1:{self.port}/write?db={database}",
                    data="\n".join(lines).encode(), timeout=60).close()


class Influxdb(Server):
    NAME = "influxdb"

    def query(self, database, text):
        """Returns the rows of all series as dictionaries."""
        result = self.get("/query", db=database, q=text, epoch="ns")["results"][0]
        if "error" in result:
            raise AssertionError(f"{text}: {result['error']}")
        return [dict(zip(series["columns"], row)) for series in result.get("series", [])
                for row in series["values"]]


class Questdb(Server):
    NAME = "questdb"

    def query(self, text):
        answer = self.get("/exec", query=text)
        return [dict(zip((column["name"] for column in answer.get("columns", [])), row))
                for row in answer.get("dataset", [])]


def need_influxdb():
    if shutil.which("influxd") is None:
        raise unittest.SkipTest("influxd is missing (scripts/setup.sh test)")


def need_questdb():
    """Skips the test without Java or QuestDB's program, which is fetched once."""
    fetched = subprocess.run([harness.ROOT / "scripts" / "questdb.sh", "fetch"], check=False,
                             stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if fetched.returncode != 0:
        raise unittest.SkipTest(fetched.stderr.strip())
