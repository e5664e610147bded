"""Drives a whole Forge against the simulated GitHub, in the words of its users."""

import asyncio
import os
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic import SecretStr

from agents.llm.models import Models, ModelTier
from agents.llm.scripted import ScriptedModel
from bot.app import Forge, Patience, forge
from bot.server import serve
from bot.settings import Settings
from memory.db.tables.runs import RunRow
from memory.runs import runs
from messages import review as review_texts
from pipeline.durable.journal import Durable, run_durable_step
from simulator import Simulator, User
from simulator.gitstore import FileContent
from simulator.state import CheckRun, Issue, IssueComment, PullRequest, Repository, Review, ReviewComment, Role
from tests.clock import MovableClock
from tests.contract import published_graphql
from tests.databases import POLLING, create_database
from tests.resting import find_unfinished
from tests.toolchain import toolchain
from tests.world.optional import load_optional
from tests.world.shared_forge import LENDER, RelayModel, SharedForge

T = TypeVar("T")
SECRET = "a-webhook-secret"
_UNWRITTEN = 1.0  # seconds between two looks into a database that nobody wrote to
UNTHOUGHT = "Linters found nothing; no model read the logic"
"""The title of a review without findings where no model reads."""
_FINDING = re.compile(r"\bF-[A-Z2-7]{6}\b")
PATIENCE = 240.0  # seconds a story may take to come to rest, on a machine that has other things to do
DELIVERY = 120.0  # seconds for a delivery: GitHub's ten are over when a machine stands still, and it would be lost
LOOKS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)  # seconds between looks at what GitHub does not show yet
MINIMAL = bool(os.environ.get("TEST_MINIMAL"))  # GitHub says nothing but what its description requires
TOLD = set[str]()  # what it says all the same in the story that is told: see the marker `tells`
_ALWAYS_TOLD = {"label", "body"}  # nothing is asked for by a label without a name, or by an issue without its text
LAG = float(os.environ.get("TEST_LAG") or 0)  # seconds by which GitHub's API lags behind in every story
PATIENT = Patience(door=DELIVERY, stubborn=2, telling=0, lag=LOOKS, settling=1.5 * LAG)
_ASKS, _GATE = "**Forge asks: ", "<!-- forge:gate:"
NO_MODEL = Models(dict.fromkeys(ModelTier, "anthropic:claude-haiku-4-5"), environment={})


