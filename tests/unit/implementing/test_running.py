"""What an agent is told of the tests on its draft, which are run on what was applied before it asked."""

import asyncio
from collections.abc import Sequence

import pytest

from agents.loop.tools.edits import make_edit_tools
from agents.loop.tools.tool import Tool, call_tool
from agents.loop.tools.verification import MAX_RUNS, make_run_tests
from domain.runs.testing import CaseOutcome, CommandResult, TestCase, TestRun
from tests.unit.implementing.drafts import EDIT, begin_draft
from tests.unit.patches.building import new_file
from tests.unit.workspace.remotes import Author
from workspace.draft import Draft
from workspace.mirror import Mirror

SECRET = "ghp_" + "a1B2" * 9


def ran(*cases: TestCase, status: int = 0, **more: object) -> TestRun:
    command = CommandResult(kind="test", line="pytest", exit_status=status, output="", seconds=1.0, cases=cases)
    return TestRun.model_validate({"commands": (command,), **more})


FAILED = TestCase(
    id="tests/test_cart.py::test_total",
    path="tests/test_cart.py",
    line=3,
    outcome=CaseOutcome.failed,
    message=f"assert 2 == 3 {SECRET}",
)
PASSED = TestCase(id="tests/test_cart.py::test_count", path="tests/test_cart.py", outcome=CaseOutcome.passed)


async def call_run_tests(mirror: Mirror, author: Author, run: TestRun, *, says_words: bool = True) -> str:
    async def test(_commit: str, _only: Sequence[str]) -> TestRun:
        return run

    tool = make_run_tests(await begin_draft(mirror, author), test, says_words=says_words)
    answer = await call_tool([tool], "run_tests", {})
    assert not answer.is_error
    return answer.text


def build_tools(draft: Draft, tested: list[str]) -> Sequence[Tool]:
    """The tools of a draft on which every test passes, and which commits were tested."""

    async def test(commit: str, only: Sequence[str]) -> TestRun:
        tested.append(" ".join([commit, *only]))
        return ran(PASSED)

    return [make_run_tests(draft, test), *make_edit_tools(draft)]


async def test_the_tests_run_on_what_was_applied(mirror: Mirror, author: Author) -> None:
    """Each state once: asked again without a change, the answer is known."""
    draft, tested = await begin_draft(mirror, author), list[str]()
    tools = build_tools(draft, tested)
    first, again = await asyncio.gather(*(call_tool(tools, "run_tests", {}) for _ in range(2)))
    assert first.text == "Everything passed.\nTests: 1 passed."
    assert again.text.endswith(first.text)
    assert again.text.startswith("Nothing changed")
    assert tested == [draft.base]
    await call_tool(tools, "apply_patch", {"diff": EDIT})
    await call_tool(tools, "run_tests", {})
    assert tested == [draft.base, draft.head]
    assert draft.head != draft.base


async def test_one_file_or_one_test_is_run_by_itself(mirror: Mirror, author: Author) -> None:
    draft, tested = await begin_draft(mirror, author), list[str]()
    tools = build_tools(draft, tested)
    one = "src/cart.py::test_total"
    for tests in ([one], ["src/cart.py"], [one]):
        assert not (await call_tool(tools, "run_tests", {"tests": tests})).is_error
    assert tested == [f"{draft.base} {one}", f"{draft.base} src/cart.py"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        *((name, "No such file: ") for name in ("tests/gone.py", "-k total", "../cart.py", "src")),
        *((name, "") for name in ("src/cart.py::\0", "src/cart.py\n", "src/cart.py::" + "x" * 500)),
    ],
)
async def test_what_is_no_file_or_no_name_is_not_run(mirror: Mirror, author: Author, name: str, said: str) -> None:
    draft, tested = await begin_draft(mirror, author), list[str]()
    outcome = await call_tool(build_tools(draft, tested), "run_tests", {"tests": [name]})
    assert outcome.is_error
    assert outcome.text.startswith(said)
    assert tested == []


async def test_what_fails_anyway_is_counted_apart(mirror: Mirror, author: Author) -> None:
    text = await call_run_tests(mirror, author, ran(FAILED, PASSED, known=(FAILED.id,)))
    assert "Tests: 1 passed, 1 failed as without the change." in text


async def test_what_failed_is_told_without_credentials(mirror: Mirror, author: Author) -> None:
    text = await call_run_tests(mirror, author, ran(FAILED, PASSED, status=1))
    assert text.startswith("This failed:\nTests: 1 failed, 1 passed.\n")
    assert "#1 tests/test_cart.py::test_total at tests/test_cart.py:3" in text
    assert "assert 2 == 3" in text
    assert SECRET not in text
    assert "test_count" not in text


