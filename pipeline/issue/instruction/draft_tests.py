"""Runs the tests that concern what was made of an instruction, before it is pushed."""

from dataclasses import dataclass
from functools import cached_property

from pydantic import BaseModel

from agents.testing.reproduction.new_tests import NewTests
from domain.config.configuration import Configuration
from domain.runs.next_step import SendBack
from domain.runs.run import Phase
from domain.runs.task_result import MOST_FIXES, RequiredFix
from domain.runs.testing import SuiteVerdict, TestRun, decide_verdict
from messages import instructions as texts
from messages import tests as test_texts
from pipeline.issue.coding.draft_checks import DraftChecks
from pipeline.run_context import RunContext


class TestedDraft(BaseModel):
    """How the tests ended that concern a change; in journals.

    :param title: in a few words.
    :param to_fix: the tests that fail because of it, or prove nothing.
    :param proof: what its new tests show of the pull request; None where nothing has to be proven.
    """

    title: str
    is_failed: bool = False
    to_fix: tuple[RequiredFix, ...] = ()
    proof: NewTests | None = None

    def send_back(self, head: str) -> SendBack:
        """The return of a change for mending.

        :param head: the commit that was tested.
        """
        return SendBack(phase=Phase.testing, head=head, to_fix=self.to_fix)


@dataclass(frozen=True)
class DraftTests:
    """The tests of one instruction; what fails without its change, too, is no failure of it."""

    context: RunContext
    configuration: Configuration

    @cached_property
    def _checks(self) -> DraftChecks:
        return DraftChecks(self.context, self.configuration, None)

    async def run(self, commit: str) -> TestedDraft:
        """Run the tests that concern the change up to a commit."""
        if not self._checks.can_test:
            return TestedDraft(title=texts.leave_to_workflows())
        return await self.context.journal.step("test the draft", self._run, commit)

    async def _run(self, commit: str) -> TestedDraft:
        run = await self._checks.test(commit, ())
        return TestedDraft(
            title=test_texts.render_line(run),
            is_failed=decide_verdict(run) is SuiteVerdict.failed,
            to_fix=_list_to_fix(run),
        )


def _list_to_fix(run: TestRun) -> tuple[RequiredFix, ...]:
    failed = [
        RequiredFix(path=case.path or "", line=case.line, rule=case.id, message=case.message) for case in run.failures
    ]
    return tuple(failed[:MOST_FIXES])
