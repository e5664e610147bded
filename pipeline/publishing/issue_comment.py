"""Writes what a run of an issue has to say there: one comment that is edited in place, with its plan."""

from dataclasses import dataclass

import structlog

from domain.errors import ForgeError, NotFound
from domain.gates import Gate
from domain.github.conversation import CommentEdit
from domain.runs.run import Run, RunState, Trigger
from domain.text.escaping import code
from domain.text.redaction import outgoing
from memory.reservations import reservations
from memory.runs import checkpoints, outbox, runs
from messages import plan as plan_texts
from messages import pull_request as pull_request_texts
from messages.pull_request import Progress
from pipeline.context import Services
from pipeline.publishing.publisher import Publisher, Tell
from safety.plan_risk import needs_approval

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class IssueStatus:
    """The comments of one run of an issue. Every method may be repeated after a crash and then changes nothing."""

    services: Services
    run: Run

    async def show(self, step: str, text: str) -> None:
        """Say in the comment how far the run is; the first call makes it.

        :param step: names this state of the comment.
        :raises Superseded: if another run owns the issue.
        """
        text = await self._with_plan(text)
        comment_id, says_it = await self._opened(text)

        async def edit() -> int:
            if not says_it:
                await self._edit(comment_id, text)
            return comment_id

        # A run that was taken up again says anew where it stands.
        await Publisher.of(self.services).once(self.run, self.step(step), "comment", _no_trace, edit)

    async def edit(self, text: str) -> CommentEdit:
        """What :meth:`show` would write, for whoever writes it together with something else.

        :raises Superseded: if another run owns the issue.
        """
        text = await self._with_plan(text)
        comment_id, _ = await self._opened(text)
        return CommentEdit(comment_id=comment_id, body=self._marked(text))

    async def shown(self, step: str, edit: CommentEdit) -> None:
        """Note that it was written, so that :meth:`show` does not write it again."""

        async def known() -> int:
            return edit.comment_id

        await Publisher.of(self.services).once(self.run, self.step(step), "comment", _no_trace, known)

    def step(self, name: str) -> str:
        """The name of a state of the comment in the outbox."""
        return f"status {name} under {self.run.fence}"

    async def tell(self, step: str, progress: Progress, tell: Tell) -> None:
        """Have it said in the comment how far the run is.

        :param step: names this state of the comment.
        """
        text = await self._with_plan(await self.told(progress))
        comment_id, _ = await self._opened(text)

        async def edit() -> None:
            await self._edit(comment_id, text)

        await Publisher.of(self.services).in_passing(self.run, self.step(step), "comment", comment_id, edit, tell)

    async def wait(self, gate: Gate, progress: Progress) -> None:
        """Say in the comment which decision the run waits for."""
        waits = f"**Waiting for a decision:** {code(gate.name)}, asked in the comment below."
        await self.show(f"waits for {gate.id}", f"{await self.told(progress)}\n\n{waits}")

    async def told(self, progress: Progress) -> str:
        """The text that says how far the run is."""
        spent = await self.spent()
        if self.run.trigger is Trigger.plan:
            return plan_texts.progress([("Planning", progress.planning)], spent)
        return pull_request_texts.status(progress, spent)

    async def post(self, kind: str, text: str) -> None:
        """Comment once: a plan, or questions.

        :raises Superseded: if another run owns the issue.
        """
        marker = Publisher.of(self.services).markers.make(kind, self.run.id)
        await self._commented(kind, marker, text)

    async def close(self) -> None:
        """Say in the comment how a run ended that was put an end to, whoever owns the issue now."""
        host, run = self.services.host, self.run
        comment_id = await outbox.remote_id(self.services.database, run.id, "status", "comment")
        comment_id = comment_id or await host.find_comment(run.repository, run.number, self._marker)
        if comment_id is None:
            return
        ended = await runs.get(self.services.database, run.id) or run
        spent = await self.spent()
        if ended.state is RunState.failed:
            text = plan_texts.failed(ForgeError(ended.detail), run.id, spent=spent)
        else:
            text = plan_texts.stopped(ended.reason, spent=spent)
        await self._edit(comment_id, await self._with_plan(text))

    async def spent(self) -> int:
        """What the run cost so far, in micro-USD."""
        return (await reservations.of_run(self.services.database, self.run.id)).amount

    async def _with_plan(self, text: str) -> str:
        """The text with the run's plan below it, unless a comment of its own shows that or asks about it."""
        plan = await checkpoints.load_plan(self.services.database, self.run)
        if plan is None or self.run.trigger is Trigger.plan or needs_approval(plan.level):
            return text
        version = len(await checkpoints.plans(self.services.database, self.run)) + 1
        return f"{text}\n\n{plan_texts.folded(plan, version=version)}"

    @property
    def _marker(self) -> str:
        return Publisher.of(self.services).markers.make("status", self.run.id)

    def _marked(self, text: str) -> str:
        return outgoing(f"{text}\n\n{self._marker}")

    async def _opened(self, text: str) -> tuple[int, bool]:
        """The comment, and whether it was made just now and says ``text``."""
        return await self._commented("status", self._marker, text)

    async def _commented(self, step: str, marker: str, text: str) -> tuple[int, bool]:
        host, where = self.services.host, (self.run.repository, self.run.number)
        is_new = False

        async def find() -> int | None:
            return await host.find_comment(*where, marker)

        async def create() -> int:
            nonlocal is_new
            comment_id = await host.create_comment(*where, outgoing(f"{text}\n\n{marker}"))
            is_new = True
            return comment_id

        return await Publisher.of(self.services).once(self.run, step, "comment", find, create), is_new

    async def _edit(self, comment_id: int, text: str) -> None:
        try:
            await self.services.host.edit_comment(self.run.repository, comment_id, self._marked(text))
        except NotFound:  # a person deleted it; it is not put there again
            log.info("status.comment_gone", run=self.run.id)


async def _no_trace() -> int | None:
    """An edit may be made twice; it says the same."""
    return None
