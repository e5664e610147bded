"""Plays the demo: opens a pull request, shows what Forge posts, pushes a fix, shows the new verdict."""

import asyncio
import re
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from pydantic import SecretStr
from rich.console import Console
from rich.markdown import Markdown
from rich.markup import escape
from rich.panel import Panel
from rich.rule import Rule
from rich.syntax import Syntax

from agents.models import Models, Task, Unusable
from bot.app import forge, served
from bot.demo import project
from bot.demo.script import scripted_model
from bot.settings import Settings
from domain import texts
from simulator import Simulator
from simulator.gitstore import FileContent
from simulator.state import CheckRun, IssueComment, PullRequest, Repository, ReviewComment, Thread

_SECRET = "demo-webhook-secret"
_PATIENCE = 45.0  # seconds one review may take here
_FINDING = re.compile(r"(?P<name>F-[A-Z2-7]{6})[^`]*`(?P<rule>[^`]+)`")
_COLOURS = {"success": "green", "failure": "red", "action_required": "yellow"}


async def run(
    console: Console,
    stopped: Callable[[], asyncio.Event] | None = None,
    *,
    second_push: Mapping[str, FileContent] = project.SECOND_PUSH,
    patience: float = _PATIENCE,
) -> int:
    """Play the demo; the exit code, 0 if everything came out as it should.

    :param stopped: gives the event until which everything is kept running after the story, for a browser.
    :param second_push: what the author repairs, by path.
    :param patience: seconds one review may take.
    """
    started = time.monotonic()
    async with _github_and_forge(console) as github:
        show = _Show(console, github, second_push, patience)
        try:
            good = await show.play()
        except TimeoutError as error:
            console.print(f"[red]{escape(str(error))}[/]")
            good = False
        took = time.monotonic() - started
        if stopped is not None:
            await _stay(console, github, stopped())
    console.print(Rule())
    told = "[green]The demo ran to its end[/]" if good else "[red]The demo did not come out as it should[/]"
    console.print(f"{told} in {took:.0f} s. Nothing was kept; nothing left this machine.")
    console.print("To use Forge on GitHub, see README.md.")
    return 0 if good else 1


async def _stay(console: Console, github: Simulator, stopped: asyncio.Event) -> None:
    console.print(Rule("Open it in a browser, and choose at the top who you are", align="left", style="bold"))
    for repository in github.world.repositories.values():
        for pull in repository.pulls():
            address = f"{github.url}/{repository.full_name}/pull/{pull.number}"
            console.print(f"  {address}  {escape(pull.title)}", soft_wrap=True)
    console.print("Press Ctrl-C to stop.")
    await stopped.wait()


@asynccontextmanager
async def _github_and_forge(console: Console) -> AsyncGenerator[Simulator]:
    with tempfile.TemporaryDirectory(prefix="forge-demo-") as name:
        folder = Path(name)
        async with AsyncExitStack() as stack:
            github = await stack.enter_async_context(Simulator(folder / "github", webhook_secret=_SECRET))
            settings = _settings(github, folder)
            running = await stack.enter_async_context(forge(settings, models=_models(console, settings)))
            port = await stack.enter_async_context(served(running))
            github.webhook_url = f"http://127.0.0.1:{port}/webhook"
            console.print(f"A simulated GitHub is at {github.url}, Forge on SQLite at http://127.0.0.1:{port}.")
            yield github


def _settings(github: Simulator, folder: Path) -> Settings:
    return Settings(
        github_api_url=github.api_url,
        github_web_url=github.url,
        app_id=github.app.id,
        private_key=SecretStr(github.app.private_key_pem),
        webhook_secret=(SecretStr(_SECRET),),
        database_url=f"sqlite:///{folder / 'forge.db'}",
        data_dir=folder / "data",
        port=0,
        executor_id="demo",
    )


def _models(console: Console, settings: Settings) -> Models:
    """The real model where its key is set, otherwise the scripted one; people are told which."""
    real = settings.models.choose(Task.fast)
    if isinstance(real, Unusable):
        console.print("No key of a model is set, so layer 3 is played by a script: one remark, written beforehand.")
        return Models.only(scripted_model().language_model)
    console.print(f"Layer 3 is read by {real.name}, which sees the sample project and costs a few cents.")
    return settings.models


