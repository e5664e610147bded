"""Settings of all tests, and which of them only `make test-all` plays: a whole Forge on PostgreSQL, among others."""

import gc
import logging
import os
import sys
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from tests.databases import create_database, drop_database
from tests.left_out import WHOLE, load_left_out, strip_parameters
from tests.stories.driver import Story, open_story
from tests.world.browser import BROWSER
from tests.world.shared_forge import LENDER

ALL = bool(os.environ.get("TEST_ALL"))  # `make test-all`
QUICK = bool(os.environ.get("TEST_QUICK"))  # `make test`
BOTH = ALL or bool(os.environ.get("TEST_BOTH"))  # databases
# No test is timed: a loaded machine generates examples slowly, which says nothing about the code.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", _UNTIMED, max_examples=25, derandomize=True)
settings.register_profile("long", _UNTIMED, max_examples=200)
settings.load_profile("long" if ALL else "quick")
_LONG = {"test_demo.py", "test_deploy_command.py", "test_first_run.py", "test_workers.py", "test_door.py"}
"""Stories of which each test takes longest, and shares no Forge."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep ten thousand tests and all imported code out of the garbage collector's walks, which grow with them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only ``make test-all`` plays, and order the rest."""
    names = load_left_out() if QUICK and not ALL else frozenset[str]()
    left_out = {item for item in items if _is_left_out(item) or {item.nodeid, strip_parameters(item.nodeid)} & names}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]
    items.sort(key=_rank)


def _is_left_out(item: pytest.Item) -> bool:
    if item.get_closest_marker("deep") is not None and not ALL:
        return True
    return "postgresql" in item.name and item.path.parent.name in WHOLE and not BOTH


def _rank(item: pytest.Item) -> tuple[str, ...]:
    """The longest stories, lest one is left for the end while only one process works; then all that starts no Forge.

    Stories that can share a Forge come last and follow each other, those of one kind first.
    """
    if item.path.name in _LONG:
        return ()
    if item.path.parent.name not in WHOLE or item.get_closest_marker("own_forge") is not None:
        return ("",)
    names: Sequence[str] = getattr(item, "fixturenames", ())
    return (
        item.path.parent.name,
        *(name for name in ("story", "model", "impatient_story") if name in names),
    )


@pytest.fixture
async def guarded_story(tmp_path: Path) -> AsyncGenerator[Story]:
    """A story whose operator lets Forge ask no private address."""
    url = create_database("sqlite", tmp_path)
    async with open_story(url, tmp_path, outbound_allow="") as started:
        yield started
    drop_database(url)


@pytest.fixture(scope="session", autouse=True)
async def shared_forge() -> AsyncGenerator[None]:
    """The Forge that stories share ends with the tests of this process."""
    yield
    await LENDER.close()


@pytest.fixture(scope="session", autouse=True)
async def shared_browser() -> AsyncGenerator[None]:
    """So does the browser that they share."""
    yield
    await BROWSER.close()


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    """What a test or a ``.env`` says in the environment ends with the test, and so does its folder."""
    before, folder = dict(os.environ), Path.cwd()
    yield
    os.chdir(folder)
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    """A Forge that runs beside a command must not log into what the command prints, which tests read.

    A command of the terminal sets up logging for its process, to a stream that is closed with its test. So does DBOS at
    its first start, and fails at the next one if its handler is still there.
    """

    def make_logger(*_: object) -> structlog.PrintLogger:
        return structlog.PrintLogger(sys.stderr)

    structlog.configure(logger_factory=make_logger)
    yield
    structlog.reset_defaults()
    logging.getLogger("dbos").handlers.clear()
