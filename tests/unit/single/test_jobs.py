"""What a job of GitHub Actions is told, and the commands it gives its runner."""

import json
from pathlib import Path

import pytest

from bot.cli.pull_request.action import ActionsJob, annotate, build_command, ignore_commands
from domain.errors import ConfigurationError
from domain.review.findings import Finding
from tests.unit.checks.findings import FINDINGS
from tests.world.single_reviews import read_outputs


@pytest.mark.parametrize(
    "event",
    ["", "[]", "{}", "no json", '{"pull_request": null}', '{"pull_request": {"number": null}}', '"' + "[" * 10_000],
)
def test_an_event_without_a_pull_request(event: str, tmp_path: Path) -> None:
    file = tmp_path / "event.json"
    file.write_text(event)
    told = {
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(file),
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_REPOSITORY": "acme/shelf",
    }
    with pytest.raises(ConfigurationError, match="does not say which pull request this is"):
        ActionsJob(told).find_address()
    file.write_text(json.dumps({"pull_request": {"number": 7}}))
    assert ActionsJob(told).find_address().url == "https://github.com/acme/shelf/pull/7"
    with pytest.raises(ConfigurationError, match="does not say"):
        ActionsJob({**told, "GITHUB_EVENT_PATH": str(tmp_path / "none")}).find_address()


def test_an_output_cannot_end_itself(tmp_path: Path) -> None:
    file = tmp_path / "output"
    job = ActionsJob({"GITHUB_OUTPUT": str(file)})
    job.set_output("one", "a\nEOF\ntwo=b")
    job.set_output("two", "")
    assert read_outputs(file.read_text()) == {"one": "a\nEOF\ntwo=b", "two": ""}


def test_a_summary_fits(tmp_path: Path) -> None:
    file = tmp_path / "summary"
    ActionsJob({"GITHUB_STEP_SUMMARY": str(file)}).add_summary("ü" * 2_000_000)
    assert len(file.read_bytes()) <= 2**20
    ActionsJob({}).add_summary("nowhere")  # outside a job there is none


def test_a_message_gives_no_further_command() -> None:
    line = build_command("error", "100%\n::set-output name=a::b", {"file": "a,line=1:b\n"})
    assert line == "::error file=a%2Cline=1%3Ab%0A::100%25%0A::set-output name=a::b"


@pytest.mark.parametrize("finding", FINDINGS)
def test_an_annotation_is_one_line(finding: Finding) -> None:
    line = annotate(finding)
    assert line.startswith(("::error file=", "::warning file=", "::notice file="))
    assert "\n" not in line


def test_commands_are_off_in_between(capsys: pytest.CaptureFixture[str]) -> None:
    with ignore_commands():
        print("::set-output name=a::b")  # noqa: T201  # as a file's name would
    first, middle, last = capsys.readouterr().out.splitlines()
    assert middle == "::set-output name=a::b"
    assert first == f"::stop-commands::{last.strip(':')}"
    assert len(last) > 30
