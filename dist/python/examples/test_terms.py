import pytest
from zlimit import Slots, Term

KEYS = ["{u7}:rpm", "{u7}:tpm", "{u7}:jobs"]


def reserve(server, id):
    requests = Term(KEYS[0], (60, "1m"))
    tokens = Term(KEYS[1], (90_000, "1m"), (1_000_000, "1d"), cost=50_000)
    return server.allow_all([requests, tokens, Slots(KEYS[2], 10, "2m")], hold="2m", id=id)


@pytest.mark.zlimit_frozen
def test_calls_of_a_model(zlimit):
    assert reserve(zlimit, "job-1")
    denied = reserve(zlimit, "job-2")
    assert not denied
    assert (denied.term, denied.remaining) == (2, 40_000)
    requests, tokens, slot = zlimit.settle(KEYS, "job-1", [1, 1430, 0])
    assert tokens.counted == 1430
    assert reserve(zlimit, "job-2")
    assert zlimit.cancel(KEYS, "job-2") == [1, 50_000, 1]
