"""A proxy between append and a real PostgreSQL that changes the bytes which they send to each other."""

import socket
import threading

import mariadb_proxy


class Proxy(mariadb_proxy.Proxy):
    """One server, any number of clients; `to_server(bytes)` and `to_client(bytes)` change what
    passes."""

    def __init__(self, case, url, to_server=bytes, to_client=bytes):
        self.to_server, self.to_client = to_server, to_client
        super().__init__(case, url)

    def relay(self, client):
        with client, socket.create_connection(("127.0.0.1", self.port_of_server)) as server:
            back = threading.Thread(target=self.copy, args=(server, client, self.to_client))
            back.start()
            self.copy(client, server, self.to_server)
            back.join()

    @staticmethod
    def copy(source, to, change):
        try:
            while data := source.recv(65536):
                to.sendall(change(data))
        except OSError:
            pass  # one of them hung up
        for end in (source, to):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # the other thread was first
