"""Fixtures for pytest: ``zlimit`` and ``zlimit_server``."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import pytest

from ._server import Server

POSITION = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("zlimit_directives", "directives of zlimit-server, as on its command line", "args", [])
    parser.addini("zlimit_cluster", "the server is a cluster of one node", "bool", False)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "zlimit_frozen(at=None): the clock of the fixture zlimit is frozen, at a datetime if there is one",
    )


@pytest.fixture(scope="session")
def zlimit_server(pytestconfig: pytest.Config) -> Iterator[Server]:
    """The server of this process, which tests share: with pytest-xdist there is one for each worker."""
    directives, cluster = pytestconfig.getini("zlimit_directives"), pytestconfig.getini("zlimit_cluster")
    with Server(*directives, cluster=cluster) as server:
        yield server


@pytest.fixture
def zlimit(zlimit_server: Server, request: pytest.FixtureRequest) -> Server:
    """The server, emptied for this test: no keys, scripts or faults, the directives and
    users of its start, and the system's time."""
    request.node.stash[POSITION] = zlimit_server.log_position
    zlimit_server.reset()
    marker = request.node.get_closest_marker("zlimit_frozen")
    if marker is not None:
        at = marker.kwargs.get("at", marker.args[0] if marker.args else None)
        zlimit_server.clock.freeze()
        if at is not None:
            zlimit_server.clock.set(at)
    return zlimit_server


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Show what the server has logged during a test that fails."""
    outcome = yield
    report = outcome.get_result()
    server = getattr(item, "funcargs", {}).get("zlimit")
    if report.failed and isinstance(server, Server):
        text = server.log_since(item.stash.get(POSITION, 0))
        report.sections.append(("zlimit-server log", text or "(nothing was logged during this test)"))
