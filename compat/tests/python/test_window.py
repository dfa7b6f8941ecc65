"""A limiter's window edge, without sleeping."""

import pytest


def allow(server, key, limit=3, window="10s"):
    granted, *_ = server.client.execute_command("RL.ALLOW", key, limit, window)
    return granted > 0


@pytest.mark.parametrize(
    ("passed", "admitted"),
    [(0, False), (9_999, False), (10_000, True), (3_600_000, True)],
)
def test_window_edge(server, passed, admitted):
    assert [allow(server, "user:42") for _ in range(4)] == [True, True, True, False]
    server.advance(passed)
    assert allow(server, "user:42") is admitted


def test_retry_after_is_exact(server):
    assert allow(server, "user:42", limit=1)
    server.advance(1_234)
    granted, limit, remaining, retry_after, reset_after = server.client.execute_command("RL.ALLOW", "user:42", 1, "10s")
    assert (granted, limit, remaining, retry_after) == (0, 1, 0, 8_766)
    server.advance(retry_after - 1)
    assert not allow(server, "user:42", limit=1)
    server.advance(1)
    assert allow(server, "user:42", limit=1)


def test_expiry_follows_the_same_clock(server):
    server.client.set("session", "x", ex=60)
    server.advance(59_000)
    assert server.client.ttl("session") == 1
    server.advance(1_001)
    assert server.client.dbsize() == 0
