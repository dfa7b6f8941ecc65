"""Machines and callers that are not as a package wants them."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path

import pytest

import zlimit
from zlimit import _binary

NOTHING = """
import sys, zlimit
server = zlimit.Server(unix_socket=True).start()
print(server.pid, server.unix_socket, flush=True)
sys.stdin.read()
"""


def eventually(condition):
    """Wait until a condition holds; it is bounded by the length of a failure only."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        os.sched_yield()


def runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
def test_killed_test_process_leaves_nothing(traces):
    test = subprocess.Popen(
        [sys.executable, "-c", NOTHING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": traces.folder},
    )
    pid, path = test.stdout.readline().rstrip("\n").split(" ", 1)
    assert runs(pid) and Path(path).exists()
    test.send_signal(signal.SIGKILL)
    test.wait()
    test.stdin.close()
    test.stdout.close()
    eventually(lambda: not runs(pid))
    eventually(lambda: not Path(path).exists())
    traces.require_none()


def test_killed_server(traces):
    server = zlimit.Server(unix_socket=True).start()
    os.kill(server.pid, signal.SIGKILL)
    with pytest.raises(OSError):
        while True:
            server.execute("PING")
    server.stop()
    traces.require_none()


def test_killed_connections(traces):
    with zlimit.Server() as server:
        server.clock.freeze()
        with server.client() as client:
            client.execute_command("CLIENT", "KILL", "TYPE", "normal")
        before = server.clock.now()
        server.clock.advance(seconds=1)
        assert (server.clock.now() - before).total_seconds() == 1
    traces.require_none()


def test_no_reply_in_time(traces):
    with zlimit.Server() as server:
        server.faults.inject("mute", on="RL.ALLOW")
        server._control._socket.settimeout(0.01)
        with pytest.raises(OSError, match="timed out"):
            server.allow("k", 3, "1m")
        server.reset()
        assert server.allow("k", 3, "1m")
    traces.require_none()


def test_unsupported_platform(monkeypatch, tmp_path):
    monkeypatch.delenv("ZLIMIT_SERVER", raising=False)
    monkeypatch.setattr(_binary, "__file__", str(tmp_path / "_binary.py"))
    with pytest.raises(zlimit.UnsupportedPlatformError, match="there are wheels for Linux x86_64, Linux aarch64"):
        zlimit.Server().start()
    assert _binary.run(["--version"]) == 1


@pytest.mark.parametrize("folder", ["plain", "with space", "zwölf-日本"])
def test_binary_anywhere(tmp_path, folder, traces):
    binary = tmp_path / folder / "zlimit-server"
    binary.parent.mkdir()
    shutil.copy(zlimit.find_binary(), binary)
    with zlimit.Server(binary=binary) as server:
        assert server.execute("PING") == "PONG"
    traces.require_none()


def test_no_permission_to_execute(tmp_path, traces, monkeypatch):
    binary = tmp_path / "zlimit-server"
    shutil.copy(zlimit.find_binary(), binary)
    binary.chmod(stat.S_IRUSR | stat.S_IWUSR)
    with zlimit.Server(binary=binary) as server:
        assert server.execute("PING") == "PONG"
    assert os.access(binary, os.X_OK)

    binary.chmod(stat.S_IRUSR)

    def refuse(*_, **__):
        raise PermissionError("read-only file system")

    monkeypatch.setattr(Path, "chmod", refuse)
    with zlimit.Server(binary=binary) as server:  # from a copy, which is removed at once
        assert server.execute("PING") == "PONG"
        assert os.listdir(traces.folder) == []
    traces.require_none()


READ_ONLY = """
import pathlib, sys

def refuse(*_, **__):
    raise PermissionError("read-only file system")

pathlib.Path.chmod = refuse
from zlimit._binary import run
sys.exit(run(["--version"]))
"""


@pytest.mark.skipif(os.execve not in os.supports_fd, reason="the copy stays")
def test_command_without_permission_to_execute(tmp_path, traces):
    binary = tmp_path / "zlimit-server"
    shutil.copy(zlimit.find_binary(), binary)
    binary.chmod(stat.S_IRUSR)
    said = subprocess.run(
        [sys.executable, "-c", READ_ONLY],
        env={**os.environ, "ZLIMIT_SERVER": str(binary), "TMPDIR": traces.folder},
        capture_output=True,
        text=True,
    )
    assert said.stdout.startswith("zlimit-server "), said.stderr
    traces.require_none()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="nobody can write into /proc, not even root")
