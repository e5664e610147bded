"""Finds out which of the model's claims can be run here, and prepares the question for a test of each."""

import asyncio
from collections.abc import Sequence

from agents.llm.ask import Question
from agents.review.layers import CheckedChange, apply_path_filters
from agents.review.model.proof import build_proof_question
from agents.review.model.questions import QuestionPlan
from agents.testing.earlier_tests.reading import Reader
from agents.testing.reproduction.place import TestPlace, find_place
from domain.globs import matches
from domain.review.findings import Finding
from domain.review.reading import NO_OUTLINE
from domain.value import Value
from memory.repositories import permits
from messages import proofs as texts
from pipeline.run_context import RunContext
from pipeline.verdicts.settings import RunSettings

_NAME = 8  # digits of a fingerprint


class ProofTask(Value):
    """The question for one test, and where that will be; in journals.

    :param question: None if no test of the finding's language runs here; then there is no place either.
    """

    finding: Finding
    question: Question | None = None
    place: TestPlace | None = None


class ProofPlan(Value):
    """What is to be shown by running; in journals.

    :param not_run: why nothing of it is run, as a clause; empty if something is.
    """

    tasks: tuple[ProofTask, ...] = ()
    not_run: str = ""


async def plan_proofs(
    context: RunContext, settings: RunSettings, checked: CheckedChange, first_look: QuestionPlan, wanted: list[Finding]
) -> ProofPlan:
    """Which findings a test can show here, and the question for each.

    :param first_look: the plan of the first look: what it knows of the code beside the change is shown again.
    """
    not_run = await find_obstacle(context, settings)
    if not_run:
        return ProofPlan(not_run=not_run)
    places = await _find_places(context, settings, checked, wanted)
    if not any(places):
        return ProofPlan(not_run=texts.NO_TESTS)
    mirror = await context.fetch_mirror()
    change = await context.load_change(mirror, context.run.head_sha)
    change = apply_path_filters(change, settings.configuration)
    versions = await mirror.versions(change.files)

    def build(number: int, finding: Finding, place: TestPlace | None) -> ProofTask:
        if place is None:
            return ProofTask(finding=finding)
        question = build_proof_question(
            number,
            finding,
            place,
            change,
            versions,
            checked.findings,
            outline=first_look.outlines.get(finding.path, NO_OUTLINE),
            related=first_look.related,
        )
        return ProofTask(finding=finding, question=question, place=place)

    pairs = enumerate(zip(wanted, places, strict=True), 1)
    tasks = await asyncio.to_thread(lambda: tuple(build(number, *pair) for number, pair in pairs))
    return ProofPlan(tasks=tasks)


async def find_obstacle(context: RunContext, settings: RunSettings) -> str:
    """Why no test may be run here, as a clause; empty if it may."""
    run = context.run
    if settings.configuration.testing.runner == "actions":
        return texts.ACTIONS
    is_foreign = settings.pull_request.is_from_fork(run.repository.id)
    if is_foreign and not await permits.has_ok(context.database, run.repository, run.number, run.head_sha):
        return texts.UNASKED_FORK
    return ""


async def _find_places(
    context: RunContext, settings: RunSettings, checked: CheckedChange, wanted: Sequence[Finding]
) -> list[TestPlace | None]:
    reader = Reader(await context.fetch_mirror(), context.services.toolbox)
    never_send = settings.configuration.review.never_send
    commits = (checked.merge_base, checked.head_sha)

    def allows(path: str) -> bool:
        return not matches(path, never_send)

    return [await find_place(reader, *commits, each.path, each.fingerprint[:_NAME], allows) for each in wanted]
