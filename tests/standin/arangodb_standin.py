#!/usr/bin/env python3
"""A stand-in for an ArangoDB server, for tests of append: HTTP/1.1 with keep-alive, the part of the
HTTP API that append uses, and a few forms of AQL. It is written only from the public documentation of
ArangoDB 3.12, without a real server. A test that passes with it shows that append does what the
documentation requires. It shows nothing about a real server's behaviour or speed: figures measured
with it are not figures of ArangoDB.

    arangodb_standin.py [--port N] [--user U --password P]

prints its port on 127.0.0.1 and ends when standard input ends. A line of standard input is a command: see
Standin.main, or a number N, which makes the server refuse the next N documents.
"""

import base64
import bisect
import collections
import itertools
import json
import operator
import re
import threading
import time
import urllib.parse

from standin import HttpStandin

VERSION = "3.12.4"
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,255}")
KEY = re.compile(r"[A-Za-z0-9_\-:.@()+,=;$!*'%]{1,254}")


class Refused(Exception):
    """An answer that is an error: status, errorNum, errorMessage."""


def order(value):
    """Returns a key that sorts as AQL does: by type first (null, false, true, numbers, strings, arrays, objects)."""
    rank = {type(None): 0, bool: 1, int: 2, float: 2, str: 3, list: 4, dict: 5}[type(value)]
    return rank, value if 0 < rank < 4 else json.dumps(value)


class Collection:
    refusals = 0  # how many of the next documents to refuse

    def __init__(self, name, properties):
        self.name, self.properties = name, properties
        self.documents, self.keys, self.indexes = {}, [], []
        self.next_key, self.lock = itertools.count(100), threading.RLock()

    def insert(self, document):
        if not isinstance(document, dict):
            raise Refused(400, 1227, "invalid document type")
        with self.lock:
            if Collection.refusals:
                Collection.refusals -= 1
                raise Refused(400, 1221, "illegal document key")
            key = document.get("_key")
            key = str(next(self.next_key)) if key is None else key
            if not isinstance(key, str) or not KEY.fullmatch(key):
                raise Refused(400, 1221, "illegal document key")
            if key in self.documents:
                raise Refused(409, 1210, "unique constraint violated - in index primary of type "
                              f"primary over '_key'; conflicting key: {key}")
            made = {name: one for name, one in document.items() if name not in ("_id", "_rev")}
            made.update(_key=key, _id=f"{self.name}/{key}", _rev=f"_{time.monotonic_ns():x}")
            self.documents[key] = made
            bisect.insort(self.keys, key)
            return made

    def find(self, key):
        if key not in self.documents:
            raise Refused(404, 1202, "document not found")
        return self.documents[key]

    def update(self, key, changes):
        with self.lock:
            old = self.find(key)
            made = {**old, **{name: one for name, one in changes.items() if name[0] != "_"},
                    "_rev": f"_{time.monotonic_ns():x}"}
            self.documents[key] = made
            return made

    def remove(self, key):
        with self.lock:
            old = self.find(key)
            del self.documents[key]
            del self.keys[bisect.bisect_left(self.keys, key)]
            return old

    def truncate(self):
        with self.lock:
            self.documents.clear()
            self.keys.clear()

    def scan(self, start=""):
        """Yields the documents in the order of their keys, without documents that are removed meanwhile."""
        keys = self.keys[bisect.bisect_left(self.keys, start):]
        return (one for one in map(self.documents.get, keys) if one is not None)


COMPARE = {"==": operator.eq, "!=": operator.ne, ">=": operator.ge}
INSERT = re.compile(r"INSERT (\{.*\}) INTO (\S+)")
RETURN = re.compile(r"RETURN (?:LENGTH\((\S+)\)|SLEEP\((\d+)\)|(\[.*\]|\d+))")
LOOP = re.compile(r"""FOR\ (?P<v>\w+)\ IN\ (?P<name>\S+)
    (?:\ FILTER\ (?P=v)\.(?P<field>[`\w]+)\ (?P<sign>==|!=|>=)\ (?P<value>\S+))?
    (?:\ SORT\ (?P=v)\.(?P<sort>[`\w]+))?(?:\ LIMIT\ (?P<limit>\S+))?
    \ (?:RETURN\ (?P<distinct>DISTINCT\ )?(?P<what>.+)
    |UPDATE\ (?P=v)\ WITH\ (?P<changes>\{.*\})\ IN\ (?P=name)
    |(?P<remove>REMOVE)\ (?P=v)\ IN\ (?P=name))""", re.X)
