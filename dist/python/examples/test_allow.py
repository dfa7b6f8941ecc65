import pytest


@pytest.mark.zlimit_frozen
def test_a_batch_waits(zlimit):
    assert zlimit.allow("user:42", 100, "1m", cost=60)
    denied = zlimit.allow("user:42", 100, "1m", cost=60)
    assert not denied
    assert denied.remaining == 40
    zlimit.clock.advance(denied.retry_after)
    assert zlimit.allow("user:42", 100, "1m", cost=60)
