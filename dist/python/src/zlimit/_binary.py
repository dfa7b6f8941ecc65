"""Where the server's binary is."""

from __future__ import annotations

import os
import platform
import stat
import sys
import tempfile
from pathlib import Path
from typing import Optional

PLATFORMS = ("Linux x86_64", "Linux aarch64", "macOS x86_64", "macOS arm64")


class UnsupportedPlatformError(RuntimeError):
    """There is no server for this platform."""


def find_binary() -> Path:
    """Return the path of the server: $ZLIMIT_SERVER, or the one of this package."""
    chosen = os.environ.get("ZLIMIT_SERVER")
    if chosen:
        return Path(chosen)
    own = Path(__file__).parent / "bin" / "zlimit-server"
    if own.exists():
        return own
    raise UnsupportedPlatformError(
        f"this package has no zlimit-server for {platform.system()} {platform.machine()}: "
        f"there are wheels for {', '.join(PLATFORMS)}. Build one with "
        "'go build ./cmd/zlimit-server' and name it in ZLIMIT_SERVER"
    )


def executable(binary: Path) -> tuple[Path, Optional[Path]]:
    """Return a path that can be executed, and the copy to remove when it runs, if it is one.

    Some installers and volumes lose the permission to execute. A read-only installation cannot be
    corrected, so the binary is then copied.
    """
    if not binary.exists() or os.access(binary, os.X_OK):
        return binary, None
    try:
        binary.chmod(binary.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    except OSError:
        pass
    if os.access(binary, os.X_OK):
        return binary, None
    handle, name = tempfile.mkstemp(prefix="zlimit-server-")
    with os.fdopen(handle, "wb") as copy:
        copy.write(binary.read_bytes())
    os.chmod(name, 0o700)
    return Path(name), Path(name)


def run(arguments: list[str]) -> int:
    """Replace this process by the server."""
    try:
        binary, copy = executable(find_binary())
        words = ["zlimit-server", *arguments]
        if copy is not None and os.execve in os.supports_fd:
            descriptor = os.open(copy, os.O_RDONLY)
            copy.unlink()
            os.execve(descriptor, words, os.environ)
        os.execv(binary, words)
    except (OSError, UnsupportedPlatformError) as error:
        print(f"zlimit-server: {error}", file=sys.stderr)
    return 1
