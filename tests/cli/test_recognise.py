"""Who listens on a port: what is said when no database that append knows does."""

import http.server
import signal
import socket
import threading
import unittest

import harness


class Greeter:
    """Listens, and to everybody who connects sends some bytes and keeps the connection."""

    def __init__(self, greeting=b""):
        self.greeting = greeting
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
            if self.greeting:
                connection.sendall(self.greeting)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
        for connection in self.kept:
            connection.close()


class Web(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Recognise(harness.Case):
    TRIED = r"127\.0\.0\.1:\d+ was not recognised \(tried: [a-z, ]+\); name the database with a " \
            r"URL or --adapter"

    def greeter(self, greeting=b""):
        greeter = Greeter(greeting)
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


if __name__ == "__main__":
    unittest.main()
