"""Finds what people who approve a deployment are told of it, and which merges go live with it.

Those are all since what its environment runs, each with its review: commits, risk, findings, tests and checks.
"""

from collections.abc import Mapping, Sequence

import structlog

from domain.config.configuration import Configuration
from domain.deployments.deployment import MOST, Deployment, DeploymentState, LiveContents, LiveMerge, limit
from domain.errors import CodeAccessError, NotFound
from domain.gates import GateState
from domain.github.pull_requests import ReportedCheck
from domain.review.review import Review
from domain.runs.run import Run
from domain.text.escaping import escape, inline_code
from memory.deployments import deployments
from memory.gates import gates
from memory.runs import checkpoints, runs
from pipeline.checkout import fetch_commits
from pipeline.context import Services
from safety.gates import list_protected

_MOST_COMMITS = 10
_MOST_CHECKS = 10
_MOST_MERGES = 15
_MOST_FINDINGS = 5
_TRAILER = "Forge-Run"


async def describe_change(services: Services, run: Run, deployment: Deployment) -> tuple[str, ...]:
    """What is new since what the environment runs, each fact in Markdown."""
    if not deployment.previous_sha:
        return ("Everything is new: Forge deployed nothing here before.",)
    before, after = deployment.previous_sha, deployment.sha
    try:
        mirror = await fetch_commits(services, run.repository, run.number, after, before)
        change = await mirror.change(before, after)
        listed = await mirror.list_commits(before, after, _TRAILER, _MOST_COMMITS + 1)
    except (CodeAccessError, NotFound):
        return (f"What is new since {inline_code(before[:7])} could not be read.",)
    named = [f"{inline_code(each.sha[:7])} {escape(each.subject, 100)}" for each in listed[-_MOST_COMMITS:]]
    more = " and more" if len(listed) > _MOST_COMMITS else ""
    size = f"{change.total_files:,} files, +{change.additions:,} −{change.deletions:,} lines"
    return (f"New since {inline_code(before[:7])}: {size}", f"Commits: {'; '.join(named) or 'none'}{more}")


def describe_failure(failed: Deployment | None) -> tuple[str, ...]:
    """That the deployment before it failed, in Markdown."""
    if failed is None:
        return ()
    return (f"The deployment before it, {inline_code(failed.short_id)}, failed: nobody knows how it is there now.",)


def describe_contents(contents: LiveContents | None) -> tuple[str, ...]:
    """Every merge that goes live, with its verdict, each fact in Markdown."""
    if contents is None or not (contents.merges or not contents.is_whole):
        return ()
    risk = contents.risk.value if contents.risk is not None else "not known, so it counts as high"
    told = [_describe_merge(each) for each in contents.merges[:_MOST_MERGES]]
    left = len(contents.merges) - _MOST_MERGES
    more = [f"and {left} more"] if left > 0 else []
    lacking = [] if contents.is_whole else ["and what could not be read, or is too much to look at"]
    return (f"Risk of all that goes live: {risk}", f"Goes live: {'; '.join([*told, *more, *lacking])}")


def _describe_merge(merge: LiveMerge) -> str:
    named = f"#{merge.number}" if merge.number is not None else inline_code(merge.sha[:7])
    title = escape(merge.title, 80)
    if merge.number is None:
        known = "pushed directly, nobody reviewed it"
    elif merge.risk is None:
        known = "not reviewed as it was merged"
    else:
        found = f", {merge.findings} open {'finding' if merge.findings == 1 else 'findings'}" if merge.findings else ""
        known = f"{merge.verdict}, risk {merge.risk.value}{found}"
    refused = f", refused here by {inline_code(merge.refused_by)}" if merge.refused_by else ""
    back = ", taken back here before" if merge.went_back else ""
    return f"{named} {title} ({known}{refused}{back})"


async def load_review_of(services: Services, repository_id: int, number: int) -> Review | None:
    """The newest review of a pull request; None if there is none."""
    for past in await runs.list_for_pull_request(services.database, repository_id, number):
        if not past.run.is_of_issue and (found := await checkpoints.load_review(services.database, past.run)):
            return found
    return None


