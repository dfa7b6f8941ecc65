"""Terms of RL.MALLOW and RL.MRESERVE, and the replies over several keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple, Union

from ._clock import MILLISECOND
from ._decision import Decision
from ._resp import Argument

Key = Union[str, bytes]
Window = Union[timedelta, str]


class Term:
    """A key with its limits, for allow_all: ``Term("tpm", (90_000, "1m"), (1_000_000, "1d"), cost=1500)``."""

    def __init__(self, key: Key, *limits: tuple[int, Window], cost: int = 1, algorithm: str = "") -> None:
        """Each limit is a number of units and a window; windows, cost and algorithm are as in allow, but cost
        is at least 1."""
        self.key = key
        self._arguments: list[Argument] = ["TERM"]
        for limit, window in limits:
            self._arguments += [limit, milliseconds("window", window)]
        if algorithm:
            self._arguments += ["ALGO", *algorithm.split()]
        self._arguments += ["COST", cost]


class Slots(Term):
    """A term that bounds how many hold a slot of its key at once: ``Slots("jobs", 10, "2m")``."""

    def __init__(self, key: Key, max: int, lease: Window) -> None:
        """The id of the call takes one of max slots; lease frees it if nothing else does."""
        super().__init__(key)
        self._arguments = ["TERM", "SLOTS", max, "LEASE", milliseconds("lease", lease)]


@dataclass(frozen=True)
class TermDecision(Decision):
    """The decision of the binding term, for the whole call. It is true if the call was admitted.

    term: the term's number, from 1.

    Of Slots, allowed is 1 or 0, limit the slots, remaining the free ones, retry_after until one is free, and
    reset_after until all are.
    """

    term: int


class Settlement(NamedTuple):
    """What settle did to one key. Slots have 0 and 0: they are given back."""

    counted: int
    """Units that now count for the work."""
    excess: int
    """Units above the estimate."""


def milliseconds(name: str, value: Window) -> str:
    """Return a window, lease or hold as the server takes it."""
    if isinstance(value, timedelta):
        if value % MILLISECOND:
            raise ValueError(f"not a whole number of milliseconds: a {name} of {value.total_seconds():g} s")
        return str(value // MILLISECOND)
    if not isinstance(value, str):
        raise TypeError(f"a {name} of what? timedelta(seconds=60) or '60s', not {value!r}")
    return value


def term_decision(reply: Sequence[int]) -> TermDecision:
    term, allowed, limit, remaining, retry_after_ms, reset_after_ms = reply
    return TermDecision(
        allowed, limit, remaining, retry_after_ms * MILLISECOND, reset_after_ms * MILLISECOND, term
    )


def settlements(reply: Any) -> list[Settlement]:
    return [Settlement(*pair) for pair in reply or []]  # 0: the id has no hold
