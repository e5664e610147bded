"""Acts for the people of the demo, and shows on the console what Forge and GitHub answer."""

import asyncio
import os
import re
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import httpx2
from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.markup import escape
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table

from bot.settings import Settings
from messages import review as review_texts
from simulator import Simulator
from simulator.state import CheckRun, IssueComment, PullRequest, Repository, ReviewComment, Thread

_FINDING = re.compile(r"(?P<name>F-[A-Z2-7]{6})[^`]*`(?P<rule>[^`]+)`")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_MARKS = re.compile(r"[*`#]+|^[>|\-\s]+|<[^>]*>|!\[\]")
_PICTURES = frozenset({"course"})
"""Columns that a terminal does not show."""
_TABLE = re.compile(r"(?:^\|.*\n?)+", re.MULTILINE)
_LOOPBACK = re.compile(r"https?://127\.0\.0\.1:\d+")
_ICONS = "⛔🔴🟡🔵"
"""What comments begin with, the gravest first."""
_SHOWN = 3
"""Findings whose text is printed in full."""
_COLOURS = {"success": "green", "failure": "red", "action_required": "yellow", "neutral": "yellow"}


T = TypeVar("T")


class DemoDriver:
    """Drives the simulated GitHub, and prints on two consoles.

    :param console: prints one line for each event.
    :param patience: seconds one review may take.
    :param details: prints each comment, review and check in full; if it is ``console``, they replace their lines there.
    :param stays: addresses may be printed, because what they lead to is there after the last scene.
    """

    def __init__(
        self, console: Console, github: Simulator, patience: float, details: Console, *, stays: bool = False
    ) -> None:
        self.console = console
        self.details = details
        self.github = github
        self.stays = stays
        self._patience = patience

    @asynccontextmanager
    async def browser(self, login: str) -> AsyncGenerator[httpx2.AsyncClient]:
        """A browser in which somebody is signed in to the simulated GitHub."""
        async with httpx2.AsyncClient(base_url=self.github.url, follow_redirects=True) as client:
            (await client.post("/acting", data={"login": login, "back": "/"})).raise_for_status()
            yield client

    async def write(self, login: str, pull: PullRequest, text: str) -> None:
        """Write a comment with the form on the pull request's page."""
        self.say(login, text)
        async with self.browser(login) as client:
            address = f"/{pull.repository.full_name}/pull/{pull.number}/comment"
            (await client.post(address, data={"body": text})).raise_for_status()

    async def command(self, settings: Settings, *words: str, about: str) -> str:
        """Run a `forge` command on the demo's database, and show and return what it prints.

        :param about: a login; without ``--verbose``, only the lines with it are shown.
        """
        self._print(f"$ forge {' '.join(words)}", style="bold")
        environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bot",
            *words,
            env={**environment, **_environment(settings)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        printed = (await process.communicate())[0].decode()
        self.details.print(printed, markup=False, highlight=False, soft_wrap=True)
        if self._is_brief:
            for line in _lines_about(about, printed):
                self._print(line)
        return printed

    async def wait_for_threads(self, pull: PullRequest) -> list[Thread]:
        """The threads that Forge has resolved in the end; it resolves them one by one after its verdict."""
        resolved: list[Thread] = []
        progress = time.monotonic()
        while time.monotonic() - progress < self._patience / 6 and len(resolved) < len(pull.threads):
            await asyncio.sleep(0.1)
            now = [thread for thread in self.github.threads(pull) if thread.resolved_by is self.github.app.bot]
            progress = progress if len(now) == len(resolved) else time.monotonic()
            resolved = now
        return resolved

    async def wait_for_pull_request(self, repository: Repository, after: int) -> PullRequest:
        """Wait for the pull request that Forge opens.

        :param after: the number of the issue it is opened for.
        """
        return await self._wait_for(
            lambda: (each for each in repository.pulls() if each.number > after),
            "Forge did not open a pull request.",
        )

    async def wait_for_reply(self, said: Callable[[], Sequence[ReviewComment | IssueComment]]) -> str:
        """Wait for Forge's answer and show it."""
        answer = await self._wait_for(
            lambda: (each for each in said() if each.user is self.github.app.bot), "Forge did not answer."
        )
        self.say(answer.user.login, strip_html(answer.body))
        return answer.body

    async def _wait_for(self, find: Callable[[], Iterator[T]], missing: str) -> T:
        """:raises TimeoutError: nothing is found in time; says what is missing."""
        ended = time.monotonic() + self._patience
        while time.monotonic() < ended:
            for found in find():
                return found
            await asyncio.sleep(0.02)
        raise TimeoutError(missing)

    def say(self, login: str, text: str) -> None:
        self._tell(f"{login}: {_summarise(text)}", _panel(login, text))

    def detail(self, login: str, text: str) -> None:
        self.details.print(_panel(login, text))

    def _tell(self, line: str, whole: RenderableType) -> None:
        """Show one line, or everything with ``--verbose``."""
        self.details.print(whole)
        if self._is_brief:
            self._print(f"  {line}")

    def _print(self, line: str, style: str = "") -> None:
        """Print one line as it is, however long."""
        self.console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)

    def point_to(self, what: str, address: str) -> None:
        """Print an address, if it will lead somewhere."""
        if self.stays:
            self._print(f"  {what}: {address}")

    @property
    def _is_brief(self) -> bool:
        return self.console is not self.details

    async def wait_for_check(
        self, repository: Repository, head: str, conclusion: str | None = None, name: str = review_texts.CHECK_NAME
    ) -> CheckRun:
        """Wait until a check of a head is completed. With ``--verbose``, show each state on the way.

        :param conclusion: the one to wait for, if the check was completed before.
        """
        started, seen = time.monotonic(), ""
        while time.monotonic() - started < self._patience:
            for check in self.github.check_runs(repository, head, name):
                is_over = check.status == "completed" and conclusion in {None, check.conclusion}
                if f"{check.conclusion or check.status}{check.title}" != seen and (is_over or not self._is_brief):
                    seen = f"{check.conclusion or check.status}{check.title}"
                    self._tell_state(check, time.monotonic() - started)
                if is_over:
                    return check
            await asyncio.sleep(0.02)
        raise TimeoutError(f"{name} on {head[:7]} was not completed within {self._patience:.0f} s.")

    async def wait_for_deployment(self, repository: Repository, sha: str, name: str) -> CheckRun:
        """Wait for the end of a deployment that a person let begin; show each state on the way, and its figures."""
        started, seen = time.monotonic(), ""
        while time.monotonic() - started < self._patience:
            for check in self.github.check_runs(repository, sha, name):
                is_over = check.conclusion not in {None, "action_required"}
                if check.title != seen and (is_over or check.conclusion is None):
                    seen = check.title or ""
                    self._tell_state(check, time.monotonic() - started)
                if is_over:
                    if check.conclusion != "success":
                        self._show_tables(check)
                    return check
            await asyncio.sleep(0.02)
        raise TimeoutError(f"{name} on {sha[:7]} did not end within {self._patience:.0f} s.")

    def _show_tables(self, check: CheckRun) -> None:
        """The tables of a check, which ``--verbose`` shows with the rest of it."""
        if not self._is_brief:
            return
        for found in _TABLE.findall(check.summary or ""):
            header, _, *rows = ([_plain(cell) for cell in line.strip("| ").split(" | ")] for line in found.splitlines())
            kept = [at for at, name in enumerate(header) if name not in _PICTURES]
            table = Table("", *(header[at] for at in kept), box=None, pad_edge=False, header_style="dim")
            for row in rows:
                table.add_row("", *(row[at] for at in kept))
            self.console.print(table)

    def _tell_state(self, check: CheckRun, after: float) -> None:
        state = check.conclusion or check.status
        told = f"{check.name}: [{_COLOURS.get(state, 'cyan')}]{state}[/] · {escape(check.title or '')}"
        self.console.print(" ".join(f"  {after:5.1f} s  {told}".splitlines()), soft_wrap=True)

    def show_review(self, pull: PullRequest) -> None:
        for review in self.github.reviews(pull):
            body = Markdown(strip_html(review.body))
            said = len(self.github.review_comments(pull))
            line = f"review by {review.user.login}, {said} comments: {_summarise(review.body)}"
            self._tell(line, Panel(body, title=f"review by {review.user.login}", title_align="left"))
        for comment in self.github.review_comments(pull):
            self._detail_comment(comment)
        if self._is_brief:
            for comment in _choose_telling(self.github.review_comments(pull)):
                self._show_finding(comment)

    def _show_finding(self, comment: ReviewComment) -> None:
        """A finding in full: where it is, and what its comment says of it."""
        kind, message, *_ = strip_html(comment.body).split("\n\n")
        self._print(f"    {comment.path}:{comment.line}  {_plain(kind)}  {_parse_rule(comment)}", style="bold")
        self.console.print(Padding(escape(_unmark(message)), (0, 0, 0, 6)), highlight=False)

    def show_comment(self, comment: ReviewComment) -> None:
        self._detail_comment(comment)
        if self._is_brief:
            self._print(f"  {comment.user.login}: {describe_thread(comment.thread)}")

    def _detail_comment(self, comment: ReviewComment) -> None:
        title = f"{comment.path}:{comment.start_line or comment.line}"
        context = "\n".join(comment.diff_hunk.splitlines()[-4:])
        self.details.print(Rule(escape(title), align="left", style="dim"))
        self.details.print(Syntax(context, "diff", background_color="default", word_wrap=True))
        self.details.print(Markdown(strip_html(comment.body)))

    def show_check(self, check: CheckRun) -> None:
        buttons = "  ".join(f"[ {action['label']} ]" for action in check.actions)
        title = f"{check.name} · {check.conclusion} · {len(check.annotations)} annotations   {buttons}"
        content = Markdown(strip_html(f"## {check.title}\n\n{check.summary}\n\n{check.text or ''}"))
        style = _COLOURS.get(check.conclusion or "", "cyan")
        self.details.print(Panel(content, title=escape(title), title_align="left", border_style=style))

    def step(self, text: str) -> None:
        if not self._is_brief:
            self.console.print()
        self._print(f"── {text}", style="bold")


