"""Decides who wrote a pull request, and whom that leaves to decide about it.

What counts is who pushed each commit first: that name GitHub vouches for, while the author of a commit is whatever its
maker wrote. So whom GitHub links with it counts beside the pusher and never in place of one: somebody else may bring a
commit into a branch, and to name a person only takes away what that person may decide. A merge that git makes just so,
such as *Update branch*, is nobody's. Who wrote what a forced push overwrote wrote what it brings, too; who makes it
adds nothing if the head changes the same as before, byte for byte.
"""

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from domain.github.commits import AN_APP, Commit, Push, Pusher


@dataclass(frozen=True)
class HeadApproval:
    """Somebody approved a head at a gate that is not for its author.

    :param shown: the commits that they were asked about: those of the head that its base did not have then.
    """

    shown: frozenset[str]
    by_id: int


class Doubt(StrEnum):
    """Why one person is not enough to decide."""

    app = "app"  # an App pushed part of the change
    unknown = "unknown"  # nobody knows who pushed part of it
    shared = "shared"  # all who may decide wrote part of it


@dataclass(frozen=True)
class Contribution:
    """A commit that somebody wrote.

    :param doubt: why its authors may not be all.
    """

    sha: str
    authors: frozenset[int]
    doubt: Doubt | None = None


@dataclass(frozen=True)
class EarlierHeads:
    """What a branch had before forced pushes overwrote it.

    :param commits: those that neither the base nor the present head has.
    :param gone: heads that cannot be looked at any more.
    :param same: pairs of an overwritten head and the one in its place that change the same.
    """

    commits: tuple[Commit, ...] = ()
    gone: frozenset[str] = frozenset()
    same: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True)
class Standing:
    """What an account may do about a change.

    :param is_author: it wrote part of what nobody else has accepted, or may have, where it is alone with the role.
    :param is_left: it may decide all the same, as too few others have the role.
    :param doubt: why it takes a second person; None if it does not.
    """

    is_author: bool
    is_left: bool = False
    doubt: Doubt | None = None

    @property
    def may_decide(self) -> bool:
        """Whether its word counts, alone or with that of a second person."""
        return self.is_left or not self.is_author


@dataclass(frozen=True)
class Authorship:
    """Who wrote a pull request.

    :param opener: the account that opened it, which counts as an author of all of it.
    :param accepted: approvals without a waiver, for the branch into which it goes now.
    """

    opener: int
    parts: tuple[Contribution, ...] = ()
    accepted: tuple[HeadApproval, ...] = ()

    def includes(self, account: int) -> bool:
        """Whether an account wrote part of what nobody else has accepted yet."""
        if account == self.opener:
            return True
        mine = {part.sha for part in self.parts if account in part.authors}
        return bool(mine - self._find_accepted(account)) if mine else False

    @property
    def authors(self) -> frozenset[int]:
        """Everybody who is known to have written part of it, accepted or not."""
        return frozenset({self.opener}).union(*(part.authors for part in self.parts))

    @property
    def doubt(self) -> Doubt | None:
        """Why its authors may not be all, as far as nobody has accepted that."""
        accepted = self._find_accepted(None)
        found = {part.doubt for part in self.parts if part.doubt is not None and part.sha not in accepted}
        return min(found, default=None, key=list(Doubt).index)

    def find_standing(self, account: int, others: Collection[int]) -> Standing:
        """What an account may do that has the role for it.

        One person decides who wrote nothing of it. Where part of it may be anybody's, or all who have the role wrote
        part of it, it takes two, so that each part is looked at by somebody else; authors count only where there are
        too few others. Who is alone with the role decides alone.

        :param others: who else has the role.
        """
        everybody = {account, *others}
        free = {who for who in everybody if not self.includes(who)}
        needed = min(len(everybody), 1 if free and self.doubt is None else 2)
        is_author = account not in free or (len(everybody) == 1 and self.doubt is not None)
        is_left = is_author and len(free - {account}) < needed
        doubt = (self.doubt or Doubt.shared) if needed > 1 else None
        return Standing(is_author, is_left, doubt)

    def _find_accepted(self, account: int | None) -> set[str]:
        """The commits that somebody else than this account accepted."""
        return {sha for one in self.accepted if one.by_id != account for sha in one.shown}


def find_parts(
    commits: Sequence[Commit],
    pushes: Sequence[Push],
    fork: Collection[int] | None = None,
    trusted: Collection[int] = (),
    earlier: EarlierHeads = EarlierHeads(),
) -> tuple[Contribution, ...]:
    """Attribute each commit to whoever pushed it first, and to who wrote what that push overwrote.

    A commit that no known push brought counts for the accounts GitHub links with it, and in a fork for its owner and
    the opener. Anybody who may push there may have pushed it, which is a doubt; not where GitHub links it with these.

    :param pushes: those whose heads are among the commits, or among those of earlier heads.
    :param fork: the opener and the fork's owner, if the head is in a fork; else None.
    :param trusted: Apps that nobody makes push what they like.
    """
    of_forge = {push.after for push in pushes if push.by is Pusher.forge}
    told = {push.after for push in pushes if push.by is not Pusher.unknown}
    better = {Pusher.app: of_forge, Pusher.unknown: told}  # heads of which is known whose push it was
    known = [push for push in pushes if push.after not in better.get(push.by, ()) or _is_told_by_app(push)]
    shas = {commit.sha for commit in commits}
    return _Attribution((*commits, *earlier.commits), known, fork, trusted, earlier).attribute(shas, shas)


