"""Recognition of the server on a port, the message for an unknown server, and the time limit for a
server that sends its bytes slowly."""

import contextlib
import http.server
import re
import signal
import socket
import threading
import time
import unittest

import harness
from odbc_strings import DRIVERS, string


class Greeter:
    """Listens and sends some bytes to every client, at once or one by one with a pause before each, and
    keeps the connection. `first`: bytes that are sent first, at once."""

    def __init__(self, greeting=b"", pause_s=None, first=b""):
        self.greeting, self.pause_s, self.first = greeting, pause_s, first
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.kept = []
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.kept.append(connection)
            connection.sendall(self.first)
            if self.pause_s is None:
                connection.sendall(self.greeting)
            else:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.drip(connection)

    def drip(self, connection):
        try:
            for byte in self.greeting:
                time.sleep(self.pause_s)
                connection.send(bytes([byte]))
        except OSError:
            pass  # the client closed the connection

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
        for connection in self.kept:
            connection.close()


class Slow(Greeter):
    """Sends the greeting to its clients as soon as `wanted` clients wait at the same time."""

    def __init__(self, greeting, wanted):
        self.lock, self.waiting, self.most, self.wanted, self.threads = threading.Lock(), 0, 0, wanted, []
        self.are_there = threading.Event()
        super().__init__(greeting, pause_s=0.1)

    def drip(self, connection):
        self.threads.append(threading.Thread(target=self.keep, args=(connection,)))
        self.threads[-1].start()

    def keep(self, connection):
        with self.lock:
            self.waiting += 1
            self.most = max(self.most, self.waiting)
            if self.waiting == self.wanted:
                self.are_there.set()
        connection.settimeout(self.pause_s)
        while not self.are_there.is_set():
            try:
                if not connection.recv(4096):
                    break
            except TimeoutError:
                pass
            except OSError:
                break
        with self.lock:
            self.waiting -= 1
        with contextlib.suppress(OSError):
            connection.sendall(self.greeting)

    def close(self):
        super().close()
        for thread in self.threads:
            thread.join()


