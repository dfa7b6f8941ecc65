"""A limiter's window edge, without sleeping."""

import pytest

pytestmark = pytest.mark.zlimit_frozen


def allow(client, key, limit=3, window="10s"):
    granted, *_ = client.execute_command("RL.ALLOW", key, limit, window)
    return granted > 0


@pytest.mark.parametrize(
    ("passed", "admitted"),
    [(0, False), (9_999, False), (10_000, True), (3_600_000, True)],
)
def test_window_edge(zlimit, passed, admitted):
    client = zlimit.client()
    assert [allow(client, "user:42") for _ in range(4)] == [True, True, True, False]
    zlimit.clock.advance(milliseconds=passed)
    assert allow(client, "user:42") is admitted


def test_retry_after_is_exact(zlimit):
    client = zlimit.client()
    assert allow(client, "user:42", limit=1)
    zlimit.clock.advance(seconds=1.234)
    granted, limit, remaining, retry_after, reset_after = client.execute_command("RL.ALLOW", "user:42", 1, "10s")
    assert (granted, limit, remaining, retry_after) == (0, 1, 0, 8_766)
    zlimit.clock.advance(milliseconds=retry_after - 1)
    assert not allow(client, "user:42", limit=1)
    zlimit.clock.advance(milliseconds=1)
    assert allow(client, "user:42", limit=1)


def test_expiry_follows_the_same_clock(zlimit):
    client = zlimit.client()
    client.set("session", "x", ex=60)
    zlimit.clock.advance(seconds=59)
    assert client.ttl("session") == 1
    zlimit.clock.advance(seconds=1.001)
    assert client.dbsize() == 0
