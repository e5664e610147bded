"""Admits what somebody asks for on a pull request, by command or in words, as a run that waits there in turn."""

from agents.replies import NamedCommand
from agents.syntax.quotes import REVIEWER
from domain.commands import Repeat, WrittenComment
from domain.runs.run import RepositoryRef, Trigger
from domain.slash import LONGEST_WORDS, Mend, TakeBaseIn, TextCommand, WriteChangelog, WriteTests
from domain.value import Value
from domain.verbs import Verb
from memory.repositories import permits
from memory.runs import instructions, model_answers
from memory.runs.runs import Candidate
from messages import commands as command_texts
from messages import descriptions
from messages import instructions as texts
from pipeline.config import loading
from pipeline.context import Services
from pipeline.feedback.answers.request import OpenQuestion, QueuedAnswer
from pipeline.gates.actor import CommandActor, load_actor
from pipeline.publishing import comments
from pipeline.publishing.instructions import Instruction
from pipeline.runs.status import find_owner
from safety.authorization import authorise
from safety.eligibility import needs_ok

_NAMED = {
    NamedCommand.update: TakeBaseIn(),
    NamedCommand.mend: Mend(),
    NamedCommand.tests: WriteTests(),
    NamedCommand.changelog: WriteChangelog(),
}


class RequestInWords(Value):
    """What somebody asks for in words, with a mention; in journals.

    :param words: untrusted, with Forge as ``@reviewer``.
    :param key, path, line: see :class:`Instruction`.
    :param question: which they answer; None for anything else.
    :param named: the command that says the same; None for ``/forge do``.
    """

    comment: WrittenComment
    words: str
    key: str
    path: str = ""
    line: int | None = None
    question: OpenQuestion | None = None
    named: NamedCommand | None = None

    @property
    def instruction(self) -> Instruction:
        """What is to be carried out: what they answer a question about, or else what they say."""
        if self.question is None:
            asked = self.command if self.named is None else _NAMED.get(self.named, self.command)
            return Instruction.of(self.comment, asked, self.key, self.path, self.line)
        return self.question.instruction.go_on(self.question.text, self.command.text, self.comment, self.key)

    @property
    def command(self) -> TextCommand:
        """The command that says the same."""
        said = " ".join(self.words.replace(REVIEWER, " ").split()).strip(" ,:;")
        return TextCommand(verb=Verb.do, text=said[:LONGEST_WORDS] or self.words[:LONGEST_WORDS])


async def admit_words(services: Services, request: RequestInWords) -> QueuedAnswer:
    """Admit what words ask for, as the command does, if they may ask at this moment; a reaction shows it."""
    instruction = request.instruction
    actor = await load_permitted(services, instruction)
    if actor is None:
        return QueuedAnswer(refused=texts.PERMISSION_LOST)
    queued = await admit_instruction(services, instruction, actor, request.key)
    if queued.run_id is not None:
        await comments.show_seen(services, request.comment)
    return queued


async def load_permitted(services: Services, asked: Instruction) -> CommandActor | None:
    """Who asks, if they may at this moment: those before it and the agents took their time (T-P15)."""
    comment = asked.comment
    actor = await load_actor(services, comment.repository, comment.number, comment.sender, judges=False)
    return actor if authorise(asked.asked, actor.facts) is None else None


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
    where = (comment.repository, pull.head_sha, pull.base_ref)
    return QueuedAnswer(run_id=await begin(services, instruction, asked_by, *where))


async def begin(
    services: Services, instruction: Instruction, asked_by: str, repository: RepositoryRef, head: str, base_ref: str
) -> str:
    """The id of the run that carries it out on a head, without more questions; see :func:`admit_instruction`."""
    comment = instruction.comment
    candidate = Candidate(
        f"{asked_by}#{comment.number}",
        repository,
        comment.number,
        head,
        head,
        Trigger.instruction,
        Repeat.always,
        base_ref=base_ref,
        check_name="",
        kept=(model_answers.INSTRUCTION, instruction.model_dump(mode="json")),
    )
    return (await instructions.admit(services.database, candidate, comment.sender, services.clock.now())).id


async def _find_refusal(services: Services, instruction: Instruction, actor: CommandActor) -> str:
    """Why nothing is carried out there now, as an answer; empty if it may be."""
    comment, pull = instruction.comment, actor.pull_request
    repository = comment.repository
    paused_by = await permits.find_pauser(services.database, repository)
    if paused_by is not None:
        return command_texts.already_paused(paused_by)
    configuration = await loading.load_configuration(services, repository)
    review = configuration.review
    if not review.may_ask_model and instruction.needs_model:
        return texts.CODE_KEPT
    if pull is not None and not actor.has_ok and needs_ok(pull, review, repository.id) is not None:
        return descriptions.refuse_without_ok(instruction.asked.verb)
    if await find_owner(services, repository, comment.number) is not None:
        return texts.STILL_AT_WORK
    return ""