class Web(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Recognise(harness.Case):
    TRIED = r"127\.0\.0\.1:\d+ was not recognised \(tried: [a-z+, ]+\): name the database with a " \
            r"URL or --adapter"

    def greeter(self, greeting=b"", pause_s=None):
        greeter = Greeter(greeting, pause_s)
        self.addCleanup(greeter.close)
        return greeter

    def tried(self, ended):
        return ended.reason.split("tried: ")[1].split(")")[0].split(", ")

    def test_web_server(self):
        server = http.server.HTTPServer(("127.0.0.1", 0), Web)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            ended = self.refused(2, 200, server.server_port, code=4, pattern=self.TRIED)
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
        version = self.append("--version").out
        for adapter in ("postgresql", "mariadb"):
            self.assertEqual(adapter in self.tried(ended), f"  {adapter} " in version, ended)

    def test_silent_server(self):
        self.refused(2, 200, self.greeter().port, "--connect-timeout", 1, code=4,
                     pattern=self.TRIED)

    def test_a_slow_server(self):
        """A late server is asked again, with all protocols at once: asking one after the other would take long
        when no server answers."""
        built = set(re.findall(r"(?m)^  (\S+) ", self.append("--version").out))
        refusal = b"\xff\x10\x04Too many connections"
        slow = Slow(bytes([len(refusal), 0, 0, 0]) + refusal, len(built - {"sqlite", "odbc", "null"}))
        self.addCleanup(slow.close)
        ended = self.append(2, 200, slow.port, code=4)
        self.assertTrue(slow.are_there.is_set())
        self.assertEqual(slow.most, slow.wanted)
        pattern = "Too many connections" if "mariadb" in built else self.TRIED
        self.assertRegex(ended.reason, pattern)

    def test_ctrl_c(self):
        greeter = self.greeter()
        process = self.start(2, 200, greeter.port)
        harness.wait_until(lambda: greeter.kept, "the connection")
        process.send_signal(signal.SIGINT)
        ended = self.end(process, 130)
        self.assertRegex(ended.reason, "interrupted before the first session")

    def test_other_greetings(self):
        for greeting in (b"SSH-2.0-OpenSSH_9.2p1\r\n", b"+OK ready\r\n", b"220 mail\r\n",
                         b"\x4a\x00\x00\x01\x0a5.5.5\x00", b"\x05\x00\x00\x00\xff\x01\x00no",
                         b"\x00" * 64, b"\xff" * 64):
            with self.subTest(greeting=greeting):
                self.refused(2, 200, self.greeter(greeting).port, code=4, pattern=self.TRIED)

    def test_greetings_in_pieces(self):
        """TCP may split a greeting anywhere, and some servers write a greeting in two parts."""
        refusal = b"\xff\x10\x04Too many connections"
        no_room = b"SFATAL\0C53300\0Mno room\0\0"
        greetings = {
            "mariadb": bytes([len(refusal), 0, 0, 0]) + refusal,
            "postgresql": b"E" + (4 + len(no_room)).to_bytes(4, "big") + no_room,
            "machbase": b"CMI_READY",
        }
        version = self.append("--version").out
        for adapter, greeting in greetings.items():
            if f"  {adapter} " not in version:
                continue
            with self.subTest(adapter):
                ended = self.append(2, 200, self.greeter(greeting, pause_s=0.02).port, code=None,
                                    env={"MACHBASE_HOME": "/nonexistent"})
                self.assertNotRegex(ended.reason, "not recognised|no answer|nothing listens")
                self.assertIn(ended.code, (2, 3, 4), ended)

    def test_a_slow_server_is_asked_once(self):
        """A server whose URL names the protocol gets only this protocol: others would be noise in its log."""
        refusal = b"\xff\x10\x04Too many connections"
        greeter = self.greeter(bytes([len(refusal), 0, 0, 0]) + refusal, pause_s=0.06)
        ended = self.append("check", 1, f"mariadb://u@127.0.0.1:{greeter.port}/d", code=None)
        if "this build has" in ended.reason:
            self.skipTest(ended.reason)
        self.assertIn("Too many connections", ended.out)
        self.assertEqual(len(greeter.kept), 1)

    def test_a_silent_server_has_the_connect_timeout_once(self):
        version = self.append("--version").out
        protocols = {"mariadb": "", "postgresql": "?sslmode=disable"}
        built = set(re.findall(r"(?m)^  (\S+) ", version)) - {"sqlite", "odbc", "null"}
        for adapter in sorted(built & set(protocols)):
            with self.subTest(adapter):
                greeter = self.greeter()
                self.refused(1, 100, f"{adapter}://u@127.0.0.1:{greeter.port}/d{protocols[adapter]}",
                             "--connect-timeout", 2, code=4, pattern="no answer .*within 2 s")
                self.assertEqual(len(greeter.kept), len(built))  # one connection for each protocol

    def test_an_answer_that_never_ends_is_not_waited_for(self):
        """The whole greeting must arrive within one second, however steadily its bytes arrive."""
        greeting = b"\x4a\x00\x00\x00\x0a5" + b"." * 20000
        self.refused(2, 200, self.greeter(greeting, pause_s=0.02).port, "--connect-timeout", 1,
                     code=4, pattern=self.TRIED)

    def test_nobody(self):
        greeter = Greeter()
        greeter.close()
        self.refused(2, 200, greeter.port, code=4,
                     pattern=rf"nothing listens on 127\.0\.0\.1:{greeter.port}")

    def test_unknown_host(self):
        self.refused(2, 200, 5432, "--host", "no-such-host.invalid", code=4,
                     pattern="host no-such-host.invalid does not resolve")

    def test_no_socket_in_folder(self):
        self.refused(2, 200, 5432, "--host", self.folder, code=4, pattern="nothing listens on")


class Dripping(harness.Case):
    """--connect-timeout limits the whole connect, not each read."""

    GREETING = b"\xff\x03\x00\x00\x0a5" + b"." * 20000  # MariaDB's, of 1,023 bytes
    REFUSAL = b"E\x00\x00\x70\x00" + b"S" * 20000  # PostgreSQL's, of 28,672 bytes

    def check(self, greeting, target, first=b""):
        greeter = Greeter(greeting, pause_s=0.02, first=first)
        self.addCleanup(greeter.close)
        ended = self.append(1, 100, target.replace("PORT", str(greeter.port)), "--connect-timeout", 1, code=None)
        if "this build has" in ended.reason:
            self.skipTest(ended.reason)
        self.assertEqual(ended.code, 4, ended)
        self.assertRegex(ended.reason, "no answer .*within 1 s")

    def test_mariadb(self):
        self.check(self.GREETING, "mariadb://u@127.0.0.1:PORT/d")

    def test_mariadb_in_tls(self):
        """After a greeting that offers TLS, OpenSSL reads by itself."""
        abilities = (0x81ff8a00 | 1 << 11).to_bytes(4, "little")
        greeting = (b"\x0a5.5.5\0" + bytes(4) + b"scramble\0" + abilities[:2] + b"\x21\2\0"
                    + abilities[2:] + b"\x15" + bytes(10) + b"twelve bytes\0"
                    + b"mysql_native_password\0")
        record = b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc" + b"." * 20000
        self.check(record, "mariadb://u@127.0.0.1:PORT/d?ssl=require",
                   first=len(greeting).to_bytes(3, "little") + b"\0" + greeting)

    def test_postgresql(self):
        self.check(self.REFUSAL, "postgresql://u@127.0.0.1:PORT/d?sslmode=disable")

    def test_odbc(self):
        for greeting, server in ((self.GREETING, "mariadb"), (self.REFUSAL, "postgresql")):
            with self.subTest(server):
                self.check(greeting, string({"Driver": "{" + DRIVERS[server] + "}",
                                             "Server": "127.0.0.1", "Port": "PORT", "UID": "u",
                                             "Database": "d"}))


if __name__ == "__main__":
    unittest.main()
