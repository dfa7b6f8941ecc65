"""The reply of RL.ALLOW."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

NEVER = timedelta(milliseconds=-1)
"""The ``retry_after`` of a call whose cost can never fit; ``clock.advance`` refuses it."""


@dataclass(frozen=True)
class Decision:
    """The reply of RL.ALLOW. It is true if the call was admitted.

    allowed: units granted: the cost, or 0 when denied.
    limit: units, as asked.
    remaining: units that still fit; with GCRA of the burst.
    retry_after: until the same call is admitted: 0 when it was, NEVER when its cost can never fit.
    reset_after: until the window is empty.
    """

    allowed: int
    limit: int
    remaining: int
    retry_after: timedelta
    reset_after: timedelta

    def __bool__(self) -> bool:
        return self.allowed > 0
