"""The example of zlimit's README."""

import redis


def allow(client: redis.Redis, user: str) -> bool:
    granted, limit, remaining, retry_after_ms, reset_after_ms = client.execute_command(
        "RL.ALLOW", f"user:{user}", 100, "1m"
    )
    return granted > 0


def test_readme(zlimit):
    client = zlimit.client()
    assert [allow(client, "42") for _ in range(101)] == [True] * 100 + [False]
