"""Options and helpers of the package's own tests, which run against the installed wheel."""

import os
import tempfile
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]


def pytest_addoption(parser):
    parser.addoption("--servers", type=int, default=200, help="how many servers to start one after the other")


class Traces:
    """What servers could leave behind: descriptors and children of this process, temporary files."""

    def __init__(self, folder):
        self.folder = folder
        self.before = self.now()

    def now(self):
        children = Path("/proc/self/task") / str(os.getpid()) / "children"
        return {
            "descriptors": len(os.listdir("/proc/self/fd")) if Path("/proc").is_dir() else 0,
            "children": children.read_text() if children.exists() else "",
            "files": sorted(os.listdir(self.folder)),
        }

    def require_none(self):
        assert self.now() == self.before


@pytest.fixture
def traces(monkeypatch):
    """The temporary directory is the test's own, with a short but difficult name."""
    with tempfile.TemporaryDirectory(prefix="zl ä ") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Traces(folder)
