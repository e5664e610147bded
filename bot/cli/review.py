"""Reviews a local repository with the same linters and security checks as a pull request."""

import json
import sys
import time
from pathlib import Path
from typing import Literal

from agents.review import reviewer
from agents.review.layers import ModelPart, apply_path_filters
from agents.review.transient_commits import add_unreviewed
from agents.toolbox import Toolbox
from bot.cli import sarif
from bot.cli.fix import correct
from bot.cli.output import output
from bot.cli.review_output import print_review, to_terminal
from bot.settings import load_tool_folders
from bot.version import VERSION
from domain.errors import ForgeError
from domain.ids import make_finding_id
from domain.review.findings import Layer
from domain.review.review import Decision, LayerReport, Review
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from pipeline.config import parsing
from safety.risk import PullRequestAuthor
from workspace.local_repository import HEAD, LocalRepository, open_local

_NO_MODEL = "`forge review` asks no model; on GitHub a model reads every source change, if one is set up."
Format = Literal["text", "json", "sarif"]
JSON_VERSION = 1
"""The version of the `--json` format; a breaking change raises it."""


async def run(path: Path, base: str | None, shown: Format, *, staged: bool = False, fix: bool = False) -> Decision:
    """Review a repository, print the result, and return the decision.

    :param path: a folder in it.
    :param base: the revision to compare with; None for the default branch, or for HEAD if ``staged``.
    :param staged: look at the index instead of the working tree.
    :param fix: correct simple findings in the working tree, and review the result.
    :raises CodeAccessError: if there is no repository, no such revision, or no common history.
    :raises ForgeError: if the result cannot be printed, or a file cannot be written.
    """
    review, problem = await _review(path, base, staged=staged, fix=fix)
    print_result(review, problem, shown)
    return review.decision


def print_result(review: Review, problem: str | None, shown: Format, *, is_local: bool = True) -> None:
    """Print a review on standard output.

    :param problem: what is wrong with the configuration.
    :param is_local: `--fix` can correct what it found.
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
            print_review(console, review, problem, whole=sys.stdout.isatty(), fixes=is_local)


async def _review(path: Path, base: str | None, *, staged: bool, fix: bool) -> tuple[Review, str | None]:
    if staged and fix:
        raise ForgeError("--fix corrects the working tree, but --staged reviews the index.", "Choose one of them.")
    async with Toolbox.start(reads=load_tool_folders()) as toolbox:
        compared = HEAD if staged and base is None else base
        async with open_local(path, compared, staged=staged) as code:
            reviewed = await _review_code(code, toolbox)
            corrected = await correct(code, reviewed[0].findings) if fix else []
        if corrected:
            for finding in corrected:
                sys.stderr.write(f"corrected {to_terminal(finding.where)}: {to_terminal(finding.rule)}\n")
            async with open_local(path, base) as code:
                reviewed = await _review_code(code, toolbox)
    return reviewed


async def _review_code(code: LocalRepository, toolbox: Toolbox) -> tuple[Review, str | None]:
    started = time.perf_counter()
    change = await code.change(code.merge_base_sha, code.head)
    config_file = (await code.read(code.merge_base_sha, [parsing.PATH])).get(parsing.PATH)
    loaded = parsing.load_from_checkout(config_file)
    settings = loaded.configuration
    kept = apply_path_filters(change, settings)
    author = PullRequestAuthor()
    checked = await reviewer.check(kept, code, toolbox, settings, author, _no_dependencies, trusted=True)
    checked = await add_unreviewed(checked, code, toolbox, author)
    result = reviewer.build_review(checked, ModelPart(report=LayerReport(layer=Layer.model, note=_NO_MODEL)))
    named = tuple(f.model_copy(update={"id": make_finding_id(f.fingerprint)}) for f in result.findings)
    timed = result.model_copy(update={"findings": named, "seconds": time.perf_counter() - started})
    return timed, loaded.problem


async def _no_dependencies() -> None:
    """Only GitHub can compare dependencies."""
