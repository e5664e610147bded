"""Prints a local review: one line per finding for programs; on a terminal in full, grouped by file."""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any
from urllib.parse import quote

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from agents.review.checks import rule_texts
from bot.cli.local_review import Format
from bot.cli.output import output
from bot.version import VERSION
from domain.paths import escape_unprintable
from domain.review.findings import Category, Finding, Fix, Severity
from domain.review.review import Review
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from messages.review import name_outcome
from safety.autofix import is_simple
from safety.review_decision import UNREAD

_LEVELS = {Severity.info: "note", Severity.warning: "warning", Severity.error: "error", Severity.critical: "error"}
_SCORES = {Severity.info: "2.0", Severity.warning: "5.0", Severity.error: "8.0", Severity.critical: "9.5"}
"""``security-severity``: GitHub calls it low below 4, medium below 7, high below 9, then critical."""
_SHORT = 120
_PAGES = re.compile(r"https://docs\.astral\.sh/ruff/rules/([a-z0-9-]+)/?")
"""The addresses of rule pages that end in the rule's name."""


_COLOURS = {Severity.critical: "bold red", Severity.error: "red", Severity.warning: "yellow", Severity.info: "blue"}
JSON_VERSION = 1
"""The version of the `--json` format; a breaking change raises it."""
_MAX_LINES = 12  # of a fix that are shown


def print_result(
    review: Review, problem: str | None, shown: Format, *, is_local: bool = True, quiet: bool = False
) -> None:
    """Print a review on standard output.

    :param problem: what is wrong with the configuration.
    :param is_local: `--fix` can correct what it found.
    :param quiet: leave out the notes.
    :raises ForgeError: if it cannot be printed.
    """
    if problem and shown != "text":
        sys.stderr.write(f"forge: {redact_outgoing(strip_invisible(problem))}\n")
    with output() as console:
        if shown == "json":
            told = {"version": JSON_VERSION, "forge": VERSION, "problem": problem, **review.model_dump(mode="json")}
            console.out(json.dumps(told, indent=2), highlight=False)
        elif shown == "sarif":
            console.out(json.dumps(build_document(review.findings, problem), indent=2), highlight=False)
        else:
            print_review(console, review, problem, whole=sys.stdout.isatty(), fixes=is_local, quiet=quiet)


def print_review(
    console: Console, review: Review, problem: str | None, *, whole: bool, fixes: bool = True, quiet: bool = False
) -> None:
    """Print a review's findings, what it did not read, and its decision.

    :param problem: what is wrong with the configuration.
    :param fixes: `--fix` can correct what it found.
    :param quiet: leave out the notes of the checks.
    :param whole: in full, for a terminal; otherwise each finding is ``path:line: severity rule: message [F-ID]``.
    """
    if problem:
        _print(console, f"[yellow]! {to_terminal(problem)}[/]")
    if whole:
        _print_findings(console, review.findings, fixes=fixes)
    else:
        for finding in review.findings:
            console.out(_render_line(finding, fixes=fixes), highlight=False)
    for line in _render_problems(review):
        _print(console, line)
    notes = " ".join(layer.note for layer in review.layers if layer.note)
    if notes and not quiet:
        _print(console, f"[dim]note: {to_terminal(notes)}[/]")
    _print(console, f"{'' if not whole else chr(10)}{_summary(review)}")
    for reason in review.reasons:
        _print(console, f"  {to_terminal(reason.text)}")
        for path in reason.children if reason.code == UNREAD else ():
            _print(console, f"    {to_terminal(path.text)}")


def to_terminal(text: str) -> str:
    """Makes text of tools and of the repository safe to print: no control sequences, markup or secrets."""
    return escape(redact_outgoing(strip_invisible(text)))


def _print(console: Console, text: str) -> None:
    console.print(text, highlight=False, soft_wrap=True)


def _render_line(finding: Finding, *, fixes: bool) -> str:
    message = " ".join(finding.message.split())
    fixable = ", --fix corrects it" if fixes and is_simple(finding) else ""
    return redact_outgoing(
        strip_invisible(f"{finding.where}: {finding.severity} {finding.rule}: {message} [{finding.id}{fixable}]")
    ).replace("\n", " ")


def _print_findings(console: Console, findings: Sequence[Finding], *, fixes: bool) -> None:
    """Print the files in the order of their gravest finding, and each file's findings from top to bottom."""
    order = {finding.path: number for number, finding in reversed(list(enumerate(findings)))}
    by_place = sorted(findings, key=lambda finding: (order[finding.path], finding.line or 0))
    for path, found in groupby(by_place, key=lambda finding: finding.path):
        _print(console, f"\n[bold]{to_terminal(escape_unprintable(path))}[/]")
        for finding in found:
            where = to_terminal(finding.where)
            head = (
                f"[{_COLOURS[finding.severity]}]{finding.severity}[/] {to_terminal(finding.rule)} [dim]{finding.id}[/]"
            )
            _print(console, f"  {where}: {head}")
            console.print(Padding(to_terminal(" ".join(finding.message.split())), (0, 0, 0, 6)), highlight=False)
            if finding.fix is not None:
                for line in _render_fix(finding.fix, applied=fixes and is_simple(finding)):
                    _print(console, f"      [dim]{to_terminal(line)}[/]")


