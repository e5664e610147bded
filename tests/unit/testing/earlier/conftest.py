"""A repository of the test's own, whose earlier tests run in the real sandbox."""

import shutil
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from agents.testing.earlier_tests.run import run_earlier_tests
from agents.testing.tester import Tester
from agents.toolbox import Toolbox
from domain.config.configuration import Commands
from domain.runs.earlier_tests import EarlierTests
from tests.unit.testing.conftest import MODULES, TOOLS
from tests.unit.testing.two_commits import mirror_change
from workspace.sandbox.bubblewrap import build_path

PACKAGES = frozenset({"jest", "vitest", "mocha", "ava"})
Earlier = Callable[..., Awaitable[EarlierTests]]


def has_program(name: str) -> bool:
    """Whether tests in the sandbox find a program, or a package of Node that runs tests."""
    is_package = bool(MODULES) and name in PACKAGES
    return Path(MODULES, name).is_dir() if is_package else shutil.which(name, path=build_path(TOOLS)) is not None


@pytest.fixture
def earlier(tmp_path: Path, toolbox: Toolbox) -> Earlier:
    """Runs the earlier tests of a change from some files to others."""

    async def run(before: Mapping[str, str], after: Mapping[str, str | None], **commands: str) -> EarlierTests:
        async with mirror_change(tmp_path, before, after) as (mirror, change):
            return await run_earlier_tests(Tester(mirror, toolbox, Commands.model_validate(commands)), change)

    return run
