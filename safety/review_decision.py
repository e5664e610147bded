"""Decides a review from its findings, risk and layers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from domain.paths import instructs_models, is_lock, is_manifest, is_program, is_source
from domain.review.changes import SkippedFile
from domain.review.findings import Finding, RawFinding, Severity
from domain.review.review import (
    NOTHING_UNREAD,
    Conclusion,
    Decision,
    IfUnread,
    JudgedFindings,
    LayerReport,
    Risk,
    RiskLevel,
    Unread,
)
from domain.verdicts import Reason
from safety.protected_files import runs_on_push

CONCLUSIONS = {
    Decision.approve: Conclusion.success,
    Decision.request_changes: Conclusion.failure,
    Decision.require_human: Conclusion.action_required,
    Decision.unread: Conclusion.neutral,
}
"""The conclusion of ``Forge / review`` for each decision (docs/contract.md, checks)."""

BLOCKING = "findings.blocking"
"""The code of findings that block, which it lists."""

UNREAD = "source.unread"
"""The reason that names source which nobody read."""

UNTHOUGHT = "logic.unread"
"""The reason that names source of which linters are the only readers."""

EXPOSED = "credential.history"
"""The reason that names credentials of earlier heads: only the word that they are revoked ends it."""

_NEITHER = "neither a linter nor a model read"
_NAMED = 20  # rows about unread paths, which a list shows


_SOURCE = ("file of source", "files of source")
_LIST = ("list of dependencies", "lists of dependencies")
_LOCK = ("lock file", "lock files")
_OBEYED = ("file that agents obey", "files that agents obey")
_REST = ("file beside the source", "files beside the source")
_KINDS = (_SOURCE, _LIST, _LOCK, _OBEYED, _REST)
"""What people call one file of a kind, and more of them."""


@dataclass(frozen=True)
class ReviewDecision:
    """A decision with its reasons, the most important first."""

    decision: Decision
    reasons: tuple[Reason, ...]


def decide(
    findings: Sequence[RawFinding],
    risk: Risk,
    layers: Sequence[LayerReport],
    not_looked_at: Sequence[SkippedFile],
    in_history: Sequence[Finding] = (),
    unread: Unread = NOTHING_UNREAD,
    held_for: str = "",
) -> ReviewDecision:
    """Decides the review. Failed, missing or unread parts never count as an approval.

    :param layers: every layer that was required or ran.
    :param in_history: credentials of earlier heads that nobody has confirmed as revoked.
    :param unread: unread source, and the repository's setting for it.
    :param held_for: the base branch, where a check that passes would pass for its own changes elsewhere, too.
    """
    changes = _find_blocking(findings)
    grounds = (*_find_risky(risk), *_find_incomplete(layers), *_find_unseen(not_looked_at))
    human = (*_find_held(held_for), *explain_exposed(in_history), *grounds)
    nobody = (*_find_unread(unread, findings, layers, not_looked_at), *_find_unthought(unread, findings, not_looked_at))
    if changes:
        return ReviewDecision(Decision.request_changes, (*changes, *human, *nobody))
    if human or (nobody and unread.then is IfUnread.ask):
        return ReviewDecision(Decision.require_human, (*human, *nobody))
    if nobody and unread.then is IfUnread.neutral:
        return ReviewDecision(Decision.unread, nobody)
    return ReviewDecision(Decision.approve, (_calm(findings, risk, layers, not_looked_at), *nobody))


def raise_confirmed(findings: Sequence[Finding], judged: JudgedFindings) -> Sequence[Finding]:
    """The findings as they count: one that a person confirmed blocks."""
    return [
        each.model_copy(update={"severity": Severity.error})
        if each.fingerprint in judged.confirmed and each.severity.rank < Severity.error.rank
        else each
        for each in findings
    ]


def _find_blocking(findings: Sequence[RawFinding]) -> tuple[Reason, ...]:
    blocking = [finding for finding in findings if finding.blocks]
    if not blocking:
        return ()
    children = tuple(
        Reason(code=finding.rule, text=f"{finding.severity.value}: {finding.rule} in {finding.where}")
        for finding in blocking
    )
    noun = "finding" if len(blocking) == 1 else "findings"
    text = f"{len(blocking)} {noun} of severity error or above"
    return (Reason(code=BLOCKING, text=text, value=len(blocking), threshold=1, children=children),)


def _find_held(base: str) -> tuple[Reason, ...]:
    """A person answers for what a head would bring elsewhere, as GitHub ties a check to the head alone."""
    if not base:
        return ()
    text = (
        f"{base} has changes of its own, which this review did not look at: the check counts for this head wherever "
        "the pull request is moved, so whoever approves answers for them, too"
    )
    return (Reason(code="base.shared", text=text),)


def explain_exposed(in_history: Sequence[Finding]) -> tuple[Reason, ...]:
    """Deleting a credential does not undo its exposure."""
    if not in_history:
        return ()
    number = len(in_history)
    text = (
        "A credential was in an earlier commit and is in the history: revoke it"
        if number == 1
        else f"{number} credentials were in earlier commits and are in the history: revoke them"
    )
    children = tuple(Reason(code=each.rule, text=f"{each.rule}, was in {each.where}") for each in in_history)
    return (Reason(code=EXPOSED, text=text, value=number, threshold=1, children=children),)


def _find_risky(risk: Risk) -> tuple[Reason, ...]:
    if risk.level not in {RiskLevel.high, RiskLevel.critical}:
        return ()
    who = "a person" if risk.level is RiskLevel.high else "a maintainer"
    text = f"Risk is {risk.level.value} ({risk.score} of 100), so {who} should review it"
    return (Reason(code="risk.level", text=text, value=risk.score, threshold=50),)


def _find_incomplete(layers: Sequence[LayerReport]) -> tuple[Reason, ...]:
    missing = [Reason(code="layer.missing", text=layer.missing) for layer in layers if layer.missing is not None]
    failed = [
        Reason(code="tool.failed", text=_explain_failure(tool.tool, tool.problem))
        for layer in layers
        for tool in layer.tools
        if tool.problem is not None
    ]
    return (*missing, *failed, *_find_cut(sum(layer.cut for layer in layers)))


def _explain_failure(tool: str, problem: str) -> str:
    """What went wrong, with the name of the tool once."""
    return problem if problem.startswith(f"{tool} ") else f"{tool} failed: {problem}"


def _find_cut(findings: int) -> tuple[Reason, ...]:
    """Nobody can dismiss findings that were cut, so they block an approval."""
    if not findings:
        return ()
    text = f"{findings:,} more {'finding is' if findings == 1 else 'findings are'} left out, because there are too many"
    return (Reason(code="findings.cut", text=text, value=findings, threshold=1),)


def _find_unseen(not_looked_at: Sequence[SkippedFile]) -> tuple[Reason, ...]:
    unseen = [entry for entry in not_looked_at if entry.matters]
    if not unseen:
        return ()
    children = tuple(Reason(code="unseen", text=f"{entry.path}: {entry.reason}") for entry in unseen)
    return (Reason(code="coverage.partial", text="Forge did not look at parts of the change", children=children),)


def _find_unread(
    unread: Unread,
    findings: Sequence[RawFinding],
    layers: Sequence[LayerReport],
    not_looked_at: Sequence[SkippedFile],
) -> tuple[Reason, ...]:
    """Names unread source, with the reason if there is one; the tools' silence does not cover it."""
    if not unread.paths:
        return ()
    number = len(unread.paths)
    left = number - _NAMED + 1 if number > _NAMED else 0
    ran = len({tool.tool for layer in layers for tool in layer.tools if tool.files > 0 and tool.problem is None})
    found = f"{'Nothing else' if findings else 'Nothing'} was found by {ran} tool{'' if ran == 1 else 's'}"
    which = _count_unread(unread)
    nobody = f"no linter read {which}, and no model is set up" if unread.lacks_model else f"{_NEITHER} {which}"
    text = f"{found}; {nobody}"
    paths = sorted(unread.paths, key=lambda path: _KINDS.index(_find_kind(path, unread.scripts)))
    why = {each.path: f": {each.reason}" for each in reversed(not_looked_at)}
    named = [Reason(code="unread", text=f"{path}{why.get(path, '')}") for path in paths[: number - left]]
    more = [Reason(code="unread", text=f"and {left:,} more")] if left > 0 else []
    return (Reason(code=UNREAD, text=text, value=number, children=(*named, *more)),)


