"""What goes live with a deployment: every merge since what the environment runs, and what is known of each."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from domain.review.review import Decision, RiskLevel

MOST = 50
"""Merges that are looked at one by one; of what lies before them nothing is known."""


_APPROVED = Decision.approve.value


class LiveMerge(BaseModel):
    """One commit of the default branch that goes live.

    :param number: of the pull request that brought it; None: it was pushed directly.
    :param risk: by the review of exactly what was merged; None: there is none.
    :param verdict: of that review, for people.
    :param findings: how many it left open.
    :param is_protected: whether it touches protected files, or nobody knows.
    :param refused_by: who said no to deploying it to this environment; empty if nobody did.
    :param went_back: whether it was deployed there before and taken back, or nobody knows how that ended.
    """

    model_config = ConfigDict(frozen=True)

    sha: str
    title: str
    number: int | None = None
    risk: RiskLevel | None = None
    verdict: str = ""
    findings: int = 0
    is_protected: bool = True
    refused_by: str = ""
    went_back: bool = False

    @property
    def name(self) -> str:
        """What people know it by."""
        return f"#{self.number}" if self.number is not None else self.sha[:7]

    @property
    def risk_here(self) -> RiskLevel | None:
        """Its risk, if a review approved it and its deployment here was not given up before."""
        return self.risk if self.verdict == _APPROVED and not (self.refused_by or self.went_back) else None


class LiveContents(BaseModel):
    """All that goes live.

    :param merges: the newest first; empty if the environment runs this commit, or an older state comes back.
    :param is_whole: whether that is all of it; False where it could not be read or is too much.
    """

    model_config = ConfigDict(frozen=True)

    merges: tuple[LiveMerge, ...] = ()
    is_whole: bool = True

    @property
    def risk(self) -> RiskLevel | None:
        """The worst of its merges; None where one is not known."""
        known = [each.risk_here for each in self.merges if each.risk_here is not None]
        if not self.is_whole or len(known) < len(self.merges):
            return None
        return max(known, key=list(RiskLevel).index, default=RiskLevel.low)

    @property
    def refusals(self) -> Sequence[str]:
        """What somebody refused here before, with who did."""
        return [f"{each.refused_by} rejected {each.name}" for each in self.merges if each.refused_by]

    @property
    def touches_protected(self) -> bool:
        """Whether anything of it does, or nobody knows."""
        return not self.is_whole or any(each.is_protected for each in self.merges)


def limit(merges: Sequence[LiveMerge]) -> LiveContents:
    """The contents, if one more than :data:`MOST` was looked for."""
    return LiveContents(merges=tuple(merges[:MOST]), is_whole=len(merges) <= MOST)
