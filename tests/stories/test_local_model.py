"""`forge review --model`: a model reads a change that is on this machine only, and is asked as for a pull request."""

import json
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from bot.cli.local_review import LocalOptions, run
from domain.review.review import Decision
from tests.provider import KEY, Provider, report_value, serve_provider
from tests.world.model_findings import DIVISION, LINE, PAY, claim
from tests.world.single_reviews import Desk, open_desk, run_process

_PAY = "billing/pay.py"


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncGenerator[Desk]:
    async with open_desk(tmp_path, {"a.py": "x = 1\n", "billing/__init__.py": ""}) as opened:
        yield opened


async def test_a_local_change_is_asked_about_as_on_github(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    await desk.ann.push(desk.shelf, "topic", {_PAY: PAY}, "Add totals", base="main")
    pull = await desk.ann.open_pull_request(desk.shelf, "topic", title="Add totals")
    provider = Provider([_find(), _confirm(), _find(), _confirm()])
    async with serve_provider(provider) as address:
        os.environ.update({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": address})
        token = desk.github.personal_token(desk.bob)
        on_github = await desk.review(pull, token=token, ask_model=True)
        decision = await _review(await _clone(desk, "topic"), LocalOptions("origin/main", ask_model=True))
    told = capsys.readouterr().out
    assert (on_github.code, decision) == (1, Decision.request_changes)
    assert f"{_PAY}:{LINE}: error model/logic-error: An empty list divides by zero." in told
    assert "No model read this" not in told
    of_github, of_here = provider.asked[:2], provider.asked[2:]
    assert of_here == of_github
    assert "Add totals" in json.dumps(of_here)


async def test_conventions_are_those_of_before_the_change(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    await desk.ann.push(desk.shelf, "main", {"AGENTS.md": "Money is never a float.\n"})
    mine = {_PAY: PAY, "AGENTS.md": "Floats are fine.\n"}
    await desk.ann.push(desk.shelf, "topic", mine, "Add totals", base="main")
    pull = await desk.ann.open_pull_request(desk.shelf, "topic", title="Add totals")
    nothing, every_line = report_value({"findings": []}), report_value({"rules": [{"line": 1, "end_line": 1}]})
    provider = Provider([nothing, every_line, nothing] * 2)
    async with serve_provider(provider) as address:
        os.environ.update({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": address})
        await desk.review(pull, token=desk.github.personal_token(desk.bob), ask_model=True)
        await _review(await _clone(desk, "topic"), LocalOptions("origin/main", ask_model=True))
    assert len(provider.asked) == 6
    for question in (json.dumps(provider.asked[2]), json.dumps(provider.asked[5])):
        assert "1 Money is never a float." in question
        assert "1 Floats are fine." not in question
    assert "Approved" in capsys.readouterr().out


async def test_a_change_that_is_not_committed_is_read_after_it_is_corrected(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = await _clone(desk, "main")
    (folder / _PAY).write_text(f"import os\n{PAY}")
    provider = Provider([_find(), _confirm()])
    async with serve_provider(provider) as address:
        os.environ.update({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": address})
        assert await _review(folder, LocalOptions()) is Decision.unread
        assert not provider.asked
        decision = await _review(folder, LocalOptions(fix=True, ask_model=True))
    assert decision is Decision.request_changes
    assert f"{_PAY}:{LINE}: error model/logic-error" in capsys.readouterr().out
    assert len(provider.asked) == 2
    assert "import os" not in json.dumps(provider.asked)


async def test_a_model_that_is_not_set_up_is_told(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    folder = await _clone(desk, "main")
    (folder / _PAY).write_text(PAY)
    await _review(folder, LocalOptions(ask_model=True))
    assert "No model is set up. To add one, set ANTHROPIC_API_KEY" in capsys.readouterr().out


async def _clone(desk: Desk, branch: str) -> Path:
    folder = desk.folder / branch
    command = ["git", "clone", "--quiet", "--branch", branch, str(desk.shelf.git.path), str(folder)]
    assert (await run_process(command, desk.environment, desk.folder)).code == 0
    return folder


async def _review(folder: Path, options: LocalOptions) -> Decision:
    return (await run(folder, options, "text")).decision


def _find() -> Any:
    return report_value({"findings": [claim()]})


def _confirm() -> Any:
    return report_value({"verdicts": [{"number": 1, "verdict": "proven", "quote": DIVISION}]})
