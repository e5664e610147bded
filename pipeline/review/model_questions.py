"""Prepares the questions to the model about one head, and assesses its answers."""

import asyncio
from collections.abc import Collection, Sequence

from pydantic import BaseModel

from agents.llm.ask import ModelAnswer
from agents.review.effort import EFFORTS
from agents.review.layers import CheckedChange, apply_path_filters
from agents.review.model.layer import (
    EarlierFinding,
    Intent,
    build_questions,
    find_current_line,
    narrow_change,
    show_cells,
)
from domain.errors import CodeAccessError
from domain.review.changes import Change, ChangeStatus, FileChange, FileVersions
from domain.review.findings import Finding, Layer, place_on_diff, remove_place
from domain.review.identity import carry_over
from domain.review.review import Review
from domain.runs.run import Phase, Run
from domain.text.redaction import redact_outgoing
from memory.learned import recall
from memory.runs import checkpoints
from pipeline.checkout import fetch_mirror
from pipeline.context import Services
from pipeline.review.conventions import load_conventions
from pipeline.review.intent import load_intent
from pipeline.review.model_answers import (
    AssessedAnswers,
    PreparedQuestions,
    assess_answers,
    drop_unfit_suggestions,
    explain_look_ups,
    load_evidence,
)
from pipeline.review.surroundings import load_surroundings
from pipeline.verdicts.settings import RunSettings
from safety.containment import find_origin
from safety.impact import list_reached, list_read_before, list_riskiest


class EarlierFindings(BaseModel):
    """The model's findings of the last review of this pull request.

    :param findings: where they stand by now; without a line if nobody can tell.
    :param shown: those that count and that running a test showed.
    """

    findings: tuple[Finding, ...]
    shown: tuple[Finding, ...] = ()


