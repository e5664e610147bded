"""Carries one request out on a real change, with whoever answers behind the model, and prints what came of it.

    python -m tests.bench.asked.play CASE.toml FOLDER --model http://127.0.0.1:9099

``FOLDER`` keeps the database and GitHub's repository, whose branch ``feature`` holds the result. A case names:

- ``mirror``: a git directory with the history, ``base`` and ``head``: commits; ``ahead``: where the base branch is by
  now, if it moved on;
- ``configuration``: what stands in ``.github/forge.yml``; empty for none;
- ``tools``: folders with programs and libraries that the tests need, as ``FORGE_SANDBOX_TOOLS`` names them, if any;
- ``title`` and ``body`` of the pull request;
- ``[[red]]``: what fails on the head: ``name`` and ``log``, as a job of the repository's own workflows;
- ``[[said]]``: what people write, one after the other: ``words``, and where: ``path`` and ``line`` for a review thread,
  ``reply = true`` for an answer in the one before.
"""

import argparse
import asyncio
import json
import time
import tomllib
from pathlib import Path
from typing import Any

from agents.llm.models import Models, ModelTier
from simulator import User
from simulator.state import PullRequest, Repository, ReviewComment
from tests.databases import create_database
from tests.resting import find_unfinished
from tests.stories.driver import Story, open_story
from tests.toolchain import toolchain

_PATIENCE = 3_600.0  # seconds for one word of people to be done
_CALL = 1_800.0  # seconds in which a question is answered by hand
_QUIET = 3  # looks in a row that find nothing on its way
_NAME = "anthropic:claude-haiku-4-5"


class Scene:
    """A pull request of a case.

    :param case: as ``CASE.toml`` says it.
    """

    def __init__(self, case: dict[str, Any], told: Story) -> None:
        self._case = case
        self._told = told
        self._last: ReviewComment | None = None

    async def play(self) -> PullRequest:
        """Open it, let people write, and wait each time until Forge is done."""
        repository, alice = self._told.repository({"README.md": "A place\n"})
        pull = await self._open(repository, alice)
        await self._wait()
        for red in self._case.get("red", []):
            jobs = {red["name"]: ("failure", red["log"])}
            self._told.github.run_workflow(repository, pull.head_sha, "CI", jobs)
        await self._wait()
        for said in self._case["said"]:
            started = time.monotonic()
            await self._say(alice, pull, said)
            await self._wait()
            print(json.dumps({"said": said["words"], "seconds": round(time.monotonic() - started, 1)}), flush=True)
        return pull

    async def _open(self, repository: Repository, alice: User) -> PullRequest:
        case, git = self._case, repository.git
        git.run("fetch", "--no-tags", case["mirror"], *{case["base"], case["head"], case.get("ahead", case["base"])})
        self._told.github.grant(repository, alice, "admin")
        await alice.reset_branch(repository, "main", case.get("ahead", case["base"]))
        if case.get("configuration"):
            await alice.push(repository, "main", {".github/forge.yml": case["configuration"]}, "Set Forge up")
        await alice.push(repository, "feature", {}, "Begin", base="main")
        await alice.reset_branch(repository, "feature", case["head"])
        return await alice.open_pull_request(repository, "feature", "main", case["title"], case.get("body"))

    async def _say(self, alice: User, pull: PullRequest, said: dict[str, Any]) -> None:
        words = said["words"]
        if said.get("reply") and self._last is not None:
            self._last = await alice.reply(self._last, words)
        elif "path" in said:
            self._last = await alice.comment_on_line(pull, said["path"], said["line"], words)
        else:
            await alice.comment(pull, words)

    async def _wait(self) -> None:
        end, quiet = time.monotonic() + _PATIENCE, 0
        while quiet < _QUIET:
            await self._told.github.settle()
            busy = await find_unfinished(self._told.forge.services.database, self._told.clock.now())
            quiet = 0 if busy else quiet + 1
            if time.monotonic() > end:
                raise AssertionError("Forge did not come to rest")
            await asyncio.sleep(0.5)


def _show(told: Story, pull: PullRequest) -> None:
    told.pass_over(pull)
    bot = told.github.app.bot
    for each in told.github.comments(pull):
        if each.user is bot:
            print(f"--- below\n{each.body}")
    for each in told.github.review_comments(pull):
        if each.user is bot:
            print(f"--- in the thread of {each.path}\n{each.body}")
    print(f"--- head {pull.head_sha} in {pull.repository.git.path}")


async def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", required=True)
    asked = parser.parse_args()
    case = tomllib.loads(asked.case.read_text())
    asked.folder.mkdir(parents=True)
    keys = {"ANTHROPIC_API_KEY": "by-hand", "ANTHROPIC_BASE_URL": asked.model}
    models = Models(dict.fromkeys(ModelTier, _NAME), environment=keys, seconds=_CALL)
    tools = (toolchain(), *(Path(each) for each in case.get("tools", [])))
    database = create_database("sqlite", asked.folder)
    async with open_story(database, asked.folder, models=models, sandbox_tools=tools) as told:
        pull = await Scene(case, told).play()
        _show(told, pull)


if __name__ == "__main__":
    asyncio.run(_main())
