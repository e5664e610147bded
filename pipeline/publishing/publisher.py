"""The only place that writes to GitHub: each write once, under the fencing token, found again after a crash."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import structlog
from pydantic import BaseModel, ConfigDict, JsonValue

from domain.commands import ObeyComment
from domain.errors import (
    Behind,
    Forbidden,
    ForgeError,
    Halted,
    LeftOut,
    NotFound,
    RateLimited,
    Superseded,
    Unprocessable,
)
from domain.gates import CHECK_ID, Choice, Gate, GateState
from domain.github.checks import Annotation, Button, CheckRun, CheckRunRef
from domain.github.conversation import CommentKind
from domain.github.pull_requests import DraftReview, InlineComment
from domain.importance import Importance, writing
from domain.ports import Clock, CodeHost
from domain.review.findings import Finding, Severity
from domain.review.inline_comments import Remark, remarks
from domain.review.review import Conclusion, Review
from domain.runs.run import ReasonCode, RepositoryRef, Run, RunState
from domain.text.escaping import visible
from domain.text.markers import Markers
from domain.text.redaction import outgoing
from memory.db.engine import Database
from memory.findings import findings
from memory.gates import gates
from memory.process import halts
from memory.runs import checkpoints, outbox, runs
from messages import commands as command_texts
from messages import config as config_texts
from messages import gates as gate_texts
from messages import review as review_texts
from messages.commands import Answer
from messages.review import CheckText
from pipeline.context import Services

log = structlog.get_logger(__name__)

Write = Callable[[], Awaitable[None]]
Tell = Callable[[Write], None]
"""Takes a write that is made in a moment, or never: see :class:`pipeline.publishing.progress.Telling`."""

CONCLUDED = "concluded"
_OPENED = "queued"
_OVER = frozenset({ReasonCode.superseded, ReasonCode.closed})  # reasons whose head nobody looks at any more
MOST_ANNOTATIONS = 100
_UNNUMBERED = 0  # what the outbox keeps of a write whose object it does not know the number of
DECIDE = (
    Button(label="Approve", description="Let the run go on", identifier=Choice.approve),
    Button(label="Reject", description="End the run here", identifier=Choice.reject),
    Button(label="View", description="Show where it stands now", identifier=Choice.view),
)
AGAIN = Button(label="Review again", description="Run all checks on this head once more", identifier="review")
_LEVELS = {
    Severity.info: "notice",
    Severity.warning: "warning",
    Severity.error: "failure",
    Severity.critical: "failure",
}


class Posted(BaseModel):
    """What became of a run's review; in journals.

    :param unposted: why there is none.
    :param review_id: of a review whose comments GitHub did not all show right after; otherwise 0.
    :param comments: how many it has.
    """

    model_config = ConfigDict(frozen=True)

    unposted: str | None = None
    review_id: int = 0
    comments: int = 0

    @classmethod
    def of(cls, answer: JsonValue) -> "Posted":
        """What a step answered; in an earlier version only why nothing was posted."""
        return cls.model_validate(answer if isinstance(answer, dict) else {"unposted": answer})


@dataclass(frozen=True)
class Publisher:
    """Writes what a run has to say. Every method may be repeated after a crash and then changes nothing."""

    database: Database
    host: CodeHost
    clock: Clock
    markers: Markers
    settling: timedelta

    @classmethod
    def of(cls, services: Services) -> "Publisher":
        """The publisher of this process."""
        settling = timedelta(seconds=services.settling)
        return cls(services.database, services.host, services.clock, services.markers, settling)

    async def open_check(self, run: Run) -> None:
        """Create the run's check, queued: the first sign people see."""
        await self._opened(run)

    async def show_progress(self, run: Run, step: str, doing: str, tell: Tell) -> None:
        """Have it said on the check what is being done, which creates it if nothing did before."""
        check = _check(run, "in_progress", review_texts.progress(doing))
        await self.in_passing(run, step, "check", _UNNUMBERED, partial(self.mention, run, _OPENED, check), tell)

    async def conclude(self, run: Run, conclusion: Conclusion, text: CheckText, shown: Sequence[Finding] = ()) -> None:
        """Complete the run's check. ``shown`` become annotations."""
        conclusion, text = await self._agreed(run, conclusion, text)
        check = _check(run, "completed", text, conclusion, _annotations(shown))
        await self.complete(run, _OPENED, CONCLUDED, check)

    async def close(self, run: Run) -> None:
        """Complete the check of a run that ended without a verdict, whoever holds the fencing token now, and say why.

        A write of that run which is on its way may reopen the check, so the run itself closes it once more at its end.
        A run that showed none yet gets one, unless nobody looks at its head any more. GitHub may not show yet the one
        that it was given a moment ago.
        """
        found = await self.host.find_check_run(run.repository, run.head_sha, run.id)
        check_id = await outbox.remote_id(self.database, run.id, _OPENED, "check") if found is None else found.id
        ended = await runs.get(self.database, run.id) or run
        is_said = ended.reason in _OVER if check_id is None else await self._says_it(ended, found)
        if is_said:
            return
        if ended.state is RunState.failed:
            conclusion, text = Conclusion.action_required, review_texts.failed(ForgeError(ended.detail), run.id)
        else:
            conclusion, text = Conclusion.cancelled, review_texts.cancelled(ended.reason)
        check = _check(run, "completed", text, conclusion)
        if check_id is not None:
            await self.host.update_check_run(run.repository, check_id, check)
            return
        with suppress(Superseded):  # then whoever took over shows one
            await self.opened(run, _OPENED, check)

    async def _says_it(self, ended: Run, found: CheckRunRef | None) -> bool:
        """Whether the check of a run that ended says so; a verdict that came before the merge stands.

        :param found: None where GitHub does not show it yet.
        """
        if found is None:
            is_completed = await outbox.is_done(self.database, ended.id, CONCLUDED, "check")
        else:
            is_completed = found.is_completed
            if found.conclusion == Conclusion.cancelled:
                return True
        return is_completed and (ended.state is RunState.failed or ended.reason is ReasonCode.closed)

    async def retire(self, run: Run, base: str) -> None:
        """Complete the check of a verdict on a merge into another branch, which ``base`` took the place of."""
        found = await self.host.find_check_run(run.repository, run.head_sha, run.id)
        if found is not None and found.conclusion != Conclusion.cancelled:
            check = _check(run, "completed", review_texts.retargeted(base), Conclusion.cancelled)
            await self.host.update_check_run(run.repository, found.id, check)

    async def has_concluded(self, run: Run) -> bool:
        """Whether the run's verdict is on GitHub, or on its way there."""
        return await outbox.is_claimed(self.database, run.id, CONCLUDED, "check")

    async def is_concluded(self, run: Run) -> bool:
        """Whether the run's verdict is known to have reached GitHub; one that may have is said once more in full."""
        return await outbox.is_done(self.database, run.id, CONCLUDED, "check")

    async def post_review(self, run: Run, review: Review, said: Sequence[Remark], posted_before: int) -> Posted:
        """Post the one review of this run, with a comment for each of ``said``, and keep which are about what."""
        placed = 0  # of a review that is found again; perhaps it had to be posted without
        marker = self.markers.make("review", run.id)
        inline = [finding for remark in said for finding in remark]
        draft = DraftReview(
            head_sha=run.head_sha,
            body=outgoing(review_texts.review_body(review, inline, posted_before, marker)),
            comments=tuple(_comment(remark) for remark in said),
        )

        async def find() -> int | None:
            return await self.host.find_review(run.repository, run.number, marker)

        async def create() -> int:
            nonlocal placed
            try:
                review_id = await self.host.create_review(run.repository, run.number, draft)
                placed = len(said)
                return review_id
            except Unprocessable:
                listed = outgoing(review_texts.unplaced_body(review, inline, marker))
                plain = draft.model_copy(update={"body": listed, "comments": ()})
                return await self.host.create_review(run.repository, run.number, plain)

        review_id = await self._once(run, "review", "review", find, create)
        await findings.mark_posted(self.database, run, [finding.fingerprint for finding in inline])
        try:
            await self.note_comments(run, said, review_id, placed)
        except Behind:  # nobody is to wait for the verdict because of that
            return Posted(review_id=review_id, comments=placed)
        return Posted()

    async def note_comments(self, run: Run, said: Sequence[Remark], review_id: int, wanted: int) -> None:
        """Keep which comments of the run's review are about which findings, so that its threads are known.

        :param wanted: how many there must be.
        :raises Behind: if GitHub does not show as many yet. Those it shows are kept.
        """
        bodies: Mapping[int, str] = {}
        with suppress(NotFound):
            bodies = await self.host.comments_of_review(run.repository, run.number, review_id)
        about = [(comment, remark) for remark in said for comment, body in bodies.items() if remark[0].id in body]
        named = {finding.id: comment for comment, remark in about for finding in remark}
        await findings.note_comments(self.database, run, named)
        if len(about) < wanted:
            raise Behind(f"GitHub does not show yet what was posted on #{run.number}.", "Forge looks again.")

    async def edit_remark(self, run: Run, comment_id: int, text: str) -> None:
        """Have an inline comment say what is true at this run's head. Whoever asks for it knows what it says now.

        :raises Superseded: if another run owns the pull request.
        """
        await halts.require_none(self.database)
        if not await runs.is_current(self.database, run):
            raise Superseded(f"Run {run.id} no longer owns pull request {run.number}.")
        try:
            await self.host.edit_review_comment(run.repository, comment_id, outgoing(text))
        except NotFound:  # a person deleted it; it is not put there again
            log.info("remark.gone", run=run.id, comment=comment_id)

    async def show_configuration(
        self, run: Run, conclusion: Conclusion, text: CheckText, annotations: Sequence[Annotation]
    ) -> None:
        """Create the check on the configuration file, complete at once."""
        check = _check(run, "completed", text, conclusion, tuple(annotations)).model_copy(
            update={"name": config_texts.CHECK_NAME, "external_id": f"{run.id}:config", "buttons": ()}
        )
        await self.opened(run, "configuration", check)

    async def show_gate(self, run: Run, gate: Gate, spent: int) -> Gate:
        """Show a gate in its check and its comment, as it stands; the gate with where it is shown."""
        if gate.check_head is not None:
            check_id = await self._gate_check(run, gate, spent)
            gate = gate.model_copy(update={"check_id": check_id})
        try:
            gate = gate.model_copy(update={"comment_id": await self._gate_comment(run, gate, spent)})
        except Forbidden as error:  # a locked conversation: the check asks alone
            log.warning("gate.uncommented", gate=gate.id, error=str(error))
        await gates.shown(self.database, gate.id, check_id=gate.check_id, comment_id=gate.comment_id)
        return gate

    async def show_outcome(self, run: Run, gate: Gate, spent: int) -> None:
        """Show how a gate was decided in its check, which somebody waits for; the rest is the run's to show.

        :raises Superseded: if another run owns the pull request.
        """
        if gate.check_id is not None:
            await self._gate_check(run, gate, spent)

    async def close_comment(self, gate: Gate, spent: int) -> None:
        """Show in the comment of a gate that it is void although its run owns the pull request no more."""
        if gate.comment_id is not None:
            await self.host.edit_comment(gate.repository, gate.comment_id, self._gate_text(gate, spent))

    async def refresh_gate(self, gate: Gate, spent: int, note: str = "", looked: datetime | None = None) -> None:
        """Show anew in the check of a gate where it stands."""
        if gate.check_id is not None:
            text = gate_texts.check(gate, spent, note, looked)
            await self.host.update_check_run(gate.repository, gate.check_id, _gate_check(gate, text))

    async def escalate(self, run: Run, gate: Gate, spent: int) -> None:
        """Put a label there because nobody answered, and tell the configured people; each once."""
        marker = self.markers.make("escalation", gate.id)
        host, where = self.host, (run.repository, run.number)

        async def find() -> int | None:
            return await host.find_comment(*where, marker)

        async def create() -> int:
            return await host.create_comment(*where, outgoing(gate_texts.escalation(gate, spent, marker)))

        async def label() -> int:
            with writing(Importance.tidying):
                await host.add_label(*where, gate_texts.ESCALATED_LABEL)
            return _UNNUMBERED

        await self._once(run, f"escalate {gate.id}", "label", _no_trace, label)
        if gate.request.escalate:
            await self._once(run, f"escalate {gate.id}", "comment", find, create)

    async def _gate_check(self, run: Run, gate: Gate, spent: int) -> int:
        check = _gate_check(gate, gate_texts.check(gate, spent))
        opening = f"gate {gate.id}"
        if not gate.is_waiting:
            return await self.complete(run, opening, f"{opening} {gate.state}", check)
        check_id, _ = await self.opened(run, opening, check)
        return check_id

    async def _gate_comment(self, run: Run, gate: Gate, spent: int) -> int:
        """The comment that shows the gate: a new one, or the one of the question that lost its object."""
        text = self._gate_text(gate, spent)

        async def find() -> int | None:
            return await self.host.find_comment(gate.repository, gate.number, self.markers.make("gate", gate.id))

        async def create() -> int:
            return await self.host.create_comment(gate.repository, gate.number, text)

        async def edit(comment_id: int) -> int:
            try:
                await self.host.edit_comment(gate.repository, comment_id, text)
            except NotFound:  # a person deleted it; it is not put there again
                log.info("gate.comment_gone", gate=gate.id)
            else:
                await self.fold(gate, comment_id)
            return comment_id

        known = gate.comment_id
        write = create if known is None else partial(edit, known)
        comment_id = await self._once(run, f"gate {gate.id}", "comment", find if known is None else _no_trace, write)
        if not gate.is_waiting:
            await self._once(run, f"gate {gate.id} {gate.state}", "comment", _no_trace, partial(edit, comment_id))
        return comment_id

    async def fold(self, gate: Gate, comment_id: int) -> None:
        """Fold the comment of a gate that asks nothing any more, and unfold the one that asks again in its place."""
        if gate.is_waiting or gate.state is GateState.void:
            with suppress(Forbidden, NotFound, Unprocessable), writing(Importance.tidying):  # else read at full size
                await self.host.fold_comment(gate.repository, comment_id, folded=not gate.is_waiting)

    def _gate_text(self, gate: Gate, spent: int) -> str:
        return outgoing(gate_texts.comment(gate, spent, self.markers.make("gate", gate.id)))

    async def report(
        self, repository: RepositoryRef, guid: str, head_sha: str, name: str, conclusion: Conclusion, text: CheckText
    ) -> None:
        """Create a complete check on a head that no run is about, once per delivery."""
        check = CheckRun(
            name=name,
            head_sha=head_sha,
            external_id=guid,
            status="completed",
            title=outgoing(text.title),
            summary=outgoing(text.summary),
            conclusion=conclusion,
        )

        async def find() -> int | None:
            found = await self.host.find_check_run(repository, head_sha, guid)
            return None if found is None else found.id

        async def create() -> int:
            return (await self.host.create_check_run(repository, check)).id

        await self._answer_once(guid, find, create)

    async def conclude_again(self, run: Run, cause: str, conclusion: Conclusion, text: CheckText) -> None:
        """Change the verdict of a run's check, because of what the delivery ``cause`` brought."""
        conclusion, text = await self._agreed(run, conclusion, text)
        await self.complete(run, _OPENED, f"concluded by {cause}", _check(run, "completed", text, conclusion))

    async def _agreed(self, run: Run, conclusion: Conclusion, text: CheckText) -> tuple[Conclusion, CheckText]:
        """What the check says where another open pull request has the same head: its newest check counts for all.

        So a head passes only where nothing speaks against it, in whichever pull request that was asked.
        """
        if conclusion not in {Conclusion.success, Conclusion.neutral}:  # GitHub lets both pass
            return conclusion, text
        others = await checkpoints.disagreeing(self.database, run)
        for against in (Conclusion.action_required, Conclusion.neutral):
            for number in (number for number, said in others.items() if against is said is not conclusion):
                if (await self.host.pull_request(run.repository, number)).is_open:
                    return against, review_texts.same_head(number, text)
        return conclusion, text

    async def answer(self, command: ObeyComment, guid: str, answers: Sequence[Answer]) -> None:
        """Answer a comment once: in its thread, or below the issue or pull request."""
        marker = self.markers.make("answer", guid)
        text = outgoing(command_texts.compose(answers, marker))
        if command.comment.kind is CommentKind.review_comment:
            root = command.comment.thread or command.comment.id
            await self._reply_once(command.repository, command.number, root, guid, text, marker)
            return
        host, repository, number = self.host, command.repository, command.number
        await self._answer_once(
            guid,
            lambda: host.find_comment(repository, number, marker),
            lambda: host.create_comment(repository, number, text),
        )

    async def say_once(self, repository: RepositoryRef, number: int, key: str, text: str) -> None:
        """Say something below an issue or pull request, once for this key."""
        marker = self.markers.make("answer", key)
        await self._answer_once(
            key,
            lambda: self.host.find_comment(repository, number, marker),
            lambda: self.host.create_comment(repository, number, outgoing(f"{text}\n\n{marker}")),
        )

    async def reply_in_thread(self, repository: RepositoryRef, number: int, root: int, guid: str, text: str) -> None:
        """Say something in a review thread, once per delivery."""
        marker = self.markers.make("answer", guid)
        await self._reply_once(repository, number, root, guid, f"{text}\n\n{marker}", marker)

    async def _reply_once(
        self, repository: RepositoryRef, number: int, root: int, guid: str, text: str, marker: str
    ) -> None:
        await self._answer_once(
            guid,
            lambda: self.host.find_reply(repository, number, root, marker),
            lambda: self.host.create_reply(repository, number, root, text),
        )

    async def _answer_once(
        self, guid: str, find: Callable[[], Awaitable[int | None]], write: Callable[[], Awaitable[int]]
    ) -> None:
        await halts.require_none(self.database)
        claim = await outbox.claim_answer(self.database, guid, "answer", self.clock.now())
        if claim.remote_id is not None:
            return
        remote_id = await self._effect(claim, find)
        if remote_id is None:
            remote_id = await self._written(claim, write)
        await outbox.done(self.database, claim.id, remote_id, self.clock.now())

    async def _effect(self, claim: outbox.Claim, find: Callable[[], Awaitable[int | None]]) -> int | None:
        """What an earlier attempt left on GitHub; None if it left nothing.

        :raises Behind: if it left nothing that GitHub shows, which may come a moment later.
        """
        if not claim.tried_before:
            return None
        found = await find()
        if found is None and find is not _no_trace and self.clock.now() - claim.tried_at < self.settling:
            raise Behind("GitHub did not say whether a write took effect, and may show it later.", "Forge looks again.")
        return found

    async def _written(self, claim: outbox.Claim, write: Callable[[], Awaitable[int]]) -> int:
        """The id of what is written now. Who is refused knows that nothing happened, and need not look for long."""
        if claim.tried_before:
            await outbox.tried(self.database, claim.id, self.clock.now())
        try:
            return await write()
        except (RateLimited, LeftOut, Halted, Forbidden, NotFound, Unprocessable):
            await outbox.tried(self.database, claim.id, self.clock.now() - self.settling)
            raise

    async def _opened(self, run: Run) -> int:
        check_id, _ = await self.opened(run, _OPENED, _check(run, "queued", review_texts.queued()))
        return check_id

    async def opened(self, run: Run, step: str, check: CheckRun) -> tuple[int, bool]:
        """The id of a check, which is created as it stands if there is none yet, and whether that was just now.

        :param step: names its creation.
        """
        is_new = False

        async def find() -> int | None:
            found = await self.host.find_check_run(run.repository, check.head_sha, check.external_id)
            return None if found is None else found.id

        async def create() -> int:
            nonlocal is_new
            made = await self.host.create_check_run(run.repository, check)
            is_new = True
            return made.id

        return await self._once(run, step, "check", find, create), is_new

    async def mention(self, run: Run, opening: str, check: CheckRun) -> None:
        """Have a check say this, in passing: see :class:`pipeline.publishing.progress.Telling`.

        :param opening: names its creation.
        """
        check_id, says_it = await self.opened(run, opening, check)
        if not says_it:
            await self.host.update_check_run(run.repository, check_id, check)

    async def complete(self, run: Run, opening: str, step: str, check: CheckRun) -> int:
        """Have a check say this, once; its id.

        :param opening: names its creation.
        :param step: names this state of it.
        """
        check_id, says_it = await self.opened(run, opening, check)

        async def update() -> int:
            if not says_it:
                await self.host.update_check_run(run.repository, check_id, check)
            return check_id

        return await self._once(run, step, "check", _no_trace, update)

    async def once(
        self,
        run: Run,
        step: str,
        kind: str,
        find: Callable[[], Awaitable[int | None]],
        write: Callable[[], Awaitable[int]],
    ) -> int:
        """Make another kind of write as all are made here (``pipeline.automation.writes``); see :meth:`_once`."""
        return await self._once(run, step, kind, find, write)

    async def in_passing(self, run: Run, step: str, kind: str, remote_id: int, write: Write, tell: Tell) -> None:
        """Leave a write of progress to ``tell``, once: it is lost with the process, and never made anew after a crash,
        when more may have been said since.

        :param remote_id: of what it changes.
        """

        async def leave() -> int:
            tell(write)
            return remote_id

        await self._once(run, step, kind, _no_trace, leave)

    async def _once(
        self,
        run: Run,
        step: str,
        kind: str,
        find: Callable[[], Awaitable[int | None]],
        write: Callable[[], Awaitable[int]],
    ) -> int:
        """Claim the write, look for its effect if it was tried before, make it, and record it; its id on GitHub.

        :raises Superseded: if another run owns the pull request.
        :raises Halted: if the operator told Forge to stop; nothing is claimed then.
        """
        await halts.require_none(self.database)
        claim = await outbox.claim(self.database, run, step, kind, self.clock.now())
        if claim.remote_id is not None:
            return claim.remote_id
        remote_id = await self._effect(claim, find)
        if remote_id is None:
            if claim.lost:
                raise Superseded(f"Run {run.id} no longer owns pull request {run.number}.")
            remote_id = await self._written(claim, write)
        await outbox.done(self.database, claim.id, remote_id, self.clock.now())
        return remote_id


