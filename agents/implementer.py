"""What the implementer is asked: one task of an approved plan, framed as data; and its loop on a draft."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator

from agents.loop.loop import Steps, Use
from agents.loop.tools.apply_patch import APPLY_PATCH, diff_of
from agents.loop.turns import Exchange, Result, Turn
from agents.prompts import prompt
from agents.review.model.questions import framed
from domain.runs.plan import Plan, Task, TaskId, Words
from domain.runs.task_result import ToFix
from domain.text.escaping import visible
from workspace.draft import Draft
from workspace.patches.errors import PatchRefused

Redact = Callable[[str], str]

_MESSAGE, _PLACE = 2_000, 300  # characters of each that are shown
_TO_FIX = 24_000  # characters of all that is to be fixed
_AREAS = 60


class DoneTask(BaseModel):
    """Another task of the plan that was carried out before.

    :param summary: what who did it says is different now.
    """

    model_config = ConfigDict(frozen=True)

    id: TaskId
    summary: Words


class ImplementationTask(BaseModel):
    """One task of a plan, and what is known about it.

    :param task: the id of the task; None to mend what is to be fixed, whichever task it came from.
    :param done: the tasks that were carried out before.
    :param protected: globs of what the repository protects, beyond what always is.
    :param granted: protected paths that a person let through.
    :param to_fix: what came of an earlier attempt; then only that is done.
    """

    model_config = ConfigDict(frozen=True)

    plan: Plan
    task: TaskId | None
    done: tuple[DoneTask, ...] = ()
    protected: tuple[str, ...] = ()
    granted: tuple[str, ...] = ()
    to_fix: tuple[ToFix, ...] = ()

    @model_validator(mode="after")
    def _is_there(self) -> Self:
        if self.task is not None and self.mine is None:
            raise ValueError("the plan has no such task")
        return self

    @property
    def mine(self) -> Task | None:
        return next((each for each in self.plan.tasks if each.id == self.task), None)


def instructions() -> str:
    """The stable part, the same for every task."""
    return prompt("implement")


def content(task: ImplementationTask, redact: Redact) -> str:
    """The varying part, all of it data.

    :param redact: takes credentials out of a text.
    """
    data = [*_plan(task.plan), *_task(task.mine), *_others(task), *_areas(task), *_to_fix(task.to_fix, redact)]
    return framed(redact("\n".join(data)))


def applied(past: Sequence[Exchange]) -> list[bytes]:
    """The diffs that were applied, in order: what they make of the base is the draft."""
    pairs = chain.from_iterable(zip(each.turn.uses, each.results, strict=True) for each in past)
    return [diff_of(use.arguments) for use, result in pairs if use.tool == APPLY_PATCH and not result.is_error]


class OnDraft:
    """Takes the steps of a loop whose tools change a draft, so that the draft is always as the loop's past says.

    A step that was journaled and is not taken again is made up for, and one that got lost half-way is taken back.
    """

    def __init__(self, steps: Steps, draft: Draft) -> None:
        self._steps = steps
        self._draft = draft

    async def earlier(self) -> Sequence[Exchange]:
        """The turns that were taken before; none where what they applied may not be applied any more.

        Then the agent is answered anew, by tools that say what is wrong.
        """
        earlier = await self._steps.earlier()
        try:
            await self._draft.replay(applied(earlier))
        except PatchRefused:
            return ()
        return earlier

    async def reason(self, past: Sequence[Exchange]) -> Turn:
        """The model's next turn."""
        return await self._steps.reason(past)

    async def act(self, past: Sequence[Exchange], turn: Turn, use: Use) -> Exchange:
        """The turn with what its tools answered.

        :raises PatchRefused: what was applied before may not be applied any more.
        """

        async def on_draft() -> Sequence[Result]:
            await self._draft.replay(applied(past))
            return await use()

        exchange = await self._steps.act(past, turn, on_draft)
        await self._draft.replay(applied([*past, exchange]))
        return exchange


# --- what it is told ---------------------------------------------------------------------------------------


def _plan(plan: Plan) -> Iterator[str]:
    yield "== plan"
    yield from _quoted(plan.summary)
    yield from (f"- Decided: {_flat(each.decision)} Why: {_flat(each.reason)}" for each in plan.decisions)
    yield from (f"- Interface {_flat(each.name)}: {_flat(each.description)}" for each in plan.interfaces)


def _task(task: Task | None) -> Iterator[str]:
    if task is None:
        yield "== your task: mend what is listed under `to fix`"
        return
    yield f"== your task: {task.id} {_flat(task.title)}"
    yield from _quoted(task.description)
    yield "Files:"
    yield from (f"- {_flat(path)}" for path in task.files)
    yield "It is done when:"
    yield from _quoted(task.acceptance)


def _others(task: ImplementationTask) -> Iterator[str]:
    """The other tasks by their titles, and what was done in those that are finished."""
    others = [each for each in task.plan.tasks if each.id != task.task]
    if not others:
        return
    done = {each.id: each.summary for each in task.done}
    yield "== other tasks"
    for each in others:
        state = f"done: {_flat(done[each.id])}" if each.id in done else "not done yet"
        yield f"- {each.id} {_flat(each.title)}; {state}"


def _areas(task: ImplementationTask) -> Iterator[str]:
    yield "== where changes may be"
    named = (
        ("Allowed", task.plan.allowed_areas),
        ("Forbidden", task.plan.forbidden_areas),
        ("Protected", task.protected),
        ("Protected, but a person lets you change it", task.granted),
    )
    for name, areas in named:
        if areas:
            yield f"{name}:"
            yield from (f"- {_flat(area)}" for area in areas[:_AREAS])
            yield from _left_out(len(areas) - _AREAS, "more")


def _to_fix(items: Sequence[ToFix], redact: Redact) -> Iterator[str]:
    """As many as there is room for, in their order."""
    if not items:
        return
    yield "== to fix"
    room = _TO_FIX
    for index, item in enumerate(items):
        lines = [f"- {_where(item, redact)}", *_quoted(redact(item.message)[:_MESSAGE])]
        room -= sum(len(line) + 1 for line in lines)
        if room < 0:
            yield from _left_out(len(items) - index, "more")
            return
        yield from lines


def _where(item: ToFix, redact: Redact) -> str:
    path, rule = (redact(_flat(text))[:_PLACE] for text in (item.path, item.rule))
    line = "" if item.line is None else f":{item.line}"
    return f"{path}{line} {rule}".strip()


def _quoted(text: str) -> list[str]:
    """A text with a mark before each line, so that none can pass for a heading or a note of ours."""
    return [f"> {line}" for line in visible(text).split("\n")]


def _flat(text: str) -> str:
    """A text on one line."""
    return " ".join(visible(text).split())


def _left_out(count: int, what: str) -> list[str]:
    return [f"[{count:,} {what} are left out]"] if count > 0 else []
