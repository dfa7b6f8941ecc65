"""Instants used when none are given: each list crosses its limit, meets the window's edge exactly, one millisecond
before and after it, repeats instants, and steps back.
"""

BASE = 1_700_000_000_000


def whole_seconds(window):
    """Forwards, whole seconds put at most `window` members in a window of as many seconds, so a limit of 100 is never
    reached that way. A clock that steps back reaches it: what lies ahead of `now` is not trimmed. From there the oldest
    second leaves exactly one window later.
    """
    forwards = [i * 500 for i in range(105)]
    onwards = [59_999, 60_000, 60_000, 60_001, 120_000]
    back = [-1000 * i for i in range(1, 104)]
    edge = window * 1000 - 99_000
    around = [edge - 1, edge, edge, edge + 1000]
    later = [110_999, 111_000, 112_001, 300_000]
    return [BASE + offset for offset in forwards + onwards + back + around + later]


def around_minute():
    return [BASE + offset for offset in (0, 0, 1, 2, 3, 59_999, 60_000, 60_000, 60_001, 60_002, 60_002, 1000, 200_000)]


def add_first():
    """A denied hit stays in the set, so each side of the edge needs a round of its own."""
    over = [0, 1, 2, 3, 4, 5, 6, 59_999, 60_000, 60_001, 60_004, 60_004, 60_005]
    before = [200_000, 200_001, 200_002, 200_003, 200_004, 259_999]
    exactly = [400_000, 400_001, 400_002, 400_003, 400_004, 460_000, 460_001, 460_001]
    back = [399_999, 460_000, 700_000]
    return [BASE + offset for offset in over + before + exactly + back]


def colliding():
    """Fifteen calls in five milliseconds are five members: all pass. A sixth millisecond is one too many."""
    return [BASE + i // 3 for i in range(15)] + [BASE + o for o in (5, 5, 60_000, 60_000, 60_001, 60_002, 60_005)]


def slices():
    """BASE is a multiple of 5000, so it opens a slice; both sides of its ends are hit, and a closed slice again."""
    offsets = [0] * 4 + [1, 2, 2500, 4000, 4998, 4999, 4999, 4999, 5000, 5001, 4999, -1, 9999, 10_000]
    return [BASE + offset for offset in offsets]


def tagged():
    offsets = [0, 0, 999, 1000, 2000, 3000, 4000, 5000, 9999, 10_000, 10_001, 11_000, 11_000, 12_000, -1, 60_000]
    return [BASE + offset for offset in offsets]


# Sixteen digits: past what Lua's tostring keeps, so score and member part ways. Then the first instant of all.
FAR_INSTANTS = [BASE * 1000 + 123, BASE * 1000 + 124, BASE * 1000 + 60_123, 0]

DEFAULTS = {
    "commands-seconds": whole_seconds(60),
    "script-millis": around_minute() + FAR_INSTANTS,
    "pipeline-multi": add_first(),
    "pipeline-collision": colliding(),
    "pipeline-lua": add_first(),
    "script-seconds": whole_seconds(10),
    "rolling": slices(),
    "hash-tag": tagged(),
}
