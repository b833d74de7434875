#!/usr/bin/env python3
"""A stand-in for a Machbase server, for tests of append. It implements enough of the protocol for the
vendor's client library to connect, create a table, append, count and select, and it checks every byte
of an appended row. It is written only against that library (machbaseAPI 1.12). A test that passes
with it shows that append uses the library correctly. It shows nothing about a real server's
behaviour, error numbers or speed: figures measured with it are not figures of Machbase.

    machbase_standin.py [--port N] [--max-sessions N]

prints its port on 127.0.0.1. A line of standard input is a command: see Standin.main, or

    dump TABLE FILE    writes the rows as CSV: a header, NULL as an empty field, text always in quotes

It ends when standard input ends. SQLite executes the SQL, which is not Machbase's.
"""

import collections
import re
import select
import socket
import sqlite3
import struct
import sys
import threading

from standin import Ended, Standin

HELLO, READY = b"CMI_INET0", b"CMI_READY"  # the client's last byte is its byte order

# Kinds of messages.
CONNECT, DISCONNECT, PREPARE, EXECUTE, EXECDIRECT, FETCH, FREE = 0, 1, 6, 7, 8, 9, 10
APPEND_OPEN, APPEND_DATA, APPEND_CLOSE = 11, 12, 13
STEPS = {CONNECT: "login", DISCONNECT: "disconnect", PREPARE: "execute", EXECDIRECT: "execute",
         FETCH: "fetch", FREE: "free", APPEND_OPEN: "open", APPEND_DATA: "data",
         APPEND_CLOSE: "close"}

# Units of a message: the same number has different meanings in different messages.
VERSION, ENDIAN, USER, PASSWORD, RESULT, MESSAGE, MORE = 0x01, 0x05, 0x06, 0x07, 0x10, 0x11, 0x12
SQL, PARAMETERS, STATEMENT, ROW, COLUMNS, TABLE, NAME, TYPE = range(0x20, 0x28)
DIRECT_SQL, FETCH_STATEMENT, FETCH_ROWS, FETCH_ROW = 0x40, 0x50, 0x51, 0x52
FREE_STATEMENT, SUCCESSES, FAILURES, STATEMENT_TYPE = 0x60, 0x61, 0x62, 0xC8

# Types of units. The length of a value is in the message only for VARIABLE types.
STRING, INT32, INT64, UINT64, ROWS = 2, 8, 10, 11, 13
VARIABLE = {STRING, 3, 12, ROWS, 0xF1, 0xF2}

# High words of a RESULT; the low word is the error number.
OK, ERROR, END = 0x724F4B5F, 0x72434D5F, 0x724C5354

BODY_MAX = 0xFFF0  # largest packet that the client library sends
PIECE_BYTES = 48 * 1024  # bytes of a result's rows in one reply
TYPE_DDL, TYPE_SELECT = 1, 512

# Column types: number, format of a fixed type, value that means NULL in a result.
SHORT, INT, LONG, DOUBLE, VARCHAR, JSON, IP4, IP6, DATETIME = 4, 8, 12, 20, 5, 61, 32, 36, 6
FIXED = {SHORT: ("h", -1 << 15), 104: ("H", (1 << 16) - 1), INT: ("i", -1 << 31),
         108: ("I", (1 << 32) - 1), LONG: ("q", -1 << 63), 112: ("Q", (1 << 64) - 1),
         16: ("f", 3.4028234663852886e38), DOUBLE: ("d", sys.float_info.max), DATETIME: ("q", -1)}
TYPES = {"short": SHORT, "ushort": 104, "int": INT, "integer": INT, "uinteger": 108, "long": LONG,
         "ulong": 112, "float": 16, "double": DOUBLE, "datetime": DATETIME, "varchar": VARCHAR,
         "text": 49, "clob": 53, "blob": 57, "json": JSON, "binary": 97, "ipv4": IP4, "ipv6": IP6}
BINARY = {57, 97}


class Refused(Exception):
    """An error answer: its number and text."""


def read(sock, length):
    data = bytearray()
    while len(data) < length:
        piece = sock.recv(length - len(data))
        if not piece:
            raise Ended
        data += piece
    # the client delays small messages until its earlier messages are acknowledged
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
    return bytes(data)


def receive(sock):
    """Returns protocol, statement and body of a message, whose packets are joined. A packet begins, all
    big endian, with u8 0, u16 adds, u8 protocol, u32 part << 30 | length, u32 statement, u32 0."""
    body, part = b"", 1
    while part in (1, 2):  # 1 is the first part, 2 a middle part, 3 the last part, 0 a whole message
        zero, _, protocol, word, statement, _ = struct.unpack(">BHBIII", read(sock, 16))
        part = word >> 30
        if zero != 0 or (part in (0, 1)) != (body == b""):
            raise Ended
        body += read(sock, word & (1 << 30) - 1)
    return protocol, statement, body


