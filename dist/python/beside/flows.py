"""Runs the documents' flows, limiter libraries and calls of limiters on zlimit and on fakeredis, and prints the lines
that differ. They are those of differences.txt.

    pip install zlimit -r requirements.txt -r ../../../compat/libraries/python/requirements.txt; python flows.py
"""

import itertools
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import fakeredis
import redis

import zlimit

COMPAT = Path(__file__).resolve().parents[3] / "compat"
sys.path.insert(0, str(COMPAT / "python"))

from flows import FLOWS  # noqa: E402
from instants import DEFAULTS  # noqa: E402

# Each is a command, split at spaces, or a script with the words that follow it.
CALLS = [
    "SET text x",
    "INCR text",
    "ZADD text 1 a",
    "SET n 9223372036854775807",
    "INCR n",
    "ZADD z 1 a 1 b inf c",
    "ZADD z NX CH 2 a",
    "ZADD z GT 5 a",
    "ZADD z x a",
    "ZRANGEBYSCORE z (1 +inf",
    "ZREMRANGEBYSCORE z -inf (1",
    "ZRANGE z 0 -1 WITHSCORES",
    "ZRANGE z -inf +inf BYSCORE LIMIT 0 1",
    "EXPIRE z 10 NX",
    "EXPIRE z 20 NX",
    "EXPIRETIME none",
    "SET s x PX 0",
    "SET s x EX 10 GET",
    "GETEX s PERSIST",
    ("return redis.call('TIME')[1] ~= nil", "0"),
    ("return 3.9", "0"),
    ("return {1, nil, 2}", "0"),
    ("return redis.error_reply('MINE no')", "0"),
    ("return redis.sha1hex('x')", "0"),
    ("return cjson.encode({a = 1})", "0"),
    ("return bit.band(6, 3)", "0"),
    ("return struct.unpack('>I', struct.pack('>I', 7))", "0"),
    ("return cmsgpack.unpack(cmsgpack.pack(7))", "0"),
    ("return redis.call('INCR', 'text')", "0"),
    ("return redis.pcall('INCR', 'text').err", "0"),
    ("return tostring(redis.call('GET', 'none'))", "0"),
    ("redis.replicate_commands() return 1", "0"),
    ("return redis.call('ZADD', KEYS[1], 1, 'a')", "1", "text"),
    ("#!lua flags=no-writes\nreturn 1", "0"),
    "EVALSHA ffffffffffffffffffffffffffffffffffffffff 0",
    "EVAL_RO return{1} 0",
    "OBJECT ENCODING z",
    "MEMORY USAGE none",
    "WAIT 0 0",
    "LATENCY RESET",
    "SLOWLOG LEN",
    "RL.ALLOW k 1 10s",
    ("x = 1", "0"),
    ("return 1", "0"),
]


def shown(work):
    try:
        return repr(work())
    except redis.RedisError as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]


def flow_lines(name):
    def lines(client):
        for instant, decision, details in FLOWS[name](client, f"key:{name}", DEFAULTS[name]):
            line = " ".join([str(instant), decision, *(f"{field}={value}" for field, value in details.items())])
            yield re.sub(r"ttl=\d+", "ttl=some", line)  # it may be read on either side of a second

    return lines


def call_lines(client):
    for call in CALLS:
        words = call.split(" ") if isinstance(call, str) else ["EVAL", *call]
        text = " ".join(repr(word) if " " in word or "\n" in word else word for word in words)
        yield f"{text} -> {shown(lambda: client.execute_command(*words))}"


def killed_lines(connect):
    """What a client sees whose connection another client has killed."""
    with connect() as other, connect() as client:
        other.ping()
        client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        yield f"PING after CLIENT KILL of another client -> {shown(other.ping)}"
        yield f"PING of that client -> {shown(client.ping)}"


# The libraries of compat/libraries/python, and their algorithms.
LIBRARIES = {
    "limits": ["fixed-window", "moving-window", "sliding-window-counter"],
    "flask-limiter": ["fixed-window", "moving-window", "sliding-window-counter"],
    "slowapi": ["fixed-window", "moving-window"],
    "djangorestframework": ["moving-window"],
}

START_MS = 1_800_000_000_000  # a whole hour