def describe_review(review: Review | None) -> tuple[str, ...]:
    """What the review found, each fact in Markdown."""
    if review is None:
        return ("Forge did not review exactly what is deployed.",)
    risk = f"Risk: {review.risk.level.value}, {review.risk.score} of 100"
    open_ = [f"{inline_code(each.rule)} {escape(each.message, 150)}" for each in review.findings[:_MOST_FINDINGS]]
    told = f"Open findings of the review: {len(review.findings)}" + (f": {'; '.join(open_)}" if open_ else "")
    return (risk, f"Verdict of the review: {review.decision.value.replace('_', ' ')}", told)


async def describe_checks(services: Services, run: Run, review: Review | None) -> tuple[str, ...]:
    """What the checks say about the merged commit and about the reviewed head, each fact in Markdown."""
    merged = await services.host.check_results(run.repository, run.head_sha)
    told = [f"Checks of the merged commit: {_list_checks(merged, own=False)}"]
    if review is not None:
        of_head = await services.host.check_results(run.repository, review.head_sha)
        told.append(f"Tests and checks of {inline_code(review.head_sha[:7])}: {_list_checks(of_head, own=True)}")
    return tuple(told)


def _list_checks(reported: Sequence[ReportedCheck], *, own: bool) -> str:
    """:param own: whether Forge's own count."""
    shown = [each for each in reported if own or not each.name.startswith("Forge / ")]
    named = ", ".join(f"{inline_code(each.name)} {each.conclusion}" for each in shown[:_MOST_CHECKS])
    return named or "none were reported"


_PAST = 100  # earlier deployments to an environment that are looked at
log = structlog.get_logger(__name__)


async def load_contents(
    services: Services, run: Run, deployment: Deployment, configuration: Configuration
) -> LiveContents | None:
    """What goes live; None where Forge does not know what the environment runs."""
    if not deployment.previous_sha:
        return None
    before, after = deployment.previous_sha, deployment.sha
    try:
        mirror = await fetch_commits(services, run.repository, run.number, after, before)
        commits = await mirror.list_first_parents(before, after, MOST + 1)
    except (CodeAccessError, NotFound) as error:
        log.warning("deployment.not_compared", repository=run.repository.id, error=str(error))
        return LiveContents(is_whole=False)
    refused, went_back = await _load_past(services, deployment, [sha for sha, _ in commits])
    described = [await _describe(services, run, configuration, sha, title) for sha, title in commits]
    return limit(
        [
            each.model_copy(update={"refused_by": refused.get(each.sha, ""), "went_back": each.sha in went_back})
            for each in described
        ]
    )


async def _describe(services: Services, run: Run, configuration: Configuration, sha: str, title: str) -> LiveMerge:
    pull = await services.host.find_merged_pull(run.repository, sha)
    if pull is None:
        return LiveMerge(sha=sha, title=title)
    known = LiveMerge(sha=sha, title=pull.title or title, number=pull.number)
    review = await load_review_of(services, run.repository.id, pull.number)
    if review is None or review.head_sha != pull.head_sha:
        return known
    return known.model_copy(
        update={
            "risk": review.risk.level_unasked,
            "verdict": review.decision.value.replace("_", " "),
            "findings": len(review.findings),
            "is_protected": bool(list_protected(review.changed, configuration)),
        }
    )


async def _load_past(
    services: Services, deployment: Deployment, commits: Sequence[str]
) -> tuple[Mapping[str, str], frozenset[str]]:
    """Who rejected which commit for this environment, and which ones it ran, or may have run, and does not any more.

    :param commits: that go live, the newest first: whoever deployed one, deployed what is behind it.
    """
    database, where = services.database, (deployment.repository_id, deployment.environment)
    there = await deployments.find_there(database, *where)
    refused: dict[str, str] = {}
    went_back: set[str] = set()
    for past in await deployments.list_latest(database, *where, limit=_PAST):
        if past.sha not in commits or past.run_id in {deployment.run_id, "" if there is None else there.run_id}:
            continue
        if past.state.is_over and past.state is not DeploymentState.stopped:
            went_back.update(commits[commits.index(past.sha) :])
        for gate in await gates.list_for_run(database, past.run_id):
            if gate.state is GateState.rejected and gate.decision is not None:
                refused[past.sha] = gate.decision.by_login
    return refused, frozenset(went_back)
