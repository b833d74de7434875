#!/usr/bin/env python3
"""A stand-in for SingleStore's Data API, for tests of append: HTTP/1.1 with keep-alive in front of
SQLite, which stores and counts the rows. It is written from the public documentation and the vendor's
Python client, without a real server. A test that passes with it shows that append does what is
documented. It shows nothing about a real server's behaviour or speed: figures measured with it are
not figures of SingleStore.

    singlestore_standin.py [--port N] [--user NAME] [--password WORD] [--chunk BYTES]
                           [--close-every N]

prints its port on 127.0.0.1, has a database "db" without tables, and ends when standard input ends. A
line of standard input is a command: see Standin.main.

Numbers in a request's args lose the digits that a double cannot hold, as in a server that reads JSON
with Go's defaults; strings do not.
"""

import base64
import json
import math
import re
import sqlite3
import threading
import time

from standin import HttpStandin

BODY_MAX = 1000 * 1000  # "1 MB"; the documentation does not say which of its two meanings applies

CATALOGUE = """
create table information_schema.tables (table_schema, table_name, table_type, engine);
create table information_schema.columns (table_schema, table_name, column_name, ordinal_position,
    column_type, is_nullable, column_default, extra, data_type, character_maximum_length,
    numeric_precision, numeric_scale, datetime_precision, column_comment);
create table information_schema.statistics (table_schema, table_name, index_name, non_unique,
    column_name, sub_part);
"""

INTEGERS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "integer": 32, "bigint": 64}
LENGTHS = {"tinytext": 255, "text": 65535, "mediumtext": (1 << 24) - 1, "longtext": (1 << 32) - 1,
           "tinyblob": 255, "blob": 65535, "mediumblob": (1 << 24) - 1, "longblob": (1 << 32) - 1}
TIMES = {"date": r"\d{4}-\d\d-\d\d", "time": r"-?\d+:\d\d:\d\d(\.\d+)?",
         "datetime": r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d+)?)?"}
TIMES["timestamp"] = TIMES["datetime"]
REFUSALS = {1264: "Out of range value", 1406: "Data too long", 1292: "Incorrect datetime value",
            3140: "Invalid JSON text"}

COMPUTED = re.compile(r"(`?\w+`?)\s+as\s+(.+?)\s+persisted\s+(.+)", re.S | re.I)
COLUMN = re.compile(r"`?(\w+)`?\s+(\w+)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?(.*)", re.S)
CREATE = re.compile(r"create\s+(?:rowstore\s+|reference\s+)*table\s+(if\s+not\s+exists\s+)?`?(\w+)`?"
                    r"\s*\((.*)\)[^)]*", re.S | re.I)
KEY = re.compile(r"(primary|unique|sort|shard|key|index)\b(?:\s+(?:key|index))?[^(]*\(([^)]*)\)",
                 re.S | re.I)
# quoted parts stay unchanged; some of the other words differ in SQLite
WORDS = re.compile(r"('(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`)|@@(?:\w+\.)?(\w+)"
                   r"|\b(current_timestamp\s*(?:\(\s*6?\s*\))?|now\s*\(\s*6?\s*\))"
                   r"|\b(truncate\s+(?:table\s+)?)|(\s+for\s+update\b)", re.I)
VALUES = re.compile(r"(\s*(?:insert|replace)\b.*?\bvalues\s*)"
                    r"(\((?:[^()']|\([^()']*\))*\))((?:\s*,\s*\2)*)\s*;?\s*", re.S | re.I)


class Refused(Exception):
    """An error answer: MySQL's number, or 0, and the text."""

    def __init__(self, number, text, status=0):
        super().__init__(text)
        self.status = status or (400 if number in (1046, 1049, 1050, 1054, 1064, 1146) else 500)
        self.body = f"Error {number}: {text}" if number else text


