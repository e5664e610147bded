"""The implementer: its task (framed as data), its tools, and its loop on a draft, which follows what the loop did."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Self

from pydantic import model_validator

from agents.coding.recovery import RecoveryTask, load_recovery_instructions, render_baseline, render_recovery
from agents.loop.loop import Agent, Steps, Use
from agents.loop.tools.edits import make_edit_tools, parse_edit
from agents.loop.tools.files import make_file_tools
from agents.loop.tools.history import make_history_tools
from agents.loop.tools.tool import Result, Tool
from agents.loop.tools.verification import CheckDraft, Test, make_check_tools, make_run_tests
from agents.loop.turns import Assignment, CompletedTurn, Turn
from agents.prompts import frame_data, load_prompt, note_omitted, quote_lines
from agents.prompts.conventions import render_conventions, render_elsewhere
from domain.review.reading import NO_CONVENTIONS, Conventions
from domain.runs.earlier_tests import Baseline
from domain.runs.patches import ChangeSet, RequiredFix, Worked, find_mistakes
from domain.runs.plan import Plan, Task, TaskId, Words
from domain.text.escaping import flatten_text
from domain.text.redaction import redact_outgoing
from domain.value import Value
from workspace.draft import Draft, Edit
from workspace.patches.refusals import PatchRefused

_MESSAGE, _PLACE = 2_000, 300  # characters of each that are shown
_TO_FIX = 24_000  # characters of all problems together
_AREAS = 60
_ATTEMPTS, _PROBLEMS = 5, 8  # earlier attempts that are shown, and problems of each


class DoneTask(Value):
    """A finished task of the plan.

    :param summary: what the agent says it changed.
    """

    id: TaskId
    summary: Words


class TriedFix(Value):
    """An attempt to fix something.

    :param answer: what the agent says it changed.
    """

    to_fix: tuple[RequiredFix, ...]
    answer: Words


class ImplementationTask(Value):
    """One task of a plan, and its context.

    :param task: the id of the task; None to fix ``to_fix``, whichever task it came from.
    :param done: the finished tasks.
    :param protected: globs that the repository protects, in addition to those that are always protected.
    :param granted: protected paths that a person lets agents change.
    :param to_fix: problems of an earlier attempt; if there are any, only they are fixed.
    :param tried: the fixes before this one, in order.
    :param baseline: how the repository's commands end before any change, if that is known.
    :param recovery: how to recover from giving up in disguise, if it was.
    :param conventions: what the repository wrote down about how it wants these files to be written.
    """

    plan: Plan
    task: TaskId | None
    done: tuple[DoneTask, ...] = ()
    protected: tuple[str, ...] = ()
    granted: tuple[str, ...] = ()
    to_fix: tuple[RequiredFix, ...] = ()
    tried: tuple[TriedFix, ...] = ()
    baseline: Baseline | None = None
    recovery: RecoveryTask | None = None
    conventions: Conventions = NO_CONVENTIONS

    @model_validator(mode="after")
    def _check_task(self) -> Self:
        if self.task is not None and self.mine is None:
            raise ValueError("the plan has no such task")
        return self

    @property
    def mine(self) -> Task | None:
        return next((each for each in self.plan.tasks if each.id == self.task), None)


def build_agent(
    draft: Draft, never_send: Sequence[str], test: Test | None, check: CheckDraft, more: Sequence[Tool] = ()
) -> Agent[Worked]:
    """The implementer on a draft, which it can read, change and test.

    :param never_send: globs of files that a model must not see; if there are any, it does not see what tests print
        either.
    :param test: tests a commit; None if the repository's own workflows do that.
    :param check: runs the checks of the review on a commit.
    :param more: tools of interactive mode.
    """
    tools = [
        *make_file_tools(draft.snapshot, never_send=never_send),
        *make_history_tools(draft.history, never_send=never_send),
        *make_edit_tools(draft),
        *make_check_tools(draft, check),
    ]
    if test is not None:
        tools.append(make_run_tests(draft, test, says_words=not never_send))
    return Agent(Worked, (*tools, *more), find_mistakes)


def build_assignment(
    key: str, task: ImplementationTask, *, says_words: bool = True, is_interactive: bool = False
) -> Assignment:
    """The implementer's assignment.

    :param key: names the piece of work in the journal.
    :param says_words: whether the model may see what tests print.
    :param is_interactive: whether it may run commands.
    """
    content = build_content(task, says_words=says_words)
    instructions = f"{load_instructions()}\n\n{load_prompt('interactive')}" if is_interactive else load_instructions()
    return Assignment(key=key, instructions=add_recovery(instructions, task), content=content)


def add_recovery(instructions: str, task: ImplementationTask) -> str:
    """The instructions, with how to recover if that is to be done."""
    if task.recovery is None:
        return instructions
    return f"{instructions}\n\n{load_recovery_instructions(task.recovery.strategy)}"


def load_instructions() -> str:
    """The instructions, the same for every task."""
    return load_prompt("implement")


def build_content(task: ImplementationTask, *, says_words: bool = True) -> str:
    """The content that varies, all of it framed as data.

    :param says_words: whether the model may see what tests print.
    """
    data = [
        *_render_plan(task.plan),
        *_render_task(task.mine),
        *_render_other_tasks(task),
        *_render_areas(task),
        *render_baseline(task.baseline, says_words=says_words),
        *render_conventions(task.conventions),
        *render_elsewhere(task.conventions),
        *_render_to_fix(task.to_fix),
        *render_recovery(task.recovery),
        *_render_tried(task.tried),
    ]
    return frame_data(redact_outgoing("\n".join(data)))


# --- the prompt --------------------------------------------------------------------------------------------


def _render_plan(plan: Plan) -> Iterator[str]:
    yield "== plan"
    yield from quote_lines(plan.summary)
    yield from (f"- Decided: {flatten_text(each.decision)} Why: {flatten_text(each.reason)}" for each in plan.decisions)
    yield from (f"- Interface {flatten_text(each.name)}: {flatten_text(each.description)}" for each in plan.interfaces)


def _render_task(task: Task | None) -> Iterator[str]:
    if task is None:
        yield "== your task: mend what is listed under `to fix`"
        return
    yield f"== your task: {task.id} {flatten_text(task.title)}"
    yield from quote_lines(task.description)
    yield "Files:"
    yield from (f"- {flatten_text(path)}" for path in task.files)
    yield "It is done when:"
    yield from quote_lines(task.acceptance)


def _render_other_tasks(task: ImplementationTask) -> Iterator[str]:
    """The other tasks by their titles, with the summaries of those that are done."""
    others = [each for each in task.plan.tasks if each.id != task.task]
    if not others:
        return
    done = {each.id: each.summary for each in task.done}
    yield "== other tasks"
    for each in others:
        state = f"done: {flatten_text(done[each.id])}" if each.id in done else "not done yet"
        yield f"- {each.id} {flatten_text(each.title)}; {state}"


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
            listed = [*map(flatten_text, areas[:_AREAS]), *note_omitted(len(areas) - _AREAS, "more")]
            yield f"{name}: {', '.join(listed)}"


def _render_to_fix(items: Sequence[RequiredFix]) -> Iterator[str]:
    """As many problems as fit, in order."""
    if not items:
        return
    yield "== to fix"
    room = _TO_FIX
    for index, item in enumerate(items):
        lines = [f"- {_render_place(item)}", *quote_lines(redact_outgoing(item.message)[:_MESSAGE])]
        room -= sum(len(line) + 1 for line in lines)
        if room < 0:
            yield from note_omitted(len(items) - index, "more")
            return
        yield from lines


def _render_tried(tried: Sequence[TriedFix]) -> Iterator[str]:
    """The newest attempts: what each was to fix, in short, and what was answered."""
    if not tried:
        return
    yield "== tried before"
    yield from note_omitted(len(tried) - _ATTEMPTS, "earlier attempts")
    for number, attempt in list(enumerate(tried, 1))[-_ATTEMPTS:]:
        yield f"Attempt {number} was to fix:"
        for item in attempt.to_fix[:_PROBLEMS]:
            yield f"- {_render_place(item)}: {flatten_text(redact_outgoing(item.message))[:_PLACE]}"
        yield from note_omitted(len(attempt.to_fix) - _PROBLEMS, "more")
        yield "It answered:"
        yield from quote_lines(redact_outgoing(attempt.answer))


def _render_place(item: RequiredFix) -> str:
    path, rule = (redact_outgoing(flatten_text(text))[:_PLACE] for text in (item.path, item.rule))
    line = "" if item.line is None else f":{item.line}"
    return f"{item.id} {path}{line} {rule}".strip()


async def carry_over(draft: Draft, left: ChangeSet) -> Sequence[Edit]:
    """What a draft holds from the beginning: what was left of an earlier one, if it may still be changed so."""
    if not left.files:
        return ()
    try:
        await draft.replay([left])
    except PatchRefused:
        return ()
    return (left,)


def list_edits(past: Sequence[CompletedTurn]) -> list[Edit]:
    """The applied edits in order; together they turn the base into the draft."""
    pairs = chain.from_iterable(zip(each.turn.uses, each.results, strict=True) for each in past)
    taken = ((use, result.change) for use, result in pairs if not result.is_error)
    found = (change or parse_edit(use.tool, use.arguments) for use, change in taken)
    return [edit for edit in found if edit is not None]


class OnDraft:
    """Runs the steps of a loop whose tools change a draft, and keeps the draft in line with the loop's past.

    It applies a journaled step again, and undoes a step that was interrupted.

    :param start: edits that were applied before the loop began.
    """

    def __init__(self, steps: Steps, draft: Draft, start: Sequence[Edit] = ()) -> None:
        self._steps = steps
        self._draft = draft
        self._start = start

    async def load_earlier(self) -> Sequence[CompletedTurn]:
        """The earlier turns; none if one of their edits may no longer be applied.

        The agent then starts again, and its tools say what is wrong.
        """
        earlier = await self._steps.load_earlier()
        try:
            await self._draft.replay([*self._start, *list_edits(earlier)])
        except PatchRefused:
            return ()
        return earlier

    async def reason(self, past: Sequence[CompletedTurn]) -> Turn:
        """The model's next turn."""
        return await self._steps.reason(past)

    async def act(self, past: Sequence[CompletedTurn], turn: Turn, use: Use) -> CompletedTurn:
        """The turn with the results of its tools.

        :raises PatchRefused: an earlier edit may no longer be applied.
        """

        async def on_draft() -> Sequence[Result]:
            await self._draft.replay([*self._start, *list_edits(past)])
            return await use()

        exchange = await self._steps.act(past, turn, on_draft)
        await self._draft.replay([*self._start, *list_edits([*past, exchange])])
        return exchange
