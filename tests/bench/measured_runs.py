"""Runs whose steps and calls of the model are timed, and whose tokens are counted."""

import asyncio
import json
import time
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from dbos import DBOS
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from agents.llm.models import Models
from agents.llm.prices import estimate
from agents.llm.scripted import ScriptedModel
from memory.db.tables.runs import RunRow
from pipeline.context import PROGRESS_DELAY
from pipeline.durable.journal import Call, run_durable_step
from simulator import Simulator
from simulator.state import Issue, PullRequest, Repository
from tests.clock import MovableClock
from tests.databases import create_database
from tests.stories.driver import PATIENT, SECRET, Story, run_forge

FRAME = 313  # tokens Anthropic adds to a call that must use a tool, by its documentation
MODEL, BETWEEN = "the model's own time", "queues and webhooks between steps"
_OF_ISSUE, _OF_REVIEW, _OF_OTHERS, _WAITING = range(4)
"""Whose steps count first where several go on at once."""
_LOOK = "how it stands"
_GROUPS = {
    "planning": (
        "begin",
        "read the issue",
        "is it planned",
        "ask: plan ",
        "act: plan ",
        "keep the plan",
        "post the plan",
    ),
    "implementing": ("ask: implement ", "act: implement ", "ask: mend ", "act: mend ", "who commits"),
    "tests in the sandbox": ("run the tests",),
    "analysis of failures": ("ask: model analysis",),
    "branch and pull request": ("push the branch", "open the pull request", _LOOK, "mark it ready"),
}
_TELLING = "telling people how far it is"
_REPLAY = "replays of earlier legs"
_REVIEW, _WEBHOOKS = "review of the draft", "taking webhooks in"


@dataclass(frozen=True)
class Asked:
    """One call of the model.

    :param fixed: tokens of instructions and tools, the same for every call of their kind, so that providers can cache
        them.
    :param rest: tokens of what it was shown, and of its own earlier turns.
    """

    began: float
    ended: float
    fixed: int
    rest: int


@dataclass(frozen=True)
class Step:
    """One journaled step, in seconds of the monotonic clock."""

    workflow: str
    name: str
    began: float
    ended: float


class Slow(WrapperModel):
    """A model that takes its time, and notes when it was asked and how much it was sent."""

    def __init__(self, wrapped: Model, seconds: float, calls: list[Asked]) -> None:
        super().__init__(wrapped)
        self._seconds = seconds
        self._calls = calls

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        began = time.perf_counter()
        await asyncio.sleep(self._seconds)
        response = await super().request(messages, model_settings, model_request_parameters)
        tools = [*model_request_parameters.function_tools, *model_request_parameters.output_tools]
        described = [(tool.name, tool.description, tool.parameters_json_schema) for tool in tools]
        fixed = FRAME + estimate(_instructions(messages)) + estimate(json.dumps(described))
        rest = sum(estimate(text) for text in _texts(messages))
        self._calls.append(Asked(began, time.perf_counter(), fixed, rest))
        return response


def _instructions(messages: Sequence[ModelMessage]) -> str:
    given = [each.instructions for each in messages if isinstance(each, ModelRequest) and each.instructions]
    assert given, "the model got no instructions"
    return given[-1]


def _texts(messages: Iterable[ModelMessage]) -> Iterable[str]:
    for part in (part for message in messages for part in message.parts):
        yield part.args_as_json_str() if isinstance(part, ToolCallPart) else str(getattr(part, "content", ""))