class Database:
    """A database of the server: its tables, and the catalogue that MySQL's clients query."""

    def __init__(self, name, variables):
        self.name, self.variables = name, variables
        self.lock = threading.Lock()
        self.sqlite = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self.sqlite.execute("attach ':memory:' as information_schema")
        self.sqlite.executescript(CATALOGUE)
        for function, arguments, work in (
                ("database", 0, lambda: name),
                ("regexp", 2, lambda what, text: text is not None and bool(re.search(what, str(text)))),
                ("is_time", 2, lambda kind, text: bool(re.fullmatch(TIMES[kind], str(text)))),
                ("now6", 0, lambda: time.strftime("%F %T.", time.gmtime()) + f"{time.time() % 1:.6f}"[2:]),
                ("from_base64", 1,
                 lambda text: None if text is None else base64.b64decode(text, validate=True)),
                ("greatest", -1, max), ("concat", -1, lambda *parts: "".join(map(str, parts)))):
            self.sqlite.create_function(function, arguments, work)

    def translate(self, sql):
        def word(match):
            quoted, variable, now, truncate, _ = match.groups()
            if variable:
                if variable.lower() not in self.variables:
                    raise Refused(1193, f"Unknown system variable '{variable}'")
                value = self.variables[variable.lower()]
                return f"'{value}'" if isinstance(value, str) else str(value)
            return quoted or (now and "now6()") or (truncate and "delete from ") or ""
        return WORDS.sub(word, sql)

    def run(self, sql, arguments, wants_rows):
        """Returns (column names, rows) of a query, or (last id, affected rows) of any other statement."""
        sleep = re.fullmatch(r"\s*select\s+sleep\((\d+)\)\s*", sql, re.I)
        if sleep:
            time.sleep(int(sleep.group(1)))
        with self.lock:
            try:
                create = CREATE.fullmatch(sql.strip().rstrip(";").strip())
                if create:
                    self.create_table(*create.groups())
                    return ([], []) if wants_rows else (0, 0)
                result = self.execute(self.translate(sql), arguments, wants_rows)
                drop = re.match(r"\s*drop\s+table\s+(?:if\s+exists\s+)?`?(\w+)`?", sql, re.I)
                for view in ("tables", "columns", "statistics") if drop else ():
                    self.sqlite.execute(f"delete from information_schema.{view} where table_name = ?",
                                        drop.groups())
                return result
            except sqlite3.Error as error:
                raise self.refusal(error) from error

    def execute(self, sql, arguments, wants_rows):
        values = VALUES.fullmatch(sql)
        rows = [arguments]
        if values:
            # SQLite limits the number of parameters, so a statement with many rows runs once for each row, in a
            # transaction that keeps all rows or none
            head, one, more = values.groups()
            width, count = one.count("?"), 1 + more.count(one)
            if width * count == len(arguments) and count > 1:
                sql = head + one
                rows = [arguments[i * width:(i + 1) * width] for i in range(count)]
        cursor = self.sqlite.cursor()
        if len(rows) == 1:
            if sql.count("?") != len(arguments) and "'" not in sql:
                raise Refused(0, f"sql: expected {sql.count('?')} arguments, got {len(arguments)}", 400)
            cursor.execute(sql, arguments)
            if wants_rows:
                return [one[0] for one in cursor.description or ()], cursor.fetchall()
            return cursor.lastrowid or 0, max(cursor.rowcount, 0)
        cursor.execute("begin")
        try:
            cursor.executemany(sql, rows)
            cursor.execute("commit")
        except sqlite3.Error:
            cursor.execute("rollback")
            raise
        return (None, []) if wants_rows else (cursor.lastrowid or 0, len(rows))

    def refusal(self, error):
        text = str(error)
        for pattern, number, words in (
                (r"no such table: (?:\w+\.)?(\w+)", 1146, f"Table '{self.name}.{{}}' doesn't exist"),
                (r"no such column: (\S+)|has no column named (\S+)", 1054,
                 "Unknown column '{}' in 'field list'"),
                (r"table [`\"]?(\w+)[`\"]? already exists", 1050, "Table '{}' already exists"),
                (r"NOT NULL constraint failed: \w+\.(\w+)", 1048, "Column '{}' cannot be null"),
                (r"UNIQUE constraint failed: (.*)", 1062,
                 "Leaf Error (127.0.0.1:3307): Duplicate entry '?' for key '{}'")):
            match = re.search(pattern, text)
            if match:
                return Refused(number, words.format(next(filter(None, match.groups()))))
        match = re.search(r"CHECK constraint failed: c(\d+)_(\w+)", text)
        if match:
            number = int(match.group(1))
            return Refused(number, f"{REFUSALS[number]} for column '{match.group(2)}'")
        return Refused(1064, f"You have an error in your SQL syntax; {text}")

    def create_table(self, if_not_exists, table, text):
        columns, keys = [], []
        for one in (part.strip() for part in split(text)):
            key = KEY.fullmatch(re.sub(r"\s+using\s+\w+$", "", one, flags=re.I))
            if key:
                names = [c.strip(" `").split()[0] for c in key.group(2).split(",")]
                keys.append((key.group(1).lower(), names))
            else:
                columns.append(Column(one))
        for column in columns:
            if column.is_key:
                keys.append(("primary", [column.name]))
        uniques = [(kind, names) for kind, names in keys if kind in ("primary", "unique")]
        lines = [column.sqlite(uniques) for column in columns]
        lines += [f"{'primary key' if kind == 'primary' else 'unique'} ({', '.join(f'`{n}`' for n in names)})"
                  for kind, names in uniques if not any(c.is_numbered and names == [c.name] for c in columns)]
        there = self.sqlite.execute("select 1 from main.sqlite_master where name = ?", [table]).fetchone()
        if there and if_not_exists:
            return
        self.sqlite.execute(f"create table main.`{table}` ({', '.join(lines)})")
        self.sqlite.execute(
            "insert into information_schema.tables values (?, ?, 'BASE TABLE', 'Columnstore')",
            [self.name, table])
        for place, column in enumerate(columns, 1):
            row = column.catalogue(self.name, table, place)
            marks = ",".join("?" * len(row))
            self.sqlite.execute(f"insert into information_schema.columns values ({marks})", row)
        for kind, names in keys:
            for name in names:
                index = "PRIMARY" if kind == "primary" else "_".join([kind, *names])
                self.sqlite.execute(
                    "insert into information_schema.statistics values (?, ?, ?, ?, ?, null)",
                    [self.name, table, index, int(kind not in ("primary", "unique")), name])


