"""Flask-Limiter: an application whose one route is limited, and its headers."""

from importlib.metadata import version

from flask import Flask, request
from flask_limiter import Limiter

from through_limits import until

NAME = f"Flask-Limiter {version('Flask-Limiter')}"
FLOWS = ("fixed-window", "moving-window", "sliding-window-counter")
ATOMIC = True


def limiter(uri, flow):
    def make(limit, seconds):
        app = Flask(__name__)
        app.testing = True  # errors come out as they are, not as pages
        limits = Limiter(
            lambda: request.headers["X-Caller"],
            app=app,
            storage_uri=uri,
            strategy=flow,
            headers_enabled=True,
        )

        @app.get("/")
        @limits.limit(f"{limit} per {seconds} second")
        def index():
            return "served"

        def hit(key):
            response = app.test_client().get("/", headers={"X-Caller": key})
            return response.status_code == 200, {
                "status": response.status_code,
                "remaining": response.headers["X-RateLimit-Remaining"],
            } | until(flow, int(response.headers["X-RateLimit-Reset"]))

        return hit

    return make
