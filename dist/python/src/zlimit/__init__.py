"""A rate-limit server for tests, which speaks the Redis protocol, with a clock that the test moves.

    with zlimit.Server() as server:
        client = server.client()  # a redis.Redis
        server.clock.freeze()
        ...
        server.clock.advance(seconds=60)

With pytest, the fixtures ``zlimit`` and ``zlimit_server`` do the first line.
"""

from ._binary import UnsupportedPlatformError, find_binary
from ._clock import Clock
from ._decision import NEVER, Decision
from ._faults import ALWAYS, Fault, Faults, Kind
from ._resp import ReplyError
from ._server import DebugDisabledError, Server, StartError
from ._terms import Settlement, Slots, Term, TermDecision

__all__ = [
    "ALWAYS",
    "NEVER",
    "Clock",
    "Decision",
    "DebugDisabledError",
    "Fault",
    "Faults",
    "Kind",
    "ReplyError",
    "Server",
    "Settlement",
    "Slots",
    "StartError",
    "Term",
    "TermDecision",
    "UnsupportedPlatformError",
    "find_binary",
]
