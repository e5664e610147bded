"""Runs of several issues side by side: each proposes its own change, pays for itself and leaves nothing behind."""

import asyncio
import json
import os
import re
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

from pydantic import JsonValue
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from sqlalchemy import select

from agents.llm.models import Models
from agents.llm.scripted import ScriptedModel, ScriptedReply, Uses
from domain.money import FixedPrice
from memory.db.tables.runs import SpendRow
from simulator import User
from simulator.state import Issue, PullRequest, Repository
from tests.accounts import find_discrepancies
from tests.databases import create_database
from tests.stories.driver import Story, open_story
from tests.unit.sandbox.machine import is_gone, mark_seconds
from tests.world import command_line_agent
from tests.world.command_line_agent import says
from tests.world.issues import SHOP, TASK, patches, plan

STAYS = mark_seconds(3100)
MAKE = f"""\
import json, subprocess, sys
for path, text in json.loads(sys.argv[1]).items():
    open(path, "w").write(text)
subprocess.Popen(["setsid", "sleep", "{STAYS}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
"""
KINDS: dict[str, dict[str, str]] = {
    "external": command_line_agent.FILES,
    "commands": {
        ".github/forge.yml": "execution: {mode: interactive, commands: ['python3 *']}\n",
        "tools/make.py": MAKE,
    },
    "deterministic": {},
}
"""What a repository holds so that this kind of agent works on its issues."""
RAN = "It ended with exit status"


@dataclass
class MeetingModel(WrapperModel):
    """Whoever works is answered once so many work at the same time: then nobody is done before all have begun.

    :ivar most: who were at work together.
    """

    wrapped: Model
    number: int
    most: int = 0
    _inside: int = 0
    _met: asyncio.Event = field(default_factory=asyncio.Event)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        if not _is_at_work(str(messages)):
            return await super().request(messages, model_settings, model_request_parameters)
        self._inside += 1
        self.most = max(self.most, self._inside)
        try:
            if self._inside == self.number:
                self._met.set()
            async with asyncio.timeout(60):
                await self._met.wait()
            await asyncio.sleep(0.3)  # whoever may come, too, comes now
            return await super().request(messages, model_settings, model_request_parameters)
        finally:
            self._inside -= 1


def _is_at_work(shown: str) -> bool:
    """Whether this is the one call of each agent that meets the others: one that has commands has its shadow then."""
    return TASK in shown and ("(commands)" not in shown or RAN in shown)


def build_files(word: str) -> dict[str, JsonValue]:
    return {
        f"shop/{word}.py": f"def {word}():\n    return '{word}'\n",
        f"tests/test_{word}.py": (
            f"from shop.{word} import {word}\n\n\ndef test_{word}():\n    assert {word}() == '{word}'\n"
        ),
    }


def build_diff(path: str, text: str) -> str:
    lines = text.splitlines()
    added = "".join(f"+{line}\n" for line in lines)
    return f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n{added}"


def find_word(shown: str) -> tuple[str, str]:
    """What the issue asks for, and the kind of agent that is shown it."""
    [(word, kind), *_] = re.findall(r"Shops have the thing (\w+) \((\w+)\)", shown)
    return word, kind


def build_plan(shown: str) -> ScriptedReply:
    word, kind = find_word(shown)
    made: dict[str, JsonValue] = plan(summary=f"Shops have the thing {word} ({kind}).")
    return made


def work(shown: str) -> ScriptedReply:
    """What the agent of the issue does next."""
    word, kind = find_word(shown)
    files = build_files(word)
    done: dict[str, JsonValue] = {"summary": f"There is the thing {word}.", "is_done": True}
    if kind == "external":
        return says(files=files, commands=[f"setsid sleep {STAYS} > /dev/null 2>&1 &"], report=done)
    if RAN in shown or "applied" in shown.lower():
        return done
    if kind == "deterministic":
        return patches(*(build_diff(path, str(text)) for path, text in files.items()))
    return Uses([("run_command", {"command": shlex.join(["python3", "tools/make.py", json.dumps(files)])})])