def _check(
    run: Run,
    status: str,
    text: CheckText,
    conclusion: Conclusion | None = None,
    annotations: tuple[Annotation, ...] = (),
) -> CheckRun:
    return CheckRun.model_validate(
        {
            "name": run.check_name,
            "head_sha": run.head_sha,
            "external_id": run.id,
            "status": status,
            "title": outgoing(text.title),
            "summary": outgoing(text.summary),
            "text": outgoing(text.text),
            "conclusion": conclusion,
            "annotations": annotations,
            "buttons": (AGAIN,) if conclusion is not None else (),
        }
    )


_GATE_CONCLUSIONS = {
    GateState.waiting: Conclusion.action_required,
    GateState.approved: Conclusion.success,
    GateState.rejected: Conclusion.failure,
    GateState.expired: Conclusion.action_required,
    GateState.void: Conclusion.cancelled,
}


def _gate_check(gate: Gate, text: CheckText) -> CheckRun:
    return CheckRun(
        name=gate_texts.check_name(gate.name),
        head_sha=gate.check_head or gate.head_sha,
        external_id=f"{CHECK_ID}{gate.id}",
        status="completed",
        title=outgoing(text.title),
        summary=outgoing(text.summary),
        conclusion=_GATE_CONCLUSIONS[gate.state],
        buttons=DECIDE if gate.is_waiting else (),
    )


