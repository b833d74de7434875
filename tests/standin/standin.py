"""The parts that all stand-ins share: a thread for each connection, faults, the command line and HTTP."""

import argparse
import collections
import contextlib
import http
import math
import os
import re
import resource
import socket
import sys
import threading
import time


class Ended(Exception):
    """Ends the connection."""


class Rule:
    """A fault: see Rules."""

    FORM = re.compile(r"(\w+)=([\w ]+)(?:@(%?)(\d+)(\+|-\d+)?)?(?::(\d+)(?::(.*))?)?", re.S)

    def __init__(self, text):
        match = self.FORM.fullmatch(text)
        if not match:
            raise ValueError(f"unknown rule: {text}")
        self.action, self.step, self.is_each, first, until, number, words = match.groups()
        self.first = int(first or 1)
        self.last = math.inf if first is None or until == "+" else int((until or "-" + first)[1:])
        self.fault, self.seen = (self.action, int(number or 0), words or ""), 0

    def applies(self):
        self.seen += 1
        return self.seen % self.first == 0 if self.is_each else self.first <= self.seen <= self.last


class Rules:
    """Faults, and when they occur: ACTION=STEP[@WHEN][:NUMBER[:TEXT]].

    ACTION  what occurs: see the stand-in
    STEP    the kind of request: see the stand-in
    WHEN    N: the N-th time, counted over all connections since the rule was added; N+: from the N-th
            time on; N-M: from the N-th to the M-th time; %N: every N-th time; omitted: every time
    """

    NONE = ("", 0, "")

    def __init__(self, actions, steps, rules):
        self.actions, self.steps, self.lock, self.list = actions, steps, threading.Lock(), []
        self.counts, self.faults = collections.Counter(), 0  # steps by name; applied rules
        for rule in rules:
            self.add(rule)

    def add(self, text):
        rule = Rule(text)
        if rule.action not in self.actions or rule.step not in self.steps:
            raise ValueError(f"unknown rule: {text}")
        with self.lock:
            self.list.append(rule)

    def clear(self):
        with self.lock:
            self.list.clear()

    def meet(self, step):
        """Counts a step; returns action, number and text of the first rule that applies."""
        with self.lock:
            self.counts[step] += 1
            hits = [rule.fault for rule in self.list if rule.step == step and rule.applies()]
            self.faults += bool(hits)
        return hits[0] if hits else self.NONE


class Standin:
    """A server on 127.0.0.1 with a thread for each connection. A stand-in defines serve(sock)."""

    ACTIONS = STEPS = ()  # the actions and steps that rules may have
    OPTIONS = {"port": 0}  # options of the command line, with their defaults; port 0 stands for a free port

    def __init__(self, *rules, port=0):
        self.rules, self.lock = Rules(self.ACTIONS, self.STEPS, rules), threading.Lock()
        self.sockets, self.accepted, self.port = set(), 0, port
        self.restart()

    def restart(self):
        """Starts the server, or starts it again after kill(): on the same port, with its rows."""
        self.listener = self.listen()
        self.port = self.listener.getsockname()[1]
        self.acceptor = threading.Thread(target=self.accept, daemon=True)
        self.acceptor.start()

    def listen(self):
        """Listens on the port, or on a free port below 32,768: clients get their own ports above that number."""
        for i in range(100):
            port = self.port or 20000 + (os.getpid() * 7 + time.time_ns() + i * 101) % 12000
            try:
                return socket.create_server(("127.0.0.1", port), backlog=4096)
            except OSError:
                if self.port:
                    raise
        raise OSError("no port is free")

    def accept(self):
        with contextlib.suppress(OSError):  # the listener was closed
            while True:
                sock, _ = self.listener.accept()
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with self.lock:
                    self.accepted += 1
                    self.sockets.add(sock)
                threading.Thread(target=self.run, args=(sock,), daemon=True).start()

    def run(self, sock):
        with sock, contextlib.suppress(Ended, OSError, ValueError):
            self.serve(sock)
        with self.lock:
            self.sockets.discard(sock)

    def serve(self, sock):
        """Serves a client until the connection ends."""
        raise NotImplementedError

    def kill(self):
        """Ends the listener and all connections, like a crash. May be called again."""
        if self.listener.fileno() >= 0:
            self.listener.shutdown(socket.SHUT_RDWR)
            self.acceptor.join()
            self.listener.close()
        self.hang_up()

    def hang_up(self):
        """Ends every connection, as a server does with idle connections."""
        with self.lock:
            for sock in self.sockets:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def command(self, name, words):
        """Carries out a line of standard input."""
        if name == "kick":
            self.hang_up()
        elif name == "rule":
            self.rules.add(words)
        elif name == "norules":
            self.rules.clear()
        else:
            raise ValueError(f"unknown command {name}")

    @classmethod
    def main(cls, description):
        """Runs the program: prints the port, and carries out the lines of standard input until it ends.

            kick         ends every connection
            rule RULE    adds a fault: see Rules
            norules      removes all faults

        The answer's last line is "ok" or "error: ...".
        """
        parser = argparse.ArgumentParser(description=description.split("\n\n", 1)[0])
        for name, default in cls.OPTIONS.items():
            parser.add_argument("--" + name.replace("_", "-"), type=type(default), default=default)
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        server = cls(**vars(parser.parse_args()))
        print(server.port, flush=True)
        for line in sys.stdin:
            name, _, words = line.rstrip("\n").partition(" ")
            try:
                server.command(name, words)
                print("ok", flush=True)
            except (ValueError, OSError) as error:
                print(f"error: {error}", flush=True)


