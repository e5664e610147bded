"""Answers a question in the thread of a finding: from all of the code, or from the code around the finding."""

from agents.answers.subjects import render_finding
from agents.syntax.quotes import call_reviewer
from domain.commands import ReadReply
from domain.review.findings import Finding
from pipeline.feedback.answers.question import AskedQuestion, QuestionAnswerer
from pipeline.feedback.replies.context import ReplyContext, may_still_ask
from pipeline.feedback.replies.questions import ReplyQuestions
from pipeline.run_context import RunContext


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

    async def may_ask() -> bool:
        return await may_still_ask(context.services, command)

    words, about = call_reviewer(command.words, known.name), render_finding(finding)
    asked = AskedQuestion(f"{guid}.thread", words, about, may_ask)
    return await QuestionAnswerer(context, asked, known.configuration).find_answer()
