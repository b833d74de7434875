"""An HTTP server that speaks as much of ClickHouse as a run needs, counts the requests, and gives wrong
answers on demand."""

import contextlib
import re
import socket
import ssl
import struct
import threading
import urllib.parse

COLUMNS = ("tm\tDateTime\t0\t0\t0\t0\t\n" "n3\tInt64\t0\t0\t0\t0\t\n"
           "msg\tString\t0\t0\t0\t0\tvarchar(64)\n")


def answer(status=200, body=b"", headers=""):
    return (f"HTTP/1.1 {status} Said\r\nX-ClickHouse-Server: faulty\r\n{headers}"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


def exception(status, code, words):
    return answer(status, f"Code: {code}, e.displayText() = DB::Exception: {words}, "
                          "e.what() = DB::Exception\n".encode())


def chunked(body):
    """Returns an answer with one byte per chunk."""
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    return (b"HTTP/1.1 200 OK\r\nX-ClickHouse-Server: faulty\r\nTransfer-Encoding: chunked\r\n\r\n"
            + chunks + b"0\r\n\r\n")


class Fault:
    """The reply to one request: the bytes `instead` (None: the right answer), in parts of `cut` bytes.
    Then the connection stays ("go on"), ends ("close", "reset"), or gets endless bytes ("flood")."""

    def __init__(self, instead=None, then="go on", cut=0, is_stored=True):
        self.instead, self.then, self.cut, self.is_stored = instead, then, cut, is_stored


class Server:
    """A server. `fault(request)` is called for each request and returns a Fault or None. A request is a
    dictionary with number, kind ("ping", "insert", "count", "query"), place (its number on its
    connection), sql and body. `tls`: a certificate and its key. stop() ends the server, and restart()
    starts it again, on the same port and with its rows."""

    def __init__(self, case, fault=lambda request: None, tls=None, host="127.0.0.1"):
        self.fault = fault
        self.context = None
        if tls is not None:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*tls)
        self.lock = threading.Lock()
        self.rows = 0
        self.bodies = {}  # bodies of INSERTs, and how often each arrived
        self.requests = []  # kinds of the requests in order of arrival
        self.heads = []
        self.connections = 0
        self.sockets = set()
        self.address, self.listener, self.threads = (host, 0), None, []
        self.restart()
        self.port = self.address[1]
        self.place = f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"
        self.url = f"clickhouse://{self.place}/default"
        case.addCleanup(self.stop)

    def restart(self):
        family = socket.AF_INET6 if ":" in self.address[0] else socket.AF_INET
        self.listener = socket.create_server(self.address, family=family, backlog=128)
        self.address = self.listener.getsockname()[:2]
        self.threads = [threading.Thread(target=self.accept)]
        self.threads[0].start()

    def stop(self):
        if self.listener.fileno() >= 0:
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
        with self.lock:
            for one in self.sockets:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.connections += 1
                self.sockets.add(client)
            self.threads.append(threading.Thread(target=self.serve, args=(client,)))
            self.threads[-1].start()

    def serve(self, client):
        stream = client
        try:
            if self.context is not None:
                stream = self.context.wrap_socket(client, server_side=True)
            place = 0
            while (request := self.read(stream)) is not None:
                place += 1
                request["place"] = place
                if not self.serve_one(client, stream, request):
                    break
        except OSError:
            pass  # the client has left, or rejects the certificate
        finally:
            with self.lock:
                self.sockets.discard(client)
            stream.close()
            client.close()

    def read(self, stream):
        data = b""
        while b"\r\n\r\n" not in data:
            part = stream.recv(1 << 16)
            if not part:
                return None
            data += part
            if not data[:1].isalpha():
                stream.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
                return None
        head, body = data.split(b"\r\n\r\n", 1)
        length = re.search(rb"\r\nContent-Length: (\d+)", head)
        body = bytearray(body)
        while length is not None and len(body) < int(length.group(1)):
            part = stream.recv(1 << 16)
            if not part:
                return None
            body += part
        method, path, _ = head.split(b"\r\n")[0].decode().split(" ")
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(path).query).get("query", [""])[0]
        sql = query if method == "POST" and query else bytes(body).decode(errors="replace") or query
        kind = ("ping" if path == "/ping" else "insert" if sql.upper().startswith("INSERT")
                else "count" if re.match(r"(?i)select count\(\*\) from `", sql) else "query")
        return {"kind": kind, "sql": sql, "body": bytes(body), "head": head.decode()}

    def serve_one(self, client, stream, request):
        """Answers a request. Returns False when the connection is to end."""
        with self.lock:
            self.requests.append(request["kind"])
            self.heads.append(request["head"])
            request["number"] = self.requests.count(request["kind"])
            fault = self.fault(request) or Fault()
            if request["kind"] == "insert":
                self.bodies[request["body"]] = self.bodies.get(request["body"], 0) + 1
                self.rows += request["body"].count(b"\n") if fault.is_stored else 0
        data = fault.instead if fault.instead is not None else self.right(request)
        ends_with_answer = fault.then == "close" and not fault.cut and stream is client
        if ends_with_answer:  # the client receives the end of the connection together with the answer
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        for at in range(0, len(data), fault.cut or len(data) or 1):
            stream.sendall(data[at:at + (fault.cut or len(data))])
        if ends_with_answer:
            client.shutdown(socket.SHUT_WR)
        while fault.then == "flood":
            stream.sendall(b"x" * (1 << 20))
        if fault.then == "reset":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return fault.then == "go on"

    def right(self, request):
        sql = request["sql"].lower()
        if request["kind"] == "ping":
            return answer(body=b"Ok.\n")
        if request["kind"] == "count":
            return answer(body=b"%d\n" % self.rows)
        if sql.startswith("select version()"):
            return answer(body=b"18.16.1\tdefault\n")
        if sql.startswith("select 1"):
            return answer(body=b"1\n")
        if "system.columns" in sql:
            return answer(body=COLUMNS.encode())
        if sql.startswith("select engine"):
            return answer(body=b"MergeTree\n")
        if sql.startswith("select count(*) from system"):
            return answer(body=b"0\n")
        return answer()
