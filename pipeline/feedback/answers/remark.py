"""Decides whether words that somebody wrote to Forge ask something: a model reads them, without the code."""

from dataclasses import dataclass

from pydantic import BaseModel

from agents.answers.reply_reader import KEY, Meaning, NamedCommand, ReplyReading, build_meaning_question
from agents.llm.models import ModelTier, Unusable
from agents.syntax.quotes import REVIEWER, asks_something
from domain.config.configuration import Configuration
from domain.gates import digest
from domain.runs.run import Phase
from domain.text.redaction import redact_outgoing
from messages import code_answers as texts
from messages import instructions as instruction_texts
from messages import thread_replies as reply_texts
from pipeline.feedback.answers.request import RepliedTo
from pipeline.feedback.answers.subject import render_replied_to
from pipeline.feedback.answers.target import open_account
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.run_context import RunContext


class Understood(BaseModel):
    """Whether words are a question.

    :param is_request: whether they ask for something to be done on a pull request.
    :param command: which one says the same, if one does for sure.
    :param is_answer: whether they answer what Forge asked.
    :param told: of other words, what is answered all the same: where they ask for something to be done, or look like
        a question that nobody could read.
    """

    is_question: bool = False
    is_request: bool = False
    is_answer: bool = False
    command: NamedCommand | None = None
    told: str = ""

    @property
    def describes(self) -> bool:
        """Whether they ask for a title and a description."""
        return self.command is NamedCommand.describe


@dataclass(frozen=True)
class RemarkReader:
    """The reading of one person's words."""

    context: RunContext
    key: str
    words: str
    replied_to: RepliedTo
    configuration: Configuration

    async def understand(self) -> Understood:
        """Whether they are a question."""
        if not self.configuration.review.may_ask_model:
            return self._give_up(texts.refuse_sending())
        model = self.context.services.models.choose(ModelTier.fast)
        if isinstance(model, Unusable):
            return self._give_up(texts.report_unanswered(model.reason, was_asked=False))
        about = render_replied_to(self.replied_to)
        question = build_meaning_question(f"{KEY}{self.key}", about, self.words, redact_outgoing)
        account = await open_account(self.context, self.key)
        calls = BudgetedCalls(account, Phase.planning, self.configuration)
        name = digest("hear", question.model_dump_json(), model.name)
        found = await calls.ask_outside_run(name, question, ReplyReading, model)
        if found.value is None:
            return self._give_up(texts.report_unanswered(found.problem or "", was_asked=found.refusal is None))
        reading = ReplyReading.model_validate(found.value)
        meaning, command = reading.meaning, reading.command if reading.is_sure else None
        if meaning is Meaning.answer and self.replied_to.question is not None:
            return Understood(is_answer=True)
        on_issue = self.context.run.is_of_issue
        if reading.asks_for_review and not on_issue:
            return Understood(told=reply_texts.point_to_review())
        is_request = meaning is Meaning.request and not on_issue
        if not (is_request and self.replied_to.is_mention):
            command = None
        told = reply_texts.point_to_commands(on_issue=on_issue) if meaning is Meaning.request else ""
        told = told if command is None else instruction_texts.tell_command(command)
        return Understood(is_question=meaning is Meaning.question, is_request=is_request, told=told, command=command)

    def _give_up(self, why: str) -> Understood:
        return Understood(told=why if asks_something(self.words) or REVIEWER in self.words else "")