def split(text):
    """Yields the parts of a text that commas separate. A comma within brackets or quotes does not count."""
    depth, part = 0, ""
    for piece in re.findall(r"'(?:[^']|'')*'|.", text, re.S):
        depth += (piece == "(") - (piece == ")")
        if piece == "," and depth == 0:
            yield part
            part = ""
        else:
            part += piece
    yield part


class Column:
    """A declared column."""

    def __init__(self, text):
        computed = COMPUTED.fullmatch(text)
        self.expression = computed.group(2) if computed else None
        match = COLUMN.fullmatch(f"{computed.group(1)} {computed.group(3)}" if computed else text)
        if not match:
            raise Refused(1064, f"You have an error in your SQL syntax near '{text}'")
        self.name, self.type, size, scale, rest = match.groups()
        self.type = self.type.lower()
        self.type = {"bool": "tinyint", "boolean": "tinyint", "numeric": "decimal"}.get(self.type, self.type)
        is_bool = match.group(2).lower() in ("bool", "boolean")
        self.size, self.scale = 1 if is_bool else size and int(size), int(scale or 0)
        words = rest.lower()
        self.is_unsigned = "unsigned" in words
        self.is_required = "not null" in words or "primary key" in words
        self.is_numbered, self.is_key = "auto_increment" in words, "primary key" in words
        comment = re.search(r"comment\s+'([^']*)'", rest, re.I)
        default = re.search(r"default\s+('[^']*'|\S+)", rest, re.I)
        self.comment = comment.group(1) if comment else ""
        self.default = default.group(1) if default else None
        if self.is_numbered and self.type != "bigint":
            raise Refused(1706, f"AUTO_INCREMENT of column '{self.name}' is not supported: it must be BIGINT")
        if self.type in TIMES and (self.size or 0) not in (0, 6):
            raise Refused(1706, f"Precision {self.size} of column '{self.name}' is not supported: 0 or 6")
        self.length = LENGTHS.get(self.type, self.size or 1 if self.type in (
            "char", "varchar", "binary", "varbinary") else None)
        self.is_binary = "blob" in self.type or "binary" in self.type
        if not (self.length or self.type in INTEGERS or self.type in TIMES
                or self.type in ("float", "double", "real", "decimal", "json")):
            raise Refused(1064, f"You have an error in your SQL syntax near '{self.type}'")

    def sqlite(self, uniques):
        name, check, number = f"`{self.name}`", "", 0
        kind = "blob" if self.is_binary else "text"
        if self.type in INTEGERS:
            bits, kind, number = INTEGERS[self.type], "integer", 1264
            low, high = (0, (1 << bits) - 1) if self.is_unsigned else (-1 << bits - 1, (1 << bits - 1) - 1)
            check = f"typeof({name}) = 'integer' and {name} between {low} and {min(high, (1 << 63) - 1)}"
        elif self.type in ("float", "double", "real"):
            kind = "real"
        elif self.type in TIMES:
            check, number = f"is_time('{self.type}', {name})", 1292
        elif self.type == "json":
            check, number = f"json_valid({name})", 3140
        elif self.length:
            check, number = f"length({name}) <= {self.length}", 1406
        if self.is_numbered and ("primary", [self.name]) in uniques:
            return f"{name} integer primary key"
        return " ".join(filter(None, (
            name, kind, self.is_required and not self.is_numbered and "not null",
            self.expression and f"generated always as ({self.expression}) stored",
            self.default and "default (%s)" % re.sub(
                "^current_timestamp.*", "now6()", self.default, flags=re.I),
            check and f"constraint c{number}_{self.name} check ({name} is null or ({check}))")))

    def catalogue(self, schema, table, place):
        declared = self.type + (f"({self.size})" if self.size and self.type != "decimal" else "")
        precision = self.size if self.type == "decimal" else {8: 3, 16: 5, 24: 7, 32: 10, 64: 19}.get(
            INTEGERS.get(self.type))
        if self.type == "decimal":
            declared += f"({self.size or 10},{self.scale})"
        return [schema, table, self.name, place, declared + (" unsigned" if self.is_unsigned else ""),
                "NO" if self.is_required else "YES", self.default,
                "auto_increment" if self.is_numbered else "computed" if self.expression else "",
                self.type, self.length, precision,
                self.scale if self.type == "decimal" else None,
                (self.size or 0) if self.type in TIMES else None, self.comment]


