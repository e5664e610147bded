"""The scenes of an issue that is carried out, and what is left of each on GitHub and in the books."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import select

from domain.money import format_usd
from memory.db.tables.runs import AnswerRow, OutboxRow, RunRow, SpendRow
from simulator import User
from simulator.gitstore import FileContent
from simulator.state import Issue, Repository
from tests.chaos.driver import ChaosStage, Chooser, never
from tests.chaos.model import SHOP
from tests.chaos.scenes import Scene, normalize


@dataclass
class _Books:
    """What the database holds about the runs of one scene."""

    runs: list[RunRow]
    spend: list[SpendRow]
    answers: list[AnswerRow]
    writes: list[OutboxRow]

    def trigger(self, run_id: str) -> str:
        return next(row.trigger for row in self.runs if row.id == run_id)


@dataclass(eq=False)
class Carried(Scene):
    """Somebody puts the label on an issue: a plan of two tasks, a branch with two commits, a draft pull request."""

    files: ClassVar[Mapping[str, str]] = SHOP
    risk: ClassVar[str] = "low"
    issue: Issue | None = None

    async def play(self, dies: Chooser = never) -> dict[str, Any]:
        self.stage.begin(self.on_point, dies)
        self.issue = await self.alice.open_issue(self.repository, "Discounts", "Customers want a discount.")
        await self.ask(self.issue)
        await self.stage.settle()
        await self.go_on()
        return {**self.collect_results(), **await self.collect_books()}

    async def ask(self, issue: Issue) -> None:
        await self.alice.label(issue, "forge")

    def collect_results(self) -> dict[str, Any]:
        """The issue's comments, the pull request with its commits, and what its review left."""
        assert self.issue is not None
        pull, bot = self.pull, self.stage.github.app.bot
        self.heads = [pull.head_sha]
        proposed = [
            (each.head_ref.split("-", 1)[1], each.draft, each.state, each.title, normalize(each.body))
            for each in self.repository.pulls()
            if each.user is bot and each.number > self.issue.number
        ]
        commits = [
            (commit.tree, len(commit.parents), commit.author_name, normalize(commit.message))
            for commit in self.repository.git.commits_between(pull.base_sha, pull.head_sha)
        ]
        said = sorted(normalize(each.body) for each in self.stage.github.comments(self.issue) if each.user is bot)
        return {**super().collect_results(), "said": said, "proposed": proposed, "commits": commits}

    async def collect_books(self) -> dict[str, Any]:
        """How the runs ended, what was paid and written, and whether people were told what it cost."""
        books = await self._books()
        runs = sorted((row.trigger, row.state, row.reason) for row in books.runs)
        paid = Counter((row.phase, row.step, row.outcome) for row in books.spend if row.outcome != "lost")
        lost = sum(row.outcome == "lost" for row in books.spend)
        writes = sorted(
            (books.trigger(row.run_id), normalize(row.step), row.kind, row.state, row.remote_id is not None)
            for row in books.writes
        )
        return {
            "runs": runs,
            "paid": sorted(paid.items()),
            "lost without a kill": max(0, lost - self.stage.kills),
            "kept": len(books.answers),
            "writes": writes,
            "told the cost": self._is_told(books),
        }

    def _is_told(self, books: _Books) -> bool:
        """Whether the comment on the issue says what its run cost in the end."""
        assert self.issue is not None
        [run] = [row.id for row in books.runs if row.number == self.issue.number]
        cost = format_usd(sum(row.amount for row in books.spend if row.run_id == run))
        [status] = [each.body for each in self.issue.comments if f"<!-- forge:status:{run}:" in each.body]
        return f": {cost}." in status

    async def _books(self) -> _Books:
        assert self.issue is not None
        async with self.stage.database.transaction() as session:
            # What is numbered later belongs to this scene: none begins before the one before it is over.
            runs = (await session.scalars(select(RunRow).where(RunRow.number >= self.issue.number))).all()
            ids = [row.id for row in runs]
            return _Books(
                [*runs],
                [*await session.scalars(select(SpendRow).where(SpendRow.run_id.in_(ids)))],
                [*await session.scalars(select(AnswerRow).where(AnswerRow.run_id.in_(ids)))],
                [*await session.scalars(select(OutboxRow).where(OutboxRow.run_id.in_(ids)))],
            )


@dataclass(eq=False)
class Planned(Carried):
    """Asked for in a comment, the plan is of high risk: it waits on the issue until somebody approves it."""

    risk: ClassVar[str] = "high"

    async def ask(self, issue: Issue) -> None:
        await self.alice.comment(issue, "/forge run")

    async def go_on(self) -> None:
        assert self.issue is not None
        await self.alice.comment(self.issue, "/forge approve architecture_approval with: tell operations")
        await self.stage.settle()


async def run_and_die(
    there: ChaosStage, files: Mapping[str, FileContent], where: str, moment: str
) -> tuple[Repository, User, Issue]:
    """Alice asks for an issue to be carried out, and the process dies at a point of that, once; it came to rest since.

    :param files: of the repository.
    """
    repository, alice = there.repository(files)
    await there.start()
    there.die_at(where, moment)
    issue = await alice.open_issue(repository, "Discounts", "Customers want a discount.")
    await alice.comment(issue, "/forge run")
    await there.settle()
    return repository, alice, issue
