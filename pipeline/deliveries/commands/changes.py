"""Executes ``diff`` about no finding: shows the commits that Forge itself pushed to a pull request.

A commit counts as Forge's if Forge recorded its push; that it bears Forge's name proves nothing.
"""

from collections.abc import Collection, Sequence

from domain.runs.run import Run
from memory.deliveries import pushes
from memory.repositories import automation_level
from memory.runs import outbox, runs
from messages import changes as texts
from messages.automation import RUN_TRAILER
from messages.changes import MOST_COMMITS, OwnChanges, OwnCommit
from pipeline.checkout import BaseComparison, compare_with_base
from pipeline.deliveries.commands.context import CommandContext
from safety.allowed_actions import Action
from workspace.commits import ListedCommit
from workspace.mirror import Mirror

_MOST_LISTED = 500  # newest commits of the pull request that are looked at
_MOST_RUNS = 50


async def render_changes(context: CommandContext) -> str:
    """``/forge diff`` about no finding; within a step."""
    pull = context.actor.pull_request
    if pull is None:
        return await _describe_issue(context)
    compared = await compare_with_base(context.services, context.repository, pull)
    return texts.render_changes(pull.head_sha, await _load_changes(context, compared, pull.head_sha))


async def _describe_issue(context: CommandContext) -> str:
    past = await runs.list_for_pull_request(*context.rows)
    for each in past:
        number = await outbox.find_proposal(context.database, each.run.id)
        if number is not None:
            return texts.report_changes_elsewhere(number)
    return texts.NO_CHANGES


async def _load_changes(context: CommandContext, compared: BaseComparison, head: str) -> OwnChanges:
    mirror = compared.mirror
    listed = await mirror.list_commits(compared.merge_base, head, RUN_TRAILER, _MOST_LISTED)
    email = (await context.services.host.signature(context.repository)).email
    named = [each for each in listed if each.trailer or each.email == email]
    pushed = await _find_pushed(context, mirror, named)
    own = [each for each in named if each.sha in pushed]
    shown = own[-MOST_COMMITS:]
    commits = [OwnCommit(each.sha, each.subject, await mirror.change(each.parent, each.sha)) for each in shown]
    return OwnChanges(commits, more=len(own) - len(shown), unknown=len(named) - len(own))


async def _find_pushed(context: CommandContext, mirror: Mirror, named: Sequence[ListedCommit]) -> Collection[str]:
    """Those of these commits that a run of this repository pushed, by Forge's own records."""
    here = {each.sha for each in named}
    found = set[str]()
    for run_id in list(dict.fromkeys(each.trailer for each in named if each.trailer))[-_MOST_RUNS:]:
        run = await runs.get(context.database, run_id)
        if run is None or run.repository.id != context.repository.id:
            continue
        for last in (await _list_last_pushed(context, run)) & here:
            made = await mirror.list_commits(run.head_sha, last, RUN_TRAILER, _MOST_LISTED)
            found |= {each.sha for each in made} & here
    return found


async def _list_last_pushed(context: CommandContext, run: Run) -> set[str]:
    """The commits that a run moved branches to. All above the run's own head are its commits."""
    steps = await outbox.list_pushes(context.database, run.id)
    actions = await automation_level.list_actions(context.database, run.id)
    corrected = {str(each.get("commit")) for each in actions if each["act"] == Action.auto_fix.value}
    made = corrected | {step.rpartition(" ")[2] for step in steps}
    return made | {*(await pushes.find_signed(context.database, run.repository.id, made)).values()}
