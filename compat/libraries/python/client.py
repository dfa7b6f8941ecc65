"""Runs one library's algorithms through the scenario; see compat/libraries/README.md."""

import argparse
import importlib
import sys

from held_clock import HeldClock  # before the libraries

import redis

import scenario

# Seconds that a busy machine may take: a call that was given up and made again would count twice.
PATIENCE = 60

# The modules of the libraries, by name: each is imported when it is asked for.
LIBRARIES = {
    "limits": "through_limits",
    "flask-limiter": "through_flask_limiter",
    "slowapi": "through_slowapi",
    "djangorestframework": "through_django",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--clock", required=True, help="address of the server's clock")
    parser.add_argument("--library", required=True, choices=LIBRARIES)
    parser.add_argument("--flow", default="all", help="an algorithm of the library, or all")
    parser.add_argument("--key", required=True)
    parser.add_argument("--cluster", choices=("yes", "no"), default="no")
    args = parser.parse_args()

    library = importlib.import_module(LIBRARIES[args.library])
    clock = HeldClock(args.clock)
    uri = f"redis://{args.host}:{args.port}/0?socket_timeout={PATIENCE}&socket_connect_timeout={PATIENCE}"
    server = redis.Redis.from_url(uri)
    if args.cluster == "yes":
        uri = f"redis+cluster://{args.host}:{args.port}"
    print("client", library.NAME, "on redis-py", redis.__version__)
    for flow in library.FLOWS if args.flow == "all" else (args.flow,):
        if args.flow == "all":
            print("flow", flow)
        key = f"{args.key}-{flow}"
        server.flushall()
        scenario.run(server, clock, key, library.limiter(uri, flow), library.ATOMIC)
        print("end", flush=True)


if __name__ == "__main__":
    sys.exit(main())