class _Show:
    """The steps of the demo, each told before it is done."""

    def __init__(
        self, console: Console, github: Simulator, second_push: Mapping[str, FileContent], patience: float
    ) -> None:
        self._console = console
        self._github = github
        self._second_push = second_push
        self._patience = patience

    async def play(self) -> bool:
        """Whether every verdict is what it should be."""
        github = self._github
        repository = github.create_repository(project.REPOSITORY, commits=project.HISTORY)
        github.install(repository)
        author = github.user("author")
        maintainer, stranger = github.user("maintainer"), github.user("stranger")
        github.grant(repository, author, "write")
        github.grant(repository, maintainer, "maintain")

        self._step(f"A person opens a pull request in {project.REPOSITORY}: “{project.TITLE}”")
        repository.dependency_changes = project.DEPENDENCIES
        head = await author.push(repository, project.BRANCH, project.FIRST_PUSH, project.TITLE, base="main")
        pull = await author.open_pull_request(repository, project.BRANCH, title=project.TITLE, body=project.BODY)
        first = await self._watch(repository, head)
        self._show_review(pull)
        self._show_check(first)

        self._step("A maintainer disagrees with one of them")
        comment = next(each for each in github.review_comments(pull) if "docker/latest-tag" in each.body)
        said = await maintainer.reply(comment, "/forge dismiss our registry resolves latest to a fixed digest")
        self._say(said.user.login, said.body)
        receipt = await self._reply(lambda: comment.thread.comments[2:])

        self._step("A stranger tries to command")
        asked = await stranger.comment(pull, "/forge pause")
        self._say(asked.user.login, asked.body)
        refusal = await self._reply(lambda: github.comments(pull)[1:])

        self._step("The author pushes a fix")
        repository.dependency_changes = []
        head = await author.push(repository, project.BRANCH, self._second_push, "Do what the review says")
        second = await self._watch(repository, head)
        asked_for = second.conclusion  # the next verdict is on the same check
        self._show_check(second)

        self._step("The deleted key is still in the history: the maintainer revokes it")
        leak = next(each for each in github.review_comments(pull) if "secret/aws-access-key" in each.body)
        said = await maintainer.reply(leak, "/forge dismiss revoked at the carrier, and a new one issued")
        self._say(said.user.login, said.body)
        answer = await self._reply(lambda: leak.thread.comments[2:])
        third = await self._watch(repository, head, "success")
        self._show_check(third)
        closed, every = await self._settled(pull), len(pull.threads)
        self._console.print(f"Forge resolved {len(closed)} of {every} threads: what they said is gone.")
        left = [thread for thread in pull.threads if thread not in closed]
        for thread in left:
            self._console.print(f"  left open: {escape(_named(thread))}: {_why_open(thread)}.", soft_wrap=True)
        promises = {
            "The first dismissal was taken down.": "is dismissed" in receipt,
            "The stranger was refused.": "needs the role admin" in refusal,
            "The second dismissal was taken down.": "is dismissed" in answer,
            "The first verdict asks for changes.": first.conclusion == "failure",
            "The second asks for a person.": asked_for == "action_required",
            "The third approves.": third.conclusion == "success",
            "The dismissed threads are resolved.": comment.thread in closed and leak.thread in closed,
            "Threads of what is gone are resolved.": len(closed) > 2 and not any(map(_is_overlooked, left)),
        }
        return _kept(self._console, promises)

    async def _settled(self, pull: PullRequest) -> list[Thread]:
        """Forge resolves one thread a second, as GitHub asks of whoever writes; those it has resolved in the end."""
        resolved: list[Thread] = []
        quiet = 0
        while quiet < 30:
            await asyncio.sleep(0.1)
            now = [thread for thread in self._github.threads(pull) if thread.resolved_by is self._github.app.bot]
            quiet = quiet + 1 if len(now) == len(resolved) else 0
            resolved = now
        return resolved

    async def _reply(self, said: Callable[[], Sequence[ReviewComment | IssueComment]]) -> str:
        """Wait for Forge's answer and show it."""
        ended = time.monotonic() + self._patience
        while time.monotonic() < ended:
            if mine := [each for each in said() if each.user is self._github.app.bot]:
                self._say(mine[0].user.login, _shown(mine[0].body))
                return mine[0].body
            await asyncio.sleep(0.02)
        raise TimeoutError("Forge did not answer.")

    def _say(self, login: str, text: str) -> None:
        self._console.print(Panel(Markdown(text), title=escape(login), title_align="left"))

    async def _watch(self, repository: Repository, head: str, conclusion: str | None = None) -> CheckRun:
        """Follow the check of a head until it is completed, telling each state it goes through.

        :param conclusion: the one it should come to, where it is completed already.
        """
        started, seen = time.monotonic(), ""
        while time.monotonic() - started < self._patience:
            for check in self._github.check_runs(repository, head, texts.CHECK_NAME):
                state = check.conclusion or check.status
                if f"{state}{check.title}" != seen:
                    seen = f"{state}{check.title}"
                    told = f"{check.name}: [{_COLOURS.get(state, 'cyan')}]{state}[/] · {escape(check.title or '')}"
                    self._console.print(f"  {time.monotonic() - started:5.1f} s  {told}")
                if check.status == "completed" and conclusion in {None, check.conclusion}:
                    return check
            await asyncio.sleep(0.02)
        raise TimeoutError(f"Forge / review on {head[:7]} was not completed within {self._patience:.0f} s.")

    def _show_review(self, pull: PullRequest) -> None:
        for review in self._github.reviews(pull):
            body = Markdown(_shown(review.body))
            self._console.print(Panel(body, title=f"review by {review.user.login}", title_align="left"))
        for comment in self._github.review_comments(pull):
            self._show_comment(comment)

    def _show_comment(self, comment: ReviewComment) -> None:
        title = f"{comment.path}:{comment.start_line or comment.line}"
        context = "\n".join(comment.diff_hunk.splitlines()[-4:])
        self._console.print(Rule(escape(title), align="left", style="dim"))
        self._console.print(Syntax(context, "diff", background_color="default", word_wrap=True))
        self._console.print(Markdown(_shown(comment.body)))

    def _show_check(self, check: CheckRun) -> None:
        buttons = "  ".join(f"[ {action['label']} ]" for action in check.actions)
        title = f"{check.name} · {check.conclusion} · {len(check.annotations)} annotations   {buttons}"
        content = Markdown(_shown(f"## {check.title}\n\n{check.summary}\n\n{check.text or ''}"))
        style = _COLOURS.get(check.conclusion or "", "cyan")
        self._console.print(Panel(content, title=escape(title), title_align="left", border_style=style))

    def _step(self, text: str) -> None:
        self._console.print()
        self._console.print(Rule(escape(text), align="left", style="bold"))


