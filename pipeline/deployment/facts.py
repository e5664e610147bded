"""Finds what people who approve a deployment are told of it: commits, risk, findings, tests and checks."""

from collections.abc import Sequence

from domain.deployments.deployment import Deployment, LiveContents, LiveMerge
from domain.errors import CodeAccessError, NotFound
from domain.github.pull_requests import ReportedCheck
from domain.review.review import Review
from domain.runs.run import Run
from domain.text.escaping import escape, inline_code
from memory.runs import checkpoints, runs
from pipeline.checkout import fetch_commits
from pipeline.context import Services

_MOST_COMMITS = 10
_MOST_CHECKS = 10
_MOST_MERGES = 15
_MOST_FINDINGS = 5
_MOST_UNDONE = 5
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
    if contents is None or not (contents.merges or contents.undone or not contents.is_whole):
        return ()
    risk = contents.risk.value if contents.risk is not None else "not known, so it counts as high"
    told = [_describe_merge(each) for each in contents.merges[:_MOST_MERGES]]
    left = len(contents.merges) - _MOST_MERGES
    more = [f"and {left} more"] if left > 0 else []
    lacking = [] if contents.is_whole else ["and what could not be read, or is too much to look at"]
    undone = [f"Goes away: {_describe_undone(contents.undone)}"] if contents.undone else []
    return (f"Risk of all that goes live: {risk}", f"Goes live: {'; '.join([*told, *more, *lacking])}", *undone)


def _describe_undone(commits: Sequence[tuple[str, str]]) -> str:
    named = [f"{inline_code(sha[:7])} {escape(subject, 80)}" for sha, subject in commits[:_MOST_UNDONE]]
    more = f"; and {len(commits) - _MOST_UNDONE} more" if len(commits) > _MOST_UNDONE else ""
    return f"{'; '.join(named)}{more} (it runs here, and the branch was rewritten without it)"


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
