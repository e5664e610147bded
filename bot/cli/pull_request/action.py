"""The GitHub Action (`action.yml`): reviews the pull request of a workflow, and tells its job what came of it."""

import json
import os
import secrets
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from agents.llm.models import find_key_variable
from agents.toolbox import Toolbox
from bot.cli import review_output
from bot.cli.output import output
from bot.cli.pull_request.access import PullRequestAddress, find_pull_request, is_locked, open_host, parse_address
from bot.cli.pull_request.command import PostingOptions, build_reading, describe_posted, post
from bot.cli.pull_request.examination import Examined, open_examination, review_pull_request
from bot.cli.review_output import print_result
from bot.tool_folders import load_tool_folders
from domain.errors import ConfigurationError, Forbidden, ForgeError, NotFound, Unprocessable
from domain.paths import escape_unprintable
from domain.review.findings import Finding, Severity
from domain.review.review import Decision, Review
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from github.host import PersonalHost
from messages import single_review as texts
from messages.review import render_annotation, render_excluded

ON_TARGET = "pull_request_target"
_EVENTS = frozenset({"pull_request", ON_TARGET})
_LEVELS = {Severity.info: "notice", Severity.warning: "warning", Severity.error: "error", Severity.critical: "error"}
_MOST_SUMMARY = 1_000_000
"""Bytes; GitHub shows no summary that is larger than 1 MiB."""
_TOLD = "This action reviews pull requests: let the workflow run `on: pull_request`."


@dataclass(frozen=True)
class ActionsJob:
    """A job of a workflow.

    :param environment: as the runner sets it. https://docs.github.com/actions/reference/workflows-and-actions/variables
    """

    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def get_input(self, name: str) -> str:
        return self.environment.get(f"INPUT_{name}", "").strip()

    @property
    def is_on_target(self) -> bool:
        """Whether the workflow runs with the rights and secrets of the base for a pull request of anybody."""
        return self.environment.get("GITHUB_EVENT_NAME") == ON_TARGET

    def find_address(self) -> PullRequestAddress:
        """The pull request that the workflow runs for.

        :raises ConfigurationError: it runs for something else, or not in GitHub Actions.
        """
        event = self.environment.get("GITHUB_EVENT_NAME", "")
        if event not in _EVENTS:
            what = f"The workflow runs for `{event}`, so there is no pull request." if event else "This is no job."
            raise ConfigurationError(what, _TOLD)
        try:
            told: Any = json.loads(Path(self.environment["GITHUB_EVENT_PATH"]).read_bytes())
            number = int(cast("dict[str, Any]", told)["pull_request"]["number"])
            server, repository = self.environment["GITHUB_SERVER_URL"], self.environment["GITHUB_REPOSITORY"]
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            raise ConfigurationError("The runner does not say which pull request this is.", _TOLD) from None
        return parse_address(f"{server}/{repository}/pull/{number}")

    def write_sarif(self, review: Review, problem: str | None) -> Path:
        """Write the findings into a file that later steps of the job can read; its path.

        :param problem: what is wrong with the configuration.
        """
        path = Path(self.environment.get("RUNNER_TEMP") or ".").resolve() / "forge.sarif"
        path.write_text(json.dumps(review_output.build_document(review.findings, problem)), encoding="utf-8")
        return path

    def set_output(self, name: str, value: str) -> None:
        """Hand a value to later steps. The delimiter is not to be guessed, so the value cannot end it."""
        end = secrets.token_hex(16)
        self._append("GITHUB_OUTPUT", f"{name}<<{end}\n{value}\n{end}\n")

    def add_summary(self, text: str) -> None:
        """Add Markdown to the summary of the job."""
        cut = redact_outgoing(text).encode()[:_MOST_SUMMARY].decode(errors="ignore")  # a mask may be longer
        self._append("GITHUB_STEP_SUMMARY", cut + "\n")

    def _append(self, variable: str, text: str) -> None:
        if path := self.environment.get(variable):
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(text)


@contextmanager
def ignore_commands() -> Generator[None]:
    """What is printed meanwhile gives the runner no commands, whatever files are called and findings say."""
    end = secrets.token_hex(16)
    sys.stdout.write(f"::stop-commands::{end}\n")
    try:
        yield
    finally:
        sys.stdout.write(f"::{end}::\n")
        sys.stdout.flush()


def annotate(finding: Finding) -> str:
    """The runner's command that shows a finding on its line."""
    title, message = render_annotation(finding)
    place = {"file": escape_unprintable(finding.path), "title": title}
    if finding.line is not None:
        place |= {"line": str(finding.line), "endLine": str(finding.end_line or finding.line)}
    return build_command(_LEVELS[finding.severity], message, place)


def build_command(name: str, message: str, properties: Mapping[str, str] = {}) -> str:
    """A command for the runner. https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands"""
    given = ",".join(f"{key}={_escape_property(value)}" for key, value in properties.items())
    return f"::{name}{' ' if given else ''}{given}::{_escape_data(message)}"


def _escape_data(text: str) -> str:
    safe = redact_outgoing(strip_invisible(text))
    return safe.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")


T = TypeVar("T")

