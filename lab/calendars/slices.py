"""Answers queries of package calendars with Python's zoneinfo and datetime.

A line asks "zone unit anchor milliseconds" and is answered by "start end". With the argument release it
prints the release of the installed tzdata. Its zones are the only ones: PYTHONTZPATH must be empty.
"""

import sys
from calendar import monthrange
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1)
WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
HOUR = 3600
QUARTER = 900


def seconds(delta):
    return delta.days * 86400 + delta.seconds


def local(zone, instant):
    """What the zone's clock shows, without its zone."""
    return datetime.fromtimestamp(instant, timezone.utc).astimezone(ZoneInfo(zone)).replace(tzinfo=None)


def search(low, high, holds):
    """The first integer above low, and up to high, for which holds is true from there on."""
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


@lru_cache(maxsize=100_000)
def begin(zone, day):
    """The first instant at which the clock shows a day's midnight or later.

    If the midnight comes twice, fold=0 is the first. If it does not come, the offsets of fold=0 and fold=1 are those
    before and after the clock jumps, so that the jump lies between what they make of midnight.
    """
    midnight = datetime(day.year, day.month, day.day)
    first, second = (
        seconds(midnight - EPOCH - midnight.replace(tzinfo=ZoneInfo(zone), fold=fold).utcoffset()) for fold in (0, 1)
    )
    if first <= second:
        return first
    return search(second, first, lambda instant: local(zone, instant) >= midnight)


def clamped(year, month, day):
    """A date, on the last day of its month if that is shorter."""
    return date(year, month, min(day, monthrange(year, month)[1]))


def days(unit, anchor, today):
    """Days on which slices begin: some before today and some after it."""
    if unit == "d":
        return [today + timedelta(days=n) for n in range(-2, 4)]
    if unit == "w":
        back = (today.weekday() - WEEKDAYS.index(anchor)) % 7
        return [today + timedelta(days=7 * n - back) for n in range(-1, 3)]
    if unit == "mo":
        months = [today.year * 12 + today.month - 1 + n for n in range(-2, 3)]
        return [clamped(n // 12, n % 12 + 1, int(anchor)) for n in months]
    month, day = map(int, anchor.split("-"))
    return [clamped(today.year + n, month, day) for n in range(-2, 3)]


def hours(zone, now):
    """The instants within an hour of now at which an hour of the clock begins."""

    def offset(instant):
        return seconds(local(zone, instant) - EPOCH) - instant

    bounds = []
    for low in range(now - HOUR, now + HOUR, QUARTER):
        before = offset(low)
        if offset(low + QUARTER) != before:
            bounds.append(search(low, low + QUARTER, lambda instant: offset(instant) != before))
    shown = local(zone, now)
    full = now - shown.minute * 60 - shown.second
    return bounds + [full, full + HOUR]


def answer(zone, unit, anchor, ms):
    now = ms // 1000
    if unit == "h":
        bounds = hours(zone, now)
    else:
        bounds = [begin(zone, day) for day in days(unit, anchor, local(zone, now).date())]
    return max(b for b in bounds if b <= now) * 1000, min(b for b in bounds if b > now) * 1000


def main():
    if len(sys.argv) > 1:
        import tzdata

        print(tzdata.IANA_VERSION)
        return
    out = []
    for line in sys.stdin:
        zone, unit, anchor, ms = line.split()
        out.append("%d %d\n" % answer(zone, unit, anchor, int(ms)))
    sys.stdout.write("".join(out))


main()