def _environment(settings: Settings) -> dict[str, str]:
    return {
        "FORGE_GITHUB_API_URL": settings.github_api_url,
        "FORGE_GITHUB_WEB_URL": settings.github_web_url,
        "FORGE_APP_ID": str(settings.app_id),
        "FORGE_PRIVATE_KEY": settings.private_key_pem(),
        "FORGE_WEBHOOK_SECRET": ",".join(secret.get_secret_value() for secret in settings.webhook_secret),
        "FORGE_DATABASE_URL": settings.database_url,
        "FORGE_DATA_DIR": str(settings.data_dir),
    }


def report_promises(console: Console, promises: Mapping[str, bool]) -> bool:
    """Whether every promise was kept; prints those that were not."""
    for promise in [promise for promise, kept in promises.items() if not kept]:
        console.print(f"[red]This did not happen:[/] {promise}")
    return all(promises.values())


def describe_thread(thread: Thread) -> str:
    """The finding of a thread: its id, its rule and its file."""
    comment = thread.comments[0]
    found = _FINDING.search(comment.body)
    return f"{found['name']}, {found['rule']} in {comment.path}" if found else comment.path


def parse_finding(comment: ReviewComment) -> str:
    """The id of the finding in a comment."""
    found = _FINDING.search(comment.body)
    return found["name"] if found else ""


