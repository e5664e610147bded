"""Reads what the run of an issue starts with: the issue, its comments, the configuration and the earlier plan."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from agents.coding.planner import AuthoredText, PlanningTask
from domain.config.configuration import Configuration
from domain.github.issues import AskedIssue, Issue, IssueComment
from domain.globs import matches
from domain.runs.baseline import Baseline
from domain.runs.plan import RatedPlan
from memory.budgets import model_answers
from memory.repositories import permits
from memory.runs import checkpoints, outbox
from memory.runs.checkpoints import PastPlan
from pipeline.gates.askers import load_heard
from pipeline.issue.conventions import load_conventions
from pipeline.run_context import RunContext
from pipeline.verdicts.settings import load_start_configuration
from workspace.snapshot import Snapshot

_MAX_AUTHORS = 20  # whose live role is asked for: members first, among them the latest authors
_MEMBER_ASSOCIATIONS = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})


class IssueRunInput(BaseModel):
    """What a run was started with. ``paused_by`` and ``is_open`` are checked before anything is spent.

    :param version: counts the plans of this issue.
    :param is_open: whether the issue is open, or the run has opened a pull request already.
    :param conventions_at: the commit of the default branch, where that is not the base of the run.
    """

    configuration: Configuration
    task: PlanningTask
    version: int
    is_open: bool
    paused_by: str | None
    conventions_at: str | None = None


@dataclass(frozen=True)
class PlannedIssue:
    """What a run was started with, its plan, and how the repository's commands ended before any change."""

    input: IssueRunInput
    plan: RatedPlan
    baseline: Baseline | None = None

    @property
    def configuration(self) -> Configuration:
        return self.input.configuration

    @property
    def title(self) -> str:
        return self.input.task.title


async def read_issue(context: RunContext) -> IssueRunInput:
    """What a run starts with. The planner's task is kept: an edit of the issue during the run does not change it."""
    database, run = context.database, context.run
    plans = await checkpoints.list_plans(database, run)
    configuration = (await load_start_configuration(context.services, run)).configuration
    issue = await context.services.host.issue(run.repository, run.number)
    asked = await model_answers.find(database, run, model_answers.ISSUE)
    if asked is not None:
        words = AskedIssue.model_validate(asked)
        issue = issue.model_copy(update={"title": words.title, "body": words.body})
    kept = await model_answers.find(database, run, model_answers.TASK)
    if kept is None:
        heard = await load_heard(context.services, run, issue)
        writers = {"accounts": sorted(heard.writers)}
        await model_answers.keep(database, run, model_answers.WRITERS, writers, context.now())
        task = await _build_task(context, issue, heard.comments, configuration, plans[-1] if plans else None)
        kept = task.model_dump(mode="json")
        await model_answers.keep(database, run, model_answers.TASK, kept, context.now())
    is_proposed = await outbox.find_proposal(database, run.id) is not None
    return IssueRunInput(
        configuration=configuration,
        task=PlanningTask.model_validate(kept),
        version=len(plans) + 1,
        is_open=issue.is_open or is_proposed,
        paused_by=await permits.find_pauser(database, run.repository),
    )


async def load_snapshot(context: RunContext) -> Snapshot:
    """The code as it was when the run was admitted."""
    return await Snapshot.of(await context.fetch_mirror(), context.run.head_sha)


async def _build_task(
    context: RunContext,
    issue: Issue,
    comments: Sequence[IssueComment],
    configuration: Configuration,
    earlier: PastPlan | None,
) -> PlanningTask:
    host, run = context.services.host, context.run
    ranked = sorted(comments, key=lambda each: (each.author_association not in _MEMBER_ASSOCIATIONS, -each.id))
    roles = await _load_roles(context, [(issue.author_login, issue.author_id), *map(_get_author, ranked)])
    texts = [
        (each, AuthoredText(login=each.author_login, role=roles.get(each.author_id, "none"), text=each.body))
        for each in comments
    ]
    since = None if earlier is None else earlier.at
    return PlanningTask(
        number=run.number,
        title=issue.title,
        issue=AuthoredText(login=issue.author_login, role=roles.get(issue.author_id, "none"), text=issue.body),
        comments=tuple(text for each, text in texts if since is None or each.created_at <= since),
        default_branch=(await host.default_branch(run.repository)).name,
        entries=list_top_level(await load_snapshot(context), configuration.review.never_send),
        conventions=await load_conventions(context, configuration, ()),
        earlier=None if earlier is None else earlier.plan.plan,
        replies=tuple(text for each, text in texts if since is not None and each.created_at > since),
    )


async def _load_roles(context: RunContext, authors: Sequence[tuple[str, int | None]]) -> dict[int | None, str]:
    """The live roles of authors by account id, of the first 20."""
    known = {account: login for login, account in reversed(authors) if account is not None}
    asked = list(known.items())[-_MAX_AUTHORS:]
    repository, host = context.run.repository, context.services.host
    return {account: await host.permission(repository, login, account) for account, login in asked}


def _get_author(comment: IssueComment) -> tuple[str, int | None]:
    return comment.author_login, comment.author_id


def list_top_level(snapshot: Snapshot, never_send: Sequence[str]) -> tuple[str, ...]:
    """The entries of the root folder, without what is never sent; folders end with a slash."""
    names = (path.partition("/") for path in snapshot.files if not matches(path, never_send))
    return tuple(dict.fromkeys(f"{name}{slash}" for name, slash, _ in names))