@dataclass
class Measurements:
    """Everything Forge did in a story, step by step."""

    steps: list[Step] = field(default_factory=list[Step])
    calls: list[Asked] = field(default_factory=list[Asked])

    async def step(self, name: str, call: Call) -> dict[str, Any]:
        """A durable step that is timed, its note in the journal included."""
        began = time.perf_counter()
        answer = await run_durable_step(name, call)
        self.steps.append(Step(DBOS.workflow_id or "", name, began, time.perf_counter()))
        return answer

    def sum_seconds(self, runs: Sequence[RunRow], began: float) -> dict[str, float]:
        """Seconds from this moment to the end of the issue's run, by what they went to; each counts once."""
        [issue] = [run.id for run in runs if run.trigger == "issue"]
        reviews = tuple(run.id for run in runs if run.trigger != "issue")
        labelled = [*_of_issue([each for each in self.steps if each.workflow.startswith(issue)])]
        ended = max(step.ended for step, _, _ in labelled)
        for step in self.steps:
            if step.workflow.startswith(reviews):
                labelled.append((step, _OF_REVIEW, _REVIEW))
            elif not step.workflow.startswith(issue):
                labelled.append((step, _OF_OTHERS, _WEBHOOKS))
        edges = {began, ended, *(edge for each, _, _ in labelled for edge in (each.began, each.ended))}
        edges |= {edge for call in self.calls for edge in (call.began, call.ended)}
        within = sorted(edge for edge in edges if began <= edge <= ended)
        spent = dict.fromkeys((MODEL, BETWEEN, _REPLAY, _TELLING, _REVIEW, _WEBHOOKS, *_GROUPS), 0.0)
        for start, end in pairwise(within):
            spent[self._at((start + end) / 2, labelled)] += end - start
        return spent

    def _at(self, moment: float, labelled: Sequence[tuple[Step, int, str]]) -> str:
        if any(call.began <= moment <= call.ended for call in self.calls):
            return MODEL
        going_on = [(rank, label) for step, rank, label in labelled if step.began <= moment <= step.ended]
        return min(going_on)[1] if going_on else BETWEEN


def _of_issue(steps: Sequence[Step]) -> Iterable[tuple[Step, int, str]]:
    """The steps of an issue's run with what they are for.

    A later leg begins at the top: until it looks how things stand, or does what no leg did before, it replays.
    """
    legs: defaultdict[str, list[Step]] = defaultdict(list)
    for step in sorted(steps, key=lambda step: step.began):
        legs[step.workflow].append(step)
    known: set[tuple[str, int]] = set()
    for leg in legs.values():
        replays, seen = bool(known), Counter[str]()
        for step in leg:
            seen[step.name] += 1
            replays = replays and (step.name, seen[step.name]) in known
            rank = _WAITING if step.name == _LOOK else _OF_ISSUE  # a review that is soon over is waited for there
            yield step, rank, _REPLAY if replays else _group(step.name)
            replays = replays and step.name != _LOOK
        known |= {(name, number + 1) for name, count in seen.items() for number in range(count)}


def _group(name: str) -> str:
    return next((group for group, names in _GROUPS.items() if name.startswith(names)), _TELLING)


@asynccontextmanager
async def open_measured(
    folder: Path, model: ScriptedModel, seconds: float = 0.0, **settings: object
) -> AsyncGenerator[tuple[Story, Measurements]]:
    """A story on SQLite whose steps and calls are timed.

    :param seconds: that each answer of the model takes.
    :param settings: other than those of stories.
    """
    watched, clock, known = Measurements(), MovableClock(), model.language_model
    models = Models.only(replace(known, model=Slow(known.model, seconds, watched.calls)))
    folder.mkdir(exist_ok=True)
    url, patient = create_database("sqlite", folder), replace(PATIENT, telling=PROGRESS_DELAY)
    async with (
        Simulator(folder / "github", webhook_secret=SECRET, now=clock.now) as github,
        run_forge(github, clock, url, folder, patient, models, watched.step, **settings) as told,
    ):
        yield told, watched


def print_tokens(calls: Sequence[Asked], repository: Repository, issue: Issue, pull: PullRequest) -> None:
    """What a run sent to its model, against the issue, the files it changed and their diff, each once."""
    git, base, head = repository.git, pull.base_sha, pull.head_sha
    files = [git.read(base, file.path) or b"" for file in git.diff(base, head)]
    words = [f"{issue.title}\n{issue.body}", *(content.decode() for content in files), git.text("diff", base, head)]
    own = sum(estimate(text) for text in words)
    fixed, rest = sum(call.fixed for call in calls), sum(call.rest for call in calls)
    print(
        f"tokens: {len(calls)} calls sent {fixed + rest:,}, of which {fixed:,} are instructions and tools, which "
        f"providers cache\nthe issue, the files it changes and their diff have {own:,}: {(fixed + rest) / own:.1f} "
        f"times that, {rest / own:.1f} times without the fixed part"
    )