_FAILING = {
    "never": (),
    "changes": (Decision.request_changes,),
    "human": (Decision.request_changes, Decision.require_human),
    "unread": (Decision.request_changes, Decision.require_human, Decision.unread),
}
_POSTING = {"true": True, "false": False}
_TARGET = (
    "`pull_request_target` gives this job the secrets and rights of the base for code of anybody. Forge reads that "
    "code as data. It runs none of it, and leaves out the linters of `review.linters`, which might. No other step may "
    "check it out. Where you can, use `pull_request`."
)


async def run() -> int:
    """Review the pull request of the job; the exit code: 1 if the verdict is to fail the job, otherwise 0.

    :raises ForgeError: if an input is wrong, or the pull request cannot be read.
    """
    job = ActionsJob()
    try:
        return await _Action(job).run()
    except ForgeError as error:
        job.add_summary(texts.render_failure(error))
        _tell(build_command("error", str(error), {"title": "Forge could not review this"}))
        return 1


class _Action:
    """One run of the action."""

    def __init__(self, job: ActionsJob) -> None:
        self._job = job
        self._failing = _choose("fail-on", job.get_input("FAIL_ON") or "human", _FAILING)
        self._is_broken = False
        self._posts = _choose("post", job.get_input("POST").lower() or "true", _POSTING)

    async def run(self) -> int:
        if self._job.is_on_target:
            _tell(build_command("warning", _TARGET, {"title": "pull_request_target"}))
        address = self._job.find_address()
        asks = self._set_up_model()
        async with open_host(address) as host:
            repository, pull = await find_pull_request(host, address)
            async with open_examination(host, repository, pull) as examined:
                if self._job.is_on_target:
                    examined = examined.leave_out_linters()
                if (why := await examined.find_exclusion()) is not None:
                    return self._leave_out(why, examined.loaded.problem)
                async with Toolbox.start(reads=load_tool_folders()) as toolbox:
                    reading = build_reading(examined, toolbox, ask_model=asks, asked=False)
                    review = await review_pull_request(host, examined, toolbox, reading)
            return await self._report(host, address, examined, review)

    def _set_up_model(self) -> bool:
        """Put the model's name and key where a provider's SDK looks for them; whether a model is to be asked."""
        key, model = self._job.get_input("MODEL_KEY"), self._job.get_input("MODEL")
        if not key:
            return False
        variable = find_key_variable(model)
        if variable is None:
            raise ConfigurationError(
                f"The input `model` is {model!r}.", "It must be PROVIDER:NAME; the providers are in docs/terminal.md."
            )
        os.environ |= {variable: key, "FORGE_FAST_MODEL": model, "FORGE_STRONG_MODEL": model}
        return True

    def _leave_out(self, why: str, problem: str | None) -> int:
        self._job.add_summary(texts.join_summary(render_excluded(why, problem), ""))
        self._job.set_output("decision", "excluded")
        _tell(build_command("notice", why, {"title": "Not reviewed"}))
        return 0

    async def _report(self, host: PersonalHost, address: PullRequestAddress, examined: Examined, review: Review) -> int:
        problem = examined.loaded.problem
        with ignore_commands():
            print_result(review, problem, "text", is_local=False)
        named, note, url = await self._post(host, address, examined, review)
        if not url:
            for finding in review.findings:
                _tell(annotate(finding))
        self._job.add_summary(texts.render_summary(review, named, problem, note))
        for name, value in (
            ("decision", review.decision.value),
            ("findings", str(len(review.findings))),
            ("sarif", str(self._job.write_sarif(review, problem))),
            ("review-url", url),
        ):
            self._job.set_output(name, value)
        is_read = review.decision is Decision.unread and not review.unread.paths  # by linters, if by nobody else
        return 1 if self._is_broken or (review.decision in self._failing and not is_read) else 0

    async def _post(
        self, host: PersonalHost, address: PullRequestAddress, examined: Examined, review: Review
    ) -> tuple[tuple[Finding, ...], str, str]:
        """The findings with a comment, what became of the review, and its address; without one if none was posted."""
        if not self._posts:
            return (), texts.NOT_WANTED, ""
        options = PostingOptions(post=True)
        try:
            posted = await post(host, examined, review, options)
        except ForgeError as error:
            note = texts.explain_unposted_job(error, self._why_refused(error, examined))
            if not isinstance(error, Forbidden | NotFound | Unprocessable):
                self._is_broken = True
            _tell(build_command("notice", note, {"title": "Findings are annotations"}))
            return (), note, ""
        said = describe_posted(posted, address, options)
        _tell(build_command("notice", said, {"title": "Forge"}))
        return posted.named, said, f"{address.url}#pullrequestreview-{posted.review_id}"

    def _why_refused(self, error: ForgeError, examined: Examined) -> texts.WhyRefused:
        if not isinstance(error, Forbidden) or is_locked(error):
            return texts.WhyRefused.other
        from_fork = examined.pull_request.is_from_fork(examined.repository.id)
        return texts.WhyRefused.fork if from_fork and not self._job.is_on_target else texts.WhyRefused.permission


def _choose(name: str, given: str, known: dict[str, T]) -> T:
    """What an input means.

    :raises ConfigurationError: it is none of the known values.
    """
    if given in known:
        return known[given]
    raise ConfigurationError(f"The input `{name}` is {given!r}.", f"It must be {', '.join(known)}.")


def _tell(line: str) -> None:
    with output() as console:
        console.out(line, highlight=False)
