"""``python -m zlimit`` and ``zlimit-server`` run the server with the arguments given."""

import sys

from ._binary import run


def main() -> int:
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
