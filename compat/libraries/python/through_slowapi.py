"""slowapi: a Starlette application whose one route is limited, and its headers."""

import asyncio
from importlib.metadata import version

import httpx
from slowapi import Limiter, _rate_limit_exceeded_handler
from slowapi.errors import RateLimitExceeded
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from through_limits import until

NAME = f"slowapi {version('slowapi')}"
FLOWS = ("fixed-window", "moving-window")
ATOMIC = True


def limiter(uri, flow):
    def make(limit, seconds):
        limits = Limiter(
            key_func=lambda request: request.headers["X-Caller"],
            storage_uri=uri,
            strategy=flow,
            headers_enabled=True,
        )

        @limits.limit(f"{limit} per {seconds} second")
        def index(request):
            return PlainTextResponse("served")

        app = Starlette(routes=[Route("/", index)])
        app.state.limiter = limits
        app.add_exception_handler(RateLimitExceeded, _rate_limit_exceeded_handler)

        async def get(key):
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
                return await client.get("/", headers={"X-Caller": key})

        def hit(key):
            response = asyncio.run(get(key))
            return response.status_code == 200, {
                "status": response.status_code,
                "remaining": response.headers["X-RateLimit-Remaining"],
            } | until(flow, float(response.headers["X-RateLimit-Reset"]))

        return hit

    return make