class ModelQuestions:
    """The questions about one head. Reads the code from the mirror; the journal keeps questions and answers."""

    def __init__(self, services: Services, run: Run, settings: RunSettings) -> None:
        self._services = services
        self._run = run
        self._settings = settings
        self._configuration = settings.configuration

    async def load_earlier(self, checked: CheckedChange) -> EarlierFindings:
        """The model's findings of the last review, also dismissed ones."""
        previous = await self._find_previous()
        known = [] if previous is None else _filter_model_findings(previous)
        if previous is None or not known:
            return EarlierFindings(findings=())
        since = await self._load_changes_since(previous, checked)
        change, _ = await self._load_code(checked)
        placed = map(remove_place, known) if since is None else _place_now(known, since, change)
        shown = tuple(each for each in previous.findings if each.proof is not None and each.proof.is_shown)
        return EarlierFindings(findings=tuple(placed), shown=shown)

    async def prepare(
        self, checked: CheckedChange, settled: Collection[str], failing: Sequence[Finding]
    ) -> PreparedQuestions:
        """The questions: on a push only about new code, and whether the findings in files that changed are gone.

        What mends a finding often stands beside its line.

        :param settled: names of earlier findings that tests settled; :param failing: those that tests still show.
        """
        change, versions = await self._load_code(checked)
        previous = await self._find_previous()
        since = None if previous is None else await self._load_changes_since(previous, checked)
        said = {*settled, *(each.id for each in failing)}
        known = [] if previous is None or since is None else _filter_model_findings(previous)
        earlier = [] if since is None else _place_now([f for f in known if f.id not in said], since, change)
        changed = [f for f in earlier if since is not None and since.file(f.path) is not None and f.path in versions]
        ids = {finding.id for finding in changed}
        carried = [*failing, *(finding for finding in earlier if finding.id not in ids)]
        read = frozenset[str]()
        if previous is not None and since is not None:
            mirror = await fetch_mirror(self._services, self._run)
            compared = await mirror.change(previous.merge_base, previous.head_sha)
            read = list_read_before(previous.read_by_model, compared, change, since)
        shown = await self._load_earlier_code([each for each in known if each.id in ids], previous, since)
        asked_about = change if since is None else narrow_change(change, since, read)
        around = await load_surroundings(
            self._services, self._run, self._settings, asked_about, versions, checked.findings
        )
        so_far = () if previous is None or since is None else previous.summary
        intent = Intent(title=self._settings.pull_request.title, so_far=so_far)
        if since is None:  # else only a part is read, which cannot tell whether all of it does what an issue asks
            intent = await load_intent(self._services.host, self._run.repository, self._settings.pull_request)
        riskiest = list_riskiest(asked_about.files, checked.findings, self._configuration.paths.sensitive)
        written = await load_conventions(self._services, self._run, self._settings, asked_about)
        effort, mirror = EFFORTS[self._configuration.review.effort], await fetch_mirror(self._services, self._run)
        plan = await asyncio.to_thread(
            lambda: build_questions(
                asked_about,
                versions,
                (*checked.findings, *carried),
                intent=intent,
                earlier=shown,
                never_send=self._configuration.review.never_send,
                redact=redact_outgoing,
                size=effort.limits,
                outlines=around.outlines,
                related=around.related,
                riskiest=riskiest,
                written=written,
                texts=checked.is_low,
                says=effort.says,
            )
        )
        asked = {path for question in plan.questions for path in question.lines}
        unread = asked | {entry.path for entry in plan.not_read}
        return PreparedQuestions(
            plan=plan,
            summary=() if previous is None or since is None else _keep_summary(previous, since),
            carried=tuple(place_on_diff(f, change) for f in carried),
            changed=tuple(changed),
            known=tuple(sorted(read - unread)),
            reached={} if since is None else list_reached(read, since, around.outlines),
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

    async def _load_code(self, checked: CheckedChange) -> tuple[Change, dict[str, FileVersions]]:
        mirror = await fetch_mirror(self._services, self._run)
        change = apply_path_filters(await mirror.change(checked.merge_base, self._run.head_sha), self._configuration)
        return show_cells(change, await mirror.versions(change.files))

    async def _load_earlier_code(
        self, changed: Sequence[Finding], previous: Review | None, since: Change | None
    ) -> list[EarlierFinding]:
        """The findings in changed files with the code they were about, and where that is now.

        :param changed: as they stood at the last reviewed head.
        """
        if previous is None or since is None or not changed:
            return []
        paths = sorted({finding.path for finding in changed})
        contents = await (await fetch_mirror(self._services, self._run)).read(previous.head_sha, paths)
        return [
            _build_earlier(finding, contents.get(finding.path, b""), _find_successor(finding.path, since))
            for finding in changed
        ]

    async def _find_previous(self) -> Review | None:
        """The last review of another head of this pull request, unless everything is to be read from scratch."""
        if self._run.attempt > 1:
            return None
        found = await checkpoints.load_latest_review(
            self._services.database, self._run.repository.id, self._run.number, before=self._run.id
        )
        return None if found is None or found.head_sha == self._run.head_sha else found

    async def _load_changes_since(self, previous: Review, checked: CheckedChange) -> Change | None:
        """The changes since the last reviewed head; None if that head no longer exists.

        Also None if that head was compared with something else, as before a change of the base: then more is new.
        """
        mirror = await fetch_mirror(self._services, self._run)
        try:
            if await mirror.merge_base(previous.merge_base, checked.merge_base) != previous.merge_base:
                return None
            return await mirror.change(previous.head_sha, self._run.head_sha)
        except CodeAccessError:
            return None


def _filter_model_findings(previous: Review) -> list[Finding]:
    """The model's findings of a review, also dismissed ones."""
    return [finding for finding in previous.all_findings if finding.layer is Layer.model]


def _place_now(known: Sequence[Finding], since: Change, change: Change) -> list[Finding]:
    """Findings of the last reviewed head where they stand by now, but for those in files that left the change."""
    successors = [(finding, _find_successor(finding.path, since)) for finding in known]
    placed = [finding if file is None else carry_over(finding, file) for finding, file in successors]
    return [
        place_on_diff(each, change) for each in placed if since.file(each.path) is None or each.path in change.paths
    ]


def _find_successor(path: str, since: Change) -> FileChange | None:
    """How a file changed since, whatever it is called by now; None if it did not."""
    renamed = (each for each in since.files if each.old_path == path and each.status is ChangeStatus.renamed)
    return since.file(path) or next(renamed, None)


def _keep_summary(previous: Review, since: Change) -> tuple[str, ...]:
    """What the last review said that the change does, as long as nothing changed of what that was told from."""
    return () if {*since.paths} & {*previous.read_by_model} else previous.summary


def _build_earlier(finding: Finding, content: bytes, since: FileChange | None) -> EarlierFinding:
    """A finding in a file that was changed, with the code it was about."""
    lines = content.decode(errors="replace").split("\n")
    start = finding.line or 1
    before = lines[max(0, start - 3) : (finding.end_line or start) + 2]
    return EarlierFinding(
        id=finding.id,
        rule=finding.rule,
        path=finding.path if since is None else since.path,
        line=None if since is None or finding.line is None else find_current_line(since, finding.line),
        message=finding.message,
        before="\n".join(before),
    )
