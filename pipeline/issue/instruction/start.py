"""Decides whether an instruction may begin now, and finds out where: on which head, with what the planner is told."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from agents.coding.planner import AuthoredText, InstructionPlace, PlanningTask
from domain.config.configuration import Configuration
from domain.github.conversation import CommentKind, Remark, TextEdit
from domain.github.pull_requests import PullRequest
from domain.value import Value
from memory.repositories import permits
from memory.runs import instructions, model_answers
from messages import commands as command_texts
from messages import descriptions
from messages import instructions as texts
from pipeline.checkout import compare_with_base, fetch_commits, find_base
from pipeline.context import Services
from pipeline.feedback.answers.instruction import load_permitted
from pipeline.gates.authorship import drop_own, is_trusted_app, list_writers
from pipeline.issue.instruction.brief import Brief, write_brief
from pipeline.issue.issue_input import IssueRunInput, list_top_level, load_conventions
from pipeline.publishing.instructions import Instruction
from pipeline.run_context import RunContext
from pipeline.verdicts.settings import load_start_configuration
from safety.eligibility import needs_ok
from workspace.snapshot import Snapshot

_START = "where an instruction began"  # a key in the database


class Start(Value):
    """Where an instruction begins; in journals.

    :param pull_request: as it was then; its head is what agents work on.
    :param conventions_at: the head of the default branch; None if there is none.
    :param brief: what the command alone says.
    :param base: the head of its base branch, where that is taken in; else empty.
    """

    pull_request: PullRequest
    configuration: Configuration
    task: PlanningTask
    conventions_at: str | None
    brief: Brief = Brief()
    base: str = ""

    @property
    def head(self) -> str:
        return self.pull_request.head_sha

    @property
    def input(self) -> IssueRunInput:
        """The same for those who plan and implement."""
        return IssueRunInput(
            configuration=self.configuration,
            task=self.task,
            version=1,
            is_open=True,
            paused_by=None,
            conventions_at=self.conventions_at,
        )


async def find_obstacle(context: RunContext, asked: Instruction) -> str:
    """Why nothing is carried out now, as an answer; empty if it is."""
    services, run = context.services, context.run
    actor = await load_permitted(services, asked)
    if actor is None:
        return texts.PERMISSION_LOST
    paused_by = await permits.find_pauser(services.database, run.repository)
    if paused_by is not None:
        return command_texts.already_paused(paused_by)
    live = actor.pull_request
    if live is None or not live.is_open:
        return command_texts.NOTHING_TO_REVIEW
    review = (await load_start_configuration(services, run)).configuration.review
    if not review.may_ask_model and asked.needs_model:
        return texts.CODE_KEPT
    if not actor.has_ok and needs_ok(live, review, run.repository.id) is not None:
        return descriptions.refuse_without_ok(asked.asked.verb)
    return ""


async def find_start(context: RunContext, asked: Instruction) -> Start:
    """Where it begins, found once: the head that the first execution saw."""
    database, run = context.database, context.run
    kept = await model_answers.find(database, run, _START)
    if kept is not None:
        return Start.model_validate(kept)
    start = await _build(context, asked)
    await model_answers.keep(database, run, _START, start.model_dump(mode="json"), context.now())
    await model_answers.keep(database, run, model_answers.TASK, start.task.model_dump(mode="json"), context.now())
    await instructions.stand_on(database, run.id, start.head)
    return start


async def _build(context: RunContext, asked: Instruction) -> Start:
    services, run = context.services, context.run
    configuration = (await load_start_configuration(services, run)).configuration
    live = await services.host.pull_request(run.repository, run.number)
    mirror, merge_base = await compare_with_base(services, run.repository, live)
    await fetch_commits(services, run.repository, run.number, live.head_sha, live.head_sha)
    default = await mirror.fetch_default()
    never = configuration.review.never_send
    change = await mirror.change(merge_base, live.head_sha)
    brief = await write_brief(context, configuration, asked.asked, mirror, change)
    heard, askers = await _load_conversation(services, asked, live), (asked.comment.sender.id, *asked.askers)
    task = PlanningTask(
        number=run.number,
        title=live.title,
        title_by=heard.title_by,
        issue=AuthoredText(login=asked.login, role="write", text=brief.words or asked.words, by=askers),
        comments=tuple(_list_exchanges(asked)),
        default_branch=live.default_branch,
        entries=list_top_level(await Snapshot.of(mirror, live.head_sha), never),
        conventions=await load_conventions(context, configuration, (), default),
        place=InstructionPlace(
            changed=tuple(change.paths),
            path=asked.path,
            line=asked.line,
            said=heard.said,
            shown=brief.shown,
        ),
    )
    base = await find_base(services.host, run.repository, live) if asked.takes_base_in else ""
    return Start(
        pull_request=live,
        configuration=configuration,
        task=task,
        conventions_at=default,
        brief=brief,
        base=base,
    )


class _SaidBefore(NamedTuple):
    """What people said beside the instruction itself.

    :param title_by: who wrote or changed the title of the pull request.
    :param said: in the review thread of the instruction, oldest first.
    """

    title_by: tuple[int, ...]
    said: tuple[AuthoredText, ...]


async def _load_conversation(services: Services, asked: Instruction, pull_request: PullRequest) -> _SaidBefore:
    """What was said until now.

    :raises CodeHostError: if GitHub does not say who edited it.
    """
    repository, number = asked.comment.repository, pull_request.number
    said, opened = await _list_said(services, asked), await services.host.issue(repository, number)
    edits = await services.host.text_edits(repository, [opened.node_id, *(each.node_id for each in said)])
    told = tuple(_tell(each, edits.get(each.node_id, ())) for each in said)
    is_app = opened.is_app and not await _is_known_app(services, asked, pull_request)
    return _SaidBefore(list_writers(opened.author_id, edits.get(opened.node_id, ()), is_app=is_app), told)


async def _is_known_app(services: Services, asked: Instruction, pull_request: PullRequest) -> bool:
    """Whether Forge opened it, which says itself whose words it took up, or an App that counts as a person does."""
    repository = asked.comment.repository
    is_own = pull_request.author_login == (await services.host.signature(repository)).name
    return is_own or await is_trusted_app(services, repository, pull_request)


def _list_exchanges(asked: Instruction) -> Iterator[AuthoredText]:
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
