#!/usr/bin/env python3
"""A stand-in for an ArangoDB server, for tests of append: HTTP/1.1 with keep-alive, the part of the
HTTP API that append uses, and a few forms of AQL. It is written only from the public documentation of
ArangoDB 3.12, without a real server. A test that passes with it shows that append does what the
documentation requires. It shows nothing about a real server's behaviour or speed: figures measured
with it are not figures of ArangoDB.

    arangodb_standin.py [--port N] [--user U --password P]

prints its port on 127.0.0.1 and ends when standard input ends. A line of standard input ends every
connection; a line with a number N makes the server refuse the next N documents.
"""

import argparse
import base64
import bisect
import collections
import itertools
import json
import operator
import os
import re
import socket
import sys
import threading
import time
import urllib.parse

VERSION = "3.12.4"
TEXTS = {200: "OK", 201: "Created", 202: "Accepted"}
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,255}")
KEY = re.compile(r"[A-Za-z0-9_\-:.@()+,=;$!*'%]{1,254}")


class Refused(Exception):
    """An answer that is an error: status, errorNum, errorMessage."""


class Disconnect(Exception):
    """Ends the connection."""


def order(value):
    """AQL compares by type first: null, false, true, numbers, strings, arrays, objects."""
    rank = {type(None): 0, bool: 1, int: 2, float: 2, str: 3, list: 4, dict: 5}[type(value)]
    return rank, value if 0 < rank < 4 else json.dumps(value)


class Collection:
    refusals = 0  # documents to refuse next

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
        """Yields the documents in the order of their keys, skipping those removed meanwhile."""
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
        """Uses the primary index where possible."""
        collection, sign = database.collection(of["name"]), of["sign"]
        value = self.value(of["value"]) if sign else None
        if sign and of["field"] == "_key" and sign != "!=":
            found = collection.scan(value) if sign == ">=" else filter(None, [
                collection.documents.get(value)])
        else:
            found = (one for one in collection.scan() if sign is None or COMPARE[sign](
                order(one.get(of["field"])), order(value)))
        if of["sort"] not in (None, "_key"):  # scan returns them in the order of their keys
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


class Rule:
    """A fault: after the first `skip` requests whose method and path match, the next `times` of them fail
    with status and number; status 0 ends the connection. With `after` the work is done before."""

    def __init__(self, pattern, status, number, text="", times=1, skip=0, after=False):
        self.pattern, self.error, self.after = re.compile(pattern), (status, number, text), after
        self.times, self.skip = times, skip

    def applies(self, request):
        if self.times == 0 or not self.pattern.search(request):
            return False
        self.skip -= 1
        self.times -= self.skip < 0
        return self.skip < 0


