"""Prepares the questions to the model about one head, after what earlier reviews read, and assesses its answers."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from agents.llm.ask import ModelAnswer
from agents.review.effort import EFFORTS
from agents.review.layers import CheckedChange, apply_path_filters
from agents.review.model.file_selection import find_current_line, narrow_change
from agents.review.model.notebooks import show_cells
from agents.review.model.questions import EarlierFinding, Intent
from domain.errors import CodeAccessError, HostFailure
from domain.github.pull_requests import PullRequest
from domain.review.changes import Change, ChangeStatus, FileChange, FileVersions
from domain.review.findings import Finding, Layer, place_on_diff, remove_place
from domain.review.identity import carry_over, find_again, find_moved
from domain.review.review import Review
from domain.runs.run import Phase, Run
from domain.text.description import list_closed_issues
from domain.value import Value
from memory.learned import recall
from memory.runs import checkpoints
from pipeline.checkout import fetch_mirror
from pipeline.context import Services
from pipeline.review.model_answers import AssessedAnswers, assess_answers, drop_unfit_suggestions, load_evidence
from pipeline.review.question_plan import PreparedQuestions, Shown, explain_look_ups, load_conventions, plan_questions
from pipeline.review.surroundings import load_surroundings
from pipeline.verdicts.settings import RunSettings
from safety.containment import find_origin
from safety.impact import list_reached, list_read_before


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


class ModelQuestions:
    """The questions about one head. Reads the code from the mirror; the journal keeps questions and answers."""

    def __init__(self, services: Services, run: Run, settings: RunSettings) -> None:
        self._services = services
        self._run = run
        self._settings = settings
        self._configuration = settings.configuration

    async def load_earlier(self, checked: CheckedChange) -> EarlierFindings:
        """The model's findings of the last review, also dismissed ones."""
        return await _load_earlier_findings(self._services, self._run, checked, *await self._load_code(checked))

    async def prepare(
        self, checked: CheckedChange, settled: Collection[str], failing: Sequence[Finding]
    ) -> PreparedQuestions:
        """The questions: on a push only about new code, and whether the findings in files that changed are gone.

        What mends a finding often stands beside its line.

        :param settled: names of earlier findings that tests settled; :param failing: those that tests still show.
        """
        services, run, settings = self._services, self._run, self._settings
        change, versions = await self._load_code(checked)
        said = {*settled, *(each.id for each in failing)}
        before = await _load_earlier_reading(services, run, checked, change, versions, said)
        new = change if before.since is None else narrow_change(change, before.since, before.read)
        around = await load_surroundings(services, run, settings, new, versions, checked.findings)
        written = await load_conventions(services, run, settings, new)
        carried, intent = (*failing, *before.carried), await self._load_intent(before)
        shown = Shown(new, versions, around, written, intent, carried, before.shown)
        plan = await asyncio.to_thread(plan_questions, checked, shown, self._configuration)
        asked = {path for question in plan.questions for path in question.lines}
        unread = asked | {entry.path for entry in plan.not_read}
        effort, mirror = EFFORTS[self._configuration.review.effort], await fetch_mirror(services, run)
        return PreparedQuestions(
            plan=plan,
            summary=before.summary,
            carried=tuple(place_on_diff(finding, change) for finding in carried),
            changed=before.changed,
            known=tuple(sorted(before.read - unread)),
            reached={} if before.since is None else list_reached(before.read, before.since, around.outlines),
            looks_up_because=await explain_look_ups(effort, plan, checked, mirror),
        )

    async def assess(
        self,
        checked: CheckedChange,
        prepared: PreparedQuestions,
        answers: Sequence[ModelAnswer],
        on_conventions: ModelAnswer | None = None,
    ) -> AssessedAnswers:
        """The findings in the answers, and the question of the second look at them.

        :param on_conventions: the answer about the conventions of the repository.
        """
        change, versions = await self._load_code(checked)
        lessons = await recall.list_recalled(self._services.database, self._run.id, Phase.review.value)
        effort = EFFORTS[self._configuration.review.effort]
        mirror = await fetch_mirror(self._services, self._run)
        evidence = await load_evidence(mirror, self._run.head_sha, answers, self._configuration.review)
        assessed = await asyncio.to_thread(
            assess_answers, checked, prepared, answers, change, versions, lessons, effort, on_conventions, evidence
        )
        from_fork = self._settings.pull_request.is_from_fork(self._run.repository.id)
        return await drop_unfit_suggestions(assessed, versions, self._services.toolbox, find_origin(from_fork))

    async def _load_intent(self, before: EarlierReading) -> Intent:
        """What the change is to do; of a push nobody can tell whether all of it does what an issue asks."""
        if before.since is not None:
            return Intent(title=self._settings.pull_request.title, so_far=before.so_far)
        return await _read_intent(self._services, self._settings.pull_request, self._run)

    async def _load_code(self, checked: CheckedChange) -> tuple[Change, dict[str, FileVersions]]:
        mirror = await fetch_mirror(self._services, self._run)
        change = apply_path_filters(await mirror.change(checked.merge_base, self._run.head_sha), self._configuration)
        return show_cells(change, await mirror.versions(change.files))


async def _load_earlier_findings(
    services: Services, run: Run, checked: CheckedChange, change: Change, versions: Mapping[str, FileVersions]
) -> EarlierFindings:
    """The model's findings of the last review, also dismissed ones."""
    last = await _find_last(services, run)
    known = [] if last is None else _filter_model_findings(last)
    if last is None or not known:
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


async def _load_earlier_reading(
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


async def _read_intent(services: Services, pull_request: PullRequest, run: Run) -> Intent:
    """The intent; without the issue where GitHub does not show one.

    :raises RateLimited: GitHub wants Forge to wait.
    """
    host, repository, intent = services.host, run.repository, Intent(title=pull_request.title)
    try:
        words = (await host.issue(repository, pull_request.number)).body
        intent = intent.model_copy(update={"said": words})
        for number in list_closed_issues(words)[:1]:
            issue = await host.issue(repository, number)
            if not issue.is_pull_request:
                return intent.model_copy(update={"issue": number, "asked": f"{issue.title}\n{issue.body}"})
    except HostFailure:  # the issue is gone, or may not be read
        pass
    return intent
