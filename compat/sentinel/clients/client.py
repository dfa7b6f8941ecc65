"""Limiters of redis-py's Sentinel: one by script, and one by RL.ALLOW unless told otherwise.

python client.py SENTINEL[,SENTINEL...] MASTER PAUSE_MS script[,RL.ALLOW]

Prints a line of JSON for each call, and ends with its input. See clients_test.go.
"""

import json
import sys
import threading
import time

from redis.exceptions import RedisError
from redis.sentinel import Sentinel

SLIDING_WINDOW = """
local key, now = KEYS[1], tonumber(ARGV[1])
redis.call('ZREMRANGEBYSCORE', key, 0, now - tonumber(ARGV[2]))
if redis.call('ZCARD', key) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', key, now, ARGV[4])
return 1"""

WINDOW_MS, WINDOW_LIMIT = 1000, 20
LEDGER_MS, LEDGER_LIMIT = 600_000, 1_000_000
AFTER_ERROR_MS = 50
ANSWERING_S = 0.4

begin = time.monotonic()


def now_us() -> int:
    return int((time.monotonic() - begin) * 1_000_000)


def call(master, script, algorithm: str, n: int) -> dict:
    """Asks about one unit, and before and after it who answers."""
    line = {"limiter": algorithm, "unit": str(n), "sentUs": now_us(), "sentMs": time.time_ns() // 1_000_000}
    pipe = master.pipeline(transaction=False)

    def ask(kind: str, limit: int, window_ms: int) -> None:
        key = f"{kind}:python:{algorithm}"
        if algorithm == "script":
            script(keys=[key], args=[line["sentMs"], window_ms, limit, str(n)], client=pipe)
        else:
            pipe.execute_command("RL.ALLOW", key, limit, window_ms)

    pipe.config_get("port")
    ask("window", WINDOW_LIMIT, WINDOW_MS)
    ask("ledger", LEDGER_LIMIT, LEDGER_MS)
    pipe.config_get("port")
    try:
        before, window, ledger, after = pipe.execute()
    except RedisError as e:
        return line | {"error": f"{type(e).__name__}: {e}"}
    return line | {
        "receivedUs": now_us(), "port": int(before["port"]), "portAfter": int(after["port"]),
        "window": window, "ledger": ledger,
    }


def main() -> None:
    addresses, name, pause_ms, algorithms = sys.argv[1:]
    sentinels = [(host, int(port)) for host, port in (a.split(":") for a in addresses.split(","))]
    sentinel = Sentinel(sentinels, socket_timeout=ANSWERING_S)
    over, printing = threading.Event(), threading.Lock()

    def run(algorithm: str) -> None:
        master = sentinel.master_for(name, socket_timeout=ANSWERING_S)
        script = master.register_script(SLIDING_WINDOW)
        n, pause = 0, 0.0
        while not over.wait(pause):
            line = call(master, script, algorithm, n)
            with printing:
                print(json.dumps(line), flush=True)
            n += 1
            pause = (AFTER_ERROR_MS if "error" in line else int(pause_ms)) / 1000

    threads = [threading.Thread(target=run, args=(a,)) for a in algorithms.split(",")]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    over.set()
    for thread in threads:
        thread.join()


main()
