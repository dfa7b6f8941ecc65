"""Flask-Limiter across the edge of its window, and when its storage fails."""

import pytest
from flask import Flask
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address


@pytest.fixture
def site(zlimit):
    app = Flask("example")
    limiter = Limiter(
        get_remote_address, app=app, storage_uri=zlimit.url, strategy="fixed-window", swallow_errors=True
    )

    @app.get("/")
    @limiter.limit("3 per minute")
    def index():
        return "hello"

    return app.test_client()


@pytest.mark.zlimit_frozen
def test_window_edge(zlimit, site):
    assert [site.get("/").status_code for _ in range(4)] == [200, 200, 200, 429]
    zlimit.clock.advance(seconds=60, milliseconds=1)
    assert site.get("/").status_code == 200


@pytest.mark.zlimit_frozen
def test_errors_let_calls_pass(zlimit, site):
    for _ in range(3):
        site.get("/")
    fault = zlimit.faults.inject("refuse", text="ERR it broke", times=-1)
    assert site.get("/").status_code == 200
    assert fault.hits > 0
    fault.remove()
    assert site.get("/").status_code == 429
