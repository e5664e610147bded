"""Has a test written and run for what the model calls an error, so that a finding says whether it is shown."""

import asyncio
from collections.abc import Sequence
from functools import partial

from pydantic import BaseModel, ConfigDict

from agents.llm.ask import ModelAnswer, Question, choose_after
from agents.llm.models import LanguageModel
from agents.review.layers import CheckedChange, apply_path_filters
from agents.review.model.proof import (
    ProofDraft,
    apply_proofs,
    build_proof_question,
    is_too_long,
    list_provable,
    read_draft,
)
from agents.review.model.questions import QuestionPlan
from agents.testing.earlier_tests.reading import Reader
from agents.testing.reproduction.place import TestPlace, find_place
from agents.testing.reproduction.run import WrittenTest, run_reproduction
from agents.testing.tester import Tester
from domain.config.configuration import Configuration
from domain.gates import digest
from domain.globs import matches
from domain.review.findings import Finding
from domain.review.outline import NO_OUTLINE
from domain.review.proof import Proof, ProofOutcome
from domain.text.redaction import holds_secret, redact_outgoing
from memory.repositories import permits
from messages import proofs as texts
from messages.review import render_progress
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.publishing import run_check
from pipeline.run_context import RunContext, run_while_current
from pipeline.verdicts.settings import RunSettings

_PATCH = "what a model claims is run"  # name of a patch, which is in the journals of runs


class ProofTask(BaseModel):
    """The question for one test, and where that will be; in journals.

    :param question: None if no test of the finding's language runs here.
    """

    model_config = ConfigDict(frozen=True)

    finding: Finding
    question: Question | None = None
    place: TestPlace | None = None


class ProofPlan(BaseModel):
    """What is to be shown by running; in journals.

    :param not_run: why nothing of it is run, as a clause; empty if it is.
    """

    tasks: tuple[ProofTask, ...] = ()
    not_run: str = ""


class ProvedFindings(BaseModel):
    """The findings with what running showed of them.

    :param answers: of the model, to be counted.
    :param told: for the check's details; may be empty.
    """

    findings: tuple[Finding, ...]
    answers: tuple[ModelAnswer, ...] = ()
    told: str = ""


