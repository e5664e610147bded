"""The reviewer: from a change to a review, by running the layers and drawing the conclusions."""

from collections.abc import Awaitable, Callable, Sequence

from agents.checks import Toolbox, run_checks
from domain.changes import Change, NotLookedAt
from domain.configuration import Configuration
from domain.findings import Layer, place
from domain.globs import matches
from domain.ports import DependencyChange
from domain.review import LayerReport, Review, Risk, RiskLevel
from safety.decision import CONCLUSIONS, decide
from safety.risk import Author, assess
from workspace.objects import Code

PROJECT_FILES = ("pyproject.toml", "ruff.toml", ".ruff.toml")
"""Files of the merge base that say how a project wants its code checked."""


async def review(
    change: Change,
    code: Code,
    toolbox: Toolbox,
    configuration: Configuration,
    author: Author,
    dependencies: Callable[[], Awaitable[Sequence[DependencyChange] | None]],
    *,
    trusted: bool = False,
) -> Review:
    """Review a change.

    :param code: where the content of the changed files comes from.
    :param dependencies: asks the code host for the dependency comparison.
    :param trusted: the code is the caller's own checkout.
    :raises CodeAccessError: if the content cannot be had; a tool that fails is named in the review instead.
    :raises CodeHostError: if the dependency comparison cannot be asked for.
    """
    kept = _within(change, configuration)
    checked = await run_checks(
        kept,
        await code.versions(kept.files),
        project=await code.read(change.merge_base, PROJECT_FILES),
        linters=configuration.review.linters,
        dependencies=await dependencies(),
        toolbox=toolbox,
        trusted=trusted,
    )
    findings = tuple(place(finding, kept) for finding in checked.findings)
    risk = assess(kept, findings, author, configuration.paths.sensitive)
    layers = (*checked.layers, *_model_layer(risk, configuration))
    verdict = decide(findings, risk, layers, kept.not_looked_at)
    return Review(
        merge_base=change.merge_base,
        head_sha=change.head_sha,
        files=change.total_files,
        additions=change.additions,
        deletions=change.deletions,
        findings=tuple(sorted(findings, key=lambda finding: finding.weight)),
        layers=layers,
        not_looked_at=kept.not_looked_at,
        risk=risk,
        decision=verdict.decision,
        reasons=verdict.reasons,
        conclusion=CONCLUSIONS[verdict.decision],
        seconds=0,
    )


def _model_layer(risk: Risk, configuration: Configuration) -> tuple[LayerReport, ...]:
    """Layer 3 is required above low risk unless the repository does without it; there is none yet to run it."""
    if risk.level is RiskLevel.low:
        return (LayerReport(layer=Layer.model, note="Not needed: risk is low."),)
    if not configuration.review.model:
        return (LayerReport(layer=Layer.model, note="Switched off by the repository (review.model)."),)
    missing = f"Risk is {risk.level.value}, so a model should have read the change, and no model is set up."
    return (LayerReport(layer=Layer.model, missing=missing),)


def _within(change: Change, configuration: Configuration) -> Change:
    """The change without the files that the repository's path filters leave out; those are named."""
    paths = configuration.review.paths
    outside = {
        file.path for file in change.files if not matches(file.path, paths.include) or matches(file.path, paths.exclude)
    }
    named = tuple(NotLookedAt(path=path, reason="left out by review.paths") for path in sorted(outside))
    return change.model_copy(
        update={
            "files": tuple(file for file in change.files if file.path not in outside),
            "not_looked_at": (*change.not_looked_at, *named),
        }
    )