PATH = re.compile(r"NOT_NULL\(\w+\.([`\w]+), (-?\d+)\)|\w+\.([`\w]+)")


class Query:
    """The few forms of AQL that append and its scripts use; all others are syntax errors."""

    def __init__(self, text, binds):
        words = " ".join(text.split())
        self.insert, self.loop, self.simple = (one.fullmatch(words) for one in (INSERT, LOOP, RETURN))
        self.binds, self.names = binds, set(re.findall(r"@(@?\w+)", re.sub(r'"[^"]*"', "", words)))
        if not (self.insert or self.loop or self.simple):
            raise Refused(400, 1501, f"AQL: syntax error, unexpected input near '{words[:40]}'")

    def check_binds(self):
        for name in self.names ^ set(self.binds):
            raise Refused(400, *((1551, f"no value specified for declared bind parameter '{name}'")
                                 if name in self.names else
                                 (1552, f"bind parameter '{name}' was not declared in the query")))

    def value(self, text):
        if text[0] == "@" or text == "DATE_NOW()":
            return self.binds[text[1:]] if text[0] == "@" else int(time.time() * 1000)
        try:
            return json.loads(text)
        except ValueError:
            raise Refused(400, 1501, f"AQL: syntax error, unexpected input near '{text}'") from None

    def object(self, text):
        pairs = re.findall(r"[`\"]?(\w+)[`\"]?: (@\w+|\"[^\"]*\"|[^,}]+)", text)
        return {name: self.value(value) for name, value in pairs}

    def show(self, what, document):
        """Evaluates d, d.name, or an array of them."""
        found = [document.get((name or other).strip("`"), None if other else int(usual))
                 for name, usual, other in PATH.findall(what)]
        return found if what[0] == "[" else found[0] if found else document

    def run(self, database):
        """Returns the query's values and the number of documents that it wrote."""
        self.check_binds()
        if self.insert:
            database.collection(self.insert[2]).insert(self.object(self.insert[1]))
            return [], 1
        if self.simple:
            name, seconds, value = self.simple.groups()
            time.sleep(int(seconds or 0))
            return [len(database.collection(name).documents) if name else json.loads(value or "null")], 0
        of = {name: text and text.strip("`") for name, text in self.loop.groupdict().items()}
        of["name"] = self.value(of["name"]) if of["name"][0] == "@" else of["name"]
        collection, found = database.collection(of["name"]), self.select(database, of)
        if of["changes"]:
            for one in found:
                collection.update(one["_key"], self.object(of["changes"]))
        elif of["remove"]:
            for one in found:
                collection.remove(one["_key"])
        else:
            shown = [self.show(of["what"], one) for one in found]
            return list({json.dumps(one): one for one in shown}.values()) if of["distinct"] else shown, 0
        return [], len(found)

    def select(self, database, of):
        """Returns the documents that a loop selects. Uses the primary index if possible."""
        collection, sign = database.collection(of["name"]), of["sign"]
        value = self.value(of["value"]) if sign else None
        if sign and of["field"] == "_key" and sign != "!=":
            found = collection.scan(value) if sign == ">=" else filter(None, [
                collection.documents.get(value)])
        else:
            found = (one for one in collection.scan() if sign is None or COMPARE[sign](
                order(one.get(of["field"])), order(value)))
        if of["sort"] not in (None, "_key"):  # scan returns the documents in the order of their keys
            found = sorted(found, key=lambda one: order(one.get(of["sort"])))
        return list(itertools.islice(found, self.value(of["limit"]) if of["limit"] else None))


class Database:
    def __init__(self):
        self.collections = {}

    def collection(self, name):
        found = self.collections.get(name.strip("`"))
        if found is not None:
            return found
        raise Refused(404, 1203, f"collection or view not found: {name}")


