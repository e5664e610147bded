"""What the implementer is asked: one task of an approved plan, framed as data; and its loop on a draft."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator

from agents.loop.loop import Steps, Use
from agents.loop.tools.apply_patch import APPLY_PATCH, parse_diff
from agents.loop.turns import CompletedTurn, Result, Turn
from agents.prompts import load_prompt
from agents.review.model.questions import frame_data
from domain.runs.plan import Plan, Task, TaskId, Words
from domain.runs.task_result import RequiredFix
from domain.text.escaping import strip_invisible
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
    to_fix: tuple[RequiredFix, ...] = ()

    @model_validator(mode="after")
    def _check_task(self) -> Self:
        if self.task is not None and self.mine is None:
            raise ValueError("the plan has no such task")
        return self

    @property
    def mine(self) -> Task | None:
        return next((each for each in self.plan.tasks if each.id == self.task), None)


def load_instructions() -> str:
    """The stable part, the same for every task."""
    return load_prompt("implement")


def build_content(task: ImplementationTask, redact: Redact) -> str:
    """The varying part, all of it data.

    :param redact: takes credentials out of a text.
    """
    data = [
        *_render_plan(task.plan),
        *_render_task(task.mine),
        *_render_other_tasks(task),
        *_render_areas(task),
        *_render_to_fix(task.to_fix, redact),
    ]
    return frame_data(redact("\n".join(data)))


def list_diffs(past: Sequence[CompletedTurn]) -> list[bytes]:
    """The diffs that were applied, in order: what they make of the base is the draft."""
    pairs = chain.from_iterable(zip(each.turn.uses, each.results, strict=True) for each in past)
    return [parse_diff(use.arguments) for use, result in pairs if use.tool == APPLY_PATCH and not result.is_error]


class OnDraft:
    """Takes the steps of a loop whose tools change a draft, so that the draft is always as the loop's past says.

    A step that was journaled and is not taken again is made up for, and one that got lost half-way is taken back.
    """

    def __init__(self, steps: Steps, draft: Draft) -> None:
        self._steps = steps
        self._draft = draft

    async def load_earlier(self) -> Sequence[CompletedTurn]:
        """The turns that were taken before; none where what they applied may not be applied any more.

        Then the agent is answered anew, by tools that say what is wrong.
        """
        earlier = await self._steps.load_earlier()
        try:
            await self._draft.replay(list_diffs(earlier))
        except PatchRefused:
            return ()
        return earlier

    async def reason(self, past: Sequence[CompletedTurn]) -> Turn:
        """The model's next turn."""
        return await self._steps.reason(past)

    async def act(self, past: Sequence[CompletedTurn], turn: Turn, use: Use) -> CompletedTurn:
        """The turn with what its tools answered.

        :raises PatchRefused: what was applied before may not be applied any more.
        """

        async def on_draft() -> Sequence[Result]:
            await self._draft.replay(list_diffs(past))
            return await use()

        exchange = await self._steps.act(past, turn, on_draft)
        await self._draft.replay(list_diffs([*past, exchange]))
        return exchange


# --- what it is told ---------------------------------------------------------------------------------------


def _render_plan(plan: Plan) -> Iterator[str]:
    yield "== plan"
    yield from _quote(plan.summary)
    yield from (f"- Decided: {_flatten(each.decision)} Why: {_flatten(each.reason)}" for each in plan.decisions)
    yield from (f"- Interface {_flatten(each.name)}: {_flatten(each.description)}" for each in plan.interfaces)


def _render_task(task: Task | None) -> Iterator[str]:
    if task is None:
        yield "== your task: mend what is listed under `to fix`"
        return
    yield f"== your task: {task.id} {_flatten(task.title)}"
    yield from _quote(task.description)
    yield "Files:"
    yield from (f"- {_flatten(path)}" for path in task.files)
    yield "It is done when:"
    yield from _quote(task.acceptance)


def _render_other_tasks(task: ImplementationTask) -> Iterator[str]:
    """The other tasks by their titles, and what was done in those that are finished."""
    others = [each for each in task.plan.tasks if each.id != task.task]
    if not others:
        return
    done = {each.id: each.summary for each in task.done}
    yield "== other tasks"
    for each in others:
        state = f"done: {_flatten(done[each.id])}" if each.id in done else "not done yet"
        yield f"- {each.id} {_flatten(each.title)}; {state}"


def _render_areas(task: ImplementationTask) -> Iterator[str]:
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
            yield from (f"- {_flatten(area)}" for area in areas[:_AREAS])
            yield from _note_omitted(len(areas) - _AREAS, "more")


def _render_to_fix(items: Sequence[RequiredFix], redact: Redact) -> Iterator[str]:
    """As many as there is room for, in their order."""
    if not items:
        return
    yield "== to fix"
    room = _TO_FIX
    for index, item in enumerate(items):
        lines = [f"- {_render_place(item, redact)}", *_quote(redact(item.message)[:_MESSAGE])]
        room -= sum(len(line) + 1 for line in lines)
        if room < 0:
            yield from _note_omitted(len(items) - index, "more")
            return
        yield from lines


def _render_place(item: RequiredFix, redact: Redact) -> str:
    path, rule = (redact(_flatten(text))[:_PLACE] for text in (item.path, item.rule))
    line = "" if item.line is None else f":{item.line}"
    return f"{path}{line} {rule}".strip()


def _quote(text: str) -> list[str]:
    """A text with a mark before each line, so that none can pass for a heading or a note of ours."""
    return [f"> {line}" for line in strip_invisible(text).split("\n")]


def _flatten(text: str) -> str:
    """A text on one line."""
    return " ".join(strip_invisible(text).split())


def _note_omitted(count: int, what: str) -> list[str]:
    return [f"[{count:,} {what} are left out]"] if count > 0 else []
