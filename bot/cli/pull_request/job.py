"""A job of GitHub Actions: what it is told in its environment, and how it tells others something."""

import json
import os
import secrets
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from bot.cli import sarif
from bot.cli.pull_request.address import PullRequestAddress, parse_address
from domain.errors import ConfigurationError
from domain.paths import escape_unprintable
from domain.review.findings import Finding, Severity
from domain.review.review import Review
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from messages.review import render_annotation

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
        path.write_text(json.dumps(sarif.build_document(review.findings, problem)), encoding="utf-8")
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
