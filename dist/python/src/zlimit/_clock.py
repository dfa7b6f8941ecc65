"""The server's clock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import Any, Callable

MILLISECOND = timedelta(milliseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Clock:
    """The clock of a server: of TTLs, TIME, scripts and RL.*. It shows the system's time until it is
    frozen or moved. When a method returns, whatever is due has expired."""

    def __init__(self, debug: Callable[..., Any], call: Callable[..., Any]) -> None:
        self._debug = debug
        self._call = call

    def freeze(self) -> None:
        """Stop the clock at a whole millisecond."""
        self._debug("CLOCK", "FREEZE")

    def resume(self) -> None:
        """Let the clock run on from where it is."""
        self._debug("CLOCK", "RESUME")

    def advance(
        self,
        delta: timedelta = timedelta(0),
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
        milliseconds: float = 0,
    ) -> None:
        """Move the clock forwards by the sum of the arguments, whether or not it is frozen."""
        if not isinstance(delta, timedelta):
            raise TypeError(f"advance by what? advance(seconds=60) or advance(timedelta(...)), not {delta!r}")
        total = delta + timedelta(
            days=days, hours=hours, minutes=minutes, seconds=seconds, milliseconds=milliseconds
        )
        if total < timedelta(0):
            raise ValueError(f"the clock does not go back: advance by {total.total_seconds():g} s")
        if total % MILLISECOND:
            raise ValueError(f"not a whole number of milliseconds: advance by {total.total_seconds():g} s")
        self._debug("CLOCK", "ADVANCE", total // MILLISECOND)

    def set(self, instant: datetime) -> None:
        """Move the clock to an instant, truncated to milliseconds: backwards only while there are no keys."""
        if instant.tzinfo is None:
            raise ValueError("the instant has no time zone: use datetime(..., tzinfo=timezone.utc)")
        self._debug("CLOCK", "SET", (instant - EPOCH) // MILLISECOND)

    def now(self) -> datetime:
        """Return the server's time in UTC."""
        seconds, microseconds = self._call("TIME")
        return EPOCH + timedelta(seconds=int(seconds), microseconds=int(microseconds))

    @contextmanager
    def frozen(self) -> Iterator[Clock]:
        """Freeze the clock for the length of a with statement."""
        self.freeze()
        try:
            yield self
        finally:
            self.resume()
