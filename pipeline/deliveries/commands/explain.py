"""Executes ``/forge explain``: says what became of a finding, or lets a model say more about an open one."""

from pydantic import BaseModel

from agents.llm.models import ModelTier, Unusable
from domain.slash.commands import AboutFinding, TextCommand
from domain.slash.verbs import Verb
from memory.findings import feedback
from memory.runs import checkpoints
from messages import commands as texts
from pipeline.deliveries.commands.context import CommandContext
from pipeline.deliveries.commands.findings import answer_no_finding, find_meant
from pipeline.feedback.answers.request import AnswerRequest
from pipeline.feedback.answers.target import find_run
from safety.authorization import authorise


class _Explanation(BaseModel):
    """The answer, or the question to a model that finds it; in journals.

    :param run_id: the run for which the model is asked.
    """

    text: str = ""
    question: AnswerRequest | None = None
    run_id: str = ""


async def explain(context: CommandContext, asked: AboutFinding) -> str:
    """``/forge explain``: a model is asked where the finding is open and the sender may ask it."""
    told = await context.step_with_permission(asked.verb, asked, _explain, context, asked)
    if told.question is None:
        return told.text
    await told.question.enqueue(told.run_id, context.guid)
    return texts.NO_ANSWER


async def _explain(context: CommandContext, asked: AboutFinding) -> _Explanation:
    meant = await find_meant(context, asked.finding)
    if not meant:
        return _Explanation(text=await answer_no_finding(context, asked))
    finding, where = meant[0], (context.repository, context.number)
    known = await feedback.find_dismissed(context.database, *where, [finding.fingerprint])
    if finding.fingerprint in known:
        return _Explanation(text=texts.explain_finding(finding, known[finding.fingerprint]))
    review = await checkpoints.load_latest_review(context.database, context.repository.id, context.number)
    if review is not None and finding.fingerprint not in review.fingerprints:
        return _Explanation(text=texts.explain_finding(finding, gone_at=review.head_sha))
    question = TextCommand(verb=Verb.ask, text=texts.ask_to_explain(finding))
    model = context.services.models.choose(ModelTier.fast)
    if isinstance(model, Unusable) or authorise(question, context.actor.facts) is not None:
        return _Explanation(text=texts.explain_finding(finding))
    request = AnswerRequest(comment=context.comment, asked=question, index=context.comment.asked.index(asked))
    key = request.make_key(context.guid)
    queued = await find_run(context.services, context.comment, context.actor, asked.verb, key)
    if queued.run_id is None:
        return _Explanation(text=texts.explain_finding(finding))
    return _Explanation(question=request, run_id=queued.run_id)
