"""The stand-in for a Machbase server under clients that are none, and as a program."""

import random
import socket
import struct

import harness
import machbase


class Garbage(harness.Case):
    """Needs no client library."""

    HELLO, READY = b"CMI_INET0", b"CMI_READY"

    def setUp(self):
        super().setUp()
        self.standin = machbase.Standin(self)

    def talk(self, data):
        """Sends and hangs up sending; all that comes back. A reset is no answer either."""
        with socket.create_connection(("127.0.0.1", self.standin.port), harness.GUARD_S) as link:
            back = b""
            try:
                link.sendall(data)
                link.shutdown(socket.SHUT_WR)
                while piece := link.recv(65536):
                    back += piece
            except OSError:
                pass  # it hung up first
            return back

    @staticmethod
    def packet(protocol, body, statement=0, length=None, part=0):
        word = part << 30 | (len(body) if length is None else length)
        return struct.pack(">BHBIII", 0, 0, protocol, word, statement, 0) + body

    @staticmethod
    def text(number, value):
        padding = bytes(-len(value) % 8)
        return struct.pack("<IIQ", number, 2, len(value)) + value + padding

    def login(self):
        return self.HELLO + self.packet(0, self.text(6, b"SYS") + self.text(7, b"MANAGER"))

    def test_it_answers_what_is_right(self):
        back = self.talk(self.login() + self.packet(8, self.text(0x40, b"create table t (a int)")
                                                    + struct.pack("<IIQ", 0x22, 11, 0)))
        self.assertTrue(back.startswith(self.READY))
        self.assertEqual(back.count(b"_KOr"), 2, back)
        self.assertEqual(self.standin.count("t"), 0)

    def test_other_protocols(self):
        for data in (b"", b"GET / HTTP/1.0\r\n\r\n", b"\0\0\0\x08\x04\xd2\x16\x2f", b"CMI_INET",
                     b"\xff" * 5000, self.HELLO + b"\xff" * 5000):
            self.assertIn(self.talk(data), (b"", self.READY))
        self.assertGreaterEqual(self.standin.status()["broken"], 3)

    def test_before_login(self):
        for protocol in (*range(1, 20), 255):
            self.assertEqual(self.talk(self.HELLO + self.packet(protocol, b"")), self.READY)

    def test_lengths_that_are_not_true(self):
        for data in (self.packet(8, b"", length=(1 << 30) - 1), self.packet(8, b"abc"),
                     self.packet(8, struct.pack("<IIQ", 0x40, 2, 2**64 - 1) + b"x"),
                     self.packet(8, struct.pack("<IIQ", 0x40, 2, 2**64 - 8) + bytes(16)),
                     self.packet(8, self.text(0x40, b"sel")
                                 + struct.pack("<IIQ", 0, 2, 3) + b"a_b"),
                     self.packet(8, b"", part=2), self.packet(8, b"", part=1),
                     self.packet(12, struct.pack("<IIQ", 0x23, 3, 4) + bytes(8)),
                     self.packet(8, self.text(0x40, b"select" + b"(" * 9000))):
            self.talk(self.login() + data)
        self.assertEqual(self.standin.status()["sessions"], 0)

    ROW = (b"\0" + struct.pack("<I", 1) + b"\0" + bytes(8) + struct.pack("<iI", 7, 2) + b"xy"
           + b"\x06" + bytes(16))

    def append(self, *rows):
        """Messages that append to a new table t."""
        units = b"".join(struct.pack("<IIQ", 0x23, 3, len(row)) + row + bytes(-len(row) % 8)
                         for row in rows)
        return (self.packet(8, self.text(0x40, b"create table t (a int, b varchar(9), c ipv6)")
                            + struct.pack("<IIQ", 0x22, 11, 0))
                + self.packet(11, struct.pack("<IIQ", 0x22, 11, 1) + self.text(0x25, b"t"))
                + self.packet(12, units, 1)
                + self.packet(13, struct.pack("<IIQ", 0x22, 11, 1)))

    def test_rows_that_are_none(self):
        wrong = {"is compressed": b"\1" + self.ROW[1:],
                 "ends too early": self.ROW[:-1],
                 "more bytes than its columns": self.ROW + b"\0",
                 "another number of NULL bytes": self.ROW[:1] + b"\2" + self.ROW[2:],
                 "longer than its column": self.ROW[:18] + b"\x0a" + self.ROW[19:22] + b"x" * 10
                                           + self.ROW[24:],
                 "of neither family": self.ROW[:-17] + b"\4" + self.ROW[-16:]}
        back = self.talk(self.login() + self.append(*wrong.values(), b"", b"\0", self.ROW))
        for why in wrong:
            self.assertIn(why.encode(), back)
        self.assertEqual(back.count(struct.pack("<I", 2446) + b"_MCr"), len(wrong) + 2)
        counts = struct.pack("<IIQIIQ", 0x61, 11, 1, 0x62, 11, len(wrong) + 2)
        self.assertTrue(back.endswith(counts), back)
        self.assertEqual(self.standin.count("t"), 1)

    def test_noise(self):
        """Messages that are right but for some bytes: it may refuse them all, and lives."""
        maker = random.Random(20)
        query = self.packet(8, self.text(0x40, b"select a, b from t where a = 7")
                            + struct.pack("<IIQ", 0x22, 11, 2))
        fetched = self.packet(9, struct.pack("<IIQ", 0x50, 9, 2) + struct.pack("<IIQ", 0x51, 10, 9))
        right = self.append(self.ROW) + query + fetched
        back = self.talk(self.login() + right)
        self.assertIn(b"\0\0\0\7\0\0\0\2xy", back)
        for _ in range(harness.fewer(1500)):
            wrong = bytearray(right)
            for _ in range(maker.randint(1, 4)):
                wrong[maker.randrange(len(wrong))] = maker.choice((0, 1, 6, 0x7f, 0x80, 0xff,
                                                                   maker.randrange(256)))
            self.talk(self.login() + bytes(wrong[:maker.randint(1, len(wrong))]))
        self.standin.wait_for("sessions", 0)
        self.assertIn(b"\0\0\0\7\0\0\0\2xy", self.talk(self.login() + right))


class Program(harness.Case):
    def start_program(self, *options):
        return self.start(*options, program=machbase.PROGRAM)

    def test_options_that_are_none(self):
        for options in (["--port", "x"], ["--port", "65536"], ["--rule", "drop=never"], ["word"],
                        ["--expect", "1"], ["--expect", "1:0"], ["--max-sessions", "-1"], ["--x"]):
            process = self.start_program(*options)
            _, err = process.communicate(timeout=harness.GUARD_S)
            self.assertEqual(process.returncode, 2, err)
            self.assertIn("usage: machbase_standin", err)

    def test_port_file_and_signal(self):
        path = self.folder / "port"
        process = self.start_program("--port-file", path)
        port = int(process.stdout.readline())
        self.assertEqual(int(path.read_text()), port)
        socket.create_connection(("127.0.0.1", port)).close()
        process.terminate()
        self.assertEqual(process.wait(harness.GUARD_S), 0)

    def test_loopback_only(self):
        port = int(self.start_program().stdout.readline())
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port))

    def test_port_in_use(self):
        first = self.start_program()
        port = first.stdout.readline().strip()
        second = self.start_program("--port", port)
        _, err = second.communicate(timeout=harness.GUARD_S)
        self.assertEqual(second.returncode, 1)
        self.assertIn(f"127.0.0.1:{port}: Address already in use", err)


if __name__ == "__main__":
    harness.main()
