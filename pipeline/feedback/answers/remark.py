"""Decides whether words that somebody wrote to Forge ask something, and loads what they are about.

A model reads them, without the code.
"""

import re

from agents.replies import (
    KEY,
    Meaning,
    NamedCommand,
    ReplyReading,
    build_meaning_question,
    render_asked,
    render_comment,
    render_finding,
    render_issue,
    render_place,
)
from agents.syntax.quotes import REVIEWER, asks_something
from domain.config.configuration import Configuration
from domain.errors import NotFound
from domain.gates import digest
from domain.runs.run import Phase, Run
from domain.slash import TextCommand
from domain.value import Value
from memory import findings
from messages import descriptions as texts
from messages import feedback as reply_texts
from messages import instructions as instruction_texts
from pipeline.context import Services
from pipeline.feedback.answers.question import choose_reader
from pipeline.feedback.answers.request import AnswerRequest, RepliedTo, open_account
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.run_context import RunContext


class Understood(Value):
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


async def understand_words(
    context: RunContext, key: str, words: str, replied_to: RepliedTo, configuration: Configuration
) -> Understood:
    """What one person's words ask, if anything.

    :param key: names them.
    """

    def give_up(why: str) -> Understood:
        return Understood(told=why if asks_something(words) or REVIEWER in words else "")

    model = choose_reader(context.services, configuration)
    if isinstance(model, str):
        return give_up(model)
    question = build_meaning_question(f"{KEY}{key}", render_replied_to(replied_to), words)
    calls = BudgetedCalls(await open_account(context, key), Phase.planning, configuration)
    name = digest("hear", question.model_dump_json(), model.name)
    found = await calls.ask_outside_run(name, question, ReplyReading, model)
    if found.value is None:
        return give_up(texts.report_unanswered(found.problem or "", was_asked=found.refusal is None))
    return _interpret(ReplyReading.model_validate(found.value), replied_to, on_issue=context.run.is_of_issue)


def _interpret(reading: ReplyReading, replied_to: RepliedTo, *, on_issue: bool) -> Understood:
    meaning, command = reading.meaning, reading.command if reading.is_sure else None
    if meaning is Meaning.answer and replied_to.question is not None:
        return Understood(is_answer=True)
    if reading.asks_for_review and not on_issue:
        return Understood(told=reply_texts.READ_AGAIN)
    is_request = meaning is Meaning.request and not on_issue
    if not (is_request and replied_to.is_mention):
        command = None
    told = reply_texts.point_to_commands(on_issue=on_issue) if meaning is Meaning.request else ""
    told = told if command is None else instruction_texts.tell_command(command)
    return Understood(is_question=meaning is Meaning.question, is_request=is_request, told=told, command=command)


_NAME = re.compile(r"\bF-[A-Z2-7]{6}\b")
_MOST_NAMED = 5


async def load_subject(services: Services, run: Run, request: AnswerRequest) -> list[str]:
    """Lines for a model that say what a question is about; see :mod:`agents.replies`."""
    replied_to = [] if request.replied_to is None else render_replied_to(request.replied_to)
    if run.is_of_issue:
        return [*replied_to, *await _load_issue(services, run)]
    where = (services.database, run.repository.id, run.number)
    remark = (await findings.load_by_comment(*where)).get(request.comment.comment.thread or 0, ())
    words = request.asked.text if isinstance(request.asked, TextCommand) else ""
    named = [await findings.find_by_name(*where, name) for name in _NAME.findall(words)[:_MOST_NAMED]]
    about = dict.fromkeys([*(finding for finding in named if finding is not None), *remark])
    return [*replied_to, *(line for finding in about for line in render_finding(finding))]


def render_replied_to(replied_to: RepliedTo) -> list[str]:
    """What of Forge's they replied to, and where."""
    place = render_place(replied_to.path, replied_to.line) if replied_to.path else ()
    asked = () if replied_to.question is None else render_asked(replied_to.question.text)
    return [*render_comment(replied_to.text, replied_to.passage), *place, *asked]


async def _load_issue(services: Services, run: Run) -> list[str]:
    try:
        issue = await services.host.issue(run.repository, run.number)
    except NotFound:  # transferred meanwhile
        return []
    return [*render_issue(issue.title, issue.body)]
