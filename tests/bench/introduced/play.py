"""Reviews real changes, half of which brought in a bug, as `forge review --model` does, and keeps what the model says.

    python -m tests.bench.introduced.play MIRRORS seen|unseen SAID.jsonl [--jobs 3] [--only ID]

``MIRRORS`` holds a git directory ``owner+name/repo`` for each repository of ``drawn.jsonl``; FORGE_FAST_MODEL and its
key choose who answers. What is in ``SAID.jsonl`` is not asked again, so a run that ended goes on. ``score.py`` counts.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from agents.review import reviewer
from agents.toolbox import Toolbox
from bot.settings import load_environment
from bot.tool_folders import load_tool_folders
from domain.config.configuration import Configuration
from domain.review.findings import Finding, Layer
from pipeline.review.single_reading import SingleReading
from safety.containment import find_origin
from safety.risk import PullRequestAuthor
from tests.bench.wild.play import LocalMirror

_DRAWN = Path(__file__).with_name("drawn.jsonl")


class Bug(BaseModel):
    """What a later fix showed to be wrong.

    :param lines: where, at the head.
    """

    file: str
    lines: list[int]
    what: str
    seen_how: str


class Case(BaseModel):
    """A change of a public repository; one that is clean has no bug.

    :param fix: the commit that mended it later.
    """

    id: str
    part: Literal["seen", "unseen"]
    repo: str
    base: str
    head: str
    language: str
    title: str
    bug: Bug | None = None
    fix: str | None = None


class Said(BaseModel):
    """What the model said of a case, the decision, and how long it took in seconds."""

    id: str
    findings: list[Finding]
    decision: str
    notes: list[str]
    seconds: float


def load_cases(part: str) -> list[Case]:
    """The cases of a part, in the order in which they were drawn."""
    cases = (Case.model_validate_json(line) for line in _DRAWN.read_text().splitlines())
    return [case for case in cases if case.part == part]


def load_said(path: Path) -> list[Said]:
    """What was kept before; nothing where no file is."""
    return [Said.model_validate_json(line) for line in path.read_text().splitlines()] if path.exists() else []


async def review(case: Case, mirrors: Path, toolbox: Toolbox) -> Said | None:
    """Review a case with all layers, and keep the findings of the model; None if it gave no answer."""
    since = time.monotonic()
    code = LocalMirror(mirrors / case.repo.replace("/", "+") / "repo")
    change = await code.change(case.base, case.head)
    settings, author = Configuration(), PullRequestAuthor()
    checked = await reviewer.check(change, code, toolbox, settings, author, _compare_nothing, trusted=True)
    own = find_origin(from_fork=False, trusted=True)
    reading = SingleReading(load_environment().models, case.title, own, settings, toolbox, case.base)
    done = reviewer.build_review(checked, await reading.read(checked, change, code))
    [layer] = [each for each in done.layers if each.layer is Layer.model]
    if layer.missing is not None:
        print(case.id, layer.missing, file=sys.stderr)
        return None
    return Said(
        id=case.id,
        findings=[each for each in done.findings if each.layer is Layer.model],
        decision=done.decision.value,
        notes=[layer.note] if layer.note else [],
        seconds=time.monotonic() - since,
    )


async def _compare_nothing() -> None:
    return None


async def _play_all(cases: Sequence[Case], mirrors: Path, kept: Path, jobs: int) -> None:
    free = asyncio.Semaphore(jobs)
    async with Toolbox.start(reads=load_tool_folders()) as toolbox:

        async def play(case: Case) -> None:
            async with free:
                said = await review(case, mirrors, toolbox)
            if said is None:
                return
            with kept.open("a") as file:
                file.write(said.model_dump_json() + "\n")
            print(case.id, said.decision, json.dumps([f"{each.where} {each.message}" for each in said.findings]))

        await asyncio.gather(*(play(case) for case in cases))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mirrors", type=Path)
    parser.add_argument("part", choices=["seen", "unseen"])
    parser.add_argument("said", type=Path)
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--only")
    given = parser.parse_args()
    known = {each.id for each in load_said(given.said)}
    cases = [each for each in load_cases(given.part) if each.id not in known and given.only in {None, each.id}]
    asyncio.run(_play_all(cases, given.mirrors, given.said, given.jobs))


if __name__ == "__main__":
    main()
