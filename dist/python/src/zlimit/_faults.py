"""Failures that a test injects."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any, Callable, Literal

ALWAYS = -1
"""The ``times`` of a permanent fault."""

POLLING = 0.001

Kind = Literal[
    "delay", "close", "drop-reply", "mute", "noscript", "loading", "oom", "readonly", "refuse"
]


class Fault:
    """A fault that was injected."""

    def __init__(self, faults: Faults, number: int) -> None:
        self._faults = faults
        self._id = number

    @property
    def hits(self) -> int:
        """How many commands it has affected; 0 once it was removed."""
        return int(self._faults._entry(self._id).get("hits", 0))

    @property
    def left(self) -> int:
        """How many further commands it will affect: ALWAYS if there is no end."""
        return int(self._faults._entry(self._id).get("left", 0))

    def wait(self, timeout: float = 10) -> None:
        """Wait until it has affected a command, which may still be delayed.

        Raises TimeoutError if it does not within timeout seconds of real time.
        """
        end = time.monotonic() + timeout
        while self.hits == 0:
            if time.monotonic() > end:
                raise TimeoutError(f"the fault has affected no command within {timeout:g} s")
            time.sleep(POLLING)

    def remove(self) -> None:
        """Remove it. Delays under way continue, except those with until_removed, which end."""
        if self._faults._entry(self._id):
            self._faults._debug("FAULT", "REMOVE", self._id)


class Faults:
    """The faults of a server."""

    def __init__(self, debug: Callable[..., Any]) -> None:
        self._debug = debug

    def inject(
        self,
        kind: Kind,
        *,
        on: str = "",
        times: int = 1,
        after: timedelta = timedelta(0),
        until_removed: bool = False,
        text: str = "",
    ) -> Fault:
        """Make the next commands of clients fail.

        kind: what a client sees: "delay" (a late reply), "close" (the connection ends, the command has not
            run), "drop-reply" (the connection ends, the command has run), "mute" (no reply at all),
            "noscript", "loading", "oom" and "readonly" (that error, for the commands that Redis refuses
            with it), or "refuse" (the error that text has).
        on: the one command affected, or "*"; otherwise all that kind concerns, except those with which
            clients open a connection.
        times: how many commands are affected, or ALWAYS.
        after: by how much of real time the effect is delayed.
        until_removed: whether the effect is delayed until the fault is removed.
        """
        options: list[Any] = ["TIMES", times]
        if on:
            options += ["ON", on]
        if until_removed:
            options += ["UNTIL", "REMOVED"]
        if after or kind == "delay" and not until_removed:
            options += ["AFTER", after // timedelta(milliseconds=1)]
        if text:
            options += ["TEXT", text]
        return Fault(self, int(self._debug("FAULT", "INJECT", kind, *options)))

    def clear(self) -> None:
        """Remove all faults."""
        self._debug("FAULT", "CLEAR")

    def _entry(self, number: int) -> dict[str, Any]:
        for flat in self._debug("FAULT", "LIST"):
            entry = dict(zip(flat[::2], flat[1::2]))
            if entry["id"] == number:
                return entry
        return {}
