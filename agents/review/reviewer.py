"""The reviewer: runs layers 1 and 2 on a change, and builds the review from all layers."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from agents.review.checks.avoidance import AvoidanceCheck
from agents.review.checks.hidden_text import list_doubles
from agents.review.checks.linters import MOST_FILES
from agents.review.checks.locks.check import compare_locks, find_requests
from agents.review.checks.run import run_checks
from agents.review.layers import CheckedChange, ModelPart
from agents.review.syntax import drop_unfit, find_impacts
from agents.toolbox import Toolbox
from domain.config.configuration import Configuration
from domain.github.pull_requests import DependencyChange
from domain.paths import is_test
from domain.review.changes import Change, TouchedFile, list_moved_tests
from domain.review.findings import place_on_diff
from domain.review.reading import Impact
from domain.review.review import IfUnread, Review, Unread
from safety.containment import find_origin
from safety.eligibility import is_included
from safety.impact import assess_impact, is_all_read, list_unread, touch_by_name
from safety.review_decision import CONCLUSIONS, decide
from safety.risk import PullRequestAuthor, assess, lacks_tests, reassess
from workspace.objects import Objects

PROJECT_FILES = ("pyproject.toml", "ruff.toml", ".ruff.toml", ".pre-commit-config.yaml")
"""Files of the merge base that configure how the code is checked."""


async def check(
    change: Change,
    code: Objects,
    toolbox: Toolbox,
    configuration: Configuration,
    author: PullRequestAuthor,
    dependencies: Callable[[], Awaitable[Sequence[DependencyChange] | None]],
    *,
    trusted: bool = False,
    owned: bool = False,
    avoided: AvoidanceCheck | None = None,
) -> CheckedChange:
    """Run layers 1 and 2.

    :param change: without the files that path filters exclude (see :func:`agents.review.layers.apply_path_filters`).
    :param code: gives the content of the changed files.
    :param dependencies: asks the code host for the dependency comparison; None where it compares none.
    :param trusted: the code is the caller's own checkout.
    :param owned: Forge proposed it. Its run continues after the approval, so a person is asked about unread files.
    :param avoided: how it is looked for places where the change gives up in disguise; None: as configured.
    :raises CodeAccessError: if the content cannot be read. A tool that fails is named in the result instead.
    :raises CodeHostError: if the dependency comparison fails.
    """
    versions, compared = await code.versions(change.files), await dependencies()
    origin = find_origin(author.from_fork, trusted)
    locks = await compare_locks(change, code, toolbox, origin)
    avoided = avoided or AvoidanceCheck(configuration.avoidance, owned=owned)
    checked = await run_checks(
        change,
        versions,
        project=await code.read(change.merge_base, PROJECT_FILES),
        linters=configuration.review.linters,
        linter_files=await _read_linter_files(code, change.merge_base, configuration),
        dependencies=compared,
        locks=locks,
        toolbox=toolbox,
        first_party=await code.packages(change.head_sha),
        doubles=await code.read(change.merge_base, list_doubles(change)),
        origin=origin,
        avoided=avoided,
    )
    parsed = await find_impacts(change, versions, toolbox, origin)
    impacts = assess_impact(change.touched, parsed, configuration.review.instructions, change.files)
    fit = await drop_unfit(checked.findings, versions, toolbox, origin)
    findings = await asyncio.to_thread(lambda: tuple(place_on_diff(finding, change) for finding in fit))
    touched = tuple(_apply_path_filter(locks.mark_unread(each), configuration) for each in change.touched)
    has_tests = not lacks_tests(change, impacts) or await code.has_tests(change.merge_base)
    sensitive, silencing = configuration.paths.sensitive, checked.silencing
    return CheckedChange(
        merge_base=change.merge_base,
        head_sha=change.head_sha,
        files=change.total_files,
        additions=change.additions,
        deletions=change.deletions,
        paths=change.paths,
        findings=findings,
        layers=checked.layers,
        not_looked_at=(*locks.drop_compared(change.not_looked_at), *checked.not_read),
        sandbox=toolbox.containment,
        risk=await asyncio.to_thread(assess, change, findings, author, sensitive, silencing, has_tests, impacts),
        touched=touched,
        behaviour=() if owned else _list_behaviour(touched, impacts, list_moved_tests(change)),
        plain=() if owned else tuple(each.path for each in touched if each.may_run and not impacts[each.path].is_logic),
        read_by=dict(checked.read_by),
        if_unread=_resolve_if_unread(configuration, owned),
        takes_claims=avoided.takes_claims,
        locks=(*await asyncio.to_thread(locks.list_changes), *await find_requests(change, code, toolbox, origin)),
    )


def _list_behaviour(
    touched: Sequence[TouchedFile], impacts: Mapping[str, Impact], moved: Collection[str]
) -> tuple[str, ...]:
    """The source that may change what the program does, and the tests that are gone.

    :param moved: paths of deleted tests whose lines stand in other tests now.
    """
    gone = {each.path for each in touched if each.is_gone and is_test(each.path)} - {*moved}
    return tuple(each.path for each in touched if (each.may_run or each.path in gone) and impacts[each.path].is_logic)


async def _read_linter_files(code: Objects, merge_base: str, configuration: Configuration) -> dict[str, bytes]:
    """What the configured linters want of the merge base; one more than is allowed, so that too many are noticed."""
    patterns = [glob for linter in configuration.review.linters for glob in linter.files]
    return await code.read_matching(merge_base, patterns, MOST_FILES + 1)


def _apply_path_filter(file: TouchedFile, configuration: Configuration) -> TouchedFile:
    """The file; one that the repository excludes needs no reader."""
    return file if is_included(file.path, configuration.review.paths) else file.model_copy(update={"may_run": False})


def _resolve_if_unread(configuration: Configuration, owned: bool) -> IfUnread:
    configured = configuration.review.unread
    return IfUnread.ask if owned and configured is IfUnread.neutral else configured


def build_review(checked: CheckedChange, model: ModelPart) -> Review:
    """The review that follows from all layers: risk, decision and conclusion (pure)."""
    known = checked.findings
    findings = tuple(sorted((*known, *model.findings), key=lambda finding: finding.sort_key))
    risk = reassess(checked.risk, findings)
    layers = (*checked.layers, model.report)
    not_looked_at = (*checked.not_looked_at, *model.not_read)
    touched = checked.touched or touch_by_name(checked.paths)
    read = {*checked.read_by, *model.read}
    unread = list_unread(touched, read | {*checked.plain})
    deleted = {each.path for each in touched if each.is_gone}
    told = deleted if model.read else set[str]()  # a model is told what is gone
    logic = tuple(path for path in checked.behaviour if path not in {*model.read, *unread, *told})
    gone = tuple(path for path in logic if path in deleted)
    scripts = tuple(each.path for each in touched if each.is_script and each.path in unread)
    lacks_model = not model.is_set_up
    nobody = Unread(
        paths=unread, logic=logic, scripts=scripts, gone=gone, then=checked.if_unread, lacks_model=lacks_model
    )
    held_for = checked.only_for if checked.is_shared else ""
    verdict = decide(findings, risk, layers, not_looked_at, unread=nobody, held_for=held_for)
    return Review(
        merge_base=checked.merge_base,
        head_sha=checked.head_sha,
        files=checked.files,
        additions=checked.additions,
        deletions=checked.deletions,
        findings=findings,
        layers=layers,
        not_looked_at=not_looked_at,
        read_by=checked.read_by,
        read_by_model=model.read,
        only_for=checked.only_for,
        is_shared=checked.is_shared,
        unread=nobody,
        is_all_read=is_all_read(checked.touched, read),
        uncounted=sum(each.lines is None for each in checked.touched),
        changed=checked.paths,
        moved=sum(each.is_only_moved for each in touched),
        renamed={each.old_path: each.path for each in touched if each.old_path and each.old_path != each.path},
        protected=checked.protected,
        locks=checked.locks,
        late=model.late,
        summary=model.summary,
        issue=model.issue,
        conventions=model.conventions,
        sandbox=checked.sandbox,
        risk=risk,
        decision=verdict.decision,
        reasons=verdict.reasons,
        conclusion=CONCLUSIONS[verdict.decision],
        seconds=0,
    )
