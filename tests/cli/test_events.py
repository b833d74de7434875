"""Marks in time: --mark, and lines that users append to events.csv."""

import json
import signal
import subprocess

import harness


class Events(harness.Case):
    def test_marks(self):
        _, run = self.run_append("2", "100", "null:", "--mark", "30=added a node, the \"third\"",
                                 "--mark", "0.25=begin", "--mark", "2100-01-01T00:00:00Z=late")
        self.assertEqual(run.table("events.csv"), [
            {"time": "30.000", "text": "added a node, the \"third\""},
            {"time": "0.250", "text": "begin"},
            {"time": "2100-01-01T00:00:00.000Z", "text": "late"}])
        self.assertEqual([event["text"] for event in run.json["events"]],
                         ["begin", "added a node, the \"third\"", "late"])
        self.assertEqual(run.json["events"][0]["time_s"], 0.25)
        self.assertIsNone(run.json["events_note"])

    def test_a_mark_that_is_not_utf_8(self):
        out = self.out()
        self.append("2", "100", "null:", "--mark", "1=caf\udce9", "--out", out)
        self.assertIn("1.000,caf\ufffd\r\n", (out / "events.csv").read_bytes().decode())
        run = json.loads((out / "run.json").read_text(encoding="utf-8"))
        self.assertEqual(run["plan"]["mark"], ["1=caf\ufffd"])
        self.assertEqual([event["text"] for event in run["events"]], ["caf\ufffd"])

    def test_no_marks(self):
        _, run = self.run_append("2", "100", "null:")
        self.assertEqual((run.folder / "events.csv").read_bytes(), b"time,text\r\n")
        self.assertEqual(run.json["events"], [])

    def test_lines_appended_meanwhile(self):
        """Lines of users stay unchanged, byte by byte, and a bad line is reported."""
        out = self.out()
        process = self.start("2", "null:", "--duration", "1h", "--rate", "1000", "--out", out,
                             "--mark", "1=planned")
        self.wait_for_rows(process, out)
        before = (out / "events.csv").read_bytes()
        subprocess.run(["sh", "-c", "echo \"$(date -u +%FT%TZ),rebalance, part 1\" >>events.csv;"
                        "echo 'now,what' >>events.csv; echo 2.5,last >>events.csv"],
                       cwd=out, check=True, timeout=30)
        written = (out / "events.csv").read_bytes()
        self.assertTrue(written.startswith(before) and len(written) > len(before))
        process.send_signal(signal.SIGINT)
        ended = self.end(process, 130)
        run = self.check_run(out, 130)
        self.assertEqual((out / "events.csv").read_bytes(), written)
        events = {event["text"]: event["time_s"] for event in run.json["events"]}
        self.assertEqual(set(events), {"planned", "rebalance, part 1", "last"})
        self.assertLess(events["rebalance, part 1"], run.json["times"]["elapsed_s"])
        self.assertRegex(run.json["events_note"], r"^events\.csv line 4: 'now,what' ")
        self.assertRegex(ended.out, r"(?m)^Events +events\.csv line 4")

    def test_a_file_that_was_taken_away(self):
        out = self.out()
        process = self.start("2", "null:", "--duration", "1h", "--rate", "1000", "--out", out)
        self.wait_for_rows(process, out)
        (out / "events.csv").unlink()
        (out / "events.csv").mkdir()
        process.send_signal(signal.SIGINT)
        ended = self.end(process, 130)
        self.assertRegex(ended.out, r"(?m)^Events +events\.csv is not a regular file")

    def test_bad_marks(self):
        for mark in ("5", "=x", "5=", "-1=x", "5s=x", "2026-02-30T00:00:00Z=x", "5=a\nb"):
            self.refused("2", "100", "null:", "--mark", mark, code=2,
                         pattern=r"--mark .* is not TIME=TEXT, TIME seconds")
        self.refused("2", "100", "null:", *(["--mark", "1=x"] * 65), code=2,
                     pattern="64 times")


if __name__ == "__main__":
    harness.main()
