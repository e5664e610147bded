"""The testing phase: runs the tests of one head in the sandbox, has failures analysed, and shows what they came to."""

import asyncio
from collections.abc import Awaitable, Collection
from datetime import timedelta
from functools import partial

from pydantic import BaseModel, ConfigDict, JsonValue

from agents.llm.ask import ModelAnswer, ask
from agents.llm.context import PromptContext
from agents.llm.models import LanguageModel, ModelTier, Unusable
from agents.testing import actions, analysis, missing_tests
from agents.testing.failure_classes import classify_failure, find_own_modules
from agents.testing.tester import Tester
from agents.testing.weakened import find_weakened
from domain.config.configuration import Configuration
from domain.gates import digest
from domain.ports import ModelBudget
from domain.review.changes import Change
from domain.review.review import RiskLevel
from domain.runs.run import Phase, Run
from domain.runs.task_result import RequiredFix
from domain.runs.testing import Analysis, FailureClass, TestRun, Verdict, decide_verdict
from domain.text.redaction import redact_outgoing
from memory.ledger import ledger
from memory.runs import outbox
from messages import tests as test_texts
from messages.review import CheckText
from pipeline.checkout import fetch_mirror
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.model_calls.budgeted import BudgetedCalls, Keep
from pipeline.model_calls.guards import GuardedTask
from pipeline.model_calls.recall import RecallTopic
from pipeline.publishing.progress import ProgressUpdates
from pipeline.publishing.test_check import HeadTestCheck
from pipeline.runs.lifecycle import answer_nothing, run_while_current
from pipeline.steps import run_outside_journal
from workspace.mirror import Mirror
from workspace.snapshot import Snapshot

_MAX_LOGS = 10  # of failed jobs
GRACE = timedelta(minutes=10)
"""How long GitHub may take to begin a workflow on a new head."""
_PATIENCE = timedelta(hours=6)
_NOT_ENDED = "The workflows of the repository did not end within six hours. Look at them, then write `/forge test`."
_NO_WORKFLOW = (
    "GitHub began no workflow on this head within ten minutes. A workflow has to run `on: pull_request` or `on: push` "
    "for this branch; to have Forge run the tests itself, set `testing: {runner: sandbox}`."
)


class HeadTestResult(BaseModel):
    """What testing a head came to.

    :param to_fix: the failures that the implementer can mend.
    :param missing: the tests that the change lacks.
    :param weakened: the tests that it takes away.
    """

    model_config = ConfigDict(frozen=True)

    head: str
    run: TestRun
    analyses: tuple[Analysis, ...] = ()
    to_fix: tuple[RequiredFix, ...] = ()
    missing: tuple[RequiredFix, ...] = ()
    weakened: tuple[RequiredFix, ...] = ()

    @property
    def verdict(self) -> Verdict:
        return decide_verdict(self.run)

    @property
    def failures(self) -> tuple[RequiredFix, ...]:
        """Everything that failed, also what nobody knows how to mend."""
        cases = {case.id: case for case in analysis.list_failures(self.run)}
        return tuple(
            RequiredFix(
                path=(case.path or "") if (case := cases.get(each.test_id)) else "",
                line=case.line if case else None,
                rule=each.test_id,
                message=each.root_cause,
            )
            for each in self.analyses
            if each.failure_class is not FailureClass.flaky
        )


def _classify_failures(run: TestRun, modules: Collection[str]) -> tuple[Analysis, ...]:
    return tuple(classify_failure(case, run.flaky, modules) for case in analysis.list_failures(run))


