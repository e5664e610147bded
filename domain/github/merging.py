"""Required checks, merge methods and results of a merge on GitHub."""

from collections.abc import Iterable
from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class MergeMethod(StrEnum):
    """How a pull request becomes part of its base branch."""

    merge = "merge"
    squash = "squash"
    rebase = "rebase"


class MergeObstacle(StrEnum):
    """Why GitHub did not merge."""

    head_moved = "head_moved"  # the pull request's head is not the one to be merged (any more)
    base_moved = "base_moved"  # something else was merged at the same moment; the same again may succeed
    not_mergeable = "not_mergeable"  # it conflicts, is a draft or closed
    method = "method"  # the repository and its rules allow no merge method
    protected = "protected"  # the branch, or its merge queue, asks for checks or reviews that are missing
    queued = "queued"  # somebody put it into the merge queue
    not_allowed = "not_allowed"  # the App may not merge here
    withdrawn = "withdrawn"  # a condition changed while the merge waited for its turn


class Merged(BaseModel):
    """The pull request is merged, now or already: ``sha`` is what the base branch got."""

    model_config = ConfigDict(frozen=True)

    sha: str


class Queued(BaseModel):
    """The pull request is in the merge queue that its base branch requires: that merges it, or takes it out."""

    model_config = ConfigDict(frozen=True)


class NotMerged(BaseModel):
    """Nothing happened; ``said`` is GitHub's reason in its own words, one line."""

    model_config = ConfigDict(frozen=True)

    obstacle: MergeObstacle
    said: str


class ReportedCheck(BaseModel):
    """The latest result of a check run or a commit status.

    :param app_id: the App of the check run; None for a commit status.
    :param conclusion: a check run's conclusion, or a status's state; ``pending`` if there is none yet.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    app_id: int | None
    conclusion: str

    @property
    def is_green(self) -> bool:
        """Whether it satisfies a required check.

        https://docs.github.com/pull-requests/collaborating-with-pull-requests/collaborating-on-repositories-with-code-quality-features/about-status-checks
        """
        return self.conclusion in {"success", "neutral", "skipped"}


class RequiredCheck(BaseModel):
    """A required check of a branch; ``app_id`` None: any App may report it."""

    model_config = ConfigDict(frozen=True)

    name: str
    app_id: int | None = None

    def is_met_by(self, results: Iterable[ReportedCheck]) -> bool:
        """Whether it was reported, and all reports under its name are green."""
        reported = [one for one in results if one.name == self.name and (self.app_id is None or self._fits(one))]
        return bool(reported) and all(one.is_green for one in reported)

    def _fits(self, result: ReportedCheck) -> bool:
        return result.app_id in (None, self.app_id)
