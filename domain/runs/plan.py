"""A plan for an issue: its tasks, allowed areas and contracts, and checks of their consistency."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain
from typing import Annotated

from pydantic import Field, StringConstraints
from pydantic.json_schema import SkipJsonSchema

from domain import globs
from domain.globs import matches
from domain.paths import fold_path
from domain.review.review import RiskLevel
from domain.text.escaping import cut_text, flatten_text
from domain.value import Value
from domain.verdicts import Reason

LEASE = timedelta(seconds=300)
"""How long a run keeps a lock without renewing it."""


LONGEST_WAIT = timedelta(hours=24)
"""How long a run waits for locked contracts."""


@dataclass(frozen=True, slots=True)
class HeldContract:
    """A contract that another run has locked.

    :param number: of that run's issue; None if unknown.
    :param pull_request: the pull request it opened, if any.
    """

    contract: str
    number: int | None
    pull_request: int | None = None


CONTRACTS: Mapping[str, tuple[str, ...]] = {
    "openapi": ("**/openapi*", "**/openapi/**", "**/swagger*", "**/swagger/**"),
    "graphql": ("**/*.graphql", "**/*.graphqls", "**/schema.gql"),
    "rpc": ("**/*.proto", "**/*.thrift"),
    "events": (
        "**/asyncapi*",
        "**/*.avsc",
        "**/events/**.json",
        "**/events/**.yaml",
        "**/events/**.yml",
        "**/events.json",
        "**/events.yaml",
        "**/events.yml",
    ),
    "db": (
        "**/migrations/**",
        "**/alembic/versions/**",
        "**/db/migrate/**",
        "**/db/schema.rb",
        "**/schema.sql",
        "**/schema.prisma",
    ),
}
"""The default contracts of a repository."""


def find_contracts(paths: Iterable[str], contracts: Mapping[str, Sequence[str]] = CONTRACTS) -> tuple[str, ...]:
    """The names of the contracts of these paths or globs of areas.

    :param contracts: contract → globs.
    """
    folded = [fold_path(path) for path in paths]
    return tuple(name for name, globs in contracts.items() if any(matches_any_case(path, globs) for path in folded))


def matches_any_case(path: str, globs: Iterable[str]) -> bool:
    """Whether a path matches any of the globs, ignoring what some disks ignore, such as case."""
    return matches(fold_path(path), map(fold_path, globs))


MOST_TASKS = 20
MOST_QUESTIONS = 5
_MOST_TOLD = 4  # mistakes reported at once
_WILD = frozenset("*?")

Short = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Title = Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)]
LONGEST_WORDS = 1_000
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_WORDS)]
Place = Annotated[str, StringConstraints(min_length=1, max_length=300)]
"""A path or a glob."""
TaskId = Annotated[str, StringConstraints(pattern=r"^T[1-9][0-9]?$")]


class Component(Value):
    """A new or changed part of the software."""

    name: Short
    purpose: Words


class Interface(Value):
    """Where two components meet."""

    name: Short
    description: Words


class DesignDecision(Value):
    """An architecture decision."""

    decision: Words
    reason: Words


class Task(Value):
    """One step of the work.

    :param files: paths it creates, changes or deletes.
    :param depends_on: ids of tasks that must come first.
    :param acceptance: its acceptance criterion.
    """

    id: TaskId
    title: Short
    description: Words
    files: tuple[Place, ...] = Field(default=(), max_length=30)
    depends_on: tuple[TaskId, ...] = Field(default=(), max_length=MOST_TASKS)
    acceptance: Words


class PlannedRisk(Value):
    """The planner's own risk."""

    level: RiskLevel
    reasons: tuple[Words, ...] = Field(default=(), max_length=10)


class Estimate(Value):
    """Estimated changed lines and minutes of an agent's work."""

    lines: int = Field(ge=0, le=1_000_000)
    minutes: int = Field(ge=0, le=100_000)