async def _no_trace() -> int | None:
    """An update may be sent twice; it says the same."""
    return None


def choose_inline(review: Review, posted_before: Collection[str], most: int) -> list[Remark]:
    """The inline comments: of new findings, on lines of the diff, the gravest first.

    Remarks of severity info are worth an interruption only with a fix to click on; the others are in the check.

    :param posted_before: fingerprints an earlier review of the pull request carries; they are not said twice.
    :param most: the repository's limit per review.
    """
    new = [finding for finding in review.findings if finding.on_diff and finding.fingerprint not in posted_before]
    worth = [finding for finding in new if finding.severity is not Severity.info or finding.fix is not None]
    return remarks(sorted(worth, key=lambda finding: finding.weight))[:most]


def _comment(remark: Remark) -> InlineComment:
    start, end = remark[0].comment_lines
    return InlineComment(path=remark[0].path, start_line=start, line=end, body=outgoing(review_texts.comment(remark)))


def _annotations(findings: Sequence[Finding]) -> tuple[Annotation, ...]:
    """The first of the findings, the gravest, on their lines: GitHub takes fifty in one write."""
    return tuple(_annotation(f) for f in findings if f.line is not None)[:MOST_ANNOTATIONS]


def _annotation(finding: Finding) -> Annotation:
    title, message = review_texts.annotation(finding)
    start = finding.line or 1
    return Annotation.model_validate(
        {
            "path": finding.path,
            "start_line": start,
            "end_line": max(start, finding.end_line or start),
            "level": _LEVELS[finding.severity],
            "title": title,
            "message": outgoing(visible(message)),
        }
    )
