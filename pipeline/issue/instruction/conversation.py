"""Loads what was said where an instruction was given, with who wrote and edited it."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from agents.coding.planner import AuthoredText
from domain.github.conversation import CommentKind, Remark, TextEdit
from domain.github.pull_requests import PullRequest
from pipeline.context import Services
from pipeline.gates.askers import drop_own, list_writers
from pipeline.publishing.instructions import Instruction


class SaidBefore(NamedTuple):
    """What people said beside the instruction itself.

    :param title_by: who wrote or changed the title of the pull request.
    :param said: in the review thread of the instruction, oldest first.
    """

    title_by: tuple[int, ...]
    said: tuple[AuthoredText, ...]


async def load_conversation(services: Services, asked: Instruction, pull_request: PullRequest) -> SaidBefore:
    """What was said until now.

    :raises CodeHostError: if GitHub does not say who edited it.
    """
    repository, number = asked.comment.repository, pull_request.number
    said, title = await _list_said(services, asked), (await services.host.issue(repository, number)).node_id
    edits = await services.host.text_edits(repository, [title, *(each.node_id for each in said)])
    told = tuple(_tell(each, edits.get(each.node_id, ())) for each in said)
    return SaidBefore(list_writers(pull_request.author_id, edits.get(title, ())), told)


def list_exchanges(asked: Instruction) -> Iterator[AuthoredText]:
    """What Forge asked about an instruction, and the answers of those who may ask for it: they ask for it, too."""
    for each in asked.exchanges:
        if each.question:
            yield AuthoredText(login="reviewer", role="none", text=each.question, by=())
        yield AuthoredText(login=each.login, role="write", text=each.answer, by=())


async def _list_said(services: Services, asked: Instruction) -> Sequence[Remark]:
    """What was said before in the review thread of the instruction; its authors have no say in it."""
    comment = asked.comment
    if comment.comment.kind is not CommentKind.review_comment or comment.comment.thread is None:
        return ()
    listed = await services.host.thread_remarks(comment.repository, comment.number, comment.comment.thread)
    return [each for each in listed if asked.is_of_others or each.id < comment.comment.id]


def _tell(remark: Remark, edits: Collection[TextEdit]) -> AuthoredText:
    by = list_writers(None if remark.is_own else remark.author_id, drop_own(remark.author_id, edits))
    return AuthoredText(login="reviewer" if remark.is_own else "somebody", role="none", text=remark.body, by=by)