class Story:
    """One Forge, one GitHub, one clock. What Forge posts must be looked at, or the story fails at its end."""

    def __init__(self, github: Simulator, running: Forge, clock: MovableClock) -> None:
        self.github = github
        github.world.graphql_schema = published_graphql
        self.forge = running
        self.clock = clock
        self._seen: set[int] = set()

    def repository(self, files: Mapping[str, FileContent], name: str = "octo-org/shop") -> tuple[Repository, User]:
        """A repository with Forge installed, and alice, who may write to it."""
        repository = self.github.create_repository(name, files=files)
        self.github.install(repository)
        alice = self.github.user("alice")
        self.github.grant(repository, alice, "write")
        if LAG:
            self.github.lag(LAG)  # a repository is older than what happens in it
        return repository, alice

    def member(self, repository: Repository, login: str, role: Role = "write") -> User:
        """Another account, with a role there."""
        user = self.github.user(login)
        self.github.grant(repository, user, role)
        return user

    async def propose(
        self,
        repository: Repository,
        by: User,
        files: Mapping[str, FileContent],
        branch: str = "feature",
        *,
        from_fork: bool = False,
        **opened: Any,
    ) -> tuple[PullRequest, str]:
        """Somebody opens a pull request with these files, and Forge does all it does then; its head, too.

        :param opened: title, body, base or whether it is a draft.
        """
        home = await by.fork(repository) if from_fork else repository
        head = await by.push(home, branch, files, base="main")
        pull = await by.open_pull_request(repository, branch, head_repo=home, **opened)
        await self.settle()
        return pull, head

    async def after(self, what: Awaitable[T]) -> T:
        """What somebody does, when all came to its end that follows from it; what it answered."""
        done = await what
        await self.settle()
        return done

    async def wait(self, **by: float) -> None:
        """Let time pass, and wait for what follows from it."""
        self.clock.move(**by)
        await self.settle()

    async def settle(self) -> None:
        """Wait until everything that was delivered has come to its end, or waits for the clock."""
        end, database = time.monotonic() + PATIENCE, self.forge.services.database
        while True:
            await self.github.settle()
            log, asked = database.find_log(), time.monotonic()
            busy = await find_unfinished(database, self.clock.now())
            if not busy:
                return
            if time.monotonic() > end:
                raise AssertionError(f"Forge did not come to rest: {busy}")
            await asyncio.sleep(0.1)
            # What nobody wrote to is as it was, but for what is due by now; and to ask takes processor time.
            while log is not None and database.find_log() == log and time.monotonic() < asked + _UNWRITTEN:  # noqa: ASYNC110
                await asyncio.sleep(0.1)

    async def wait_for_lag(self) -> None:
        """Wait until GitHub's API shows what happened so far."""
        await asyncio.sleep(1.2 * LAG)

    def check(self, repository: Repository, sha: str, base: str | None = None) -> CheckRun:
        """The one ``Forge / review`` of this head; with several attempts, the newest.

        :param base: of a merge into this branch, whose check is not the one that other branches require.
        """
        name = review_texts.CHECK_NAME if base is None else f"{review_texts.CHECK_NAME}: {base}"
        found = self.github.check_runs(repository, sha, name)
        assert found, f"there is no {name} on this head"
        return max(found, key=lambda run: run.id)

    def reviews(self, pull: PullRequest) -> list[Review]:
        """Forge's reviews, which count as looked at now."""
        mine = [review for review in self.github.reviews(pull) if review.user is self.github.app.bot]
        self._seen |= {review.id for review in mine}
        return mine

    def comments(self, pull: PullRequest) -> list[ReviewComment]:
        """Forge's inline comments, in order, without its replies; their reviews count as looked at now."""
        self.reviews(pull)
        mine = [each for each in self.github.review_comments(pull) if each.user is self.github.app.bot]
        return [each for each in mine if each.in_reply_to is None]

    def finding_names(self, pull: PullRequest, part: str = "") -> list[str]:
        """What Forge's inline comments that hold ``part`` call the findings they say."""
        bodies = [each.body for each in self.comments(pull) if part in each.body]
        return [name for body in bodies for name in dict.fromkeys(_FINDING.findall(body))]

    def answers(self, pull: Issue) -> list[IssueComment]:
        """Forge's comments below the pull request but those of its gates; they count as looked at now."""
        return self._own_comments(pull, lambda body: _GATE not in body)

    def questions(self, pull: Issue) -> list[IssueComment]:
        """The comments of the gates, also of those that are decided; they count as looked at now."""
        return self._own_comments(pull, lambda body: _GATE in body)

    def gates(self, pull: Issue) -> list[str]:
        """The names of the gates that wait here, as their comments ask; they count as looked at now."""
        asked = self._own_comments(pull, lambda body: body.startswith(_ASKS))
        return [each.body.removeprefix(_ASKS).partition("**")[0] for each in asked]

    def gate_outcomes(self, pull: Issue) -> list[str]:
        """How the gates ended, as their comments say, e.g. ``guard: Rejected by carol``; looked at now."""
        closed = self._own_comments(pull, lambda body: _GATE in body and not body.startswith(_ASKS))
        return [each.body.removeprefix("**").partition("**")[0] for each in closed]

    def decisions(self, pull: Issue) -> list[str]:
        """The whole comments of the gates that are decided or void; they count as looked at now."""
        return [each.body for each in self.questions(pull) if not each.body.startswith(_ASKS)]

    def pass_over(self, pull: Issue) -> None:
        """Count everything Forge posted here as looked at, where another story looks at it."""
        self._own_comments(pull, lambda _: True)
        if isinstance(pull, PullRequest):
            self.reviews(pull)

    def _own_comments(self, pull: Issue, wanted: Callable[[str], bool]) -> list[IssueComment]:
        mine = [each for each in self.github.comments(pull) if each.user is self.github.app.bot and wanted(each.body)]
        self._seen |= {each.id for each in mine}
        return mine

    def thread_answers(self, pull: PullRequest, comment: ReviewComment) -> list[ReviewComment]:
        """Forge's replies in the thread of one of its comments."""
        self.reviews(pull)
        return [each for each in comment.thread.comments if each.user is comment.user and each is not comment]

    async def outcome(self) -> tuple[str, str]:
        """The state of the newest run, and why."""
        run = (await self.runs())[0]
        return run.state, run.reason

    async def runs(self) -> Sequence[RunRow]:
        """All runs, newest first."""
        return await runs.list_latest(self.forge.services.database, 100)

    async def wait_for_runs(self, number: int) -> None:
        """Wait until this many runs have begun, however they end."""
        end = time.monotonic() + PATIENCE
        while len(await self.runs()) < number:
            assert time.monotonic() < end, f"there are not {number} runs"
            await asyncio.sleep(0.02)

    def assert_all_seen(self) -> None:
        """Every review and comment Forge posted was looked at by the story, and GraphQL was used as published."""
        unpublished = self.github.world.unpublished
        assert not unpublished, f"GraphQL was answered otherwise than published: {unpublished}"
        for repository in self.github.world.repositories.values():
            for issue in repository.issues.values():
                reviews = self.github.reviews(issue) if isinstance(issue, PullRequest) else []
                said = [*reviews, *self.github.comments(issue)]
                unseen = [each.body for each in said if each.id not in self._seen and each.app is not None]
                assert not unseen, f"Forge posted what no one looked at: {unseen}"


