"""What stands around a pull request's tabs: its heading, the tabs, and the box that tells whether it can be merged."""

from __future__ import annotations

from simulator import branch_protection, check_runs, pull_json
from simulator.gitstore import CommitInfo
from simulator.pages import html
from simulator.pages.html import Content, Html, Visit, address, button, div, element, link, span
from simulator.pages.layout import count, moment, person, state_badge, verb_form
from simulator.state import BranchRules, CheckRun, CommitStatus, PullRequest, Review

_DECIDED = {"APPROVED": "approved", "CHANGES_REQUESTED": "requested changes"}
_STATUS_ICONS = {"success": ("good", "✓"), "pending": ("quiet", "●"), "failure": ("bad", "✗"), "error": ("bad", "✗")}


def commits(pull: PullRequest) -> list[CommitInfo]:
    """The pull request's commits, oldest first."""
    git = pull.repository.git
    base = git.merge_base(pull.base_tip, pull.head_sha)
    return git.commits_between(base, pull.head_sha) if base else []


def latest_runs(visit: Visit, pull: PullRequest) -> list[CheckRun]:
    """The runs on the head: of each name the last one, as only that counts."""
    runs = check_runs.runs_on(visit.world, pull.repository, pull.head_sha)
    return list({(run.app.id, run.name): run for run in runs}.values())


def heading(visit: Visit, pull: PullRequest, tab: str) -> Html:
    owner = f"{pull.head_owner.login}:" if pull.from_fork else ""
    wants = "wanted to merge" if pull.state == "closed" else "wants to merge"
    subtitle = div(
        "subtitle",
        [state_badge(pull), " ", person(pull.user)],
        f" {wants} {count(len(commits(pull)), 'commit')} into ",
        element("code", pull.base_ref),
        " from ",
        element("code", f"{owner}{pull.head_ref}"),
    )
    title = element("h1", pull.title, " ", span("quiet", f"#{pull.number}"))
    return div("heading", title, subtitle, _tabs(visit, pull, tab))


def _tabs(visit: Visit, pull: PullRequest, chosen: str) -> Html:
    said = len(pull.comments) + len(pull.review_comments()) + sum(bool(review.body) for review in pull.reviews)
    tabs = [
        ("Conversation", "", said),
        ("Checks", "checks", len(latest_runs(visit, pull))),
        ("Files changed", "files", len(pull_json.pull_files(pull))),
    ]
    shown = [
        link(address(pull, *filter(None, [name])), title, " ", span("counter", number), class_=_current(name, chosen))
        for title, name, number in tabs
    ]
    return element("nav", shown, class_="tabs")


def _current(name: str, chosen: str) -> str | None:
    return "current" if name == chosen else None


def merge_box(visit: Visit, pull: PullRequest) -> Html:
    rows = [_check_row(pull, run) for run in latest_runs(visit, pull)]
    checks = rows or [div("row", span("icon quiet", "○"), "No check has been reported on this head.")]
    statuses = [_status_row(status) for status in branch_protection.newest_statuses(pull.repository, pull.head_sha)]
    reviews = [_review_row(review) for review in branch_protection.list_latest_reviews(pull)]
    return div("merge-box", reviews, checks, statuses, div("merge-state", _merge_state(visit, pull)))


def _review_row(review: Review) -> Html:
    """Who approved or requests changes, and whether that was for an earlier head."""
    approved = review.state == "APPROVED"
    icon = span("icon good", "✓") if approved else span("icon bad", "✗")
    earlier = f" · on {review.commit_id[:7]}" if review.commit_id != review.pull.head_sha else None
    return div("row", icon, person(review.user), span("quiet", _DECIDED[review.state], earlier))


def _status_row(status: CommitStatus) -> Html:
    kind, sign = _STATUS_ICONS[status.state]
    state = span("quiet", status.state, " · commit status")
    return div("row", span(f"icon {kind}", sign), element("b", status.context), state, status.description)


def _check_row(pull: PullRequest, run: CheckRun) -> Html:
    target = address(pull, "checks") + f"?check_run_id={run.id}"
    name = element("b", run.name)
    return div("row", html.icon(run), link(target, name), span("quiet", html.state_of(run)), run.title)


def _merge_state(visit: Visit, pull: PullRequest) -> Content:
    if pull.merged_by is not None:
        return ["Merged by ", person(pull.merged_by), " ", moment(pull.merged_at)]
    if pull.state == "closed":
        return "This pull request is closed."
    if pull.draft:
        ready = verb_form(visit, pull, "ready", button("Ready for review", ready="yes", class_="primary"))
        return [element("p", "This pull request is still a draft."), ready]
    if not _merges_cleanly(pull):
        return element("p", "This branch has conflicts with the base branch that must be resolved.")
    missing = [told for rule in _rules(pull) for told in branch_protection.list_missing_for(visit.world, pull, rule)]
    if missing:
        return [element("p", "Merging is blocked."), [element("p", told) for told in missing]]
    return [_merge_advice(visit, pull), verb_form(visit, pull, "merge", button("Merge pull request", class_="primary"))]


def _rules(pull: PullRequest) -> list[BranchRules]:
    return pull.repository.rules.get(pull.base_ref, [])


def _merge_advice(visit: Visit, pull: PullRequest) -> Html:
    names = [run.name for run in latest_runs(visit, pull) if html.blocks(run)]
    if not names:
        return element("p", "This branch has no conflicts with the base branch.")
    return element(
        "p", f"No conflicts. Where {' or '.join(names)} is required, GitHub would not let this be merged yet."
    )


def _merges_cleanly(pull: PullRequest) -> bool:
    # Not `pulling.mergeable`: looking at a page must not change what the API answers next.
    base = pull.repository.git.branch(pull.base_ref)
    return base is not None and pull.repository.git.merge_tree(base, pull.head_sha).clean
