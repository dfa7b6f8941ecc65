"""Runs the documents' flows through redis-py and prints one line per decision; see compat/README.md."""

import argparse
import sys
import traceback
from pathlib import Path

import redis

from clustered import CLUSTER_FLOWS, OURS_ONLY
from flows import FLOWS
from instants import DEFAULTS


def arguments(words):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--flow", required=True, choices=[*FLOWS, *CLUSTER_FLOWS, "all"])
    parser.add_argument("--key", required=True)
    parser.add_argument("--instants", help="unix milliseconds, separated by commas")
    parser.add_argument("--protocol", type=int, default=2, choices=(2, 3))
    parser.add_argument("--tls", type=Path, help="folder with ca.crt and, if the client has them, client.crt and .key")
    parser.add_argument("--user", help="logs in as this user")
    parser.add_argument("--password")
    parser.add_argument("--cluster", choices=("yes", "no"), default="no")
    return parser.parse_args(words)


def tls(folder):
    """Returns the options of a connection over TLS."""
    if folder is None:
        return {}
    options = {"ssl": True, "ssl_ca_certs": str(folder / "ca.crt")}
    if (folder / "client.crt").exists():
        options |= {"ssl_certfile": str(folder / "client.crt"), "ssl_keyfile": str(folder / "client.key")}
    return options


def run(client, name, key, instants):
    flows = FLOWS | CLUSTER_FLOWS
    for instant, decision, details in flows[name](client, key, instants):
        print(instant, decision, *(f"{field}={value}" for field, value in details.items()))
    print("end")


def once(words):
    args = arguments(words)
    connect = redis.RedisCluster if args.cluster == "yes" else redis.Redis
    client = connect(
        host=args.host,
        port=args.port,
        protocol=args.protocol,
        username=args.user,
        password=args.password,
        # As long as a busy machine needs: a call that was given up and made again would count twice.
        socket_timeout=60,
        socket_connect_timeout=60,
        **tls(args.tls),
    )
    given = [int(instant) for instant in args.instants.split(",")] if args.instants else None
    print("client redis-py", redis.__version__)
    if args.flow == "all":
        names = [*FLOWS, *CLUSTER_FLOWS] if args.cluster == "yes" else FLOWS
        for name in names:
            if name in OURS_ONLY:
                continue
            print("flow", name)
            run(client, name, f"{args.key}:{name}", given or DEFAULTS.get(name))
    else:
        run(client, args.flow, args.key, given or DEFAULTS.get(args.flow))
    client.close()


def batch():
    """Runs the command lines read, whose words are separated by tabs, each with a client of its own."""
    for line in sys.stdin:
        code = 0
        try:
            once(line.rstrip("\n").split("\t"))
        except (Exception, SystemExit):
            traceback.print_exc()
            code = 1
        print("exit", code, flush=True)


def main():
    batch() if sys.argv[1:] == ["--batch"] else once(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