def units(body):
    """Yields (id, value) of each unit: u32 id, u32 type, then a value in 8 bytes, or u64 length, bytes,
    zeroes up to a multiple of 8 bytes; all little endian."""
    at = 0
    while at < len(body):
        key, kind, value = struct.unpack_from("<IIQ", body, at)
        at += 16
        if kind in VARIABLE:
            if value > len(body) - at:
                raise Ended
            yield key, body[at:at + value]
            at += value + -value % 8
        else:
            yield key, value


def number(key, value, kind=UINT64):
    return struct.pack("<IIQ", key, kind, value)


def text(key, value, kind=STRING):
    value = value if isinstance(value, bytes) else value.encode()
    return number(key, len(value), kind) + value + bytes(-len(value) % 8)


def result(word, code=0):
    return number(RESULT, word << 32 | code)


def packets(protocol, statement, body):
    pieces = [body[at:at + BODY_MAX] for at in range(0, len(body), BODY_MAX)]
    parts = [0] if len(pieces) == 1 else [1, *[2] * (len(pieces) - 2), 3]
    return b"".join(struct.pack(">BHBIII", 0, 0, protocol, part << 30 | len(piece), statement, 0)
                    + piece for part, piece in zip(parts, pieces))


class Column:
    def __init__(self, name, kind, size=0):
        self.name, self.kind = name.upper(), kind
        self.is_variable = kind % 2 == 1
        self.size = (size or (32767 if kind == JSON else 64 << 20)) if self.is_variable else (
            5 if kind == IP4 else 17 if kind == IP6 else struct.calcsize(FIXED[kind][0]))

    def describe(self):
        """Describes the column. The client library sends as many bytes of a fixed value as stated here."""
        return text(NAME, self.name) + number(TYPE, self.kind << 56 | self.size << 28)

    def take(self, row, at):
        """Returns the value at `at` in a row, and where the next value begins."""
        if not self.is_variable and self.kind in FIXED:
            return struct.unpack_from("<" + FIXED[self.kind][0], row, at)[0], at + self.size
        head, length = (4, struct.unpack_from("<I", row, at)[0]) if self.is_variable else (
            1, self.size - 1)
        value = row[at + head:at + head + length]
        if len(value) != length:
            raise ValueError("the row ends too early")
        if self.is_variable:
            if length > self.size:
                raise ValueError("a value is longer than its column")
            return value if self.kind in BINARY else value.decode(), at + head + length
        if row[at] == 0 and not any(value):
            return None, at + self.size  # the client library's NULL
        if row[at] != (4 if self.kind == IP4 else 6):
            raise ValueError("an address is of neither family")
        family = socket.AF_INET if self.kind == IP4 else socket.AF_INET6
        return socket.inet_ntop(family, value), at + self.size

    def give(self, value):
        """Encodes a value of a result: fixed types in big endian, other types after their length."""
        if self.is_variable:
            value = b"" if value is None else value if isinstance(value, bytes) else value.encode()
            return struct.pack(">I", len(value)) + value
        form, null = FIXED[self.kind]
        return struct.pack(">" + form, null if value is None else value)

    def as_csv(self, value):
        if value is None:
            return b""
        if self.is_variable:
            value = value.hex() if isinstance(value, bytes) else value
            return b'"' + value.replace('"', '""').encode() + b'"'
        return (f"{value:.9g}" if self.kind == 16 else f"{value:.17g}" if self.kind == DOUBLE
                else str(value)).encode()