def _kept(console: Console, promises: Mapping[str, bool]) -> bool:
    """Whether everything came out as promised; what did not is named."""
    for promise in [promise for promise, kept in promises.items() if not kept]:
        console.print(f"[red]This did not happen:[/] {promise}")
    return all(promises.values())


def _named(thread: Thread) -> str:
    """The finding of a thread: its name, its rule and where it stands."""
    comment = thread.comments[0]
    found = _FINDING.search(comment.body)
    return f"{found['name']}, {found['rule']} in {comment.path}" if found else comment.path


def _why_open(thread: Thread) -> str:
    if not thread.outdated:
        return "the push left its line as it was, so GitHub does not call the thread outdated"
    return "it was not seen to be gone"


def _is_overlooked(thread: Thread) -> bool:
    """Whether Forge should have resolved it; of a model's remark only the model says whether it is gone."""
    return thread.outdated and "`model/" not in thread.comments[0].body


def _shown(markdown: str) -> str:
    """What a browser would show of it: without HTML comments and tags that a terminal would print."""
    lines = [line for line in markdown.splitlines() if not line.startswith("<!--")]
    text = "\n".join(lines).replace("<sub>", "").replace("</sub>", "")
    text = text.replace("```suggestion\n```", "*Suggestion, one click: remove this.*")
    return text.replace("```suggestion\n", "*Suggestion, one click:*\n```python\n")