def _is_told_by_app(push: Push) -> bool:
    """Whether Forge pushed it as an App's words asked for."""
    return push.by is Pusher.app and push.by_id == AN_APP


def list_overwriting(commits: Sequence[Commit], pushes: Sequence[Push]) -> list[Push]:
    """The pushes that overwrote a known head: what they brought does not descend from it."""
    parents = {commit.sha: commit.parents for commit in commits}
    return [push for push in pushes if push.before in parents and push.before not in _find_history(parents, push.after)]


class _Attribution:
    """Attributes commits of a head and of the heads before it."""

    def __init__(
        self,
        commits: Sequence[Commit],
        pushes: Sequence[Push],
        fork: Collection[int] | None,
        trusted: Collection[int],
        earlier: EarlierHeads,
    ) -> None:
        self._commits, self._fork, self._trusted, self._earlier = commits, fork, trusted, earlier
        self._parents = {commit.sha: commit.parents for commit in commits}
        self._brought = [(push, self._subtract(push.after, push.before)) for push in pushes]
        self._overwritten: dict[Push, tuple[Contribution, ...]] = {}

    def attribute(self, shas: Collection[str], of_head: Collection[str]) -> tuple[Contribution, ...]:
        """The parts of these commits, as far as somebody wrote them.

        :param of_head: all commits of the head that is looked at. A push that brought another head may change the same
            as the one before only as a whole.
        """
        wrote = [commit for commit in self._commits if commit.sha in shas and not commit.is_clean_merge]
        return tuple(self._attribute(commit, of_head) for commit in wrote)

    def _attribute(self, commit: Commit, of_head: Collection[str]) -> Contribution:
        """The part of whoever pushed a commit first; GitHub tells no parts of a second."""
        found = [push for push, shas in self._brought if commit.sha in shas]
        if not found:
            return self._attribute_unknown(commit)
        earliest = min(push.at.replace(microsecond=0) for push in found)
        first = [push for push in found if push.at.replace(microsecond=0) == earliest]
        again = {
            (push.before, push.by_id)  # a push is told once for each commit that it brought
            for push in first
            if (push.before, push.after) in self._earlier.same and push.after in of_head
        }
        parts, linked = list[Contribution](), commit.accounts
        for push in first:
            if push.by is Pusher.merge:  # GitHub links whoever merged
                linked = frozenset[int]()
            if (push.before, push.by_id) in again:
                linked -= {push.by_id} - {commit.author}  # who made the same again is its committer
            else:
                parts.append(self._attribute_to_pusher(commit, push))
            if push.before in self._earlier.gone:
                parts.append(self._attribute_unknown(commit))
            parts += self._list_overwritten(push)
        doubts = [part.doubt for part in parts if part.doubt is not None]
        people = linked.union(*(part.authors for part in parts))
        return Contribution(commit.sha, people, min(doubts, default=None, key=list(Doubt).index))

    def _attribute_to_pusher(self, commit: Commit, push: Push) -> Contribution:
        if push.by is Pusher.unknown:
            return self._attribute_unknown(commit)
        if push.by is Pusher.proposal:
            return self._attribute_proposed(commit, {push.by_id})
        is_app = push.by is Pusher.app and push.by_id not in self._trusted
        people = frozenset[int]() if is_app or not push.by_id else frozenset({push.by_id})
        return Contribution(commit.sha, people, Doubt.app if is_app else None)

    def _attribute_unknown(self, commit: Commit) -> Contribution:
        return self._attribute_proposed(commit, self._fork or ())

    def _attribute_proposed(self, commit: Commit, by: Collection[int]) -> Contribution:
        """The part of the owner of a fork and of who proposed what it has; anybody may have pushed it there."""
        is_linked = bool(by) and commit.accounts.issuperset(by)
        return Contribution(commit.sha, commit.accounts.union(by), None if is_linked else Doubt.unknown)

    def _list_overwritten(self, push: Push) -> tuple[Contribution, ...]:
        """The parts of what a push took away; those of an ordinary one are none."""
        if push not in self._overwritten:
            self._overwritten[push] = ()  # pushes of one second may overwrite each other
            taken = self._subtract(push.before, push.after)
            self._overwritten[push] = self.attribute(taken, _find_history(self._parents, push.before))
        return self._overwritten[push]

    def _subtract(self, head: str, other: str) -> set[str]:
        return _find_history(self._parents, head) - _find_history(self._parents, other)


def _find_history(parents: Mapping[str, tuple[str, ...]], head: str) -> set[str]:
    """A commit and what it descends from, as far as known."""
    found, waiting = set[str](), deque([head])
    while waiting:
        sha = waiting.popleft()
        if sha in parents and sha not in found:
            found.add(sha)
            waiting.extend(parents[sha])
    return found