def _render_fix(fix: Fix, *, applied: bool) -> Iterator[str]:
    lines = f"line {fix.start_line}" if fix.start_line == fix.end_line else f"lines {fix.start_line} to {fix.end_line}"
    by = " (--fix does it)" if applied else ""
    if not fix.replacement:
        yield f"fix: remove {lines}{by}"
        return
    yield f"fix: replace {lines}{by}"
    written = fix.replacement.split("\n")
    yield from (f"  {line}" for line in written[:_MAX_LINES])
    if len(written) > _MAX_LINES:
        yield f"    … {len(written) - _MAX_LINES} more lines"


def _render_problems(review: Review) -> Iterator[str]:
    """The problems that the reasons of the decision do not mention, and what was not read."""
    told = " ".join(reason.text for reason in review.reasons)
    for layer in review.layers:
        problems = [f"{tool.tool}: {tool.problem}" for tool in layer.tools if tool.problem and tool.problem not in told]
        for text in (layer.missing, *problems):
            if text:
                yield f"[yellow]! {to_terminal(text)}[/]"
    for entry in review.not_looked_at:
        what = "not read by the model" if entry.by_model else "not looked at"
        yield f"[dim]{what}: {to_terminal(entry.path)}: {to_terminal(entry.reason)}[/]"


def _summary(review: Review) -> str:
    files = "1 file" if review.files == 1 else f"{review.files} files"
    return (
        f"[bold]{to_terminal(name_outcome(review))}[/] · risk {review.risk.level} ({review.risk.score} of 100) · "
        f"{files}, +{review.additions} -{review.deletions} · {review.seconds:.2f} s"
    )


def build_document(findings: Sequence[Finding], problem: str | None = None) -> dict[str, Any]:
    """A SARIF log with one run that holds all findings.

    :param problem: what is wrong with the configuration.
    """
    by_rule: dict[str, Finding] = {}
    for finding in findings:
        known = by_rule.setdefault(finding.rule, finding)
        if finding.severity.rank > known.severity.rank:
            by_rule[finding.rule] = finding
    indices = {rule: index for index, rule in enumerate(by_rule)}
    driver = {
        "name": "Forge",
        "semanticVersion": VERSION,
        "version": VERSION,
        "rules": list(map(_rule, by_rule.values())),
    }
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, indices[finding.rule]) for finding in findings],
    }
    if problem:
        notification = {"level": "warning", "message": {"text": problem}}
        run["invocations"] = [{"executionSuccessful": True, "toolConfigurationNotifications": [notification]}]
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def _rule(finding: Finding) -> dict[str, Any]:
    """A rule with the severity of its gravest finding. GitHub wants both descriptions and a help text for each.

    A finding's message is about one place, so it does not describe the rule.
    """
    name, message = _name(finding), rule_texts.describe_rule(finding.rule)
    first = message.partition(". ")[0].rstrip(".") if message else ""
    short = f"{name or (first if 0 < len(first) <= _SHORT else finding.rule)}."
    message = message or short
    more = f" See {finding.help_url}" if finding.help_url else ""
    properties: dict[str, Any] = {"tags": [finding.category.value], "precision": "high"}
    if finding.category is Category.security:
        properties["security-severity"] = _SCORES[finding.severity]
    rule: dict[str, Any] = {
        "id": finding.rule,
        "shortDescription": {"text": short},
        "fullDescription": {"text": message},
        "help": {"text": f"{message}{more}", "markdown": f"`{finding.rule}`: {message}{more}"},
        "defaultConfiguration": {"level": _LEVELS[finding.severity]},
        "properties": properties,
    }
    return rule | {"helpUri": finding.help_url} if finding.help_url else rule


def _name(finding: Finding) -> str:
    """The rule's name from the address of its page; empty if the address has none."""
    page = _PAGES.fullmatch(finding.help_url or "")
    return page[1].replace("-", " ").capitalize() if page else ""


def _result(finding: Finding, index: int) -> dict[str, Any]:
    artifact = {"uri": quote(finding.path), "uriBaseId": "%SRCROOT%"}
    place: dict[str, Any] = {"artifactLocation": artifact}
    if finding.line is not None:
        place["region"] = {"startLine": finding.line, "endLine": max(finding.line, finding.end_line or finding.line)}
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"forge/v1": finding.fingerprint},
        "properties": {"severity": finding.severity.value, "confidence": finding.confidence, "id": finding.id},
    }
    return result if finding.fix is None else result | {"fixes": [_fix(artifact, finding.fix)]}


def _fix(artifact: dict[str, str], fix: Fix) -> dict[str, Any]:
    """Replaces whole lines: from the start of the first to the start of the line after the last."""
    region = {"startLine": fix.start_line, "startColumn": 1, "endLine": fix.end_line + 1, "endColumn": 1}
    written = f"{fix.replacement}\n" if fix.replacement else ""
    replacement = {"deletedRegion": region, "insertedContent": {"text": written}}
    return {
        "description": {"text": "Write these lines instead." if written else "Remove these lines."},
        "artifactChanges": [{"artifactLocation": artifact, "replacements": [replacement]}],
    }
