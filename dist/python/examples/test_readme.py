"""The examples of zlimit's README and its page of clients."""

import asyncio

import redis
import redis.asyncio


def allow(client: redis.Redis, user: str) -> bool:
    granted, limit, remaining, retry_after_ms, reset_after_ms = client.execute_command(
        "RL.ALLOW", f"user:{user}", 100, "1m"
    )
    return granted > 0


async def allow_async(client: redis.asyncio.Redis, user: str) -> bool:
    granted, limit, remaining, retry_after_ms, reset_after_ms = await client.execute_command(
        "RL.ALLOW", f"user:{user}", 100, "1m"
    )
    return granted > 0


def test_readme(zlimit):
    client = zlimit.client()
    assert [allow(client, "42") for _ in range(101)] == [True] * 100 + [False]


def test_async(zlimit):
    async def calls():
        async with redis.asyncio.Redis(host=zlimit.host, port=zlimit.port) as client:
            return [await allow_async(client, "42") for _ in range(101)]

    assert asyncio.run(calls()) == [True] * 100 + [False]
