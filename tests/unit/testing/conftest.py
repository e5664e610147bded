"""The sandbox and the workers that the tests of this room share: to start workers takes longer than most tests."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from agents.toolbox import Toolbox
from tests.toolchain import toolchain

MODULES = os.environ.get("FORGE_TEST_NODE_MODULES", "")
"""A folder ``node_modules`` with packages that run tests, which any account can read."""
TOOLS = [Path(each) for each in os.environ.get("FORGE_TEST_TOOLS", "").split(":") if each]
"""Folders with a ``bin`` of programs that any account can run, for what is not among the system's."""


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def toolbox() -> AsyncIterator[Toolbox]:
    async with Toolbox.start(workers=1, reads=[toolchain(), *TOOLS, *([Path(MODULES)] if MODULES else [])]) as started:
        yield started
