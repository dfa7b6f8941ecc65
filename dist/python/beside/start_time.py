"""Prints how long it takes from the call to the first reply, as medians: docs/testing.md.

    pip install zlimit -r requirements.txt; python start_time.py [STARTS]

It needs redis-server beside the package.
"""

import statistics
import subprocess
import sys
import tempfile
import threading
import time

import fakeredis
import redis

import zlimit


def zlimit_server(**options):
    with zlimit.Server(**options) as server, server.client() as client:
        client.ping()
        return time.perf_counter()


def fake_in_process():
    fakeredis.FakeRedis(server=fakeredis.FakeServer()).ping()
    return time.perf_counter()


def fake_over_tcp():
    server = fakeredis.TcpFakeServer(("127.0.0.1", 0))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with redis.Redis(port=server.server_address[1]) as client:
        client.ping()
        end = time.perf_counter()
    server.shutdown()
    server.server_close()
    return end


def redis_server():
    path = f"{tempfile.gettempdir()}/zlimit-start-time-{time.time_ns()}.sock"
    process = subprocess.Popen(
        ["redis-server", "--port", "0", "--unixsocket", path, "--save", ""], stdout=subprocess.PIPE
    )
    while b"ready to accept" not in process.stdout.readline().lower():
        pass
    with redis.Redis(unix_socket_path=path) as client:
        client.ping()
        end = time.perf_counter()
    process.terminate()
    process.wait()
    process.stdout.close()
    return end


STARTS = int(sys.argv[1]) if len(sys.argv) > 1 else 50


def median_ms(call):
    samples = []
    for _ in range(STARTS):
        began = time.perf_counter()
        samples.append(call() - began)
    return statistics.median(samples) * 1000


def emptied(server):
    server.reset()
    return time.perf_counter()


for name, call in [
    ("zlimit.Server()", zlimit_server),
    ("zlimit.Server(unix_socket=True)", lambda: zlimit_server(unix_socket=True)),
    ("redis-server", redis_server),
    ("fakeredis.FakeRedis()", fake_in_process),
    ("fakeredis.TcpFakeServer", fake_over_tcp),
]:
    print(f"{name:34} {median_ms(call):8.2f} ms")
with zlimit.Server() as shared:
    print(f"{'the fixture zlimit, for each test':34} {median_ms(lambda: emptied(shared)):8.2f} ms")
