"""limits itself: its strategies on its Redis storage."""

import time
from importlib.metadata import version

from limits import RateLimitItemPerSecond
from limits.storage import storage_from_string
from limits.strategies import STRATEGIES

NAME = f"limits {version('limits')}"
FLOWS = ("fixed-window", "moving-window", "sliding-window-counter")
ATOMIC = True


def until(flow, reset):
    """The sliding counter's reset is a remainder, which a millisecond more turns from nothing into a whole window."""
    return {} if flow == "sliding-window-counter" else {"reset": max(0, round(reset - time.time()))}


def limiter(uri, flow):
    strategy = STRATEGIES[flow](storage_from_string(uri))

    def make(limit, seconds):
        item = RateLimitItemPerSecond(limit, seconds)

        def hit(key):
            allowed = strategy.hit(item, key)
            reset, remaining = strategy.get_window_stats(item, key)
            return allowed, {"remaining": remaining} | until(flow, reset)

        return hit

    return make
