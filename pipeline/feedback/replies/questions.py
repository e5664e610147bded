"""Asks a model what a reply means, and for the answer if it is a question."""

from typing import TypeVar

from pydantic import BaseModel

from agents.answers.reply_reader import KEY, QuestionAnswer, ReplyReading, build_answer_question, build_meaning_question
from agents.llm.ask import Question
from agents.llm.models import LanguageModel
from domain.commands import ReadReply
from domain.config.configuration import Configuration
from domain.errors import CodeAccessError
from domain.gates import digest
from domain.globs import matches
from domain.review.findings import Finding
from domain.runs.run import Phase
from domain.text.redaction import redact_outgoing
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.run_context import RunContext

S = TypeVar("S", bound=BaseModel)


class ReplyQuestions:
    """The questions to a model about one reply. They are paid from the money for work outside of runs."""

    def __init__(
        self,
        context: RunContext,
        command: ReadReply,
        configuration: Configuration,
        model: LanguageModel,
    ) -> None:
        self._context = context
        self._words = command.words
        self._key = f"{KEY}{command.comment.id}"
        self._never_send = configuration.review.never_send
        self._model = model
        self._calls = BudgetedCalls(context, Phase.reflection, configuration)

    async def ask_meaning(self, finding: Finding) -> ReplyReading | None:
        """What the reply means; None if the model does not say."""
        question = build_meaning_question(self._key, finding, self._words, redact_outgoing)
        return await self._ask(question, ReplyReading)

    async def ask_answer(self, finding: Finding) -> QuestionAnswer | None:
        """The answer to the question in the reply; None if the model gives none."""
        lines = await self._read_lines(finding)
        question = build_answer_question(self._key, finding, self._words, lines, redact_outgoing)
        return await self._ask(question, QuestionAnswer)

    async def _ask(self, question: Question, kind: type[S]) -> S | None:
        name = digest("hear", question.model_dump_json(), self._model.name)
        found = await self._calls.ask_outside_run(name, question, kind, self._model)
        return None if found.value is None else kind.model_validate(found.value)

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