class ModelProofs:
    """The proofs of one review. Whatever fails here leaves the findings as they are."""

    def __init__(self, context: RunContext, settings: RunSettings, calls: BudgetedCalls) -> None:
        self._context = context
        self._settings = settings
        self._calls = calls
        self._most = float(settings.configuration.review.proof_seconds)

    async def prove(
        self,
        checked: CheckedChange,
        plan: QuestionPlan,
        candidates: Sequence[Finding],
        kept: Sequence[Finding],
        model: LanguageModel,
    ) -> ProvedFindings:
        """Have the gravest findings shown by running, before anybody sees them.

        :param plan: of the first look.
        :param candidates: as the first look graded them; :param kept: what the second look left of them.
        """
        journal, wanted = self._context.journal, list_provable(kept, candidates)
        if not wanted or not self._most or not await journal.has_patch(_PATCH):
            return ProvedFindings(findings=tuple(kept))
        proving = await journal.step("find out what can be run", self._plan, checked, plan, wanted)
        answers: list[ModelAnswer] = []
        proofs: dict[str, Proof] = {}
        for number, task in enumerate(proving.tasks, 1):
            spent = sum(each.seconds for each in (*answers, *proofs.values()))
            proofs[task.finding.fingerprint] = await self._prove(number, task, self._most - spent, answers, model)
        await self._context.progress.quiet()
        return ProvedFindings(
            findings=apply_proofs(kept, proofs),
            answers=tuple(answers),
            told=texts.summarise_proofs([*proofs.values()], proving.not_run),
        )

    async def _prove(
        self, number: int, task: ProofTask, left: float, answers: list[ModelAnswer], model: LanguageModel
    ) -> Proof:
        """What is known of one finding in the end.

        :param left: seconds for all that are left.
        :param answers: so far; the model's is added.
        """
        if task.question is None or task.place is None:
            return self._leave_open(texts.NO_TESTS)
        if left <= 0:
            return self._leave_open(texts.NO_TIME)
        going_on = choose_after(model, answers)
        name = digest(going_on.name, task.question.model_dump_json(), ProofDraft.__name__)
        answer = await self._calls.ask_outside_run(name, task.question, ProofDraft, going_on)
        answers.append(answer)
        if answer.value is None:
            return self._leave_open(texts.explain_declined(answer.problem or ""))
        draft = read_draft(answer, task.question)
        if not draft.test:
            return self._leave_open(texts.explain_declined(draft.declined))
        if is_too_long(draft):
            return self._leave_open(texts.IS_TOO_LONG)
        if holds_secret(draft.test):
            return self._leave_open(texts.HOLDS_CREDENTIAL)
        seconds = min(left, self._most / 2)
        return await self._context.journal.step(f"run the test for a finding {number}", self._run, task, draft, seconds)

    def _leave_open(self, why: str) -> Proof:
        return Proof(outcome=ProofOutcome.open, head_sha=self._context.run.head_sha, why=why)

    async def _plan(self, checked: CheckedChange, plan: QuestionPlan, wanted: list[Finding]) -> ProofPlan:
        """Which findings can be shown by a test here, and the question for each."""
        context, configuration = self._context, self._settings.configuration
        not_run = await self._find_obstacle(configuration)
        if not_run:
            return ProofPlan(not_run=not_run)
        mirror = await context.fetch_mirror()
        change = apply_path_filters(await context.load_change(mirror, context.run.head_sha), configuration)
        versions = await mirror.versions(change.files)
        reader = Reader(mirror, context.services.toolbox)

        def allows(path: str) -> bool:
            return not matches(path, configuration.review.never_send)

        tasks: list[ProofTask] = []
        for finding in wanted:
            name = finding.fingerprint[:8]
            place = await find_place(reader, checked.merge_base, checked.head_sha, finding.path, name, allows)
            if place is None:
                tasks.append(ProofTask(finding=finding))
                continue
            question = await asyncio.to_thread(
                build_proof_question,
                len(tasks) + 1,
                finding,
                place,
                change,
                versions,
                checked.findings,
                outline=plan.outlines.get(finding.path, NO_OUTLINE),
                related=plan.related,
                redact=redact_outgoing,
            )
            tasks.append(ProofTask(finding=finding, question=question, place=place))
        if not any(task.question for task in tasks):
            return ProofPlan(not_run=texts.NO_TESTS)
        return ProofPlan(tasks=tuple(tasks))

    async def _find_obstacle(self, configuration: Configuration) -> str:
        """Why no test may be run here, as a clause; empty if it may."""
        context, pull_request = self._context, self._settings.pull_request
        run = context.run
        if configuration.testing.runner == "actions":
            return texts.ACTIONS
        if pull_request.is_from_fork(run.repository.id) and not await permits.has_ok(
            context.database, run.repository, run.number, run.head_sha
        ):
            return texts.UNASKED_FORK
        return ""

    async def _run(self, task: ProofTask, draft: ProofDraft, seconds: float) -> Proof:
        """Run a test on both sides of the change, until the run loses its place."""
        context = self._context
        mirror = await context.fetch_mirror()
        change = await context.load_change(mirror, context.run.head_sha)
        tester = Tester(mirror, context.services.toolbox, self._settings.configuration.commands, self._tell)
        place = task.place
        test = WrittenTest(
            path=place.path if place else "",
            text=draft.test,
            command=place.command if place else "",
            about=task.finding.path,
            promise=draft.promise,
        )
        running = run_reproduction(tester, change, test, seconds)
        return await run_while_current(context.services, context.run, running)

    async def _tell(self, _doing: str) -> None:
        """Show in the check, in a moment, that a claim is tried out."""
        services, run = self._context.services, self._context.run
        text = render_progress(texts.render_under_way())
        self._context.progress.post_later(partial(run_check.show_so_far, services, run, text))
