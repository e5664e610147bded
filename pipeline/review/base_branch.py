"""Finds what the base branch of a pull request means for its review: what it requires, and what it has of its own."""

from agents.review import reviewer
from agents.review.layers import CheckedChange, ModelPart
from domain.github.pull_requests import PullRequest
from domain.review.review import IfUnread, Review
from domain.runs.run import Run
from pipeline.context import Services
from pipeline.publishing.required_checks import requires_check
from workspace.git import Unrelated
from workspace.mirror import Mirror


async def find_only_base(mirror: Mirror, pull_request: PullRequest, merge_base: str) -> str:
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
    built = reviewer.build_review(checked, model)
    if built.unread.paths and built.unread.then is IfUnread.neutral and await requires_check(services, run):
        return reviewer.build_review(checked.model_copy(update={"if_unread": IfUnread.ask}), model)
    return built
