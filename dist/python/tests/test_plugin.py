"""The pytest plugin, in a pytest of its own."""

TESTS = """
import datetime
import pytest

NOON = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.timezone.utc)

@pytest.mark.parametrize("i", range(20))
def test_emptied(zlimit, i):
    assert zlimit.execute("DBSIZE") == 0
    assert abs(zlimit.clock.now() - datetime.datetime.now(datetime.timezone.utc)).total_seconds() < 60
    zlimit.execute("SET", "k", i)
    zlimit.clock.advance(hours=1)
    zlimit.faults.inject("loading", on="DBSIZE")

@pytest.mark.zlimit_frozen
def test_frozen(zlimit):
    assert zlimit.clock.now() == zlimit.clock.now()

@pytest.mark.zlimit_frozen(at=NOON)
def test_frozen_at(zlimit):
    assert zlimit.clock.now() == NOON

def test_same_server(zlimit, zlimit_server):
    assert zlimit is zlimit_server
"""


def test_fixtures(pytester):
    pytester.makepyfile(TESTS)
    pytester.runpytest_subprocess("-p", "no:xdist", "--strict-markers").assert_outcomes(passed=23)


def test_parallel(pytester):
    pytester.makepyfile(TESTS)
    pytester.runpytest_subprocess("-n", "4", "--strict-markers").assert_outcomes(passed=23)


def test_log_on_failure(pytester):
    pytester.makepyfile(
        """
        def test_before(zlimit):
            zlimit.execute("DEBUG", "LOG", "of another test")

        def test_fails(zlimit):
            zlimit.execute("DEBUG", "LOG", "this was logged")
            zlimit.execute("NOSUCH")
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*zlimit-server log*", "*this was logged*"])
    result.stdout.no_fnmatch_line("*of another test*")


def test_directives(pytester):
    pytester.makeini("[pytest]\nzlimit_directives = --maxmemory 100mb --requirepass 'a b'")
    pytester.makepyfile(
        """
        import pytest, zlimit as package

        def test(zlimit_server):
            with pytest.raises(package.ReplyError, match="NOAUTH"):
                zlimit_server.execute("GET", "k")
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