Request = collections.namedtuple("Request", "method url headers body")  # names of headers in lower case


def read_request(stream):
    """Returns the next request; None when the connection has ended."""
    line = stream.readline(1 << 14).split()
    if len(line) != 3:
        return None
    headers = {}
    while head := stream.readline(1 << 16).strip():
        name, _, value = head.partition(b":")
        headers[name.decode().lower()] = value.strip().decode()
    body = stream.read(int(headers.get("content-length", 0)))
    return Request(line[0].decode(), line[1].decode(), headers, body)


class HttpStandin(Standin):
    """A stand-in that speaks HTTP/1.1 with keep-alive. It defines step(request), answer(request) and
    refusal(action, number, text); an answer is a status, a body of bytes, and headers.

    ACTION  status   answers with an error made of NUMBER and TEXT, without carrying the request out
            late     carries the request out, then answers like status
            drop     ends the connection without carrying the request out
            lose     carries the request out and ends the connection instead of answering
            cut      carries the request out and ends the connection in the middle of the answer
            wrong    carries the request out and answers with a text that is not JSON
            wait     carries the request out and answers NUMBER milliseconds later

    `chunk`: bytes of each chunk of an answer; 0: answers have a length. `close_every`: ends a
    connection after that many answers, without a header that says so; 0: never.
    """

    ACTIONS = ("status", "late", "drop", "lose", "cut", "wrong", "wait")
    INSTEAD = ("status",)  # actions that answer with an error instead of carrying the request out
    OPTIONS = {**Standin.OPTIONS, "user": "", "password": "", "chunk": 0, "close_every": 0}

    def __init__(self, *rules, user="", password="", chunk=0, close_every=0, **options):
        self.user, self.password, self.chunk, self.close_every = user, password, chunk, close_every
        super().__init__(*rules, **options)

    def serve(self, sock):
        answers = 0
        with sock.makefile("rb") as stream:
            while (request := read_request(stream)) is not None:
                answers += 1
                is_last = answers == self.close_every
                # with TCP_CORK, the client receives the last answer together with the end of the connection
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, is_last)
                self.respond(sock, request)
                if is_last:
                    sock.shutdown(socket.SHUT_WR)
                if is_last or request.headers.get("connection", "").lower() == "close":
                    break

    def respond(self, sock, request):
        action, number, text = self.rules.meet(self.step(request))
        if action == "drop":
            raise Ended
        is_instead = action in self.INSTEAD
        answer = () if is_instead else self.answer(request)
        if action == "lose":
            raise Ended
        if action == "wait":
            time.sleep(number / 1000)
        if is_instead or action == "late":
            answer = self.refusal(action, number, text)
        status, body, headers = answer
        if action == "wrong":
            body = b"pong? no"
        if self.chunk:
            headers = {**headers, "Transfer-Encoding": "chunked"}
            parts = [body[at:at + self.chunk] for at in range(0, len(body), self.chunk)]
            body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in [*parts, b""])
        elif status != http.HTTPStatus.NO_CONTENT:
            headers = {**headers, "Content-Length": len(body)}
        lines = [f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}", *(
            f"{name}: {value}" for name, value in headers.items()), "\r\n"]
        sock.sendall("\r\n".join(lines).encode() + (body[:len(body) // 2] if action == "cut" else body))
        if action == "cut":
            raise Ended
