"""Prints a local review: one line per finding for programs; on a terminal in full, grouped by file."""

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from bot.cli import sarif
from bot.cli.local_review import Format
from bot.cli.output import output
from bot.version import VERSION
from domain.paths import escape_unprintable
from domain.review.findings import Finding, Fix, Severity
from domain.review.review import Review
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from messages.review import name_outcome
from safety.autofix import is_simple
from safety.review_decision import UNREAD

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
            console.out(json.dumps(sarif.build_document(review.findings, problem), indent=2), highlight=False)
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