class Server(HttpStandin):
    """The server. Its rules have one more action:

    inside  answers 200 with the error in the body, without carrying the request out
    """

    ACTIONS = (*HttpStandin.ACTIONS, "inside")
    INSTEAD = ("status", "inside")
    STEPS = ("ping", "exec", "query")
    OPTIONS = {**HttpStandin.OPTIONS, "user": "root"}
    PATHS = {"GET /ping": "ping", "POST /api/v2/exec": "exec", "POST /api/v2/query/tuples": "query",
             "POST /api/v2/query/rows": "query"}

    def __init__(self, *rules, user="root", **options):
        self.variables = {"memsql_version": "8.5.4", "max_connection_threads": 192}
        self.databases = {"db": Database("db", self.variables)}
        self.nowhere = Database(None, self.variables)
        self.largest_body = 0
        super().__init__(*rules, user=user, **options)

    def step(self, request):
        return self.PATHS.get(f"{request.method} {request.url}")

    @staticmethod
    def text(status, text, headers=None):
        kind = "application/json" if text[:1] == "{" else "text/plain; charset=utf-8"
        return status, text.encode(), {"Content-Type": kind, **(headers or {})}

    def refusal(self, action, number, text):
        if action == "inside":
            return self.text(200, json.dumps({"error": {"code": number, "message": text}}))
        return self.text(number, text)

    def answer(self, request):
        with self.lock:
            self.largest_body = max(self.largest_body, len(request.body))
        step = self.step(request)
        if len(request.body) > BODY_MAX:
            return self.text(413, "http: request body too large")
        if step is None:
            return self.text(404, "404 page not found")
        if step == "ping":
            return self.text(200, "pong")
        if not self.is_known(request):
            return self.text(401, "Unauthorized", {"WWW-Authenticate": "Basic"})
        try:
            return self.text(200, self.work(step, request))
        except Refused as refused:
            return self.text(refused.status, refused.body)

    def is_known(self, request):
        basic = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return request.headers.get("authorization") in (f"Basic {basic}", f"Bearer {self.password}")

    def work(self, step, request):
        """Carries a request out and returns the answer's JSON text."""
        if request.headers.get("content-type", "").split(";")[0] != "application/json":
            raise Refused(0, "Content-Type is not application/json", 400)
        try:
            # the server reads every JSON number as a double
            asked = json.loads(request.body, parse_int=float)
        except ValueError as error:
            raise Refused(0, f"invalid JSON: {error}", 400) from error
        if not isinstance(asked, dict) or not isinstance(asked.get("sql"), str) or (
                set(asked) - {"sql", "args", "database"}) or not isinstance(asked.get("args", []), list):
            raise Refused(0, "invalid request body", 400)
        arguments = []
        for one in asked.get("args", []):
            if isinstance(one, (list, dict)):
                raise Refused(0, "sql: converting argument: unsupported type", 400)
            is_whole = isinstance(one, float) and math.isfinite(one) and one == int(one)
            arguments.append(int(one) if is_whole and abs(one) < 1 << 63 else one)
        database = self.databases.get(asked.get("database"))
        if database is None and asked.get("database"):
            raise Refused(1049, f"Unknown database '{asked['database']}'")
        if database is None:
            database = self.nowhere
            if step == "exec":
                raise Refused(1046, "No database selected")
        first, second = database.run(asked["sql"], arguments, step == "query")
        if step == "exec":
            return json.dumps({"lastInsertId": first, "rowsAffected": second})
        rows = [[base64.b64encode(value).decode() if isinstance(value, bytes) else value for value in row]
                for row in second]
        if request.url.endswith("/rows"):
            return json.dumps({"results": [{"rows": [dict(zip(first, row)) for row in rows]}]})
        names = {int: "BIGINT", float: "DOUBLE"}
        columns = [{"name": name, "dataType": names.get(type(rows[0][i]) if rows else str, "VARCHAR"),
                    "nullable": True} for i, name in enumerate(first or [])]
        return json.dumps({"results": [{"columns": columns, "rows": rows}]})

    def rows(self, sql, database="db"):
        """Runs a SQLite query and returns its rows."""
        one = self.databases[database]
        with one.lock:
            return one.sqlite.execute(sql).fetchall()


if __name__ == "__main__":
    Server.main(__doc__)
