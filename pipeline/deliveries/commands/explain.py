"""Executes ``/forge explain``: says what became of a finding, or lets a model say more about an open one."""

from pydantic import BaseModel

from agents.llm.models import ModelTier, Unusable
from domain.errors import CodeHostError, RateLimited
from domain.review.findings import Finding
from domain.slash.commands import AboutFinding, TextCommand
from domain.slash.verbs import Verb
from memory.findings import feedback
from memory.runs import checkpoints
from messages import commands as texts
from messages.commands import EarlierHead
from pipeline.deliveries.commands.context import CommandContext
from pipeline.deliveries.commands.findings import answer_no_finding, find_meant
from pipeline.feedback.answers.request import AnswerRequest, find_run
from pipeline.verdicts.suppression import load_heads
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
    earlier = await _find_earlier_head(context, finding)
    if earlier is not None:
        return _Explanation(text=texts.explain_finding(finding, earlier=earlier))
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


async def _find_earlier_head(context: CommandContext, finding: Finding) -> EarlierHead | None:
    """The head that a finding is about, where that is not the newest one; None where it is."""
    where = (context.repository, context.number)
    review = await checkpoints.load_latest_review(context.database, context.repository.id, context.number)
    heads = await load_heads(context.database, *where, finding)
    if review is None or heads is None:
        return None
    live = review.head_sha if context.actor.pull_request is None else context.actor.pull_request.head_sha
    is_reviewed = review.head_sha == live
    if is_reviewed and finding.fingerprint in review.fingerprints:
        return None
    is_kept = await _keeps_lines(context, finding, heads[1], live)
    return EarlierHead(found_at=heads[1], newest=live, is_reviewed=is_reviewed, is_kept=is_kept)


async def _keeps_lines(context: CommandContext, finding: Finding, found_at: str, newest: str) -> bool | None:
    """Whether the lines of a finding still stand in its file; None if GitHub does not show that."""
    host = context.services.host
    try:
        versions = [await host.file_content(context.repository, finding.path, sha) for sha in (found_at, newest)]
    except RateLimited:
        raise
    except CodeHostError:
        return None
    before, after = ([line.strip() for line in (each or b"").split(b"\n")] for each in versions)
    if finding.line is None or versions[0] is None:
        return None
    lines = before[finding.line - 1 : finding.end_line or finding.line]
    return bool(lines) and any(after[at : at + len(lines)] == lines for at in range(len(after)))
