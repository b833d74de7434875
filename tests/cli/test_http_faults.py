"""Faults of HTTP servers, through the whole program: no row is sent twice, each row is accounted for, and
every failure has its line."""

import time
import resource
import subprocess
import unittest

import harness
from http_faults import Fault, Server, answer, chunked, exception

TSV = ("--method", "tsv", "--batch", "10")


class Faults(harness.Case):
    def server(self, *arguments, **options):
        return Server(self, *arguments, **options)

    def appends(self, fault, *more, code=1, sessions=2, rows=200):
        """Performs a run in which some requests get wrong answers. Returns (server, Ended, Run)."""
        server = self.server(fault)
        ended, run = self.run_append(sessions, rows, server.url, *TSV, *more, code=code)
        self.assertEqual(set(server.bodies.values()), {1}, "no request is sent twice")
        return server, ended, run

    def test_a_good_server(self):
        """Answers in any number of parts, with and without chunked encoding."""
        def cut(request):
            return Fault(cut=1) if request["number"] % 2 else None

        for fault in (lambda request: None, cut):
            server, _, run = self.appends(fault, code=0)
            self.assertEqual((run.rows["acknowledged"], server.rows), (200, 200))
        _, _, run = self.appends(
            lambda request: Fault(chunked(b"200\n")) if request["kind"] == "count" and
            request["number"] > 1 else None, code=0)
        self.assertEqual(run.rows["acknowledged"], 200)

    def test_idle_connections_end(self):
        """A server that closes the connection after each INSERT without announcing it costs no rows: the
        next INSERT follows some time later."""
        server, ended, run = self.appends(
            lambda request: Fault(then="close") if request["kind"] == "insert" else None,
            "--rate", "100", "--read", "none", code=0)
        self.assertEqual((run.rows["acknowledged"], server.rows), (200, 200), ended)
        self.assertEqual(run.json["counters"]["connections_lost"], 0)
        self.assertGreaterEqual(server.connections, 20)

    def test_every_third_connection_ends_after_the_request(self):
        """The rows of such a connection are in doubt and not sent again, whether they arrived or not."""
        for is_stored in (True, False):
            with self.subTest(is_stored):
                server, _, run = self.appends(
                    lambda request, is_stored=is_stored:
                    Fault(b"", "close", is_stored=is_stored)
                    if request["kind"] == "insert" and request["number"] % 3 == 0 else None,
                    "--on-drop", "reconnect")
                lost = run.rows["in_doubt"]
                self.assertGreaterEqual(lost, 60)
                self.assertEqual(run.json["counters"]["connections_lost"], lost // 10)
                self.assertEqual(run.rows["acknowledged"] + (lost if is_stored else 0),
                                 server.rows)
                self.assertEqual(run.verification["in_doubt_arrived"], lost if is_stored else 0)
                self.assertEqual(run.verification["lost"], 0)

    def test_a_restart_before_the_count(self):
        """With --on-drop reconnect the count after the run also waits for a server that restarts."""
        refused = []

        def fault(request):
            if server.rows < 200 or request["kind"] != "ping" or len(refused) == 5:
                return None
            refused.append(request)
            return Fault(b"", "reset")

        server = self.server()
        server.fault = fault
        for more, code in ((("--on-drop", "reconnect"), 0), ((), 1)):
            server.rows = 0
            refused.clear()
            _, run = self.run_append(2, 200, server.url, *TSV, "--read", "none", *more, code=code)
            self.assertEqual(run.rows["acknowledged"], 200)
            self.assertEqual(run.verification["state"], "done" if more else "failed")
            self.assertEqual(len(refused) == 5, bool(more), refused)

    def test_answers_that_break_off(self):
        """The third INSERT is stored but gets a bad answer: its rows are in doubt."""
        whole = answer()
        bad = {
            "nothing": Fault(b"", "close"),
            "a reset": Fault(b"", "reset"),
            "half a head": Fault(whole[:30], "close"),
            "half a body": Fault(answer(body=b"abcdef")[:-3], "close"),
            "half a chunk": Fault(chunked(b"abc")[:-9], "close"),
            "no HTTP": Fault(b"\x15\x03\x01\x00\x02\x02\x46", "close"),
            "a wrong length": Fault(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n"),
            "a gateway's time": Fault(answer(504, b"upstream is late")),
        }
        for name, fault in bad.items():
            with self.subTest(name):
                _, ended, run = self.appends(
                    lambda request, fault=fault: fault
                    if (request["kind"], request["number"]) == ("insert", 3) else None)
                self.assertEqual((run.rows["in_doubt"], run.rows["rejected"]), (10, 0), ended)
                self.assertEqual(run.sessions["dropped"], 1)
                self.assertEqual(run.verification["in_doubt_arrived"], 10)

    def test_errors_before_and_after_rows_are_stored(self):
        """Rows are rejected only if the server found the error before it stored a part of them."""
        parts, view = "Too many parts (300)", ": while pushing to view default.v"
        for status, code, words, query, account in (
                (400, 27, "Cannot parse input: (at row 3)", "", "rejected"),
                (400, 27, "Cannot parse input: while executing ValuesBlockInputFormat: at row 3", "", "rejected"),
                (400, 27, "Cannot parse input: (at row 3)", "?max_insert_block_size=2", "in_doubt"),
                (500, 6, "Cannot parse string 'x' as Int32", "", "in_doubt"),
                (500, 6, "Cannot parse string 'x' as Int32: (at row 1)" + view, "", "in_doubt"),
                (500, 252, parts + view, "", "in_doubt"),
                (500, 252, parts + ": Insertion status: Wrote 1 blocks", "", "in_doubt"),
                (500, 469, "Constraint c is violated at row 1", "", "rejected"),
                (500, 241, "Memory limit exceeded", "", "in_doubt"),
                (200, 241, "Memory limit exceeded", "", "in_doubt"),
                (200, 252, parts, "", "in_doubt"),
                (500, 242, "Table is in readonly mode", "", "in_doubt"),
                (404, 60, "Table default.t doesn't exist", "?max_insert_block_size=2", "rejected")):
            with self.subTest(code=code, words=words, query=query):
                said = exception(status, code, words)
                server = self.server(lambda request, said=said: Fault(said, is_stored=False)
                                     if (request["kind"], request["number"]) == ("insert", 3) else None)
                ended, run = self.run_append(2, 200, server.url + query, *TSV, "--on-drop", "reconnect",
                                             code=None)
                self.assertEqual(run.rows[account], 10, ended)
                self.assertEqual(run.rows["acknowledged"], server.rows)
                self.assertIn(words.split(":")[0].split(" (")[0], ended.out + ended.err)

    def test_a_full_server_is_tried_again(self):
        """After 429 and 503 nothing was stored, and the same rows are sent again."""
        for status in (429, 503):
            server = self.server(
                lambda request, status=status: Fault(answer(status, b"queue is full"),
                                                     is_stored=False)
                if request["kind"] == "insert" and request["number"] in (3, 4) else None)
            _, run = self.run_append(1, 100, server.url, *TSV, code=0)
            self.assertEqual((run.rows["acknowledged"], server.rows), (100, 100))
            self.assertEqual(sum(server.bodies.values()), 12)

    def test_answers_that_are_no_acknowledgement(self):
        """ClickHouse acknowledges an INSERT only by an empty 200; other answers are refusals or in doubt."""
        page = b"<html>Service down for maintenance</html>"
        code = "X-ClickHouse-Exception-Code: 241\r\n"
        for instead, account in ((answer(body=page), "in_doubt"), (answer(202), "in_doubt"),
                                 (answer(204), "in_doubt"), (answer(body=b"\x1f\x8b\x08\x00"), "in_doubt"),
                                 (answer(500, page), "in_doubt"), (answer(headers=code), "in_doubt")):
            for is_stored in (True, False):
                with self.subTest(instead=instead, is_stored=is_stored):
                    server, ended, run = self.appends(
                        lambda request, instead=instead, is_stored=is_stored: Fault(instead, is_stored=is_stored)
                        if (request["kind"], request["number"]) == ("insert", 3) else None)
                    self.assertEqual(run.rows[account], 10, ended)
                    self.assertEqual(run.rows["acknowledged"] + run.rows["in_doubt"] + run.rows["rejected"],
                                     10 * len(server.bodies))
                    self.assertEqual(run.verification["lost"], 0)

    def test_a_page_of_a_program_in_front(self):
        """503 without ClickHouse's header: the rows may be stored, so they are not sent again."""
        page = b"HTTP/1.1 503 Busy\r\nServer: proxy\r\nContent-Length: 4\r\n\r\nwait"
        server, ended, run = self.appends(
            lambda request: Fault(page) if (request["kind"], request["number"]) == ("insert", 3) else None)
        self.assertEqual(run.rows["in_doubt"], 10, ended)
        self.assertEqual(set(server.bodies.values()), {1})

    def test_rows_that_were_kept_and_refused(self):
        """A server that reports "busy" but keeps the rows: the surplus is explained."""
        server = self.server(lambda request: Fault(answer(503, b"queue is full"))
                             if request["kind"] == "insert" and request["number"] in (3, 4) else None)
        _, run = self.run_append(1, 100, server.url, *TSV, code=0)
        self.assertEqual((run.rows["acknowledged"], server.rows), (100, 120))
        self.assertRegex(run.json["outcome"]["verdict_reason"], "20 more rows than were acknowledged: either "
                         "rows of the 2 batches that append sent again, because the database was busy,")

    def test_a_server_that_stalls(self):
        """With a rate, response times begin at the due time, so they include the wait of all batches that
        were due during a stall of the server; service times include the stall once."""
        def stall(request):
            if (request["kind"], request["number"]) == ("insert", 20):
                time.sleep(2)

        server = self.server(stall)
        _, run = self.run_append(1, server.url, "--duration", "5s", "--rate", 50, "--batch", 1, "--read", "none",
                                 "--method", "tsv", code=None)
        append, response = (run.json["latencies"][name] for name in ("append", "response"))
        service_s, response_s = (one["count"] * one["mean_ms"] / 1000 for one in (append, response))
        # the calls of one session are sequential; the 100 batches of the stall waited for 1 s on average
        self.assertLess(service_s, run.json["times"]["elapsed_s"])
        self.assertGreater(response_s, 50)
        self.assertGreaterEqual(response["max_ms"], 2000)
        self.assertGreaterEqual(response["p90_ms"], 1000)
        # batches of the stall's first 1.9 s were sent over 100 ms late
        self.assertGreaterEqual(run.json["counters"]["batches_late"], 90)

    def test_counts_that_are_stale(self):
        """A count without the session's own last batch, and a count that goes backwards."""
        behind = {5: 10, 9: 20}
        server = self.server(lambda request: Fault(answer(body=b"%d\n" % (server.rows - behind[request["number"]])))
                             if request["kind"] == "count" and request["number"] in behind else None)
        ended, run = self.run_append(1, 150, server.url, *TSV, "--read", "count", code=None)
        fresh = run.json["freshness"]
        self.assertEqual((fresh["checks"], fresh["behind"], fresh["backward"], fresh["worst_lag_rows"]),
                         (15, 2, 1, 20), ended)
        self.assertEqual(run.json["outcome"]["verdict"], "DEGRADED")
        self.assertIn("reads did not show acknowledged rows: 2 counts missed rows, "
                      "1 had fewer rows than an earlier count",
                      " ".join(ended.out.split()))
        self.assertRegex(" ".join(ended.out.split()), "read-your-writes violations 2\\b.*non-monotonic reads 1")

    def test_a_body_that_is_too_large(self):
        _, ended, run = self.appends(
            lambda request: Fault(answer(413, b"body is larger than 1 MiB"), "close",
                                  is_stored=False)
            if (request["kind"], request["number"]) == ("insert", 3) else None)
        self.assertEqual((run.rows["rejected"], run.rows["in_doubt"]), (10, 0), ended)
        self.assertIn("larger than 1 MiB", ended.out + ended.err)

    def test_endless_answers(self):
        """append keeps only a bounded part of an endless answer."""
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n"
        for kind, instead in (("insert", head), ("count", head), ("insert", b"HTTP/1.1 200 OK\r\n"),
                              ("insert", head.replace(b"200", b"500"))):
            with self.subTest(f"{kind} {instead}"):
                self.appends(lambda request, kind=kind, instead=instead:
                             Fault(instead, "flood")
                             if request["kind"] == kind and request["number"] == 2 else None)
        peak_kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.assertLess(peak_kib, (400 if harness.SLOW == 1 else 1600) << 10)

    def test_refusals_to_begin(self):
        """A refusal is reported in one line, with the exit code of a server that refuses."""
        bad = {
            "wrong password": (answer(401, b"Authentication failed"), "Authentication failed"),
            "wrong user": (exception(403, 516, "someone: Authentication failed"),
                           "Authentication failed"),
            "no HTTP": (b"220 mail\r\n", "not HTTP/1"),
            "another page": (answer(404, b"<html>nothing"), "404 Said"),
        }
        for name, (instead, words) in bad.items():
            with self.subTest(name):
                server = self.server(lambda request, instead=instead: Fault(instead))
                self.refused(2, 100, server.url, code=4, pattern=words)

    def test_a_redirect(self):
        """Redirects are not followed: rows go only to the given server."""
        moved = answer(301, headers="Location: https://elsewhere:8443/\r\n")
        server = self.server(lambda request: Fault(moved))
        self.refused(2, 100, server.url, code=2, pattern="https://elsewhere:8443/")

    def test_a_server_that_is_silent_while_opening(self):
        for kind in ("ping", "query"):
            with self.subTest(kind):
                server = self.server(lambda request, kind=kind:
                                     Fault(b"") if request["kind"] == kind else None)
                self.refused(2, 100, server.url, "--connect-timeout", "1", code=4,
                             pattern="no answer")

    def test_recognised_by_port(self):
        """A server is recognised even if its answer arrives byte by byte."""
        server = self.server(lambda request: Fault(cut=1))
        _, run = self.run_append(1, 20, server.port, *TSV, code=0)
        self.assertEqual((run.rows["acknowledged"], server.rows), (20, 20))


class Tls(harness.Case):
    def setUp(self):
        super().setUp()
        self.certificates = {}
        for name in ("IP:127.0.0.1", "DNS:elsewhere"):
            paths = [self.folder / f"{len(self.certificates)}.{end}" for end in ("crt", "key")]
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                            "-subj", "/CN=test", "-addext", f"subjectAltName={name}",
                            "-out", paths[0], "-keyout", paths[1]], check=True,
                           capture_output=True)
            self.certificates[name] = paths

    def test_certificates(self):
        good, other = self.certificates.values()
        server = Server(self, tls=good)
        for query in (f"?tls=verify&ca={good[0]}", "?tls=require"):
            _, run = self.run_append(2, 100, server.url + query, *TSV, code=0)
            self.assertEqual(run.rows["acknowledged"], 100)
        self.assertEqual(server.rows, 200)
        elsewhere = Server(self, tls=other)
        for url in (f"{server.url}?tls=verify", f"{server.url}?tls=verify&ca={other[0]}",
                    f"{elsewhere.url}?tls=verify&ca={other[0]}"):
            self.refused(2, 100, url, code=4, pattern="certificate")

    def test_one_side_without(self):
        with_tls = Server(self, tls=self.certificates["IP:127.0.0.1"])
        self.refused(2, 100, with_tls.url, code=4, pattern="no answer|tls=require|ended the connection")
        self.refused(2, 100, Server(self).url + "?tls=require", code=4, pattern="try tls=off")


if __name__ == "__main__":
    unittest.main()
