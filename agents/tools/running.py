"""Lets an agent have its draft built, looked at and tested by the repository's own commands, in the sandbox."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence

from pydantic import BaseModel, ConfigDict

from agents.testing.failures import Failed, told
from agents.tools.tool import Tool
from domain.testing import TestRun, Verdict, verdict
from workspace.draft import Draft

RUN_TESTS = "run_tests"
_DESCRIPTION = (
    "Sets the repository up, builds it, checks style and types, and runs the tests that the files you changed concern, "
    "as far as it has commands for that. Takes up to minutes: call it when your diffs are applied, not in between."
)
_SAME = "Nothing changed since you last asked, so it is the same:"
_MOST_KNOWN = 20  # tests that are named

Redact = Callable[[str], str]
Test = Callable[[str], Awaitable[TestRun]]
"""Tests a commit; never an error."""


class RunTests(BaseModel):
    """What ``run_tests`` takes: nothing, since what is run is for people to say."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def running(draft: Draft, test: Test, *, redact: Redact, never_send: Sequence[str] = ()) -> Tool:
    """``run_tests`` on a draft, with every diff applied that was called before it.

    :param redact: takes secrets out of everything that is answered.
    :param never_send: glob patterns of files whose content must not leave.
    """
    answers: dict[str, str] = {}
    one_at_a_time = asyncio.Lock()

    async def run(_arguments: RunTests) -> str:
        commit = (await draft.snapshot()).commit
        async with one_at_a_time:
            if commit in answers:
                return f"{_SAME}\n{answers[commit]}"
            answers[commit] = "\n".join(_told(await test(commit), redact, never_send))
            return answers[commit]

    return Tool(RUN_TESTS, _DESCRIPTION, RunTests, run)


def _told(run: TestRun, redact: Redact, never_send: Sequence[str]) -> Iterator[str]:
    """What it came to, why these tests, what failed, and what did before."""
    yield _came_to(run)
    if run.selection:
        yield redact(run.selection)
    if run.not_run:
        yield redact(run.not_run)
    yield from told(Failed.of(run), {}, redact, never_send)
    if run.known:
        yield "These fail without the change, too; leave them:"
        yield from (f"- {redact(name)}" for name in sorted(run.known)[:_MOST_KNOWN])


def _came_to(run: TestRun) -> str:
    match verdict(run):
        case Verdict.passed if run.is_unconcerned:
            return "No test concerns what you changed."
        case Verdict.passed:
            return "Everything passed."
        case Verdict.failed:
            return "This failed:"
        case Verdict.no_tests:
            return "There are no tests here, so nothing says whether it works."
        case Verdict.not_run:
            return "The tests could not be run, so go on without them."
