"""The only place that writes to GitHub: each write once, under the fencing token, found again after a crash."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import structlog
from pydantic import BaseModel, ConfigDict, JsonValue

from domain.commands import ExecuteComment
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
from domain.gates import CHECK_ID_PREFIX, Choice, Gate, GateState
from domain.github.checks import Annotation, Button, CheckRun, CheckRunRef
from domain.github.conversation import CommentKind
from domain.github.pull_requests import DraftReview, InlineComment
from domain.importance import Importance, use_importance
from domain.ports import Clock, CodeHost
from domain.review.findings import Finding, Severity
from domain.review.inline_comments import Remark, group_remarks
from domain.review.review import Conclusion, Review
from domain.runs.run import ReasonCode, RepositoryRef, Run, RunState
from domain.text.escaping import strip_invisible
from domain.text.markers import Markers
from domain.text.redaction import redact_outgoing
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
PostLater = Callable[[Write], None]
"""Takes a write that is made in a moment, or never: see :class:`pipeline.publishing.progress.ProgressUpdates`."""

CONCLUDED = "concluded"
_OPENED = "queued"
_ABANDONED = frozenset({ReasonCode.superseded, ReasonCode.closed})  # reasons whose head nobody looks at any more
MAX_ANNOTATIONS = 100
_WITHOUT_NUMBER = 0  # what the outbox keeps of a write whose object it does not know the number of
GATE_BUTTONS = (
    Button(label="Approve", description="Let the run go on", identifier=Choice.approve),
    Button(label="Reject", description="End the run here", identifier=Choice.reject),
    Button(label="View", description="Show where it stands now", identifier=Choice.view),
)
REVIEW_AGAIN = Button(label="Review again", description="Run all checks on this head once more", identifier="review")
_LEVELS = {
    Severity.info: "notice",
    Severity.warning: "warning",
    Severity.error: "failure",
    Severity.critical: "failure",
}


class PostedReview(BaseModel):
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
    def of(cls, answer: JsonValue) -> "PostedReview":
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
        await self._ensure_queued_check(run)

    async def show_progress(self, run: Run, step: str, doing: str, tell: PostLater) -> None:
        """Have it said on the check what is being done, which creates it if nothing did before."""
        check = _build_check(run, "in_progress", review_texts.render_progress(doing))
        await self.post_progress_once(
            run, step, "check", _WITHOUT_NUMBER, partial(self.update_check, run, _OPENED, check), tell
        )

    async def conclude(self, run: Run, conclusion: Conclusion, text: CheckText, shown: Sequence[Finding] = ()) -> None:
        """Complete the run's check. ``shown`` become annotations."""
        conclusion, text = await self._reconcile(run, conclusion, text)
        check = _build_check(run, "completed", text, conclusion, _build_annotations(shown))
        await self.complete_check(run, _OPENED, CONCLUDED, check)

    async def close(self, run: Run) -> None:
        """Complete the check of a run that ended without a verdict, whoever holds the fencing token now, and say why.

        A write of that run which is on its way may reopen the check, so the run itself closes it once more at its end.
        A run that showed none yet gets one, unless nobody looks at its head any more. GitHub may not show yet the one
        that it was given a moment ago.
        """
        found = await self.host.find_check_run(run.repository, run.head_sha, run.id)
        check_id = await outbox.find_remote_id(self.database, run.id, _OPENED, "check") if found is None else found.id
        ended = await runs.get(self.database, run.id) or run
        is_said = ended.reason in _ABANDONED if check_id is None else await self._shows_end(ended, found)
        if is_said:
            return
        if ended.state is RunState.failed:
            conclusion, text = Conclusion.action_required, review_texts.render_failure(ForgeError(ended.detail), run.id)
        else:
            conclusion, text = Conclusion.cancelled, review_texts.render_cancelled(ended.reason)
        check = _build_check(run, "completed", text, conclusion)
        if check_id is not None:
            await self.host.update_check_run(run.repository, check_id, check)
            return
        with suppress(Superseded):  # then whoever took over shows one
            await self.ensure_check(run, _OPENED, check)

    async def _shows_end(self, ended: Run, found: CheckRunRef | None) -> bool:
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
            check = _build_check(run, "completed", review_texts.render_retargeted(base), Conclusion.cancelled)
            await self.host.update_check_run(run.repository, found.id, check)

    async def has_concluded(self, run: Run) -> bool:
        """Whether the run's verdict is on GitHub, or on its way there."""
        return await outbox.is_claimed(self.database, run.id, CONCLUDED, "check")

    async def is_concluded(self, run: Run) -> bool:
        """Whether the run's verdict is known to have reached GitHub; one that may have is said once more in full."""
        return await outbox.is_done(self.database, run.id, CONCLUDED, "check")

    async def post_review(self, run: Run, review: Review, said: Sequence[Remark], posted_before: int) -> PostedReview:
        """Post the one review of this run, with a comment for each of ``said``, and keep which are about what."""
        placed = 0  # of a review that is found again; perhaps it had to be posted without
        marker = self.markers.make("review", run.id)
        inline = [finding for remark in said for finding in remark]
        draft = DraftReview(
            head_sha=run.head_sha,
            body=redact_outgoing(review_texts.render_body(review, inline, posted_before, marker)),
            comments=tuple(_build_comment(remark) for remark in said),
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
                listed = redact_outgoing(review_texts.render_unplaced_body(review, inline, marker))
                plain = draft.model_copy(update={"body": listed, "comments": ()})
                return await self.host.create_review(run.repository, run.number, plain)

        review_id = await self._write_once(run, "review", "review", find, create)
        await findings.mark_posted(self.database, run, [finding.fingerprint for finding in inline])
        try:
            await self.record_comments(run, said, review_id, placed)
        except Behind:  # nobody is to wait for the verdict because of that
            return PostedReview(review_id=review_id, comments=placed)
        return PostedReview()

    async def record_comments(self, run: Run, said: Sequence[Remark], review_id: int, wanted: int) -> None:
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
            await self.host.edit_review_comment(run.repository, comment_id, redact_outgoing(text))
        except NotFound:  # a person deleted it; it is not put there again
            log.info("remark.gone", run=run.id, comment=comment_id)

    async def show_configuration(
        self, run: Run, conclusion: Conclusion, text: CheckText, annotations: Sequence[Annotation]
    ) -> None:
        """Create the check on the configuration file, complete at once."""
        check = _build_check(run, "completed", text, conclusion, tuple(annotations)).model_copy(
            update={"name": config_texts.CHECK_NAME, "external_id": f"{run.id}:config", "buttons": ()}
        )
        await self.ensure_check(run, "configuration", check)

    async def show_gate(self, run: Run, gate: Gate, spent: int) -> Gate:
        """Show a gate in its check and its comment, as it stands; the gate with where it is shown."""
        if gate.check_head is not None:
            check_id = await self._show_gate_check(run, gate, spent)
            gate = gate.model_copy(update={"check_id": check_id})
        try:
            gate = gate.model_copy(update={"comment_id": await self._show_gate_comment(run, gate, spent)})
        except Forbidden as error:  # a locked conversation: the check asks alone
            log.warning("gate.uncommented", gate=gate.id, error=str(error))
        await gates.save_location(self.database, gate.id, check_id=gate.check_id, comment_id=gate.comment_id)
        return gate

    async def show_outcome(self, run: Run, gate: Gate, spent: int) -> None:
        """Show how a gate was decided in its check, which somebody waits for; the rest is the run's to show.

        :raises Superseded: if another run owns the pull request.
        """
        if gate.check_id is not None:
            await self._show_gate_check(run, gate, spent)

    async def close_comment(self, gate: Gate, spent: int) -> None:
        """Show in the comment of a gate that it is void although its run owns the pull request no more."""
        if gate.comment_id is not None:
            await self.host.edit_comment(gate.repository, gate.comment_id, self._render_gate(gate, spent))

    async def refresh_gate(self, gate: Gate, spent: int, note: str = "", looked: datetime | None = None) -> None:
        """Show anew in the check of a gate where it stands."""
        if gate.check_id is not None:
            text = gate_texts.render_check(gate, spent, note, looked)
            await self.host.update_check_run(gate.repository, gate.check_id, _build_gate_check(gate, text))

    async def escalate(self, run: Run, gate: Gate, spent: int) -> None:
        """Put a label there because nobody answered, and tell the configured people; each once."""
        marker = self.markers.make("escalation", gate.id)
        host, where = self.host, (run.repository, run.number)

        async def find() -> int | None:
            return await host.find_comment(*where, marker)

        async def create() -> int:
            return await host.create_comment(*where, redact_outgoing(gate_texts.render_escalation(gate, spent, marker)))

        async def label() -> int:
            with use_importance(Importance.tidying):
                await host.add_label(*where, gate_texts.ESCALATED_LABEL)
            return _WITHOUT_NUMBER

        await self._write_once(run, f"escalate {gate.id}", "label", _find_nothing, label)
        if gate.request.escalate:
            await self._write_once(run, f"escalate {gate.id}", "comment", find, create)

    async def _show_gate_check(self, run: Run, gate: Gate, spent: int) -> int:
        check = _build_gate_check(gate, gate_texts.render_check(gate, spent))
        opening = f"gate {gate.id}"
        if not gate.is_waiting:
            return await self.complete_check(run, opening, f"{opening} {gate.state}", check)
        check_id, _ = await self.ensure_check(run, opening, check)
        return check_id

    async def _show_gate_comment(self, run: Run, gate: Gate, spent: int) -> int:
        """The comment that shows the gate: a new one, or the one of the question that lost its object."""
        text = self._render_gate(gate, spent)

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
        comment_id = await self._write_once(
            run, f"gate {gate.id}", "comment", find if known is None else _find_nothing, write
        )
        if not gate.is_waiting:
            await self._write_once(
                run, f"gate {gate.id} {gate.state}", "comment", _find_nothing, partial(edit, comment_id)
            )
        return comment_id

    async def fold(self, gate: Gate, comment_id: int) -> None:
        """Fold the comment of a gate that asks nothing any more, and unfold the one that asks again in its place."""
        if gate.is_waiting or gate.state is GateState.void:
            with (
                suppress(Forbidden, NotFound, Unprocessable),
                use_importance(Importance.tidying),
            ):  # else read at full size
                await self.host.fold_comment(gate.repository, comment_id, folded=not gate.is_waiting)

    def _render_gate(self, gate: Gate, spent: int) -> str:
        return redact_outgoing(gate_texts.render_comment(gate, spent, self.markers.make("gate", gate.id)))

    async def report(
        self, repository: RepositoryRef, guid: str, head_sha: str, name: str, conclusion: Conclusion, text: CheckText
    ) -> None:
        """Create a complete check on a head that no run is about, once per delivery."""
        check = CheckRun(
            name=name,
            head_sha=head_sha,
            external_id=guid,
            status="completed",
            title=redact_outgoing(text.title),
            summary=redact_outgoing(text.summary),
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
        conclusion, text = await self._reconcile(run, conclusion, text)
        await self.complete_check(
            run, _OPENED, f"concluded by {cause}", _build_check(run, "completed", text, conclusion)
        )

    async def _reconcile(self, run: Run, conclusion: Conclusion, text: CheckText) -> tuple[Conclusion, CheckText]:
        """What the check says where another open pull request has the same head: its newest check counts for all.

        So a head passes only where nothing speaks against it, in whichever pull request that was asked.
        """
        if conclusion not in {Conclusion.success, Conclusion.neutral}:  # GitHub lets both pass
            return conclusion, text
        others = await checkpoints.find_disagreeing(self.database, run)
        for against in (Conclusion.action_required, Conclusion.neutral):
            for number in (number for number, said in others.items() if against is said is not conclusion):
                if (await self.host.pull_request(run.repository, number)).is_open:
                    return against, review_texts.render_same_head(number, text)
        return conclusion, text

    async def answer(self, command: ExecuteComment, guid: str, answers: Sequence[Answer]) -> None:
        """Answer a comment once: in its thread, or below the issue or pull request."""
        marker = self.markers.make("answer", guid)
        text = redact_outgoing(command_texts.compose(answers, marker))
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

    async def comment_once(self, repository: RepositoryRef, number: int, key: str, text: str) -> None:
        """Say something below an issue or pull request, once for this key."""
        marker = self.markers.make("answer", key)
        await self._answer_once(
            key,
            lambda: self.host.find_comment(repository, number, marker),
            lambda: self.host.create_comment(repository, number, redact_outgoing(f"{text}\n\n{marker}")),
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
        remote_id = await self._find_effect(claim, find)
        if remote_id is None:
            remote_id = await self._make_write(claim, write)
        await outbox.mark_done(self.database, claim.id, remote_id, self.clock.now())

    async def _find_effect(self, claim: outbox.WriteClaim, find: Callable[[], Awaitable[int | None]]) -> int | None:
        """What an earlier attempt left on GitHub; None if it left nothing.

        :raises Behind: if it left nothing that GitHub shows, which may come a moment later.
        """
        if not claim.tried_before:
            return None
        found = await find()
        if found is None and find is not _find_nothing and self.clock.now() - claim.tried_at < self.settling:
            raise Behind("GitHub did not say whether a write took effect, and may show it later.", "Forge looks again.")
        return found

    async def _make_write(self, claim: outbox.WriteClaim, write: Callable[[], Awaitable[int]]) -> int:
        """The id of what is written now. Who is refused knows that nothing happened, and need not look for long."""
        if claim.tried_before:
            await outbox.mark_tried(self.database, claim.id, self.clock.now())
        try:
            return await write()
        except (RateLimited, LeftOut, Halted, Forbidden, NotFound, Unprocessable):
            await outbox.mark_tried(self.database, claim.id, self.clock.now() - self.settling)
            raise

    async def _ensure_queued_check(self, run: Run) -> int:
        check_id, _ = await self.ensure_check(run, _OPENED, _build_check(run, "queued", review_texts.render_queued()))
        return check_id

    async def ensure_check(self, run: Run, step: str, check: CheckRun) -> tuple[int, bool]:
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

        return await self._write_once(run, step, "check", find, create), is_new

    async def update_check(self, run: Run, opening: str, check: CheckRun) -> None:
        """Have a check say this, in passing: see :class:`pipeline.publishing.progress.ProgressUpdates`.

        :param opening: names its creation.
        """
        check_id, says_it = await self.ensure_check(run, opening, check)
        if not says_it:
            await self.host.update_check_run(run.repository, check_id, check)

    async def complete_check(self, run: Run, opening: str, step: str, check: CheckRun) -> int:
        """Have a check say this, once; its id.

        :param opening: names its creation.
        :param step: names this state of it.
        """
        check_id, says_it = await self.ensure_check(run, opening, check)

        async def update() -> int:
            if not says_it:
                await self.host.update_check_run(run.repository, check_id, check)
            return check_id

        return await self._write_once(run, step, "check", _find_nothing, update)

    async def write_once(
        self,
        run: Run,
        step: str,
        kind: str,
        find: Callable[[], Awaitable[int | None]],
        write: Callable[[], Awaitable[int]],
    ) -> int:
        """Make another kind of write as all are made here (``pipeline.automation.writes``); see :meth:`_once`."""
        return await self._write_once(run, step, kind, find, write)

    async def post_progress_once(
        self, run: Run, step: str, kind: str, remote_id: int, write: Write, tell: PostLater
    ) -> None:
        """Leave a write of progress to ``tell``, once: it is lost with the process, and never made anew after a crash,
        when more may have been said since.

        :param remote_id: of what it changes.
        """

        async def leave() -> int:
            tell(write)
            return remote_id

        await self._write_once(run, step, kind, _find_nothing, leave)

    async def _write_once(
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
        remote_id = await self._find_effect(claim, find)
        if remote_id is None:
            if claim.lost:
                raise Superseded(f"Run {run.id} no longer owns pull request {run.number}.")
            remote_id = await self._make_write(claim, write)
        await outbox.mark_done(self.database, claim.id, remote_id, self.clock.now())
        return remote_id


def _build_check(
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
            "title": redact_outgoing(text.title),
            "summary": redact_outgoing(text.summary),
            "text": redact_outgoing(text.text),
            "conclusion": conclusion,
            "annotations": annotations,
            "buttons": (REVIEW_AGAIN,) if conclusion is not None else (),
        }
    )


_GATE_CONCLUSIONS = {
    GateState.waiting: Conclusion.action_required,
    GateState.approved: Conclusion.success,
    GateState.rejected: Conclusion.failure,
    GateState.expired: Conclusion.action_required,
    GateState.void: Conclusion.cancelled,
}


def _build_gate_check(gate: Gate, text: CheckText) -> CheckRun:
    return CheckRun(
        name=gate_texts.check_name(gate.name),
        head_sha=gate.check_head or gate.head_sha,
        external_id=f"{CHECK_ID_PREFIX}{gate.id}",
        status="completed",
        title=redact_outgoing(text.title),
        summary=redact_outgoing(text.summary),
        conclusion=_GATE_CONCLUSIONS[gate.state],
        buttons=GATE_BUTTONS if gate.is_waiting else (),
    )


async def _find_nothing() -> int | None:
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
    return group_remarks(sorted(worth, key=lambda finding: finding.sort_key))[:most]


def _build_comment(remark: Remark) -> InlineComment:
    start, end = remark[0].comment_lines
    return InlineComment(
        path=remark[0].path, start_line=start, line=end, body=redact_outgoing(review_texts.render_comment(remark))
    )


def _build_annotations(findings: Sequence[Finding]) -> tuple[Annotation, ...]:
    """The first of the findings, the gravest, on their lines: GitHub takes fifty in one write."""
    return tuple(_build_annotation(f) for f in findings if f.line is not None)[:MAX_ANNOTATIONS]


def _build_annotation(finding: Finding) -> Annotation:
    title, message = review_texts.render_annotation(finding)
    start = finding.line or 1
    return Annotation.model_validate(
        {
            "path": finding.path,
            "start_line": start,
            "end_line": max(start, finding.end_line or start),
            "level": _LEVELS[finding.severity],
            "title": title,
            "message": redact_outgoing(strip_invisible(message)),
        }
    )