class HeldClock:
    """A server's clock, which the libraries' programs ask for the time and tell to go on: compat/libraries/README.md."""

    def __init__(self, set_ms):
        self._set = set_ms
        self._now_ms = START_MS
        set_ms(START_MS)
        clock = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                now = str(clock._advance(int(self.path.partition("ms=")[2] or 0))).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(now)))
                self.end_headers()
                self.wfile.write(now)

            def log_message(self, *_):
                pass

        self._web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._web.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self._web.server_address[1]}"

    def _advance(self, ms):
        self._now_ms += ms
        self._set(self._now_ms)
        return self._now_ms


# Their program, without the step that kills connections, which "calls over TCP" has. With "fake" at the end every pool
# has the fake's connections, as its documentation recommends for Django.
PROGRAM = f"""import sys
sys.path.insert(0, {str(COMPAT / "libraries" / "python")!r})
import held_clock, redis, scenario
if sys.argv[-1] == "fake":
    import fakeredis
    init = redis.ConnectionPool.__init__
    fake = dict(connection_class=fakeredis.FakeRedisConnection)
    redis.ConnectionPool.__init__ = lambda self, *_, **options: init(self, **dict(options, **fake))
    sys.argv.pop()
scenario.sever = lambda server: None
import client
sys.exit(client.main())
"""


def library_lines(library, side):
    """Run all of a library's algorithms, and return the lines of each."""
    clock, where = side
    program = [sys.executable, "-c", PROGRAM, "--clock", clock.address]
    program += ["--library", library, "--key", "beside", *where]
    ran = subprocess.run(program, capture_output=True, text=True, timeout=300)
    lines = {algorithm: [] for algorithm in LIBRARIES[library]}
    algorithm = next(iter(lines))
    for line in ran.stdout.splitlines():
        if line.startswith("flow "):
            algorithm = line.removeprefix("flow ")
        elif line[0].isdigit():
            lines[algorithm].append(line)
    if ran.returncode != 0:
        lines[algorithm].append("failed: " + ran.stderr.splitlines()[-1])
    return lines


def all_lines(work, client):
    out = []
    try:
        out.extend(work(client))
    except redis.RedisError as error:
        out.append(f"{type(error).__name__}: {error}")
    return out


def both(work, real, fake):
    with ThreadPoolExecutor(2) as pool:
        return pool.map(work, [real, fake])


def compare(name, work, real, fake):
    """Print how the lines of work differ, and return how many do not."""
    want, got = both(lambda side: all_lines(work, side), real, fake)
    lines = list(itertools.zip_longest(want, got, fillvalue="(nothing)"))
    pairs = [(a, b) for a, b in lines if a != b]
    print(f"== {name}: {len(pairs)} of {len(want)} lines differ")
    for a, b in pairs:
        print(f"   zlimit    {a}\n   fakeredis {b}")
    return len(lines) - len(pairs)


def main():
    with zlimit.Server() as server, server.client() as real:
        server.clock.freeze()
        fake = fakeredis.FakeRedis(server=fakeredis.FakeServer(version=(7, 0)))
        same = sum(compare(f"flow {name}", flow_lines(name), real, fake) for name in FLOWS)
        same += compare("calls", call_lines, real, fake)
        over_tcp = fakeredis.TcpFakeServer(("127.0.0.1", 0))
        threading.Thread(target=over_tcp.serve_forever, daemon=True).start()
        port = over_tcp.server_address[1]
        same += compare("calls over TCP", killed_lines, server.client, lambda: redis.Redis(port=port))
        for library, algorithms in LIBRARIES.items():
            server.reset()
            server.clock.freeze()
            real = HeldClock(lambda ms: server.execute("DEBUG", "CLOCK", "SET", ms)), ["--port", str(server.port)]
            fake = HeldClock(lambda ms: None), ["--port", "0", "fake"]  # its clock is that of the whole process
            real, fake = both(lambda side: library_lines(library, side), real, fake)
            for algorithm in algorithms:
                same += compare(f"{library} {algorithm}", lambda lines: lines[algorithm], real, fake)
    print(f"{same} lines are the same")


if __name__ == "__main__":
    sys.exit(main())