class HeadTester:
    """One testing of one head.

    :param run: on whose account it happens.
    :param head: commit to test; here, in the mirror.
    :param occasion: tells one testing of this head from another.
    :param attempt: how often the run's change was tested, this time included: guards bound each analysis for itself.
    """

    def __init__(
        self,
        services: Services,
        journal: WorkflowJournal,
        run: Run,
        configuration: Configuration,
        head: str,
        occasion: str,
        attempt: int = 1,
    ) -> None:
        self._services = services
        self._journal = journal
        self._run = run
        self._configuration = configuration
        self._head = head
        self._attempt = attempt
        self._shown = HeadTestCheck(services, run, head, occasion)
        self._telling = ProgressUpdates(services.database, run, services.progress_delay)

    async def test(self, level: RiskLevel, *, asks: bool = True) -> HeadTestResult | None:
        """Test the head; never an error of the tests'. None while the repository's own workflows have not ended.

        :param level: the risk of the change, which decides how many tests are run.
        :param asks: whether a model says what failures mean.
        :raises AtGate: if a person has to let the analysis go on first.
        """
        try:
            tested = await self._test_and_analyse(level, asks)
        finally:
            await self._telling.quiet()
        if tested is None:
            return None
        text = test_texts.render_outcome(
            tested.run, tested.analyses, proposes=bool(tested.missing), weakened=tested.weakened
        )
        await self._journal.step("show the tests", lambda: answer_nothing(self._conclude(tested, text)))
        return tested

    async def _conclude(self, tested: HeadTestResult, text: CheckText) -> None:
        failed = [
            {"test": case.id, "path": case.path, "line": case.line} for case in analysis.list_failures(tested.run)
        ]
        now = self._services.clock.now()
        await ledger.record_failed_tests(self._services.database, self._run, self._shown.external_id, failed, now)
        await self._shown.conclude(tested.verdict, text)

    async def _test_and_analyse(self, level: RiskLevel, asks: bool) -> HeadTestResult | None:
        if self._uses_workflows:  # which take long, and how long is counted from here
            await self._journal.step("show that it tests", lambda: answer_nothing(self._shown.show_queued()))
        answer = await self._journal.step("run the tests", lambda: self._run_while_current(level))
        if answer is None:
            return None
        tested = HeadTestResult.model_validate(answer)
        analyses = await self._analyse(tested, asks)
        return tested.model_copy(update={"analyses": analyses, "to_fix": analysis.list_fixable(tested.run, analyses)})

    async def _show_progress(self, doing: str) -> None:
        self._telling.post_later(partial(self._shown.show_progress, doing))

    @property
    def _uses_workflows(self) -> bool:
        return self._configuration.testing.runner == "actions"

    async def _run_while_current(self, level: RiskLevel) -> JsonValue:
        return await run_while_current(self._services, self._run, self._run_tests(level))

    async def _run_tests(self, level: RiskLevel) -> JsonValue:
        mirror = await fetch_mirror(self._services, self._run)
        change = await self._load_change(mirror)
        if self._uses_workflows:
            ran = await self._load_workflow_result()
        else:
            tester = Tester(mirror, self._services.toolbox, self._configuration.commands, self._show_progress)
            ran = await tester.test(change, level)
        if ran is None:
            return None
        files = (await Snapshot.of(mirror, self._head)).files
        modules = find_own_modules(files)
        looked = await asyncio.to_thread(_classify_failures, ran, modules)
        missing = missing_tests.find_missing_tests(ran, [each.path for each in change.touched if each.path in files])
        tested = HeadTestResult(
            head=self._head, run=ran, analyses=looked, missing=missing, weakened=find_weakened(change)
        )
        return tested.model_dump(mode="json")

    async def _load_workflow_result(self) -> TestRun | None:
        """What the repository's own workflows came to; None while one is under way, or may still begin."""
        host, repository = self._services.host, self._run.repository
        found = await host.workflow_runs(repository, self._head)
        counted = actions.find_relevant_runs(found)
        if not counted and await self._has_waited(GRACE):
            return TestRun(not_run=_NO_WORKFLOW)
        jobs = {each.id: await host.jobs(repository, each.id) for each in counted}
        wanted = [job for each in jobs.values() for job in each if actions.wants_log(job)][:_MAX_LOGS]
        logs = {job.id: await host.job_log(repository, job.id, actions.MOST_LOG) for job in wanted}
        told = {number: redact_outgoing(log) for number, log in logs.items() if log is not None}
        ran = actions.build_test_run(found, jobs, told)
        return TestRun(not_run=_NOT_ENDED) if ran is None and await self._has_waited(_PATIENCE) else ran

    async def _has_waited(self, long: timedelta) -> bool:
        """Whether so much time went by since the head was shown to be tested."""
        database, now = self._services.database, self._services.clock.now()
        began = await outbox.get_done_at(database, self._run.id, self._shown.step_name("queued"), "check")
        return began is not None and now - began >= long

    async def _load_change(self, mirror: Mirror) -> Change:
        return await mirror.change(await mirror.merge_base(self._run.base_sha, self._head), self._head)

    async def _analyse(self, tested: HeadTestResult, asks: bool) -> tuple[Analysis, ...]:
        """What the failures mean, as a model says where one can be asked."""
        model = self._services.models.choose(ModelTier.fast)
        if not asks or tested.verdict is not Verdict.failed or isinstance(model, Unusable):
            return analysis.merge_analyses(tested.run, tested.analyses, None, None)
        mirror = await run_outside_journal(lambda: fetch_mirror(self._services, self._run))
        never = self._configuration.review.never_send
        question = analysis.build_question(
            tested.run, tested.analyses, await self._load_change(mirror), redact_outgoing, never
        )
        if question is not None:
            question = question.model_copy(update={"key": f"{question.key} {self._attempt}"})
        answer = None if question is None else await self._ask_model(question, model)
        judged = (
            None if answer is None or answer.value is None else analysis.FailureJudgements.model_validate(answer.value)
        )
        return analysis.merge_analyses(tested.run, tested.analyses, judged, question)

    async def _ask_model(self, question: analysis.AnalysisQuestion, model: LanguageModel) -> ModelAnswer:
        def call(money: ModelBudget, told: PromptContext, keep: Keep[ModelAnswer]) -> Awaitable[ModelAnswer]:
            return ask(told.prepend_to(question, redact_outgoing), analysis.FailureJudgements, model, money, keep=keep)

        about = RecallTopic("\n".join(question.tests), question.paths)
        task = GuardedTask(question.key)
        paying = BudgetedCalls(
            self._services, self._journal, self._run, Phase.testing, self._configuration, about, task
        )
        return await paying.ask(
            question.key, digest("analyse", question.model_dump_json(), model.name), ModelAnswer, call
        )
