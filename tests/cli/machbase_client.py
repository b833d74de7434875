"""The vendor's client library of Machbase, called as C programs call it."""

import ctypes
import ipaddress
import struct

HANDLE = ctypes.c_void_p
SHORT, INT, LONG, TEXT = ctypes.c_short, ctypes.c_int, ctypes.c_long, ctypes.c_char_p
NTS, DROP, OK, NO_DATA = -3, 1, 0, 100
PARAMETER_BYTES = 80  # of one column of a row

FUNCTIONS = {
    "SQLAllocEnv": [HANDLE],
    "SQLAllocConnect": [HANDLE, HANDLE],
    "SQLAllocStmt": [HANDLE, HANDLE],
    "SQLFreeStmt": [HANDLE, ctypes.c_ushort],
    "SQLFreeConnect": [HANDLE],
    "SQLFreeEnv": [HANDLE],
    "SQLDriverConnect": [HANDLE, HANDLE, TEXT, SHORT, HANDLE, SHORT, HANDLE, ctypes.c_ushort],
    "SQLDisconnect": [HANDLE],
    "SQLError": [HANDLE, HANDLE, HANDLE, TEXT, HANDLE, TEXT, SHORT, HANDLE],
    "SQLExecDirect": [HANDLE, TEXT, INT],
    "SQLPrepare": [HANDLE, TEXT, INT],
    "SQLExecute": [HANDLE],
    "SQLNumResultCols": [HANDLE, HANDLE],
    "SQLBindCol": [HANDLE, ctypes.c_ushort, SHORT, HANDLE, LONG, HANDLE],
    "SQLFetch": [HANDLE],
    "SQLAppendOpen": [HANDLE, TEXT, INT],
    "SQLAppendDataV2": [HANDLE, HANDLE],
    "SQLAppendClose": [HANDLE, HANDLE, HANDLE],
}
CALLBACK = ctypes.CFUNCTYPE(None, HANDLE, INT, HANDLE, LONG, HANDLE, LONG)


class ClientError(Exception):
    """A call that failed: number and text of the library or the server."""

    def __init__(self, call, code, text):
        super().__init__(f"{call}: {code} {text}")
        self.call, self.code, self.text = call, code, text


def load(path):
    library = ctypes.CDLL(path)
    for name, arguments in FUNCTIONS.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, SHORT
    library.SQLAppendSetErrorCallback.argtypes = [HANDLE, CALLBACK]
    return library


def text_at(address, length):
    return ctypes.string_at(address, length).decode() if address else ""


class Row:
    """One row for SQLAppendDataV2, made of ("short", 5), ("varchar", b"x"), ("ipv4", "1.2.3.4"), …;
    None is NULL. Lives as long as the library may look at it."""

    FORMATS = {"short": "<h", "ushort": "<H", "int": "<i", "uint": "<I", "long": "<q",
               "ulong": "<Q", "float": "<f", "double": "<d", "datetime": "<q"}
    NULLS = {"short": b"\x00\x80", "ushort": b"\xff" * 2, "int": b"\0\0\0\x80", "uint": b"\xff" * 4,
             "long": bytes(7) + b"\x80", "ulong": b"\xff" * 8, "float": b"\xff\xff\x7f\x7f",
             "double": b"\xff" * 6 + b"\xef\x7f", "datetime": b"\xff" * 8}

    def __init__(self, *values):
        self.kept = []
        image = b"".join(self.encode(*value).ljust(PARAMETER_BYTES, b"\0") for value in values)
        self.buffer = ctypes.create_string_buffer(image, len(image))

    def encode(self, kind, value):
        if kind in self.FORMATS:
            return self.NULLS[kind] if value is None else struct.pack(self.FORMATS[kind], value)
        if kind in ("ipv4", "ipv6"):
            if value is None:
                return b"\0"
            return bytes([4 if kind == "ipv4" else 6]) + ipaddress.ip_address(value).packed
        if value is None:
            return b""
        self.kept.append(ctypes.create_string_buffer(value, len(value)))
        return struct.pack("<I4xQ", len(value), ctypes.addressof(self.kept[-1]))


