"""Prepares the questions to the model about one head, after what earlier reviews read, and assesses its answers."""

import asyncio
from collections.abc import Collection, Sequence

from agents.llm.ask import ModelAnswer
from agents.review.effort import EFFORTS
from agents.review.layers import CheckedChange, apply_path_filters
from agents.review.looking_up import ReadableCode
from agents.review.model.file_selection import narrow_change
from agents.review.model.notebooks import show_cells
from agents.review.model.questions import Intent
from domain.errors import HostFailure
from domain.github.pull_requests import PullRequest
from domain.review.changes import Change, FileVersions
from domain.review.findings import Finding, place_on_diff
from domain.runs.run import Phase, Run
from domain.text.description import list_closed_issues
from memory.learned import recall
from pipeline.context import Services
from pipeline.review.earlier_reading import EarlierFindings, EarlierReading, load_earlier_findings, load_earlier_reading
from pipeline.review.model_answers import AssessedAnswers, GivenAnswers
from pipeline.review.question_plan import PreparedQuestions, Shown, explain_look_ups, load_conventions, plan_questions
from pipeline.review.surroundings import find_surroundings, open_code
from pipeline.verdicts.settings import RunSettings
from safety.impact import list_reached


class ModelQuestions:
    """The questions about one head. Reads the code from the mirror; the journal keeps questions and answers."""

    def __init__(self, services: Services, run: Run, settings: RunSettings) -> None:
        self._services = services
        self._run = run
        self._settings = settings
        self._configuration = settings.configuration

    async def load_earlier(self, checked: CheckedChange) -> EarlierFindings:
        """The model's findings of the last review, also dismissed ones."""
        _, change, versions = await self._load_code(checked)
        return await load_earlier_findings(self._services, self._run, checked, change, versions)

    async def prepare(
        self, checked: CheckedChange, settled: Collection[str], failing: Sequence[Finding]
    ) -> PreparedQuestions:
        """The questions: on a push only about new code, and whether the findings in files that changed are gone.

        What mends a finding often stands beside its line.

        :param settled: names of earlier findings that tests settled; :param failing: those that tests still show.
        """
        services, run, settings = self._services, self._run, self._settings
        code, change, versions = await self._load_code(checked)
        said = {*settled, *(each.id for each in failing)}
        before = await load_earlier_reading(services, run, checked, change, versions, said)
        new = change if before.since is None else narrow_change(change, before.since, before.read)
        around = await find_surroundings(code, new, versions)
        written = await load_conventions(services, run, settings, new)
        carried, intent = (*failing, *before.carried), await self._load_intent(before)
        shown = Shown(new, versions, around, written, intent, carried, before.shown)
        plan = await asyncio.to_thread(plan_questions, checked, shown, self._configuration)
        asked = {path for question in plan.questions for path in question.lines}
        unread = asked | {entry.path for entry in plan.not_read}
        effort = EFFORTS[self._configuration.review.effort]
        return PreparedQuestions(
            plan=plan,
            summary=before.summary,
            carried=tuple(place_on_diff(finding, change) for finding in carried),
            changed=before.changed,
            known=tuple(sorted(before.read - unread)),
            reached={} if before.since is None else list_reached(before.read, before.since, around.outlines),
            looks_up_because=await explain_look_ups(effort, plan, checked, code.objects),
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
        code, change, versions = await self._load_code(checked)
        lessons = await recall.list_recalled(self._services.database, self._run.id, Phase.review.value)
        effort = EFFORTS[self._configuration.review.effort]
        given = GivenAnswers(checked, prepared, answers, change, versions, lessons, effort, on_conventions)
        return await given.assess(code)

    async def _load_intent(self, before: EarlierReading) -> Intent:
        """What the change is to do; of a push nobody can tell whether all of it does what an issue asks."""
        if before.since is not None:
            return Intent(title=self._settings.pull_request.title, so_far=before.so_far)
        return await _read_intent(self._services, self._settings.pull_request, self._run)

    async def _load_code(self, checked: CheckedChange) -> tuple[ReadableCode, Change, dict[str, FileVersions]]:
        code = await open_code(self._services, self._run, self._settings, checked)
        change = await code.objects.change(checked.merge_base, code.head_sha)
        change = apply_path_filters(change, self._configuration)
        return code, *show_cells(change, await code.objects.versions(change.files))


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