@pytest.mark.parametrize("folder", ["/proc", "/nonexistent"])
def test_read_only_home(folder):
    code = "import zlimit\nwith zlimit.Server() as server: print(server.execute('PING'))"
    environment = {**os.environ, "HOME": folder, "TMPDIR": folder, "XDG_CACHE_HOME": folder, "PYTHONPATH": ""}
    said = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd="/proc", capture_output=True, text=True
    )
    assert said.stdout == "PONG\n", said.stderr


def test_no_binary(tmp_path):
    with pytest.raises(zlimit.StartError, match="cannot be run: .*No such file"):
        zlimit.Server(binary=tmp_path / "none").start()
    text = tmp_path / "text"
    text.write_text("not a program")
    text.chmod(0o700)
    with pytest.raises(zlimit.StartError, match="cannot be run"):
        zlimit.Server(binary=text).start()


def test_port_taken(traces):
    with zlimit.Server() as first:
        with pytest.raises(zlimit.StartError, match=f"port {first.port} is in use"):
            zlimit.Server(port=first.port).start()
    with zlimit.Server(port=first.port) as again:
        assert again.port == first.port
    traces.require_none()


def test_wrong_directive(traces):
    with pytest.raises(zlimit.StartError, match="nosuch"):
        zlimit.Server("--nosuch", "1").start()
    with pytest.raises(zlimit.StartError, match="unixsocket"):
        zlimit.Server(unix_socket="/nonexistent/folder/s.sock").start()
    traces.require_none()


def test_without_debug_commands():
    with zlimit.Server("--enable-debug-command", "no") as server:
        assert server.execute("PING") == "PONG"
        for call in [server.clock.freeze, server.faults.clear, server.reset, lambda: server.clock.advance(seconds=1)]:
            with pytest.raises(zlimit.DebugDisabledError, match="enable-debug-command no"):
                call()


def test_log_of_any_length():
    with zlimit.Server() as server:
        for i in range(3000):
            server.execute("DEBUG", "LOG", "x" * 200 + f" {i}")
        eventually(lambda: server.log.endswith("2999"))
        assert len(server.log.splitlines()) == 1000


def test_log_position_waits_for_what_was_logged():
    release = threading.Event()

    class Slow(deque):
        def append(self, line):
            release.wait(60)
            super().append(line)

    with zlimit.Server() as server:
        server._lines = Slow(server._lines)
        server.execute("DEBUG", "LOG", "before")
        threading.Timer(0.05, release.set).start()
        position = server.log_position
        server.execute("DEBUG", "LOG", "after")
        lines = server.log_since(position).splitlines()
        assert [line.split("LOG: ")[1] for line in lines] == ["after"]


@pytest.mark.parametrize("directives", [["--enable-debug-command", "no"], ["--logfile", os.devnull]])
def test_log_position_without_marks(directives):
    with zlimit.Server(*directives) as server:
        assert server.log_since(server.log_position) == ""
        os.kill(server.pid, signal.SIGKILL)
        server.log_since(server.log_position)


def test_without_redis_py(monkeypatch):
    monkeypatch.setitem(sys.modules, "redis", None)
    with zlimit.Server() as server, pytest.raises(ImportError, match="pip install redis"):
        server.client()


def test_advance_by_a_number():
    with zlimit.Server() as server:
        for wrong in [60, 1.5, "1m", None]:
            with pytest.raises(TypeError, match=r"advance\(seconds=60\) or advance\(timedelta\("):
                server.clock.advance(wrong)


def test_execute_without_start():
    for call in [lambda s: s.execute("PING"), lambda s: s.clock.advance(seconds=1), lambda s: s.reset()]:
        with pytest.raises(RuntimeError, match=r"start\(\).*with"):
            call(zlimit.Server())
    server = zlimit.Server().start()
    server.stop()
    with pytest.raises(RuntimeError, match=r"start\(\).*with"):
        server.execute("PING")
