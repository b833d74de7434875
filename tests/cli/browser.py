"""Chromium without a window, controlled through a pipe."""

import json
import os
import shutil
import subprocess
import tempfile

import harness

PATH = shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """A browser with one page. Its messages are lines that end with NUL, at descriptors 3 and 4."""

    def __init__(self, case):
        if PATH is None:
            case.skipTest("no chromium")
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()
        profile = tempfile.mkdtemp(prefix="append-browser-", dir=case.folder)
        script = f'exec "$0" "$@" 3<&{commands} 4>&{answers}'
        self.process = subprocess.Popen(
            ["bash", "-c", script, PATH, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--window-size=1280,1000", f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(commands, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        case.addCleanup(self.close)
        self.number, self.rest, self.session = 0, b"", None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.complaints = []
        self.call("Page.enable")
        self.call("Runtime.enable")
        self.call("Log.enable")

    def close(self):
        os.close(self.commands)
        os.close(self.answers)
        self.process.kill()
        self.process.wait()

    def read(self):
        while b"\0" not in self.rest:
            part = os.read(self.answers, 1 << 16)
            if not part:
                raise AssertionError("the browser has ended")
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise AssertionError(answer)
                return answer["result"]
            if answer.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown"):
                self.complaints.append(json.dumps(answer["params"]))

    def run(self, script):
        """Returns the value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(result)
        return result["result"].get("value")

    def open(self, url):
        self.call("Page.navigate", url=url)
        harness.wait_until(lambda: self.run("document.readyState") == "complete", f"page {url}")
