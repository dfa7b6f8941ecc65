"""The scenario every library goes through; compat/libraries/README.md says what its lines mean."""

import time
from concurrent.futures import ThreadPoolExecutor

LIMIT, LONG = 5, 3600
EDGE_LIMIT, EDGE_WINDOW = 4, 2
CALLERS, CROWD_LIMIT, THREADS = 1000, 50, 50

# When to call within the short window, in seconds from its first call, and how often.
EDGE_PLAN = ((0.0, 5), (1.25, 3), (2.75, 5))
EDGE_LATE = 0.15  # a call later than this may meet another window than was meant
EDGE_ATTEMPTS = 5


class Lines:
    """Prints hits, numbered from 1: the libraries take no instants."""

    def __init__(self):
        self.number = 0

    def add(self, decision, fields=None):
        self.number += 1
        print(self.number, decision, *(f"{name}={value}" for name, value in (fields or {}).items()))

    def hits(self, answers):
        for allowed, fields in answers:
            self.add("allowed" if allowed else "denied", fields)


def run(server, key, limiter, atomic):
    """limiter(limit, seconds) gives hit(key), which answers whether the call was allowed and what was reported of it.

    A limiter that is not atomic lets more through than its limit under concurrent calls, so it is not crowded.
    """
    lines = Lines()
    hit = limiter(LIMIT, LONG)
    lines.hits(hit(f"{key}-over") for _ in range(LIMIT + 3))
    lines.hits(edge(limiter(EDGE_LIMIT, EDGE_WINDOW), f"{key}-edge"))
    lines.hits(after_first(server.script_flush, hit, f"{key}-flushed"))
    lines.hits(after_first(lambda: sever(server), hit, f"{key}-severed"))
    lines.add("broken", {"error": broken(server, hit, f"{key}-broken")})
    if atomic:
        lines.add("crowd", crowd(limiter(CROWD_LIMIT, LONG), f"{key}-crowd"))


def edge(hit, key):
    """A machine that stalls ruins the plan, so a run that came late is not looked at and a fresh key is tried."""
    hit(f"{key}-warm")  # connecting and loading scripts takes its time
    for attempt in range(EDGE_ATTEMPTS):
        answers, late = [], False
        begin = time.monotonic()
        for offset, count in EDGE_PLAN:
            time.sleep(max(0.0, begin + offset - time.monotonic()))
            answers += [hit(f"{key}{attempt}") for _ in range(count)]
            late = late or time.monotonic() - begin > offset + EDGE_LATE
        if not late:
            return answers
    raise RuntimeError(f"the machine is too slow for a window of {EDGE_WINDOW} s")


def after_first(disturb, hit, key):
    yield hit(key)
    disturb()
    for _ in range(LIMIT):
        yield hit(key)


def sever(server):
    """Closes every connection but this one."""
    server.client_kill_filter(_type="normal", skipme=True)


def broken(server, hit, key):
    """Leaves a hash under every key the limiter has made, as an older limiter might have."""
    hit(key)
    names = sorted(server.keys(f"*{key}*"))
    if not names:
        raise RuntimeError(f"the limiter made no key with {key} in its name")
    for name in names:
        server.delete(name)
        server.hset(name, "left", "over")
        server.expire(name, 2 * LONG)  # far from LONG, at which a script may turn
    try:
        hit(key)
    except Exception as error:
        return f"{type(error).__name__}:{error}".replace(" ", "_")
    return "none"


def crowd(hit, key):
    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(lambda _: hit(key)[0], range(CALLERS)))
    allowed = sum(answers)
    if allowed != CROWD_LIMIT:
        raise RuntimeError(f"{allowed} of {CALLERS} concurrent callers were allowed instead of {CROWD_LIMIT}")
    return {"allowed": allowed, "denied": CALLERS - allowed}