async def test_where_files_must_not_leave_no_test_says_a_word(mirror: Mirror, author: Author) -> None:
    """The agent writes tests: one could print such a file, without naming it, or have its content for a name."""
    run = ran(FAILED, status=1, known=("tests/test_cart.py::test_content",))
    text = await call_run_tests(mirror, author, run, says_words=False)
    assert text.splitlines()[:3] == [
        "This failed:",
        "Tests: 1 failed, 1 failed as without the change.",
        "#1 tests/test_cart.py:3",
    ]
    assert "2 == 3" not in text
    assert "test_total" not in text
    assert "test_content" not in text


async def test_what_takes_too_long_says_nothing(mirror: Mirror, author: Author) -> None:
    async def test(_commit: str, _only: Sequence[str]) -> TestRun:
        await asyncio.sleep(60)
        raise AssertionError

    tool = make_run_tests(await begin_draft(mirror, author), test, seconds=0.05)
    answer = await call_tool([tool], "run_tests", {})
    assert answer.text.startswith(
        "Forge could not run the tests, so go on without them.\nIts commands did not end within"
    )


async def test_a_task_may_run_them_so_often_only(mirror: Mirror, author: Author) -> None:
    draft, tested = await begin_draft(mirror, author), list[str]()
    tools = build_tools(draft, tested)
    refused: list[bool] = []
    for number in range(MAX_RUNS + 2):
        await call_tool(tools, "apply_patch", {"diff": new_file(f"src/new_{number}.py", f"n = {number}\n").decode()})
        refused.append((await call_tool(tools, "run_tests", {})).is_error)
    assert refused == [False] * MAX_RUNS + [True] * 2
    assert len(set(tested)) == len(tested) == MAX_RUNS


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (
            TestRun(selection="Nothing is near."),
            "There are no tests here, so nothing says whether it works.\nNothing is",
        ),
        (TestRun(is_unconcerned=True), "No test concerns what you changed."),
        (
            TestRun(not_run="No sandbox here."),
            "Forge could not run the tests, so go on without them.\nNo sandbox here.",
        ),
    ],
)
async def test_what_cannot_be_said_is_not_said(mirror: Mirror, author: Author, run: TestRun, said: str) -> None:
    assert (await call_run_tests(mirror, author, run)).startswith(said)


NO_RULE = "make: *** No rule to make target 'test'.  Stop."


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ({"kind": "setup", "line": "npm ci", "exit_status": 1}, "`npm ci` ended with exit status 1."),
        (
            {"line": "make test", "exit_status": 2, "output": f"\n{NO_RULE}\n\n", "is_excused": True},
            (
                "every test that concerns this change fails without it, too, so nothing shows whether it works.\n"
                f"make test left no report that can be read. It printed last:\n> {NO_RULE}"
            ),
        ),
    ],
)
async def test_why_tests_could_not_run_is_said(
    mirror: Mirror, author: Author, command: dict[str, object], why: str
) -> None:
    run = TestRun(commands=(CommandResult.model_validate({"kind": "test", **command}),))
    text = await call_run_tests(mirror, author, run)
    assert text == f"Forge could not run the tests, so go on without them.\n{why}"
    assert NO_RULE not in await call_run_tests(mirror, author, run, says_words=False)


async def test_where_no_report_counts_tests_what_they_printed_last_is_shown(mirror: Mirror, author: Author) -> None:
    """A suite that passes without having run the new tests is seen there."""
    printed = "".join(f"case {number}\n" for number in range(9)) + f"9 tests, 0 failures {SECRET}\n"
    run = TestRun(commands=(CommandResult(kind="test", line="make check", exit_status=0, output=printed),))
    text = await call_run_tests(mirror, author, run)
    assert text.startswith("Everything passed.\nmake check left no report that can be read. It printed last:\n> case 5")
    assert "\n> 9 tests, 0 failures" in text
    assert SECRET not in text


async def test_it_takes_no_command(mirror: Mirror, author: Author) -> None:
    """What is run is for people to say, in the repository's configuration."""

    async def never(_commit: str, _only: Sequence[str]) -> TestRun:
        raise AssertionError

    tool = make_run_tests(await begin_draft(mirror, author), never)
    assert (await call_tool([tool], "run_tests", {"command": "rm -rf /"})).is_error
