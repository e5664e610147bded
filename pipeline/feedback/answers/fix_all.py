"""Answers ``/forge fix all``: one commit that fixes what can be fixed of the open findings, and why not the others."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from domain.review.findings import Finding
from domain.review.line_edits import LineEdit
from messages import fixes as one_texts
from messages import fixes_of_all as texts
from messages.fixes_of_all import MOST_WRITTEN, FixOutcome
from pipeline.feedback.answers.finding import NotFixed, OpenFindings, Unfixed, find_obstacle, load_open_findings
from pipeline.feedback.answers.fix_branch import BranchFix, FixBranch
from pipeline.feedback.answers.fix_branch import find_obstacle as find_branch_obstacle
from pipeline.feedback.answers.fix_proposal import OpenProposal, find_proposal
from pipeline.feedback.answers.fix_writer import FixWriter, ValidFix
from pipeline.feedback.answers.request import AnswerRequest
from pipeline.run_context import RunContext
from safety.line_edits import overlaps

_KEY = "all"
"""Names the branch of such a change."""


@dataclass
class JoinedFixes:
    """The fixes that go into one commit, and what became of each finding.

    :param taken: path → the findings that are fixed there, with their changes.
    :param outcomes: by the fingerprint of the finding.
    :param written: for how many findings a model was asked.
    """

    taken: dict[str, list[tuple[Finding, Sequence[LineEdit]]]] = field(
        default_factory=dict[str, list[tuple[Finding, Sequence[LineEdit]]]]
    )
    outcomes: dict[str, FixOutcome] = field(default_factory=dict[str, FixOutcome])
    written: int = 0

    def list_edits(self, path: str) -> list[LineEdit]:
        """What changes in a file so far."""
        return [edit for _, edits in self.taken.get(path, ()) for edit in edits]

    def find_overlap(self, path: str, first: int, last: int) -> Finding | None:
        """The finding whose fix changes one of these lines."""
        there = self.taken.get(path, ())
        return next((finding for finding, edits in there if overlaps(edits, first, last)), None)

    def take(self, finding: Finding, fix: ValidFix, edits: Sequence[LineEdit]) -> None:
        """:param edits: those of the fix that are not taken already."""
        self.taken.setdefault(finding.path, []).append((finding, edits))
        outcome = FixOutcome(finding, is_known=fix.is_known, summary=fix.summary, is_tried=fix.is_tried)
        self.outcomes[finding.fingerprint] = outcome

    def leave(self, finding: Finding, why: str) -> None:
        self.outcomes[finding.fingerprint] = FixOutcome(finding, why_not=why)


@dataclass(frozen=True)
class FixAllAnswer:
    """The answer to one command."""

    context: RunContext
    request: AnswerRequest

    async def find_answer(self) -> str:
        """The answer; a pull request may have been opened or renewed with it."""
        services, run = self.context.services, self.context.run
        known = await self.context.journal.step("what is known", load_open_findings, services, run)
        if isinstance(known, NotFixed):
            return known.text
        where = (self.context, known.pull_request)
        proposal = await self.context.journal.step("is it proposed", find_proposal, *where, _KEY, None)
        if proposal is not None and proposal.is_touched:
            return texts.point_to_touched(proposal.number)
        joined = await self._join_fixes(known)
        outcomes = [joined.outcomes[finding.fingerprint] for finding in known.findings]
        if not joined.taken:
            return texts.report_none(outcomes)
        if not await self.context.journal.step("is it still allowed", self.request.may_still_ask, services):
            return one_texts.report_lost_permission(self.request.asked.verb)
        edits = {path: joined.list_edits(path) for path in joined.taken}
        obstacle = await self.context.journal.step("may it be proposed", find_branch_obstacle, *where)
        if obstacle:
            return texts.show(outcomes, edits, obstacle)
        return await self._propose(known, outcomes, edits, proposal)

    async def _join_fixes(self, known: OpenFindings) -> JoinedFixes:
        """The findings' own fixes first: they cost nothing, and a model's change of the same lines is not asked for."""
        writer, joined = FixWriter(self.context, known.configuration), JoinedFixes()
        for finding in sorted(known.findings, key=lambda each: each.fix is None):
            await self._try_fix(finding, writer, joined)
        return joined

    async def _try_fix(self, finding: Finding, writer: FixWriter, joined: JoinedFixes) -> None:
        obstacle = find_obstacle(finding, writer.configuration)
        if obstacle is not None:
            return joined.leave(finding, obstacle.why)
        if finding.fix is None:
            other = None if finding.line is None else joined.find_overlap(finding.path, *finding.comment_lines)
            if other is not None:
                return joined.leave(finding, texts.explain_overlap(other))
            if joined.written >= MOST_WRITTEN:
                return joined.leave(finding, texts.explain_too_many())
            joined.written += 1
        fix = await writer.find_fix(finding)
        if isinstance(fix, Unfixed):
            return joined.leave(finding, fix.why)
        return await self._add(finding, fix, writer, joined)

    async def _add(self, finding: Finding, fix: ValidFix, writer: FixWriter, joined: JoinedFixes) -> None:
        """Take a fix that goes together with those before; the same change of the same lines is made once."""
        before = joined.list_edits(finding.path)
        new = [edit for edit in fix.edits if edit not in before]
        others = (joined.find_overlap(finding.path, edit.start_line, edit.end_line) for edit in new)
        other = next(filter(None, others), None)
        if other is not None:
            return joined.leave(finding, texts.explain_overlap(other))
        if new and before:
            step = ("does it go together", writer.keeps_syntax, finding.path, [*before, *new])
            if not await self.context.journal.step(*step):
                return joined.leave(finding, texts.explain_clash())
        return joined.take(finding, fix, new)

    async def _propose(
        self,
        known: OpenFindings,
        outcomes: Sequence[FixOutcome],
        edits: dict[str, list[LineEdit]],
        proposal: OpenProposal | None,
    ) -> str:
        run, login = self.context.run, self.request.comment.sender.login
        title, body = texts.render_pull_request(outcomes, run.number, login)
        message = texts.render_commit_message(outcomes, run.id)
        fix = BranchFix(key=_KEY, edits=edits, message=message, title=title, body=body)
        branch = FixBranch(self.context, self.request, known.pull_request, fix, proposal)
        if proposal is not None and await self.context.journal.step("is it the same", branch.is_proposed, proposal):
            return texts.point_to_proposal(outcomes, proposal.number)
        proposed = await branch.propose()
        if not proposed.branch:
            return texts.show(outcomes, edits, proposed.why)
        if proposed.number is None:
            return texts.report_unopened(outcomes, proposed.branch, proposed.why)
        where = (proposed.number, known.pull_request.head_ref)
        return texts.confirm(outcomes, *where, is_renewed=proposal is not None)
