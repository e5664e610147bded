"""Loads what a question is about, beside its words: a finding, a comment of Forge, a line of code, an issue."""

import re

from agents.answers.subjects import render_asked, render_comment, render_finding, render_issue, render_place
from domain.errors import NotFound
from domain.runs.run import Run
from domain.slash.commands import TextCommand
from memory.findings import findings
from pipeline.context import Services
from pipeline.feedback.answers.request import AnswerRequest, RepliedTo

_NAME = re.compile(r"\bF-[A-Z2-7]{6}\b")
_MOST_NAMED = 5


async def load_subject(services: Services, run: Run, request: AnswerRequest) -> list[str]:
    """Lines for a model that say what a question is about; see :mod:`agents.answers.subjects`."""
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
