"""Offers a valid change where people can take it: as a suggestion, as a pull request into theirs, or as text."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel

from domain.errors import Unprocessable
from domain.github.pull_requests import InlineComment
from domain.review.line_edits import LineEdit, widen
from domain.text.escaping import suggestion_block
from messages import fixes as texts
from pipeline.checkout import load_change
from pipeline.feedback.answers.finding import FixableFinding
from pipeline.feedback.answers.fix_branch import BranchFix, FixBranch, find_obstacle
from pipeline.feedback.answers.fix_proposal import OpenProposal
from pipeline.feedback.answers.fix_writer import ValidFix
from pipeline.feedback.answers.request import AnswerRequest
from pipeline.publishing import comments, reviews
from pipeline.run_context import RunContext
from safety.line_edits import read_lines


class OfferKind(StrEnum):
    """How a change is offered; in journals."""

    in_thread = "in_thread"  # a suggestion as a reply in the finding's thread
    on_lines = "on_lines"  # a suggestion in a comment on its lines
    branch = "branch"
    as_text = "as_text"
    refused = "refused"


class Offer(BaseModel):
    """How a change is offered; in journals.

    :param edit: for a suggestion.
    :param why: why it is only text.
    """

    kind: OfferKind
    edit: LineEdit | None = None
    why: str = ""


@dataclass(frozen=True)
class FixOffer:
    """One change, offered once. Every step may be repeated.

    :param proposal: the open pull request with an earlier fix; then this one goes there.
    """

    context: RunContext
    request: AnswerRequest
    guid: str
    known: FixableFinding
    fix: ValidFix
    proposal: OpenProposal | None = None

    async def make(self) -> str:
        """Offer it; the answer."""
        offer = await self.context.journal.step("how it is offered", self._choose)
        match offer.kind:
            case OfferKind.refused:
                return texts.report_lost_permission(self.request.asked.verb)
            case OfferKind.in_thread if offer.edit is not None:
                return await self._suggest_in_thread(offer.edit)
            case OfferKind.on_lines if offer.edit is not None:
                is_posted = await self.context.journal.step("suggest it", self._suggest_on_lines, offer.edit)
                if is_posted:
                    return texts.confirm_suggestion(self.known.finding, offer.edit)
                return self._show("GitHub took no comment on these lines")
            case OfferKind.branch:
                return await self._propose()
            case _:
                return self._show(offer.why)

    async def _choose(self) -> Offer:
        if not await self.request.may_still_ask(self.context.services):
            return Offer(kind=OfferKind.refused)
        suggested = None if self.proposal else await self._choose_suggestion(await self._read_lines())
        if suggested is not None:
            return suggested
        why = await find_obstacle(self.context, self.known.pull_request)
        if why:
            return Offer(kind=OfferKind.as_text, why=f"it does not fit one suggestion, and {why}")
        return Offer(kind=OfferKind.branch)

    async def _choose_suggestion(self, lines: Sequence[str]) -> Offer | None:
        """A suggestion of one edit: in the thread if that stands around its lines, else on its own lines."""
        if len(self.fix.edits) != 1:
            return None
        edit, (first, last) = self.fix.edits[0], self.known.finding.comment_lines
        if self.known.root is not None and first <= edit.start_line and edit.end_line <= last:
            whole = widen(edit, lines, first, last)
            if suggestion_block(whole.after):
                return Offer(kind=OfferKind.in_thread, edit=whole)
        change = await load_change(await self.context.fetch_mirror(), self.context.run)
        file = change.file(self.known.finding.path)
        fits = file is not None and file.can_be_commented(edit.start_line, edit.end_line)
        return Offer(kind=OfferKind.on_lines, edit=edit) if fits and suggestion_block(edit.after) else None

    async def _propose(self) -> str:
        """Push the commit and open the pull request, or renew the one that is open; the answer."""
        finding, pull, summary = self.known.finding, self.known.pull_request, self.fix.summary
        login = self.request.comment.sender.login
        title, body = texts.render_pull_request(finding, self.context.run.number, summary, login, self.fix.is_tried)
        fix = BranchFix(
            key=self.known.key,
            edits={finding.path: self.fix.edits},
            message=texts.render_commit_message(finding, self.context.run.id),
            title=title,
            body=body,
        )
        branch = FixBranch(self.context, self.request, pull, fix, self.proposal)
        proposed = await branch.propose()
        if not proposed.branch:
            return self._show(proposed.why)
        if proposed.number is None:
            return texts.report_unopened(finding, proposed.branch, proposed.why)
        if self.proposal is not None:
            return texts.confirm_renewal(finding, proposed.number, summary)
        return texts.confirm_pull_request(finding, proposed.number, pull.head_ref, summary)

    async def _read_lines(self) -> Sequence[str]:
        mirror, path = await self.context.fetch_mirror(), self.known.finding.path
        return read_lines((await mirror.read(self.context.run.head_sha, [path])).get(path, b"")) or []

    def _show(self, why: str) -> str:
        fix = self.fix
        told = (fix.summary, fix.is_known, fix.is_tried)
        return texts.show_fix(self.known.finding, fix.edits, why, *told)

    def _suggest(self, edit: LineEdit) -> str:
        return texts.suggest(self.known.finding, edit, self.fix.summary, self.fix.is_known, self.fix.is_tried)

    async def _suggest_in_thread(self, edit: LineEdit) -> str:
        text = self._suggest(edit)
        if self.request.comment.comment.thread == self.known.root:
            return text
        await self.context.journal.step("suggest it in the thread", self._reply, text)
        return texts.confirm_reply(self.known.finding, self.fix.is_known)

    async def _reply(self, text: str) -> None:
        run, key = self.context.run, f"{self.request.make_key(self.guid)}.thread"
        root = self.known.root or 0
        await comments.reply_in_thread(self.context.services, run.repository, run.number, root, key, text)

    async def _suggest_on_lines(self, edit: LineEdit) -> bool:
        """Whether GitHub took the comment."""
        text = self._suggest(edit)
        comment = InlineComment(path=self.known.finding.path, start_line=edit.start_line, line=edit.end_line, body=text)
        services, run = self.context.services, self.context.run
        marker = services.markers.make("fix", self.request.make_key(self.guid))
        try:
            await reviews.comment_once(
                services, run, f"fix {self.request.make_key(self.guid)}", comment, marker, marker
            )
        except Unprocessable:
            return False
        return True
