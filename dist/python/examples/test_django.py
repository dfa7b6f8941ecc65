"""A Django view behind a limit, with Django's own Redis cache."""

import django
import pytest
from django.conf import settings
from django.core.cache import cache
from django.http import HttpResponse
from django.test import RequestFactory

LIMIT, WINDOW = 3, 60


@pytest.fixture
def site(zlimit):
    if not settings.configured:
        settings.configure(
            CACHES={
                "default": {
                    "BACKEND": "django.core.cache.backends.redis.RedisCache",
                    "LOCATION": zlimit.url,
                }
            }
        )
        django.setup()
    return zlimit


def view(request):
    key = f"calls:{request.META['REMOTE_ADDR']}"
    cache.add(key, 0, timeout=WINDOW)
    if cache.incr(key) > LIMIT:
        return HttpResponse("slow down", status=429)
    return HttpResponse("hello")


@pytest.mark.zlimit_frozen
def test_view_is_limited(site):
    def ask():
        return view(RequestFactory().get("/")).status_code

    assert [ask() for _ in range(4)] == [200, 200, 200, 429]
    site.clock.advance(seconds=WINDOW - 1)
    assert ask() == 429
    site.clock.advance(seconds=1, milliseconds=1)
    assert ask() == 200
