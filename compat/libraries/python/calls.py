"""Makes a library's calls one at a time, as its standard input says; see compat/libraries/README.md."""

import importlib
import sys

# Longer than anybody pauses a server.
PATIENCE = 60


def main():
    library, flow = sys.argv[1:]
    module = importlib.import_module("through_" + library.replace("-", "_"))
    make, limiters = None, {}
    for line in sys.stdin:
        word, *args = line.split()
        if word == "connect":
            uri = f"redis://127.0.0.1:{args[0]}/0?socket_timeout={PATIENCE}&socket_connect_timeout={PATIENCE}"
            make, limiters = module.limiter(uri, flow), {}
            print("connected", flush=True)
            continue
        key, limit, seconds = args[0], int(args[1]), int(args[2])
        try:
            if (limit, seconds) not in limiters:
                limiters[limit, seconds] = make(limit, seconds)
            allowed, fields = limiters[limit, seconds](key)
        except Exception as error:
            print("error", type(error).__name__, " ".join(str(error).split()), flush=True)
            continue
        print("allowed" if allowed else "denied", *(f"{name}={value}" for name, value in fields.items()), flush=True)


if __name__ == "__main__":
    main()