class Server:
    def __init__(self, port=0, user=None, password=""):
        self.credentials = user and "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
        self.databases, self.rules, self.lock = {"_system": Database()}, [], threading.Lock()
        self.cursors, self.next_cursor = {}, itertools.count(1)
        self.requests = collections.Counter()  # by method and /_db/NAME/_api/WHAT
        self.sockets = set()
        self.listener = self.listen(port)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    @staticmethod
    def listen(port):
        """Port 0: a free port below 32,768, where clients' own ports do not lie."""
        for i in range(100):
            try:
                return socket.create_server(
                    ("127.0.0.1", port or 20000 + (os.getpid() * 7 + time.time_ns() + i * 101) % 12000),
                    backlog=1024)
            except OSError:
                if port:
                    raise
        raise OSError("no port is free")

    def fail(self, *arguments, **more):
        with self.lock:
            self.rules.append(Rule(*arguments, **more))

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.sockets.add(sock)
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def kill(self):
        """Ends everything, like a crash. May be called again."""
        if self.listener.fileno() >= 0:
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
        self.hang_up()

    def hang_up(self):
        """Ends every connection, as a server does with idle connections."""
        with self.lock:
            for sock in self.sockets:
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def serve(self, sock):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with sock, sock.makefile("rb") as stream:
            try:
                while self.answer(sock, stream):
                    pass
            except (OSError, Disconnect, ValueError):
                pass
        with self.lock:
            self.sockets.discard(sock)

    def answer(self, sock, stream):
        """Answers one request; false: the connection has ended."""
        line = stream.readline(1 << 14).split()
        if len(line) != 3:
            return False
        method, url = line[0].decode(), line[1].decode()
        headers = {}
        while (head := stream.readline(1 << 16).strip()):
            name, _, value = head.partition(b":")
            headers[name.decode().lower()] = value.strip().decode()
        more = {}
        try:
            if "transfer-encoding" in headers or (
                    method in ("POST", "PUT", "PATCH") and "content-length" not in headers):
                raise Refused(411, 411, "length required")
            body = stream.read(int(headers.get("content-length", 0)))
            path, _, query = url.partition("?")
            parameters = dict(urllib.parse.parse_qsl(query))
            with self.lock:
                self.requests[method + " " + "/".join(path.split("/")[:5])] += 1
                rule = next((one for one in self.rules if one.applies(f"{method} {url}")), None)
            if rule is not None and not rule.after:
                self.fail_by(rule)
            if self.credentials and headers.get("authorization") != self.credentials:
                more["www-authenticate"] = 'Basic, realm="ArangoDB"'
                raise Refused(401, 11, "not authorized to execute this request")
            status, answer = self.route(method, path, parameters, body, more)
            if rule is not None:
                self.fail_by(rule)
        except Refused as why:
            status, number, text = why.args
            answer = {"error": True, "code": status, "errorNum": number, "errorMessage": text}
        text = answer if isinstance(answer, bytes) else json.dumps(answer, separators=(",", ":")).encode()
        more.update({"server": "ArangoDB", "content-type": "application/json; charset=utf-8",
                     "connection": "Keep-Alive", "x-arango-queue-time-seconds": "0.000000",
                     "content-length": str(len(text))})
        head = f"HTTP/1.1 {status} {TEXTS.get(status, 'Refused')}\r\n" + "".join(
            f"{name}: {value}\r\n" for name, value in more.items()) + "\r\n"
        sock.sendall(head.encode() + text)
        return headers.get("connection", "").lower() != "close"

    @staticmethod
    def fail_by(rule):
        if rule.error[0] == 0:
            raise Disconnect
        raise Refused(*rule.error)

    def route(self, method, path, parameters, body, more):
        """Returns status and answer; adds headers to `more`."""
        name, path = re.fullmatch(r"(?:/_db/([^/]+))?(/.*)", path).groups(default="_system")
        database = self.databases.get(urllib.parse.unquote(name))
        if database is None:
            raise Refused(404, 1228, f"database not found: {name}")
        api, _, rest = path.removeprefix("/_api/").partition("/")
        rest = [urllib.parse.unquote(part) for part in rest.split("/")] if rest else []
        do = {"GET version": self.version, "POST database": self.create_database,
              "GET database": self.current_database, "DELETE database": self.drop_database,
              "POST collection": self.create_collection, "GET collection": self.show_collection,
              "DELETE collection": self.drop_collection, "PUT collection": self.truncate,
              "POST index": self.create_index, "POST import": self.load, "POST document": self.add,
              "GET document": self.read, "PATCH document": self.change, "DELETE document": self.remove,
              "POST cursor": self.query, "PUT cursor": self.query, "DELETE cursor": self.drop_cursor,
              "POST query": self.parse}.get(f"{method} {api}")
        if do is None or not path.startswith("/_api/"):
            raise Refused(404, 404, f"unknown path '{path}'")
        is_lines = api == "import"
        try:
            value = body if is_lines or not body else json.loads(body)
        except ValueError:
            raise Refused(400, 600, "invalid JSON object") from None
        return do(database, rest, value, {**parameters, "database": name, "more": more})

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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--port", type=int, default=0, metavar="N")
    parser.add_argument("--user", metavar="U")
    parser.add_argument("--password", default="", metavar="P")
    options = parser.parse_args()
    server = Server(options.port, options.user, options.password)
    print(server.port, flush=True)
    for line in sys.stdin:
        if line.strip().isdigit():
            Collection.refusals = int(line)
        else:
            server.hang_up()
        print("ok", flush=True)
    server.kill()


if __name__ == "__main__":
    main()
