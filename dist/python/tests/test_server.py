"""Servers from start to end, their clock and their faults."""

import gc
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

import zlimit

NOON = datetime(2030, 1, 1, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize("unix_socket", [False, True])
@pytest.mark.parametrize("password", [None, "p@ss/w ö"])
def test_start_and_stop(traces, unix_socket, password):
    with zlimit.Server(unix_socket=unix_socket, password=password) as server:
        assert server.execute("PING") == "PONG"
        with server.client(decode_responses=True) as client:
            assert client.set("k", "v")
        with redis.Redis.from_url(server.url, decode_responses=True) as client:
            assert client.get("k") == "v"
        assert server.pid > 0
        assert "listens on" in server.log
        assert (server.port == 0) is unix_socket
        del client
    gc.collect()
    traces.require_none()
    with pytest.raises(RuntimeError, match="does not run"):
        server.execute("PING")
    server.stop()  # once more is harmless


def test_cluster(traces):
    script = "return redis.call('INCR', KEYS[1]) + redis.call('INCR', KEYS[2])"
    with zlimit.Server(cluster=True) as server, server.cluster_client(decode_responses=True) as client:
        assert client.set("k", "v", px=1000)
        assert client.get("k") == "v"
        assert client.eval(script, 2, "{user}:minute", "{user}:day") == 2
        with pytest.raises(zlimit.ReplyError, match="^CROSSSLOT "):
            server.execute("EVAL", script, 2, "user:minute", "user:day")
        server.clock.freeze()
        server.clock.advance(milliseconds=1001)
        assert client.get("k") is None
        server.faults.inject("loading", on="INCR")
        server.reset()
        assert client.incr("{user}:minute") == 1
    with pytest.raises(ValueError, match="port"):
        zlimit.Server(cluster=True, unix_socket=True)


def test_restart(traces):
    server = zlimit.Server()
    for _ in range(2):
        server.start()
        assert server.execute("DBSIZE") == 0
        server.execute("SET", "k", "v")
        with pytest.raises(RuntimeError, match="runs already"):
            server.start()
        server.stop()
    traces.require_none()


def test_clock():
    with zlimit.Server() as server:
        clock = server.clock
        assert abs(clock.now() - datetime.now(timezone.utc)) < timedelta(minutes=1)
        clock.freeze()
        clock.set(NOON)
        server.execute("SET", "k", "v", "PX", 60_000)
        clock.advance(seconds=59, milliseconds=999)
        assert server.execute("PTTL", "k") == 1
        clock.advance(timedelta(milliseconds=2))
        assert server.execute("DBSIZE") == 0
        assert clock.now() == NOON + timedelta(seconds=60, milliseconds=1)
        clock.advance(days=1, hours=2, minutes=3)
        assert clock.now() == NOON + timedelta(days=1, hours=2, minutes=4, milliseconds=1)
        clock.resume()
        assert clock.now() >= NOON + timedelta(days=1)
        with clock.frozen():
            assert clock.now() == clock.now()


def test_clock_refusals():
    with zlimit.Server() as server:
        clock = server.clock
        clock.freeze()
        clock.set(NOON)
        with pytest.raises(ValueError, match="does not go back: advance by -1 s"):
            clock.advance(seconds=-1)
        with pytest.raises(ValueError, match="whole number of milliseconds"):
            clock.advance(timedelta(microseconds=1))
        with pytest.raises(ValueError, match="no time zone"):
            clock.set(datetime(2030, 1, 1))
        server.execute("SET", "k", "v")
        with pytest.raises(zlimit.ReplyError, match="back only on an empty keyspace"):
            clock.set(NOON - timedelta(hours=1))
        with pytest.raises(zlimit.ReplyError, match="what is left until"):
            clock.advance(days=100_000)
        assert clock.now() == NOON


def test_allow():
    second = timedelta(seconds=1)
    with zlimit.Server() as server:
        server.clock.freeze()
        admitted = server.allow("k", 10, "1m", cost=4)
        assert admitted == zlimit.Decision(4, 10, 6, timedelta(0), 60 * second)
        assert admitted
        server.clock.advance(seconds=10)
        assert server.allow("k", 10, 60 * second).allowed == 1
        server.clock.advance(seconds=10)
        denied = server.allow("k", 10, 60 * second, cost=7)
        assert denied == zlimit.Decision(0, 10, 5, 40 * second, 50 * second)
        assert not denied
        assert server.allow("k", 10, "1m", cost=0) == zlimit.Decision(1, 10, 5, timedelta(0), 50 * second)
        never = server.allow("k", 10, "1m", cost=11)
        assert never == zlimit.Decision(0, 10, 5, zlimit.NEVER, 50 * second)
        with pytest.raises(ValueError, match="does not go back"):
            server.clock.advance(never.retry_after)
        gcra = server.allow(b"\xff", 60, "1m", cost=2, algorithm="GCRA 5")
        assert gcra == zlimit.Decision(2, 60, 3, timedelta(0), 2 * second)
        with pytest.raises(AttributeError):
            gcra.allowed = 1


def test_allow_refusals():
    with zlimit.Server() as server:
        for arguments, text in [
            (dict(limit=-1), "^ERR limit must not be negative"),
            (dict(algorithm="NOPE"), "^ERR ALGO 'NOPE' is not"),
            (dict(window="1 minute"), "^ERR window must be"),
        ]:
            with pytest.raises(zlimit.ReplyError, match=text):
                server.allow(**{"key": "k", "limit": 1, "window": "1m", **arguments})
        with pytest.raises(ValueError, match="whole number of milliseconds: a window of 0.0015 s"):
            server.allow("k", 1, timedelta(microseconds=1500))
        for wrong in [60, 1.5, None]:
            with pytest.raises(TypeError, match=r"timedelta\(seconds=60\) or '60s', not"):
                server.allow("k", 1, wrong)
        assert server.execute("EXISTS", "k") == 0


def test_faults():
    with zlimit.Server() as server:
        faults = server.faults
        with server.client(decode_responses=True, retry=Retry(NoBackoff(), 0)) as client:
            client.ping()
            for kind, error in [
                ("loading", redis.exceptions.BusyLoadingError),
                ("oom", redis.exceptions.OutOfMemoryError),
                ("readonly", redis.exceptions.ReadOnlyError),
                ("close", redis.exceptions.ConnectionError),
                ("drop-reply", redis.exceptions.ConnectionError),
            ]:
                fault = faults.inject(kind, on="INCRBY")
                with pytest.raises(error):
                    client.incr("n")
                assert (fault.hits, fault.left) == (1, 0), kind
            assert client.incr("n") == 2, "drop-reply alone has run the command"
            with pytest.raises(redis.exceptions.NoScriptError):
                faults.inject("noscript")
                client.evalsha("e0e1f9fabfc9d4800c877a703b823ac0578ff8db", 0)
            permanent = faults.inject("refuse", text="ERR it broke", times=zlimit.ALWAYS)
            for _ in range(3):
                with pytest.raises(redis.exceptions.ResponseError, match="it broke"):
                    client.get("n")
            assert (permanent.hits, permanent.left) == (3, zlimit.ALWAYS)
            permanent.remove()
            permanent.remove()
            assert permanent.hits == 0
            faults.inject("delay", after=timedelta(milliseconds=1))
            assert client.get("n") == "2"
        for wrong, text in [
            (dict(kind="explode"), "kind must be"),
            (dict(kind="refuse"), "REFUSE needs TEXT"),
            (dict(kind="delay", on="DEBUG"), "ON must be a command"),
            (dict(kind="close", times=0), "TIMES must be"),
            (dict(kind="close", on="NOSUCH"), "ON must be a command"),
            (dict(kind="delay", after=timedelta(days=2)), "AFTER must be"),
        ]:
            with pytest.raises(zlimit.ReplyError, match=text):
                faults.inject(**wrong)


def test_muted_command_has_run():
    with zlimit.Server() as server:
        muted = server.faults.inject("mute", on="INCR")
        with socket.create_connection((server.host, server.port)) as client:
            client.sendall(b"INCR n\r\nPING\r\n")
            muted.wait()
            while server.execute("GET", "n") != "1":
                pass  # it may be on its way
            host, port = client.getsockname()
            assert f" addr={host}:{port} " in server.execute("CLIENT", "LIST"), "the connection stays open"
            client.setblocking(False)
            with pytest.raises(BlockingIOError):
                client.recv(1)


def test_delay_until_removed():
    with zlimit.Server() as server, ThreadPoolExecutor() as pool, server.client() as client:
        for release in [lambda fault: fault.remove(), lambda _: server.faults.clear(), lambda _: server.reset()]:
            held = server.faults.inject("delay", on="INCRBY", until_removed=True)
            reply = pool.submit(client.incr, "n")
            held.wait()
            assert (held.hits, held.left) == (1, 0)
            assert server.execute("EXISTS", "n") == 0
            assert not reply.done()
            release(held)
            assert reply.result() == 1
            server.reset()
        refused = server.faults.inject("refuse", text="ERR late", until_removed=True)
        reply = pool.submit(client.incr, "n")
        refused.wait()
        refused.remove()
        with pytest.raises(redis.exceptions.ResponseError, match="late"):
            reply.result()
        with pytest.raises(TimeoutError, match="no command within 0 s"):
            server.faults.inject("delay", until_removed=True).wait(timeout=0)


def test_reset():
    with zlimit.Server() as server:
        server.clock.freeze()
        server.clock.set(NOON)
        server.execute("SET", "k", "v")
        server.execute("CONFIG", "SET", "maxmemory", "1mb")
        server.execute("ACL", "SETUSER", "other", "on", "nopass")
        server.faults.inject("loading")
        server.reset()
        assert server.execute("DBSIZE") == 0
        assert server.execute("CONFIG", "GET", "maxmemory") == ["maxmemory", "0"]
        assert server.execute("ACL", "USERS") == ["default"]
        assert abs(server.clock.now() - datetime.now(timezone.utc)) < timedelta(minutes=1)


def test_key_lives_until_after_its_deadline():
    with zlimit.Server() as server:
        server.clock.freeze()
        server.execute("SET", "k", "v", "PX", 60_000)
        server.clock.advance(seconds=60)
        assert server.execute("EXISTS", "k") == 1
        server.clock.advance(milliseconds=1)
        assert server.execute("EXISTS", "k") == 0


def test_two_servers_are_apart():
    with zlimit.Server() as one, zlimit.Server() as other:
        one.execute("SET", "k", "v")
        one.clock.freeze()
        one.clock.advance(hours=1)
        assert other.execute("DBSIZE") == 0
        assert one.clock.now() - other.clock.now() > timedelta(minutes=59)


def test_many_servers_leave_nothing(traces, pytestconfig):
    for i in range(pytestconfig.getoption("--servers")):
        with zlimit.Server(unix_socket=i % 2 == 0) as server:
            server.execute("PING")
    traces.require_none()


def test_commands():
    for command in [[sys.executable, "-m", "zlimit"], [os.path.join(os.path.dirname(sys.executable), "zlimit-server")]]:
        said = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert said.stdout.startswith("zlimit-server ")
        assert subprocess.run([*command, "--nosuch", "1"], capture_output=True).returncode == 1