@dataclass(frozen=True)
class Asked:
    """An issue that asks for a thing of its own."""

    word: str
    repository: Repository
    alice: User
    issue: Issue

    def get_pull_request(self) -> PullRequest:
        """The one that closes the issue."""
        pulls = [each for each in self.repository.issues.values() if isinstance(each, PullRequest)]
        [own] = [each for each in pulls if f"#{self.issue.number}" in (each.body or "")]
        return own


async def ask(story: Story, kinds: Mapping[str, Sequence[str]]) -> list[Asked]:
    """Issues that ask for these things; those of one kind in one repository."""
    asked: list[Asked] = []
    for kind, words in kinds.items():
        repository, alice = story.repository({**SHOP, **KINDS[kind]}, f"octo-org/{kind}")
        for word in words:
            issue = await alice.open_issue(repository, word.title(), f"Shops have the thing {word} ({kind}).")
            asked.append(Asked(word, repository, alice, issue))
    await story.settle()
    await asyncio.gather(*(each.alice.comment(each.issue, "/forge run") for each in asked))
    await story.settle()
    return asked


async def assert_each_has_its_own(story: Story, asked: Sequence[Asked]) -> None:
    """Every issue has a ready pull request with nothing but its change, and a run that paid for it."""
    runs = {(run.repository_id, run.number): run for run in await story.runs() if run.trigger == "issue"}
    assert len(runs) == len(asked)
    async with story.forge.services.database.transaction() as session:
        spent = (await session.scalars(select(SpendRow))).all()
    for each in asked:
        story.pass_over(each.issue)
        run = runs[each.repository.id, each.issue.number]
        assert (run.state, run.reason) == ("completed", "proposed"), each.word
        pull = each.get_pull_request()
        story.pass_over(pull)
        assert not pull.draft
        changed = [file.path for file in each.repository.git.diff(pull.base_sha, pull.head_sha)]
        assert changed == [f"shop/{each.word}.py", f"tests/test_{each.word}.py"]
        paid = [row for row in spent if row.run_id == run.id]
        assert {row.state for row in paid} == {"settled"}
        assert "implementation" in {row.phase for row in paid}
        assert all(row.amount > 0 and row.installation_id == run.installation_id for row in paid)
    assert await find_discrepancies(story.forge.services.database) == []


def list_folders() -> set[str]:
    """The temporary folders of this process."""
    return {each.name for each in Path(tempfile.gettempdir()).glob(f"forge-*-{os.getpid()}-*")}


async def play(folder: Path, kinds: Mapping[str, Sequence[str]], together: int) -> MeetingModel:
    """Have all carried out at once, so many of them side by side for sure."""
    model = ScriptedModel(FixedPrice(Decimal(1), Decimal(1)))
    model.when("Title: ", build_plan)
    model.when(TASK, work)
    known = model.language_model
    meeting = MeetingModel(known.model, together)
    models = Models.only(replace(known, model=meeting))
    url = create_database("sqlite", folder)
    async with open_story(url, folder, models=models, concurrent_runs=sum(map(len, kinds.values()))) as story:
        before = list_folders()
        asked = await ask(story, kinds)
        await assert_each_has_its_own(story, asked)
        assert list_folders() == before
    assert await is_gone(STAYS)
    return meeting


async def test_agents_of_every_kind_work_side_by_side(tmp_path: Path) -> None:
    kinds = {"external": ["apple", "plum"], "commands": ["pear", "fig"], "deterministic": ["lime"]}
    assert (await play(tmp_path, kinds, 5)).most == 5


async def test_who_finds_no_room_for_a_shadow_waits_for_one(tmp_path: Path) -> None:
    kinds = {"external": ["apple", "plum", "date"], "commands": ["pear", "fig", "quince", "lime"]}
    assert (await play(tmp_path, kinds, 5)).most == 5
