"""Answers ``/forge fix F-ID``: with the finding's own fix, or with a change that a model writes."""

from dataclasses import dataclass

from domain.slash.commands import AskFix
from messages import fixes as texts
from pipeline.feedback.answers.finding import NotFixed, Unfixed, load_finding
from pipeline.feedback.answers.fix_offer import FixOffer
from pipeline.feedback.answers.fix_proposal import find_proposal
from pipeline.feedback.answers.fix_writer import FixWriter
from pipeline.feedback.answers.request import AnswerRequest
from pipeline.run_context import RunContext


@dataclass(frozen=True)
class FixAnswer:
    """The answer to one command."""

    context: RunContext
    request: AnswerRequest
    guid: str
    asked: AskFix

    async def find_answer(self) -> str:
        """The answer; a suggestion or a pull request may have been posted with it."""
        services, run = self.context.services, self.context.run
        known = await self.context.journal.step("what is known", load_finding, services, run, self.request, self.asked)
        if isinstance(known, NotFixed):
            return known.text
        finding, pull = known.finding, known.pull_request
        proposal = await self.context.journal.step(
            "is it proposed", find_proposal, self.context, pull, known.key, finding.path
        )
        if proposal is not None and (proposal.is_current or proposal.is_touched):
            return texts.point_to_proposal(finding, proposal.number, is_touched=proposal.is_touched)
        fix = await FixWriter(self.context, known.configuration).find_fix(finding)
        if isinstance(fix, Unfixed):
            return texts.report_unfixed(finding, fix.why, fix.advice)
        return await FixOffer(self.context, self.request, self.guid, known, fix, proposal).make()
