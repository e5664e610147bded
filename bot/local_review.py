"""Reviews a local repository on the command line, with the same layers as a pull request."""

import json
import time
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agents import reviewer
from agents.checks.toolbox import Toolbox
from agents.reviewer import ModelPart
from bot import sarif
from bot.printing import output
from domain.findings import Layer, Severity
from domain.ids import finding_id
from domain.neutral import visible
from domain.redaction import outgoing
from domain.review import Decision, LayerReport, Review
from pipeline import configuration
from safety.risk import Author
from workspace.local import local

_NO_MODEL = "`forge review` asks no model; on GitHub one reads what is above low risk."
_COLOURS = {Severity.critical: "bold red", Severity.error: "red", Severity.warning: "yellow", Severity.info: "blue"}


async def run(path: Path, base: str, shown: Literal["table", "json", "sarif"]) -> Decision:
    """Review the repository at ``path`` against ``base``, print the result, and answer what it came to.

    :raises CodeAccessError: if there is no repository, no such revision, or no common history.
    :raises ForgeError: if the result cannot be printed.
    """
    review, problem = await _review(path, base)
    with output() as console:
        if shown == "json":
            console.out(json.dumps(review.model_dump(mode="json"), indent=2), highlight=False)
        elif shown == "sarif":
            console.out(json.dumps(sarif.document(review.findings), indent=2), highlight=False)
        else:
            _print(console, review, problem)
    return review.decision


async def _review(path: Path, base: str) -> tuple[Review, str | None]:
    started = time.perf_counter()
    async with local(path, base) as code, Toolbox.start() as toolbox:
        change = await code.change(code.merge_base_sha, code.head)
        config_file = (await code.read(code.merge_base_sha, [configuration.PATH])).get(configuration.PATH)
        loaded = configuration.of_checkout(config_file)
        settings = loaded.configuration
        kept = reviewer.within(change, settings)
        checked = await reviewer.check(kept, code, toolbox, settings, Author(), _no_dependencies, trusted=True)
        result = reviewer.draw(checked, ModelPart(report=LayerReport(layer=Layer.model, note=_NO_MODEL)))
    named = tuple(f.model_copy(update={"id": finding_id(f.fingerprint)}) for f in result.findings)
    timed = result.model_copy(update={"findings": named, "seconds": time.perf_counter() - started})
    return timed, loaded.problem


async def _no_dependencies() -> None:
    """GitHub's dependency comparison needs GitHub."""


def _print(console: Console, review: Review, problem: str | None) -> None:
    if problem:
        console.print(f"[yellow]{show(problem)}[/]")
    if review.findings:
        table = Table("severity", "where", "rule", "what", box=None, pad_edge=False)
        for finding in review.findings:
            table.add_row(
                f"[{_COLOURS[finding.severity]}]{finding.severity}[/]",
                show(finding.where),
                show(finding.rule),
                show(finding.message),
            )
        console.print(table)
    for layer in review.layers:
        for text in (layer.missing, *(f"{tool.tool}: {tool.problem}" for tool in layer.tools if tool.problem)):
            if text:
                console.print(f"[yellow]! {show(text)}[/]")
    for entry in review.not_looked_at:
        console.print(f"[dim]not looked at: {show(entry.path)}: {show(entry.reason)}[/]")
    changed = f"{review.files} files, +{review.additions} -{review.deletions}"
    console.print(
        f"\n[bold]{review.decision.replace('_', ' ')}[/] · risk {review.risk.level} ({review.risk.score} of 100) · "
        f"{changed} · {review.seconds:.2f} s"
    )
    for reason in review.reasons:
        console.print(f"  {show(reason.text)}")


def show(text: str) -> str:
    """Text of tools and of the repository as the terminal may get it: no sequences, no markup, no secret."""
    return escape(outgoing(visible(text)))