def settings(url: str, folder: Path, github: Simulator, **more: object) -> Settings:
    """Settings of a Forge that talks to this GitHub."""
    values: dict[str, object] = {
        "github_api_url": github.api_url,
        "github_web_url": github.url,
        "app_id": github.app.id,
        "private_key": SecretStr(github.app.private_key_pem),
        "webhook_secret": (SecretStr(SECRET),),
        "client_id": github.app.client_id,
        "client_secret": SecretStr(github.app.client_secret),
        "database_url": url,
        "data_dir": folder / "data",
        "port": 0,
        "executor_id": "story",
        "write_interval": 0,
        "queue_polling": POLLING,
        "sandbox_tools": (toolchain(),),
        "outbound_allow": "127.0.0.0/8",  # where services that are watched answer
        "welcome": False,  # but in the stories of it: issues that nobody looks at would change every number
        "reflection": False,  # but in the stories of it: nobody could say which call of a model is the last
        "tool_workers": 1,  # to warm one is most of what a story's start costs
        **more,
    }
    return Settings.model_validate(values)


@asynccontextmanager
async def open_story(
    url: str, folder: Path, patience: Patience = PATIENT, models: Models = NO_MODEL, **more: object
) -> AsyncGenerator[Story]:
    """A story on an empty database.

    :param models: by default one that lacks its key.
    :param more: settings.
    """
    clock = MovableClock()
    async with (
        Simulator(folder / "github", webhook_secret=SECRET, now=clock.now) as github,
        run_forge(github, clock, url, folder, patience, models, run_durable_step, **more) as story,
    ):
        yield story


@asynccontextmanager
async def run_forge(
    github: Simulator,
    clock: MovableClock,
    url: str,
    folder: Path,
    patience: Patience = PATIENT,
    models: Models = NO_MODEL,
    durable: Durable = run_durable_step,
    **more: object,
) -> AsyncGenerator[Story]:
    """What happens while one Forge runs; before and after it, GitHub finds nobody at its address.

    :param durable: how a step is made durable, where this Forge's code differs from that of another chapter.
    """
    await LENDER.stop()
    async with AsyncExitStack() as stack:
        running, port = await _start(stack, settings(url, folder, github, **more), clock, patience, models, durable)
        async with _tell(Story(github, running, clock), port) as told:
            yield told


@asynccontextmanager
async def open_shared_story(
    folder: Path, patience: Patience = PATIENT, model: ScriptedModel | None = None
) -> AsyncGenerator[Story]:
    """A story on an empty SQLite database, told by a Forge that runs since an earlier story of its kind.

    :param folder: for its GitHub.
    :param model: reads every change of source.
    """
    target = None if model is None else model.language_model

    async def start(place: Path) -> SharedForge:
        clock, stack = MovableClock(), AsyncExitStack()
        async with Simulator(place / "github", webhook_secret=SECRET, now=clock.now) as github:
            relay, models = (None, NO_MODEL) if target is None else RelayModel.build_models(target.model, target.price)
            values = settings(create_database("sqlite", place), place, github)
            running, door = await _start(stack, values, clock, patience, models, run_durable_step)
            return SharedForge(kind, place, github.port, running, door, clock, relay, stack)

    kind = (patience, None if target is None else target.price)
    async with LENDER.lend(kind, start) as shared:
        if shared.relay is not None and target is not None:
            shared.relay.point_to(target.model)
        github = Simulator(
            folder / "github",
            webhook_secret=SECRET,
            now=shared.clock.now,
            port=shared.port,
            ids_from=LENDER.next_first_id(),
        )
        async with github, _tell(Story(github, shared.forge, shared.clock), shared.door) as told:
            yield told


async def _start(
    stack: AsyncExitStack, values: Settings, clock: MovableClock, patience: Patience, models: Models, durable: Durable
) -> tuple[Forge, int]:
    """A running Forge and the port of its door."""
    pool = await LENDER.warm_workers() if (values.sandbox, values.tool_workers) == ("auto", 1) else None
    running = await stack.enter_async_context(
        forge(
            values,
            clock=clock,
            pauses=(0.05, 0.1, 0.2),
            patience=patience,
            models=models,
            durable=durable,
            pool=pool,
        )
    )
    return running, await stack.enter_async_context(serve(running))


@asynccontextmanager
async def _tell(story: Story, door: int) -> AsyncGenerator[Story]:
    """The story, whose GitHub delivers to this port; at its end everything was looked at."""
    story.github.hooks.timeout = DELIVERY
    story.github.webhook_url = f"http://127.0.0.1:{door}/webhook"
    story.github.lag(LAG)
    if MINIMAL:
        story.github.leave_out(load_optional(frozenset(_ALWAYS_TOLD | TOLD)))
    yield story
    await story.settle()
    story.assert_all_seen()
