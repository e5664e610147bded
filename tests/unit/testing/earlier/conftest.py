"""A repository of the test's own, whose earlier tests run in the real sandbox."""

import os
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from agents.testing.earlier_tests.run import run_earlier_tests
from agents.testing.tester import Tester
from agents.toolbox import Toolbox
from domain.config.configuration import Commands
from domain.runs.earlier_tests import EarlierTests
from tests.toolchain import toolchain
from tests.unit.testing.two_commits import mirror_change
from workspace.sandbox.bubblewrap import build_path

MODULES = os.environ.get("FORGE_TEST_NODE_MODULES", "")
"""A folder ``node_modules`` with the packages below, which any account can read."""
PACKAGES = frozenset({"jest", "vitest", "mocha", "ava"})
_TOOLS = [Path(each) for each in os.environ.get("FORGE_TEST_TOOLS", "").split(":") if each]
"""Folders with a ``bin`` of programs that any account can run, for what is not among the system's."""
Earlier = Callable[..., Awaitable[EarlierTests]]


def has_program(name: str) -> bool:
    """Whether tests in the sandbox find a program, or a package of Node that runs tests."""
    is_package = bool(MODULES) and name in PACKAGES
    return Path(MODULES, name).is_dir() if is_package else shutil.which(name, path=build_path(_TOOLS)) is not None


@pytest.fixture
async def earlier(tmp_path: Path) -> AsyncGenerator[Earlier]:
    """Runs the earlier tests of a change from some files to others."""
    async with Toolbox.start(workers=1, reads=[toolchain(), *_TOOLS, *([Path(MODULES)] if MODULES else [])]) as toolbox:

        async def run(before: Mapping[str, str], after: Mapping[str, str | None], **commands: str) -> EarlierTests:
            async with mirror_change(tmp_path, before, after) as (mirror, change):
                return await run_earlier_tests(Tester(mirror, toolbox, Commands.model_validate(commands)), change)

        yield run
