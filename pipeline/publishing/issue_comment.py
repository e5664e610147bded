"""Opens issues of Forge's own, and shows the run of an issue in one comment below it, with plan or questions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import structlog

from domain.errors import ForgeError, NotFound
from domain.github.conversation import CommentEdit
from domain.runs.run import RepositoryRef, Run, RunState, Trigger
from domain.text.redaction import redact_outgoing
from memory import reservations
from memory.db.engine import Database
from memory.runs import checkpoints, model_answers, outbox, runs, work_checkpoints
from messages import checkpoints as checkpoint_texts
from messages import earlier_tests as baseline_texts
from messages import plan as plan_texts
from messages import pull_request as pull_request_texts
from messages.pull_request import Progress
from pipeline.context import Services
from pipeline.publishing.comments import ensure_comment
from pipeline.publishing.publisher import PostLater, answer_once, post_progress_once, write_once
from safety.checkpoint_limits import find_exceeded
from safety.plan_risk import needs_approval

_LOOKED_BACK = timedelta(days=7)
"""How long ago an attempt may lie after which nobody knows whether it opened the issue."""


async def open_issue(
    services: Services,
    repository: RepositoryRef,
    key: str,
    marker: str,
    title: str,
    body: str,
    labels: Sequence[str] = (),
) -> int:
    """Open an issue, unless an earlier attempt did; its number.

    :param key: names it among all answers.
    :param marker: by which it is found; part of ``body``.
    :raises Forbidden: the installation lacks the permission.
    :raises NotFound: the repository is gone, or has no issues.
    """

    async def find() -> int | None:
        return await services.host.find_own_issue(repository, marker, services.clock.now() - _LOOKED_BACK)

    create = partial(services.host.create_issue, repository, redact_outgoing(title), redact_outgoing(body), labels)
    return await answer_once(services, key, create, find=find)


async def set_label(services: Services, repository: RepositoryRef, number: int, label: str, *, is_on: bool) -> None:
    """Put a label on an issue, or take it off; either may be repeated."""
    change = services.host.add_label if is_on else services.host.remove_label
    await change(repository, number, label)


log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class IssueStatus:
    """The comments of one run of an issue. Every method may be repeated after a crash and then changes nothing."""

    services: Services
    run: Run

    async def show(self, step: str, text: str) -> None:
        """Show a state of the run in the comment; the first call creates it.

        :param step: names this state of the comment.
        :raises Superseded: if another run owns the issue.
        """
        text = await self._append_plan(text)
        comment_id, is_new = await self._ensure(text)

        async def edit() -> int:
            if not is_new:
                await self._edit(comment_id, text)
            return comment_id

        await write_once(self.services, self.run, self.step_name(step), "comment", edit)

    async def build_edit(self, text: str) -> CommentEdit:
        """What :meth:`show` would write, for a caller that writes it together with something else.

        :raises Superseded: if another run owns the issue.
        """
        text = await self._append_plan(text)
        comment_id, _ = await self._ensure(text)
        return CommentEdit(comment_id=comment_id, body=self._append_marker(text))

    async def record_shown(self, step: str, edit: CommentEdit) -> None:
        """Record that the edit was written, so that :meth:`show` does not write it again."""

        async def get_comment_id() -> int:
            return edit.comment_id

        await write_once(self.services, self.run, self.step_name(step), "comment", get_comment_id)

    def step_name(self, name: str) -> str:
        """The name of a state of the comment in the outbox. A run that was resumed shows its states again."""
        return f"status {name} under {self.run.fence}"

    async def show_progress(self, step: str, progress: Progress, post_later: PostLater) -> None:
        """Show in the comment how far the run is, a moment later.

        :param step: names this state of the comment.
        """
        text = await self._append_plan(await self.render_progress(progress))
        comment_id, _ = await self._ensure(text)
        edit = partial(self._edit, comment_id, text)
        name = self.step_name(step)
        await post_progress_once(self.services, self.run, name, "comment", comment_id, edit, post_later)

    async def render_progress(self, progress: Progress) -> str:
        """The text that says how far the run is."""
        spent = await reservations.load_cost(self.services.database, self.run.id)
        if self.run.trigger is Trigger.plan:
            return plan_texts.render_progress([("Planning", progress.planning)], spent)
        return pull_request_texts.render_status(progress, spent)

    async def post(self, kind: str, text: str) -> None:
        """Comment once: a plan, or questions.

        :raises Superseded: if another run owns the issue.
        """
        marker = self.services.markers.make(kind, self.run.id)
        await ensure_comment(self.services, self.run, kind, marker, f"{text}\n\n{marker}")

    async def close(self) -> None:
        """Show in the comment how a stopped run ended, whoever owns the issue now."""
        host, run = self.services.host, self.run
        comment_id = await outbox.find_remote_id(self.services.database, run.id, "status", "comment")
        comment_id = comment_id or await host.find_comment(run.repository, run.number, self._marker)
        if comment_id is None:
            return
        ended = await runs.get(self.services.database, run.id) or run
        spent = await reservations.load_cost(self.services.database, run.id)
        if ended.state is RunState.failed:
            text = plan_texts.report_failure(ForgeError(ended.detail), run.id, spent=spent)
        else:
            text = plan_texts.report_stop(ended.reason, spent=spent)
        await self._edit(comment_id, await self._append_plan(text))

    async def _append_plan(self, text: str) -> str:
        """The text with what people should know beside it, and the plan, unless another comment shows that."""
        baseline = await checkpoints.load_baseline(self.services.database, self.run)
        note = "" if baseline is None else baseline_texts.render_note(baseline)
        remark = await describe_keeping(self.services.database, self.run.id)
        kept = await model_answers.find(self.services.database, self.run, model_answers.KEPT_PLAN)
        text = "\n\n".join(part for part in (text, "" if kept is None else kept["note"], note, remark) if part)
        plan = await checkpoints.load_plan(self.services.database, self.run)
        if plan is None or self.run.trigger is Trigger.plan or needs_approval(plan.level):
            return text
        version = await checkpoints.find_version(self.services.database, self.run, plan)
        return f"{text}\n\n{plan_texts.render_details(plan, version=version)}"

    @property
    def _marker(self) -> str:
        return self.services.markers.make("status", self.run.id)

    def _append_marker(self, text: str) -> str:
        return redact_outgoing(f"{text}\n\n{self._marker}")

    async def _ensure(self, text: str) -> tuple[int, bool]:
        """The id of the comment, and whether it was created just now, with ``text``."""
        return await ensure_comment(self.services, self.run, "status", self._marker, f"{text}\n\n{self._marker}")

    async def _edit(self, comment_id: int, text: str) -> None:
        try:
            await self.services.host.edit_comment(self.run.repository, comment_id, self._append_marker(text))
        except NotFound:  # a person deleted it, and it stays deleted
            log.info("status.comment_gone", run=self.run.id)


async def describe_keeping(database: Database, run_id: str) -> str:
    """One line where the work of a run's agents is kept too slowly, or not at all; else nothing."""
    return checkpoint_texts.render_exceeded(find_exceeded(await work_checkpoints.load_facts(database, run_id)))
