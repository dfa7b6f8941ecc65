"""Django REST framework's throttle, which keeps its history in Django's cache, which django-redis keeps in Redis."""

from importlib.metadata import version

import django
from django.conf import settings

NAME = f"djangorestframework {version('djangorestframework')} on django-redis {version('django-redis')}"
FLOWS = ("moving-window",)
ATOMIC = False  # the history is read, changed and written back


def configure(uri):
    cache = {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": uri}
    settings.configure(
        ALLOWED_HOSTS=["testserver"],
        CACHES={"default": cache},
        REST_FRAMEWORK={"DEFAULT_AUTHENTICATION_CLASSES": [], "UNAUTHENTICATED_USER": None},
        ROOT_URLCONF=[],
    )
    django.setup()


def limiter(uri, flow):
    configure(uri)
    # Both read the settings when they are imported.
    from rest_framework.response import Response
    from rest_framework.test import APIRequestFactory
    from rest_framework.throttling import SimpleRateThrottle
    from rest_framework.views import APIView

    def make(limit, seconds):
        class Throttle(SimpleRateThrottle):
            rate = f"{limit}/{seconds}"

            def parse_rate(self, rate):
                return limit, seconds  # its own periods are a second, a minute, an hour and a day

            def get_cache_key(self, request, view):
                return f"throttle_{request.headers['X-Caller']}"

        class Index(APIView):
            throttle_classes = [Throttle]

            def get(self, request):
                return Response("served")

        view = Index.as_view()

        def hit(key):
            response = view(APIRequestFactory().get("/", headers={"X-Caller": key}))
            fields = {"status": response.status_code}
            if "Retry-After" in response.headers:
                fields["retry"] = response.headers["Retry-After"]
            return response.status_code == 200, fields

        return hit

    return make
