"""A server process."""

from __future__ import annotations

import os
import secrets
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, Union
from urllib.parse import quote

from ._binary import executable, find_binary
from ._clock import MILLISECOND, Clock
from ._decision import Decision
from ._faults import Faults
from ._resp import Argument, Connection, ReplyError, connect
from ._terms import Key, Settlement, Term, TermDecision, Window
from ._terms import milliseconds, settlements, term_decision

if TYPE_CHECKING:
    import redis
    import redis.asyncio

STARTING = 30.0
ENDING = 5.0
MARKING = 1.0  # it takes this long only if the log goes elsewhere
LINES = 1000


class StartError(RuntimeError):
    """The server could not start. The text has what it said."""


class DebugDisabledError(RuntimeError):
    """The server was started with enable-debug-command no: its clock and faults are out of reach."""


class Server:
    """A zlimit-server of one's own, for the length of a with statement.

        with Server() as server:
            client = server.client()

    directives are as on the server's command line: ``Server("--requirepass", "secret")``.
    """

    host = "127.0.0.1"

    def __init__(
        self,
        *directives: str,
        port: int = 0,
        unix_socket: Union[bool, str, "os.PathLike[str]"] = False,
        password: Optional[str] = None,
        cluster: bool = False,
        binary: Union[str, "os.PathLike[str]", None] = None,
    ) -> None:
        """Describe a server; start starts it.

        port: 0 means any free one.
        unix_socket: True for a socket in the temporary directory instead of a port, or its path.
        password: for the directive requirepass.
        cluster: the server is a cluster of one node, and refuses what a cluster refuses.
        binary: instead of the one of this package or of ZLIMIT_SERVER.
        """
        if cluster and unix_socket:
            raise ValueError("clients of a cluster connect to a port: cluster=True goes without unix_socket")
        self.port = port
        self.unix_socket: Optional[str] = None
        if unix_socket is True:
            self.unix_socket = os.path.join(tempfile.gettempdir(), f"zlimit-{secrets.token_hex(8)}.sock")
        elif unix_socket:
            self.unix_socket = os.fspath(unix_socket)
        self.clock = Clock(self._debug, self.execute)
        self.faults = Faults(self._debug)
        self._password = password
        self._cluster = cluster
        self._wanted_port = port
        self._directives = directives
        self._binary = binary
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._control: Optional[Connection] = None
        self._lines: deque[str] = deque(maxlen=LINES)
        self._read = 0
        self._mark = ""
        self._marked = threading.Event()

    def start(self) -> Server:
        """Start the server. When start returns, it answers."""
        if self._process is not None:
            raise RuntimeError("the server runs already")
        binary, copy = executable(find_binary() if self._binary is None else Path(self._binary))
        try:
            self._process = subprocess.Popen(
                [os.fspath(binary), *self._arguments()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a Ctrl-C at the terminal is for the test alone
            )
        except OSError as error:
            raise StartError(f"{binary} cannot be run: {error}") from error
        finally:
            if copy is not None and self._process is None:
                copy.unlink()
        try:
            self._await_ready(self._process, copy)
        except BaseException:
            self.stop()
            raise
        return self

    def _arguments(self) -> list[str]:
        own = ["--ready-line", "yes", "--exit-with-stdin", "yes", "--enable-debug-command", "yes"]
        own += ["--log-format", "text", "--huge-pages", "no", "--port", str(self._wanted_port)]
        if self.unix_socket is None:
            own += ["--bind", self.host]
        else:
            own += ["--unixsocket", self.unix_socket, "--unixsocketperm", "700"]
        if self._password is not None:
            own += ["--requirepass", self._password]
        if self._cluster:
            own += ["--cluster-enabled", "yes", "--cluster-config-file", "", "--cluster-announce-ip", self.host]
        return [*own, *self._directives]

    def _await_ready(self, process: subprocess.Popen[bytes], copy: Optional[Path]) -> None:
        ready = threading.Event()
        self._reader = threading.Thread(target=self._drain, args=(process, ready), daemon=True)
        self._reader.start()
        if not ready.wait(STARTING):
            raise StartError(f"zlimit-server was not ready after {STARTING:g} s:\n{self.log}")
        if copy is not None:
            copy.unlink()
        if self._ready is None:
            raise StartError(f"zlimit-server did not start:\n{self.log}")
        if self.unix_socket is None:
            self.port = int(self._ready["port"])

    def _drain(self, process: subprocess.Popen[bytes], ready: threading.Event) -> None:
        """Read what the server writes, which is its log but for one line, so that it never waits."""
        assert process.stdout is not None
        self._ready: Optional[dict[str, str]] = None
        for raw in process.stdout:
            line = raw.decode(errors="replace").rstrip("\n")
            if self._ready is None and line.startswith("ready "):
                self._ready = dict(word.split("=", 1) for word in line.split()[1:])
                ready.set()
                continue
            if self._mark and self._mark in line:
                self._marked.set()
                continue
            self._lines.append(line)
            self._read += 1
        process.stdout.close()
        ready.set()

    def stop(self) -> None:
        """Stop the server, if it runs. Nothing of it is left."""
        process, self._process = self._process, None
        if process is None:
            return
        if self._control is not None:
            self._control.close()
            self._control = None
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(ENDING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._reader.join()
        if self.unix_socket is not None:
            Path(self.unix_socket).unlink(missing_ok=True)  # left by a server that was killed

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The process id."""
        if self._process is None:
            raise RuntimeError("the server does not run: call start() or use it in a with statement")
        return self._process.pid

    @property
    def url(self) -> str:
        """The address as clients take it: redis://127.0.0.1:40123/0 or unix:///tmp/x.sock?db=0."""
        user = "" if self._password is None else f":{quote(self._password, safe='')}@"
        if self.unix_socket is not None:
            return f"unix://{user}{quote(self.unix_socket)}?db=0"
        return f"redis://{user}{self.host}:{self.port}/0"

    @property
    def log(self) -> str:
        """The last thousand lines of the server's log."""
        return "\n".join(self._lines)

    def log_since(self, position: int) -> str:
        """Return the lines of the log since an earlier log_position, as far as they are kept."""
        self._await_log()
        count = min(self._read - position, len(self._lines))
        return "\n".join(list(self._lines)[len(self._lines) - count :])

    @property
    def log_position(self) -> int:
        """How many lines the server has logged."""
        self._await_log()
        return self._read

    def _await_log(self) -> None:
        """Wait until everything was read that the server has logged: replies may come sooner than lines."""
        if self._process is None:
            return
        self._mark = secrets.token_hex(8)
        self._marked.clear()
        try:
            self._debug("LOG", self._mark)
        except (OSError, ReplyError, DebugDisabledError):
            return  # it has ended, or has no debug commands
        self._marked.wait(MARKING)

    def client(self, **options: Any) -> redis.Redis:
        """Return a client of redis-py, with its options: ``decode_responses=True`` for example."""
        client: redis.Redis = _redis().Redis(**self._address(), **options)
        return client

    def cluster_client(self, **options: Any) -> redis.RedisCluster:
        """Return a cluster client of redis-py, for a server with ``cluster=True``."""
        client: redis.RedisCluster = _redis().RedisCluster(**self._address(), **options)
        return client

    def async_client(self, **options: Any) -> redis.asyncio.Redis:
        """Return a client of redis.asyncio."""
        _redis()
        import redis.asyncio

        return redis.asyncio.Redis(**self._address(), **options)

    def _address(self) -> dict[str, Any]:
        where: dict[str, Any] = {"password": self._password}
        if self.unix_socket is not None:
            return {**where, "unix_socket_path": self.unix_socket}
        return {**where, "host": self.host, "port": self.port}

    def execute(self, *args: Argument) -> Any:
        """Run one command on a connection of the server's own, and return the reply: int, str, None or a
        list. It needs no client library. Errors raise ReplyError."""
        if self._process is None:
            raise RuntimeError("the server does not run: call start() or use it in a with statement")
        if self._control is not None and self._control.ended():
            self._control.close()
            self._control = None
        if self._control is None:
            control = connect(self.host, self.port, self.unix_socket, STARTING)
            if self._password is not None:
                control.call("AUTH", self._password)
            self._control = control
        return self._control.call(*args)

    def allow(
        self,
        key: Key,
        limit: int,
        window: Window,
        *,
        cost: int = 1,
        algorithm: str = "",
    ) -> Decision:
        """Run RL.ALLOW as execute does, and return the reply.

        window: a timedelta of whole milliseconds, or as in the command: "1m".
        cost: how many units the call takes, all or none; 0 takes none and answers for one unit.
        algorithm: as behind ALGO: "FIXED" or "GCRA 10" for example.
        """
        options = ["ALGO", *algorithm.split()] if algorithm else []
        reply = self.execute("RL.ALLOW", key, limit, milliseconds("window", window), "COST", cost, *options)
        allowed, limit, remaining, retry_after_ms, reset_after_ms = reply
        return Decision(allowed, limit, remaining, retry_after_ms * MILLISECOND, reset_after_ms * MILLISECOND)

    def allow_all(
        self,
        terms: Sequence[Term],
        *,
        hold: Optional[Window] = None,
        id: Optional[Key] = None,
    ) -> TermDecision:
        """Run RL.MALLOW with these terms and return the decision of the binding one. All admit the call, or
        it consumes nothing.

        id: names the call, which Slots and hold need.
        hold: runs RL.MRESERVE instead: costs are estimates, and until hold has passed settle or cancel
        corrects them.
        """
        arguments: list[Argument] = [len(terms), *(term.key for term in terms)]
        for term in terms:
            arguments += term._arguments
        if hold is not None:
            arguments += ["HOLD", milliseconds("hold", hold)]
        if id is not None:
            arguments += ["ID", id]
        return term_decision(self.execute("RL.MALLOW" if hold is None else "RL.MRESERVE", *arguments))

    def settle(self, keys: Sequence[Key], id: Key, actuals: Sequence[int]) -> list[Settlement]:
        """Run RL.MSETTLE with the actual cost of each key, any number for Slots. Return what it did to each;
        once more it returns the same and changes nothing. The list is empty if the id has no hold."""
        return settlements(self.execute("RL.MSETTLE", len(keys), *keys, id, *actuals))

    def cancel(self, keys: Sequence[Key], id: Key) -> list[int]:
        """Run RL.MCANCEL and return the units given back of each key, 1 for a slot. The list is empty if the
        id has no hold."""
        return self.execute("RL.MCANCEL", len(keys), *keys, id) or []

    def reset(self) -> None:
        """Remove all keys, scripts, functions and faults, undo CONFIG SET and ACL, and set the clock to the
        system's time."""
        self._debug("RESET")

    def _debug(self, *args: Argument) -> Any:
        try:
            return self.execute("DEBUG", *args)
        except ReplyError as error:
            if str(error).startswith("ERR DEBUG command not allowed"):
                raise DebugDisabledError(
                    "the server was started with enable-debug-command no: it has no clock to move and no "
                    "faults to inject"
                ) from None
            raise


def _redis() -> Any:
    try:
        import redis
    except ImportError:
        raise ImportError(
            "server.client() needs redis-py: pip install redis. Other clients connect to server.url"
        ) from None
    return redis
