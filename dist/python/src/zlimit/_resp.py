"""A minimal client of the Redis protocol, for the commands that control the server."""

from __future__ import annotations

import socket
import threading
from typing import Any, Optional, Union

Argument = Union[str, bytes, int, float]


class ReplyError(Exception):
    """The server's reply to a command is this error."""


class Connection:
    """A connection, which threads may share."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._input = sock.makefile("rb")
        self._lock = threading.Lock()

    def close(self) -> None:
        self._input.close()
        self._socket.close()

    def ended(self) -> bool:
        """Report whether call or the server has closed the connection, as CLIENT KILL of a test does."""
        with self._lock:
            if self._socket.fileno() < 0:
                return True
            timeout = self._socket.gettimeout()
            self._socket.setblocking(False)
            try:
                return not self._socket.recv(1, socket.MSG_PEEK)
            except BlockingIOError:
                return False
            except OSError:
                return True
            finally:
                self._socket.settimeout(timeout)

    def call(self, *args: Argument) -> Any:
        """Send a command and return its reply: int, str, None or a list of these."""
        words = [a if isinstance(a, bytes) else str(a).encode() for a in args]
        command = b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)
        with self._lock:
            try:
                self._socket.sendall(command)
                reply = self._reply()
            except BaseException:
                self.close()  # a late reply would answer the next command
                raise
        if isinstance(reply, ReplyError):
            raise reply
        return reply

    def _reply(self) -> Any:
        line = self._input.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server has closed the connection")
        kind, text = line[:1], line[1:-2].decode()
        if kind == b"-":
            return ReplyError(text)
        if kind == b"+":
            return text
        if kind == b":":
            return int(text)
        if text == "-1":
            return None
        if kind == b"$":
            return self._input.read(int(text) + 2)[:-2].decode(errors="surrogateescape")
        return [self._reply() for _ in range(int(text))]


def connect(host: str, port: int, unix_socket: Optional[str], timeout: float) -> Connection:
    if unix_socket is None:
        return Connection(socket.create_connection((host, port), timeout))
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(timeout)
    try:
        sock.connect(unix_socket)
    except BaseException:
        sock.close()
        raise
    return Connection(sock)
