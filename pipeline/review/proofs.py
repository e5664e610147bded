"""Has a test written and run for what the model calls an error, so that a finding says whether it is shown."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from agents.llm.ask import ModelAnswer, choose_after
from agents.llm.models import LanguageModel
from agents.review.layers import CheckedChange
from agents.review.model.proof import ProofDraft, apply_proofs, is_too_long, list_provable, read_draft
from agents.review.model.questions import QuestionPlan
from agents.testing.reproduction.run import EndingKind, WrittenTest, run_reproduction, try_with, write_again
from agents.testing.tester import Tester
from domain.gates import digest
from domain.review.findings import Finding, Proof, ProofOutcome, remove_place
from domain.review.identity import find_again
from domain.text.redaction import holds_secret
from messages import proofs as texts
from messages.review import render_progress
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.publishing import checks
from pipeline.review.proof_plan import ProofTask, find_obstacle, plan_proofs
from pipeline.review.reading import ProvedFindings
from pipeline.run_context import RunContext, run_while_current
from pipeline.verdicts.settings import RunSettings
from safety.autofix import apply_all

_LEAST = 1.0  # seconds that a test is given


@dataclass(frozen=True)
class RepeatedProofs:
    """What the tests that showed findings on an earlier head say of this one.

    :param passing: the names of the findings whose tests pass.
    :param failing: those whose tests fail, where they stand by now.
    :param told: for the check's details; may be empty.
    """

    passing: tuple[str, ...] = ()
    failing: tuple[Finding, ...] = ()
    told: str = ""

    def apply(self, findings: Sequence[Finding]) -> list[Finding]:
        """The findings that are left, with what their tests say."""
        failing = {each.id: each for each in self.failing}
        return [failing.get(each.id, each) for each in findings if each.id not in self.passing]


class ModelProofs:
    """The proofs of one review. Whatever fails here leaves the findings as they are."""

    def __init__(self, context: RunContext, settings: RunSettings, calls: BudgetedCalls) -> None:
        self._context = context
        self._settings = settings
        self._calls = calls
        self._left = float(settings.configuration.review.proof_seconds)

    async def repeat(self, shown: Sequence[Finding], placed: Sequence[Finding]) -> RepeatedProofs:
        """Run the tests that showed findings on an earlier head.

        :param placed: the findings where the changes since then put them.
        """
        otherwise = {each.id: each for each in placed}
        passing, failing = list[str](), list[Finding]()
        if not shown or self._left <= 0:
            return RepeatedProofs()
        if await self._context.journal.step("may its tests run", find_obstacle, self._context, self._settings):
            return RepeatedProofs()
        for number, finding in enumerate(shown, 1):
            test, share = write_again(finding), self._share(len(shown) - number + 1)
            if test is None or share < _LEAST:
                continue
            proof = await self._context.journal.step(
                f"run the test that showed a finding {number}", self._run, finding, test, share
            )
            self._left -= proof.seconds
            if proof.outcome is ProofOutcome.refuted:
                passing.append(finding.id)
            elif proof.is_shown:
                where = (finding, otherwise.get(finding.id, remove_place(finding)))
                again = await self._context.journal.step("where it stands", self._find_again, *where)
                failing.append(again.model_copy(update={"proof": proof}))
        await self._context.progress.quiet()
        told = texts.summarise_repeated(passing, [each.id for each in failing])
        return RepeatedProofs(tuple(passing), tuple(failing), told)

    async def prove(
        self,
        checked: CheckedChange,
        first_look: QuestionPlan,
        candidates: Sequence[Finding],
        kept: Sequence[Finding],
        model: LanguageModel,
    ) -> ProvedFindings:
        """Have the gravest findings shown by running, before anybody sees them.

        :param candidates: as the first look graded them; :param kept: what the second look left of them.
        """
        journal, wanted = self._context.journal, list_provable(kept, candidates)
        if not wanted or self._left <= 0:
            return ProvedFindings(findings=tuple(kept))
        where = (self._context, self._settings, checked, first_look)
        plan = await journal.step("find out what can be run", plan_proofs, *where, wanted)
        answers: list[ModelAnswer] = []
        proofs: dict[str, Proof] = {}
        for number, task in enumerate(plan.tasks, 1):
            share = self._share(len(plan.tasks) - number + 1)
            proof = proofs[task.finding.fingerprint] = await self._prove(number, task, share, answers, model)
            self._left -= proof.seconds
        await self._context.progress.quiet()
        told = texts.summarise_proofs([*proofs.values()], plan.not_run)
        return ProvedFindings(findings=apply_proofs(kept, proofs), answers=tuple(answers), told=told)

    async def _prove(
        self, number: int, task: ProofTask, seconds: float, answers: list[ModelAnswer], model: LanguageModel
    ) -> Proof:
        """What is known of one finding in the end.

        :param seconds: for running its test.
        :param answers: so far; the model's is added.
        """
        if task.question is None or task.place is None:
            return self._leave_open(texts.NO_TESTS)
        if seconds <= 0:
            return self._leave_open(texts.NO_TIME)
        going_on = choose_after(model, answers)
        name = digest(going_on.name, task.question.model_dump_json(), ProofDraft.__name__)
        answer = await self._calls.ask_outside_run(name, task.question, ProofDraft, going_on)
        answers.append(answer)
        if answer.value is None:
            return self._leave_open(texts.explain_declined(answer.problem or ""))
        draft = read_draft(answer, task.question)
        if why := _find_flaw(draft):
            return self._leave_open(why)
        finding, place = task.finding, task.place
        test = WrittenTest(place.path, draft.test, place.command, finding.path, finding.line, draft.promise)
        return await self._context.journal.step(
            f"run the test for a finding {number}", self._run, task.finding, test, max(seconds, _LEAST)
        )

    def _share(self, claims: int) -> float:
        """The seconds for the next of so many claims: its part of what the sandbox has not used yet."""
        return self._left / claims

    def _leave_open(self, why: str) -> Proof:
        return Proof(outcome=ProofOutcome.open, head_sha=self._context.run.head_sha, why=why)

    async def _run(self, finding: Finding, test: WrittenTest, seconds: float) -> Proof:
        """Run a test on both sides of the change, and with what the finding suggests, until the run loses its place."""
        context = self._context
        mirror = await context.fetch_mirror()
        change = await context.load_change(mirror, context.run.head_sha)
        tester = Tester(mirror, context.services.toolbox, self._settings.configuration.commands, self._tell)
        running = run_reproduction(tester, change, test, seconds)
        proof = await run_while_current(context.services, context.run, running)
        left = seconds - proof.seconds
        is_new = test.known is None and proof.is_shown
        if finding.fix is None or proof.reproduction is None or not is_new or left < _LEAST:
            return proof
        content = (await mirror.read(context.run.head_sha, [finding.path])).get(finding.path, b"")
        changed = {finding.path: apply_all([finding.fix], content)}
        trying = try_with(tester, context.run.head_sha, changed, proof.reproduction, left)
        began = time.monotonic()
        ending = await run_while_current(context.services, context.run, trying)
        took = proof.seconds + time.monotonic() - began
        return proof.model_copy(update={"outlasts_fix": ending.kind is EndingKind.failed, "seconds": took})

    async def _find_again(self, finding: Finding, otherwise: Finding) -> Finding:
        """A finding where its statement stands by now; where that is another one, as the changes place it."""
        placed = finding if otherwise.line is None else otherwise  # a statement may have many lines
        head, mirror = self._context.run.head_sha, await self._context.fetch_mirror()
        content = (await mirror.read(head, [placed.path])).get(placed.path, b"")
        lines = content.decode(errors="replace").split("\n")
        return await asyncio.to_thread(find_again, placed, lines) or otherwise

    async def _tell(self, _doing: str) -> None:
        """Show in the check, in a moment, that a claim is tried out."""
        text = render_progress(texts.TRYING_OUT)
        write = partial(checks.show_so_far, self._context.services, self._context.run, text)
        self._context.progress.post_later(write)


def _find_flaw(draft: ProofDraft) -> str:
    """Why what a model wrote is not run, as a clause; empty if it is."""
    if not draft.test:
        return texts.explain_declined(draft.declined)
    if is_too_long(draft):
        return texts.IS_TOO_LONG
    return texts.HOLDS_CREDENTIAL if holds_secret(draft.test) else ""
