"""Progress on a terminal: one line that is rewritten and cleared at the end."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import xml.etree.ElementTree

import harness


class Terminal(harness.Case):
    def test_closed_streams(self):
        """No file of a run takes the number of a stream that the caller has closed, and gets its messages."""
        junit = self.folder / "junit.xml"
        process = self.start("-c", 'exec "$@" 2>&-', "sh", harness.BINARY, 2, "null:", "--duration", "4s", "--rate", 200,
                             "--junit", junit, "--out", self.folder / "run", program="/bin/sh")
        self.assertEqual(self.end(process, 0).err, "")
        xml.etree.ElementTree.parse(junit)

    def on_terminal(self, *arguments, columns=80):
        """Runs the program with stderr on a terminal. Returns (exit code, stdout, bytes to the terminal)."""
        main, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen(
            [harness.BINARY, *map(str, arguments)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=child, cwd=self.folder, text=True,
            env=self.environment(TERM="xterm"))
        os.close(child)
        shown = b""
        while True:
            try:
                data = os.read(main, 65536)
            except OSError:  # the terminal's last writer has ended
                break
            if not data:
                break
            shown += data
        os.close(main)
        out = process.stdout.read()
        process.stdout.close()
        return process.wait(timeout=harness.GUARD_S), out, shown.decode()

    @staticmethod
    def screen(text, columns=80):
        """Returns the lines that a terminal shows at the end, after \\r, erasing and wrapping."""
        lines, row, column = [[]], 0, 0
        for token in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|.|\n", text, flags=re.S):
            if token == "\r":
                column = 0
            elif token == "\n":
                row += 1
                if row == len(lines):
                    lines.append([])
            elif token.startswith("\x1b["):
                if token.endswith("K"):
                    lines[row] = [] if token == "\x1b[2K" else lines[row][:column]
            else:
                if column == columns:
                    row, column = row + 1, 0
                    if row == len(lines):
                        lines.append([])
                lines[row] += [" "] * (column + 1 - len(lines[row]))
                lines[row][column] = token
                column += 1
        return ["".join(line).rstrip() for line in lines], column

    def test_one_line_rewritten(self):
        code, out, shown = self.on_terminal("2", "null:", "--duration", "2.5s", "--rate", "1000")
        self.assertEqual(code, 0, shown)
        self.assertGreaterEqual(shown.count("\r"), 2, "the line was not rewritten")
        self.assertRegex(shown, r"rows")
        lines, column = self.screen(shown)
        self.assertEqual((column, [line for line in lines if line]), (0, []),
                         "the line was not cleared")
        self.assertIn("hroughput", out)

    def test_a_narrow_terminal(self):
        code, _, shown = self.on_terminal("2", "null:", "--duration", "1.5s", "--rate", "1000",
                                          columns=30)
        self.assertEqual(code, 0, shown)
        for piece in re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)):
            self.assertLessEqual(len(piece), 30, repr(piece))
        lines, column = self.screen(shown, 30)
        self.assertEqual((column, [line for line in lines if line]), (0, []))

    def test_lines_on_a_terminal(self):
        code, _, shown = self.on_terminal("2", "null:", "-T", "2.5s", "--rate", "1000", "-P", "1")
        self.assertEqual(code, 0, shown)
        self.assertGreaterEqual(len(re.findall(r"(?m)^sessions 2/2 .*\r\n", shown)), 2, shown)
        self.assertNotIn("\x1b[K", shown)

    def test_a_stopped_terminal(self):
        """After Ctrl-S the run does not wait for the terminal."""
        main, child = pty.openpty()
        self.addCleanup(os.close, main)
        termios.tcflow(child, termios.TCOOFF)
        process = subprocess.Popen(
            [harness.BINARY, "2", "null:", "--duration", "1.5", "--rate", "1000"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=child, cwd=self.folder,
            env=self.environment(TERM="xterm"))
        os.close(child)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.wait(timeout=harness.GUARD_S), 0)

    def test_an_error_begins_a_line_of_its_own(self):
        code, _, shown = self.on_terminal("1", "1", "null:", "--nonsense")
        self.assertEqual(code, 2)
        self.assertRegex(shown, r"^append: [^\r\n]*\r?\n$")


if __name__ == "__main__":
    harness.main()
