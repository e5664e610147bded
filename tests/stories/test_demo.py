"""The demo comes out as it should, and says so only then."""

import io
import re
from typing import Any

import pytest
from rich.console import Console

from bot.demo import show


async def test_the_demo_tells_its_story() -> None:
    code, told, details = await _play()
    assert code == 0, told + details
    assert len(told.splitlines()) <= 100
    assert "The demo ran to its end" in told
    assert "Muted by its own dismissal: F-" in told
    assert "Forge resolved 14 of 14 threads: their findings are fixed or dismissed." in told
    last = told.split("Forge resolved")[1].split("Another pull request")[0]
    assert "](" not in last
    assert "`" not in last
    good, bad = told.split("A change is merged and goes to staging in steps")[1].split("The next change fails")
    assert "100 % deployed" in good
    assert "Deployed and healthy" in good
    assert "Being rolled back from 25 %" in bad
    assert re.search(r"25 % +2 +unhealthy", bad)
    assert "is back and healthy." in " ".join(details.replace("│", " ").split())


@pytest.mark.deep
async def test_a_demo_that_comes_out_otherwise_fails() -> None:
    code, told, _ = await _play(second_push={"README.md": "Nothing is repaired.\n"}, patience=12.0)
    assert code == 1
    assert "did not go as expected" in told


async def _play(**otherwise: Any) -> tuple[int, str, str]:
    """The exit code, what the terminal shows, and what it would show of it with ``--verbose``."""
    printed, details = io.StringIO(), io.StringIO()
    code = await show.run(Console(file=printed, width=80), details=Console(file=details, width=100), **otherwise)
    return code, printed.getvalue(), details.getvalue()