def _count_unread(unread: Unread) -> str:
    """How many files of each kind there are, such as "2 files of source and 1 lock file"."""
    numbers = Counter(_find_kind(path, unread.scripts) for path in unread.paths)
    told = [f"{numbers[kind]:,} {kind[numbers[kind] > 1]}" for kind in _KINDS if numbers[kind]]
    return " and ".join(filter(None, (", ".join(told[:-1]), told[-1])))


def _find_kind(path: str, scripts: Sequence[str]) -> tuple[str, str]:
    if is_manifest(path):
        return _LIST
    if is_lock(path):
        return _LOCK
    if instructs_models(path) and not is_source(path) and not runs_on_push(path):
        return _OBEYED
    return _SOURCE if path in scripts or is_program(path) else _REST


def _find_unthought(
    unread: Unread, findings: Sequence[RawFinding], not_looked_at: Sequence[SkippedFile]
) -> tuple[Reason, ...]:
    """Names the source that linters read and nobody else: what they say nothing of may be wrong all the same."""
    if not unread.logic:
        return ()
    read = [path for path in unread.logic if path not in unread.gone]
    in_part = {each.path for each in not_looked_at if each.by_model}  # of these a model may have said something
    whole = "all of the logic" if in_part.intersection(read) else "the logic"
    none = "No model is set up that would read" if unread.lacks_model else "No model read"
    nobody = [f"{whole} of {_name_first(read)}"] if read else []
    nobody += [f"why files of tests were deleted: {_name_first(unread.gone)}"] if unread.gone else []
    found = "Linters found nothing that blocks. " if findings else "Linters found nothing. "
    text = f"{'' if _find_blocking(findings) else found}{none} {', nor '.join(nobody)}"
    return (Reason(code=UNTHOUGHT, text=text, value=len(unread.logic)),)


def _name_first(paths: Sequence[str]) -> str:
    rest = len(paths) - 3
    return f"{', '.join(paths[:3])}{f' and {rest:,} more' if rest > 0 else ''}"


def _calm(
    findings: Sequence[RawFinding], risk: Risk, layers: Sequence[LayerReport], not_looked_at: Sequence[SkippedFile]
) -> Reason:
    is_checked = any(layer.tools for layer in layers) or not not_looked_at
    found = "Nothing that blocks" if findings else "Nothing was found" if is_checked else "No tool looks at such files"
    return Reason(code="risk.level", text=found, value=risk.score)
