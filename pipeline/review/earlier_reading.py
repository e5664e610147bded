"""Loads what a review builds on: what the model read and found at the last reviewed head, and where that is by now."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from agents.review.layers import CheckedChange
from agents.review.model.file_selection import find_current_line
from agents.review.model.questions import EarlierFinding
from domain.errors import CodeAccessError
from domain.review.changes import Change, ChangeStatus, FileChange, FileVersions
from domain.review.findings import Finding, Layer, place_on_diff, remove_place
from domain.review.identity import carry_over, find_again, find_moved
from domain.review.review import Review
from domain.runs.run import Run
from domain.value import Value
from memory.runs import checkpoints
from pipeline.checkout import fetch_mirror
from pipeline.context import Services
from safety.impact import list_read_before


class EarlierFindings(Value):
    """The model's findings of the last review of this pull request.

    :param findings: where they stand by now; without a line if nobody can tell.
    :param shown: those that count and that running a test showed.
    """

    findings: tuple[Finding, ...]
    shown: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class EarlierReading:
    """What a review of a push builds on; nothing where there was none, or more than the push is new.

    :param since: what changed since the last reviewed head; None: all of the change is new.
    :param read: paths that the model read in full then.
    :param so_far: what the last review said that the change does.
    :param summary: the same, as long as nothing changed of what that was told from.
    :param carried: the model's findings in files that did not change since, where they stand by now.
    :param changed: those in the others.
    :param shown: the latter as the model is asked about them again.
    """

    since: Change | None = None
    read: frozenset[str] = frozenset()
    so_far: tuple[str, ...] = ()
    summary: tuple[str, ...] = ()
    carried: tuple[Finding, ...] = ()
    changed: tuple[Finding, ...] = ()
    shown: tuple[EarlierFinding, ...] = ()


async def load_earlier_findings(
    services: Services, run: Run, checked: CheckedChange, change: Change, versions: Mapping[str, FileVersions]
) -> EarlierFindings:
    """The model's findings of the last review, also dismissed ones."""
    last = await _find_last(services, run)
    if last is None or not (known := _filter_model_findings(last)):
        return EarlierFindings(findings=())
    since = await _load_changes_since(services, run, last, checked)
    if since is None:
        placed = map(remove_place, known)
    else:
        placed = await asyncio.to_thread(_place_now, known, since, change, versions)
    shown = tuple(each for each in last.findings if each.proof is not None and each.proof.is_shown)
    return EarlierFindings(findings=tuple(placed), shown=shown)


async def _find_last(services: Services, run: Run) -> Review | None:
    """The last review of another head of a pull request, unless everything is to be read from scratch."""
    if run.attempt > 1:
        return None
    found = await checkpoints.load_latest_review(services.database, run.repository.id, run.number, before=run.id)
    return None if found is None or found.head_sha == run.head_sha else found


def _filter_model_findings(last: Review) -> list[Finding]:
    """The model's findings of a review, also dismissed ones."""
    return [finding for finding in last.all_findings if finding.layer is Layer.model]


async def _load_changes_since(services: Services, run: Run, last: Review, checked: CheckedChange) -> Change | None:
    """The changes since the last reviewed head; None if that head no longer exists.

    Also None if that head was compared with something else, as before a change of the base: then more is new.
    """
    mirror = await fetch_mirror(services, run)
    try:
        if await mirror.merge_base(last.merge_base, checked.merge_base) != last.merge_base:
            return None
        return await mirror.change(last.head_sha, run.head_sha)
    except CodeAccessError:
        return None


def _place_now(
    known: Sequence[Finding], since: Change, change: Change, versions: Mapping[str, FileVersions]
) -> list[Finding]:
    """Findings of the last reviewed head where they stand by now, but for those in files that left the change."""
    texts = {
        path: (version.head or b"").decode(errors="replace").split("\n")
        for path, version in versions.items()
        if since.file(path) is not None
    }
    added = {file.path: file.changed_lines for file in since.files}
    placed = [_place(finding, since, texts, added) for finding in known]
    return [
        place_on_diff(each, change) for each in placed if since.file(each.path) is None or each.path in change.paths
    ]


def _place(
    finding: Finding, since: Change, texts: Mapping[str, Sequence[str]], added: Mapping[str, Collection[int]]
) -> Finding:
    """Where a finding stands: on its line, or where its statement moved to, or on the line that replaced it."""
    file = _find_successor(finding.path, since)
    if file is None:
        return finding
    here = carry_over(finding, file)
    again = None if here.line is None else find_again(here, texts.get(here.path, ()))
    if again is not None and again.line == here.line:
        return here
    return find_moved(finding, texts, added) or here


def _find_successor(path: str, since: Change) -> FileChange | None:
    """How a file changed since, whatever it is called by now; None if it did not."""
    renamed = (each for each in since.files if each.old_path == path and each.status is ChangeStatus.renamed)
    return since.file(path) or next(renamed, None)


async def load_earlier_reading(
    services: Services,
    run: Run,
    checked: CheckedChange,
    change: Change,
    versions: Mapping[str, FileVersions],
    settled: Collection[str],
) -> EarlierReading:
    """What a review can build on.

    :param settled: names of earlier findings of which tests said what became of them.
    """
    last = await _find_last(services, run)
    since = None if last is None else await _load_changes_since(services, run, last, checked)
    if last is None or since is None:
        return EarlierReading()
    mirror = await fetch_mirror(services, run)
    compared = await mirror.change(last.merge_base, last.head_sha)
    known = [each for each in _filter_model_findings(last) if each.id not in settled]
    placed = await asyncio.to_thread(_place_now, known, since, change, versions)
    changed = [each for each in placed if since.file(each.path) is not None and each.path in versions]
    asked = {each.id: each for each in changed}
    then = [(each, asked[each.id]) for each in known if each.id in asked]
    return EarlierReading(
        since=since,
        read=list_read_before(last.read_by_model, compared, change, since),
        so_far=last.summary,
        summary=() if {*since.paths} & {*last.read_by_model} else last.summary,
        carried=tuple(each for each in placed if each.id not in asked),
        changed=tuple(changed),
        shown=await _show_then(services, run, then, last, since),
    )


async def _show_then(
    services: Services, run: Run, findings: Sequence[tuple[Finding, Finding]], last: Review, since: Change
) -> tuple[EarlierFinding, ...]:
    """Findings with the code they were about, and where that is now; where it is gone, what follows it.

    :param findings: each as it stood at the last reviewed head, and where it stands now.
    """
    paths = sorted({then.path for then, _ in findings})
    contents = await (await fetch_mirror(services, run)).read(last.head_sha, paths) if paths else {}
    return tuple(
        _build_earlier(then, now, contents.get(then.path, b""), _find_successor(then.path, since))
        for then, now in findings
    )


def _build_earlier(then: Finding, now: Finding, content: bytes, since: FileChange | None) -> EarlierFinding:
    """A finding in a file that was changed, with the code it was about."""
    lines = content.decode(errors="replace").split("\n")
    start = then.line or 1
    before = lines[max(0, start - 3) : (then.end_line or start) + 2]
    line = find_current_line(since, then.line) if now.line is None and then.line and since is not None else now.line
    return EarlierFinding(
        id=then.id, rule=then.rule, path=now.path, line=line, message=then.message, before="\n".join(before)
    )