class Plan(Value):
    """The plan for an issue.

    :param title: the title of the change, as of a pull request; may be empty.
    :param allowed_areas: globs, or plain names of files and folders; nothing outside may change.
    :param forbidden_areas: the same, for excluded parts of them.
    :param contracts: names of the contracts that change, which Forge finds; see :mod:`domain.runs.plan`.
    """

    title: Title = ""
    summary: Words
    components: tuple[Component, ...] = Field(default=(), max_length=20)
    interfaces: tuple[Interface, ...] = Field(default=(), max_length=20)
    decisions: tuple[DesignDecision, ...] = Field(default=(), max_length=20)
    tasks: tuple[Task, ...] = Field(min_length=1, max_length=MOST_TASKS)
    risk: PlannedRisk
    estimate: Estimate
    allowed_areas: tuple[Place, ...] = Field(min_length=1, max_length=30)
    forbidden_areas: tuple[Place, ...] = Field(default=(), max_length=30)
    contracts: SkipJsonSchema[tuple[Short, ...]] = Field(default=(), max_length=20)

    @property
    def files(self) -> tuple[str, ...]:
        """Every path that a task names, once, in the order of the tasks."""
        return tuple(dict.fromkeys(chain.from_iterable(task.files for task in self.tasks)))


class Planned(Value):
    """The planner's result: a plan, or questions if a plan would be a guess. See :func:`find_mistakes`.

    :param nothing_to_do: why no change is wanted or needed; instead of both.
    """

    plan: Plan | None = None
    questions: tuple[Words, ...] = Field(default=(), max_length=MOST_QUESTIONS)
    nothing_to_do: Words | None = None


class RatedPlan(Value):
    """A plan with its rated risk; see :mod:`safety.plan_risk`.

    :param plan: including every contract it touches.
    :param level: the planner's, or a higher one.
    :param reasons: what led to it, the most severe first.
    """

    plan: Plan
    level: RiskLevel
    reasons: tuple[Reason, ...]


def find_mistakes(planned: Planned) -> str | None:
    """Returns the inconsistencies in one line for the planner; None if there are none."""
    if planned.nothing_to_do is not None:
        is_alone = planned.plan is None and not planned.questions
        return None if is_alone else "Hand in nothing_to_do only where there is neither a plan nor a question."
    if planned.plan is None:
        return None if planned.questions else "Hand in a plan, or questions if the issue leaves open what is wanted."
    if planned.questions:
        return "Hand in either a plan or questions, not both: questions only where a plan would be a guess."
    found = list(_find_mistakes(planned.plan))
    left = len(found) - _MOST_TOLD
    return " ".join([*found[:_MOST_TOLD], *([f"{left} more like these."] if left > 0 else [])]) or None


def count_versions(plans: Sequence[Plan]) -> int:
    """How many versions there are: a plan that equals the one before is no other version.

    :param plans: of the runs of an issue, oldest first.
    """
    return sum(plan != before for before, plan in zip((None, *plans), plans, strict=False))


def sort_tasks(plan: Plan) -> tuple[Task, ...]:
    """Sorts tasks after their dependencies, otherwise in the given order.

    :raises ValueError: if there is no such order.
    """
    ordered, stuck = _sort_tasks(plan.tasks)
    if stuck:
        raise ValueError("tasks depend on each other in a circle, or on one that does not exist")
    return tuple(ordered)


def covers_path(areas: Iterable[str], path: str) -> bool:
    """Whether a path lies in any of the areas: globs, or plain names that cover everything below them."""
    return globs.matches(path, to_globs(areas))


def to_globs(areas: Iterable[str]) -> tuple[str, ...]:
    """Converts areas to globs: a plain name becomes the file and the folder's content."""
    written = tuple(areas)
    folders = (f"{area.rstrip('/')}/**" for area in written if area.endswith("/") or not _WILD & set(area))
    return (*(area for area in written if not area.endswith("/")), *folders)


