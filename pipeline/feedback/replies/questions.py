"""Asks a model what a reply means, for the answer if it is a question, and whether it is right if it disagrees.

It answers from all of the code, or from the code around the finding.
"""

from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from pydantic import BaseModel

from agents.llm.ask import Question
from agents.llm.models import LanguageModel
from agents.prompts import strip_hidden
from agents.replies import (
    KEY,
    ArgumentVerdict,
    QuestionAnswer,
    ReplyReading,
    build_answer_question,
    build_argument_question,
    build_meaning_question,
    render_finding,
)
from agents.syntax.quotes import call_reviewer
from domain.commands import ReadReply
from domain.errors import CodeAccessError
from domain.gates import digest
from domain.globs import matches
from domain.review.findings import Finding
from domain.runs.run import Phase
from domain.text.redaction import redact_outgoing
from messages import descriptions
from messages import feedback as reply_texts
from pipeline.feedback.answers.question import AskedQuestion
from pipeline.feedback.answers.question import answer_question as answer_from_code
from pipeline.feedback.answers.request import open_account
from pipeline.feedback.replies.context import ReplyContext, may_still_ask
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.run_context import RunContext

S = TypeVar("S", bound=BaseModel)


@dataclass(frozen=True)
class NoAnswer:
    """Why the model gave no answer, as a text for people."""

    text: str


class ReplyQuestions:
    """The questions to a model about one reply. Each is paid by a run of its own."""

    def __init__(self, context: RunContext, command: ReadReply, known: ReplyContext, model: LanguageModel) -> None:
        self._context = context
        self._words = call_reviewer(command.words, known.name)
        self._key = f"{KEY}{command.comment.id}"
        self._never_send = known.configuration.review.never_send
        self._model = model
        self._configuration = known.configuration

    async def ask_meaning(self, finding: Finding) -> ReplyReading | NoAnswer:
        """What the reply means."""
        question = build_meaning_question(self._key, render_finding(finding), self._words)
        return await self._ask(question, ReplyReading)

    async def ask_answer(self, finding: Finding) -> str:
        """The answer to the question in the reply, from the code around the finding; or why there is none."""
        lines = await self._read_lines(finding)
        question = build_answer_question(self._key, finding, self._words, lines)
        answer = await self._ask(question, QuestionAnswer)
        return answer.text if isinstance(answer, NoAnswer) else reply_texts.render_answer(answer.line)

    async def weigh_argument(self, finding: Finding) -> str:
        """What the code says of the reply, which says why the finding is wrong; empty where that is not known."""
        lines = await self._read_lines(finding)
        question = build_argument_question(self._key, finding, self._words, lines)
        said = None if question is None else await self._ask(question, ArgumentVerdict)
        if said is None or isinstance(said, NoAnswer):
            return ""
        line = said.line if 1 <= said.line <= len(lines) else None
        why = redact_outgoing(strip_hidden(said.why))
        return reply_texts.judge_argument(finding, why, line, is_right=said.is_right)

    async def _ask(self, question: Question, kind: type[S]) -> S | NoAnswer:
        name = digest("hear", question.model_dump_json(), self._model.name)
        account = await open_account(self._context, self._key)
        calls = BudgetedCalls(account, Phase.reflection, self._configuration)
        found = await calls.ask_outside_run(name, question, kind, self._model)
        if found.value is None:
            was_asked = found.refusal is None
            return NoAnswer(descriptions.report_unanswered(found.problem or "", was_asked=was_asked))
        return kind.model_validate(found.value)

    async def _read_lines(self, finding: Finding) -> list[str]:
        """The file at head; nothing if it must not be sent, or cannot be read."""
        if matches(finding.path, self._never_send):
            return []
        try:
            mirror = await self._context.fetch_mirror()
            content = (await mirror.read(self._context.run.head_sha, [finding.path])).get(finding.path, b"")
        except CodeAccessError:
            return []
        return content.decode(errors="replace").split("\n")


async def answer_question(
    context: RunContext,
    command: ReadReply,
    guid: str,
    known: ReplyContext,
    finding: Finding,
    asking: ReplyQuestions,
) -> str:
    """The answer, from all of the code for those who may use ``/forge ask``; or why there is none."""
    if not known.asks:
        return await asking.ask_answer(finding)
    may_ask = partial(may_still_ask, context.services, command)
    words, about = call_reviewer(command.words, known.name), render_finding(finding)
    asked = AskedQuestion(f"{guid}.thread", words, about, may_ask)
    return await answer_from_code(context, asked, known.configuration)
