"""Admits what somebody asks for on a pull request as a run, which waits there for those before it."""

from domain.commands import Repeat
from domain.runs.run import Trigger
from memory.repositories import permits
from memory.runs import instructions, model_answers
from memory.runs.runs import Candidate
from messages import code_answers
from messages import commands as command_texts
from messages import instructions as texts
from pipeline.config import loading
from pipeline.context import Services
from pipeline.feedback.answers.request import QueuedAnswer
from pipeline.gates.actor import CommandActor
from pipeline.publishing.instructions import Instruction
from pipeline.runs.status import find_owner
from safety.eligibility import needs_ok


async def admit_instruction(
    services: Services, instruction: Instruction, actor: CommandActor, asked_by: str
) -> QueuedAnswer:
    """The run that carries it out, if Forge may work there; may be repeated.

    :param actor: who asks, who may.
    :param asked_by: the delivery and the line, so that it is admitted once.
    """
    comment, pull = instruction.comment, actor.pull_request
    if pull is None:
        return QueuedAnswer(refused=command_texts.only_on_pull_requests(instruction.asked.verb))
    if not pull.is_open:
        return QueuedAnswer(refused=command_texts.NOTHING_TO_REVIEW)
    refused = await _find_refusal(services, instruction, actor)
    if refused:
        return QueuedAnswer(refused=refused)
    candidate = Candidate(
        f"{asked_by}#{comment.number}",
        comment.repository,
        comment.number,
        pull.head_sha,
        pull.head_sha,
        Trigger.instruction,
        Repeat.always,
        base_ref=pull.base_ref,
        check_name="",
        kept=(model_answers.INSTRUCTION, instruction.model_dump(mode="json")),
    )
    run = await instructions.admit(services.database, candidate, comment.sender, services.clock.now())
    return QueuedAnswer(run_id=run.id)


async def _find_refusal(services: Services, instruction: Instruction, actor: CommandActor) -> str:
    """Why nothing is carried out there now, as an answer; empty if it may be."""
    comment, pull = instruction.comment, actor.pull_request
    repository = comment.repository
    paused_by = await permits.find_pauser(services.database, repository)
    if paused_by is not None:
        return command_texts.already_paused(paused_by)
    loaded = await loading.load(services.host, services.database, repository, services.ceilings.of_configuration)
    review = loaded.configuration.review
    if not review.may_ask_model and instruction.needs_model:
        return texts.CODE_KEPT
    if pull is not None and not actor.has_ok and needs_ok(pull, review, repository.id) is not None:
        return code_answers.refuse_without_ok(instruction.asked.verb)
    if await find_owner(services, repository, comment.number) is not None:
        return texts.STILL_AT_WORK
    return ""
