"""Finds what the base branch of a pull request means for its review: what it requires, and what it has of its own."""

from agents.review import reviewer
from agents.review.layers import CheckedChange, ModelPart
from domain.github.pull_requests import PullRequest
from domain.review.changes import Change
from domain.review.review import IfUnread, Review
from domain.runs.run import REVIEW_CHECK, Run
from pipeline.context import Services
from pipeline.publishing.required_checks import requires_check
from pipeline.review.kept_approval import find_kept_approval, read_protected
from pipeline.verdicts.settings import RunSettings
from workspace.git import Unrelated
from workspace.mirror import Mirror


async def add_base(
    checked: CheckedChange, mirror: Mirror, run: Run, settings: RunSettings, change: Change
) -> CheckedChange:
    """The result of layers 1 and 2, with what the base branch means for it and for its protected files."""
    of_base = {
        "only_for": await _find_only_base(mirror, settings.pull_request, change.merge_base),
        "is_shared": run.check_name == REVIEW_CHECK,
        "protected": await read_protected(mirror, run, change, settings.configuration),
    }
    return checked.model_copy(update=of_base)


async def _find_only_base(mirror: Mirror, pull_request: PullRequest, merge_base: str) -> str:
    """The base branch, where the review holds for it alone; empty where the default branch would get the same change.

    Approvals and checks go with a head, and so into whatever branch its pull request is led to before Forge hears of
    that (T-P13).
    """
    if pull_request.base_ref == pull_request.default_branch:
        return ""
    default = await mirror.fetch_default()
    try:
        is_same = default is not None and await mirror.merge_base(default, pull_request.head_sha) == merge_base
    except Unrelated:  # such as a branch that holds a site only
        is_same = False
    return "" if is_same else pull_request.base_ref


async def build_for_base(services: Services, run: Run, checked: CheckedChange, model: ModelPart) -> Review:
    """The review of all layers. Where the branch requires the check, a person is asked about unread source."""
    kept = {"kept_approval": await find_kept_approval(services, run, checked.protected)}
    built = reviewer.build_review(checked, model).model_copy(update=kept)
    if built.unread.paths and built.unread.then is IfUnread.neutral and await requires_check(services, run):
        asking = checked.model_copy(update={"if_unread": IfUnread.ask})
        return reviewer.build_review(asking, model).model_copy(update=kept)
    return built
