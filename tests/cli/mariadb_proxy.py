"""A proxy between append and a real MariaDB that imitates another server, or misbehaves."""

import re
import select
import socket
import struct
import threading

QUERY, PREPARE, BULK = 0x03, 0x16, 0xfa  # commands of the protocol
CLIENT_MYSQL, CLIENT_SSL = 1, 0x800
BULK_OPERATIONS = 1 << 2  # in the 32 bits that only MariaDB sends


def packet(number, payload):
    return struct.pack("<I", len(payload))[:3] + bytes([number]) + payload


def change_greeting(payload, version=None, is_mariadb=True, clear=0):
    """Returns the server's first packet with another version, or without some capabilities."""
    end = payload.index(b"\0", 1)
    tail = bytearray(payload[end + 1:])
    # Sizes in bytes: thread id 4, scramble 8, filler 1, capabilities 2, character set 1, status 2,
    # capabilities 2, length 1, filler 6, MariaDB's capabilities 4.
    capabilities = tail[27:31]
    tail[27:31] = struct.pack("<I", struct.unpack("<I", capabilities)[0] & ~clear)
    if not is_mariadb:
        low = struct.unpack_from("<H", tail, 13)[0]
        struct.pack_into("<H", tail, 13, low | CLIENT_MYSQL)
        tail[27:31] = bytes(4)
    name = version.encode() if version is not None else payload[1:end]
    return payload[:1] + name + b"\0" + bytes(tail)


class Proxy:
    """A proxy for one server and any number of clients. `greeting` changes the payload of the first
    packet. `answer(number, command, body)` is called for each command and returns None (the server
    answers) or bytes (the proxy sends them and hangs up). `spoil(bytes)` changes the server's data
    after the greeting."""

    def __init__(self, case, url, greeting=None, answer=None, spoil=None):
        self.port_of_server = int(re.search(r":(\d+)/", url).group(1))
        self.greeting, self.answer, self.spoil = greeting, answer, spoil
        self.commands = []
        self.statements = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.threads = [threading.Thread(target=self.accept)]
        self.threads[0].start()
        self.url = re.sub(r":\d+/", f":{self.listener.getsockname()[1]}/", url)
        case.addCleanup(self.close)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self.relay, args=(client,))
            self.threads.append(thread)
            thread.start()

    def relay(self, client):
        server = socket.create_connection(("127.0.0.1", self.port_of_server))
        try:
            with client, server:
                self.greet(client, server)
                self.pump(client, server)
        except OSError:
            pass  # one of them hung up

    def greet(self, client, server):
        head = server.recv(4, socket.MSG_WAITALL)
        payload = server.recv(int.from_bytes(head[:3], "little"), socket.MSG_WAITALL)
        if self.greeting is not None:
            payload = self.greeting(payload)
        client.sendall(packet(head[3], payload))

    def pump(self, client, server):
        rest = b""
        while True:
            ready, _, _ = select.select([client, server], [], [])
            if server in ready:
                data = server.recv(65536)
                if not data:
                    return
                client.sendall(self.spoil(data) if self.spoil is not None else data)
            if client in ready:
                data = client.recv(65536)
                if not data:
                    return
                rest += data
                while len(rest) >= 4 and len(rest) >= 4 + int.from_bytes(rest[:3], "little"):
                    size = 4 + int.from_bytes(rest[:3], "little")
                    answer = self.note(rest[3], rest[4:size])
                    if answer is not None:
                        client.sendall(answer)
                        return
                    server.sendall(rest[:size])
                    rest = rest[size:]

    def note(self, number, payload):
        """Notes a command, which is a packet with number 0. Returns the proxy's answer, or None if the server is to
        answer."""
        if number != 0 or not payload:
            return None
        self.commands.append(payload[0])
        if payload[0] == QUERY:
            self.statements.append(payload[1:].decode(errors="replace"))
        if self.answer is None:
            return None
        return self.answer(len(self.commands), payload[0], payload[1:])