def take_row(columns, data):
    """Returns the values of a row: u32 n, n NULL bytes, then the columns, the arrival time first; all
    little endian. n = columns / 8 + 1; column c is NULL if byte c / 8 has the bit 0x80 >> c % 8."""
    if data[:1] != b"\0":
        raise ValueError("the row is compressed")
    row, count = data[1:], len(columns) // 8 + 1
    if struct.unpack_from("<I", row)[0] != count:
        raise ValueError("the row has a wrong number of NULL bytes")
    at, values = 4 + count, []
    for c, column in enumerate(columns):
        value = None
        if not row[4 + c // 8] & 0x80 >> c % 8:
            value, at = column.take(row, at)
        values.append(value)
    if at != len(row):
        raise ValueError("the row has more bytes than its columns")
    return values[1:]


class Database:
    """The tables. SQL is SQLite's except for CREATE and column types."""

    CREATE = re.compile(r"\s*create\s+(?:(?:tag|log|volatile|lookup)\s+)?table\s+(\w+)\s*\((.*)\)",
                        re.I | re.S)
    COLUMN = re.compile(r"\s*(\w+)\s+(\w+)\s*(?:\((\d+)\))?", re.S)

    def __init__(self):
        self.lock, self.tables = threading.Lock(), {}
        self.sqlite = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self.sqlite.create_function("nvl", 2, lambda value, other: other if value is None else value)
        self.create("V$PROPERTY", "name varchar(100), value varchar(256)")
        self.create("V$SESSION", "id long, closed short, user_name varchar(100)")
        self.create("V$VERSION", "binary_signature varchar(100)")
        self.add("V$VERSION", [("STANDIN",)])

    def create(self, name, columns):
        name = name.upper()
        if name in self.tables:
            raise Refused(2024, f"Table {name} already exists.")
        made = []
        for part in re.split(r",(?![^(]*\))", columns):
            match = self.COLUMN.match(part)
            kind = TYPES.get(match[2].lower()) if match else None
            if kind is None or (kind == VARCHAR) != (match[3] is not None):
                raise Refused(2010, f"Syntax error: near token ({part.strip()}).")
            made.append(Column(match[1], kind, int(match[3] or 0)))
        with self.lock:
            self.sqlite.execute(f'create table "{name}" ({", ".join(c.name for c in made)})')
            self.tables[name] = [Column("_ARRIVAL_TIME", DATETIME), *made]

    def columns(self, name):
        name = name.upper().rsplit(".", 1)[-1]
        if name not in self.tables:
            raise Refused(2025, f"Table {name} does not exist.")
        return name, self.tables[name]

    def add(self, name, rows):
        if rows:
            marks = ",".join("?" * len(rows[0]))
            with self.lock:
                self.sqlite.execute("begin")
                self.sqlite.executemany(f'insert into "{name}" values ({marks})', rows)
                self.sqlite.execute("commit")

    def set_sessions(self, most, now):
        with self.lock:
            self.sqlite.execute('delete from "V$PROPERTY"')
            self.sqlite.execute('delete from "V$SESSION"')
        self.add("V$PROPERTY", [("MAX_SESSION_COUNT", str(most or 4096))])
        self.add("V$SESSION", [(i + 1, 0, "SYS") for i in range(now)])

    def change(self, sql):
        """Runs CREATE or DROP. Returns False for any other statement."""
        create, drop = self.CREATE.match(sql), re.match(r"\s*drop\s+table\s+([\w.]+)\s*;?$", sql,
                                                        re.I)
        if create:
            self.create(create[1], create[2])
        elif drop:
            name, _ = self.columns(drop[1])
            with self.lock:
                del self.tables[name]
                self.sqlite.execute(f'drop table "{name}"')
        return bool(create or drop)

    def select(self, sql):
        """Returns the columns and rows of a query."""
        if not re.match(r"\s*select\b", sql, re.I):
            raise Refused(2010, f"Syntax error: near token ({sql[:60]}).")
        with self.lock:
            try:
                cursor = self.sqlite.execute(sql)
                rows = cursor.fetchall()
            except (sqlite3.Error, sqlite3.Warning) as error:
                words = str(error)
                if words.startswith("no such table"):
                    raise Refused(2025, f"Table {words[15:]} does not exist.") from None
                if words.startswith("no such column"):
                    raise Refused(2056, f"Column name ({words[16:]}) not found.") from None
                raise Refused(2010, f"Syntax error: near token ({words}).") from None
            table = re.search(r"\bfrom\s+([\w$.]+)", sql, re.I)
            known = {c.name: c for c in self.tables.get(table[1].upper() if table else "", [])}
        columns = []
        for i, description in enumerate(cursor.description):
            value = next((row[i] for row in rows if row[i] is not None), 0)
            kind = DOUBLE if isinstance(value, float) else LONG if isinstance(value, int) else VARCHAR
            columns.append(known.get(description[0].upper(), Column(description[0], kind, 512)))
        return columns, rows


class Session:
    """A connection."""

    def __init__(self, server, sock):
        self.server, self.sock, self.database = server, sock, server.database
        self.is_logged_in, self.statements, self.hit = False, {}, server.rules.NONE

    def wait_for_disconnect(self, seconds):
        poller = select.poll()
        poller.register(self.sock, select.POLLRDHUP)
        if poller.poll(None if seconds is None else seconds * 1000):
            raise Ended

    def meet(self, step):
        self.hit = self.server.rules.meet(step)
        action, milliseconds, _ = self.hit
        if action == "reset":
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if action in ("drop", "reset"):
            raise Ended
        if action in ("stall", "delay"):
            self.wait_for_disconnect(None if action == "stall" else milliseconds / 1000)

    def send(self, reply):
        action = self.hit[0]
        if action == "partial":
            self.sock.sendall(reply[:len(reply) // 2])
            raise Ended
        if action == "garbage":
            reply = b"\xa5" * len(reply)
        for piece in ([reply[i:i + 1] for i in range(len(reply))] if action == "chop" else [reply]):
            self.sock.sendall(piece)

    def serve(self):
        self.meet("accept")
        if read(self.sock, len(HELLO)) != HELLO:
            raise Ended
        self.meet("handshake")
        self.send(READY)
        while True:
            protocol, statement, body = receive(self.sock)
            fields = list(units(body))
            found = dict(reversed(fields))  # if a unit is repeated, the first one counts
            step = STEPS.get(protocol)
            if step == "execute" and b"count(*)" in found.get(SQL, found.get(DIRECT_SQL, b"")):
                step = "count"
            self.meet(step)
            if protocol == APPEND_DATA:
                self.send(self.take_rows(statement, fields))
                continue
            try:
                if self.hit[0] == "error":
                    raise Refused(*self.hit[1:])
                statement, reply = self.answer(protocol, found)
            except Refused as refused:
                code, words = refused.args
                statement, reply = 0, result(ERROR, code) + text(MESSAGE, words)
            self.send(packets(protocol, statement, reply))

    def answer(self, protocol, found):
        """Returns statement and body of the reply."""
        if protocol == CONNECT and not self.is_logged_in:
            return 0, self.log_in(found)
        if not self.is_logged_in:
            raise Ended
        if protocol == DISCONNECT:
            return 0, result(OK)
        key = {FETCH: FETCH_STATEMENT, FREE: FREE_STATEMENT}.get(protocol, STATEMENT)
        if key not in found:
            raise Refused(2525, "Protocol message error in connection.")
        number_of = found[key]
        do = {PREPARE: self.prepare, EXECDIRECT: self.prepare, EXECUTE: self.execute,
              FETCH: self.fetch, FREE: self.free, APPEND_OPEN: self.open_append,
              APPEND_CLOSE: self.close_append}.get(protocol)
        if do is None:
            raise Ended
        return number_of, result(OK) + do(number_of, found)

    def log_in(self, found):
        user, password = (found.get(key, b"").decode() for key in (USER, PASSWORD))
        if user.upper() != self.server.user.upper():
            raise Refused(2080, f"User ({user[:40]}) does not exist.")
        if password != self.server.password:
            raise Refused(2081, "Invalid username/password.")
        if not self.server.take_place():
            raise Refused(2471, f"Session count exceed: (maxcount ={self.server.max_sessions}).")
        self.is_logged_in = True
        return (result(OK) + number(VERSION, 4 << 48) + number(ENDIAN, 0)
                + number(DIRECT_SQL, id(self) & 0xFFFFFFFF))

    def prepare(self, statement, found):
        sql = found.get(SQL, found.get(DIRECT_SQL, b"")).decode()
        self.statements[statement] = {"sql": sql}
        begin = number(STATEMENT, statement)
        if re.match(r"\s*select\b", sql, re.I):
            columns = self.run_select(statement)
            return (begin + number(STATEMENT_TYPE, TYPE_SELECT, INT32) + number(PARAMETERS, 0)
                    + number(COLUMNS, len(columns)) + b"".join(c.describe() for c in columns))
        if DIRECT_SQL in found and not self.database.change(sql):
            raise Refused(2010, f"Syntax error: near token ({sql[:60]}).")
        return begin + number(STATEMENT_TYPE, TYPE_DDL, INT32) + number(ROW, 0)

    def run_select(self, statement):
        sql = self.statements[statement]["sql"]
        if "v$" in sql.lower():
            self.database.set_sessions(self.server.max_sessions, self.server.sessions)
        columns, rows = self.database.select(sql)
        self.statements[statement].update(columns=columns, rows=collections.deque(rows))
        return columns

    def execute(self, statement, _found):
        sql = self.statements.get(statement, {}).get("sql")
        if sql is None:
            raise Refused(2525, "Protocol message error in connection.")
        if not self.database.change(sql):
            self.run_select(statement)
        return b""

    def fetch(self, statement, found):
        """Returns a unit for each row, then the end or a zero, after which the client fetches again."""
        state = self.statements.get(statement, {})
        if "rows" not in state or FETCH_ROWS not in found:
            raise Refused(2525, "Protocol message error in connection.")
        body, rows = bytearray(), state["rows"]
        for _ in range(min(found[FETCH_ROWS], len(rows))):
            if len(body) >= PIECE_BYTES:
                break
            body += text(FETCH_ROW, b"".join(map(Column.give, state["columns"], rows.popleft())),
                         ROWS)
        return bytes(body) + (number(FETCH_ROWS, 0, INT64) if rows else result(END))

    def free(self, statement, _found):
        self.statements.pop(statement, None)
        return b""

    def open_append(self, statement, found):
        name, columns = self.database.columns(found.get(TABLE, b"").decode())
        self.statements[statement] = {"table": name, "columns": columns, "successes": 0,
                                      "failures": 0}
        return (number(STATEMENT, statement) + number(COLUMNS, len(columns))
                + b"".join(c.describe() for c in columns))

    def take_rows(self, statement, fields):
        """Stores rows; the reply has a message for each refused row."""
        state, reply, kept = self.statements[statement], b"", []
        for key, data in fields:
            if key != ROW or not isinstance(data, bytes):
                continue
            action, code, words = self.server.rules.meet("row")
            shown = ""
            try:
                values = take_row(state["columns"], data)
                shown = ",".join("" if value is None else str(value) for value in values)
            except (ValueError, struct.error, IndexError) as why:
                action, code, words = "error", 2446, f"Invalid append protocol data ({why})."
                self.server.note("rows_malformed", 1)
            if action == "error":
                state["failures"] += 1
                self.server.note("rows_refused", 1)
                reply += packets(APPEND_DATA, statement, result(ERROR, code) + text(MESSAGE, words)
                                 + text(MORE, shown))
            else:
                state["successes"] += 1
                kept.append(values)
        self.database.add(state["table"], kept)
        self.server.note("rows_kept", len(kept))
        return reply

    def close_append(self, statement, _found):
        state = self.statements.pop(statement, {})
        if "table" not in state:
            raise Refused(2525, "Protocol message error in connection.")
        hidden = self.hit[1] if self.hit[0] == "lie" else 0
        return (number(SUCCESSES, max(0, state["successes"] - hidden))
                + number(FAILURES, state["failures"]))


class Server(Standin):
    """The server.

    ACTION  drop     disconnects instead of carrying the step out
            reset    like drop, but the client sees a reset
            partial  carries the step out, sends the first half of the reply and disconnects
            garbage  carries the step out and sends as many other bytes instead of the reply
            chop     carries the step out and sends the reply byte by byte
            stall    stops answering on this connection
            delay    carries the step out NUMBER milliseconds later
            error    answers with error NUMBER and TEXT without carrying the step out
            lie      reports NUMBER rows fewer than were kept at the end of an append
    STEP    accept handshake login execute count fetch free open data row close disconnect
            execute is any statement except count(*), data a packet of rows, row one row
    """

    ACTIONS = ("drop", "reset", "partial", "garbage", "chop", "stall", "delay", "error", "lie")
    STEPS = ("accept", "handshake", "count", "row", *STEPS.values())
    OPTIONS = {**Standin.OPTIONS, "max_sessions": 0}

    def __init__(self, *rules, user="SYS", password="MANAGER", max_sessions=0, **options):
        self.user, self.password, self.max_sessions = user, password, max_sessions
        self.database, self.sessions = Database(), 0
        self.counters = {"rows_kept": 0, "rows_refused": 0, "rows_malformed": 0}
        super().__init__(*rules, **options)

    def serve(self, sock):
        session = Session(self, sock)
        try:
            session.serve()
        except struct.error:
            pass
        finally:
            with self.lock:
                self.sessions -= session.is_logged_in

    def take_place(self):
        with self.lock:
            has_room = self.max_sessions == 0 or self.sessions < self.max_sessions
            self.sessions += has_room
            return has_room

    def note(self, name, more):
        with self.lock:
            self.counters[name] += more

    def status(self):
        return {**self.counters, "faults": self.rules.faults}

    def command(self, name, words):
        if name == "dump":
            self.dump(*words.split(" ", 1))
        else:
            super().command(name, words)

    def dump(self, table, path):
        try:
            name, columns = self.database.columns(table)
        except Refused as refused:
            raise ValueError(refused.args[1]) from refused
        with open(path, "wb") as file:
            file.write(",".join(c.name for c in columns[1:]).encode() + b"\n")
            for row in self.database.select(f'select * from "{name}"')[1]:
                file.write(b",".join(c.as_csv(v) for c, v in zip(columns[1:], row)) + b"\n")


if __name__ == "__main__":
    Server.main(__doc__)
