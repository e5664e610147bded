"""Loads what was said where an instruction was given, with who wrote and edited it."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from agents.coding.planner import AuthoredText
from domain.github.conversation import CommentKind, Remark, TextEdit
from domain.github.pull_requests import PullRequest
from domain.runs.run import RepositoryRef
from pipeline.context import Services
from pipeline.gates.actor import is_trusted_app
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
    said, opened = await _list_said(services, asked), await services.host.issue(repository, number)
    edits = await services.host.text_edits(repository, [opened.node_id, *(each.node_id for each in said)])
    told = tuple(_tell(each, edits.get(each.node_id, ())) for each in said)
    is_app = opened.is_app and not await _is_known_app(services, repository, pull_request)
    return SaidBefore(list_writers(opened.author_id, edits.get(opened.node_id, ()), is_app=is_app), told)


async def _is_known_app(services: Services, repository: RepositoryRef, pull_request: PullRequest) -> bool:
    """Whether Forge opened it, which says itself whose words it took up, or an App that counts as a person does."""
    is_own = pull_request.author_login == (await services.host.signature(repository)).name
    return is_own or await is_trusted_app(services, repository, pull_request)


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
