"""Calls with several terms, their reservations and settlements."""

from datetime import timedelta

import pytest

from zlimit import ReplyError, Slots, Term, TermDecision

KEYS = ["{u7}:rpm", "{u7}:tpm", "{u7}:jobs"]
SECOND = timedelta(seconds=1)

pytestmark = pytest.mark.zlimit_frozen


def decision(term, allowed, limit, remaining, retry_after, reset_after):
    return TermDecision(allowed, limit, remaining, retry_after, reset_after, term)


def terms(tokens):
    return [
        Term(KEYS[0], (60, "1m")),
        Term(KEYS[1], (90, 60 * SECOND), (1000, "1d"), cost=tokens),
        Slots(KEYS[2], 2, 120 * SECOND),
    ]


def remaining(server):
    """Return what is left of the requests and of the tokens, and the ids with slots."""
    return [
        server.allow(KEYS[0], 60, "1m", cost=0).remaining,
        server.allow(KEYS[1], 90, "1m", cost=0).remaining,
        server.execute("ZRANGE", KEYS[2], 0, -1),
    ]


def test_allow_all(zlimit):
    requests, tokens = Term("rpm", (60, "1m")), Term("tpm", (90, "1m"), (100, "1d"), cost=60)
    admitted = zlimit.allow_all([requests, tokens])
    assert admitted == decision(2, 60, 90, 30, timedelta(0), 60 * SECOND)
    assert admitted
    zlimit.clock.advance(seconds=10)
    denied = zlimit.allow_all([requests, tokens])
    assert denied == decision(2, 0, 100, 40, timedelta(days=1) - 10 * SECOND, timedelta(days=1) - 10 * SECOND)
    assert not denied
    assert zlimit.allow("rpm", 60, "1m", cost=0).remaining == 59, "a denied call consumes nothing"
    zlimit.clock.advance(denied.retry_after)
    assert zlimit.allow_all([requests, tokens]).allowed == 60


def test_algorithms(zlimit):
    burst = Term("g", (60, "1m"), cost=2, algorithm="GCRA 5")
    budget = Term("f", (9, "1mo@UTC:17"), algorithm="FIXED")
    assert zlimit.allow_all([burst, budget]) == decision(1, 2, 60, 3, timedelta(0), 2 * SECOND)
    assert zlimit.execute("RL.INFO", "f")[:2] == ["algorithm", "FIXED"]


def test_slots(zlimit):
    jobs = [Term(b"\xff", (60, "1m")), Slots("jobs", 1, "2m")]
    assert zlimit.allow_all(jobs, id="one") == decision(2, 1, 1, 0, timedelta(0), 120 * SECOND)
    assert zlimit.allow_all(jobs, id=b"\xfe") == decision(2, 0, 1, 0, 120 * SECOND, 120 * SECOND)
    zlimit.clock.advance(minutes=2)
    assert zlimit.allow_all(jobs, id=b"\xfe")
    assert zlimit.execute("ZRANGE", "jobs", 0, -1) == [b"\xfe".decode(errors="surrogateescape")]


def test_settle(zlimit):
    assert zlimit.allow_all(terms(60), hold=120 * SECOND, id="one").allowed
    assert remaining(zlimit) == [59, 30, ["one"]]
    denied = zlimit.allow_all(terms(31), hold="2m", id="two")
    assert (denied.term, denied.allowed, denied.remaining) == (2, 0, 30)
    assert remaining(zlimit) == [59, 30, ["one"]], "a denied reservation holds nothing"
    assert zlimit.settle(KEYS, "two", [1, 1, 0]) == []

    settled = zlimit.settle(KEYS, "one", [1, 14, 0])
    assert settled == [(1, 0), (14, 0), (0, 0)]
    assert (settled[1].counted, settled[1].excess) == (14, 0)
    assert remaining(zlimit) == [59, 76, []]
    assert zlimit.settle(KEYS, "one", [1, 50, 0]) == settled, "the first settlement counts"
    assert remaining(zlimit) == [59, 76, []]

    assert zlimit.allow_all(terms(60), hold="2m", id="two")
    assert zlimit.settle(KEYS, "two", [1, 80, 0]) == [(1, 0), (80, 20), (0, 0)]
    assert remaining(zlimit) == [58, 0, []]


def test_cancel(zlimit):
    assert zlimit.allow_all(terms(60), hold="2m", id="one")
    assert zlimit.cancel(KEYS, "one") == [1, 60, 1]
    assert remaining(zlimit) == [60, 90, []]
    assert zlimit.cancel(KEYS, "one") == [1, 60, 1], "once more it says the same"
    assert zlimit.cancel(KEYS, "none") == []
    assert zlimit.allow_all(terms(60), hold="1m", id="two")
    zlimit.clock.advance(minutes=1, milliseconds=1)
    assert zlimit.cancel(KEYS, "two") == [], "the hold has passed"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda s: s.allow_all([]), "^ERR wrong number of arguments"),
        (lambda s: s.allow_all([Term("k", (1, "1m")), Term("k", (2, "1m"))]), "^ERR key 'k' is named twice"),
        (lambda s: s.allow_all([Term("k", (-1, "1m"))]), "^ERR limit must not be negative"),
        (lambda s: s.allow_all([Term("k", (1, "1m"), cost=0)]), "^ERR COST of a term must be at least 1"),
        (lambda s: s.allow_all([Slots("k", 1, "1m")]), "SLOTS needs an ID"),
        (lambda s: s.allow_all([Term("k", (1, "1m"))], id="one"), "ID goes with SLOTS"),
        (lambda s: s.allow_all([Term("k", (1, "1m"))], hold="1m"), "ID with a value is missing"),
        (lambda s: s.allow_all([Slots("k", 1, "1m")], hold="1m", id=""), "^ERR ID must not be empty"),
        (lambda s: s.settle(KEYS, "one", [1]), "^ERR 3 keys need as many actual costs, not 1"),
    ],
)
def test_refusals_of_the_server(zlimit, call, text):
    zlimit.allow_all(terms(60), hold="2m", id="one")
    before = zlimit.execute("DBSIZE"), remaining(zlimit)
    with pytest.raises(ReplyError, match=text):
        call(zlimit)
    assert (zlimit.execute("DBSIZE"), remaining(zlimit)) == before


def test_durations():
    for make, text in [
        (lambda: Term("k", (1, SECOND / 2000)), "whole number of milliseconds: a window of 0.0005 s"),
        (lambda: Slots("k", 1, SECOND / 2000), "whole number of milliseconds: a lease of 0.0005 s"),
    ]:
        with pytest.raises(ValueError, match=text):
            make()
    with pytest.raises(TypeError, match="a lease of what"):
        Slots("k", 1, 60)


def test_hold_of_no_duration(zlimit):
    with pytest.raises(TypeError, match="a hold of what"):
        zlimit.allow_all(terms(1), hold=60, id="one")
    assert zlimit.execute("DBSIZE") == 0