class Client:
    """One connection. Every failed call is a ClientError."""

    def __init__(self, library, port, user="SYS", password="MANAGER"):
        self.library = library
        self.environment, self.connection = HANDLE(), HANDLE()
        library.SQLAllocEnv(ctypes.byref(self.environment))
        library.SQLAllocConnect(self.environment, ctypes.byref(self.connection))
        self.is_connected = False
        target = f"SERVER=127.0.0.1;UID={user};PWD={password};CONNTYPE=1;PORT_NO={port}"
        try:
            self.check("SQLDriverConnect", library.SQLDriverConnect(
                self.connection, None, target.encode(), NTS, None, 0, None, 0))
            self.is_connected = True
        except ClientError:
            self.close()
            raise

    def check(self, call, result, statement=None):
        if result == OK:
            return
        state, text = ctypes.create_string_buffer(16), ctypes.create_string_buffer(512)
        code, length = INT(0), SHORT(0)
        self.library.SQLError(self.environment, self.connection, statement, state,
                              ctypes.byref(code), text, len(text), ctypes.byref(length))
        raise ClientError(call, code.value, text.value.decode(errors="replace"))

    def statement(self):
        handle = HANDLE()
        self.check("SQLAllocStmt", self.library.SQLAllocStmt(self.connection, ctypes.byref(handle)))
        return handle

    def execute(self, sql, is_prepared=False):
        """Runs a statement; its rows as lists of texts, None = NULL."""
        statement = self.statement()
        library = self.library
        try:
            if is_prepared:
                self.check("SQLPrepare", library.SQLPrepare(statement, sql.encode(), NTS),
                           statement)
                self.check("SQLExecute", library.SQLExecute(statement), statement)
            else:
                self.check("SQLExecDirect", library.SQLExecDirect(statement, sql.encode(), NTS),
                           statement)
            return self.fetch_all(statement)
        finally:
            library.SQLFreeStmt(statement, DROP)

    def fetch_all(self, statement):
        count = SHORT(0)
        self.library.SQLNumResultCols(statement, ctypes.byref(count))
        cells = [(ctypes.create_string_buffer(1024), LONG(0)) for _ in range(count.value)]
        for i, (text, length) in enumerate(cells, 1):
            self.check("SQLBindCol", self.library.SQLBindCol(
                statement, i, 1, text, len(text), ctypes.byref(length)), statement)
        rows = []
        while cells:
            result = self.library.SQLFetch(statement)
            if result == NO_DATA:
                break
            self.check("SQLFetch", result, statement)
            rows.append([text.value.decode() if length.value >= 0 else None
                         for text, length in cells])
        return rows

    def count(self, table="syslog_table", is_prepared=True):
        return int(self.execute(f"select count(*) from {table}", is_prepared)[0][0])

    def append(self, rows, table="syslog_table", check_every=0):
        """Appends; (accepted, refused, what was said of refused rows: (code, text, row))."""
        statement = self.statement()
        told = []
        library = self.library
        callback = CALLBACK(lambda _, code, text, length, row, row_length: told.append(
            (code, text_at(text, length), text_at(row, row_length))))
        try:
            self.check("SQLAppendOpen",
                       library.SQLAppendOpen(statement, table.encode(), check_every), statement)
            library.SQLAppendSetErrorCallback(statement, callback)
            for row in rows:
                self.check("SQLAppendDataV2", library.SQLAppendDataV2(statement, row.buffer),
                           statement)
            accepted, refused = LONG(-1), LONG(-1)
            self.check("SQLAppendClose", library.SQLAppendClose(
                statement, ctypes.byref(accepted), ctypes.byref(refused)), statement)
            if min(accepted.value, refused.value) < 0:
                raise ClientError("SQLAppendClose", 0, "no counts came")
            return accepted.value, refused.value, told
        finally:
            library.SQLFreeStmt(statement, DROP)

    def close(self):
        """Once: the library frees what the handles stand for."""
        if self.connection is None:
            return
        if self.is_connected:
            self.library.SQLDisconnect(self.connection)
        self.library.SQLFreeConnect(self.connection)
        self.library.SQLFreeEnv(self.environment)
        self.connection = None