def _parse_rule(comment: ReviewComment) -> str:
    found = _FINDING.search(comment.body)
    return found["rule"] if found else ""


def _choose_telling(comments: Sequence[ReviewComment]) -> Sequence[ReviewComment]:
    """The gravest finding of each tool, that of the model first: no linter has it."""
    by_gravity = sorted(comments, key=lambda each: (not _parse_rule(each).startswith("model/"), _rank(each)))
    gravest: dict[str, ReviewComment] = {}
    for comment in by_gravity:
        gravest.setdefault(_parse_rule(comment).partition("/")[0], comment)
    rest = [each for each in by_gravity if each not in gravest.values()]
    return [*gravest.values(), *rest][:_SHOWN]


def _rank(comment: ReviewComment) -> int:
    return next((rank for rank, icon in enumerate(_ICONS) if icon in comment.body), len(_ICONS))


def strip_html(markdown: str) -> str:
    """The Markdown without the HTML comments and tags that a browser hides and a terminal prints."""
    lines = [line for line in markdown.splitlines() if not line.startswith("<!--")]
    text = "\n".join(lines).replace("<sub>", "").replace("</sub>", "")
    text = text.replace("```suggestion\n```", "*Suggestion, one click: remove this.*")
    return text.replace("```suggestion\n", "*Suggestion, one click:*\n```python\n")


def _panel(login: str, text: str) -> Panel:
    return Panel(Markdown(text), title=escape(login), title_align="left")


def _summarise(markdown: str) -> str:
    """The first line with text, without markup."""
    shown = (_plain(line) for line in strip_html(markdown).splitlines())
    return next((line for line in shown if line), "")


def _plain(line: str) -> str:
    return _MARKS.sub("", _LOOPBACK.sub("", _LINK.sub(r"\1", line))).strip()


def _unmark(paragraph: str) -> str:
    """A paragraph without markup, as one line."""
    return " ".join(filter(None, map(_plain, paragraph.splitlines())))


def _lines_about(name: str, printed: str) -> list[str]:
    """The lines with this name, each after the line before it."""
    lines = printed.splitlines()
    found = sorted({near for at, line in enumerate(lines) if name in line for near in (at - 1, at) if near >= 0})
    return [lines[at] for at in found]
