"""Reads what the run of an issue starts with: the issue, comments, configuration, conventions, earlier plan."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from agents.coding.planner import AuthoredText, PlanningTask
from agents.prompts.conventions import choose, read_conventions
from domain.config.configuration import Configuration
from domain.github.conversation import AskedIssue, Issue, IssueComment
from domain.globs import matches
from domain.review.reading import Conventions
from domain.runs.earlier_tests import Baseline
from domain.runs.plan import Plan, RatedPlan, count_versions
from domain.runs.run import ReasonCode, Trigger
from domain.value import Value
from memory.repositories import permits
from memory.runs import checkpoints, model_answers, outbox, runs
from memory.runs.checkpoints import PastPlan
from messages import plan as plan_texts
from pipeline.gates.authorship import HeardWords, list_askers, load_heard
from pipeline.run_context import RunContext
from pipeline.verdicts.settings import load_start_configuration
from workspace.snapshot import Snapshot


async def load_conventions(
    context: RunContext, configuration: Configuration, paths: Collection[str], at: str | None = None
) -> Conventions:
    """Those for some files, as the default branch had them when the run was admitted; the same each time.

    :param paths: the files; none: only what is about the whole repository.
    :param at: the commit of the default branch, where that is not the base of the run.
    """
    mirror, review = await context.fetch_mirror(), configuration.review
    if at is not None:
        await mirror.fetch_default()  # which holds it
    written = await read_conventions(mirror, at or context.run.base_sha, paths, review)
    return choose(written, paths)


_BARE_COMMAND = re.compile(r"/forge[ \t]+[\w-]+([ \t]+[A-Z]-\w+)?")
_MAX_AUTHORS = 20  # whose live role is asked for: members first, among them the latest authors
_MEMBER_ASSOCIATIONS = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})


class IssueRunInput(Value):
    """What a run was started with. ``paused_by`` and ``is_open`` are checked before anything is spent.

    :param version: counts the plans of this issue.
    :param is_open: whether the issue is open, or the run has opened a pull request already.
    :param kept: the run's own plan; or that of a run before, if all that it was made from is as it was.
    :param conventions_at: the commit of the default branch, where that is not the base of the run.
    """

    configuration: Configuration
    task: PlanningTask
    version: int
    is_open: bool
    paused_by: str | None
    kept: Plan | None = None
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
        task = await _build_task(context, issue, heard, configuration, plans[-1] if plans else None)
        kept = task.model_dump(mode="json")
        await model_answers.keep(database, run, model_answers.TASK, kept, context.now())
    is_proposed = await outbox.find_proposal(database, run.id) is not None
    task, own = PlanningTask.model_validate(kept), await checkpoints.load_plan(database, run)
    plan = await _keep_plan(context, task, plans) if own is None else own.plan
    versions = count_versions([*(past.plan.plan for past in plans), *([plan] if plan else [])])
    return IssueRunInput(
        configuration=configuration,
        task=task,
        version=versions if plan else versions + 1,
        kept=plan,
        is_open=issue.is_open or is_proposed,
        paused_by=await permits.find_pauser(database, run.repository),
    )


async def _keep_plan(context: RunContext, task: PlanningTask, plans: Sequence[PastPlan]) -> Plan | None:
    """The plan that people saw last, if it may be carried out as it is. What becomes of it is kept for them."""
    database, run = context.database, context.run
    if not plans or run.trigger is not Trigger.issue:
        return None
    past = plans[-1]
    if past.run.trigger is not Trigger.plan and past.run.reason is not ReasonCode.gate_timeout:
        return None
    known = await model_answers.find(database, past.run, model_answers.TASK)
    made_from = None if known is None else PlanningTask.model_validate(known)
    why = find_difference(made_from, task, is_moved=past.run.base_sha != run.base_sha)
    version = count_versions([each.plan.plan for each in plans])
    note = {"note": plan_texts.note_kept(version, why)}
    await model_answers.keep(database, run, model_answers.KEPT_PLAN, note, context.now())
    return None if why else past.plan.plan


def find_difference(before: PlanningTask | None, now: PlanningTask, *, is_moved: bool) -> str:
    """What is not as it was when a plan was made, as a clause; empty if everything is.

    :param before: what its planner was told; None if that is not kept any more.
    """
    if before is None:
        return "what it was made from is not kept any more"
    if is_moved:
        return "the default branch moved"
    if (before.title, before.issue.text) != (now.title, now.issue.text):
        return "the issue was edited"
    return "" if _list_said(before) == _list_said(now) else "there are other comments"


def _list_said(task: PlanningTask) -> list[tuple[str, str]]:
    """Who said what about the issue, beside commands."""
    said = [(each.login, _drop_commands(each.text)) for each in (*task.comments, *task.replies)]
    return [each for each in said if each[1]]


def _drop_commands(text: str) -> str:
    """The text without commands that say nothing more than what to do."""
    return "\n".join(line for line in text.split("\n") if not _BARE_COMMAND.fullmatch(line.strip())).strip()


async def load_snapshot(context: RunContext) -> Snapshot:
    """The code as it was when the run was admitted."""
    return await Snapshot.of(await context.fetch_mirror(), context.run.head_sha)


async def _build_task(
    context: RunContext,
    issue: Issue,
    heard: HeardWords,
    configuration: Configuration,
    earlier: PastPlan | None,
) -> PlanningTask:
    host, run = context.services.host, context.run
    said = [each.comment for each in heard.comments]
    ranked = sorted(said, key=lambda each: (each.author_association not in _MEMBER_ASSOCIATIONS, -each.id))
    roles = await _load_roles(
        context, [(issue.author_login, issue.author_id), *((each.author_login, each.author_id) for each in ranked)]
    )

    def write(by: Issue | IssueComment, writers: tuple[int, ...]) -> AuthoredText:
        role = roles.get(by.author_id, "none")
        return AuthoredText(login=by.author_login, role=role, text=by.body, by=writers)

    telling = [each for each in heard.comments if _drop_commands(each.comment.body)]
    texts = [(each.comment, write(each.comment, each.by)) for each in telling]
    since = None if earlier is None else earlier.at
    return PlanningTask(
        number=run.number,
        title=issue.title,
        issue=write(issue, heard.issue_by),
        comments=tuple(text for each, text in texts if since is None or each.created_at <= since),
        default_branch=(await host.default_branch(run.repository)).name,
        entries=list_top_level(await load_snapshot(context), configuration.review.never_send),
        conventions=await load_conventions(context, configuration, ()),
        asked=await _load_asked(context),
        earlier=None if earlier is None else earlier.plan.plan,
        earlier_by=() if earlier is None else tuple(sorted(await list_askers(context.services, earlier.run))),
        replies=tuple(text for each, text in texts if since is not None and each.created_at > since),
    )


async def _load_asked(context: RunContext) -> tuple[str, ...]:
    """The questions with which the run before this one ended; none if it ended otherwise."""
    run = context.run
    past = await runs.list_for_pull_request(context.database, run.repository.id, run.number)
    before = next((each.run for each in past if each.run.id < run.id), None)
    if before is None or before.reason is not ReasonCode.questions:
        return ()
    kept = await model_answers.find(context.database, before, model_answers.QUESTION)
    return () if kept is None else tuple(kept["questions"])


async def _load_roles(context: RunContext, authors: Sequence[tuple[str, int | None]]) -> dict[int | None, str]:
    """The live roles of authors by account id, of the first 20."""
    known = {account: login for login, account in reversed(authors) if account is not None}
    asked = list(known.items())[-_MAX_AUTHORS:]
    repository, host = context.run.repository, context.services.host
    return {account: await host.permission(repository, login, account) for account, login in asked}


def list_top_level(snapshot: Snapshot, never_send: Sequence[str]) -> tuple[str, ...]:
    """The entries of the root folder, without what is never sent; folders end with a slash."""
    names = (path.partition("/") for path in snapshot.files if not matches(path, never_send))
    return tuple(dict.fromkeys(f"{name}{slash}" for name, slash, _ in names))
