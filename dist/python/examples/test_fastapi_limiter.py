"""FastAPI with fastapi-limiter, whose script runs on the server."""

import contextlib

import pytest
import redis.asyncio
from fastapi import Depends, FastAPI
from fastapi.testclient import TestClient
from fastapi_limiter import FastAPILimiter
from fastapi_limiter.depends import RateLimiter


@pytest.fixture
def site(zlimit):
    @contextlib.asynccontextmanager
    async def lifespan(_):
        connection = redis.asyncio.from_url(zlimit.url, encoding="utf-8")
        await FastAPILimiter.init(connection)
        yield
        await FastAPILimiter.close()

    app = FastAPI(lifespan=lifespan)

    @app.get("/", dependencies=[Depends(RateLimiter(times=3, seconds=60))])
    async def index():
        return "hello"

    with TestClient(app) as client:
        yield client


@pytest.mark.zlimit_frozen
def test_window_edge(zlimit, site):
    assert [site.get("/").status_code for _ in range(4)] == [200, 200, 200, 429]
    zlimit.clock.advance(seconds=60, milliseconds=1)
    assert site.get("/").status_code == 200
