"""Asks a model where checks stand that rules call lost, and believes it where the place is a test that runs."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel

from agents.llm.ask import ModelAnswer, Question
from agents.llm.tokens import estimate
from agents.prompts import load_prompt
from agents.review.model.answers import squash, strip_sign
from agents.review.model.questions import find_withheld_lines, frame_data
from agents.review.model.rendering import Line, clean_name, excerpt, render_safely
from domain.globs import matches
from domain.review.changes import Change, FileVersions
from domain.review.findings import Finding
from domain.review.lost_checks import FoundCheck, LostCheck, LostChecks, TestSpan, list_sought
from domain.text.redaction import Redact

CHECKS = "== checks that rules call lost"
_LARGEST = 30_000  # tokens of a question; of what is larger a person is asked
_SHOWN = re.compile(r"(?P<number>\d+)[+ ](?P<code>.*)")
_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_AROUND = 3  # lines around a test


class CheckPlace(BaseModel):
    """Where the model sees a check.

    :param why: written first, because a model that writes it judges better.
    :param quote: the line of the new code that demands the same.
    """

    number: int
    why: str = ""
    verdict: Literal["kept", "lost", "unsure"]
    path: str = ""
    line: int = 0
    quote: str = ""


class CheckPlaces(BaseModel):
    """The report."""

    checks: list[CheckPlace]


class CheckSearch(Question):
    """The question where checks stand.

    :param sought: fingerprints of the findings that call them lost, in order.
    """

    sought: tuple[str, ...]


def build_check_search(
    findings: Sequence[Finding],
    checks: LostChecks,
    change: Change,
    versions: Mapping[str, FileVersions],
    *,
    never_send: Sequence[str],
    redact: Redact,
) -> CheckSearch | None:
    """Asks where the lost checks stand; None if there are none, or nothing could answer it.

    :param findings: of layers 1 and 2.
    :param never_send: glob patterns of files whose content must not be sent to a model.
    """
    withheld = find_withheld_lines(findings)
    standing = [each for each in checks.standing if not matches(each.path, never_send)]
    sought = [
        pair
        for pair in list_sought(findings, checks)
        if not any(matches(path, never_send) for path in _list_paths(pair[1], change))
    ]
    if not sought or not standing:
        return None
    paths = dict.fromkeys(each.path for each in standing)
    shown = [
        _render_tests(path, standing, change, versions[path], withheld.get(path, ()), redact)
        for path in paths
        if path in versions
    ]
    asked = [
        text
        for number, (finding, lost) in enumerate(sought, 1)
        for text in _render_check(number, finding, lost, versions, redact)
    ]
    content = frame_data("\n".join([*shown, CHECKS, *asked]))
    if estimate(content) > _LARGEST:
        return None
    return CheckSearch(
        key="model lost checks",
        instructions=load_prompt("lost_checks"),
        content=content,
        max_output_tokens=500 + 200 * len(sought),
        sought=tuple(finding.fingerprint for finding, _ in sought),
    )


def find_checks(
    answer: ModelAnswer, question: CheckSearch, findings: Sequence[Finding], checks: LostChecks
) -> tuple[FoundCheck, ...]:
    """The lost checks of which the model names a place that holds what it says.

    A place counts if the line stands there as quoted, within a test that runs and demands something, and that test
    names something that the lost one named. So whoever talks a model into a place still needs such a test.
    """
    if answer.value is None:
        return ()
    shown = _read_shown(question.content)
    lost = {finding.fingerprint: lost for finding, lost in list_sought(findings, checks)}
    kept = [each for each in CheckPlaces.model_validate(answer.value).checks if each.verdict == "kept"]
    named = {question.sought[each.number - 1]: each for each in kept if 0 < each.number <= len(question.sought)}
    return tuple(
        FoundCheck(fingerprint=fingerprint, path=place.path, line=line)
        for fingerprint, place in named.items()
        if (line := _find_line(place, lost[fingerprint], shown, checks.standing)) is not None
    )


def _find_line(
    place: CheckPlace, lost: LostCheck, shown: Mapping[str, Mapping[int, str]], standing: Sequence[TestSpan]
) -> int | None:
    """The line of a place; None if it is none."""
    lines = shown.get(place.path, {})
    quote = next((line for line in place.quote.split("\n") if line.strip()), "")
    wanted = {text for text in (squash(quote), strip_sign(quote)) if re.search(r"\w", text)}
    for span in standing:
        within = {number: text for number, text in lines.items() if span.start <= number <= span.end}
        names = {name for text in within.values() for name in _NAME.findall(text)}
        if span.path != place.path or not names.intersection(lost.names):
            continue
        held = [number for number, text in within.items() if text in wanted]
        if held:
            return min(held, key=lambda number: abs(number - place.line))
    return None


def _read_shown(content: str) -> dict[str, dict[int, str]]:
    """Path → number → code of each line of the new code that a question shows. No line of code begins like a path."""
    shown: dict[str, dict[int, str]] = {}
    path = ""
    for line in content.rpartition(f"\n{CHECKS}\n")[0].split("\n"):
        if line.startswith("== "):
            path = line.removeprefix("== ")
        elif found := _SHOWN.fullmatch(line):
            shown.setdefault(path, {})[int(found["number"])] = squash(found["code"])
    return shown


def _list_paths(lost: LostCheck, change: Change) -> list[str]:
    """Of the file with the finding and of the one that held the test, now and before."""
    paths = {lost.path, lost.before.path}
    former = {file.old_path for path in paths if (file := change.file(path)) is not None and file.old_path}
    return sorted(paths | former)


def _render_tests(
    path: str,
    standing: Sequence[TestSpan],
    change: Change,
    version: FileVersions,
    withheld: Collection[int],
    redact: Redact,
) -> str:
    """The tests of a file as they are now, with what the change adds beside them."""
    file = change.file(path)
    head = (version.head or b"").decode(errors="replace").split("\n")
    wanted = set[int]() if file is None else set(file.added_lines)
    for span in standing:
        if span.path == path:
            wanted.update(range(span.start - _AROUND, span.end + _AROUND + 1))
    return "\n".join([f"== {clean_name(path)}", *render_safely(excerpt(head, wanted, file), withheld, redact)])


def _render_check(
    number: int, finding: Finding, lost: LostCheck, versions: Mapping[str, FileVersions], redact: Redact
) -> Iterator[str]:
    """What is called lost, and its test as it was."""
    yield f"#{number} {clean_name(finding.where)} {finding.rule}: {clean_name(lost.what)}"
    version = versions.get(lost.before.path)
    base = [] if version is None or version.base is None else version.base.decode(errors="replace").split("\n")
    lines = [Line(None, "-", text) for text in base[lost.before.start - 1 : lost.before.end]]
    yield from render_safely(lines, (), redact)
