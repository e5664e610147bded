"""What an agent may run, what it is told of how a command ended, and what becomes of what the command changed."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from agents.coding.implementer import ImplementationTask, build_agent, build_assignment, list_edits, load_instructions
from agents.loop.tools.edits import (
    MAX_COMMANDS,
    CommandEnd,
    CommandsUnavailable,
    Execute,
    could_not_run,
    make_run_command,
)
from agents.loop.tools.tool import Result, call_tool
from agents.loop.turns import CompletedTurn, ToolUse, Turn
from agents.review.layers import CheckedChange
from domain.config.limits import AllowedCommands, split_line
from domain.review.findings import Severity
from domain.runs.patches import NO_CHANGES, ChangedFile, ChangeSet, Violation
from domain.runs.testing import TestRun
from domain.text.redaction import redact
from tests.unit.implementing.drafts import begin_draft
from tests.unit.planning.plans import plan
from tests.unit.workspace.remotes import Author
from workspace.mirror import Mirror

SECRET = "ghp_" + "a1B2" * 9
ALLOWED = AllowedCommands(("python *", "npm run build"), ("make  'check all'",))
CHANGE = ChangeSet(files=(ChangedFile(path="src/made.py", before=None, after=b"caf\xe9\n"),))
REFUSED = Violation(
    file="src/x", constraint="allowed_areas", severity=Severity.error, message="Not here.", suggestion="There."
)


def ends(status: int | None = 0, printed: str = "", change: ChangeSet = NO_CHANGES, **more: Any) -> Execute:
    async def execute(_words: Sequence[str]) -> CommandEnd:
        return CommandEnd(status, printed, change, **more)

    return execute


async def run(execute: Execute, line: str = "python x.py", *, says_words: bool = True) -> Result:
    tool = make_run_command(execute, ALLOWED, says_words=says_words)
    return await call_tool([tool], "run_command", {"command": line})


@pytest.mark.parametrize(
    "line",
    [
        "python tools/generate.py --all",
        "python -c 'print(1); print(2)'",
        '  python   "a b"',
        "npm run build",
        'make "check all"',
    ],
)
def test_these_may_be_run(line: str) -> None:
    assert ALLOWED.permits(split_line(line))


@pytest.mark.parametrize(
    "line",
    [
        "python",
        "python3 x.py",
        "pythonx",
        "'python x.py'",
        "npm run build --force",
        "npm run BUILD",
        "make check all",
        "A=1 python x.py",
        "sh -c 'python x.py'",
        "true; python x.py",
    ],
)
async def test_these_may_not_be_run(line: str) -> None:
    outcome = await run(ends(), line)
    assert outcome.is_error
    assert "is not allowed, and nothing was run. Allowed are" in outcome.text
    assert "`python *`, `npm run build`, `make  'check all'`" in outcome.text


@pytest.mark.parametrize("line", ["python 'x", "''", "  "])
async def test_what_is_no_command_is_not_run(line: str) -> None:
    outcome = await run(ends(), line)
    assert outcome.is_error
    assert outcome.text.startswith("Nothing was run: it cannot be split into words")


async def test_a_masked_credential_is_not_run() -> None:
    outcome = await run(ends(), redact(f"python x.py {SECRET}"))
    assert outcome.text.startswith("Nothing was run: the command holds what looks like a credential")


async def test_the_agent_sees_how_a_command_ended() -> None:
    outcome = await run(ends(2, f"trace {SECRET}", CHANGE))
    assert not outcome.is_error
    assert outcome.change == CHANGE
    assert outcome.text.startswith(
        "It ended with exit status 2.\nIt changed these files of your draft:\n- src/made.py: new, 1 line\n"
        "It printed, at the end:\ntrace "
    )
    assert SECRET not in outcome.text


async def test_what_is_refused_is_told_and_no_change() -> None:
    outcome = await run(ends(0, "done", violations=(REFUSED,)))
    assert (outcome.is_error, outcome.change) == (True, None)
    assert "Nothing of what it changed was taken" in outcome.text
    assert "- src/x (allowed_areas): Not here. There." in outcome.text
    assert outcome.reason == "src/x (allowed_areas)"


async def test_a_command_that_was_stopped_leaves_nothing() -> None:
    outcome = await run(ends(None, "half"))
    assert outcome.text.startswith("It was stopped, because it took too long")
    assert outcome.change is None


async def test_words_are_not_shown_where_files_must_not_leave() -> None:
    before = "The set-up `x` ended with exit status 1. It says: secret"
    outcome = await run(ends(0, "secret", before=before), says_words=False)
    assert "secret" not in outcome.text
    assert outcome.text.startswith("The set-up `x` ended with exit status 1.\n")


async def test_after_many_commands_no_more_are_run() -> None:
    tool = make_run_command(ends(), ALLOWED)
    outcomes = [await call_tool([tool], "run_command", {"command": "python x"}) for _ in range(MAX_COMMANDS + 1)]
    assert [each.is_error for each in outcomes] == [False] * MAX_COMMANDS + [True]


async def test_where_no_command_can_run_the_agent_is_told_to_go_on() -> None:
    async def execute(_words: Sequence[str]) -> CommandEnd:
        raise CommandsUnavailable("The disk is full.")

    outcome = await run(execute)
    assert outcome.text == "Commands cannot be run here: The disk is full. Go on without them."
    assert could_not_run([took(Result(text=outcome.text, is_error=True))])
    assert not could_not_run([took(Result(text="It ended with exit status 0."))])


# --- what is kept ------------------------------------------------------------------------------------------


def took(*results: Result) -> CompletedTurn:
    use = ToolUse(id="1", tool="run_command", arguments='{"command": "python x.py"}')
    return CompletedTurn(turn=Turn(key="T1 1", uses=(use,) * len(results)), results=results)


def test_what_a_command_changed_is_found_in_the_turn() -> None:
    """To the byte, also behind a journal that holds JSON."""
    turn = took(Result(text="It ended.", change=CHANGE), Result(text="No.", is_error=True), Result(text="It ended."))
    again = CompletedTurn.model_validate(json.loads(turn.model_dump_json()))
    assert list_edits([again]) == [CHANGE]


def test_what_is_kept_is_no_part_of_what_the_model_sees() -> None:
    """Its next answer is found again by that."""
    assert repr(Result(text="It ended.", change=CHANGE)) == repr(Result(text="It ended."))


def test_without_commands_the_instructions_are_as_ever() -> None:
    task = ImplementationTask(plan=plan(), task="T1")
    plain = build_assignment("T1", task)
    assert plain.instructions == load_instructions()
    assert "run_command" not in plain.instructions
    interactive = build_assignment("T1", task, is_interactive=True)
    assert interactive.instructions.startswith(plain.instructions)
    assert "run_command" in interactive.instructions


async def test_without_commands_the_tools_are_as_ever(mirror: Mirror, author: Author) -> None:
    async def test(_commit: str, _names: Sequence[str]) -> TestRun:
        raise AssertionError

    async def check(_commit: str) -> CheckedChange:
        raise AssertionError

    draft = await begin_draft(mirror, author)
    plain = build_agent(draft, (), test, check)
    assert {tool.name for tool in plain.tools} == {
        *("read_file", "glob", "grep", "git_log", "git_blame", "apply_patch", "edit", "write_file"),
        *("run_linter", "run_security_scan", "run_tests"),
    }
    own = make_run_command(ends(), ALLOWED)
    interactive = build_agent(draft, (), test, check, [own])
    assert [tool.name for tool in interactive.tools] == [*(tool.name for tool in plain.tools), "run_command"]