class Server(HttpStandin):
    """The server. A rule's STEP is a row of API, its NUMBER the status, its TEXT an errorNum and words, or
    only words: the page of a proxy in front of the server."""

    API = {"GET version": "version", "POST database": "create_database", "GET database": "current_database",
           "DELETE database": "drop_database", "POST collection": "create_collection",
           "GET collection": "show_collection", "DELETE collection": "drop_collection",
           "PUT collection": "truncate", "POST index": "create_index", "POST import": "load",
           "POST document": "add", "GET document": "read", "PATCH document": "change",
           "DELETE document": "remove", "POST cursor": "query", "PUT cursor": "query",
           "DELETE cursor": "drop_cursor", "POST query": "parse"}
    STEPS = tuple(API)
    PATH = re.compile(r"(?:/_db/([^/]+))?(?:/_api/([^/]*)/?)?(.*)")

    def __init__(self, *rules, **options):
        self.databases, self.cursors, self.next_cursor = {"_system": Database()}, {}, itertools.count(1)
        super().__init__(*rules, **options)

    def command(self, name, words):
        if name.isdigit():
            Collection.refusals = int(name)
        else:
            super().command(name, words)

    def step(self, request):
        return f"{request.method} {self.PATH.fullmatch(request.url.partition('?')[0])[2]}"

    @staticmethod
    def json(status, value, more):
        return status, json.dumps(value, separators=(",", ":")).encode(), {
            **more, "server": "ArangoDB", "content-type": "application/json; charset=utf-8",
            "connection": "Keep-Alive", "x-arango-queue-time-seconds": "0.000000"}

    def error(self, status, number, text, more):
        return self.json(status, {"error": True, "code": status, "errorNum": number,
                                  "errorMessage": text}, more)

    def refusal(self, action, number, text):
        error, _, words = text.partition(" ")
        if not error.isdigit():
            return number, text.encode(), {"server": "proxy"}
        return self.error(number, int(error), words, {})

    def answer(self, request):
        user = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        more = {}
        try:
            if "transfer-encoding" in request.headers or (
                    request.method in ("POST", "PUT", "PATCH") and "content-length" not in request.headers):
                raise Refused(411, 411, "length required")
            if self.user and request.headers.get("authorization") != f"Basic {user}":
                more["www-authenticate"] = 'Basic, realm="ArangoDB"'
                raise Refused(401, 11, "not authorized to execute this request")
            return self.json(*self.route(request, more), more)
        except Refused as why:
            return self.error(*why.args, more)

    def route(self, request, more):
        """Returns status and value; adds headers to `more`."""
        path, _, query = request.url.partition("?")
        name, api, rest = self.PATH.fullmatch(path).groups()
        name = name or "_system"
        database = self.databases.get(urllib.parse.unquote(name))
        if database is None:
            raise Refused(404, 1228, f"database not found: {name}")
        if self.step(request) not in self.API:
            raise Refused(404, 404, f"unknown path '{path}'")
        rest = [urllib.parse.unquote(part) for part in rest.split("/")] if rest else []
        try:
            value = request.body if api == "import" or not request.body else json.loads(request.body)
        except ValueError:
            raise Refused(400, 600, "invalid JSON object") from None
        return getattr(self, self.API[self.step(request)])(
            database, rest, value, {**dict(urllib.parse.parse_qsl(query)), "database": name, "more": more})

    @staticmethod
    def version(*_):
        return 200, {"server": "arango", "license": "community", "version": VERSION}

    def create_database(self, _database, _rest, value, given):
        if given["database"] != "_system":
            raise Refused(403, 1230, "operation only allowed in system database")
        with self.lock:
            if value["name"] in self.databases:
                raise Refused(409, 1207, "duplicate database name")
            self.databases[value["name"]] = Database()
        return 201, {"error": False, "code": 201, "result": True}

    @staticmethod
    def current_database(_database, _rest, _value, given):
        return 200, {"error": False, "code": 200, "result": {"name": given["database"]}}

    def drop_database(self, _database, rest, _value, _given):
        if self.databases.pop(rest[0], None) is None:
            raise Refused(404, 1228, "database not found")
        return 200, {"error": False, "code": 200, "result": True}

    def create_collection(self, database, _rest, value, _given):
        name = value.get("name", "")
        if not NAME.fullmatch(name):
            raise Refused(400, 1208, "illegal name: collection name invalid")
        if value.get("replicationFactor", 1) > 10 or value.get("writeConcern", 1) > value.get(
                "replicationFactor", 1):
            raise Refused(400, 10, "bad parameter: replicationFactor or writeConcern")
        with self.lock:
            if name in database.collections:
                raise Refused(409, 1207, "duplicate name")
            database.collections[name] = Collection(name, value)
        return 200, {"error": False, "code": 200, **value}

    @staticmethod
    def show_collection(database, rest, _value, _given):
        of = database.collection(rest[0])
        count = {"count": len(of.documents)} if rest[1:] == ["count"] else {}
        return 200, {"error": False, "code": 200, **of.properties, **count}

    def drop_collection(self, database, rest, _value, _given):
        with self.lock:
            database.collection(rest[0])
            del database.collections[rest[0]]
        return 200, {"error": False, "code": 200, "id": "1"}

    @staticmethod
    def truncate(database, rest, _value, _given):
        database.collection(rest[0]).truncate()
        return 200, {"error": False, "code": 200, "name": rest[0]}

    @staticmethod
    def create_index(database, _rest, value, given):
        database.collection(given["collection"]).indexes.append(value)
        return 201, {"error": False, "code": 201, "isNewlyCreated": True, **value}

    @staticmethod
    def load(database, _rest, value, given):
        """Inserts documents from JSON lines."""
        of, details, counts = database.collection(given["collection"]), [], collections.Counter()
        for number, line in enumerate(value.split(b"\n"), 1):
            try:
                counts["created" if line and of.insert(json.loads(line)) else "empty"] += 1
            except (Refused, ValueError) as why:
                counts["errors"] += 1
                text = re.sub(" - in .*", "", why.args[2]) if isinstance(why, Refused) else "parse error"
                details.append(f"at position {number}: creating document failed with error '{text}', "
                               f"offending document: {line[:255].decode()}")
        shown = {"details": details} if given.get("details") == "true" else {}
        counts["empty"] -= value.endswith(b"\n")
        return 201, {"error": False, **{name: counts[name] for name in (
            "created", "errors", "empty", "updated", "ignored")}, **shown}

    @staticmethod
    def add(database, rest, value, given):
        of, results, numbers = database.collection(rest[0]), [], collections.Counter()
        for document in value if isinstance(value, list) else [value]:
            try:
                made = of.insert(document)
                results.append({name: made[name] for name in ("_id", "_key", "_rev")})
            except Refused as why:
                if not isinstance(value, list):
                    raise
                numbers[why.args[1]] += 1
                results.append({"error": True, "errorNum": why.args[1], "errorMessage": why.args[2]})
        if numbers:
            given["more"]["x-arango-error-codes"] = ",".join(f"{n}:{c}" for n, c in numbers.items())
        status = 201 if "true" in (given.get("waitForSync"), of.properties.get("waitForSync")) else 202
        if given.get("silent") == "true":
            return status, [one for one in results if "error" in one] or {}
        return status, results if isinstance(value, list) else results[0]

    @staticmethod
    def read(database, rest, _value, _given):
        return 200, database.collection(rest[0]).find(rest[1])

    @staticmethod
    def change(database, rest, value, _given):
        return 202, {"_key": database.collection(rest[0]).update(rest[1], value)["_key"]}

    @staticmethod
    def remove(database, rest, _value, _given):
        return 202, {"_key": database.collection(rest[0]).remove(rest[1])["_key"]}

    def parse(self, _database, _rest, value, _given):
        query = Query(value["query"], {})
        return 200, {"error": False, "code": 200, "parsed": True, "bindVars": sorted(query.names)}

    def query(self, database, rest, value, _given):
        """Runs a query, or returns its next batch."""
        if rest:
            if rest[0] not in self.cursors:
                raise Refused(404, 1600, "cursor not found")
            return 200, self.batch(rest[0], {})
        result, writes = Query(value["query"], value.get("bindVars", {})).run(database)
        number = str(next(self.next_cursor))
        self.cursors[number] = (collections.deque(result), value.get("batchSize", 1000))
        return 201, self.batch(number, {"extra": {"stats": {"writesExecuted": writes,
                                                            "writesIgnored": 0}, "warnings": []}})

    def batch(self, number, more):
        rows, size = self.cursors[number]
        result = [rows.popleft() for _ in range(min(size, len(rows)))]
        if not rows:
            del self.cursors[number]
        return {"result": result, "hasMore": bool(rows), **({"id": number} if rows else {}), **more,
                "cached": False, "error": False, "code": 200}

    def drop_cursor(self, _database, rest, _value, _given):
        if self.cursors.pop(rest[0], None) is None:
            raise Refused(404, 1600, "cursor not found")
        return 202, {"error": False, "code": 202, "id": rest[0]}


if __name__ == "__main__":
    Server.main(__doc__)
