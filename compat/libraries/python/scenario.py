"""The scenario every library goes through; compat/libraries/README.md says what its lines mean."""

from concurrent.futures import ThreadPoolExecutor

LIMIT, LONG = 5, 3600
EDGE_LIMIT, EDGE_WINDOW = 4, 2
CALLERS, CROWD_LIMIT, THREADS = 1000, 50, 50

# How far the clock goes on within the short window before each step, in milliseconds, and how often to call.
EDGE_PLAN = ((0, 5), (1250, 3), (1500, 5), (1250, 0))  # four seconds in all: some limiters know no less than one


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


def run(server, clock, key, limiter, atomic):
    """limiter(limit, seconds) gives hit(key), which answers whether the call was allowed and what was reported of it.

    A limiter that is not atomic promises no number under concurrent calls, so that only "the limit at least" is shown.
    """
    lines = Lines()
    hit = limiter(LIMIT, LONG)
    lines.hits(hit(f"{key}-over") for _ in range(LIMIT + 3))
    lines.hits(edge(clock, limiter(EDGE_LIMIT, EDGE_WINDOW), f"{key}-edge"))
    lines.hits(after_first(server.script_flush, hit, f"{key}-flushed"))
    lines.hits(after_first(lambda: sever(server), hit, f"{key}-severed"))
    lines.hits(after_first(server.flushall, hit, f"{key}-emptied"))
    lines.add("broken", broken(server, hit, f"{key}-broken"))
    lines.add(*crowd(limiter(CROWD_LIMIT, LONG), f"{key}-crowd", atomic))


def edge(clock, hit, key):
    for ms, count in EDGE_PLAN:
        clock.advance(ms)
        for _ in range(count):
            yield hit(key)


def after_first(disturb, hit, key):
    yield hit(key)
    disturb()
    for _ in range(LIMIT + 1):
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
        return hit(key)[1] | {"error": "none"}
    except Exception as error:
        return {"error": f"{type(error).__name__}:{error}".replace(" ", "_")}


def crowd(hit, key, atomic):
    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(lambda _: hit(key)[0], range(CALLERS)))
    allowed = sum(answers)
    if allowed < CROWD_LIMIT or (atomic and allowed > CROWD_LIMIT):
        raise RuntimeError(f"{allowed} of {CALLERS} concurrent callers were allowed instead of {CROWD_LIMIT}")
    if not atomic:
        return "crowd-unpromised", {"limit": CROWD_LIMIT}
    return "crowd", {"allowed": allowed, "denied": CALLERS - allowed}