# --- what does not fit together ----------------------------------------------------------------------------


def _find_mistakes(plan: Plan) -> Iterator[str]:
    yield from _find_task_mistakes(plan.tasks)
    yield from _find_path_mistakes(plan)
    if plan.risk.level is not RiskLevel.low and not plan.risk.reasons:
        yield f"The risk is {plan.risk.level.value}, and risk.reasons does not say why."


def _find_task_mistakes(tasks: Sequence[Task]) -> Iterator[str]:
    ids = [task.id for task in tasks]
    for id_ in dict.fromkeys(ids):
        if ids.count(id_) > 1:
            yield f"{ids.count(id_)} tasks have the id {id_}; each needs its own."
    unknown = {(task.id, needed): None for task in tasks for needed in task.depends_on if needed not in ids}
    for id_, needed in unknown:
        yield f"{id_} depends on {needed}, and there is no such task."
    if not unknown and (circle := _find_circle(tasks)):
        yield f"Tasks depend on each other in a circle: {' → '.join(circle)}."


def _find_path_mistakes(plan: Plan) -> Iterator[str]:
    for name, areas in (("allowed_areas", plan.allowed_areas), ("forbidden_areas", plan.forbidden_areas)):
        for area in areas:
            # Like a mistake of a glob, but a final “/” is allowed and means the folder.
            if wrong := (_find_hidden(area) or globs.find_mistake(area.removesuffix("/"))):
                yield f"{_quote(area)} in {name} {wrong}."
    forbidden = [area.casefold() for area in plan.forbidden_areas]
    for task in plan.tasks:
        for path in task.files:
            if wrong := _path_mistake(path):
                yield f"The file {_quote(path)} of {task.id} {wrong}."
            elif not globs.permits(path, to_globs(plan.allowed_areas)):
                yield f"The file {_quote(path)} of {task.id} lies outside allowed_areas."
            elif covers_path(forbidden, path.casefold()):
                yield f"The file {_quote(path)} of {task.id} lies inside forbidden_areas."


def _path_mistake(path: str) -> str | None:
    if path.endswith("/"):
        return "is a folder, and files are wanted"
    if _WILD & set(path):
        return "is a pattern, and files are wanted"
    parts = path.casefold().split("/")
    if parts[0] == "~" or re.fullmatch(r"[a-z]:", parts[0]):
        return "does not begin at the root of the repository"
    if "" in parts[1:] or ".git" in parts:
        return "is no path inside the repository"
    return _find_hidden(path) or globs.find_path_mistake(path)


def _find_hidden(place: str) -> str | None:
    flat = flatten_text(place)
    return None if flat == place else "holds a character that cannot be seen, or more blanks than one"


def _quote(place: str) -> str:
    return f"“{cut_text(flatten_text(place), 100)}”"


# --- order -------------------------------------------------------------------------------------------------


def _sort_tasks(tasks: Sequence[Task]) -> tuple[list[Task], list[Task]]:
    """(the sorted tasks, the tasks in a cycle)."""
    ordered: list[Task] = []
    left, done = list(tasks), set[str]()
    while ready := next((task for task in left if done.issuperset(task.depends_on)), None):
        left.remove(ready)
        ordered.append(ready)
        done.add(ready.id)
    return ordered, left


def _find_circle(tasks: Sequence[Task]) -> list[str]:
    """Finds a dependency cycle; empty if there is none.

    :param tasks: with dependencies that all exist.
    """
    _, stuck = _sort_tasks(tasks)
    if not stuck:
        return []
    ids = {task.id for task in stuck}
    waits = {task.id: next(id_ for id_ in task.depends_on if id_ in ids) for task in stuck}
    walked = [stuck[0].id]
    while waits[walked[-1]] not in walked:
        walked.append(waits[walked[-1]])
    return [*walked[walked.index(waits[walked[-1]]) :], waits[walked[-1]]]
